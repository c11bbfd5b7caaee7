//! The configured template engine: minijinja with our printing, our bounds, and our own versions of the operations that could explode.
//!
//! A tree that was lowered (see [`super::lower`]) enters, text or a value leaves.
//!
//! **Invariant:** work and memory of one rendering are bounded by its limits, for every template and all data.

mod budget;
mod filters;
mod hooks;
mod mappings;

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
    bridge::{ScopeView, Size, TemplateInput, VIEW, from_dyn, print, too_long},
};
use crate::{
    scope::Scope,
    value::{Mapping, Value},
};

/// NameTable of filters that only a lowered tree uses.
pub(super) mod hook {
    /// Fails where its input is not set.
    pub(crate) const USE: &str = "!";
    /// Use of a value that is compared part by part.
    pub(crate) const COMPARE: &str = "==";
    /// Leaves the key out where its input is not set.
    pub(crate) const MAYBE: &str = "?";
    /// A value that gets a name.
    pub(crate) const KEEP: &str = "=";
    /// The items of Go's `range`: the values of a mapping, not its keys. Authors of Jinja may write it too.
    pub(crate) const ITEMS: &str = "values";
    /// The items of Go's `range` with the index or key before each one.
    pub(crate) const PAIRS: &str = "pairs";
    /// The items of a loop with two names: the group of a `groupby` becomes its key and its items.
    pub(crate) const GROUPS: &str = "(,)";
    /// Part of a text or list: `a[1:3]`.
    pub(crate) const SLICE: &str = "[:]";
    /// Joins texts.
    pub(crate) const CONCAT: &str = "~";
    /// Adds numbers, texts, lists.
    pub(crate) const ADD: &str = "+";
    /// The function `range`, under a name that hides no key of that name.
    pub(crate) const RANGE: &str = "range()";
    /// The function `namespace`, likewise.
    pub(crate) const NAMESPACE: &str = "namespace()";
    /// A number that fits.
    pub(crate) const FITS: &str = "<64";
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

/// A piece of a rendering: the byte of a secret's variable represents the secret.
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
    mappings::add(&mut engine);
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
        let (_, secrets) = self.run(TemplateInput::Scope(scope.clone()), limits, &mut out)?;
        if out.len() as u64 > limits.output { Err(too_long()) } else { Ok((out, secrets)) }
    }

    /// Evaluates to a value; `None` if it is not set.
    pub(super) fn evaluate(&self, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, Error> {
        let value = self.run(TemplateInput::Scope(scope.clone()), limits, &mut String::new())?.0.unwrap_or(Dyn::UNDEFINED);
        if value.is_undefined() { Ok(None) } else { from_dyn(&value, Size::printed(limits.output)).map(Some) }
    }

    /// Renders in pieces; the tree was lowered for it.
    pub(super) fn pieces(&self, scope: &Scope, limits: RenderLimits) -> Result<Vec<MetPiece>, Error> {
        let view = ScopeView { names: TemplateInput::Scope(scope.clone()), limits, made: u64::MAX, in_pieces: true };
        with_fuel(limits.fuel, |engine| {
            self.eval(engine, view, &mut String::new(), |_, state| {
                let pieces = state.get_extension_mut::<RenderBudget>().and_then(|budget| budget.pieces.take());
                pieces.unwrap_or_default()
            })
        })
    }

    /// Runs a template over arguments, and gives the values that it names so at its top, lists and mappings of at most `made` bytes each.
    pub(super) fn named<const N: usize>(
        &self,
        arguments: &Mapping,
        limits: RenderLimits,
        made: u64,
        names: [&str; N],
    ) -> Result<(String, [Option<Value>; N]), Error> {
        let mut out = String::new();
        let view = ScopeView { names: TemplateInput::Arguments(arguments.clone()), limits, made, in_pieces: false };
        let values = with_fuel(limits.fuel, |engine| {
            self.eval(engine, view, &mut out, |_, state| {
                let set = state.exports();
                let named = |name: &&str| if set.contains(name) { state.lookup(name) } else { None };
                names.each_ref().map(|name| named(name).filter(|value| !value.is_undefined()))
            })
        })?;
        let mut read = [const { None }; N];
        for (value, read) in values.iter().zip(&mut read) {
            *read = value.as_ref().map(|value| from_dyn(value, Size::printed(made))).transpose()?;
        }
        Ok((out, read))
    }

    fn run(&self, names: TemplateInput, limits: RenderLimits, out: &mut String) -> Result<(Option<Dyn>, Vec<Met>), Error> {
        let view = ScopeView { names, limits, made: u64::MAX, in_pieces: false };
        with_fuel(limits.fuel, |engine| {
            self.eval(engine, view, out, |value, state| {
                let secrets = state.get_extension_mut::<RenderBudget>().map(|budget| std::mem::take(&mut budget.secrets));
                (value, secrets.unwrap_or_default())
            })
        })
    }

    fn eval<T>(
        &self,
        engine: &Environment<'_>,
        view: ScopeView,
        out: &mut String,
        then: impl FnOnce(Option<Dyn>, &mut State<'_, '_>) -> T,
    ) -> Result<T, Error> {
        let blocks = BTreeMap::new();
        let mut out = make_string_output(out);
        let (value, mut state) = eval(engine, &self.instructions, Dyn::from_object(view), &blocks, &mut out, AutoEscape::None)?;
        Ok(then(value, &mut state))
    }
}

/// The engine with so much fuel.
fn with_fuel<T>(fuel: u64, run: impl FnOnce(&Environment<'_>) -> T) -> T {
    if ENGINE.fuel() == Some(fuel) {
        return run(&ENGINE);
    }
    let mut engine = ENGINE.clone();
    // The engine counts down a signed number.
    engine.set_fuel(Some(fuel.min(i64::MAX as u64)));
    run(&engine)
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
        for builtin in builtins::COMPUTE_FILTERS {
            assert!(!ENGINE.empty_state().apply_filter(builtin.name, &[]).is_err_and(unknown), "{}", builtin.name);
        }
        let functions = [(hook::RANGE, builtins::FUNCTIONS), (hook::NAMESPACE, builtins::COMPUTE_FUNCTIONS)];
        assert!(ENGINE.globals().all(|(name, _)| functions.iter().any(|(hook, list)| *hook == name && list.len() == 1)));
    }
}
