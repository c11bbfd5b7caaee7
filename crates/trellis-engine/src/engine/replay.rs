//! `replay`: walks recorded moments again, up to the first that differs.

use std::sync::Arc;

use super::{Engine, Moment, NavigateError, Start, StartError};
use crate::{program::Node, state::State};
use trellis_base::{
    id::NodeId,
    span::{LineColumn, LineIndex},
};

/// The point at which a replay diverged from the record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Divergence {
    /// The number of the moment, from 0; `None` for the start.
    pub moment: Option<usize>,
    /// The node where it happened.
    pub node: Option<NodeId>,
    /// Its place in the graph.
    pub at: Option<(Arc<str>, LineColumn)>,
    /// The description of the other result.
    pub message: String,
}

impl Engine {
    pub(super) fn walk(&self, start: Start, moments: impl IntoIterator<Item = Moment>) -> Result<State, Divergence> {
        let at = start.at.clone();
        let begun = self.begin_as(start, false);
        let mut state = begun.map_err(|error| self.not_started(at, &error))?.state;
        for (index, moment) in moments.into_iter().enumerate() {
            let Moment { input, answers, to } = moment;
            let engine = if answers.is_empty() { self.clone() } else { self.answering(answers) };
            let step = engine.navigate(&state, input).map_err(|error| self.refused(index, &state, &error))?;
            if let Some(to) = to.filter(|to| *to != step.state.current_node_id) {
                let message = format!("leads to `{}`, not to `{to}`", step.state.current_node_id);
                return Err(self.diverged(Some(index), state.current_node_id, message));
            }
            state = step.state;
        }
        Ok(state)
    }

    fn not_started(&self, at: Option<NodeId>, error: &StartError) -> Divergence {
        self.diverged(None, at.unwrap_or_else(|| self.program.entry().id.clone()), error.to_string())
    }

    fn refused(&self, moment: usize, state: &State, error: &NavigateError) -> Divergence {
        self.diverged(Some(moment), state.current_node_id.clone(), error.to_string())
    }

    /// A divergence at `node`, with its place in the graph where it has one.
    pub fn diverged(&self, moment: Option<usize>, node: NodeId, message: String) -> Divergence {
        let at = self.program.find(&node).map(|index| self.place(self.program.node(index)));
        Divergence { moment, node: Some(node), at, message }
    }

    fn place(&self, node: &Node) -> (Arc<str>, LineColumn) {
        let document = &self.program.documents()[node.document as usize];
        (document.path.clone(), LineIndex::new(&document.text).locate(node.span.start))
    }
}
