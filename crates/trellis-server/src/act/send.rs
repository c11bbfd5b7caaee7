//! Answers a session, or resumes it.

use std::{sync::Arc, time::Duration};

use trellis_host::{
    Sent, Stop, Turn,
    journal::RequestKey,
    wire::{self, Reply},
};

use super::{Target, Walked, approve::decided_before, deadline, target::taken};
use crate::trouble::{Code, Trouble};

/// An answer to a session.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    /// The number of the turn that it answers.
    pub(crate) expected: Option<u64>,
}

/// Hands in an answer, and waits for the next stop.
///
/// # Errors
/// It is refused; nothing happened.
pub(crate) async fn send(target: Target, answer: Answer, request: RequestKey, wait: Duration) -> Result<Walked, Trouble> {
    let until = deadline(wait);
    let is_for_a_question = matches!(answer.reply, Reply::Input { .. } | Reply::Context { .. } | Reply::Keep { .. });
    let news = target.listen();
    // A look at the store costs as much as a step: it is left out where the session is known to rest.
    if is_for_a_question && !target.sessions.is_at_rest(&target.id) {
        let seen = target.sessions.view(&target.id).await?;
        if seen.stop.needs_nobody() {
            if !target.sessions.has_taken(&target.id, &request).await? {
                return Err(unasked(&seen, answer.expected));
            }
            let turn = target.settled(seen, news, until).await?;
            return Ok(Walked { target, turn, is_repeated: true });
        }
    }
    let decides = match &answer.reply {
        Reply::Approve { approve: call, .. } | Reply::Deny { deny: call, .. } => Some(call.clone()),
        _ => None,
    };
    let sent = Sent::from(answer.reply);
    let sent = Sent { expected: answer.expected.or(sent.expected), ..sent };
    let (sessions, telling) = (Arc::clone(&target.sessions), target.clone());
    let done = target.in_task(async move {
        let was_paused = sessions.is_paused(&telling.id);
        let turn = sessions.send_by(&telling.id, sent, request).await;
        turn.iter().for_each(|turn| telling.announce_after(turn, was_paused));
        turn
    });
    let (turn, is_repeated) = match (taken(done.await?), decides) {
        (Ok(taken), _) => taken,
        (Err(trouble), Some(call)) => return Err(decided_before(trouble, &target, call.as_str()).await),
        (Err(trouble), None) => return Err(trouble),
    };
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated })
}

/// The refusal of an answer while nothing is asked: the next question is unknown.
fn unasked(seen: &Turn, expected: Option<u64>) -> Trouble {
    let stands = match seen.stop {
        Stop::Sleeping { .. } => "sleeps",
        _ => "works by itself",
    };
    let detail = format!("session `{}` {stands}, and asks nothing now", seen.session);
    let trouble = match expected {
        Some(expected) => Trouble::new(Code::Conflict, format!("{detail}: what was asked at record {expected} is answered")),
        None => Trouble::new(Code::WrongKind, detail),
    };
    trouble.current(wire::Turn::from(seen))
}

/// Resumes a paused session, and waits for the next stop.
///
/// # Errors
/// There is no such session, or it cannot continue.
pub(crate) async fn resume(target: Target, wait: Duration) -> Result<Walked, Trouble> {
    let until = deadline(wait);
    let news = target.listen();
    let (sessions, telling) = (Arc::clone(&target.sessions), target.clone());
    let done = target.in_task(async move {
        let was_paused = sessions.is_paused(&telling.id);
        let turn = sessions.resume(&telling.id).await;
        turn.iter().for_each(|turn| telling.announce_after(turn, was_paused));
        turn
    });
    let turn = done.await??;
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated: false })
}
