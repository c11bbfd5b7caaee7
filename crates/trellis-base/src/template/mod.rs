//! Templates: text with holes, checked when compiled, rendered over a scope (language 3).
//!
//! This is the only module that knows minijinja: its machinery has no semver promise.
//!
//! ```text
//! text ─┬─ no `{` ──────────────────────────▶ literal
//!       ├─ segments: text and plain paths ──▶ rendered from pieces
//!       └─ jinja or go: parsed ─ check ─ … first use … ─ lower ─ machine ──▶ text or value
//! ```
//!
//! **Invariant:** a body without `{` never reaches the template engine, and interpolated text is never interpolated again.

mod bridge;
pub mod builtins;
mod calculation;
mod check;
mod compute;
mod const_eval;
mod delimiters;
mod dialects;
mod engine;
mod explain;
mod failure;
mod formula;
mod go;
mod jinja;
mod kinds;
mod lower;
mod machine;
mod mistake;
pub mod nesting;
mod number;
mod pieces;
mod reads;
mod references;
mod secret;
mod segments;
mod shape;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    ops::{Deref, Range},
    sync::Arc,
};

pub use self::kinds::{Demand, KindSet, LOOPED, RECKONED};
pub use calculation::{Calculation, CalculationOutcome, LastOperation, PATHS};
pub use compute::{Compute, ComputeError};
use dialects::path_text;
pub use dialects::{is_go, is_legacy_jinja, with_dots};
use engine::TemplateEngine;
pub use formula::Term;
pub use go::{Problem, go_to_jinja};
use mistake::Mistake;
pub use mistake::{RAW, is_like_code};
pub use number::number;
pub use pieces::has_hole;
pub use pieces::{RenderedPiece, TemplatePiece};
use reads::Use;
pub use reads::{ElementStep, GuardedTest};
pub use references::Reference;
pub use references::paths as paths_in;
use segments::{SegmentPiece, Unreadable};
pub use shape::{Expression, Shape};

pub use crate::language::SecretUse;
use crate::{
    diagnostic::{Code, Report},
    path::KeyPath,
    scope::Scope,
    span::{SourceMap, Span},
};

/// The message about a Go template in a place for Jinja; the compiler reports it once for each graph.
pub const GO_TEMPLATE: &str = "this is a Go template";
/// The message about several of them.
pub const GO_TEMPLATES: &str = "these are Go templates";
const SET_GO: &str = "set `templates: go` in trellis.yaml or run `trellis migrate`";

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

/// A text with holes. Cheap to clone: clones share its preparation.
#[derive(Clone)]
pub struct Template {
    inner: Arc<TemplateInner>,
}

struct TemplateInner {
    text: Text,
    map: SourceMap,
    body: Body,
}

/// The text of the author.
#[derive(Clone)]
enum Text {
    Own(Arc<str>),
    /// A part of a file, which is stored anyway.
    Part(Arc<str>, Span),
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Part(file, span) => &file[span.range()],
        }
    }
}

impl Text {
    fn shared(&self) -> Arc<str> {
        match self {
            Self::Own(text) => Arc::clone(text),
            Self::Part(..) => Arc::from(&**self),
        }
    }
}

enum Body {
    Literal,
    Pieces(Box<[SegmentPiece]>),
    Engine(Box<TemplateEngine>),
    /// Reported; there is no program that could render it.
    Broken,
}

/// The purpose for which a text is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A body or message.
    Text,
    /// A value, which may retain its type.
    Value,
    /// A value of arguments, which may also hold secrets.
    Argument,
    /// A text that is rendered in pieces and may hold secrets.
    Pieces,
}

/// A use of a path in a template; it fails if the path is not set.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The path.
    pub path: KeyPath,
    /// Its span in the author's file.
    pub span: Span,
    /// The tests under which it is reached; empty if it always is.
    pub when: Box<[GuardedTest]>,
    /// True if it continues below the path, into unknown values.
    pub deep: bool,
    /// The demand on the value, in addition to its presence.
    pub demand: Option<Demand>,
}

/// A [`Read`] as its template has it: nothing is copied before its place is needed.
#[derive(Clone, Copy, Debug)]
pub struct Used<'t> {
    /// The path that is read.
    pub path: &'t KeyPath,
    /// The tests under which it is reached; empty if it always is.
    pub when: &'t [GuardedTest],
    /// The steps to the elements that are read of it.
    pub inside: &'t [ElementStep],
    /// True if it continues below the path, into unknown values.
    pub deep: bool,
    /// The demand on the value, in addition to its presence.
    pub demand: Option<Demand>,
    /// True if it only marks an unchecked use.
    pub blind: bool,
    /// The calculation that it is, whose parts have to go together.
    pub calculation: Option<&'t Arc<Calculation>>,
    place: &'t Range<usize>,
    map: &'t SourceMap,
}

impl Used<'_> {
    /// Returns its span in the author's file.
    pub fn span(&self) -> Span {
        self.map.span(self.place.clone())
    }
}

/// Bounds of rendering (language A.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Bytes of output.
    pub output: u64,
    /// Instructions.
    pub fuel: u64,
}

/// Instructions of one rendered template where a project sets no other bound.
pub const DEFAULT_FUEL: u64 = 1_000_000;

/// The reason why a template could not be rendered: a failure of the step, never a panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// One line: "`order.total` is not set".
    pub message: String,
    /// The span in the author's file, if known.
    pub span: Option<Span>,
}

/// Reports secrets in a text that is no template either, such as an option or a condition (language 3.6).
pub fn forbid_secrets(text: &str, map: &SourceMap, dialect: Dialect, report: &mut Report) {
    expose(text, secret::find(text, dialect), map, report);
}

fn expose(text: &str, found: Vec<secret::UsedSecret>, map: &SourceMap, report: &mut Report) {
    for secret in found {
        let message = format!("the secret `{}` may stand in arguments only", &text[secret.name]);
        report.add(Code::SecretExposed, map.span(secret.place), message).help =
            Some("a tool gets it: `args: {key: \"{{secret:…}}\"}`".into());
    }
}

impl Template {
    /// A text without holes, with any content.
    pub fn literal(text: impl Into<Arc<str>>) -> Self {
        Self::with(Text::Own(text.into()), &SourceMap::Slice(0), Body::Literal)
    }

    /// Parses the body of a Markdown file, as [`Template::parse`] does.
    pub fn body(file: &Arc<str>, span: Span, dialect: Dialect, report: &mut Report) -> Self {
        if !segments::has_brace(&file[span.range()]) {
            // It is shown verbatim, so it is stored ready to be shown.
            return Self::literal(&file[span.range()]);
        }
        Self::parse_with(Text::Part(Arc::clone(file), span), &SourceMap::Slice(span.start), dialect, Purpose::Text, report).0
    }

    /// Parses a body or message and reports `template-syntax`, `unknown-filter`, `secret-exposed`; a broken one renders as an empty text.
    /// `map` gives the places of the bytes of `text` in the file.
    pub fn parse(text: &str, map: &SourceMap, dialect: Dialect, report: &mut Report) -> Self {
        Self::parse_with(Text::Own(text.into()), map, dialect, Purpose::Text, report).0
    }

    /// Returns whether it has no holes.
    pub fn is_literal(&self) -> bool {
        matches!(self.inner.body, Body::Literal)
    }

    /// Returns whether it could not be read, which was reported.
    pub fn is_broken(&self) -> bool {
        matches!(self.inner.body, Body::Broken)
    }

    /// The text as the author wrote it.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Returns the text of the author, shared.
    pub fn shared_text(&self) -> Arc<str> {
        self.inner.text.shared()
    }

    /// Renders to text.
    ///
    /// # Errors
    /// An undefined value that is printed, looped over or calculated with; a bound.
    pub fn render(&self, scope: &Scope, limits: RenderLimits) -> Result<Arc<str>, TemplateError> {
        if let Body::Literal = self.inner.body {
            return Ok(self.inner.text.shared());
        }
        self.render_with(scope, limits, |_, _| {}).map(Arc::from)
    }

    /// Returns every path that rendering uses, in order, with the tests that decide whether it is reached; a path that a guard accepts
    /// unset is none of them.
    pub fn reads(&self) -> Vec<Read> {
        let mut reads = Vec::new();
        self.each_use(&mut |used| {
            if !used.blind && used.calculation.is_none() {
                let deep = used.deep || !used.inside.is_empty();
                let demand = used.demand.filter(|_| !deep);
                reads.push(Read { path: used.path.clone(), span: used.span(), when: used.when.into(), deep, demand });
            }
        });
        reads
    }

    /// Visits every use, without copies.
    pub fn each_use<'t>(&'t self, see: &mut impl FnMut(Used<'t>)) {
        let map = &self.inner.map;
        match &self.inner.body {
            Body::Literal | Body::Broken => {}
            Body::Pieces(pieces) => {
                for piece in pieces {
                    if let SegmentPiece::Path(path, place) = piece {
                        see(Used { path, when: &[], inside: &[], deep: false, demand: None, blind: false, calculation: None, place, map });
                    }
                }
            }
            Body::Engine(engine) => {
                for Use { path, place, when, inside, deep, demand, blind, calculation } in engine.uses() {
                    let (deep, demand, blind, calculation) = (*deep, *demand, *blind, calculation.as_ref());
                    see(Used { path, when, inside, deep, demand, blind, calculation, place, map });
                }
            }
        }
    }

    /// Renders to text; `secret` hears of each secret with its offset in it.
    fn render_with(&self, scope: &Scope, limits: RenderLimits, secret: impl FnMut(usize, &str)) -> Result<String, TemplateError> {
        let inner = &*self.inner;
        match &inner.body {
            Body::Literal => Ok(inner.text.to_string()),
            Body::Broken => Ok(String::new()),
            Body::Engine(engine) => engine.render(inner, scope, limits, secret),
            Body::Pieces(pieces) => {
                segments::render(&inner.text, pieces, scope, limits.output, secret).map_err(|unreadable| match unreadable {
                    Unreadable::Unset(place) => TemplateError {
                        message: format!("`{}` is not set", path_text(&inner.text[place.clone()])),
                        span: Some(inner.map.span(place)),
                    },
                    Unreadable::TooLong => inner.too_long(limits),
                })
            }
        }
    }

    /// Parses a text, and returns whether it is exactly one `{{ expression }}`.
    fn parse_with(whole: Text, map: &SourceMap, dialect: Dialect, used: Purpose, report: &mut Report) -> (Self, bool) {
        let text = &*whole;
        if !segments::has_brace(text) {
            return (Self::with(whole, map, Body::Literal), false);
        }
        let found = secret::find(text, dialect);
        if !matches!(used, Purpose::Argument | Purpose::Pieces) && !found.is_empty() {
            expose(text, found, map, report);
            return (Self::with(whole, map, Body::Broken), false);
        }
        let pieces = match dialect {
            Dialect::Legacy => match segments::split_legacy(text, &found) {
                Ok(pieces) => Some(pieces),
                Err(mistakes) => {
                    mistake::report(mistakes, map, report);
                    return (Self::with(whole, map, Body::Broken), false);
                }
            },
            Dialect::Jinja => segments::split(text, false, &found),
            Dialect::Go => segments::split(text, true, &found),
        };
        if let Some(pieces) = pieces {
            let sole = matches!(pieces.as_slice(), [SegmentPiece::Path(..)]);
            let literal = matches!(pieces.as_slice(), [] | [SegmentPiece::Text(_)]);
            let body = if literal { Body::Literal } else { Body::Pieces(pieces.into()) };
            return (Self::with(whole, map, body), sole);
        }
        let read = match TemplateEngine::parse(text, dialect, used, found) {
            Ok(_)
                if dialect == Dialect::Jinja
                    && let Some(place) = dialects::go_word(text) =>
            {
                Err(vec![Mistake::syntax(place, GO_TEMPLATE)])
            }
            read => read,
        };
        match read {
            Ok((engine, sole)) => (Self::with(whole, map, Body::Engine(Box::new(engine))), sole),
            Err(mistakes) => {
                // One finding is clearer than one for each action.
                let first = mistakes.first().filter(|_| dialect == Dialect::Jinja && dialects::reads_as_go(text));
                match first.map(|first| first.place.clone()) {
                    Some(place) => mistake::report(vec![Mistake::syntax(place, GO_TEMPLATE).help(SET_GO)], map, report),
                    None if used == Purpose::Text => {
                        mistake::report(mistakes.into_iter().map(|mistake| mistake.or_raw(text)).collect(), map, report);
                    }
                    None => mistake::report(mistakes, map, report),
                }
                (Self::with(whole, map, Body::Broken), false)
            }
        }
    }

    fn with(text: Text, map: &SourceMap, body: Body) -> Self {
        Self { inner: Arc::new(TemplateInner { text, map: map.clone(), body }) }
    }
}

impl TemplateInner {
    fn too_long(&self, limits: RenderLimits) -> TemplateError {
        TemplateError { message: format!("the text is longer than {} bytes (`limits.template_output`)", limits.output), span: None }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.text()).finish()
    }
}
