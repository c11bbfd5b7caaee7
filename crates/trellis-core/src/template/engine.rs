//! A template that needs the engine: parsed and checked at once, prepared when it is first used, shared by clones.
//!
//! **Invariant:** the parsed tree is not kept; between checking and first use there is only the text.

use std::sync::OnceLock;

use minijinja::{
    ErrorKind,
    machinery::ast::{Expr, Stmt},
};
use self_cell::self_cell;

use super::{
    Dialect, Mistake, RenderLimits, TemplateError, TemplateInner, Term, Text,
    builtins::Vocabulary,
    check, failure, formula, go, jinja, lower,
    machine::Machine,
    path_text,
    reads::{self, Use},
    secret::{self, UsedSecret},
};
use crate::{path::KeyPath, scope::Scope, value::Value};

/// A checked template.
pub(super) struct TemplateEngine {
    dialect: Dialect,
    /// Whether it is exactly one `{{ expression }}` that keeps its type: then it is evaluated, else it is rendered.
    sole: bool,
    secrets: Box<[UsedSecret]>,
    uses: Box<[Use]>,
    /// Whether it is one expression that may leave its key out, and the path that it is, if it is one.
    optional: bool,
    path: Option<KeyPath>,
    /// What it makes, if it is one expression and no path.
    made: Option<Box<Term>>,
    prepared: OnceLock<Prepared>,
}

struct Ready<'s> {
    program: Machine<'s>,
    /// Whether a value that is not set is nothing, not a failure.
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
    /// Checks a text, and says whether it is exactly one expression whose type is to be kept (`typed`).
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str, dialect: Dialect, typed: bool, secrets: Vec<UsedSecret>) -> Result<(Self, bool), Vec<Mistake>> {
        let masked = (!secrets.is_empty()).then(|| secret::mask(text, &secrets));
        let source = masked.as_deref().unwrap_or(text);
        let tree = match dialect {
            Dialect::Go => go::parse(source)?,
            Dialect::Jinja | Dialect::Legacy => jinja::checked(source, Vocabulary::Template)?,
        };
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
            None => (reads::of_template(&lower::template(&tree, !secrets.is_empty())), false, None, None),
        };
        let sole = expression.is_some();
        Ok((Self { dialect, sole, secrets: secrets.into(), uses, optional, path, made, prepared: OnceLock::new() }, sole))
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

    /// Evaluates the sole expression; nothing where it is optional and not set.
    pub(super) fn evaluate(&self, of: &TemplateInner, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, TemplateError> {
        let ready = self.prepared(&of.text).borrow_dependent();
        let value = ready.program.evaluate(scope, limits).map_err(|error| self.failure(of, limits, &error))?;
        if value.is_none() && !ready.optional {
            return Err(TemplateError { message: format!("`{}` is not set", path_text(&of.text)), span: None });
        }
        Ok(value)
    }

    /// What it uses.
    pub(super) fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// The path that its sole expression is, and whether it may leave its key out.
    pub(super) fn path(&self) -> (Option<&KeyPath>, bool) {
        (self.path.as_ref(), self.optional)
    }

    /// What its sole expression makes, where it is no path.
    pub(super) fn made(&self) -> Option<&Term> {
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
            None => Ready { program: Machine::template(source, &lower::template(&tree, !self.secrets.is_empty())), optional: false },
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
