//! Unchecked reads (language 8.2): counted, and findings for authors who want everything proved.
//!
//! In: the unchecked reads of the data analysis. Out: the same in words, without those that only follow from findings.

use std::{collections::BTreeMap, sync::Arc};

use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Place},
    path::KeyPath,
    span::Span,
};

/// An unchecked read: one of an unknown value (language 8.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UncheckedRead {
    /// Place of the read.
    pub place: Place,
    /// The path that is read.
    pub path: KeyPath,
    /// The text of an expression over several values, or inside of one, that is unchecked as a whole; the path is one that it reads.
    pub expression: Option<Arc<str>>,
    /// The question that the checker could not answer.
    pub unknown: Unknown,
}

/// A question about a value that the checker could not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// Is it set?
    Presence,
    /// Are all parts set that are read of its items?
    Part,
    /// It is present; whether it is of the required kind is unchecked.
    Kind,
    /// Are the values that are calculated with of kinds that go together?
    Operands,
    /// It is present, of a known kind; the operation on it is unchecked.
    Use,
    /// It is a list or a mapping; what a filter does with its items is unchecked.
    Items,
    /// Does it fit a contract?
    Fit,
    /// Does a condition hold?
    Truth,
    /// Can a value be written there?
    Room,
}

impl UncheckedRead {
    /// Returns the diagnostic of the read under `--strict`.
    pub fn finding(&self) -> Diagnostic {
        let (path, root) = (&self.path, self.path.root());
        let whole = self.expression.as_ref().map_or_else(|| path.to_string(), ToString::to_string);
        let message = match self.unknown {
            Unknown::Presence => format!("whether `{whole}` is there is not known before it is read"),
            Unknown::Part => format!("whether all is there that is read of `{path}` is not known"),
            Unknown::Use => format!("whether `{whole}` can be used like this is not known"),
            Unknown::Items => format!("whether `{path}` can be used like this is not known"),
            Unknown::Kind => format!("whether `{whole}` is of the right kind here is not known"),
            Unknown::Operands => format!("whether `{whole}` can be calculated is not known"),
            Unknown::Fit => format!("whether `{path}` fits what is declared is not known"),
            Unknown::Truth => format!("whether the condition on `{path}` holds is not known"),
            Unknown::Room => format!("whether `{path}` can be written is not known"),
        };
        let say = format!("say what `{root}` holds (`returns` of a call, `input_schema`, `context_schema`)");
        let help = match self.unknown {
            Unknown::Presence if self.expression.is_some() => {
                "guard it with `default(\"…\")`: it may be absent, as the first item of an empty list is".to_owned()
            }
            Unknown::Presence | Unknown::Part => format!("{say}, or guard the read"),
            Unknown::Use => "do it with values of one kind; texts are put together with `~`".to_owned(),
            Unknown::Items => "a loop is checked, `{% for … in … if … %}`; so is what a `compute` file `returns`".to_owned(),
            Unknown::Fit => format!("say what `{root}` holds where it is saved (`returns` of a call, `input_schema`)"),
            Unknown::Kind | Unknown::Room => say,
            Unknown::Operands => "say what each of its values holds (`returns` of a call, `input_schema`, `context_schema`)".to_owned(),
            Unknown::Truth => format!("{say}, or ask the same in the conditions of the transitions here"),
        };
        Diagnostic::new(Code::UncheckedRead, &self.place.path, self.place.span, message).help(help)
    }
}

/// Drops reads at the place of a finding: it is one mistake, and the finding is more precise.
pub(super) fn drop_explained(unchecked: &mut Vec<UncheckedRead>, found: &[Diagnostic]) {
    unchecked.sort_unstable();
    unchecked.dedup_by(|a, b| a.place == b.place && a.path == b.path);
    let mut places: BTreeMap<&FilePath, Vec<Span>> = BTreeMap::new();
    for place in found.iter().filter(|found| is_about_a_value(found.code)).filter_map(|found| found.place.as_ref()) {
        places.entry(&place.path).or_default().push(place.span);
    }
    if places.is_empty() {
        return;
    }
    unchecked.retain(|read| {
        let reported = places.get(&read.place.path).into_iter().flatten();
        let span = read.place.span;
        !reported.clone().any(|reported| {
            (reported.start <= span.start && span.end <= reported.end) || (span.start <= reported.start && reported.end <= span.end)
        })
    });
}

/// Returns true if findings of a code are reported at the use of a value, and describe that use.
fn is_about_a_value(code: Code) -> bool {
    matches!(
        code,
        Code::UndefinedVariable
            | Code::MaybeUndefined
            | Code::UnsetRequiredContext
            | Code::FailedAssert
            | Code::TypeMismatch
            | Code::BadToolArgs
            | Code::NeverTrue
            | Code::NotDecided
            | Code::ReservedNamespace
            | Code::UnknownFilter
            | Code::TemplateSyntax
            | Code::ConditionSyntax
            | Code::ConditionTooComplex
    )
}
