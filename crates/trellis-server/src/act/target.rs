//! The session of a request, and the result of advancing it.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    task::JoinError,
    time::Instant,
};
use trellis_core::SessionId;
use trellis_host::{SendError, Sessions, Turn, store::SessionStatus};

use crate::{
    hub::{Hub, SessionNews},
    served::{Served, ServedGraph},
    trouble::{Code, Trouble},
};

/// The time within which a session must accept an input.
const TAKING: Duration = Duration::from_secs(20);

/// A session of a graph that is served.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) graph: Arc<ServedGraph>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) id: SessionId,
    pub(crate) hub: Arc<Hub>,
}

/// The result of advancing a session.
#[derive(Clone, Debug)]
pub(crate) struct Walked {
    pub(crate) target: Target,
    pub(crate) turn: Turn,
    /// True if the request was taken before, and nothing was done now.
    pub(crate) is_repeated: bool,
}

/// The place of a session in its journal.
#[derive(Clone, Debug)]
pub(crate) struct JournalPlace {
    /// The number of the record that comes next.
    pub(crate) seq: u64,
    pub(crate) standing: SessionStatus,
    /// Its turn, unless the graph cannot show it.
    turn: Option<Turn>,
}

impl JournalPlace {
    /// Returns whether it advances by itself.
    pub(crate) fn works(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.stop.needs_nobody())
    }

    /// Returns whether the session said this there.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.said.iter().any(|said| *said.text == *text))
    }

    /// The trouble of a request that was made at another place.
    pub(crate) fn conflict(&self, detail: String) -> Trouble {
        let trouble = Trouble::new(Code::Conflict, detail).with("seq", self.seq);
        match &self.turn {
            Some(turn) => trouble.current(turn.into()),
            None => trouble,
        }
    }
}

impl Target {
    /// The session of this name; of this graph, if one is named.
    ///
    /// # Errors
    /// There is none, several have the name, or the graph never had a program.
    pub(crate) async fn find(served: &Served, id: &str, graph: Option<&str>) -> Result<Self, Trouble> {
        trellis_host::store::check_name(id).map_err(SendError::from)?;
        let id = SessionId::from(id);
        let graph = Arc::clone(served.graph_of(&id, graph).await?);
        Self::of(served, graph, id)
    }

    /// Returns the session of this name of a graph, whether it exists or not.
    ///
    /// # Errors
    /// The graph never had a program.
    pub(crate) fn of(served: &Served, graph: Arc<ServedGraph>, id: SessionId) -> Result<Self, Trouble> {
        Ok(Self { sessions: graph.sessions()?, graph, id, hub: Arc::clone(&served.hub) })
    }

    /// Returns the place of the session in its journal, also if its graph cannot show it any more.
    ///
    /// # Errors
    /// There is no such session, or the store fails.
    pub(crate) async fn place(&self) -> Result<JournalPlace, Trouble> {
        match self.sessions.view(&self.id).await {
            Ok(turn) => Ok(JournalPlace { seq: turn.seq, standing: turn.standing, turn: Some(turn) }),
            Err(SendError::Unfit { .. } | SendError::Stuck(_)) => {
                let stored = self.graph.store().load(std::slice::from_ref(&self.id)).await?.pop().flatten();
                let head = stored.ok_or_else(|| SendError::Unknown(self.id.clone()))?.head;
                Ok(JournalPlace { seq: head.next, standing: head.standing, turn: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether it is paused, and a cancelled task asked for that.
    pub(crate) fn is_paused_by_task(&self) -> bool {
        self.sessions.is_paused(&self.id) && self.graph.task_notes.has_paused(&self.id)
    }

    /// Listens to the session.
    pub(crate) fn listen(&self) -> Receiver<SessionNews> {
        self.hub.listen(&self.graph.name, &self.id)
    }

    /// Reports the turn to listeners, if it has come to a stop.
    pub(crate) fn announce(&self, turn: &Turn) {
        if !turn.stop.needs_nobody() {
            self.graph.report(turn);
        }
    }

    /// Reports the turn of a session that may have been paused before.
    pub(crate) fn announce_after(&self, turn: &Turn, was_paused: bool) {
        if was_paused && turn.stop.needs_nobody() {
            self.announce_pause(turn);
        } else {
            self.announce(turn);
        }
    }

    /// Reports to those who follow the session that its pause began or ended, also where it needs nobody.
    pub(crate) fn announce_pause(&self, turn: &Turn) {
        self.hub.tell(&self.graph.name, &self.id, SessionNews::Turn(Arc::new(turn.clone())));
    }

    /// Works on the session in a task of the server, which continues when the client is gone. The result is stored by then, so the request waits for
    /// it beyond the client's own bound: it is done soon, unless a running call holds the session.
    ///
    /// # Errors
    /// It takes long, and whether it will be done is not known.
    pub(crate) async fn in_task<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, Trouble> {
        match tokio::time::timeout(TAKING, in_task(work)).await {
            Ok(done) => done,
            Err(_) => {
                let detail = format!("session `{}` is busy, and takes this up when it can; ask where it stands", self.id);
                Err(Trouble::new(Code::InProgress, detail).retry_after(1))
            }
        }
    }

    /// Waits until a client is needed, from a turn at which the session works by itself, or sleeps.
    pub(crate) async fn settled(&self, turn: Turn, mut news: Receiver<SessionNews>, until: Instant) -> Result<Turn, Trouble> {
        if !turn.stop.needs_nobody() {
            return Ok(turn);
        }
        loop {
            match tokio::time::timeout_at(until, news.recv()).await {
                Ok(Ok(SessionNews::Turn(next))) if next.seq >= turn.seq && !next.stop.needs_nobody() => return Ok(joined(turn, &next)),
                Ok(Ok(SessionNews::Failed(SendError::Stopped))) => return Ok(self.seen(turn).await),
                Ok(Ok(SessionNews::Failed(error))) => return Err(error.into()),
                Ok(Ok(SessionNews::Removed)) => return Err(SendError::Unknown(self.id.clone()).into()),
                Ok(Ok(_)) => {}
                // The missed event may have been the turn.
                Ok(Err(RecvError::Lagged(_))) => {
                    let seen = self.seen(turn.clone()).await;
                    if !seen.stop.needs_nobody() {
                        return Ok(seen);
                    }
                }
                Ok(Err(RecvError::Closed)) | Err(_) => return Ok(self.seen(turn).await),
            }
        }
    }

    /// Returns the current turn, joined with the one before.
    async fn seen(&self, turn: Turn) -> Turn {
        match self.sessions.view(&self.id).await {
            Ok(seen) => joined(turn, &seen),
            Err(_) => turn,
        }
    }
}

/// Returns a turn, with the texts and events of the one before it.
fn joined(before: Turn, next: &Turn) -> Turn {
    let mut turn = next.clone();
    let is_new = turn.said.iter().all(|said| !before.said.contains(said));
    if is_new {
        turn.said.splice(0..0, before.said);
    }
    turn.happened.splice(0..0, before.happened);
    let surplus = turn.happened.len().saturating_sub(trellis_host::sessions::MAX_HAPPENED);
    turn.happened.drain(..surplus);
    turn.has_more |= surplus > 0 || before.has_more;
    turn
}

/// Works in a task of the server, which continues when the client is gone.
///
/// # Errors
/// It panicked.
pub(super) fn in_task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> impl Future<Output = Result<T, Trouble>> {
    // Advancing a session is a large future, so it is moved off the stack of the caller.
    let task = tokio::spawn(work);
    let internal = |error: JoinError| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string());
    async move { task.await.map_err(internal) }
}

/// Returns the turn and whether the request had been taken before, or the reason why it was refused.
pub(crate) fn taken(turn: Result<Turn, SendError>) -> Result<(Turn, bool), Trouble> {
    match turn {
        Ok(turn) => Ok((turn, false)),
        Err(SendError::Repeated(turn)) => Ok((*turn, true)),
        Err(error) => Err(error.into()),
    }
}
