//! The conversion of a text of the Go dialect to the jinja dialect: the text between its actions stays, each action becomes a tag.
//!
//! ```text
//! text ─┬─ tree ───────────┬─▶ tags ──parse──▶ tree of the result
//!       └─ list of actions ┘                    ║
//!         tree ═════════════════════════════════╝  the same up to names, or there is no result
//! ```
//!
//! **Invariant:** a result renders over every context as its text does there: both are the same tree, and one machine runs it.

mod expression;
mod names;
mod sameness;
#[cfg(test)]
mod tests;
mod writer;

use std::ops::Range;

use minijinja::machinery::ast::{Expr, Stmt};

use self::{sameness::same, writer::Writer};
use super::super::{Dialect, Mistake, builtins::Vocabulary, check, jinja, secret};

/// A reason why a text of the Go dialect has no counterpart in the jinja dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Bytes of the text.
    pub place: Range<usize>,
    /// One sentence without a full stop, names in backticks.
    pub reason: String,
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        Self { place: mistake.place.clone(), reason: mistake.message().to_owned() }
    }
}

/// Converts a text of the Go dialect to a text of the jinja dialect that renders the same, and fails where the first one fails (language 3.5).
///
/// A text without `{{`, `{%` and `{#` comes back as it is. A result that prints a value is no Go template any more, so converting it again is a problem
/// and never a third text.
///
/// # Errors
/// Everything that the Go dialect refuses, or that the jinja dialect cannot say. Nothing of the text is converted then.
pub fn go_to_jinja(text: &str) -> Result<String, Vec<Problem>> {
    if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return Ok(text.to_owned());
    }
    let secrets = secret::find(text, Dialect::Go);
    let source = secret::mask(text, &secrets);
    let tree = super::parse(&source).map_err(problems)?;
    let misplaced = check::secrets(&tree, &secrets);
    if !misplaced.is_empty() {
        return Err(problems(misplaced));
    }
    let written = Writer::new(text, &source, &tree).write()?;
    match read_back(&written.text, &source, &tree) {
        Ok(()) => Ok(written.text),
        Err(mistakes) => {
            let placed = |mistake: Mistake| Problem { place: written.origin(mistake.place.start), ..mistake.into() };
            Err(mistakes.into_iter().map(placed).collect())
        }
    }
}

/// Checks a result against the tree of the original text.
fn read_back(result: &str, source: &str, tree: &Stmt<'_>) -> Result<(), Vec<Mistake>> {
    let secrets = secret::find(result, Dialect::Jinja);
    let masked = secret::mask(result, &secrets);
    let read = jinja::checked(&masked, Vocabulary::Template)?;
    let misplaced = check::secrets(&read, &secrets);
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    // A constant is the same value alone and as text.
    let keeps_type = |tree: &Stmt<'_>, source: &str| {
        jinja::sole_expression(tree, source).is_some_and(|sole| !matches!(sole, Expr::Const(node) if node.value.as_str().is_some()))
    };
    if same(tree, &read) && keeps_type(tree, source) == keeps_type(&read, &masked) {
        return Ok(());
    }
    Err(vec![Mistake::syntax(0..result.len(), "Jinja would read this as something else")])
}

fn problems(mistakes: Vec<Mistake>) -> Vec<Problem> {
    mistakes.into_iter().map(Problem::from).collect()
}
