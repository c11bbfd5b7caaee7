//! Dead letters of a session and its children, as its snapshot has them (language 11.7).
//!
//! A child's failure is its caller's result: the failed call passes from child to caller until a handler takes it or the root ends.

use trellis_core::{Event, SessionId, State, ToolResult};

use super::Snapshot;
use crate::journal::{DeadLetter, DeathCause, Entry, Record, is_ended_by_call, is_undo_given_up};

impl Snapshot {
    /// Notes the call by whose failure a step ends the session, if one does; returns the letter of an undo that the step gives up, or of a result after
    /// the end. `self` is where the session was before the step: the root, or this child.
    pub(crate) fn give_up(
        &mut self,
        child: Option<&SessionId>,
        after: &State,
        events: &[Event],
        result: Option<&ToolResult>,
    ) -> Option<DeadLetter> {
        let of_child = self.given_up.take();
        let letter = DeadLetter::of(&self.state, after, events, result?);
        let letter = letter.map(|letter| DeadLetter { by: letter.by.clone().or_else(|| child.cloned()), ..letter });
        match (letter, of_child) {
            (Some(letter), _) if letter.cause == DeathCause::Ended => self.given_up = Some(Box::new(letter)),
            (Some(letter), _) => return Some(letter),
            (None, Some(letter)) if is_undo_given_up(events) => return Some(DeadLetter { cause: DeathCause::Undo, ..*letter }),
            (None, of_child) => self.given_up = of_child.filter(|_| is_ended_by_call(&self.state, after)),
        }
        None
    }

    /// Notes the call by whose failure a child ended that its caller leaves now.
    pub(crate) fn inherit(&mut self, caller: Option<&SessionId>, left: &[SessionId]) {
        let called_by = |child: &SessionId| self.children.get(child).filter(|child| caller.is_none_or(|id| child.caller.session == *id));
        let given_up = left.iter().filter_map(called_by).find_map(|child| child.here.given_up.clone());
        if let Some(here) = self.of_child_mut(caller) {
            here.given_up = given_up;
        }
    }

    /// Applies a record to its dead letters.
    pub(super) fn bury(&mut self, record: &Record) {
        match &record.entry {
            Entry::Dead { letter } => {
                self.given_up = None;
                self.dead.retain(|other| other.key != letter.key);
                self.dead.push((**letter).clone());
            }
            Entry::Settled { key, .. } => self.dead.retain(|letter| letter.key != *key),
            _ => {}
        }
    }
}
