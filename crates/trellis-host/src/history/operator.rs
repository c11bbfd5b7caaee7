//! Operations on stored sessions: each is one more record.
//!
//! **Invariant:** nothing is overwritten: a record is appended where the session was read, or not at all.

use std::sync::Arc;

use trellis_core::{
    Engine, Event, Mapping, NodeId, SessionId, Start, State, Value,
    engine::{Step, View},
    path::KeyPath,
    program::Program,
    schema::Schema,
    scope::RESERVED,
    state::Status,
};

use super::{
    History, HistoryError,
    read::{state_at, stored},
};
use crate::{
    journal::{Clock, Destination, Entry, Origin, Record, RequestKey, TypedSecrets, asks_at, asks_for_secrets, draw_seed},
    session::{Fitted, left_alone},
    store::{Append, Head, SessionStatus, SessionStore, Snapshot, Stored, check_name},
};

/// Moves stored sessions.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use std::sync::Arc;
///
/// use trellis_core::{Input, Start};
/// use trellis_host::{Bindings, Clock, Sessions, history::Operator, store::MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let store = Arc::new(MemoryStore::new());
/// let sessions = Sessions::new(engine.clone(), Bindings::none())?.store(store.clone(), "hello");
/// let asked = sessions.start(Start::default()).await?;
/// sessions.send(&asked.session, asked.answer(Input::Text("Ana".into()))).await?;
///
/// // A second session that is asked for the name again; the first stays at its end.
/// let operator = Operator::new(&*store, &engine, "hello", Clock::system());
/// let fork = operator.fork(&asked.session, Some(0), &"another".into()).await?;
/// assert_eq!(fork.state.current_node_id.as_str(), "start");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Operator<'s> {
    pub(super) store: &'s dyn SessionStore,
    pub(super) engine: &'s Engine,
    graph: &'s str,
    pub(super) clock: Clock,
    pub(super) request: Option<RequestKey>,
    is_rehearsal: bool,
}

/// The new place of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Put {
    /// The session.
    pub session: SessionId,
    /// The number of the record.
    pub seq: u64,
    /// Its node before; `None` for a new one.
    pub from: Option<NodeId>,
    /// Its new state.
    pub state: State,
}

impl<'s> Operator<'s> {
    /// An operator of the sessions that a store has of `graph`, which is as `engine` has it.
    pub fn new(store: &'s dyn SessionStore, engine: &'s Engine, graph: &'s str, clock: Clock) -> Self {
        Self { store, engine, graph, clock, request: None, is_rehearsal: false }
    }

    /// Sets the request, which is stored with the records that it makes.
    #[must_use]
    pub fn request(self, request: RequestKey) -> Self {
        Self { request: Some(request), ..self }
    }

    /// Returns an operator that checks everything, reports the result, and writes nothing.
    #[must_use]
    pub fn rehearsal(self) -> Self {
        Self { is_rehearsal: true, ..self }
    }

    /// Returns the request of this name and author that a session took, if it is among those that it remembers.
    ///
    /// # Errors
    /// There is no such session, or it cannot be read.
    pub async fn taken(&self, id: &SessionId, request: &RequestKey) -> Result<Option<RequestKey>, HistoryError> {
        Ok(Snapshot::of(&self.stored(id).await?)?.requests.find(request).cloned())
    }

    /// A session of this graph.
    pub(super) async fn stored(&self, id: &SessionId) -> Result<Stored, HistoryError> {
        let stored = stored(self.store, id).await?;
        if *stored.head.graph != *self.graph {
            return Err(HistoryError::OtherGraph { session: id.clone(), graph: stored.head.graph, here: self.graph.into() });
        }
        Ok(stored)
    }

    /// Returns the current place of a session.
    fn here(&self, stored: &Stored) -> Result<Snapshot, HistoryError> {
        Ok(Snapshot::asked_by(self.engine.inspect(), stored)?)
    }

    /// Returns the typed secrets of a session that the state after record `seq` may contain.
    async fn typed_by(&self, stored: &Stored, seq: u64) -> Result<TypedSecrets, HistoryError> {
        let (program, id) = (self.engine.inspect(), &stored.head.session);
        let last = History::since(self.store, id, stored.head.next).await?;
        let has_none = last.snapshot.is_none() || last.typed == TypedSecrets::default();
        if has_none && !asks_for_secrets(program) {
            return Ok(TypedSecrets::default());
        }
        Ok(History::open(self.store, id).await?.typed_by(seq, |node| asks_at(program, node)))
    }

    /// Creates a session from the state of another one after a record, by default its last one. The other is unchanged. The new one has no effects
    /// to undo; a pending call is made again, under a key of its own.
    ///
    /// # Errors
    /// There is no such session or record, a session has the new name, or no session can be at that place.
    pub async fn fork(&self, id: &SessionId, at: Option<u64>, new: &SessionId) -> Result<Put, HistoryError> {
        check_name(new.as_str())?;
        let stored = self.stored(id).await?;
        let seq = at.unwrap_or_else(|| stored.head.next.saturating_sub(1));
        let then = state_at(self.store, &stored, seq).await?;
        let Step { state, events, .. } = self.engine.fork(then, new.clone(), Some(draw_seed()?))?;
        let start = Start {
            session: Some(new.clone()),
            context: Mapping::new(),
            locale: state.locale.clone(),
            at: Some(state.current_node_id.clone()),
            seed: state.seed.clone(),
        };
        let typed = self.typed_by(&stored, seq).await?.held_in(&json(&state)).settled();
        let origin = Some(Origin { session: id.clone(), seq, typed: typed.clone() });
        let entry = Entry::Start { start: Box::new(start), state: Box::new(state.clone()), origin, caller: None };
        let here = Snapshot { typed, ..Snapshot::beginning(state, self.clock.now()) };
        let put = self.append(Target { session: new.clone(), graph: stored.head.graph, next: 0 }, here, entry, None, events).await;
        put.map_err(|error| match error {
            HistoryError::Conflict(session) => HistoryError::Exists(session),
            error => error,
        })
    }

    /// Returns a session to its state after a record, with the context of then. Its later effects on the world stay known, so that a rollback
    /// undoes them.
    ///
    /// # Errors
    /// There is no such session or record, or no session can be at that place.
    pub async fn back(&self, id: &SessionId, to: u64) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = self.here(&stored)?;
        left_alone(self.engine, &mut now);
        let then = state_at(self.store, &stored, to).await?;
        // The session may have dropped values since that it had then.
        now.typed.join(&self.typed_by(&stored, to).await?);
        let step = self.engine.back(&now.state, then)?;
        self.put(stored.head, now, step, |state| Entry::Move { to: Destination::Back(to), state }).await
    }

    /// Moves a session into a node, with the context that it has.
    ///
    /// # Errors
    /// There is no such session or node, keys are missing that are certainly needed from there on, or it cannot be entered.
    pub async fn goto(&self, id: &SessionId, node: &NodeId) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = self.here(&stored)?;
        left_alone(self.engine, &mut now);
        let step = self.engine.enter(now.state.clone(), node)?;
        let node = step.state.current_node_id.clone();
        self.put(stored.head, now, step, |state| Entry::Move { to: Destination::Node(node), state }).await
    }

    /// Sets keys of a session's context. A pending call keeps its arguments.
    ///
    /// # Errors
    /// There is no such session, or a key is reserved, is no place in the context, or cannot have that value.
    pub async fn set(&self, id: &SessionId, assignments: &[(KeyPath, Value)]) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = self.here(&stored)?;
        let keys = keys(self.engine.inspect(), &now.state, assignments)?;
        let asked = self.question(&now);
        now.state.context.extend(&keys);
        let still_asked = asked.is_some() && asked == self.question(&now);
        now.at = now.at.max(self.clock.now());
        let from = Some(now.state.current_node_id.clone());
        // New values do not change the time at which it is due.
        let due = stored.head.due;
        let record = Record { still_asked, ..record(stored.head.next, &now, Entry::Context { keys }, from.clone(), Vec::new()) };
        let target = Target { session: id.clone(), graph: stored.head.graph, next: stored.head.next };
        self.write(target, now, vec![record], due, false, from).await
    }

    /// Returns the view of a session; `None` if it asks for something that its node does not.
    fn question(&self, here: &Snapshot) -> Option<View> {
        self.engine.render(&here.state).ok().filter(|_| here.blocked.is_none())
    }

    /// Lets a session continue at the place to which the current graph moved it.
    pub(super) async fn reload(&self, stored: &Stored, mut now: Snapshot, fitted: Fitted) -> Result<Put, HistoryError> {
        let Fitted { state, children, .. } = fitted;
        now.children.retain(|child, _| children.contains_key(child));
        for (child, fitted) in &children {
            if let Some(child) = now.children.get_mut(child) {
                child.here.step(now.at.max(self.clock.now()), fitted.state.clone());
            }
        }
        self.put(stored.head.clone(), now, Step::new(state), |state| Entry::Reload { state, children }).await
    }

    /// Begins an epoch of an existing session.
    async fn put(&self, head: Head, mut now: Snapshot, step: Step, entry: impl FnOnce(Box<State>) -> Entry) -> Result<Put, HistoryError> {
        let from = now.state.current_node_id.clone();
        let at = now.at.max(self.clock.now());
        let left = now.left_unasked(None, &step.state, at, |_| false);
        now.unasked.extend(left);
        now.step(at, step.state);
        let entry = entry(Box::new(now.state.clone()));
        let target = Target { session: head.session, graph: head.graph, next: head.next };
        self.append(target, now, entry, Some(from), step.events).await
    }

    /// Appends a record that opens an epoch and, if the session ended by it, how.
    async fn append(
        &self,
        target: Target,
        here: Snapshot,
        entry: Entry,
        from: Option<NodeId>,
        events: Vec<Event>,
    ) -> Result<Put, HistoryError> {
        // A record that opens an epoch has all that is known.
        let unasked = here.unasked.iter().cloned().collect();
        let mut records = vec![Record { unasked, ..record(target.next, &here, entry, from.clone(), events) }];
        if let Some(ended) = here.state.ended.clone() {
            let node = Some(here.state.current_node_id.clone());
            records.push(record(target.next + 1, &here, Entry::End { ended }, node, Vec::new()));
        }
        let due = due(self.engine, &here);
        self.write(target, here, records, due, true, from).await
    }

    /// Appends records.
    pub(super) async fn write(
        &self,
        target: Target,
        here: Snapshot,
        records: Vec<Record>,
        due: Option<u64>,
        is_epoch: bool,
        from: Option<NodeId>,
    ) -> Result<Put, HistoryError> {
        let Target { session, graph, next } = target;
        let (mut here, mut records) = (here, records);
        if let Some(record) = records.first_mut() {
            record.request = self.request.as_ref().map(|request| request.of(record));
            here.requests.remember(record.request.as_ref());
        }
        records.iter().for_each(|record| here.ask_by(record));
        let head = Head {
            session: session.clone(),
            graph,
            program: Arc::clone(&here.state.program),
            next: next + records.len() as u64,
            began: here.began,
            at: here.at,
            node: here.state.current_node_id.clone(),
            standing: SessionStatus::of(&here.state),
            due,
        };
        let records = records.iter().map(|record| json(record).into()).collect();
        let snapshot = is_epoch.then(|| here.to_json());
        if !self.is_rehearsal {
            self.store.append(Append { session: session.clone(), expected: next, records, head, snapshot }).await?;
        }
        Ok(Put { session, seq: next, from, state: here.state })
    }
}

/// The destination of a record.
pub(super) struct Target {
    pub(super) session: SessionId,
    pub(super) graph: Arc<str>,
    pub(super) next: u64,
}

pub(super) fn record(seq: u64, here: &Snapshot, entry: Entry, from: Option<NodeId>, events: Vec<Event>) -> Record {
    let (to, program) = (here.state.current_node_id.clone(), Arc::clone(&here.state.program));
    let changes = Box::default();
    let unasked = Vec::new();
    Record {
        seq,
        at: here.at,
        child: None,
        entry,
        from,
        to,
        events,
        program,
        changes,
        still_asked: false,
        question: None,
        request: None,
        unasked,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("a record is JSON: {error}"))
}

/// Returns the time at which a session is due. Whether a binding carries its call out shows when it is resumed.
pub(super) fn due(engine: &Engine, here: &Snapshot) -> Option<u64> {
    match here.state.status {
        Status::Terminated => None,
        Status::WaitingForInput => match engine.render(&here.state).ok()?.next {
            trellis_core::Next::Ask(request) => {
                request.timeout.map(|timeout| here.entered_at.saturating_add(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
            }
            _ => None,
        },
        // Since before: whoever drives sessions may work on it at once.
        Status::Active | Status::WaitingForTool | Status::RollingBack => Some(here.at.saturating_sub(1)),
    }
}

/// Returns the whole keys that assignments make of a context: dotted paths are written into the present values.
fn keys(program: &Program, state: &State, assignments: &[(KeyPath, Value)]) -> Result<Mapping, HistoryError> {
    let mut context = state.context.clone();
    for (at, (path, value)) in assignments.iter().enumerate() {
        let within = |one: &KeyPath, other: &KeyPath| one.segments().starts_with(other.segments());
        if let Some((other, _)) = assignments[..at].iter().find(|(other, _)| within(path, other) || within(other, path)) {
            let both = if other == path { format!("`{path}` is set twice") } else { format!("`{other}` and `{path}` set the same key") };
            return Err(HistoryError::Key(format!("{both}: only one of them can hold")));
        }
        if RESERVED.contains(&&**path.root()) {
            return Err(HistoryError::Key(format!("the context cannot hold `{}`: it is a reserved name", path.root())));
        }
        let written = context.write(path, value.clone());
        written.map_err(|_| HistoryError::Key(format!("`{path}` cannot be set: something before its last dot is no mapping")))?;
    }
    let keys: Mapping = assignments.iter().filter_map(|(path, _)| Some((path.root().clone(), context.get(path.root())?.clone()))).collect();
    let given = assignments.iter().map(|(path, value)| (path.to_string(), value.clone())).collect();
    program.limits().admit_keys(&state.context, &given, &keys).map_err(|excess| HistoryError::Key(excess.to_string()))?;
    for (key, value) in keys.iter() {
        for (schema, whose) in declared(program, state, key) {
            if !schema.fits(value) {
                let whole = format!("`{key}` ");
                let sentence = |about: String| about.strip_prefix(&whole).map_or_else(|| about.clone(), |rest| format!("it {rest}"));
                let breaches: Vec<_> = schema.breaches(value).iter().map(|breach| sentence(breach.about(key))).collect();
                let is_redacted = program.redacted().any(|path| *path.root() == *key);
                let value = if is_redacted { "that".to_owned() } else { value.to_json() };
                return Err(HistoryError::Key(format!("`{key}` cannot be {value}: {} ({whose})", breaches.join("; "))));
            }
        }
    }
    Ok(keys)
}

/// Returns the declarations of a key: by the graph, and by the session's node.
fn declared<'p>(program: &'p Program, state: &State, key: &str) -> Vec<(&'p Schema, String)> {
    let node = program.find(&state.current_node_id).or_else(|| program.find_renamed(&state.current_node_id)).map(|at| program.node(at));
    let graph = node.map_or(program.root(), |node| program.graph_of(node));
    let by_graph =
        graph.types.iter().filter(|(known, _)| **known == *key).map(|(_, schema)| (schema, "`context` of `trellis.yaml`".to_owned()));
    let types = node.into_iter().flat_map(|node| node.entry.types.iter().map(move |types| (types, node)));
    let by_node =
        types.filter(|((known, _), _)| **known == *key).map(|((_, schema), node)| (schema, format!("`context_schema` of `{}`", node.id)));
    by_graph.chain(by_node).collect()
}
