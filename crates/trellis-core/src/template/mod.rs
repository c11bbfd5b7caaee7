//! Templates: text with holes, checked when compiled, rendered over a scope (language §3).
//!
//! This is the only module that knows minijinja: its machinery has no semver promise.
//!
//! **Invariant:** a body without `{` never meets the template engine, and what was interpolated is never interpolated again.

use std::sync::Arc;

use crate::{
    diagnostic::Report,
    scope::Scope,
    span::{SourceMap, Span, Spanned},
    value::{Key, Value},
};

/// The template dialect of a graph (`templates:` in `trellis.yaml`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// minijinja.
    #[default]
    Jinja,
    /// The documented subset of Go templates (language 3.5).
    Go,
    /// `{{ key }}` and nothing else.
    Legacy,
}

/// A text with holes.
#[derive(Clone, Debug)]
pub struct Template {
    inner: Arc<TemplateInner>,
}

#[derive(Debug)]
struct TemplateInner;

/// A value with holes: what `args`, `set`, `output` … hold (language 3.3).
#[derive(Clone, Debug)]
pub enum Shape {
    /// A value without holes.
    Literal(Value),
    /// A string that is not exactly one `{{ expression }}`: becomes text.
    Text(Template),
    /// A string that is exactly one `{{ expression }}`: keeps its type, or leaves its key out (`optional`).
    Expression(Expression),
    /// A list of shapes.
    List(Vec<Spanned<Shape>>),
    /// A mapping of shapes, in file order.
    Map(Vec<(Spanned<Key>, Spanned<Shape>)>),
}

/// Exactly one `{{ expression }}`.
#[derive(Clone, Debug)]
pub struct Expression {
    inner: Arc<TemplateInner>,
}

/// Bounds of rendering (design §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Bytes of output.
    pub output: u64,
    /// Instructions.
    pub fuel: u64,
}

/// Why a template could not be rendered: a failure of the step, never a panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// One line: "`order.total` is not set".
    pub message: String,
    /// Where in the author's file, if known.
    pub span: Option<Span>,
}

/// A place in rendered arguments where a secret belongs (language 3.6). Out of band, so that no text can pretend to be one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SecretUse {
    /// JSON pointer of the text that holds it.
    pub pointer: String,
    /// Byte offset in that text.
    pub offset: usize,
    /// The secret's name.
    pub name: Arc<str>,
}

impl Template {
    /// A text without holes, whatever it contains.
    pub fn literal(text: &str) -> Self {
        let _ = text;
        todo!()
    }

    /// Parses a body or message and reports `template-syntax`, `unknown-filter`, `secret-exposed`; what is broken renders as nothing.
    /// `map` says where the bytes of `text` stand in the file.
    pub fn parse(text: &str, map: &SourceMap, dialect: Dialect, report: &mut Report) -> Self {
        let _ = (text, map, dialect, report);
        todo!()
    }

    /// Renders to text.
    ///
    /// # Errors
    /// An undefined value that is printed, looped over or calculated with; a bound.
    pub fn render(&self, scope: &Scope, limits: RenderLimits) -> Result<Arc<str>, TemplateError> {
        let _ = (scope, limits, &self.inner);
        todo!()
    }
}

impl Shape {
    /// Parses one string of `args`, `set`, `output` …: exactly one `{{ expression }}` keeps its type (language 3.3).
    /// `secrets` says whether `{{secret:name}}` is allowed here: in arguments only (language 3.6).
    pub fn parse(text: &str, map: &SourceMap, dialect: Dialect, secrets: bool, report: &mut Report) -> Self {
        let _ = (text, map, dialect, secrets, report);
        todo!()
    }

    /// Evaluates to a value; `None` when the whole shape is `{{ x | optional }}` and `x` is undefined.
    /// Secrets met on the way are left out of the text and pushed onto `secrets` with their place.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn evaluate(&self, scope: &Scope, limits: RenderLimits, secrets: &mut Vec<SecretUse>) -> Result<Option<Value>, TemplateError> {
        let _ = (scope, limits, secrets);
        todo!()
    }
}

impl Expression {
    #[expect(dead_code, reason = "skeleton")]
    fn inner(&self) -> &TemplateInner {
        &self.inner
    }
}
