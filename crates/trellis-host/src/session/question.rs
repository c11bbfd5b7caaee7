//! What a session asks, and what changes that from outside: another program, keys that are supplied, what is asked for in between.

use std::sync::Arc;

use trellis_core::{
    Engine, Mapping, Next,
    engine::{Adopted, ChangedCall, Moved, View},
    program::KeyExcess,
    state::Changes,
};

use super::{Adoption, Session};
use crate::{
    journal::{Entry, Needs, RequestKey},
    store::{restore, whole},
};

impl Session {
    /// Goes on with another engine, as [`Engine::adopt`] fits the state to it; where that changes nothing, nothing is recorded. What the new program says at the node is said, unless it is what was said.
    pub fn adopt(&mut self, engine: Engine, changed: ChangedCall) -> Adoption {
        // Where it was stored by another program, what that asked is known by its checksum only.
        let is_of_another = self.here.state.program != *self.engine.inspect().fingerprint();
        let (asked, checksum) = (self.question().filter(|_| !is_of_another), self.here.question);
        let (state, adoption) = match engine.adopt_deciding(self.here.state.clone(), changed) {
            Adopted::Kept(state) if state == self.here.state => (state, Adoption::Same),
            Adopted::Kept(state) => (state, Adoption::Kept),
            Adopted::Moved { state, from, why } => (state, Adoption::Moved { from, why }),
            Adopted::Blocked { blockers, .. } => return Adoption::Blocked(blockers),
        };
        (self.engine, self.view, self.said, self.held, self.passes) = (engine, None, false, None, 0);
        if adoption == Adoption::Same && self.here.blocked.is_none() {
            return adoption;
        }
        let at = self.now();
        let before = (self.here.state.current_node_id.clone(), self.here.state.ended.is_some());
        self.here.step(at, state);
        let now = self.question();
        let still_asked = match (&asked, &now) {
            (Some(asked), Some(now)) => asked == now,
            (None, Some(now)) if is_of_another => checksum.is_some() && checksum == self.checksum(now),
            _ => false,
        };
        if matches!(adoption, Adoption::Moved { why: Moved::Vanished | Moved::Again, .. }) {
            self.words = None;
        }
        let entry = Entry::Reload { state: Box::new(self.here.state.clone()) };
        self.record(at, entry, Some(before.0), Vec::new(), Changes::default(), still_asked);
        if !before.1 {
            self.record_end();
        }
        adoption
    }

    /// Sets keys of the context from outside; a key with dots leads into the mapping that is there.
    ///
    /// # Errors
    /// A value, or the context with it, is above a bound; nothing happened.
    pub fn supply(&mut self, given: Mapping) -> Result<(), KeyExcess> {
        let asked = self.question();
        let context = &self.here.state.context;
        let keys = whole(context, given.clone());
        self.engine.inspect().limits().admit_keys(context, &given, &keys)?;
        self.here.state.context.extend(&keys);
        restore(&mut self.here.state);
        self.view = None;
        let from = Some(self.here.state.current_node_id.clone());
        let still_asked = asked.is_some() && asked == self.question();
        self.record(self.now(), Entry::Context { keys }, from, Vec::new(), Changes::default(), still_asked);
        Ok(())
    }

    /// Asks for something before it goes on; once.
    pub(crate) fn block(&mut self, needs: Needs) {
        if self.here.blocked.as_ref() != Some(&needs) {
            let from = Some(self.here.state.current_node_id.clone());
            self.record(self.now(), Entry::Blocked { needs }, from, Vec::new(), Changes::default(), false);
        }
    }

    /// What its node says and asks; nothing where it asks for something else first.
    fn question(&self) -> Option<View> {
        self.engine.render(&self.here.state).ok().filter(|_| self.here.blocked.is_none())
    }

    /// A checksum of what a node says and asks; nothing where the graph redacts anything, since it might be worked back from that.
    fn checksum(&self, view: &View) -> Option<u32> {
        if self.engine.inspect().redacted().next().is_some() {
            return None;
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(view.content.as_deref().unwrap_or_default().as_bytes());
        if let Next::Ask(request) = &view.next {
            serde_json::to_writer(Sum(&mut crc), request).ok()?;
        }
        Some(crc.finalize())
    }

    /// Notes with the last record what is asked behind it, for one who loads the session with another program.
    pub(crate) fn note_question(&mut self) {
        let Some(view) = self.question().filter(|view| matches!(view.next, Next::Ask(_))) else { return };
        let checksum = self.checksum(&view);
        if checksum != self.here.question {
            self.here.question = checksum;
            self.journal.note_question(checksum);
        }
    }

    /// Notes who asked for the record `seq`; false where it is not here.
    pub(crate) fn attribute(&mut self, seq: u64, request: &RequestKey) -> bool {
        let is_here = self.journal.attribute(seq, request);
        self.here.requests.remember(Some(request).filter(|_| is_here));
        is_here
    }

    /// What the current entering said last.
    pub(crate) fn words(&self) -> Option<&Arc<str>> {
        self.words.as_ref()
    }

    /// Takes what the node says for said already: whoever answers has seen it.
    pub(crate) fn was_heard(&mut self) {
        if let Ok(view) = self.engine.render(&self.here.state) {
            (self.said, self.words) = (true, view.content);
        }
    }
}

/// Adds up what is written.
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
