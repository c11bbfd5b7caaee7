//! The places of values of the context in a record, a snapshot or a state, as opposed to its fixed parts: names, numbers of steps, ids.
//!
//! **Invariant:** an unknown key counts as a place for values, so that a later kind of record hides too much and never too little.

use trellis_core::{
    Mapping, Value,
    path::{KeyPath, Segment},
};

/// A place.
pub(crate) enum Place<'a> {
    /// A mapping with keys of the context: a whole context, or its changes.
    Context(&'a mut Mapping),
    /// The items appended to a list of the context, as `{at, items}`: [`appended_path`] maps a path of the context into it.
    Appended {
        /// The list.
        list: KeyPath,
        /// The number of items that it had.
        at: usize,
        /// The entry of the record.
        entry: &'a mut Mapping,
    },
    /// The value of a key of the context.
    Key(&'a mut Value),
    /// Any other value that a value of the context may have got into.
    Data(&'a mut Value),
}

type PlaceVisitor<'v> = dyn FnMut(Place<'_>) + 'v;

/// Visits all places of a record or a snapshot, contexts first.
pub(crate) fn visit(text: &mut Value, visit: &mut PlaceVisitor<'_>) {
    record(text, &mut |place| {
        if place.is_keyed() {
            visit(place);
        }
    });
    record(text, &mut |place| {
        if !place.is_keyed() {
            visit(place);
        }
    });
}

impl Place<'_> {
    /// Returns whether paths of the context can be mapped into it.
    fn is_keyed(&self) -> bool {
        matches!(self, Self::Context(_) | Self::Appended { .. })
    }
}

/// Maps a path of the context into `{at, items}`, which was appended to the list at `list`: to all items, below one of them, or nowhere.
pub(crate) fn appended_path(path: &KeyPath, list: &KeyPath, at: usize) -> Option<KeyPath> {
    let items = Segment::Key("items".into());
    let (path, list) = (path.segments(), list.segments());
    if list.starts_with(path) {
        return KeyPath::new(vec![items]);
    }
    match path.strip_prefix(list)? {
        [Segment::Index(index), below @ ..] => {
            let item = Segment::Index(index.checked_sub(at)?);
            KeyPath::new([items, item].into_iter().chain(below.iter().cloned()).collect())
        }
        _ => None,
    }
}

fn record(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "seq" | "at" | "kind" | "child" | "caller" | "from" | "to" | "program" | "signal" | "key" => {}
        "began" | "entered_at" | "stepped_at" | "approved" | "asked" | "still_asked" | "question" | "blocked" | "needs" | "waits" => {}
        "decision" | "source" | "spent" | "how" => {}
        "origin" => each(value, &mut |key, value| {
            if key == "typed" {
                typed(value, visit);
            }
        }),
        "typed" => typed(value, visit),
        "letter" | "given_up" => letter(value, visit),
        "dead" => items(value, &mut |one| letter(one, visit)),
        "rulings" => each(value, &mut |key, value| {
            if key == "by_key" {
                each(value, &mut |_, decided| ruling(decided, visit));
            }
        }),
        "state" => state(value, visit),
        "children" => each(value, &mut |_, child| {
            each(child, &mut |key, value| match key {
                "here" => record(value, visit),
                "state" => state(value, visit),
                _ => {}
            });
        }),
        "changes" => changes(value, visit),
        "keys" => context(value, visit),
        "start" => each(value, &mut |key, value| match key {
            "session" | "locale" | "seed" => {}
            "context" => context(value, visit),
            _ => visit(Place::Data(value)),
        }),
        // `"pass"` is a text, and a signal is a name.
        "input" => each(value, &mut |key, value| match key {
            "signal" => {}
            "result" => result(value, visit),
            _ => visit(Place::Data(value)),
        }),
        "result" => result(value, visit),
        "events" => items(value, &mut |event| {
            each(event, &mut |key, value| {
                if key == "invalid" {
                    visit(Place::Data(value));
                }
            });
        }),
        "ended" => ended(value, visit),
        _ => visit(Place::Data(value)),
    });
}

/// Visits typed secrets.
fn typed(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| {
        if key != "left_out" {
            visit(Place::Data(value));
        }
    });
}

/// A call that was given up.
fn letter(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "key" | "id" | "cause" | "node" | "tool" | "by" => {}
        "call" => call(value, visit),
        "outcome" => outcome(value, visit),
        _ => visit(Place::Data(value)),
    });
}

/// A decision of a policy: its notes and evidence may cite arguments.
fn ruling(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "decision" | "source" => {}
        "hold" => each(value, &mut |key, value| {
            if key == "ask" {
                visit(Place::Data(value));
            }
        }),
        _ => visit(Place::Data(value)),
    });
}

/// A whole state.
pub(super) fn state(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "version" | "session_id" | "graph" | "seed" | "is_inner" | "program" | "current_node_id" | "status" | "attempt" | "locale"
        | "step" | "entered" | "after_error" | "visits" | "abandoned" | "settled" | "rolled_back" => {}
        "context" => context(value, visit),
        "pending_tool_call" => call(value, visit),
        "parts" => items(value, &mut |one| part(one, visit)),
        "effects" => items(value, &mut |one| effect(one, visit)),
        "ended" => ended(value, visit),
        "system_context" => each(value, &mut |_, value| visit(Place::Data(value))),
        _ => visit(Place::Data(value)),
    });
}

fn changes(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "node" | "status" | "step" | "entered" | "after_error" | "attempt" | "visits" | "abandoned" | "settled" | "rolled_back" => {}
        "context" => context(value, visit),
        "appended" => each(value, &mut |list, entry| appended(list, entry, visit)),
        "call" => call(value, visit),
        "parts" => each(value, &mut |_, one| part(one, visit)),
        "system" => each(value, &mut |_, value| visit(Place::Data(value))),
        "effects" => each(value, &mut |key, value| {
            if key == "joined" {
                items(value, &mut |one| effect(one, visit));
            }
        }),
        "ended" => ended(value, visit),
        _ => visit(Place::Data(value)),
    });
}

fn appended(list: &str, value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    let at = value.as_map().and_then(|entry| entry.get("at")).and_then(|at| at.to_json().parse().ok());
    if let (Some(list), Some(at), Value::Map(entry)) = (KeyPath::parse(list), at, &mut *value) {
        visit(Place::Appended { list, at, entry });
    }
    each(value, &mut |key, value| {
        if key != "at" {
            visit(Place::Key(value));
        }
    });
}

fn effect(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| {
        if key == "undo" {
            call(value, visit);
        }
    });
}

fn call(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "id" | "name" | "role" | "node" | "secrets" | "idempotency_key" | "attempt" | "delay" | "timeout" | "retry" | "part" => {}
        "approve" => each(value, &mut |key, value| {
            if key == "ask" {
                visit(Place::Data(value));
            }
        }),
        "kind" => each(value, &mut |_, kind| {
            each(kind, &mut |key, value| match key {
                // Of version 1, a mapping; else pairs of a name and a call.
                "branches" => {
                    each(value, &mut |_, branch| call(branch, visit));
                    items(value, &mut |pair| items(pair, &mut |one| call(one, visit)));
                }
                "items" => visit(Place::Data(value)),
                "approve" => each(value, &mut |key, asks| {
                    if key == "asks" {
                        items(asks, &mut |ask| visit(Place::Data(ask)));
                    }
                }),
                _ => {}
            });
        }),
        _ => visit(Place::Data(value)),
    });
}

/// A part of a call, with its outcome.
fn part(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| {
        if key == "outcome" {
            outcome(value, visit);
        }
    });
}

fn outcome(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "error" => each(value, &mut |key, value| {
            if !matches!(key, "kind" | "final" | "after") {
                visit(Place::Data(value));
            }
        }),
        _ => visit(Place::Data(value)),
    });
}

fn result(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| match key {
        "outcome" => outcome(value, visit),
        "meta" => visit(Place::Data(value)),
        _ => {}
    });
}

fn ended(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    each(value, &mut |key, value| {
        if !matches!(key, "reason" | "code" | "node") {
            visit(Place::Data(value));
        }
    });
}

fn context(value: &mut Value, visit: &mut PlaceVisitor<'_>) {
    if let Value::Map(entries) = value {
        visit(Place::Context(entries));
    }
    each(value, &mut |_, value| visit(Place::Key(value)));
}

/// Each entry of a mapping; other values have none.
fn each(value: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    if let Value::Map(entries) = value {
        let keys: Vec<_> = entries.keys().cloned().collect();
        for key in keys {
            if let Some(value) = entries.get_mut(&key) {
                visit(&key, value);
            }
        }
    }
}

fn items(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    if let Value::List(items) = value {
        items.iter_mut().for_each(visit);
    }
}
