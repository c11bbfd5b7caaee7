//! What an operator does to stored sessions: each of it one more record.
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
    HistoryError,
    read::{state_at, stored},
};
use crate::{
    journal::{Clock, Destination, Entry, Origin, Record, RequestKey},
    session::{Fitted, left_alone},
    store::{Append, Head, SessionStatus, SessionStore, Snapshot, Stored, check_name},
};

/// Puts stored sessions elsewhere.
#[derive(Debug)]
pub struct Operator<'s> {
    pub(super) store: &'s dyn SessionStore,
    pub(super) engine: &'s Engine,
    graph: &'s str,
    pub(super) clock: Clock,
    request: Option<RequestKey>,
}

/// Where a session stands now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Put {
    /// The session.
    pub session: SessionId,
    /// The record that says so.
    pub seq: u64,
    /// Where it stood before; nothing for a new one.
    pub from: Option<NodeId>,
    /// Where it stands.
    pub state: State,
}

impl<'s> Operator<'s> {
    /// An operator of the sessions that a store has of `graph`, which is as `engine` has it.
    pub fn new(store: &'s dyn SessionStore, engine: &'s Engine, graph: &'s str, clock: Clock) -> Self {
        Self { store, engine, graph, clock, request: None }
    }

    /// The same for a request, which is noted with the records that it makes.
    #[must_use]
    pub fn request(self, request: RequestKey) -> Self {
        Self { request: Some(request), ..self }
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

    /// A new session from where another one was after a record, its last one if none is named. The other stays as it is. The new one has no effects
    /// to undo; a call that was pending is made anew, under a key of its own.
    ///
    /// # Errors
    /// There is no such session or record, there is one of the new name, or nothing can stand there.
    pub async fn fork(&self, id: &SessionId, at: Option<u64>, new: &SessionId) -> Result<Put, HistoryError> {
        check_name(new.as_str())?;
        let stored = self.stored(id).await?;
        let seq = at.unwrap_or_else(|| stored.head.next.saturating_sub(1));
        let then = state_at(self.store, &stored, seq).await?;
        let Step { state, events, .. } = self.engine.fork(then, new.clone())?;
        let start = Start {
            session: Some(new.clone()),
            context: Mapping::new(),
            locale: state.locale.clone(),
            at: Some(state.current_node_id.clone()),
        };
        let origin = Some(Origin { session: id.clone(), seq });
        let entry = Entry::Start { start: Box::new(start), state: Box::new(state.clone()), origin, caller: None };
        let here = Snapshot::beginning(state, self.clock.now());
        let put = self.append(Target { session: new.clone(), graph: stored.head.graph, next: 0 }, here, entry, None, events).await;
        put.map_err(|error| match error {
            HistoryError::Conflict(session) => HistoryError::Exists(session),
            error => error,
        })
    }

    /// Puts a session back to where it was after a record, with the context of then. What it did in the world since stays known, so that a rollback
    /// undoes it.
    ///
    /// # Errors
    /// There is no such session or record, or nothing can stand there.
    pub async fn back(&self, id: &SessionId, to: u64) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = Snapshot::of(&stored)?;
        left_alone(self.engine, &mut now);
        let then = state_at(self.store, &stored, to).await?;
        let step = self.engine.back(&now.state, then)?;
        self.put(stored.head, now, step, |state| Entry::Move { to: Destination::Back(to), state }).await
    }

    /// Puts a session into a node, with the context that it has.
    ///
    /// # Errors
    /// There is no such session or node, keys are missing that are certainly needed from there on, or it cannot be entered.
    pub async fn goto(&self, id: &SessionId, node: &NodeId) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = Snapshot::of(&stored)?;
        left_alone(self.engine, &mut now);
        let step = self.engine.enter(now.state.clone(), node)?;
        let node = step.state.current_node_id.clone();
        self.put(stored.head, now, step, |state| Entry::Move { to: Destination::Node(node), state }).await
    }

    /// Sets keys of a session's context. A call that is pending keeps its arguments.
    ///
    /// # Errors
    /// There is no such session, or a key is reserved, is no place in the context, or cannot have that value.
    pub async fn set(&self, id: &SessionId, assignments: &[(KeyPath, Value)]) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = Snapshot::of(&stored)?;
        let keys = keys(self.engine.inspect(), &now.state, assignments)?;
        let asked = self.question(&now);
        now.state.context.extend(&keys);
        let still_asked = asked.is_some() && asked == self.question(&now);
        now.at = now.at.max(self.clock.now());
        let from = Some(now.state.current_node_id.clone());
        // When it goes on by itself is not changed by what it knows.
        let due = stored.head.due;
        let record = Record { still_asked, ..record(stored.head.next, &now, Entry::Context { keys }, from.clone(), Vec::new()) };
        let target = Target { session: id.clone(), graph: stored.head.graph, next: stored.head.next };
        self.write(target, now, vec![record], due, false, from).await
    }

    /// What a session says and asks; nothing where it asks for something that its node does not.
    fn question(&self, here: &Snapshot) -> Option<View> {
        self.engine.render(&here.state).ok().filter(|_| here.blocked.is_none())
    }

    /// Lets a session go on where the graph as it is now has put it.
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

    /// Begins an epoch of a session that is there.
    async fn put(&self, head: Head, mut now: Snapshot, step: Step, entry: impl FnOnce(Box<State>) -> Entry) -> Result<Put, HistoryError> {
        let from = now.state.current_node_id.clone();
        now.step(now.at.max(self.clock.now()), step.state);
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
        let mut records = vec![record(target.next, &here, entry, from.clone(), events)];
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
            record.request.clone_from(&self.request);
        }
        here.requests.remember(self.request.as_ref());
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
        let snapshot = is_epoch.then(|| json(&here).into());
        self.store.append(Append { session: session.clone(), expected: next, records, head, snapshot }).await?;
        Ok(Put { session, seq: next, from, state: here.state })
    }
}

/// Where a record goes.
pub(super) struct Target {
    pub(super) session: SessionId,
    pub(super) graph: Arc<str>,
    pub(super) next: u64,
}

fn record(seq: u64, here: &Snapshot, entry: Entry, from: Option<NodeId>, events: Vec<Event>) -> Record {
    let (to, program) = (here.state.current_node_id.clone(), Arc::clone(&here.state.program));
    let changes = Box::default();
    Record { seq, at: here.at, child: None, entry, from, to, events, program, changes, still_asked: false, question: None, request: None }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("a record is JSON: {error}"))
}

/// When a session goes on by itself. Whether something carries its call out is found when it is resumed.
pub(super) fn due(engine: &Engine, here: &Snapshot) -> Option<u64> {
    match here.state.status {
        Status::Terminated => None,
        Status::WaitingForInput => match engine.render(&here.state).ok()?.next {
            trellis_core::Next::Ask(request) => {
                request.timeout.map(|timeout| here.entered_at.saturating_add(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
            }
            _ => None,
        },
        Status::Active | Status::WaitingForTool | Status::RollingBack => Some(here.at),
    }
}

/// The keys that assignments make of a context, whole: dotted places are written into what is there.
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

/// What is declared of a key: by the graph, and by the node where the session stands.
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
