//! The findings of checked graphs, as `check --format json` prints them.

use serde::{Deserialize, Serialize};

use super::Diagnostic;

/// The findings of some graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "report"))]
#[non_exhaustive]
pub struct Report {
    /// The findings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// The numbers.
    pub summary: Summary,
    /// The files that were saved since the last report, under `--watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<String>>,
    /// The files that could not be read, with why, under `--watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<String>>,
}

impl Report {
    /// These findings, in this order.
    pub fn new(diagnostics: Vec<Diagnostic>, summary: Summary) -> Self {
        Self { diagnostics, summary, changed: None, problems: None }
    }

    /// Adds the news of a check that stays open: the files that were saved since the last report, and those that could not be read.
    #[must_use]
    pub fn with_news(self, changed: &[String], problems: &[String]) -> Self {
        Self { changed: Some(changed.to_vec()), problems: Some(problems.to_vec()), ..self }
    }
}

/// A check in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "summary"))]
#[non_exhaustive]
pub struct Summary {
    /// The nodes of all graphs.
    pub nodes: usize,
    /// The number of unchecked reads.
    pub unchecked: usize,
    /// The findings that are errors.
    pub errors: usize,
    /// The findings that are warnings.
    pub warnings: usize,
}

impl Summary {
    /// The numbers of nodes, unchecked reads, errors and warnings.
    pub fn new(nodes: usize, unchecked: usize, errors: usize, warnings: usize) -> Self {
        Self { nodes, unchecked, errors, warnings }
    }
}
