//! Constant evaluation while compiling: expressions of constants, and filters and tests with constant arguments.
//!
//! **Invariant:** a reported expression fails for all values of a session: the engine itself evaluated it.

use std::collections::BTreeMap;

use minijinja::{
    ErrorKind,
    machinery::ast::{Expr, Filter, Spanned, Test},
    value::Value as Dyn,
};

use super::{RenderLimits, explain, lower, machine::Machine};
use crate::scope::Scope;

/// The bounds of one trial.
pub(super) const TRIAL_LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: 100_000 };

/// Returns the reason why an expression of constants fails.
pub(super) fn constant(tree: &Expr<'_>) -> Option<String> {
    run(&lower::expression(tree).0)
}

/// Returns the reason why a filter with constant arguments fails for every input.
pub(super) fn filter(node: &Spanned<Filter<'_>>) -> Option<String> {
    fails(|sample| run(&lower::filter_over(node, sample)))
}

/// Returns the reason why a test with constant arguments fails for every input.
pub(super) fn test(node: &Spanned<Test<'_>>) -> Option<String> {
    fails(|sample| run(&lower::test_over(node, sample)))
}

/// The first failure, if there is one for each sort of value.
fn fails(run: impl Fn(Dyn) -> Option<String>) -> Option<String> {
    let samples = [
        Dyn::from("1"),
        Dyn::from(1),
        Dyn::from(Vec::<Dyn>::new()),
        Dyn::from(BTreeMap::<String, Dyn>::new()),
        Dyn::from(1.5),
        Dyn::from(true),
        Dyn::from(()),
    ];
    let mut why = None;
    for sample in samples {
        why = Some(run(sample)?).filter(|_| why.is_none()).or(why);
    }
    why
}

fn run(lowered: &Expr<'_>) -> Option<String> {
    let error = Machine::expression("", lowered).evaluate(&Scope::default(), TRIAL_LIMITS).err()?;
    // A graph may have other limits.
    if matches!(error.kind(), ErrorKind::WriteFailure | ErrorKind::OutOfFuel) {
        return None;
    }
    Some(error.detail().map_or_else(|| error.kind().to_string(), explain::in_our_words))
}
