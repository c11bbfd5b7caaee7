//! Sessions: the one primitive that a terminal, JSON Lines, HTTP and MCP share (language C.1).
//!
//! ```text
//! start(Start) ──┐
//! send(Sent) ────┼──▶ drive: store, act, move, until somebody else is needed ──▶ Turn { seq, asked, said, stop }
//! resume ────────┘        └─▶ SessionEvent, SessionEvent … to observers, as it happens
//! view ─────────────▶ the same Turn, without going on
//! ```
//!
//! A client starts a session, does what the [`Turn`] says, and sends the answer. Everything between two turns happens here and nowhere else: passing
//! through, the ceiling on that, calls with a binding, their delays, approvals and timeouts, sleeps, and the change to another program.
//!
//! **Invariant:** what acts was stored before; what was refused changed nothing; an answer is taken by the question that it was given to, or by none;
//! another program is taken between an answer and the next view, never between a view and its answer.

mod drive;
mod front;
mod memory;
mod observing;
mod pausing;
mod persistence;
mod policy;
mod predicate;
mod requests;
mod rest;
mod ruling;
mod scheduler;
mod send_error;
mod sending;
mod signal;
mod slot;
mod starting;
mod stopping;
mod tail;
mod taking;
mod turn;
mod upgrade;
mod view;
mod works;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use trellis_core::{Engine, SessionId, SignalName};

pub(crate) use self::taking::quoted;
use self::{
    persistence::Persistence,
    slot::{PanicSafeLock, Slot},
};
pub use self::{
    policy::{Policy, Unbound, UnknownFunctions, Vetoed},
    scheduler::{Drive, DriveError, Driven},
    send_error::SendError,
    stopping::Stopped,
    turn::{MAX_HAPPENED, Reply, Said, Sent, SessionEvent, Stop, Turn, Waiting},
};
use crate::{
    binding::Bindings,
    hooks::{Hooked, Hooks},
    interceptor::Interceptor,
    journal::Clock,
    session::Session,
    store::{Redacted, SessionStore},
};

/// How often a session is loaded again in one turn because somebody else went on with it.
const MAX_TURN_CONFLICTS: usize = 8;
/// How many sessions that nobody goes on with stay in memory, if nothing else is said.
const IN_MEMORY: usize = 1024;

/// The sessions of one graph.
///
/// ```
/// use trellis_core::{Dialect, Document, Engine, Input, Predicates, Source, Start, Value, compile};
/// use trellis_host::{Bindings, SendError, Sessions, Stop};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let files = [
///     ("start.md", "---\ninput_type: int\nsave_to: n\nto: double\n---\nA number?\n"),
///     ("double.md", "---\ntools: [{name: double}]\ndo: {name: double, args: {n: \"{{ n }}\"}}\nsave_to: n\non_error: end\nto: end\n---\n"),
///     ("end.md", "---\noutput: \"{{ n }}\"\n---\nThat is {{ n }}.\n"),
/// ];
/// let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let bindings = Bindings::none().function("double", |_, args| match args.get("n") {
///     Some(Value::Int(n)) => Ok(Value::Int(n * 2)),
///     _ => Ok(Value::Null),
/// });
/// let sessions = Sessions::new(engine, bindings)?;
///
/// let asked = sessions.start(Start::default()).await?;
/// let ended = sessions.send(&asked.session, asked.answer(Input::Text("21".into()))).await?;
/// assert_eq!(&*ended.said[0].text, "That is 42.\n");
/// assert!(matches!(ended.stop, Stop::Ended(_)));
/// // A second answer to the same question is taken by no other.
/// assert!(matches!(sessions.send(&asked.session, asked.answer(Input::Text("1".into()))).await, Err(SendError::Stale(_))));
/// # Ok(())
/// # }
/// ```
///
/// What each future leaves behind when it is dropped, and how a server is made of this, stands in `docs/embedding.md` of the repository.
pub struct Sessions {
    /// The newest program; sessions take it up one by one.
    current: RwLock<Current>,
    policy: Policy,
    clock: Clock,
    interceptors: Vec<Arc<dyn Interceptor>>,
    observers: Arc<RwLock<Vec<observing::Observer>>>,
    hooks: Vec<Hooked>,
    dropped: Arc<AtomicU64>,
    slots: Mutex<BTreeMap<SessionId, Arc<Slot>>>,
    /// Sessions that nobody here goes on with until they are resumed.
    paused: Mutex<BTreeSet<SessionId>>,
    /// How many sessions that nobody goes on with stay in memory, and how often one was used.
    in_memory: usize,
    uses: AtomicU64,
    is_stopping: AtomicBool,
    keeping: Option<Persistence>,
    /// When the one who wakes sessions looks again, and how to make it look before.
    wakes_at: AtomicU64,
    sooner: Notify,
}

/// A program and what carries its calls out.
#[derive(Clone)]
struct Current {
    engine: Engine,
    bindings: Arc<Bindings>,
    version: u64,
}

impl Sessions {
    /// No sessions yet; calls are carried out by `bindings`.
    ///
    /// # Errors
    /// A function carries out a tool that the graph does not have.
    pub fn new(engine: Engine, bindings: Bindings) -> Result<Self, UnknownFunctions> {
        let names = bindings.unknown_functions(engine.inspect());
        if !names.is_empty() {
            return Err(UnknownFunctions { names });
        }
        Ok(Self {
            current: RwLock::new(Current { bindings: Arc::new(bindings.serving(engine.inspect())), engine, version: 1 }),
            policy: Policy::default(),
            clock: Clock::system(),
            interceptors: Vec::new(),
            observers: Arc::default(),
            hooks: Vec::new(),
            dropped: Arc::default(),
            slots: Mutex::default(),
            paused: Mutex::default(),
            in_memory: IN_MEMORY,
            uses: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            keeping: None,
            wakes_at: AtomicU64::new(u64::MAX),
            sooner: Notify::new(),
        })
    }

    /// The same with another policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The same for one who walks a session from turn to turn, and wants to see it when it has ended.
    pub(crate) fn walked(self) -> Self {
        Self { in_memory: usize::MAX, policy: self.policy.detached(false), ..self }
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same, kept in a store: sessions of the graph `graph` go on where they were stored, and what happens is stored before anybody gets to know
    /// of it. What `redact` of the program names never reaches the store.
    #[must_use]
    pub fn store(self, store: Arc<dyn SessionStore>, graph: &str) -> Self {
        let store = Arc::new(Redacted::of(self.current().engine.inspect(), store));
        Self { keeping: Some(Persistence { store, graph: graph.into() }), ..self }
    }

    /// The same, with so many sessions in memory that nobody goes on with; others are loaded when they are needed. Where there is no store, all stay.
    #[must_use]
    pub fn in_memory(self, sessions: usize) -> Self {
        Self { in_memory: sessions, ..self }
    }

    /// The same with one more interceptor, which sees calls after those before it.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// The same with one more hook, which sees what was stored. It may be slow, and fail.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.push(Hooked::new(hooks, Arc::clone(&self.dropped)));
        self
    }

    /// How many things hooks were not told, because they were too slow or failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The same number as it will be, for one who counts.
    #[cfg(feature = "metrics")]
    pub(crate) fn dropped_by_all(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped)
    }

    /// Hands in an answer and goes on to the next stop. [`Turn::answer`] makes one that only the question of that turn takes; without a number an input
    /// is taken for whatever is asked. What the session said on the way to its question is said in the turn that comes back.
    ///
    /// It may be dropped: what was stored until then happened, and the session is loaded anew.
    ///
    /// # Errors
    /// A refusal: nothing happened, and what is awaited. [`SendError::Stale`] and [`SendError::TooLate`]: something else is asked by now, and what.
    pub async fn send(&self, id: &SessionId, sent: impl Into<Sent>) -> Result<Turn, SendError> {
        self.admit()?;
        let slot = self.unpaused(id)?;
        let turn = self.sent(&slot, sent.into(), None).await;
        self.leave(slot);
        turn
    }

    /// Goes on to the next stop without an answer: after a program was swapped, when time is up, when a client wants to see again where it is. What
    /// another process did to the session counts.
    ///
    /// # Errors
    /// There is no such session, or it cannot go on.
    pub async fn resume(&self, id: &SessionId) -> Result<Turn, SendError> {
        self.admit()?;
        let slot = self.unpaused(id)?;
        let turn = self.renewed(&slot).await;
        self.leave(slot);
        turn
    }

    /// Raises a signal at once, also while a call runs: one that the session takes stops the call. Who waits for the turn gets it. It returns when the
    /// signal is stored; one whose step needs the answer to a predicate first is stored with that.
    ///
    /// # Errors
    /// Nothing handles it, or it cannot be stored; nothing happened.
    pub async fn signal(&self, id: &SessionId, signal: &SignalName) -> Result<(), SendError> {
        self.admit()?;
        let slot = self.unpaused(id)?;
        let raised = async {
            self.arrived(&slot).await?;
            let promise = self.raise(&slot, None, signal, None)?;
            self.kept(&slot, promise).await
        };
        let raised = raised.await;
        self.leave(slot);
        raised
    }

    /// Puts another program under all sessions. Each takes it up before its next view; [`Sessions::resume`] makes that now.
    ///
    /// # Errors
    /// A hook objects; sessions go on with the program that they have.
    pub async fn swap(&self, engine: Engine, bindings: Bindings) -> Result<(), Vetoed> {
        let from = Arc::clone(self.current().engine.inspect().fingerprint());
        for hook in &self.hooks {
            if let Some(why) = hook.objection(&from, engine.inspect().fingerprint()).await {
                return Err(Vetoed(why));
            }
        }
        if let Some(keeping) = &self.keeping {
            keeping.store.keep_from(engine.inspect());
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Current { bindings: Arc::new(bindings.serving(engine.inspect())), engine, version: current.version + 1 };
        Ok(())
    }

    /// Takes a session out.
    pub fn close(&self, id: &SessionId) -> Option<Session> {
        let slot = self.slots.locked().remove(id)?;
        slot.session()
    }

    /// Shows a session that has begun and is in memory; nothing where there is none. [`Sessions::view`] asks the store too.
    pub fn look<T>(&self, id: &SessionId, look: impl FnOnce(&Session) -> T) -> Option<T> {
        let slot = self.found(id)?;
        let place = slot.place.locked();
        place.running().map(|running| look(&running.session))
    }

    /// The time until `due`, in milliseconds since 1970.
    pub fn until(&self, due: u64) -> Duration {
        Duration::from_millis(due.saturating_sub(self.clock.now()))
    }

    /// The engine that sessions take up now.
    pub fn engine(&self) -> Engine {
        self.current().engine
    }

    /// The graph, as the host calls it: as its store knows it, else by its `name`, else nothing.
    fn graph(&self) -> Arc<str> {
        match &self.keeping {
            Some(keeping) => Arc::clone(&keeping.graph),
            None => self.current().engine.inspect().root().name.clone().unwrap_or_else(|| Arc::from("")),
        }
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("policy", &self.policy).field("sessions", &self.slots.locked().len()).finish_non_exhaustive()
    }
}
