//! The hub: it sends events to listeners. Each session with a listener has a queue; so has the server as a whole, with a ring of past events.
//!
//! **Invariant:** no sender waits for a listener: one that does not keep up loses its place.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::broadcast;
use trellis_core::{SessionId, ToolOutcome};
use trellis_host::{SendError, SessionEvent, Turn, journal::Entry, sessions::APPROVAL_EXPIRED, wire};

/// The bound of the queue of a listener to a session.
const QUEUE: usize = 256;
/// The number of server events that can be sent again.
const RING: usize = 4096;

/// An event of a session.
#[derive(Clone, Debug)]
pub(crate) enum SessionNews {
    /// Records were stored.
    Recorded,
    /// A line, and the child that it is about.
    Line(Arc<wire::SessionEvent>, Option<SessionId>),
    /// A client is needed, or it ended.
    Turn(Arc<Turn>),
    /// It could not continue.
    Failed(SendError),
    /// It was removed.
    Removed,
}

/// An event of the server.
#[derive(Clone, Debug)]
pub(crate) enum ServerNews {
    /// Files of a graph were read; `is_reload` if another program runs.
    Graph { graph: Arc<str>, is_reload: bool },
    /// A session moved.
    Moved { graph: Arc<str>, session: SessionId },
    /// A call waits for a decision, or was decided.
    Approval { graph: Arc<str>, session: SessionId, child: Option<SessionId>, call: Arc<str>, state: &'static str },
    /// A call was given up, or its letter settled.
    Letter { graph: Arc<str>, session: SessionId, letter: Arc<str>, state: &'static str },
    /// A session was removed.
    Removed { graph: Arc<str>, session: SessionId },
    /// Something of the application that the server is part of.
    Extra {
        event: &'static str,
        data: Arc<serde_json::Value>,
        /// The label whose chat it is about.
        chat: Option<Arc<str>>,
    },
    /// The server stops.
    Closed,
}

type SessionKey = (Arc<str>, SessionId);

/// The queues of all listeners.
#[derive(Debug)]
pub(crate) struct Hub {
    sessions: Mutex<BTreeMap<SessionKey, broadcast::Sender<SessionNews>>>,
    ring: Mutex<Ring>,
    server: broadcast::Sender<(u64, ServerNews)>,
    /// Distinguishes this run of the server from others.
    pub(crate) boot: String,
}

/// Tells the listeners of a server what an application has to say. Clones tell the same.
#[derive(Clone, Debug)]
pub struct News(pub(crate) Arc<Hub>);

impl News {
    /// Sends an event to everybody who follows `/api/events`.
    pub fn tell(&self, event: &'static str, data: serde_json::Value) {
        self.0.publish(ServerNews::Extra { event, data: Arc::new(data), chat: None });
    }

    /// The same about the chat of a label, who hears of it with the right `chat` alone.
    pub fn tell_chat(&self, chat: &str, event: &'static str, data: serde_json::Value) {
        self.0.publish(ServerNews::Extra { event, data: Arc::new(data), chat: Some(chat.into()) });
    }

    /// Returns whether anybody follows.
    pub fn has_listeners(&self) -> bool {
        self.0.has_listeners()
    }
}

#[derive(Debug, Default)]
struct Ring {
    next: u64,
    news: VecDeque<(u64, ServerNews)>,
}

/// The server events since a number, and all later ones.
pub(crate) struct ServerFeed {
    /// True if the ring still has all of them.
    pub(crate) is_whole: bool,
    pub(crate) past: Vec<(u64, ServerNews)>,
    pub(crate) news: broadcast::Receiver<(u64, ServerNews)>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 4];
        // Without randomness the time distinguishes runs.
        if getrandom::fill(&mut bytes).is_err() {
            bytes.copy_from_slice(&crate::clock::now().to_le_bytes()[..4]);
        }
        let boot = format!("{:08x}", u32::from_le_bytes(bytes));
        Self { sessions: Mutex::default(), ring: Mutex::default(), server: broadcast::channel(QUEUE).0, boot }
    }

    /// Listens to a session.
    pub(crate) fn listen(&self, graph: &Arc<str>, id: &SessionId) -> broadcast::Receiver<SessionNews> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, sender| sender.receiver_count() > 0);
        sessions.entry((Arc::clone(graph), id.clone())).or_insert_with(|| broadcast::channel(QUEUE).0).subscribe()
    }

    /// Listens to the server; `since` is the number of an earlier event.
    pub(crate) fn feed(&self, since: Option<u64>) -> ServerFeed {
        // No event is sent between the two.
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let news = self.server.subscribe();
        let Some(since) = since else { return ServerFeed { is_whole: true, past: Vec::new(), news } };
        let oldest = ring.news.front().map_or(ring.next, |(number, _)| *number);
        let is_whole = since < ring.next && since + 1 >= oldest;
        let past = ring.news.iter().filter(|(number, _)| is_whole && *number > since).cloned().collect();
        ServerFeed { is_whole, past, news }
    }

    /// Sends an event to every listener of the server.
    pub(crate) fn publish(&self, news: ServerNews) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let number = ring.next;
        ring.next += 1;
        if ring.news.len() >= RING {
            ring.news.pop_front();
        }
        ring.news.push_back((number, news.clone()));
        // There may be no listener.
        let _ = self.server.send((number, news));
    }

    /// Sends an event to the listeners of a session.
    pub(crate) fn tell(&self, graph: &Arc<str>, id: &SessionId, news: SessionNews) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.is_empty() {
            return;
        }
        if let Some(sender) = sessions.get(&(Arc::clone(graph), id.clone())) {
            // There may be no listener any more.
            let _ = sender.send(news);
        }
    }

    /// Reports the settlement of a dead letter.
    pub(crate) fn letter(&self, graph: &Arc<str>, id: &SessionId, letter: &str, state: &'static str) {
        self.publish(ServerNews::Letter { graph: Arc::clone(graph), session: id.clone(), letter: letter.into(), state });
    }

    /// Sends the events that an observer of sessions sees.
    pub(crate) fn observe(&self, graph: &Arc<str>, id: &SessionId, event: &SessionEvent) {
        match event {
            SessionEvent::Recorded(records) => {
                self.tell(graph, id, SessionNews::Recorded);
                self.publish(ServerNews::Moved { graph: Arc::clone(graph), session: id.clone() });
                for record in records.iter() {
                    if let Entry::Dead { letter } = &record.entry {
                        self.letter(graph, id, letter.key.as_str(), "dead");
                    }
                    let decided = match &record.entry {
                        Entry::Approve { key } => Some((Arc::from(key.as_str()), "approved")),
                        Entry::Result { result } => match &result.outcome {
                            ToolOutcome::Denied(why) => {
                                let is_expired = why.as_deref() == Some(APPROVAL_EXPIRED);
                                Some((Arc::from(result.id.as_str()), if is_expired { "expired" } else { "denied" }))
                            }
                            _ => None,
                        },
                        _ => None,
                    };
                    let settled = match &record.entry {
                        Entry::Settle { unapproved, .. } => unapproved.as_slice(),
                        _ => &[],
                    };
                    let settled = settled.iter().map(|call| (Arc::from(call.as_str()), "settled"));
                    for (call, state) in decided.into_iter().chain(settled) {
                        let child = record.child.clone();
                        self.publish(ServerNews::Approval { graph: Arc::clone(graph), session: id.clone(), child, call, state });
                    }
                }
            }
            event => {
                if let Some(line) = wire::SessionEvent::of(event) {
                    self.tell(graph, id, SessionNews::Line(Arc::new(line), event.split().0.cloned()));
                }
            }
        }
    }

    /// Sends the turn of a session, or the reason why it did not continue.
    pub(crate) fn turn(&self, graph: &Arc<str>, id: &SessionId, turn: Result<Turn, SendError>) {
        match turn {
            Ok(turn) => {
                let first = (&turn.child, &turn.stop);
                for (child, stop) in std::iter::once(first).chain(turn.others.iter().map(|other| (&other.child, &other.stop))) {
                    if let Some(call) = stop.held() {
                        let (call, child) = (call.id.as_str().into(), child.clone());
                        self.publish(ServerNews::Approval { graph: Arc::clone(graph), session: id.clone(), child, call, state: "asked" });
                    }
                }
                self.tell(graph, id, SessionNews::Turn(Arc::new(turn)));
            }
            Err(error) => self.tell(graph, id, SessionNews::Failed(error)),
        }
    }

    /// Returns whether anybody listens to the server.
    pub(crate) fn has_listeners(&self) -> bool {
        self.server.receiver_count() > 0
    }

    /// Reports to every listener that the server stops.
    pub(crate) fn close(&self) {
        self.publish(ServerNews::Closed);
    }
}
