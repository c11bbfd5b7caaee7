//! The template engine as we set it up: minijinja with our printing, our bounds and our own versions of whatever could explode.
//!
//! A tree that was lowered (see [`super::lower`]) enters, text or a value leaves.
//!
//! **Invariant:** work and memory of one rendering are bounded by its limits, whatever the template and the data are.

mod budget;
mod filters;
mod hooks;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior,
    machinery::{CodeGenerator, Instructions, ast, eval, make_string_output},
    value::{Object, ObjectRepr, Value as Dyn},
};

use self::budget::RenderBudget;
use super::{
    DEFAULT_FUEL, RenderLimits,
    bridge::{ScopeView, Size, VIEW, from_dyn, print, too_long},
};
use crate::{scope::Scope, value::Value};

/// NameTable of filters that only a lowered tree uses.
pub(super) mod hook {
    /// Fails where its input is not set.
    pub(crate) const USE: &str = "!";
    /// The same for a value that is compared part by part.
    pub(crate) const COMPARE: &str = "==";
    /// Nothing where its input is not set.
    pub(crate) const MAYBE: &str = "?";
    /// A value that gets a name.
    pub(crate) const KEEP: &str = "=";
    /// What Go's `range` loops over: the values of a mapping, not its keys. Authors of Jinja may write it too.
    pub(crate) const ITEMS: &str = "values";
    /// The same with the index or key before each one.
    pub(crate) const PAIRS: &str = "pairs";
    /// Part of a text or list: `a[1:3]`.
    pub(crate) const SLICE: &str = "[:]";
    /// Joins texts.
    pub(crate) const CONCAT: &str = "~";
    /// Adds numbers, texts, lists.
    pub(crate) const ADD: &str = "+";
    /// The function `range`, under a name that hides no key of that name.
    pub(crate) const RANGE: &str = "range()";
    /// Multiplies numbers, repeats texts.
    pub(crate) const MULTIPLY: &str = "*";
}

/// A secret in a lowered tree, by the place of its variable.
#[derive(Debug)]
pub(super) struct Secret {
    /// Byte in the text.
    pub(super) place: usize,
}

impl Object for Secret {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// Text of the author's in a lowered tree that is rendered in pieces.
#[derive(Debug)]
pub(super) struct AuthorText(pub(super) Arc<str>);

impl Object for AuthorText {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// A piece of a rendering: the byte of a secret's variable stands for the secret.
pub(super) enum MetPiece {
    Author(Arc<str>),
    Value(Value),
    Secret(usize),
}

/// A secret that was met: the byte of its variable in the template, and its offset in the result.
pub(super) type Met = (usize, usize);

/// The engine, without fuel: each rendering brings its own.
static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::empty();
    engine.set_debug(false);
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_formatter(emit);
    engine.set_fuel(Some(DEFAULT_FUEL));
    hooks::add(&mut engine);
    filters::add(&mut engine);
    filters::add_tests(&mut engine);
    engine
});

/// A prepared template or expression.
pub(super) struct Machine<'s> {
    instructions: Instructions<'s>,
}

impl<'s> Machine<'s> {
    /// A lowered template.
    pub(super) fn template(source: &'s str, tree: &ast::Stmt<'s>) -> Self {
        let mut generator = CodeGenerator::new("template", source);
        generator.compile_stmt(tree);
        Self { instructions: generator.finish().0 }
    }

    /// A lowered expression.
    pub(super) fn expression(source: &'s str, tree: &ast::Expr<'s>) -> Self {
        let mut generator = CodeGenerator::new("expression", source);
        generator.compile_expr(tree);
        Self { instructions: generator.finish().0 }
    }

    /// Renders to text, with the secrets that were met.
    pub(super) fn render(&self, scope: &Scope, limits: RenderLimits) -> Result<(String, Vec<Met>), Error> {
        let mut out = String::new();
        let (_, secrets) = self.run(scope, limits, &mut out)?;
        if out.len() as u64 > limits.output { Err(too_long()) } else { Ok((out, secrets)) }
    }

    /// Evaluates to a value; nothing where it is not set.
    pub(super) fn evaluate(&self, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, Error> {
        let value = self.run(scope, limits, &mut String::new())?.0.unwrap_or(Dyn::UNDEFINED);
        if value.is_undefined() { Ok(None) } else { from_dyn(&value, Size::printed(limits.output)).map(Some) }
    }

    /// Renders in pieces; the tree was lowered for it.
    pub(super) fn pieces(&self, scope: &Scope, limits: RenderLimits) -> Result<Vec<MetPiece>, Error> {
        let spent = |budget: &mut RenderBudget| budget.pieces.take().unwrap_or_default();
        Ok(self.run_in(ScopeView { scope: scope.clone(), limits, in_pieces: true }, &mut String::new(), spent)?.1)
    }

    fn run(&self, scope: &Scope, limits: RenderLimits, out: &mut String) -> Result<(Option<Dyn>, Vec<Met>), Error> {
        let spent = |budget: &mut RenderBudget| std::mem::take(&mut budget.secrets);
        self.run_in(ScopeView { scope: scope.clone(), limits, in_pieces: false }, out, spent)
    }

    fn run_in<T: Default>(
        &self,
        view: ScopeView,
        out: &mut String,
        spent: impl FnOnce(&mut RenderBudget) -> T,
    ) -> Result<(Option<Dyn>, T), Error> {
        let fuel = view.limits.fuel;
        let view = Dyn::from_object(view);
        if ENGINE.fuel() == Some(fuel) {
            return self.run_on(&ENGINE, view, out, spent);
        }
        let mut engine = ENGINE.clone();
        engine.set_fuel(Some(fuel));
        self.run_on(&engine, view, out, spent)
    }

    fn run_on<T: Default>(
        &self,
        engine: &Environment<'_>,
        view: Dyn,
        out: &mut String,
        spent: impl FnOnce(&mut RenderBudget) -> T,
    ) -> Result<(Option<Dyn>, T), Error> {
        let blocks = BTreeMap::new();
        let mut out = make_string_output(out);
        let (value, mut state) = eval(engine, &self.instructions, view, &blocks, &mut out, AutoEscape::None)?;
        Ok((value, state.get_extension_mut::<RenderBudget>().map(spent).unwrap_or_default()))
    }
}

/// Prints a value.
fn emit(out: &mut Output, state: &mut State, value: &Dyn) -> Result<(), Error> {
    let budget = RenderBudget::of(state);
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    if budget.pieces.is_some() {
        return budget.piece(value);
    }
    if let Some(AuthorText(text)) = value.downcast_object_ref::<AuthorText>() {
        let text = Dyn::from(Arc::clone(text));
        let written = print(&text, out, budget.output)?;
        budget.output -= written;
        budget.printed += written;
        return Ok(());
    }
    if let Some(secret) = value.downcast_object_ref::<Secret>() {
        budget.secrets.push((secret.place, usize::try_from(budget.printed).unwrap_or(usize::MAX)));
        return Ok(());
    }
    let written = print(value, out, budget.output)?;
    budget.output -= written;
    budget.printed += written;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::builtins, *};

    #[test]
    fn the_list_is_what_the_engine_has() {
        let unknown = |error: Error| matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest);
        for builtin in builtins::FILTERS {
            assert!(!ENGINE.empty_state().apply_filter(builtin.name, &[]).is_err_and(unknown), "{}", builtin.name);
        }
        for builtin in builtins::TESTS {
            assert!(!ENGINE.empty_state().perform_test(builtin.name, &[]).is_err_and(unknown), "{}", builtin.name);
        }
        assert!(ENGINE.globals().all(|(name, _)| name == hook::RANGE) && builtins::FUNCTIONS.len() == 1);
    }
}
