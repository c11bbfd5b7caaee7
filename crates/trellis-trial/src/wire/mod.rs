//! The wire types of `trellis test --format json` and of coverage. With the feature `schemars`, [`schema`] returns their JSON Schema of [`VERSION`].

#[cfg(feature = "schemars")]
mod schema;

use serde::{Deserialize, Serialize};

#[cfg(feature = "schemars")]
pub use self::schema::schema;
use crate::compare::changes;

/// The version of these types, which is part of the `$id` of their schema.
pub const VERSION: u32 = 1;

/// The outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "outcome"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Everything came out as expected.
    Passed,
    /// Something differs.
    Failed,
    /// Its blocks were rewritten.
    Updated,
    /// It could not be played.
    Error,
    /// It was not played.
    Skipped,
    /// It was only listed.
    Listed,
}

/// A place in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "at"))]
#[non_exhaustive]
pub struct At {
    /// The file, below the graph.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
}

impl At {
    /// A place.
    pub fn new(path: impl Into<String>, line: usize) -> Self {
        Self { path: path.into(), line }
    }
}

/// The first difference of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "difference"))]
#[non_exhaustive]
pub struct Difference {
    /// The line of the sheet, from 1.
    pub line: usize,
    /// The lines that were expected there, with those before it.
    pub expected: Vec<String>,
    /// The lines that came out instead.
    pub got: Vec<String>,
    /// The node of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The place of that node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// A sentence, if no line has the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The number of author lines after it that were never played.
    #[serde(default)]
    pub not_played: usize,
}

impl Difference {
    /// Returns the lines of both sides, each with its sign: a space if it fits, `-` if it is missing, `+` if it came instead.
    pub fn changes(&self) -> Vec<(char, &str)> {
        changes(&self.expected, &self.got)
    }
}

/// One line of the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Line {
    /// A case.
    Case(Case),
    /// The last line.
    Summary(Summary),
}

/// A case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "case"))]
#[non_exhaustive]
pub struct Case {
    /// `sheet › heading › title`.
    pub id: String,
    /// The sheet, below the path that is tested.
    pub path: String,
    /// The line of its heading.
    pub line: usize,
    /// The outcome of the case.
    pub outcome: Outcome,
    /// The time that it took.
    pub ms: u64,
    /// The first difference.
    pub difference: Option<Difference>,
}

impl Case {
    /// A case that was not played yet.
    pub fn new(id: impl Into<String>, path: impl Into<String>, line: usize, outcome: Outcome) -> Self {
        Self { id: id.into(), path: path.into(), line, outcome, ms: 0, difference: None }
    }
}

/// The numbers of all cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "summary"))]
#[non_exhaustive]
pub struct Summary {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases whose blocks were written.
    pub updated: usize,
    /// Sheets that cannot be read, and cases that could not be played.
    pub errors: usize,
    /// Cases that were not played.
    pub skipped: usize,
    /// The coverage of the cases, if it was requested.
    pub coverage: Option<Coverage>,
}

impl Summary {
    /// Counts a case.
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Updated => self.updated += 1,
            Outcome::Error => self.errors += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Listed => {}
        }
    }
}

/// The coverage of cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "coverage"))]
#[non_exhaustive]
pub struct Coverage {
    /// Every item, by file and line.
    pub items: Vec<Item>,
    /// Of each kind: how many were passed, and how many there are.
    pub summary: std::collections::BTreeMap<String, [usize; 2]>,
}

/// Something that a case can pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "item"))]
#[non_exhaustive]
pub struct Item {
    /// The file, below the path that is tested.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// `node`, `edge`, `option`, `guard`, `part`, `retry`, `undo`, `locale`.
    pub kind: String,
    /// The node.
    pub node: String,
    /// The item in words.
    pub what: String,
    /// The outcome that an edge belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The number of times that it was passed.
    pub count: u64,
    /// True if it follows from the rules alone: no line of the graph declares it.
    pub implied: bool,
}
