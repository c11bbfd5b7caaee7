//! A transcript in the making: lines of an author, and the program's response to each.

use super::print;
use trellis_base::id::{CallId, NodeId};
use trellis_engine::{
    engine::{Next, RenderError, View},
    state::State,
};

/// A transcript in the making.
#[derive(Clone, Debug, Default)]
pub struct TranscriptWriter {
    /// The lines so far.
    pub text: String,
    /// The calls that were made, in order: a line of an author may name one by its number.
    pub calls: Vec<CallId>,
    /// The call that a result without a number is for: the pending one, of a call with parts the whole.
    pub pending: Option<CallId>,
    /// The content that was shown last: a node shows it once for each time it is entered.
    shown: Option<(NodeId, u64)>,
}

impl TranscriptWriter {
    /// Adds a line as it is.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds the next action of a host at a state; returns whether it is to pass on.
    pub fn view(&mut self, state: &State, view: Result<View, RenderError>) -> bool {
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                self.line(&format!("- not rendered: {}", print::one_line(&error.to_string())));
                return false;
            }
        };
        let place = (state.current_node_id.clone(), state.entered);
        if let Some(text) = &view.content
            && self.shown.as_ref() != Some(&place)
        {
            print::content(&mut self.text, text);
            self.shown = Some(place);
        }
        match &view.next {
            Next::Call(call) => {
                self.pending = Some(call.id.clone());
                if self.calls.last() != Some(&call.id) {
                    self.calls.push(call.id.clone());
                }
                print::next(&mut self.text, &view.next);
            }
            Next::Parts { whole, open } => {
                if self.pending.as_ref() != Some(&whole.id) {
                    self.pending = Some(whole.id.clone());
                    self.calls.push(whole.id.clone());
                    print::whole(&mut self.text, whole);
                }
                // Those that opened now; the others were shown.
                for part in open {
                    if !self.calls.contains(&part.id) {
                        self.calls.push(part.id.clone());
                        print::part(&mut self.text, part, Some(self.calls.len()));
                    }
                }
            }
            next => print::next(&mut self.text, next),
        }
        matches!(view.next, Next::Pass)
    }
}
