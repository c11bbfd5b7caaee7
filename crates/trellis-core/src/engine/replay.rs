//! `replay`: recorded moments walked again, up to the first that goes another way.

use super::{Divergence, Engine, Moment, NavigateError, Start, StartError};
use crate::{id::NodeId, program::Node, span::LineIndex, state::State};

impl Engine {
    pub(super) fn walk(&self, start: Start, moments: impl IntoIterator<Item = Moment>) -> Result<State, Divergence> {
        let at = start.at.clone();
        let begun = self.begin_session(start);
        let mut state = begun.map_err(|error| self.not_started(at, &error))?.state;
        for (index, moment) in moments.into_iter().enumerate() {
            let Moment { input, answers, to } = moment;
            let engine = if answers.is_empty() { self.clone() } else { self.answering(answers) };
            let step = engine.navigate(&state, input).map_err(|error| self.refused(index, &state, &error))?;
            if let Some(to) = to.filter(|to| *to != step.state.current_node_id) {
                let message = format!("leads to `{}`, not to `{to}`", step.state.current_node_id);
                return Err(self.divergence(Some(index), state.current_node_id, message));
            }
            state = step.state;
        }
        Ok(state)
    }

    fn not_started(&self, at: Option<NodeId>, error: &StartError) -> Divergence {
        self.divergence(None, at.unwrap_or_else(|| self.program.entry().id.clone()), error.to_string())
    }

    fn refused(&self, moment: usize, state: &State, error: &NavigateError) -> Divergence {
        self.divergence(Some(moment), state.current_node_id.clone(), error.to_string())
    }

    fn divergence(&self, moment: Option<usize>, node: NodeId, message: String) -> Divergence {
        let at = self.program.find(&node).map(|index| self.place(self.program.node(index)));
        Divergence { moment, node: Some(node), at, message }
    }

    fn place(&self, node: &Node) -> (std::sync::Arc<str>, crate::span::LineColumn) {
        let document = &self.program.documents()[node.document as usize];
        (document.path.clone(), LineIndex::new(&document.text).locate(node.span.start))
    }
}
