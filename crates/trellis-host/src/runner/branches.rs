//! The branches of a call that ask side by side: their names, and what they say until it is clear whose question comes next.
//!
//! **Invariant:** each text of a branch is shown once, before anything else that the branch does, and above the question that it leads to.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    SessionId,
    state::{CallKind, PendingCall},
};

use crate::{
    session::Session,
    sessions::{SessionEvent, Stop, Waiting},
};

/// Names of the children that are branches, and their texts that were not shown yet.
#[derive(Debug, Default)]
pub(super) struct Branches {
    names: BTreeMap<SessionId, String>,
    held: Vec<HeldText>,
}

/// A text that a branch said.
pub(super) type HeldText = (SessionId, Arc<str>);

impl Branches {
    /// Returns the name of the branch that a child is, or is in.
    pub(super) fn name(&self, child: &SessionId) -> Option<&str> {
        self.names.get(child).map(String::as_str)
    }

    /// Learns the name of the child that a call begins, for the session `caller`.
    pub(super) fn learn(&mut self, call: &PendingCall, caller: Option<&SessionId>) {
        let above = caller.and_then(|caller| self.name(caller));
        let own = call.part.as_ref().map(|of| of.part.to_string());
        let name = above.into_iter().chain(own.as_deref()).collect::<Vec<_>>().join("/");
        if matches!(call.kind, CallKind::Graph(_)) && !name.is_empty() {
            self.names.insert(SessionId::from(call.id.as_str()), name);
        }
    }

    /// Learns the name of a child that was begun before.
    pub(super) fn look(&mut self, child: &SessionId, session: &Session) {
        if self.name(child).is_none()
            && let Some(name) = session.branch_of(child)
        {
            self.names.insert(child.clone(), name);
        }
    }

    /// Holds a text of a child back, if it is a branch; returns whether it is.
    pub(super) fn hold(&mut self, child: &SessionId, text: &Arc<str>) -> bool {
        let is_branch = self.name(child).is_some();
        if is_branch {
            self.held.push((child.clone(), Arc::clone(text)));
        }
        is_branch
    }

    /// Takes out the texts that come before an event of a session.
    pub(super) fn before(&mut self, child: Option<&SessionId>, event: &SessionEvent) -> Vec<HeldText> {
        let part = match event {
            SessionEvent::Recorded(_) => return Vec::new(),
            SessionEvent::Calling(call)
            | SessionEvent::Progress(call, _)
            | SessionEvent::Delta(call, _)
            | SessionEvent::Ruled(call, _)
            | SessionEvent::Returned(call, _)
            | SessionEvent::Refused(call, _)
            | SessionEvent::Given(call, _) => call.part.is_some().then(|| SessionId::from(call.id.as_str())),
            _ => None,
        };
        match (child, part) {
            // What one part does says nothing about the others.
            (None, Some(part)) => self.take(|child| *child == part),
            (Some(child), _) => self.take(|held| held == child),
            (None, None) => self.take(|_| true),
        }
    }

    /// Takes out the texts that come before a question: all but those of branches that ask after it.
    pub(super) fn before_question(&mut self, others: &[Waiting]) -> Vec<HeldText> {
        let asks =
            |child: &SessionId| others.iter().any(|other| other.child.as_ref() == Some(child) && matches!(other.stop, Stop::Ask { .. }));
        self.take(|child| !asks(child))
    }

    /// Takes out all texts.
    pub(super) fn rest(&mut self) -> Vec<HeldText> {
        self.take(|_| true)
    }

    fn take(&mut self, is_due: impl Fn(&SessionId) -> bool) -> Vec<HeldText> {
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|(child, _)| is_due(child));
        self.held = held;
        due
    }
}
