//! Sessions: the one primitive that a terminal, JSON Lines, HTTP and MCP share (language C.1).
//!
//! ```text
//! start(Start) ──┐
//! send(Sent) ────┼──▶ drive: store, act, move, until somebody else is needed ──▶ Turn { seq, asked, said, stop }
//! resume ────────┘        └─▶ SessionEvent, SessionEvent … to observers, as it happens
//! view ─────────────▶ the same Turn, without going on
//! ```
//!
//! A client starts a session, carries out the action of the [`Turn`], and sends the answer. Everything between two turns happens here and nowhere
//! else: passing through, the bound on that, calls with a binding, their delays, approvals and timeouts, sleeps, and the change to another program.
//!
//! **Invariant:** a step is stored before its effects; a refusal changes nothing; an answer is taken by the question that it was given to, or by
//! none; another program is taken between an answer and the next view, never between a view and its answer.

mod drive;
mod driver;
mod early;
mod front;
#[cfg(feature = "history")]
mod letters;
mod memory;
mod observing;
mod overheard;
mod pausing;
mod persistence;
mod policy;
mod predicate;
mod requests;
mod rest;
mod results;
mod ruling;
mod scheduler;
mod send_error;
mod sending;
mod sent;
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
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use trellis_core::{Engine, SessionId, SignalName, id::KeySeed, state::PendingCall};

#[cfg(feature = "history")]
pub use self::letters::LetterError;
use self::{
    persistence::Persistence,
    signal::raise,
    slot::{PanicSafeLock, Slot},
};
pub use self::{
    policy::{Policy, Unbound, Vetoed},
    scheduler::{Drive, DriveError, Driven},
    send_error::{NotYours, SendError},
    sent::{Reply, Sent},
    stopping::Stopped,
    turn::{MAX_HAPPENED, Said, SessionEvent, Stop, Turn, Waiting},
    works::APPROVAL_EXPIRED,
};
pub use crate::binding::UnknownFunctions;
use crate::{
    binding::Bindings,
    hooks::{Hooked, Hooks},
    interceptor::Interceptor,
    journal::{Clock, NoRandom, draw_seed},
    session::Session,
    store::{Redacted, SessionStore},
};

/// The number of times that a session is loaded again in one turn because another writer advanced it.
const MAX_TURN_CONFLICTS: usize = 8;
/// The default number of unused sessions that stay in memory.
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
/// `docs/embedding.md` of the repository describes the effects of dropping each future, and how to make a server of this.
pub struct Sessions {
    /// The newest program; sessions take it up one by one.
    current: RwLock<Current>,
    policy: Policy,
    clock: Clock,
    /// Draws the number from which the keys of calls of a new session derive.
    draw: fn() -> Result<Option<KeySeed>, NoRandom>,
    interceptors: Vec<Arc<dyn Interceptor>>,
    observers: Arc<RwLock<Vec<observing::Observer>>>,
    hooks: Vec<Hooked>,
    dropped: Arc<AtomicU64>,
    slots: Mutex<BTreeMap<SessionId, Arc<Slot>>>,
    /// Sessions that rest until they are resumed.
    paused: Mutex<BTreeSet<SessionId>>,
    /// Sessions that this process stored while it worked on them, with the numbers of their next records.
    worked_on: Mutex<BTreeMap<SessionId, u64>>,
    /// Sessions that were resumed and work by themselves: whoever drives them tries them again.
    resumed: Mutex<BTreeSet<SessionId>>,
    /// Keys of dead letters whose calls are being made again.
    #[cfg(feature = "history")]
    retried: Mutex<BTreeSet<String>>,
    /// The number of unused sessions that stay in memory, and the number of uses so far.
    in_memory: usize,
    uses: AtomicU64,
    is_stopping: AtomicBool,
    /// The number of futures that drive them, and whether it was told that there is none.
    drivers: AtomicUsize,
    is_warned: AtomicBool,
    persistence: Option<Persistence>,
    /// The time at which the scheduler looks again, and the means to make it look before.
    wakes_at: AtomicU64,
    sooner: Notify,
}

/// A program and its bindings.
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
        bindings.check_functions(engine.inspect())?;
        Ok(Self {
            current: RwLock::new(Current { bindings: Arc::new(bindings.serving(engine.inspect())), engine, version: 1 }),
            policy: Policy::default(),
            clock: Clock::system(),
            draw: || draw_seed().map(Some),
            interceptors: Vec::new(),
            observers: Arc::default(),
            hooks: Vec::new(),
            dropped: Arc::default(),
            slots: Mutex::default(),
            paused: Mutex::default(),
            worked_on: Mutex::default(),
            resumed: Mutex::default(),
            #[cfg(feature = "history")]
            retried: Mutex::default(),
            in_memory: IN_MEMORY,
            uses: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            drivers: AtomicUsize::new(0),
            is_warned: AtomicBool::new(false),
            persistence: None,
            wakes_at: AtomicU64::new(u64::MAX),
            sooner: Notify::new(),
        })
    }

    /// Sets another policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets the mode of a caller that walks a session from turn to turn, and looks at it when it has ended.
    pub(crate) fn walked(self) -> Self {
        Self { in_memory: usize::MAX, policy: self.policy.detached(false), ..self }
    }

    /// Sets another clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Derives the keys of calls from names alone, so that each run has the same ids. For tests: two sessions of one name share their keys.
    #[must_use]
    pub fn predictable_keys(self) -> Self {
        Self { draw: || Ok(None), ..self }
    }

    /// Stores sessions: those of the graph `graph` continue where they were stored, and every step is stored before it is reported. Values that
    /// `redact` of the program names never reach the store.
    #[must_use]
    pub fn store(self, store: Arc<dyn SessionStore>, graph: &str) -> Self {
        let store = Arc::new(Redacted::of(self.current().engine.inspect(), store));
        Self { persistence: Some(Persistence { store, graph: graph.into() }), ..self }
    }

    /// Sets the number of unused sessions in memory; others are loaded when they are needed. Without a store, all stay.
    #[must_use]
    pub fn in_memory(self, sessions: usize) -> Self {
        Self { in_memory: sessions, ..self }
    }

    /// Adds an interceptor, which sees calls after those before it.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Adds a hook, which sees stored events. It may be slow, and fail.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.push(Hooked::new(hooks, Arc::clone(&self.dropped)));
        self
    }

    /// Returns the number of events that hooks missed, because they were too slow or failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns the counter of missed events, for metrics.
    #[cfg(feature = "metrics")]
    pub(crate) fn dropped_by_all(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped)
    }

    /// Hands in an answer and continues to the next stop. [`Turn::answer`] makes one that only the question of that turn takes; without a number an
    /// input answers the current question. The returned turn has the content that the session showed before its question.
    ///
    /// It may be dropped: steps stored until then remain, and the session is loaded again.
    ///
    /// # Errors
    /// A refusal: nothing happened; with the awaited input. [`SendError::Stale`] and [`SendError::TooLate`]: another question is asked by now; with
    /// that question.
    pub async fn send(&self, id: &SessionId, sent: impl Into<Sent>) -> Result<Turn, SendError> {
        self.admit()?;
        let slot = self.slot(id)?;
        let turn = self.sent(&slot, sent.into(), None).await;
        self.leave(slot);
        turn
    }

    /// Continues to the next stop without an answer: after a program was swapped, when time is up, or when a client wants to see the current turn
    /// again. Steps of another process count.
    ///
    /// # Errors
    /// There is no such session, or it cannot continue.
    pub async fn resume(&self, id: &SessionId) -> Result<Turn, SendError> {
        self.admit()?;
        self.end_pause(id);
        let slot = self.slot(id)?;
        let turn = self.renewed(&slot).await;
        self.leave(slot);
        if let Some(turn) = turn.as_ref().ok().filter(|turn| self.policy.is_detached && turn.stop.is_running()) {
            // Somebody wants it to go on here, whoever worked on it before.
            self.worked_on_here(id, Some(turn.seq));
            self.resumed.locked().insert(id.clone());
            self.sooner.notify_one();
        }
        turn
    }

    /// Raises a signal at once, also while a call runs: one that the session takes stops the call. A caller that waits for the turn gets it. It
    /// returns when the signal is stored; one whose step needs the answer to a predicate first is stored with that.
    ///
    /// # Errors
    /// No handler takes it, or it cannot be stored; nothing happened.
    pub async fn signal(&self, id: &SessionId, signal: &SignalName) -> Result<(), SendError> {
        self.admit()?;
        let slot = self.slot(id)?;
        let raised = async {
            self.arrived(&slot).await?;
            let promise =
                self.hand_in(&slot, None, SendError::NotBegun(signal.clone()), |running| raise(running, &slot.id, None, signal))?;
            self.durable(&slot, promise).await
        };
        let raised = raised.await;
        self.leave(slot);
        raised
    }

    /// Swaps the program of all sessions. Each takes the new one up before its next view; [`Sessions::resume`] makes that now.
    ///
    /// # Errors
    /// A hook objects, or a function carries out a tool that the graph does not have, as in [`Sessions::new`]; sessions continue with the program that
    /// they have.
    pub async fn swap(&self, engine: Engine, bindings: Bindings) -> Result<(), Vetoed> {
        bindings.check_functions(engine.inspect()).map_err(|unknown| Vetoed(unknown.to_string()))?;
        let from = Arc::clone(self.current().engine.inspect().fingerprint());
        for hook in &self.hooks {
            if let Some(why) = hook.objection(&from, engine.inspect().fingerprint()).await {
                return Err(Vetoed(why));
            }
        }
        if let Some(persistence) = &self.persistence {
            persistence.store.keep_from(engine.inspect());
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

    /// Passes a session that has begun and is in memory to `look`; `None` if there is none. [`Sessions::view`] reads the store too.
    pub fn look<T>(&self, id: &SessionId, look: impl FnOnce(&Session) -> T) -> Option<T> {
        let slot = self.found(id)?;
        let place = slot.place.locked();
        place.running().map(|running| look(&running.session))
    }

    /// The time until `due`, in milliseconds since 1970.
    pub fn until(&self, due: u64) -> Duration {
        Duration::from_millis(due.saturating_sub(self.clock.now()))
    }

    /// Returns the carrier of a call of the program in use ([`Bindings::carrier`]).
    pub(crate) fn carrier(&self, call: &PendingCall) -> Option<String> {
        let current = self.current();
        current.bindings.carrier(current.engine.inspect(), call)
    }

    /// The engine that sessions take up now.
    pub fn engine(&self) -> Engine {
        self.current().engine
    }

    /// The graph, as the host calls it: as its store knows it, else by its `name`, else nothing.
    fn graph(&self) -> Arc<str> {
        match &self.persistence {
            Some(persistence) => Arc::clone(&persistence.graph),
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
