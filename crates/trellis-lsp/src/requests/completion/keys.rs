//! Completion of the keys of the form at the cursor, and of the words that a key accepts.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use trellis_core::{
    SignalName,
    query::Symbol,
    span::Span,
    syntax::{
        cursor::{CursorPlace, CursorStep, cursor_context},
        document::Content,
        node::NodeSyntax,
        vocabulary::{KeyOffer, keys_at, words_at},
    },
};

use super::{Desk, Offer, names, skeletons::SCHEMA_LINES};
use crate::wire::CompletionItemKind;

/// Returns the keys that the mapping at the cursor may have and has not, and the span that they replace.
pub(super) fn keys(desk: &mut Desk<'_>) -> (Vec<Offer>, Span) {
    let (span, has_colon) = written(desk);
    let present = desk.context.present.clone();
    let is_flow = desk.context.is_flow;
    let known = keys_at(&desk.context);
    let absent = known.iter().enumerate().filter(|(_, key)| !present.contains(&key.name.to_string()) && !key.is_excluded_by(&present));
    let offer = |(rank, key): (usize, &KeyOffer)| {
        let (insert, is_snippet) = if has_colon { (key.name.to_string(), false) } else { inserted(key, is_flow) };
        Offer { insert: Some(insert), is_snippet, ..Offer::new(&*key.name, CompletionItemKind::Property).about(&*key.about).rank(rank) }
    };
    let mut offers: Vec<Offer> = absent.map(offer).collect();
    // A mapping by names of the author's.
    let named = if known.is_empty() { named_keys(desk) } else { Vec::new() };
    let named = named.into_iter().filter(|offer| !present.contains(&offer.label));
    offers.extend(named.map(|offer| {
        let colon = if has_colon { "" } else { ": " };
        Offer { insert: Some(format!("{}{colon}", offer.label)), ..offer }
    }));
    (offers, span)
}

/// Returns what may stand right below the dash of an item, where editors put the cursor after a line break: the keys of the item, each with the
/// spaces that it lacks, and another item.
pub(super) fn below_dash(desk: &mut Desk<'_>, text: &str, offset: usize) -> (Vec<Offer>, Span) {
    const GAP: &str = "  ";
    let typed = desk.context.prefix_span;
    let indented = format!("{}{GAP}{}", &text[..typed.start as usize], &text[typed.start as usize..]);
    let mut context = cursor_context(&desk.path, &indented, offset + GAP.len());
    if desk.context.is_flow || context.path.last() != Some(&CursorStep::Item) || context.place != CursorPlace::Key {
        return (Vec::new(), typed);
    }
    context.prefix_span = typed;
    desk.context = context;
    let (offers, span) = keys(desk);
    let indented = |offer: Offer| {
        let insert = offer.insert.as_deref().unwrap_or(&offer.label).replace('\n', "\n  ");
        Offer { insert: Some(format!("{GAP}{insert}")), ..offer }
    };
    let offers: Vec<Offer> = offers.into_iter().map(indented).collect();
    let another = (!offers.is_empty()).then(|| Offer::new("- ", CompletionItemKind::Keyword).detail("another item").rank(usize::MAX));
    (offers.into_iter().chain(another).collect(), span)
}

/// Returns the names that the mapping at the cursor may have as its keys.
fn named_keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let Some(CursorStep::Key(parent)) = desk.context.path.last().cloned() else { return Vec::new() };
    match parent.as_str() {
        "set" | "append" | "default_context" | "context_schema" | "context" => names::written_keys(desk),
        "args" => arguments(desk),
        "messages" => locales(desk),
        "options" if desk.context.keys().any(|key| key == "messages") => names::own_options(desk),
        "on_signal" | "on_signal_default" => signals(desk),
        "bindings" if desk.context.path.len() == 1 => unbound(desk),
        _ => Vec::new(),
    }
}

/// Returns the span of a key at the cursor that is there already, up to its colon, and whether it has one; else the part that is typed.
fn written(desk: &Desk<'_>) -> (Span, bool) {
    let typed = desk.context.prefix_span;
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let tail = desk.after.find(|char| !is_part(char)).unwrap_or(desk.after.len());
    let behind = desk.after[tail..].trim_start_matches(['"', '\'']);
    let has_colon = behind.strip_prefix(':').is_some_and(|value| value.is_empty() || value.starts_with(' '));
    let span = if has_colon { Span { end: typed.end + crate::text::to_u32(tail), ..typed } } else { typed };
    (span, has_colon)
}

/// Returns the inserted text of a key: with its colon, and the beginning of its value if that is a mapping or a list.
fn inserted(key: &KeyOffer, is_flow: bool) -> (String, bool) {
    let name = &key.name;
    if key.is_schema_of_mapping() && !is_flow {
        return (format!("{name}{SCHEMA_LINES}"), true);
    }
    let kind = key.takes.get("type").and_then(Json::as_str);
    let shared = |word: &str| key.takes.get("$ref").and_then(Json::as_str).is_some_and(|at| at.ends_with(word));
    let is_short = ["condition", "duration", "schema"].iter().any(|word| shared(word));
    let is_mapping = kind == Some("object") || key.takes.get("$ref").is_some() && !is_short;
    match (is_mapping, kind, is_flow) {
        (true, _, true) => (format!("{name}: {{ $0 }}"), true),
        (true, _, false) => (format!("{name}:\n  $0"), true),
        (false, Some("array"), true) => (format!("{name}: [$0]"), true),
        (false, Some("array"), false) => (format!("{name}:\n  - $0"), true),
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

/// Returns the signals that some file names, and those that hosts send by themselves.
fn signals(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let symbols = desk.index().symbols_beside(&path, offset).into_iter();
    let named = symbols.filter_map(|symbol| if let Symbol::Signal(name) = symbol { Some(name.to_string()) } else { None });
    let own = [SignalName::INTERRUPT, SignalName::TIMEOUT].map(str::to_owned);
    let all: BTreeSet<String> = named.chain(own).collect();
    all.into_iter().map(|name| Offer::new(name, CompletionItemKind::Event).detail("signal")).collect()
}

/// Returns the tools that no project file binds.
fn unbound(desk: &mut Desk<'_>) -> Vec<Offer> {
    let bindings = desk.graph.documents().iter().flat_map(|document| match &document.content {
        Content::Project(project) | Content::Nodes(_, project) => &project.bindings[..],
        _ => &[],
    });
    let bound: BTreeSet<String> = bindings.filter_map(|binding| Some(binding.tool.name.as_ref()?.value.to_string())).collect();
    names::tools(desk).into_iter().filter(|offer| !bound.contains(&offer.label)).collect()
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

/// Returns whether a key is one of the mapping that the cursor is in.
pub(super) fn is_known(desk: &Desk<'_>, key: &str) -> bool {
    keys_at(&desk.context).iter().any(|known| known.name == key)
}

/// Returns the words that the key at the cursor takes.
pub(super) fn words(desk: &Desk<'_>) -> Vec<Offer> {
    let words = words_at(&desk.context).into_iter();
    words.enumerate().map(|(rank, word)| Offer::new(word.word, CompletionItemKind::EnumMember).about(word.about).rank(rank)).collect()
}
