//! Diagnostics: an author's mistakes, with their places and remedies, as data.
//!
//! A host shows them as it likes: the program draws them with miette, `--format json` prints them.

mod code;
pub mod fixes;
mod message;
#[cfg(feature = "miette")]
mod printable;
mod report;
mod tolerance;

use std::{fmt, sync::Arc};

pub use code::Code;
#[cfg(feature = "miette")]
pub use printable::{explanation, harmless, is_shown};
pub use report::Report;
use serde::Serialize;

use self::message::{one_line, shortened};
use crate::{span::Span, witness::Witness};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no program.
    Error,
    /// The program runs, the author should look.
    Warning,
    /// Worth knowing.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// A file of the graph, by its path below the root with `/`.
pub type FilePath = Arc<str>;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Place {
    /// The file.
    pub path: FilePath,
    /// The bytes.
    pub span: Span,
}

impl Place {
    /// `span` in `path`.
    pub fn new(path: &FilePath, span: Span) -> Self {
        Self { path: Arc::clone(path), span }
    }
}

/// A note at another place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Label {
    /// The place.
    pub place: Place,
    /// The explanation of the place.
    pub message: String,
    /// True if it is a step of the path on which the finding occurs; such labels are in the order of the path.
    pub is_step: bool,
}

/// A safe change that resolves a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Fix {
    /// The effect of the fix, as a command: "rename to `receipt`".
    pub title: String,
    /// The replacements, which do not overlap.
    pub edits: Vec<TextEdit>,
}

/// Replaces the bytes of a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextEdit {
    /// The place that is replaced.
    pub place: Place,
    /// The replacement text.
    pub text: String,
}

/// One finding. Messages are lower case, without a full stop, names in backticks; the remedy is in `help`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of finding, stable.
    pub code: Code,
    /// The severity in this project.
    pub severity: Severity,
    /// One short line that can be read alone.
    pub message: String,
    /// The place; `None` for findings about the whole graph (language 8.8).
    pub place: Option<Place>,
    /// Other places that explain it.
    pub labels: Vec<Label>,
    /// The remedy.
    pub help: Option<String>,
    /// A change that resolves it safely.
    pub fix: Option<Fix>,
    /// A session that meets it, for findings that need one (language 8.3). Where one text holds several mistakes, no session comes past the first:
    /// the others have none.
    pub witness: Option<Arc<Witness>>,
}

impl Diagnostic {
    /// A finding at a place, with the severity of its code.
    pub fn new(code: Code, path: &FilePath, span: Span, message: impl Into<String>) -> Self {
        Self { place: Some(Place::new(path, span)), ..Self::global(code, message) }
    }

    /// A finding about the whole graph.
    pub fn global(code: Code, message: impl Into<String>) -> Self {
        let (severity, message) = (code.severity(), one_line(message.into()));
        Self { code, severity, message, place: None, labels: Vec::new(), help: None, fix: None, witness: None }
    }

    /// Returns the finding with another severity.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// Returns the finding with another message.
    #[must_use]
    pub fn message(self, message: String) -> Self {
        Self { message: one_line(message), ..self }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(shortened(help.into()));
        self
    }

    /// Adds the remedy, if there is one.
    #[must_use]
    pub fn help_maybe(mut self, help: Option<String>) -> Self {
        self.help = help.map(shortened).or(self.help);
        self
    }

    /// Adds a note at another place.
    #[must_use]
    pub fn label(mut self, path: &FilePath, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { place: Place::new(path, span), message: shortened(message.into()), is_step: false });
        self
    }

    /// Adds a step of the path on which the finding occurs.
    #[must_use]
    pub fn step(mut self, path: &FilePath, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { place: Place::new(path, span), message: shortened(message.into()), is_step: true });
        self
    }

    /// Returns whether both read the same.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let core_of = |found: &Self| (found.code, found.severity, found.place.clone(), found.message.clone());
        core_of(self) == core_of(other) && self.labels == other.labels && self.help == other.help && self.fix == other.fix
    }

    /// Adds a fix that replaces one range of the finding's own file.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        if let Some(place) = &self.place {
            let edit = TextEdit { place: Place::new(&place.path, span), text: text.into() };
            self.fix = Some(Fix { title: shortened(title.into()), edits: vec![edit] });
        }
        self
    }

    /// Adds a fix of several edits.
    #[must_use]
    pub fn fix_all(self, title: impl Into<String>, edits: Vec<TextEdit>) -> Self {
        Self { fix: Some(Fix { title: shortened(title.into()), edits }), ..self }
    }

    /// Returns the finding without its fix.
    #[must_use]
    pub fn without_fix(self) -> Self {
        Self { fix: None, ..self }
    }

    /// Offers to write `name` at `span` of the finding's own file, if that is safe in any context: YAML reads some names otherwise, and the
    /// quotes that they need depend on the place.
    #[must_use]
    pub fn rename(self, span: Span, name: &str) -> Self {
        if is_plain(name) { self.fix(format!("rename to `{name}`"), span, name) } else { self }
    }

    /// Asks whether `near` was meant, and offers to write it at `span`; the help is `otherwise` if nothing is near.
    #[must_use]
    pub fn meant(self, span: Span, near: Option<Near<'_>>, otherwise: impl FnOnce() -> String) -> Self {
        match near {
            Some(near) => self.help(near.question()).rename_if(near.is_only, span, near.name),
            None => self.help(otherwise()),
        }
    }

    /// Offers to write `name` at `span`, if that is safe.
    #[must_use]
    pub fn rename_if(self, is_safe: bool, span: Span, name: &str) -> Self {
        if is_safe { self.rename(span, name) } else { self }
    }

    /// Returns whether it prevents a program.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns the sort key of diagnostics: file, place, code, text; findings about the whole graph come first.
    pub fn order(&self) -> (Option<&str>, Option<Span>, Code, &str) {
        let place = self.place.as_ref();
        (place.map(|place| &*place.path), place.map(|place| place.span), self.code, &self.message)
    }
}

/// Returns whether a name is a text in YAML without quotes, and the same text inside of quotes.
fn is_plain(name: &str) -> bool {
    let is_word = name.chars().all(|char| char.is_alphanumeric() || "_-./".contains(char));
    let begins = name.starts_with(|char: char| char.is_alphabetic() || "_./".contains(char)) && name.chars().any(char::is_alphabetic);
    is_word && begins && !matches!(name.to_ascii_lowercase().trim_start_matches('.'), "true" | "false" | "null" | "inf" | "nan")
}

/// The candidate that is nearest to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near<'c> {
    /// The candidate.
    pub name: &'c str,
    /// True if no other one is as near, and most of the name is the same: then the change is no guess.
    pub is_only: bool,
}

impl Near<'_> {
    /// "did you mean `…`?"
    pub fn question(self) -> String {
        format!("did you mean `{}`?", self.name)
    }
}

/// Returns the candidate nearest to `name`, if one is near enough to be meant.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    near(name, candidates).map(|near| near.name)
}

/// Returns the nearest name like [`nearest`], and whether no other one is as near.
pub fn near<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<Near<'c>> {
    let limit = match name.chars().count() {
        // Of one letter nothing is left.
        0 | 1 => 0,
        2 => 1,
        3..=5 => 2,
        length => length / 3,
    };
    let counts = counts(name);
    let close = |candidate: &&str| *candidate != name && candidate.len().abs_diff(name.len()) <= 4 * limit;
    let mut best: Option<(usize, &str, bool)> = None;
    for candidate in candidates.into_iter().filter(close) {
        // A name farther than the nearest so far need not be measured.
        let most = best.map_or(limit, |(least, ..)| least);
        let distance = match candidate {
            _ if candidate.eq_ignore_ascii_case(name) => 0,
            _ if at_least(name, &counts, candidate) > most => continue,
            _ => strsim::osa_distance(name, candidate),
        };
        if distance > most {
            continue;
        }
        best = match best {
            Some((least, name, _)) if distance == least && name != candidate => Some((least, name.min(candidate), false)),
            Some(best) if best.0 <= distance => Some(best),
            _ => Some((distance, candidate, true)),
        };
    }
    // Of a short name too little is left to be sure.
    let is_sure = |distance: usize, near: &str| 3 * distance <= name.chars().count().max(near.chars().count());
    let is_meant = |distance: usize, near: &str| is_sure(distance, near) && !are_counted(name, near);
    best.map(|(distance, near, is_only)| Near { name: near, is_only: is_only && is_meant(distance, near) })
}

/// Returns whether names differ as the names of a series do: `step1` and `step2`, `plan_a` and `plan_b`, `min_price` and `max_price`.
fn are_counted(one: &str, other: &str) -> bool {
    let parts = |name: &str| name.split(|char: char| !char.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>();
    let letters = |name: &str| name.replace(|char: char| char.is_ascii_digit(), "");
    let (first, second) = (parts(one), parts(other));
    let differ: Vec<_> = first.iter().zip(&second).filter(|(a, b)| a != b).collect();
    let sorted = |part: &str| {
        let mut letters: Vec<char> = part.chars().collect();
        letters.sort_unstable();
        letters
    };
    // Two letters that changed places are a slip.
    let is_short = |a: &str, b: &str| {
        let (a, b) = (sorted(a), sorted(b));
        first.len() > 1 && a.len() == b.len() && a.len() <= 3 && a != b
    };
    let is_counted = |a: &str, b: &str| (a.len() == b.len() && letters(a) == letters(b)) || is_short(a, b);
    first.len() == second.len() && matches!(differ.as_slice(), [(a, b)] if is_counted(a, b))
}

/// Returns the number of occurrences of each byte in a name; names longer than these numbers can count are not compared so.
fn counts(name: &str) -> [u8; 128] {
    let mut counts = [0; 128];
    for byte in name.bytes().filter(u8::is_ascii) {
        counts[usize::from(byte)] = u8::saturating_add(counts[usize::from(byte)], 1);
    }
    counts
}

/// Returns a lower bound of the distance: letters that the other name lacks must all be inserted. It is cheap, and saves most comparisons.
fn at_least(name: &str, counts: &[u8; 128], candidate: &str) -> usize {
    if name.len() > 255 || !name.is_ascii() || !candidate.is_ascii() {
        return 0;
    }
    let mut left = *counts;
    let shared = candidate.bytes().filter(|byte| {
        let count = &mut left[usize::from(*byte)];
        let had = *count > 0;
        *count = count.saturating_sub(1);
        had
    });
    name.len().max(candidate.len()) - shared.count()
}

/// "did you mean `…`?" for the nearest candidate.
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(name, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stand_beside_each_other_are_asked_for_and_not_renamed() {
        for (name, like) in [("step2", "step1"), ("plan_b", "plan_a"), ("min_price", "max_price"), ("order-1/total", "order-2/total")] {
            assert_eq!(near(name, [like]).map(|near| (near.name, near.is_only)), Some((like, false)), "{name}");
        }
        for (name, like) in
            [("by", "bye"), ("shop/by", "shop/bye"), ("order_totl", "order_total"), ("lib/pya", "lib/pay"), ("recieved", "received")]
        {
            assert!(near(name, [like]).is_some_and(|near| near.is_only), "{name}");
        }
    }

    #[test]
    fn of_two_that_are_as_near_the_first_is_named_and_none_is_sure() {
        let found = |names: &[&'static str]| near("serach", names.iter().copied());
        assert_eq!(found(&["search", "reach"]), Some(Near { name: "search", is_only: true }));
        assert_eq!(found(&["serach2", "serach1", "serach1"]), Some(Near { name: "serach1", is_only: false }));
        assert_eq!(found(&["search", "search"]), Some(Near { name: "search", is_only: true }));
        assert_eq!(found(&["Serach", "search"]), Some(Near { name: "Serach", is_only: true }));
        assert_eq!(found(&["order"]), None);
    }

    #[test]
    fn a_name_that_is_very_long_does_not_hide_what_is_said_about_it() {
        let (path, name) = (FilePath::from("a.md"), "é".repeat(10_000));
        let found = Diagnostic::new(Code::UndefinedVariable, &path, Span::at(0), format!("`{name}` is not set on any path to `end`"));
        let found = found.meant(Span::at(0), Some(Near { name: &name, is_only: true }), String::new);
        let shown = format!("`{}…`", "é".repeat(message::WORD - 1));
        assert_eq!(found.message, format!("{shown} is not set on any path to `end`"));
        assert_eq!(found.help, Some(format!("did you mean {shown}?")));
        let fix = found.fix.unwrap();
        assert_eq!((&*fix.title, &*fix.edits[0].text), (&*format!("rename to {shown}"), &*name), "what is written is all of it");
    }

    #[test]
    fn what_yaml_would_read_otherwise_is_not_offered() {
        for name in ["no", "to-1", "orders/find", "./x", "Ünal", ".x", "a.b"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "true", "NULL", ".inf", ".NaN", "1", "1e5", "-x", "a b", "a: b", "#x", "..", "0x1f", "\"x\""] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
