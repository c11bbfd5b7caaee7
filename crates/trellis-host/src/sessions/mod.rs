//! Sessions: the one primitive that a terminal, JSON Lines, HTTP and MCP share (language C.1).
//!
//! ```text
//! start(Start) ──┐
//! send(Reply) ───┼──▶ drive: store, act, move, until somebody else is needed ──▶ Turn { said, stop }
//! resume ────────┘        └─▶ Happening, Happening … to observers, as it happens
//! ```
//!
//! A client starts a session, does what the [`Turn`] says, and sends the answer. Everything between two turns happens here and nowhere else: passing
//! through, the ceiling on that, calls with a binding, their delays, approvals and timeouts, sleeps, and the change to another program.
//!
//! **Invariant:** what acts was stored before; what was refused changed nothing; another program is taken between an answer and the next view, never
//! between a view and its answer.

mod call;
mod drive;
mod keep;
mod others;
mod predicate;
mod signal;
mod slot;
mod swap;
mod turn;
mod waking;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use trellis_core::{Engine, Input, SessionId, SignalName, Start};

pub(crate) use self::drive::quoted;
use self::{
    keep::Keeping,
    slot::{Lock, Place, Slot},
};
pub use self::{
    turn::{Happening, Reply, SendError, Stop, Turn},
    waking::{Drive, Driven},
};
use crate::{
    binding::Bindings,
    hooks::{Hooked, Hooks},
    interceptor::{Interceptor, Verdict},
    journal::Clock,
    session::Session,
    store::{SessionStore, StoreError, check_name},
};

/// How often a session is loaded again in one turn because somebody else went on with it.
const CONFLICTS: usize = 8;

/// A hook does not let another program be taken up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the graph is not taken up: {0}")]
pub struct Vetoed(pub String);

/// What sessions may do by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Calls that need an approval have it (`--yes`).
    pub approve_all: bool,
    /// What becomes of calls that nothing here carries out.
    pub unbound: Unbound,
}

/// What becomes of calls that nothing here carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbound {
    /// The client carries them out, within the call's timeout: [`Stop::Call`].
    #[default]
    Elsewhere,
    /// A person types their result in and takes the time they need: [`Stop::Call`] too.
    TypedIn,
    /// They fail.
    Fail,
}

type Observer = Arc<dyn Fn(&SessionId, &Happening) + Send + Sync>;

/// The sessions of one graph.
pub struct Sessions {
    /// The newest program; sessions take it up one by one.
    current: RwLock<Current>,
    policy: Policy,
    clock: Clock,
    interceptors: Vec<Arc<dyn Interceptor>>,
    observers: RwLock<Vec<Observer>>,
    hooks: Vec<Hooked>,
    untold: Arc<AtomicU64>,
    slots: Mutex<BTreeMap<SessionId, Arc<Slot>>>,
    keeping: Option<Keeping>,
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
    pub fn new(engine: Engine, bindings: Bindings) -> Self {
        Self {
            current: RwLock::new(Current { engine, bindings: Arc::new(bindings), version: 1 }),
            policy: Policy::default(),
            clock: Clock::system(),
            interceptors: Vec::new(),
            observers: RwLock::default(),
            hooks: Vec::new(),
            untold: Arc::default(),
            slots: Mutex::default(),
            keeping: None,
            wakes_at: AtomicU64::new(u64::MAX),
            sooner: Notify::new(),
        }
    }

    /// The same with another policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same, kept in a store: sessions of the graph `graph` go on where they were stored, and what happens is stored before anybody gets to know
    /// of it.
    #[must_use]
    pub fn store(self, store: Arc<dyn SessionStore>, graph: &str) -> Self {
        Self { keeping: Some(Keeping { store, graph: graph.into() }), ..self }
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
        self.hooks.push(Hooked::new(hooks, Arc::clone(&self.untold)));
        self
    }

    /// How many things hooks were not told, because they were too slow or failed.
    pub fn untold(&self) -> u64 {
        self.untold.load(Ordering::Relaxed)
    }

    /// The same number as it will be, for one who counts.
    #[cfg(feature = "metrics")]
    pub(crate) fn untold_by_all(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.untold)
    }

    /// Shows what happens to `observe`, as it happens. It is called between steps, so it must be quick: a channel's sender is.
    pub fn observe(&self, observe: impl Fn(&SessionId, &Happening) + Send + Sync + 'static) {
        self.observers.write().unwrap_or_else(std::sync::PoisonError::into_inner).push(Arc::new(observe));
    }

    /// Begins a session and goes on to its first stop. A start without a name is `local`.
    ///
    /// # Errors
    /// The start is refused, or there is a session of that name.
    pub async fn start(&self, start: Start) -> Result<Turn, SendError> {
        let id = start.session.clone().unwrap_or_else(|| SessionId::from("local"));
        check_name(id.as_str())?;
        if self.is_stored(&id).await? {
            return Err(SendError::Exists(id));
        }
        let slot = Arc::new(Slot::new(id.clone(), Place::beginning(Start { session: Some(id.clone()), ..start })));
        match self.slots.locked().entry(id.clone()) {
            Entry::Occupied(_) => return Err(SendError::Exists(id)),
            Entry::Vacant(place) => drop(place.insert(Arc::clone(&slot))),
        }
        match self.driven(&slot).await {
            // Somebody else has a session of that name in the store.
            Err(SendError::Store(StoreError::Conflict { expected: 0, .. })) => {
                self.slots.locked().remove(&id);
                Err(SendError::Exists(id))
            }
            Err(refused @ (SendError::Start(_) | SendError::Store(_))) => {
                self.slots.locked().remove(&id);
                Err(refused)
            }
            turn => turn,
        }
    }

    /// Begins a session, or goes on with the one of that name that the store has.
    ///
    /// # Errors
    /// As [`Sessions::start`]; [`SendError::Exists`] where there is one, and the start says more than its name.
    pub async fn start_or_resume(&self, start: Start) -> Result<Turn, SendError> {
        let is_bare = start.context.is_empty() && start.at.is_none();
        match self.start(start).await {
            Err(SendError::Exists(id)) if is_bare && self.keeping.is_some() => self.resume(&id).await,
            turn => turn,
        }
    }

    /// Hands in an answer and goes on to the next stop.
    ///
    /// # Errors
    /// A refusal: nothing happened, and what is awaited. [`SendError::TooLate`]: the time was up, which counts instead.
    pub async fn send(&self, id: &SessionId, reply: impl Into<Reply>) -> Result<Turn, SendError> {
        let slot = self.slot(id)?;
        match reply.into() {
            Reply::Input(Input::Signal(signal)) => {
                self.arrived(&slot).await?;
                let mut promise = self.raise(&slot, &signal)?;
                let turn = self.driven(&slot).await?;
                // Somebody else may have gone on with it, and could not store it.
                promise.checked().map(|()| turn)
            }
            reply => {
                let _driving = slot.driving.lock().await;
                if self.awake(&slot).await? {
                    // What it waits for, and until when, shows when it gets there.
                    self.onward(&slot).await?;
                }
                self.handed(&slot, reply).await
            }
        }
    }

    /// Goes on to the next stop without an answer: after a program was swapped, when time is up, when a client wants to see again where it is. What
    /// another process did to the session counts.
    ///
    /// # Errors
    /// There is no such session, or it cannot go on.
    pub async fn resume(&self, id: &SessionId) -> Result<Turn, SendError> {
        for _ in 0..CONFLICTS {
            match self.renewed(&*self.slot(id)?).await {
                // Somebody else went on with it: it goes on from there.
                Err(SendError::Store(StoreError::Conflict { .. })) => {}
                turn => return turn,
            }
        }
        self.renewed(&*self.slot(id)?).await
    }

    /// Raises a signal at once, also while a call runs: one that the session takes stops the call. Who waits for the turn gets it. It returns when the
    /// signal is stored; one whose step needs the answer to a predicate first is stored with that.
    ///
    /// # Errors
    /// Nothing handles it, or it cannot be stored; nothing happened.
    pub async fn signal(&self, id: &SessionId, signal: &SignalName) -> Result<(), SendError> {
        let slot = self.slot(id)?;
        self.arrived(&slot).await?;
        let promise = self.raise(&slot, signal)?;
        self.kept(&slot, promise).await
    }

    /// Stops what a session is doing; it stays waiting where it is. Who waits for the turn gets [`SendError::Stopped`].
    ///
    /// # Errors
    /// There is no such session.
    pub fn pause(&self, id: &SessionId) -> Result<(), SendError> {
        self.slot(id)?.pause();
        Ok(())
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
        let mut current = self.current.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *current = Current { engine, bindings: Arc::new(bindings), version: current.version + 1 };
        Ok(())
    }

    /// Takes a session out.
    pub fn close(&self, id: &SessionId) -> Option<Session> {
        let slot = self.slots.locked().remove(id)?;
        slot.session()
    }

    /// Shows a session that has begun; nothing where there is none.
    pub fn look<T>(&self, id: &SessionId, look: impl FnOnce(&Session) -> T) -> Option<T> {
        let slot = self.slot(id).ok()?;
        let place = slot.place.locked();
        place.running().map(|running| look(&running.session))
    }

    /// The time until `due`, in milliseconds since 1970.
    pub fn until(&self, due: u64) -> Duration {
        Duration::from_millis(due.saturating_sub(self.clock.now()))
    }

    /// The place of a session: one that is not in memory may be in the store.
    fn slot(&self, id: &SessionId) -> Result<Arc<Slot>, SendError> {
        let mut slots = self.slots.locked();
        if let Some(slot) = slots.get(id) {
            return Ok(Arc::clone(slot));
        }
        if self.keeping.is_none() || check_name(id.as_str()).is_err() {
            return Err(SendError::Unknown(id.clone()));
        }
        let slot = Arc::new(Slot::new(id.clone(), Place::Away));
        slots.insert(id.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Forgets a session that the store has, unless somebody goes on with it: it is loaded when it is needed.
    pub fn release(&self, id: &SessionId) {
        let mut slots = self.slots.locked();
        let Some(slot) = slots.get(id).filter(|_| self.keeping.is_some()) else { return };
        let Ok(_driving) = slot.driving.try_lock() else { return };
        let is_stored = match &*slot.place.locked() {
            Place::Running(running) => running.is_stored && !running.is_ahead && running.session.journal().records().is_empty(),
            Place::Away | Place::Gone => true,
            Place::Beginning(_) => false,
        };
        if is_stored && Arc::strong_count(slot) == 1 {
            drop(_driving);
            slots.remove(id);
        }
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn tell(&self, slot: &Slot, happening: &Happening) {
        for observe in self.observers.read().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            observe(&slot.id, happening);
        }
    }

    /// What the interceptors say to a call: the first that does not allow it decides.
    fn verdict(&self, call: &trellis_core::engine::Call) -> Verdict {
        let verdicts = self.interceptors.iter().map(|interceptor| interceptor.intercept(call));
        verdicts.into_iter().find(|verdict| !matches!(verdict, Verdict::Allow)).unwrap_or(Verdict::Allow)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("policy", &self.policy).field("sessions", &self.slots.locked().len()).finish_non_exhaustive()
    }
}
