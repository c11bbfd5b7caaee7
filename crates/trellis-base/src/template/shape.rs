//! Shapes: values with holes, which `args`, `set`, `output` … hold (language 3.3).

use std::{fmt, ops::Range, sync::Arc};

use super::{Body, Dialect, Purpose, Read, Reference, RenderLimits, SecretUse, SegmentPiece, Template, TemplateError, Term, Text, Used};
use crate::{
    diagnostic::Report,
    path::KeyPath,
    scope::Scope,
    span::{SourceMap, Span, Spanned},
    value::{Key, Mapping, Value},
};

/// A value with holes.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A value without holes.
    Literal(Value),
    /// A string that is not exactly one `{{ expression }}`: becomes text.
    Text(Template),
    /// A string that is exactly one `{{ expression }}`: retains its type, or leaves its key out (`optional`).
    Expression(Expression),
    /// A list of shapes.
    List(Vec<Spanned<Shape>>),
    /// A mapping of shapes, in file order.
    Map(Vec<(Spanned<Key>, Spanned<Shape>)>),
}

/// Exactly one `{{ expression }}`.
#[derive(Clone)]
pub struct Expression {
    template: Template,
}

impl Shape {
    /// Parses one string of `args`, `set`, `output` …: exactly one `{{ expression }}` retains its type (language 3.3). `secrets` is true if
    /// `{{secret:name}}` is allowed here: in arguments only (language 3.6).
    pub fn parse(text: &str, map: &SourceMap, dialect: Dialect, secrets: bool, report: &mut Report) -> Self {
        let (template, sole) =
            Template::parse_with(Text::Own(text.into()), map, dialect, if secrets { Purpose::Argument } else { Purpose::Value }, report);
        match (&template.inner.body, sole) {
            (_, true) => Self::Expression(Expression { template }),
            (Body::Literal, _) => Self::Literal(Value::Text(template.inner.text.shared())),
            _ => Self::Text(template),
        }
    }

    /// Evaluates to a value; `None` when the whole shape is `{{ x | optional }}` and `x` is undefined. Secrets are left out of the text and
    /// pushed onto `secrets` with their place.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn evaluate(&self, scope: &Scope, limits: RenderLimits, secrets: &mut Vec<SecretUse>) -> Result<Option<Value>, TemplateError> {
        self.evaluate_at(&mut String::new(), scope, limits, secrets)
    }

    /// Returns the entry of a key, if it is a mapping of shapes that has it.
    pub fn get(&self, key: &str) -> Option<&Spanned<Shape>> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| *name.value == *key).map(|(_, shape)| shape),
            _ => None,
        }
    }

    /// Every path that evaluation uses, as in [`Template::reads`].
    pub fn reads(&self) -> Vec<Read> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Text(template) | Self::Expression(Expression { template }) => template.reads(),
            Self::List(shapes) => shapes.iter().flat_map(|shape| shape.value.reads()).collect(),
            Self::Map(shapes) => shapes.iter().flat_map(|(_, shape)| shape.value.reads()).collect(),
        }
    }

    /// Every path that the shape names, as in [`Template::references`].
    pub fn references(&self) -> Vec<Reference> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Text(template) | Self::Expression(Expression { template }) => template.references(),
            Self::List(shapes) => shapes.iter().flat_map(|shape| shape.value.references()).collect(),
            Self::Map(shapes) => shapes.iter().flat_map(|(_, shape)| shape.value.references()).collect(),
        }
    }

    /// Every secret that it names, with the place of the name in the author's file (language 3.6).
    pub fn secrets(&self) -> Vec<(&str, Span)> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Text(template) | Self::Expression(Expression { template }) => secrets_of(template),
            Self::List(shapes) => shapes.iter().flat_map(|shape| shape.value.secrets()).collect(),
            Self::Map(shapes) => shapes.iter().flat_map(|(_, shape)| shape.value.secrets()).collect(),
        }
    }

    /// Every path that evaluating it uses, as [`Shape::reads`] has them, without copies.
    pub fn each_use<'t>(&'t self, see: &mut impl FnMut(Used<'t>)) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template) | Self::Expression(Expression { template }) => template.each_use(see),
            Self::List(shapes) => shapes.iter().for_each(|shape| shape.value.each_use(see)),
            Self::Map(shapes) => shapes.iter().for_each(|(_, shape)| shape.value.each_use(see)),
        }
    }

    /// Visits every template in it.
    pub fn each_template<'t>(&'t self, see: &mut impl FnMut(&'t Template)) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template) | Self::Expression(Expression { template }) => see(template),
            Self::List(shapes) => shapes.iter().for_each(|shape| shape.value.each_template(see)),
            Self::Map(shapes) => shapes.iter().for_each(|(_, shape)| shape.value.each_template(see)),
        }
    }

    fn evaluate_at(
        &self,
        pointer: &mut String,
        scope: &Scope,
        limits: RenderLimits,
        secrets: &mut Vec<SecretUse>,
    ) -> Result<Option<Value>, TemplateError> {
        match self {
            Self::Literal(value) => Ok(Some(value.clone())),
            Self::Expression(expression) => expression.evaluate(scope, limits),
            Self::Text(template) => {
                let met = |offset, name: &str| secrets.push(SecretUse { pointer: pointer.clone(), offset, name: name.into() });
                template.render_with(scope, limits, met).map(|text| Some(Value::text(text)))
            }
            Self::List(shapes) => {
                let mut items = Vec::with_capacity(shapes.len());
                for shape in shapes {
                    let index = items.len().to_string();
                    items.extend(below(pointer, &index, |pointer| shape.value.evaluate_at(pointer, scope, limits, secrets))?);
                }
                Ok(Some(items.into()))
            }
            Self::Map(shapes) => {
                let mut entries = Mapping::new();
                for (key, shape) in shapes {
                    let value = below(pointer, &key.value, |pointer| shape.value.evaluate_at(pointer, scope, limits, secrets))?;
                    if let Some(value) = value {
                        entries.insert(Arc::clone(&key.value), value);
                    }
                }
                Ok(Some(entries.into()))
            }
        }
    }
}

/// Every secret that a text names, with the place of the name.
fn secrets_of(template: &Template) -> Vec<(&str, Span)> {
    let inner = &*template.inner;
    let names: Vec<&Range<usize>> = match &inner.body {
        Body::Literal | Body::Broken => Vec::new(),
        Body::Engine(engine) => engine.secrets().iter().map(|secret| &secret.name).collect(),
        Body::Pieces(pieces) => {
            pieces.iter().filter_map(|piece| if let SegmentPiece::Secret(name) = piece { Some(name) } else { None }).collect()
        }
    };
    names.into_iter().map(|name| (&inner.text[name.clone()], inner.map.span(name.clone()))).collect()
}

/// Goes one step down a JSON pointer and comes back.
fn below<T>(pointer: &mut String, step: &str, f: impl FnOnce(&mut String) -> T) -> T {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    let result = f(pointer);
    pointer.truncate(length);
    result
}

impl Expression {
    /// The text as the author wrote it, braces included.
    pub fn text(&self) -> &str {
        self.template.text()
    }

    /// The path of an expression that is only a path, and whether its key is left out if the path is not set.
    pub fn path(&self) -> Option<(&KeyPath, bool)> {
        match &self.template.inner.body {
            Body::Pieces(pieces) => match &**pieces {
                [SegmentPiece::Path(path, _)] => Some((path, false)),
                _ => None,
            },
            Body::Engine(engine) => {
                let (path, optional) = engine.path();
                Some((path?, optional))
            }
            Body::Literal | Body::Broken => None,
        }
    }

    /// Returns whether it may leave its key out.
    pub fn is_optional(&self) -> bool {
        matches!(&self.template.inner.body, Body::Engine(engine) if engine.path().1)
    }

    /// Returns the term of its value, if it is no path.
    pub fn term(&self) -> &Term {
        match &self.template.inner.body {
            Body::Engine(engine) => engine.term().unwrap_or(&Term::Unknown),
            Body::Pieces(_) | Body::Literal | Body::Broken => &Term::Unknown,
        }
    }

    /// Evaluates it; `None` if it is a path that is not set.
    ///
    /// # Errors
    /// It fails, or exceeds a limit.
    pub fn evaluate(&self, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, TemplateError> {
        let inner = &*self.template.inner;
        match &inner.body {
            Body::Pieces(pieces) => match &**pieces {
                [SegmentPiece::Path(path, place)] => match scope.lookup(path) {
                    Some(value) => Ok(Some(value.clone())),
                    None => Err(TemplateError { message: format!("`{path}` is not set"), span: Some(inner.map.span(place.clone())) }),
                },
                _ => unreachable!("an expression is one path"),
            },
            Body::Engine(engine) => engine.evaluate(inner, scope, limits),
            Body::Literal | Body::Broken => unreachable!("an expression has a hole and was checked"),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text()).finish()
    }
}
