//! Completion of the keys of the form at the cursor, and of the words that a key accepts.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use trellis_core::{
    query::Symbol,
    syntax::{
        document::Content,
        node::NodeSyntax,
        vocabulary::{KeyOffer, keys_at},
    },
};

use super::{Desk, Offer, names, paths};
use crate::wire::CompletionItemKind;

/// Returns the keys that the mapping at the cursor may have and has not.
pub(super) fn keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let known = keys_at(&desk.context);
    if !known.is_empty() {
        let absent = known.iter().enumerate().filter(|(_, key)| !desk.context.present.iter().any(|present| *present == key.name));
        let offer = |(rank, key): (usize, &KeyOffer)| {
            let (insert, is_snippet) = inserted(key);
            Offer { insert: Some(insert), is_snippet, ..Offer::new(key.name, CompletionItemKind::Property).about(key.about).rank(rank) }
        };
        return absent.map(offer).collect();
    }
    // A mapping by names of the author's.
    let parent = desk.context.key().unwrap_or_default().to_owned();
    let mut offers = match parent.as_str() {
        "set" | "append" | "default_context" | "context_schema" | "context" => names::keys(desk),
        "args" => arguments(desk),
        "messages" => locales(desk),
        "on_signal" | "on_signal_default" => signals(desk),
        "tools" => return names::tools(desk).into_iter().chain(paths::libraries(desk)).collect(),
        "required_context" | "redact" | "needs" => return names::keys(desk),
        _ => Vec::new(),
    };
    offers.retain(|offer| !desk.context.present.contains(&offer.label));
    offers.iter_mut().for_each(|offer| offer.insert = Some(format!("{}: ", offer.label)));
    offers
}

/// Returns the inserted text of a key: with its colon, and a new line if its value is a mapping or a list.
fn inserted(key: &KeyOffer) -> (String, bool) {
    let name = key.name;
    let kind = key.takes.get("type").and_then(Json::as_str);
    let shared = |word: &str| key.takes.get("$ref").and_then(Json::as_str).is_some_and(|at| at.ends_with(word));
    let is_short = ["condition", "duration", "schema"].iter().any(|word| shared(word));
    match kind {
        Some("object") => (format!("{name}:\n  $0"), true),
        Some("array") => (format!("{name}:\n  - $0"), true),
        _ if key.takes.get("$ref").is_some() && !is_short => (format!("{name}:\n  $0"), true),
        _ => (format!("{name}: "), false),
    }
}

/// Returns the locales that other texts of the graph have.
fn locales(desk: &Desk<'_>) -> Vec<Offer> {
    let of_node = |node: &NodeSyntax| node.messages.iter().map(|message| message.locale.value.to_string()).collect::<Vec<_>>();
    let named = desk.graph.documents().iter().flat_map(|document| match &document.content {
        Content::Node(node) => of_node(node),
        Content::Nodes(nodes, _) => nodes.iter().flat_map(of_node).collect(),
        _ => Vec::new(),
    });
    named.collect::<BTreeSet<_>>().into_iter().map(|locale| Offer::new(locale, CompletionItemKind::Constant).detail("locale")).collect()
}

/// Returns the signals that some file names.
fn signals(desk: &mut Desk<'_>) -> Vec<Offer> {
    let symbols = desk.index().symbols().into_iter();
    let named = symbols.filter_map(|symbol| if let Symbol::Signal(name) = symbol { Some(name) } else { None });
    named.map(|name| Offer::new(&*name, CompletionItemKind::Event).detail("signal")).collect()
}

/// Returns the arguments of the tool or the graph that is called here.
fn arguments(desk: &mut Desk<'_>) -> Vec<Offer> {
    let callees = called(desk);
    let (folder, graph) = desk.scope();
    let index = desk.index();
    let mut offers = Vec::new();
    for (name, is_graph) in callees {
        if is_graph {
            let node = index.resolve(&name, false, &folder, graph, true);
            let keys = node.map(|node| index.asked_keys(&node)).unwrap_or_default();
            offers.extend(keys.into_iter().map(|key| Offer::new(&*key, CompletionItemKind::Field).detail(format!("asked by {name}"))));
        } else if let Some(schema) = index.tool(&name).and_then(|tool| tool.parameters.as_ref()) {
            let json: Json = serde_json::from_str(&schema.value.to_json()).unwrap_or_default();
            let required: BTreeSet<&str> = json["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            for (key, schema) in json["properties"].as_object().into_iter().flatten() {
                let kind = schema["type"].as_str().unwrap_or("any").to_owned();
                let is_required = required.contains(key.as_str());
                let detail = if is_required { format!("{kind}, required") } else { kind };
                let about = schema["description"].as_str().unwrap_or_default();
                offers.push(Offer::new(key, CompletionItemKind::Field).detail(detail).about(about).rank(usize::from(!is_required)));
            }
        }
    }
    offers
}

/// Returns the tools and graphs that the file names as called, each with whether it is a graph: those of the node at the cursor.
fn called(desk: &mut Desk<'_>) -> Vec<(String, bool)> {
    let Some(document) = desk.graph.document(&desk.path) else { return Vec::new() };
    // By lines: the YAML around an argument that is being typed does not parse.
    let before = document.text.get(..desk.offset as usize).unwrap_or(&document.text);
    let values = before.lines().rev().filter_map(|line| {
        let line = line.trim_start_matches([' ', '-']);
        let (key, value) = ["name", "graph", "do"].iter().find_map(|key| Some((*key, line.split(&format!("{key}:")).nth(1)?)))?;
        let value = value.trim().trim_start_matches('{').trim();
        let value = value.split([',', '}', ' ']).next().unwrap_or_default().trim_matches(['"', '\'']);
        (!value.is_empty() && !value.ends_with(':')).then(|| (value.to_owned(), key == "graph"))
    });
    values.take(1).collect()
}

/// Returns the words that the key at the cursor takes.
pub(super) fn words(desk: &Desk<'_>) -> Vec<Offer> {
    let Some(name) = desk.context.key() else { return Vec::new() };
    let key = keys_at(&desk.context).into_iter().find(|key| key.name == name);
    let words = key.iter().flat_map(KeyOffer::words);
    words.enumerate().map(|(rank, word)| Offer::new(word, CompletionItemKind::EnumMember).rank(rank)).collect()
}
