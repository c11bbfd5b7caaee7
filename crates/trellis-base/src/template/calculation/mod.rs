//! Calculations whose parts have to go together: whether they work depends on the sorts of all of them, so the engine itself is asked.
//!
//! Paths and samples enter, the results of the engine leave.
//!
//! **Invariant:** a reported failure occurred on the engine for every sample; a reported success depends on nothing but sorts.

mod detached;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use minijinja::{ErrorKind, machinery::ast::Expr};

pub(super) use self::detached::{At, detached};
use super::{const_eval::TRIAL_LIMITS, kinds::KindSet, machine::Machine};
use crate::{
    context::Context,
    path::KeyPath,
    scope::Scope,
    value::{Key, Mapping, Value},
};

/// Maximum number of paths in a calculation that is analyzed as a whole.
pub const PATHS: usize = 3;

/// The names of the paths in a calculation.
const NAMES: [&str; PATHS] = ["a", "b", "c"];

/// An expression over a few paths, without the template that contains it.
pub struct Calculation {
    /// Its operands, each once.
    pub paths: Box<[KeyPath]>,
    /// The form: the same for calculations that differ in their paths only.
    pub form: Arc<str>,
    /// The number of samples that determine the outcome for all values of some sorts.
    nature: Nature,
    /// Its last operation.
    pub last: LastOperation,
    tree: Expr<'static>,
    program: OnceLock<Machine<'static>>,
}

/// The properties of its operands that determine whether a calculation works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    /// On sorts: it only adds, or concatenates texts.
    Sorts,
    /// On sorts, where all are numbers.
    Numbers,
    /// On values.
    Values,
}

/// The last operation of a calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastOperation {
    /// It adds.
    Adds,
    /// Some other arithmetic.
    Reckons,
    /// Something else.
    Other,
}

/// The outcome of a calculation over values of some sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalculationOutcome {
    /// It works, bounds aside.
    Works,
    /// It fails.
    Fails,
    /// It depends on the values.
    Depends,
}

/// The outcome of one trial.
enum Trial {
    Works,
    /// A path is not set: another finding reports it.
    Unset,
    Fails,
}

impl Calculation {
    /// Returns its outcome where each of its paths has a value of one sort.
    pub fn outcome(&self, sorts: &[KindSet]) -> CalculationOutcome {
        let samples: Vec<Vec<Option<Value>>> = sorts.iter().map(|sort| samples(*sort)).collect();
        let (mut works, mut fails) = (false, false);
        let mut at = vec![0; samples.len()];
        loop {
            let values: Vec<Option<Value>> = at.iter().zip(&samples).map(|(at, samples)| samples[*at].clone()).collect();
            match self.attempt(&values) {
                Trial::Works => works = true,
                Trial::Unset => return CalculationOutcome::Works,
                Trial::Fails => fails = true,
            }
            if works && fails {
                return CalculationOutcome::Depends;
            }
            let Some(next) = (0..at.len()).find(|place| at[*place] + 1 < samples[*place].len()) else { break };
            at[next] += 1;
            at[..next].fill(0);
        }
        let is_sure = match self.nature {
            Nature::Sorts => true,
            Nature::Numbers => sorts.iter().all(|sort| matches!(*sort, KindSet::NUMBER | KindSet::UNSET)),
            Nature::Values => false,
        };
        match fails {
            true => CalculationOutcome::Fails,
            false if is_sure => CalculationOutcome::Works,
            false => CalculationOutcome::Depends,
        }
    }

    /// Returns whether it fails with these values; a missing one is absent.
    pub fn fails(&self, values: &[Option<Value>]) -> bool {
        matches!(self.attempt(values), Trial::Fails)
    }

    fn attempt(&self, values: &[Option<Value>]) -> Trial {
        let named = NAMES.iter().zip(values).filter_map(|(name, value)| Some((Key::from(*name), value.clone()?)));
        let scope = Scope { context: Context::new(named.collect::<Mapping>()), ..Scope::default() };
        let program = self.program.get_or_init(|| Machine::expression("", &self.tree));
        match program.evaluate(&scope, TRIAL_LIMITS) {
            Ok(_) => Trial::Works,
            Err(error) => match error.kind() {
                // A graph may have other limits.
                ErrorKind::WriteFailure | ErrorKind::OutOfFuel => Trial::Works,
                ErrorKind::UndefinedError => Trial::Unset,
                _ => Trial::Fails,
            },
        }
    }
}

impl PartialEq for Calculation {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form && self.paths == other.paths
    }
}

impl fmt::Debug for Calculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calculation").field("paths", &self.paths).field("form", &self.form).finish()
    }
}

/// Values of a sort that behave differently.
fn samples(sort: KindSet) -> Vec<Option<Value>> {
    let texts = ["[]", r#"[1]"#, r#"["a"]"#, r#"[{"a":1}]"#];
    let values: Vec<Value> = match sort {
        KindSet::UNSET => return vec![None],
        KindSet::NULL => vec![Value::Null],
        KindSet::TRUTH => vec![true.into(), false.into()],
        KindSet::NUMBER => vec![Value::Int(1), Value::Int(0), Value::Int(-1), Value::Float(2.5)],
        KindSet::TEXT => ["a", "1", "", "a b"].map(Value::text).into(),
        KindSet::LIST => texts.iter().filter_map(|text| Value::from_json(text).ok()).collect(),
        _ => vec![Value::Map(Mapping::new()), Value::map([("a", Value::Int(1))])],
    };
    values.into_iter().map(Some).collect()
}

#[cfg(test)]
mod tests;
