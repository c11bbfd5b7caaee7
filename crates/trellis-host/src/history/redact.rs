//! Redaction of sessions that are looked at: keys that the graph names in `redact`, texts typed where it asks for a secret, and every copy of these.
//!
//! Stores that redact never had most of these values. A value hidden here was stored before a key was named, or is an answer to `input_type:
//! secret`, which a session needs. Without its graph it is unknown which values of a session are secret: then none is shown.
//!
//! **Invariant:** a value that may be a secret counts as one.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use trellis_core::{Document, Mapping, State, Value, path::KeyPath, path::walk, state::ListAppend};

use super::{Flaw, History, SecretPlaces, read::typed_in};
use crate::{
    journal::{Entry, LeftOut, Record, leaves},
    session::Session,
    store::{MIN_SEARCHED_BYTES, Place, appended_path, put_at, visit},
};

/// The mark in place of a hidden value.
const HIDDEN: &str = "***";

/// Hides the secrets of one session.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// The secret places of the graph; without them, every value is hidden.
    places: Option<Arc<SecretPlaces>>,
    /// Secrets verbatim and as JSON writes them, the longest first.
    known: Vec<Arc<str>>,
    short: BTreeSet<Arc<str>>,
    /// True if unknown secrets may have been typed: then no value of a record or a state is shown.
    is_unsure: bool,
    /// The first record behind those that may have an unknown secret.
    blind_before: u64,
}

impl Redactor {
    /// For sessions of the graph that these are the files of, sound or not; without it, no value is shown.
    pub fn new(documents: Option<&[Arc<Document>]>) -> Self {
        Self::of(documents.and_then(SecretPlaces::of).map(Arc::new))
    }

    /// For sessions of the graph that has secrets there; without it, no value is shown.
    pub fn of(places: Option<Arc<SecretPlaces>>) -> Self {
        Self { places, known: Vec::new(), short: BTreeSet::new(), is_unsure: false, blind_before: 0 }
    }

    /// Returns whether no value is shown, since it is unknown which are secret.
    pub fn is_blind(&self) -> bool {
        self.places.is_none()
    }

    /// Returns whether a session of the graph can have a hidden value.
    pub fn is_needed(&self) -> bool {
        self.places.as_ref().is_none_or(|places| places.is_any())
    }

    /// Returns whether record `seq` may have unknown secrets: some were typed in records that are gone.
    pub fn is_unsure_of(&self, seq: u64) -> bool {
        self.is_unsure || seq < self.blind_before
    }

    /// Gets to know the secrets of a history.
    pub fn learn(&mut self, history: &History) {
        let Some(places) = self.places.clone() else { return };
        let typed = history.typed(|node| places.asks_at(node));
        typed.texts().for_each(|text| self.add(Arc::clone(text)));
        match typed.left_out() {
            _ if !places.may_ask() => {}
            LeftOut::Nothing => {}
            LeftOut::Released => self.blind_before = history.snapshot.as_ref().map_or(0, |(next, _)| *next).max(self.blind_before),
            LeftOut::Unknown => self.is_unsure = true,
        }
        // The paths that answers are saved to have them most of the time.
        let saved = places.saved().iter().filter(|_| self.is_unsure);
        let paths: Vec<&KeyPath> = places.redacted().iter().chain(saved).collect();
        if !paths.is_empty() {
            self.learn_contexts(&paths, &history.records);
            if let Some((_, state)) = &history.snapshot {
                self.learn_context(&paths, &state.context.to_mapping());
            }
        }
        self.sort();
    }

    /// Learns the secrets of records as they are made: values that a graph redacts are in no history.
    pub fn learn_records(&mut self, records: &[Record]) {
        let Some(places) = self.places.clone() else { return };
        typed_in(records, |node| places.asks_at(node)).texts().for_each(|text| self.add(Arc::clone(text)));
        let paths: Vec<&KeyPath> = places.redacted().iter().collect();
        self.learn_contexts(&paths, records);
        self.sort();
    }

    /// Gets to know the secrets that a session in memory holds, with its children.
    pub fn learn_session(&mut self, session: &Session) {
        let Some(places) = self.places.clone() else { return };
        let here = session.here();
        for state in here.children.values().map(|child| &child.here.state).chain([&here.state]) {
            let found = |path: &KeyPath| walk(state.context.get(path.root())?, path.rest());
            places.redacted().iter().filter_map(found).for_each(|value| leaves(value, &mut |text| self.add(text)));
        }
        here.typed.texts().for_each(|text| self.add(Arc::clone(text)));
        self.learn_records(session.journal().records());
    }

    /// Returns whether it knows any secret.
    pub fn knows_any(&self) -> bool {
        !self.known.is_empty() || !self.short.is_empty()
    }

    /// Adds the secrets that another redactor of the session knows.
    pub fn join(&mut self, other: &Self) {
        self.known.extend(other.known.iter().cloned());
        self.short.extend(other.short.iter().cloned());
        (self.is_unsure, self.blind_before) = (self.is_unsure || other.is_unsure, self.blind_before.max(other.blind_before));
        self.sort();
    }

    /// One secret may be a part of another.
    fn sort(&mut self) {
        self.known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        self.known.dedup();
    }

    fn learn_contexts(&mut self, paths: &[&KeyPath], records: &[Record]) {
        for record in records {
            match &record.entry {
                Entry::Start { start, .. } => self.learn_context(paths, &start.context),
                Entry::Context { keys } => self.learn_context(paths, keys),
                _ => {}
            }
            self.learn_context(paths, &record.changes.context);
            for (list, appended) in &record.changes.appended {
                self.learn_appended(paths, list, appended);
            }
            if let Some(state) = record.entry.epoch() {
                self.learn_context(paths, &state.context.to_mapping());
            }
            if let Entry::Reload { children, .. } = &record.entry {
                children.values().for_each(|child| self.learn_context(paths, &child.state.context.to_mapping()));
            }
        }
    }

    fn learn_context(&mut self, paths: &[&KeyPath], context: &Mapping) {
        for path in paths {
            if let Some(value) = context.get(path.root()).and_then(|value| walk(value, path.rest())) {
                leaves(value, &mut |text| self.add(text));
            }
        }
    }

    fn learn_appended(&mut self, paths: &[&KeyPath], list: &KeyPath, appended: &ListAppend) {
        let Some(items) = &appended.items else { return };
        let entry = Mapping::from_iter([("items", items.clone())]);
        for path in paths.iter().filter_map(|path| appended_path(path, list, appended.at)) {
            if let Some(value) = entry.get(path.root()).and_then(|value| walk(value, path.rest())) {
                leaves(value, &mut |text| self.add(text));
            }
        }
    }

    fn add(&mut self, text: Arc<str>) {
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

    /// Hides the secrets in a history, and in all text made from it.
    pub fn hide(&mut self, history: &mut History) {
        self.learn(history);
        self.hide_known(history);
    }

    /// Hides the secrets in a history that was learned.
    pub fn hide_known(&self, history: &mut History) {
        if !self.hides() {
            return;
        }
        let mut gone = Vec::new();
        history.records.retain_mut(|record| match self.at(record.seq).hidden(record) {
            Some(hidden) => {
                *record = hidden;
                true
            }
            None => {
                gone.push(Flaw { seq: record.seq, until: record.seq + 1, why: "it is not shown".into(), is_pruned: false });
                false
            }
        });
        history.snapshot =
            history.snapshot.take().and_then(|(next, state)| Some((next, self.state_after(next.saturating_sub(1), &state)?)));
        for flaw in &mut history.flaws {
            flaw.why = self.text(&flaw.why).into();
        }
        history.flaws.extend(gone);
        history.flaws.sort_by_key(|flaw| flaw.seq);
    }

    /// Returns the redactor for record `seq`: if that may have unknown secrets, one that shows no value.
    #[must_use]
    pub fn at(&self, seq: u64) -> Cow<'_, Self> {
        if self.is_unsure_of(seq) { Cow::Owned(Self::of(None)) } else { Cow::Borrowed(self) }
    }

    /// Returns whether there is anything to hide.
    fn hides(&self) -> bool {
        let has_places = self.places.as_ref().is_none_or(|places| !places.redacted().is_empty());
        has_places || self.is_unsure || self.blind_before > 0 || self.knows_any()
    }

    /// Returns arguments without secrets.
    pub fn args(&self, args: Mapping) -> Mapping {
        let mut args = Value::Map(args);
        self.take_out(&mut args);
        match args {
            Value::Map(args) => args,
            _ => Mapping::new(),
        }
    }

    /// Hides the secrets in all parts of a value.
    pub fn value(&self, value: &mut Value) {
        if self.hides() {
            self.take_out(value);
        }
    }

    /// Returns a text without secrets.
    pub fn text(&self, text: &str) -> String {
        if self.is_blind() {
            return "it is not shown without its graph".to_owned();
        }
        self.within(text)
    }

    /// Returns the state after record `seq` without secrets; `None` if they cannot be removed.
    pub fn state_after(&self, seq: u64, state: &State) -> Option<State> {
        if !self.hides() {
            return Some(state.clone());
        }
        #[derive(Serialize, serde::Deserialize)]
        struct Whole {
            state: State,
        }
        // A value that a record removes from a state is in no later one.
        Some(self.at(seq + 1).hidden(&Whole { state: state.clone() })?.state)
    }

    /// Returns a copy without secrets; `None` if they cannot be removed.
    fn hidden<T: Serialize + DeserializeOwned>(&self, whole: &T) -> Option<T> {
        let mut value = Value::from_json(&serde_json::to_string(whole).ok()?).ok()?;
        visit(&mut value, &mut |place| match (place, &self.places) {
            (Place::Context(context), Some(places)) => {
                places.redacted().iter().for_each(|path| put_at(context, path, HIDDEN.into()));
            }
            (Place::Appended { list, at, entry }, Some(places)) => {
                let paths = places.redacted().iter().filter_map(|path| appended_path(path, &list, at));
                paths.for_each(|path| put_at(entry, &path, HIDDEN.into()));
            }
            (Place::Context(_) | Place::Appended { .. }, None) => {}
            (Place::Key(value) | Place::Data(value), _) => self.take_out(value),
        });
        serde_json::from_str(&value.to_json()).ok()
    }

    /// Removes secrets from all parts of a value.
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
