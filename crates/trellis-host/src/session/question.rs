//! Questions of a session, and their changes from outside: another program, supplied keys, questions in between.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    Engine, Mapping, Next, NodeId, SessionId,
    engine::{ChangedCall, Moved, View},
    id::CallId,
    program::KeyExcess,
};

use super::{Adoption, Fitted, Happened, Session, fit};
use crate::{
    journal::{ChildState, Entry, Needs, RequestKey},
    store::{ChildSnapshot, restore, whole},
};

impl Session {
    /// Continues with another engine, as [`Engine::adopt`] fits the state to it; if that changes nothing, nothing is recorded. The content of the
    /// node by the new program is shown, unless it equals the content shown before.
    pub fn adopt(&mut self, engine: Engine, changed: ChangedCall) -> Adoption {
        // If another program stored it, the question of that is known by its checksum only.
        let is_of_another = self.here.state.program != *self.engine.inspect().fingerprint();
        let (asked, checksum) = (self.question().filter(|_| !is_of_another), self.here.question);
        let Fitted { state, moved, children } = match fit(&engine, &self.here, changed) {
            Ok(fitted) => fitted,
            Err((child, blockers)) => return Adoption::Blocked { child, blockers },
        };
        let is_same = |(id, child): (&SessionId, &ChildSnapshot)| children.get(id).is_some_and(|fitted| fitted.state == child.here.state);
        let adoption = match moved {
            Some((from, why)) => Adoption::Moved { from, why },
            None if state == self.here.state && self.here.children.iter().all(is_same) => Adoption::Same,
            None => Adoption::Kept,
        };
        self.engine = engine;
        for walk in std::iter::once(&mut self.walk).chain(self.children.values_mut()) {
            (walk.view, walk.said, walk.held, walk.by_hand, walk.passes) = (None, false, None, None, 0);
        }
        if adoption == Adoption::Same && self.here.blocked.is_none() {
            return adoption;
        }
        let at = self.now();
        let before = (self.here.state.current_node_id.clone(), self.here.state.ended.is_some());
        let fitted = std::iter::once((None, &state)).chain(children.iter().map(|(id, child)| (Some(id), &child.state)));
        let left = fitted.flat_map(|(child, state)| self.left_unasked(child, state, at, None));
        // A record that opens an epoch has all that is known.
        let unasked: Vec<CallId> = left.chain(self.here.unasked.iter().cloned()).collect();
        self.here.step(at, state);
        self.take_children(at, &children);
        let now = self.question();
        let still_asked = match (&asked, &now) {
            (Some(asked), Some(now)) => asked == now,
            (None, Some(now)) if is_of_another => checksum.is_some() && checksum == self.checksum(now),
            _ => false,
        };
        if matches!(adoption, Adoption::Moved { why: Moved::Vanished | Moved::Again, .. }) {
            self.walk.words = None;
        }
        let entry = Entry::Reload { state: Box::new(self.here.state.clone()), children };
        self.record(None, Happened { still_asked, unasked: unasked.clone(), ..Happened::at(at, entry, Some(before.0)) });
        self.here.note_unasked(&unasked);
        if !before.1 {
            self.record_end(None);
        }
        adoption
    }

    /// Moves children to another program; missing ones are left.
    fn take_children(&mut self, at: u64, children: &BTreeMap<SessionId, ChildState>) {
        self.here.children.retain(|child, _| children.contains_key(child));
        self.children.retain(|child, _| children.contains_key(child));
        for (child, fitted) in children {
            if let Some(child) = self.here.children.get_mut(child) {
                child.here.step(at, fitted.state.clone());
            }
        }
    }

    /// Sets keys of the context from outside; a key with dots leads into the present mapping.
    ///
    /// # Errors
    /// A value, or the context with it, is above a bound; nothing happened.
    pub fn supply(&mut self, given: Mapping) -> Result<(), KeyExcess> {
        self.supply_in(None, given)
    }

    /// Sets keys of the context of a session of the tree.
    ///
    /// # Errors
    /// As [`Session::supply`].
    pub fn supply_in(&mut self, child: Option<&SessionId>, given: Mapping) -> Result<(), KeyExcess> {
        let asked = self.question_in(child);
        let Some(here) = self.here.of_child_mut(child) else { return Ok(()) };
        let keys = whole(&here.state.context, given.clone());
        self.engine.inspect().limits().admit_keys(&here.state.context, &given, &keys)?;
        here.state.context.extend(&keys);
        restore(&mut here.state);
        let from = Some(here.state.current_node_id.clone());
        match child {
            None => self.walk.view = None,
            Some(child) => self.children.get_mut(child).into_iter().for_each(|walk| walk.view = None),
        }
        let still_asked = asked.is_some() && asked == self.question_in(child);
        let entry = Entry::Context { keys };
        self.record(child, Happened { still_asked, ..Happened::at(self.now(), entry, from) });
        Ok(())
    }

    /// Asks for something before it continues; once.
    pub(crate) fn block(&mut self, child: Option<&SessionId>, needs: Needs) {
        if self.here.of_child(child).is_some_and(|here| here.blocked.as_ref() != Some(&needs)) {
            self.note(child, Entry::Blocked { needs });
        }
    }

    /// Returns the content and the question of its node; `None` if it asks for something else first.
    fn question(&self) -> Option<View> {
        self.question_in(None)
    }

    fn question_in(&self, child: Option<&SessionId>) -> Option<View> {
        let here = self.here.of_child(child)?;
        self.engine.render(&here.state).ok().filter(|_| here.blocked.is_none())
    }

    /// Returns a checksum of the content and the question of a node; `None` while the session has a value that its graph redacts, since that could
    /// be reconstructed from it.
    fn checksum(&self, view: &View) -> Option<u32> {
        if self.engine.inspect().redacted().any(|path| self.here.state.has(path)) {
            return None;
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(view.content.as_deref().unwrap_or_default().as_bytes());
        if let Next::Ask(request) = &view.next {
            serde_json::to_writer(Sum(&mut crc), request).ok()?;
        }
        Some(crc.finalize())
    }

    /// Stores the checksum of the question with the last record, for a host that loads the session with another program.
    pub(crate) fn note_question(&mut self) {
        let Some(view) = self.question().filter(|view| matches!(view.next, Next::Ask(_))) else { return };
        let checksum = self.checksum(&view);
        if checksum != self.here.question {
            self.here.question = checksum;
            self.journal.note_question(checksum);
        }
    }

    /// Sets the requester of the record `seq`; returns false if it is not here.
    pub(crate) fn attribute(&mut self, seq: u64, request: &RequestKey) -> bool {
        let kept = self.journal.attribute(seq, request);
        self.here.requests.remember(kept.as_ref());
        kept.is_some()
    }

    /// Returns the last content of the current entering of a session of the tree.
    pub(crate) fn last_said(&self, child: Option<&SessionId>) -> Option<(NodeId, Arc<str>)> {
        let text = self.walk_of(child)?.words.clone()?;
        let node = self.here.of_child(child)?.state.current_node_id.clone();
        Some((node, text))
    }

    /// Marks the content of the node as shown: the person who answers has seen it.
    pub(crate) fn was_heard(&mut self) {
        let children = self.children.iter_mut().filter_map(|(child, walk)| Some((&self.here.children.get(child)?.here.state, walk)));
        for (state, walk) in std::iter::once((&self.here.state, &mut self.walk)).chain(children) {
            if let Ok(view) = self.engine.render(state) {
                (walk.said, walk.words) = (true, view.content);
            }
        }
    }
}

/// Adds written bytes to a checksum.
struct Sum<'a>(&'a mut crc32fast::Hasher);

impl std::io::Write for Sum<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
