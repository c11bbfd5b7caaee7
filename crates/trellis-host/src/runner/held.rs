//! Signals that come while nothing waits: the host holds them until the session does (language 7.5).

use std::{collections::VecDeque, pin::Pin};

use trellis_core::{NavigateError, SessionId, SignalName, state::Status};

use crate::sessions::{SendError, Sessions, Turn};

/// A session on its path to the next stop.
pub(super) type Work<'s> = Pin<Box<dyn Future<Output = Result<Turn, SendError>> + 's>>;

/// Signals that no session took yet, the oldest first.
#[derive(Debug, Default)]
pub(super) struct HeldSignals(VecDeque<SignalName>);

/// The fate of a signal.
#[derive(Debug)]
pub(super) enum Raised {
    /// The session took it, and it is stored.
    Taken,
    /// The session does not wait yet. The signal is still held.
    TooEarly,
    /// The session waits, and does not take it.
    Refused(SignalName, SendError),
}

impl HeldSignals {
    /// Holds one more.
    pub(super) fn push(&mut self, signal: SignalName) {
        self.0.push_back(signal);
    }

    /// Takes the oldest out.
    pub(super) fn pop(&mut self) -> Option<SignalName> {
        self.0.pop_front()
    }

    /// Returns whether somebody interrupted more than once without effect.
    pub(super) fn is_urgent(&self) -> bool {
        self.0.iter().filter(|signal| is_interrupt(signal)).count() > 1
    }

    /// Hands the oldest to the session while `work` advances it, which stores its steps. `done` gets the turn, if `work` finishes meanwhile.
    ///
    /// Returns `None` if none is held.
    pub(super) async fn raise(
        &mut self,
        sessions: &Sessions,
        id: &SessionId,
        work: &mut Work<'_>,
        done: &mut Option<Result<Turn, SendError>>,
    ) -> Option<Raised> {
        let signal = self.0.pop_front()?;
        let outcome = {
            let mut raising = Box::pin(sessions.signal(id, &signal));
            match poll_once(&mut raising).await {
                Some(outcome) => Some(outcome),
                // It is being loaded: by `work`, or by the signal itself, which must not come before `work`.
                None if !has_begun(sessions, id) => None,
                None => loop {
                    tokio::select! {
                        biased;
                        outcome = &mut raising => break Some(outcome),
                        turn = &mut *work, if done.is_none() => *done = Some(turn),
                    }
                },
            }
        };
        Some(match outcome {
            Some(Ok(())) => Raised::Taken,
            Some(Err(refusal)) if !is_early(sessions, id, &refusal) => Raised::Refused(signal, refusal),
            _ => {
                sessions.release(id);
                self.0.push_front(signal);
                Raised::TooEarly
            }
        })
    }
}

/// Returns whether this is the signal of Ctrl-C.
pub(super) fn is_interrupt(signal: &SignalName) -> bool {
    signal.as_str() == SignalName::INTERRUPT
}

/// Returns whether the session exists. One that only begins is released, as if it had not been requested.
pub(super) fn has_begun(sessions: &Sessions, id: &SessionId) -> bool {
    let has_begun = sessions.look(id, |_| ()).is_some();
    if !has_begun {
        sessions.release(id);
    }
    has_begun
}

/// Returns whether a refusal comes too early to be that of a waiting session: the session does not exist yet, or passes through a node.
fn is_early(sessions: &Sessions, id: &SessionId, refusal: &SendError) -> bool {
    match refusal {
        SendError::Unknown(_) => true,
        SendError::Refused(NavigateError::UnhandledSignal { .. }) => {
            sessions.look(id, |session| session.state().status == Status::Active).unwrap_or_default()
        }
        _ => false,
    }
}

/// The value of a future that is ready at once.
pub(super) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
