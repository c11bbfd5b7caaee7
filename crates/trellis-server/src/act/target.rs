//! The session that a request is about, and what walking it came to.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    task::JoinError,
    time::Instant,
};
use trellis_core::SessionId;
use trellis_host::{SendError, Sessions, Turn};

use crate::{
    hub::{Hub, SessionNews},
    served::{Served, ServedGraph},
    trouble::{Code, Trouble},
};

/// The time in which a session takes what it is sent.
const TAKING: Duration = Duration::from_secs(20);

/// A session of a graph that is served.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) graph: Arc<ServedGraph>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) id: SessionId,
    pub(crate) hub: Arc<Hub>,
}

/// What walking a session came to.
#[derive(Clone, Debug)]
pub(crate) struct Walked {
    pub(crate) target: Target,
    pub(crate) turn: Turn,
    /// Whether the request was taken before, and nothing was done now.
    pub(crate) is_repeated: bool,
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

    /// The session of this name of a graph, whether it is there or not.
    ///
    /// # Errors
    /// The graph never had a program.
    pub(crate) fn of(served: &Served, graph: Arc<ServedGraph>, id: SessionId) -> Result<Self, Trouble> {
        Ok(Self { sessions: graph.sessions()?, graph, id, hub: Arc::clone(&served.hub) })
    }

    /// Listens to the session.
    pub(crate) fn listen(&self) -> Receiver<SessionNews> {
        self.hub.listen(&self.graph.name, &self.id)
    }

    /// Tells those who listen where it came to.
    pub(crate) fn told(&self, turn: &Turn) {
        if !turn.stop.needs_nobody() {
            self.hub.turn(&self.graph.name, &self.id, Ok(turn.clone()));
        }
    }

    /// Does something with the session in a task of the server, which goes on when nobody waits any more. What was done is stored then, so it is waited
    /// for, whatever the client waits for: it is soon done, unless a call that runs holds the session.
    ///
    /// # Errors
    /// It takes long, and whether it will be done is not known.
    pub(crate) async fn in_task<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, Trouble> {
        let task = tokio::spawn(work);
        match tokio::time::timeout(TAKING, task).await {
            Ok(done) => done.map_err(|error: JoinError| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string())),
            Err(_) => {
                let detail = format!("session `{}` is busy, and takes this up when it can; ask where it stands", self.id);
                Err(Trouble::new(Code::InProgress, detail).retry_after(1))
            }
        }
    }

    /// Waits until somebody else is needed; from a turn at which the session works by itself, or sleeps.
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
                // What was missed may have been the turn.
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

    /// Where it is now, after a turn.
    async fn seen(&self, turn: Turn) -> Turn {
        match self.sessions.view(&self.id).await {
            Ok(seen) => joined(turn, &seen),
            Err(_) => turn,
        }
    }
}

/// A turn, with what the one before it had to say.
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

/// Why a request was not taken; where it was taken before, that it was.
pub(crate) fn taken(turn: Result<Turn, SendError>) -> Result<(Turn, bool), Trouble> {
    match turn {
        Ok(turn) => Ok((turn, false)),
        Err(SendError::Repeated(turn)) => Ok((*turn, true)),
        Err(error) => Err(error.into()),
    }
}
