//! `compute` files: templates over a call's arguments that make a value in place of a text (language 9.27).
//!
//! ```text
//! text ──parse──▶ tree ──statements──▶ tree that prints nothing ──lower──▶ machine ──evaluate──▶ result or error
//!                                                             └─ uses ──check──▶ names that no argument has
//! ```
//!
//! **Invariant:** the same arguments give the same result: a file reads its arguments and nothing else.

mod declared;
mod error;
mod results;
mod statements;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use self_cell::self_cell;

pub use self::error::ComputeError;
use super::{
    Mistake, RenderLimits, Used,
    builtins::{OUTCOMES, Vocabulary},
    failure, jinja, lower,
    machine::Machine,
    mistake,
    reads::{self, Use},
};
use crate::{
    diagnostic::{Diagnostic, FilePath, Report},
    schema::Schema,
    span::{SourceMap, Span},
    value::{Mapping, Value},
};

/// A `compute` file that was checked. Cheap to clone.
///
/// ```
/// use trellis_base::{Mapping, Value, template::{Compute, DEFAULT_FUEL, RenderLimits}};
///
/// let file = Compute::parse("lib/total.jinja", r#"{% set result = {"sum": items | sum, "count": items | length} %}"#).unwrap();
/// let limits = RenderLimits { output: 1 << 20, fuel: DEFAULT_FUEL };
/// let arguments = Mapping::from_iter([("items", Value::from([3, 4]))]);
/// assert_eq!(file.evaluate(&arguments, limits, 1 << 20).unwrap().to_json(), r#"{"count":2,"sum":7}"#);
/// ```
#[derive(Clone)]
pub struct Compute {
    inner: Arc<ComputeFile>,
}

struct ComputeFile {
    path: FilePath,
    uses: Box<[Use]>,
    results: Box<[results::WrittenResult]>,
    map: SourceMap,
    program: ComputeProgram,
}

self_cell! {
    struct ComputeProgram {
        owner: Arc<str>,
        #[covariant]
        dependent: Machine,
    }
}

impl Compute {
    /// Parses a file; its findings and errors name `path`.
    ///
    /// # Errors
    /// Every mistake that does not only follow from an earlier one: no template, an unknown filter, test or function, an expression that would be
    /// printed, no `result` at the top.
    pub fn parse(path: impl Into<FilePath>, text: impl Into<Arc<str>>) -> Result<Self, Vec<Diagnostic>> {
        let (path, map) = (path.into(), SourceMap::Slice(0));
        let (mut uses, mut results) = (Box::default(), Box::default());
        let program = ComputeProgram::try_new(text.into(), |text| {
            let tree = jinja::checked(text, Vocabulary::Compute)?;
            statements::check(&tree, text)?;
            let lowered = lower::compute(&tree);
            uses = reads::of_template(&lowered);
            results = results::written(&lowered);
            Ok(Machine::template(text, &lowered))
        });
        match program {
            Ok(program) => Ok(Self { inner: Arc::new(ComputeFile { path, uses, results, map, program }) }),
            Err(mistakes) => {
                let mut report = Report::new(&path);
                mistake::report(mistakes, &map, &mut report);
                Err(report.diagnostics)
            }
        }
    }

    /// The file that it was parsed from.
    pub fn path(&self) -> &FilePath {
        &self.inner.path
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        self.inner.program.borrow_owner()
    }

    /// Reports reads of values that arguments of this JSON Schema do not have (`undefined-variable`), or need not have (`maybe-undefined`).
    ///
    /// Without `properties` nothing is known of the arguments, and nothing is found.
    pub fn check(&self, parameters: &Value) -> Vec<Diagnostic> {
        let mut report = Report::new(&self.inner.path);
        declared::check(self.inner.uses.iter().map(|of| used(of, &self.inner.map)), parameters, &mut report);
        report.diagnostics
    }

    /// Reports results that do not fit what their tool `returns` (`type-mismatch`), as far as they are written.
    pub fn check_result(&self, returns: &Schema) -> Vec<Diagnostic> {
        let mut report = Report::new(&self.inner.path);
        results::check(&self.inner.results, returns, &mut report);
        report.diagnostics
    }

    /// The result for these arguments.
    ///
    /// `limits` bound its steps and each text that it makes; `output` is the most bytes, as JSON, of the result and of each list and mapping.
    ///
    /// # Errors
    /// The `error` that the file sets; else one of code `compute`: an unset value, a calculation that fails, a bound, no result.
    pub fn evaluate(&self, arguments: &Mapping, limits: RenderLimits, output: u64) -> Result<Value, ComputeError> {
        let program = self.inner.program.borrow_dependent();
        let (printed, [result, error]) =
            program.named(arguments, limits, output, OUTCOMES).map_err(|error| self.failure(&error, limits))?;
        if !printed.trim().is_empty() {
            return Err(ComputeError::new("a text was printed"));
        }
        if let Some(error) = error.filter(|error| !error.is_null()) {
            return Err(error::of_author(&error));
        }
        let result = result.ok_or_else(|| ComputeError::new("`result` was not set"))?;
        match result.size() {
            size if size > output => {
                Err(ComputeError::new(format!("the result is {size} bytes, more than the {output} that `limits.tool_output` allows")))
            }
            _ => Ok(result),
        }
    }

    fn failure(&self, error: &minijinja::Error, limits: RenderLimits) -> ComputeError {
        let (message, place) = failure::failure(error, self.text(), limits);
        let failed = ComputeError::new(message);
        match place {
            Some(place) => failed.at(&self.inner.path, self.text(), Span::new(place.start, place.end)),
            None => failed,
        }
    }
}

fn used<'t>(of: &'t Use, map: &'t SourceMap) -> Used<'t> {
    let Use { path, place, when, inside, deep, demand, blind, calculation } = of;
    let (deep, demand, blind, calculation) = (*deep, *demand, *blind, calculation.as_ref());
    Used { path, when, inside, deep, demand, blind, calculation, place, map }
}

impl fmt::Debug for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Compute").field(&self.inner.path).finish()
    }
}
