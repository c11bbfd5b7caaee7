//! Waiting to advance a session that somebody else advances.
//!
//! A call may take long. What is known of an answer while it runs is said at once: that its question is not asked any more, that nothing like it is
//! awaited, that its request was taken before.
//!
//! **Invariant:** an answer that could still be taken when the session rests is not refused here.

use std::pin::pin;

use tokio::sync::MutexGuard;
use trellis_core::{SessionId, id::CallId, state::Status};

use super::{
    Reply, SendError, Sessions,
    slot::{PanicSafeLock, RunningSession, Slot},
    taking::kind,
};
use crate::journal::RequestKey;

/// The refusal of an answer while the session works.
pub(super) enum EarlyRefusal {
    Repeated,
    KeyReused,
    Stale,
    NotAwaited(String),
}

impl Sessions {
    /// Waits until nobody else advances a session. If it carries calls out meanwhile, `judge` may refuse first.
    ///
    /// # Errors
    /// The refusal.
    pub(super) async fn wait_to_drive<'s>(
        &self,
        slot: &'s Slot,
        judge: impl FnOnce(&RunningSession) -> Option<EarlyRefusal>,
    ) -> Result<MutexGuard<'s, ()>, SendError> {
        let mut driving = pin!(slot.driving.lock());
        tokio::select! {
            biased;
            driving = &mut driving => return Ok(driving),
            () = slot.until_working() => {}
        }
        let refusal = slot.place.locked().running().and_then(judge);
        Err(match refusal {
            None => return Ok(driving.await),
            Some(EarlyRefusal::KeyReused) => SendError::KeyReused(slot.id.clone()),
            Some(EarlyRefusal::NotAwaited(got)) => SendError::NotAwaited { expected: "nothing for now".to_owned(), got },
            Some(EarlyRefusal::Repeated) => SendError::Repeated(Box::new(self.view(&slot.id).await?)),
            Some(EarlyRefusal::Stale) => SendError::Stale(Box::new(self.view(&slot.id).await?)),
        })
    }
}

impl RunningSession {
    /// Judges a request while the session works.
    pub(super) fn judge_request(&self, request: Option<&RequestKey>) -> Option<EarlyRefusal> {
        let request = request?;
        let taken = self.taken(request)?;
        Some(if request.is_repeated(&taken) { EarlyRefusal::Repeated } else { EarlyRefusal::KeyReused })
    }

    /// Judges an answer while the session works.
    pub(super) fn judge_answer(&self, expected: Option<u64>, to: Option<&SessionId>, reply: &Reply) -> Option<EarlyRefusal> {
        let is_awaited = match reply {
            Reply::Approve { call, .. } => self.holds(call.as_ref()),
            reply if !reply.is_for_a_question() => true,
            // The store may have more of it.
            _ if expected.is_some_and(|expected| expected > self.session.journal().next_seq()) => true,
            _ => self.asks_since(to).any(|asked| expected.is_none_or(|expected| asked <= expected)),
        };
        match (is_awaited, expected) {
            (true, _) => None,
            (false, Some(_)) if reply.is_for_a_question() => Some(EarlyRefusal::Stale),
            (false, _) => Some(EarlyRefusal::NotAwaited(kind(reply))),
        }
    }

    /// The numbers from which on the sessions that an answer may be for ask something.
    fn asks_since(&self, to: Option<&SessionId>) -> impl Iterator<Item = u64> {
        let here = self.session.here();
        let all = std::iter::once((&here.state.session_id, here)).chain(here.children.iter().map(|(child, known)| (child, &known.here)));
        let named = all.filter(move |(session, _)| to.is_none_or(|to| to == *session)).map(|(_, here)| here);
        named.filter(|here| here.blocked.is_some() || here.state.status == Status::WaitingForInput).map(|here| here.asked)
    }

    /// Returns whether this call, or any, may wait for an approval once the session rests: one that was approved does not.
    fn holds(&self, call: Option<&CallId>) -> bool {
        let here = self.session.here();
        let sessions = std::iter::once(None).chain(here.children.keys().map(Some));
        let mut open = sessions.flat_map(|child| self.session.made_calls(child).into_iter().map(move |call| (child, call)));
        open.any(|(child, open)| call.is_none_or(|call| *call == open.id) && !self.session.is_approved(child, &open))
    }
}
