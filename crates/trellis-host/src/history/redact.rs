//! What nobody sees who looks at a session: keys that the graph names in `redact`, what was typed where it asks for a secret, and every copy of these.
//!
//! Stores that redact never had most of it. What is hidden here was stored before a key was named, or is an answer to `input_type: secret`, which a
//! session needs. Without its graph nothing tells what of a session is secret: then no value of it is shown.
//!
//! **Invariant:** what cannot be told from a secret counts as one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Serialize, de::DeserializeOwned};
use trellis_core::{
    Document, Input, Mapping, NodeId, State, Value,
    path::{KeyPath, walk},
    state::ListAppend,
    syntax::{document::Content, node::InputType},
};

use super::{Flaw, History};
use crate::{
    journal::{Entry, Record},
    store::{MIN_SEARCHED_BYTES, Place, appended_path, put_at, redacted_by, visit},
};

/// What stands for what is not shown.
const HIDDEN: &str = "***";

/// Hides what is secret in one session.
#[derive(Debug)]
pub struct Redactor {
    /// What the graph says; without it, every value is hidden.
    graph: Option<Graph>,
    /// Secrets as they are and as they stand in JSON, the longest first.
    known: Vec<Arc<str>>,
    short: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
struct Graph {
    paths: Vec<KeyPath>,
    /// Whether each node asks for a secret.
    asks: BTreeMap<NodeId, bool>,
}

impl Redactor {
    /// For sessions of the graph that these are the files of, sound or not; without it, no value is shown.
    pub fn new(documents: Option<&[Arc<Document>]>) -> Self {
        Self { graph: documents.map(Graph::of), known: Vec::new(), short: BTreeSet::new() }
    }

    /// Whether no value is shown, since nothing tells what is secret.
    pub fn is_blind(&self) -> bool {
        self.graph.is_none()
    }

    /// Whether a session of the graph can hold anything that is not shown.
    pub fn is_needed(&self) -> bool {
        self.graph.as_ref().is_none_or(|graph| !graph.paths.is_empty() || graph.asks.values().any(|asks| *asks))
    }

    /// Gets to know the secrets of a history.
    pub fn learn(&mut self, history: &History) {
        let Some(graph) = self.graph.take() else { return };
        for record in &history.records {
            self.learn_input(&graph, record);
            if graph.paths.is_empty() {
                continue;
            }
            match &record.entry {
                Entry::Start { start, .. } => self.learn_context(&graph, &start.context),
                Entry::Context { keys } => self.learn_context(&graph, keys),
                _ => {}
            }
            self.learn_context(&graph, &record.changes.context);
            for (list, appended) in &record.changes.appended {
                self.learn_appended(&graph, list, appended);
            }
            if let Some(state) = record.entry.epoch() {
                self.learn_context(&graph, &state.context.to_mapping());
            }
            if let Entry::Reload { children, .. } = &record.entry {
                children.values().for_each(|child| self.learn_context(&graph, &child.state.context.to_mapping()));
            }
        }
        if let Some((_, state)) = history.snapshot.as_ref().filter(|_| !graph.paths.is_empty()) {
            self.learn_context(&graph, &state.context.to_mapping());
        }
        // One may be a part of another.
        self.known.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self.known.dedup();
        self.graph = Some(graph);
    }

    fn learn_input(&mut self, graph: &Graph, record: &Record) {
        let Entry::Input { input } = &record.entry else { return };
        let is_secret = record.from.as_ref().is_none_or(|node| graph.asks.get(node).copied().unwrap_or(true));
        match input {
            Input::Text(text) if is_secret => self.add(&Value::from(text.trim())),
            Input::Value(value) if is_secret => self.add(value),
            _ => {}
        }
    }

    fn learn_context(&mut self, graph: &Graph, context: &Mapping) {
        for path in &graph.paths {
            if let Some(value) = context.get(path.root()).and_then(|value| walk(value, path.rest())) {
                self.add(value);
            }
        }
    }

    fn learn_appended(&mut self, graph: &Graph, list: &KeyPath, appended: &ListAppend) {
        let Some(items) = &appended.items else { return };
        let entry = Mapping::from_iter([("items", items.clone())]);
        for path in graph.paths.iter().filter_map(|path| appended_path(path, list, appended.at)) {
            if let Some(value) = entry.get(path.root()).and_then(|value| walk(value, path.rest())) {
                self.add(value);
            }
        }
    }

    fn add(&mut self, value: &Value) {
        let text: Arc<str> = match value {
            Value::Map(entries) => return entries.iter().for_each(|(_, value)| self.add(value)),
            Value::List(items) => return items.iter().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) => return,
            Value::Text(text) => Arc::clone(text),
            number => number.to_json().into(),
        };
        if text.is_empty() || *text == *HIDDEN {
            return;
        }
        if text.len() < MIN_SEARCHED_BYTES {
            self.short.insert(text);
            return;
        }
        let json = Value::Text(Arc::clone(&text)).to_json();
        let escaped = &json[1..json.len() - 1];
        if *escaped != *text {
            self.known.push(escaped.into());
        }
        self.known.push(text);
    }

    /// Hides what is secret in a history, and in everything that is told from it.
    pub fn hide(&mut self, history: &mut History) {
        self.learn(history);
        if !self.hides() {
            return;
        }
        let mut gone = Vec::new();
        history.records.retain_mut(|record| match self.hidden(record) {
            Some(hidden) => {
                *record = hidden;
                true
            }
            None => {
                gone.push(Flaw { seq: record.seq, until: record.seq + 1, why: "it is not shown".into(), is_pruned: false });
                false
            }
        });
        history.snapshot = history.snapshot.take().and_then(|(next, state)| Some((next, self.state(&state)?)));
        for flaw in &mut history.flaws {
            flaw.why = self.text(&flaw.why).into();
        }
        history.flaws.extend(gone);
        history.flaws.sort_by_key(|flaw| flaw.seq);
    }

    /// Whether there is anything to hide.
    fn hides(&self) -> bool {
        self.graph.as_ref().is_none_or(|graph| !graph.paths.is_empty()) || !self.known.is_empty() || !self.short.is_empty()
    }

    /// Arguments without what is secret.
    pub fn args(&self, args: Mapping) -> Mapping {
        let mut args = Value::Map(args);
        self.take_out(&mut args);
        match args {
            Value::Map(args) => args,
            _ => Mapping::new(),
        }
    }

    /// Hides what is secret in a value, wherever it stands there.
    pub fn value(&self, value: &mut Value) {
        if self.hides() {
            self.take_out(value);
        }
    }

    /// A text without what is secret.
    pub fn text(&self, text: &str) -> String {
        if self.is_blind() {
            return "it is not shown without its graph".to_owned();
        }
        self.within(text)
    }

    /// A state without what is secret; nothing where that cannot be told.
    pub fn state(&self, state: &State) -> Option<State> {
        if !self.hides() {
            return Some(state.clone());
        }
        #[derive(Serialize, serde::Deserialize)]
        struct Whole {
            state: State,
        }
        Some(self.hidden(&Whole { state: state.clone() })?.state)
    }

    /// The same, with nothing secret in it; nothing where it cannot be told.
    fn hidden<T: Serialize + DeserializeOwned>(&self, whole: &T) -> Option<T> {
        let mut value = Value::from_json(&serde_json::to_string(whole).ok()?).ok()?;
        visit(&mut value, &mut |place| match (place, &self.graph) {
            (Place::Context(context), Some(graph)) => graph.paths.iter().for_each(|path| put_at(context, path, HIDDEN.into())),
            (Place::Appended { list, at, entry }, Some(graph)) => {
                let paths = graph.paths.iter().filter_map(|path| appended_path(path, &list, at));
                paths.for_each(|path| put_at(entry, &path, HIDDEN.into()));
            }
            (Place::Context(_) | Place::Appended { .. }, None) => {}
            (Place::Key(value) | Place::Data(value), _) => self.take_out(value),
        });
        serde_json::from_str(&value.to_json()).ok()
    }

    /// Takes out what is secret, wherever it stands in a value.
    fn take_out(&self, value: &mut Value) {
        match value {
            Value::Null => {}
            Value::List(items) => items.iter_mut().for_each(|item| self.take_out(item)),
            Value::Map(entries) => {
                let taken = std::mem::take(entries);
                let hidden = taken.iter().map(|(key, value)| {
                    let mut value = value.clone();
                    self.take_out(&mut value);
                    let key = if self.is_blind() { Arc::clone(key) } else { self.within(key).into() };
                    (key, value)
                });
                *entries = hidden.collect();
            }
            other if self.is_blind() => *other = HIDDEN.into(),
            Value::Text(text) => {
                let hidden = self.within(text);
                if *hidden != **text {
                    *value = hidden.into();
                }
            }
            Value::Bool(_) => {}
            number => {
                let text = number.to_json();
                if self.within(&text) != text {
                    *number = HIDDEN.into();
                }
            }
        }
    }

    fn within(&self, text: &str) -> String {
        if self.short.contains(text) {
            return HIDDEN.to_owned();
        }
        self.known.iter().fold(text.to_owned(), |text, secret| text.replace(&**secret, HIDDEN))
    }
}

impl Graph {
    fn of(documents: &[Arc<Document>]) -> Self {
        let mut asks = BTreeMap::<_, bool>::new();
        for document in documents {
            let nodes = match &document.content {
                Content::Node(node) => std::slice::from_ref(&**node),
                Content::Nodes(nodes, _) => nodes,
                Content::Project(_) | Content::Library(_) | Content::Broken => continue,
            };
            for node in nodes {
                let by_path = || NodeId::new(document.path.rsplit_once('.').map_or(&*document.path, |(stem, _)| stem));
                let id = node.id.as_ref().map_or_else(by_path, |id| id.value.clone());
                let is_secret = node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Secret);
                for name in node.was.iter().map(|was| was.value.clone()).chain([id]) {
                    *asks.entry(name).or_default() |= is_secret;
                }
            }
        }
        Self { paths: redacted_by(documents), asks }
    }
}
