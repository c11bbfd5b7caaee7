//! A template that needs the engine: parsed and checked at once, prepared when it is first used, shared by clones.
//!
//! **Invariant:** the parsed tree is not stored; between checking and first use there is only the text.

use std::{borrow::Cow, sync::OnceLock};

use minijinja::{
    ErrorKind,
    machinery::ast::{Expr, Stmt},
};
use self_cell::self_cell;

use super::{
    Dialect, Mistake, Purpose, RenderLimits, RenderedPiece, TemplateError, TemplateInner, Term, Text,
    builtins::Vocabulary,
    check, failure, formula, go, jinja, lower,
    machine::{Machine, MetPiece},
    path_text,
    reads::{self, Use},
    secret::{self, UsedSecret},
};
use crate::{path::KeyPath, scope::Scope, value::Value};

/// A checked template.
pub(super) struct TemplateEngine {
    dialect: Dialect,
    /// True if it is exactly one `{{ expression }}` whose type is preserved: then it is evaluated, else it is rendered.
    sole: bool,
    /// True if it is rendered in pieces.
    in_pieces: bool,
    secrets: Box<[UsedSecret]>,
    uses: Box<[Use]>,
    /// True if it is one expression that may leave its key out, and the path that it is, if it is one.
    optional: bool,
    path: Option<KeyPath>,
    /// The term of its value, if it is one expression and no path.
    made: Option<Box<Term>>,
    prepared: OnceLock<Prepared>,
}

struct Ready<'s> {
    program: Machine<'s>,
    /// True if an unset value is no failure, but leaves the key out.
    optional: bool,
}

self_cell! {
    struct Prepared {
        owner: Text,
        #[covariant]
        dependent: Ready,
    }
}

impl TemplateEngine {
    /// Checks a text, and returns whether it is exactly one expression whose type is preserved.
    ///
    /// # Errors
    /// The mistakes of the text.
    pub(super) fn parse(text: &str, dialect: Dialect, used: Purpose, secrets: Vec<UsedSecret>) -> Result<(Self, bool), Vec<Mistake>> {
        let masked = (!secrets.is_empty()).then(|| secret::mask(text, &secrets));
        let source = masked.as_deref().unwrap_or(text);
        let tree = match dialect {
            Dialect::Go => go::parse(source)?,
            Dialect::Jinja | Dialect::Legacy => jinja::checked(source, Vocabulary::Template)?,
        };
        let (typed, in_pieces) = (matches!(used, Purpose::Value | Purpose::Argument), used == Purpose::Pieces);
        if in_pieces {
            let mistakes = check::captures(&tree);
            if !mistakes.is_empty() {
                return Err(mistakes);
            }
        }
        if !secrets.is_empty() {
            let mistakes = check::secrets(&tree, &secrets);
            if !mistakes.is_empty() {
                return Err(mistakes);
            }
        }
        let expression = sole_expression(&tree, source).filter(|_| typed && secrets.is_empty());
        let (uses, optional, path, made) = match expression {
            Some(expression) => {
                let (lowered, optional) = lower::expression(expression);
                let path = reads::path_of(&lowered);
                let made = path.is_none().then(|| Box::new(formula::term(&lowered)));
                (reads::of_expression(&lowered, optional), optional, path, made)
            }
            None => (reads::of_template(&lower::template(&tree, !secrets.is_empty(), in_pieces)), false, None, None),
        };
        let sole = expression.is_some();
        Ok((Self { dialect, sole, in_pieces, secrets: secrets.into(), uses, optional, path, made, prepared: OnceLock::new() }, sole))
    }

    /// Renders to text; `secret` hears of each secret with its offset in it.
    pub(super) fn render(
        &self,
        of: &TemplateInner,
        scope: &Scope,
        limits: RenderLimits,
        mut secret: impl FnMut(usize, &str),
    ) -> Result<String, TemplateError> {
        let (text, met) =
            self.prepared(&of.text).borrow_dependent().program.render(scope, limits).map_err(|error| self.failure(of, limits, &error))?;
        for (place, offset) in met {
            if let Some(found) = self.secrets.iter().find(|found| found.place.contains(&place)) {
                secret(offset, &of.text[found.name.clone()]);
            }
        }
        Ok(text)
    }

    /// Renders in pieces; the whole is one hole where the text was not parsed for it.
    pub(super) fn render_pieces(
        &self,
        of: &TemplateInner,
        scope: &Scope,
        limits: RenderLimits,
    ) -> Result<Vec<RenderedPiece>, TemplateError> {
        if !self.in_pieces {
            let mut secret = None;
            let text = self.render(of, scope, limits, |_, name| secret = Some(name.to_owned()))?;
            return match secret {
                None => Ok(vec![RenderedPiece::Value(Value::text(text))]),
                Some(name) => Err(TemplateError { message: format!("the secret `{name}` may not stand here"), span: None }),
            };
        }
        let met = self.prepared(&of.text).borrow_dependent().program.pieces(scope, limits);
        let met = met.map_err(|error| self.failure(of, limits, &error))?;
        let piece = |met| match met {
            MetPiece::Author(text) => Some(RenderedPiece::Text(text)),
            MetPiece::Value(value) => Some(RenderedPiece::Value(value)),
            MetPiece::Secret(place) => {
                let used = self.secrets.iter().find(|used| used.place.contains(&place))?;
                Some(RenderedPiece::Secret(of.text[used.name.clone()].into()))
            }
        };
        Ok(met.into_iter().filter_map(piece).collect())
    }

    /// The text that is parsed: secrets are masked.
    pub(super) fn source<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.secrets.is_empty() { text.into() } else { secret::mask(text, &self.secrets).into() }
    }

    /// Its secrets, in order.
    pub(super) fn secrets(&self) -> &[UsedSecret] {
        &self.secrets
    }

    /// Evaluates the sole expression; `None` if it is optional and not set.
    pub(super) fn evaluate(&self, of: &TemplateInner, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, TemplateError> {
        let ready = self.prepared(&of.text).borrow_dependent();
        let value = ready.program.evaluate(scope, limits).map_err(|error| self.failure(of, limits, &error))?;
        if value.is_none() && !ready.optional {
            return Err(TemplateError { message: format!("`{}` is not set", path_text(&of.text)), span: None });
        }
        Ok(value)
    }

    /// Returns its uses.
    pub(super) fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// The path that its sole expression is, and whether it may leave its key out.
    pub(super) fn path(&self) -> (Option<&KeyPath>, bool) {
        (self.path.as_ref(), self.optional)
    }

    /// Returns the term of its sole expression, if that is no path.
    pub(super) fn term(&self) -> Option<&Term> {
        self.made.as_deref()
    }

    fn prepared(&self, text: &Text) -> &Prepared {
        self.prepared.get_or_init(|| {
            let source = if self.secrets.is_empty() { text.clone() } else { Text::Own(secret::mask(text, &self.secrets).into()) };
            Prepared::new(source, |source| self.prepare(source))
        })
    }

    fn prepare<'s>(&self, source: &'s str) -> Ready<'s> {
        let tree = parse_tree(source, self.dialect).unwrap_or_else(|_| unreachable!("the same text was parsed when it was checked"));
        match sole_expression(&tree, source).filter(|_| self.sole) {
            Some(expression) => {
                let (lowered, optional) = lower::expression(expression);
                Ready { program: Machine::expression(source, &lowered), optional }
            }
            None => Ready {
                program: Machine::template(source, &lower::template(&tree, !self.secrets.is_empty(), self.in_pieces)),
                optional: false,
            },
        }
    }

    fn failure(&self, of: &TemplateInner, limits: RenderLimits, error: &minijinja::Error) -> TemplateError {
        if error.kind() == ErrorKind::WriteFailure {
            return of.too_long(limits);
        }
        let (message, place) = failure::failure(error, &of.text, limits);
        TemplateError { message, span: place.map(|place| of.map.span(place)) }
    }
}

fn parse_tree(source: &str, dialect: Dialect) -> Result<Stmt<'_>, Vec<Mistake>> {
    match dialect {
        Dialect::Go => go::parse(source),
        Dialect::Jinja | Dialect::Legacy => jinja::parse(source).map_err(|mistake| vec![mistake]),
    }
}

fn sole_expression<'t, 's>(tree: &'t Stmt<'s>, source: &str) -> Option<&'t Expr<'s>> {
    jinja::sole_expression(tree, source)
}
