//! A session that demonstrates a finding, as data: the inputs of a host, moment by moment, and the violation at its end.
//!
//! In: a finding that the compiler walked into. Out: everything that is needed to walk there again, through the engine alone, over the draft of the
//! same graph.
//!
//! **Invariant:** every witness was replayed on the engine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    id::NodeId,
    input::{Answers, Moment, Start},
    value::Value,
};

/// A session that demonstrates a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Witness {
    /// The start. One that begins elsewhere than at the entry is the session of a child. A finding behind another mistake is demonstrated as if
    /// that were fixed: values missing because of it are given here, also `input` and `tool_result`, which only a trial accepts.
    pub start: Start,
    /// The answers of predicates during the start.
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    pub begun: Answers,
    /// The inputs, attempts and undone effects included, and the node after each.
    pub moments: Vec<Moment>,
    /// The violation at its end.
    #[serde(rename = "accident")]
    pub violation: Violation,
}

impl Witness {
    /// Creates one of a start with its answers, the moments after it, and the violation at its end.
    pub fn new(start: Start, begun: Answers, moments: Vec<Moment>, violation: Violation) -> Self {
        Self { start, begun, moments, violation }
    }
}

/// The violation that a session reaches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// It ends as failed.
    Failed {
        /// The node.
        node: NodeId,
        /// `ended.code`.
        code: Arc<str>,
        /// Its subject: a path, or the text that an author wrote for a part of an item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<Arc<str>>,
        /// True if that is a path of the context, or of `sys`, which is not set then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        missing: bool,
    },
    /// It makes a call, or stores one for a rollback, whose arguments do not fit.
    Call {
        /// The node that makes it.
        node: NodeId,
        /// The tool, or the node that begins the child.
        callee: Arc<str>,
        /// The JSON Schema of its arguments.
        takes: Value,
    },
    /// It does not begin, since this is not given.
    Refused {
        /// The path.
        missing: Arc<str>,
    },
}
