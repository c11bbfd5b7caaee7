//! A session that meets what a finding says, as data: what a host would hand in, moment by moment, and what it comes to.
//!
//! In: a finding that the compiler walked into. Out: everything that is needed to walk there again, through [`Engine`](crate::Engine) alone, over the
//! [`Draft`](crate::compile::Draft) of the same graph.
//!
//! **Invariant:** nothing stands here that was not walked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    id::NodeId,
    input::{Answers, Moment, Start},
    value::Value,
};

/// A session that meets what a finding says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Witness {
    /// How it begins. One that begins elsewhere than at the entry is the session of a child. What stands behind another mistake is met as if that
    /// were mended: what is missing there is given here, also `input` and `tool_result`, which only a trial takes.
    pub start: Start,
    /// What predicates answer while it begins.
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    pub begun: Answers,
    /// What is handed in, attempts and undone effects included, and where each leads.
    pub moments: Vec<Moment>,
    /// What goes wrong at its end.
    #[serde(rename = "accident")]
    pub violation: Violation,
}

/// What a session comes to that should not be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// It ends as failed.
    Failed {
        /// Where.
        node: NodeId,
        /// `ended.code`.
        code: Arc<str>,
        /// What it is about: a path, or what an author wrote for a part of an item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<Arc<str>>,
        /// Whether that is a path of the context, or of `sys`, which is not set then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        missing: bool,
    },
    /// It makes a call, or keeps one for a rollback, whose arguments do not fit.
    Call {
        /// The node that makes it.
        node: NodeId,
        /// The tool, or the node that begins the child.
        callee: Arc<str>,
        /// What it takes, as JSON Schema.
        takes: Value,
    },
    /// It does not begin, since this is not given.
    Refused {
        /// The path.
        missing: Arc<str>,
    },
}
