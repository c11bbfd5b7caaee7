//! Completion at the cursor, from the text and the names of the graph alone, so that the YAML need not parse.

mod compared;
mod conditions;
mod keys;
mod names;
mod paths;
mod skeletons;

use serde_json::Value as Json;
use trellis_core::{
    Code, NodeId,
    diagnostic::FilePath,
    query::{SymbolIndex, TARGETS},
    span::Span,
    syntax::{
        cursor::{CursorContext, CursorPlace, CursorStep, cursor_context},
        vocabulary::form_at,
    },
};

use super::{place, sheets::offers::SheetOffer};
use crate::{
    client::Client,
    graph::Graph,
    state::ServerState,
    text::Text,
    wire::{
        CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionItemTextEdit, CompletionList, CompletionParams,
        Documentation, InsertTextFormat, TextEdit, Uri, markdown,
    },
};

/// Offers that are sent at most; of more, the client asks again as soon as a letter is typed.
const MAX_COMPLETIONS: usize = 500;

/// Returns true if a name has the letters that are typed, in order.
fn holds(name: &str, typed: &str) -> bool {
    let name = name.to_lowercase();
    let mut letters = name.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// A completion at the cursor.
#[derive(Default)]
struct Offer {
    label: String,
    /// The inserted text, if it is not the label.
    insert: Option<String>,
    is_snippet: bool,
    kind: Option<CompletionItemKind>,
    /// A few words beside the label.
    detail: String,
    about: String,
    /// Offers with lower ranks come first.
    rank: usize,
    /// The node that it names: what it says is looked up when it is chosen.
    node: Option<NodeId>,
}

impl Offer {
    fn new(label: impl Into<String>, kind: CompletionItemKind) -> Self {
        Self { label: label.into(), kind: Some(kind), ..Self::default() }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    fn rank(self, rank: usize) -> Self {
        Self { rank, ..self }
    }
}

/// The place of a completion.
struct Desk<'g> {
    graph: &'g mut Graph,
    path: FilePath,
    context: CursorContext,
    offset: u32,
    /// The rest of the line behind the cursor.
    after: String,
}

impl Desk<'_> {
    fn index(&mut self) -> &SymbolIndex {
        self.graph.index()
    }

    /// Returns the folder in which targets are looked up here, and the number of the graph.
    fn scope(&mut self) -> (String, u32) {
        let (path, offset) = (self.path.clone(), self.offset);
        let index = self.index();
        let graph = index.graph_of(&path);
        let folder = match index.node_around(&path, offset) {
            Some(node) => node.id.folder().to_owned(),
            None => path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned()),
        };
        (folder, graph)
    }
}

/// Returns the completions at a place.
pub(super) fn complete(state: &mut ServerState, params: &CompletionParams) -> Option<CompletionList> {
    let client = state.client.clone();
    if let Some(list) = in_sheet(state, params, &client) {
        return Some(list);
    }
    let place = place(state, &params.text_document_position_params)?;
    let (text, offset) = (place.text, place.offset);
    let context = cursor_context(&place.path, text.as_str(), offset);
    let after = text.as_str()[offset..].lines().next().unwrap_or_default().to_owned();
    let is_behind_colon = is_behind_colon(&context, &text.as_str()[..offset]);
    // Who types a colon may go on with a line break, which would accept the first offer.
    if is_behind_colon && is_typed_colon(params) {
        return Some(CompletionList::default());
    }
    let mut desk = Desk { graph: place.graph, path: place.path, context, offset: crate::text::to_u32(offset), after };
    let (mut offers, span) = offers(&mut desk, text.as_str(), offset);
    offers.sort_by(|a, b| (a.rank, &a.label).cmp(&(b.rank, &b.label)));
    offers.dedup_by(|a, b| a.label == b.label);
    let is_incomplete = offers.len() >= MAX_COMPLETIONS;
    offers.truncate(MAX_COMPLETIONS);
    let uri = &params.text_document_position_params.text_document.uri;
    let gap = if is_behind_colon { " " } else { "" };
    let spaced = |offer: Offer| Offer { insert: Some(format!("{gap}{}", offer.insert.as_ref().unwrap_or(&offer.label))), ..offer };
    let items = offers.into_iter().map(spaced).enumerate().map(|(at, offer)| item(offer, at, span, &text, &client, uri)).collect();
    Some(CompletionList { is_incomplete, items, ..CompletionList::default() })
}

/// Returns whether a cursor stands right behind the colon of a key, where a value needs a space before it.
fn is_behind_colon(context: &CursorContext, before: &str) -> bool {
    context.place == CursorPlace::Value && context.template.is_none() && context.prefix.is_empty() && before.ends_with(':')
}

/// Returns whether a completion was asked for because a colon was typed.
fn is_typed_colon(params: &CompletionParams) -> bool {
    params.context.as_ref().is_some_and(|context| context.trigger_character.as_deref() == Some(":"))
}

/// Returns what may stand at a place of a sheet.
fn in_sheet(state: &mut ServerState, params: &CompletionParams, client: &Client) -> Option<CompletionList> {
    let position = &params.text_document_position_params;
    let (offers, span, text) = super::sheets::offers::offers(state, position)?;
    let offer = |SheetOffer { label, about, snippet }: SheetOffer| {
        let kind = if snippet.is_some() { CompletionItemKind::Snippet } else { CompletionItemKind::Value };
        Offer { is_snippet: snippet.is_some(), insert: snippet, ..Offer::new(label, kind).detail(about) }
    };
    let items = offers.into_iter().map(offer).enumerate();
    let items = items.map(|(at, offer)| item(offer, at, span, &text, client, &position.text_document.uri)).collect();
    Some(CompletionList { items, ..CompletionList::default() })
}

/// Adds what a chosen item says of itself: of a node its body and its ways.
pub(super) fn resolve(state: &mut ServerState, mut item: Json) -> Json {
    let is_markdown = state.client.completion_markdown;
    let about = (|| {
        let uri = Uri(item.pointer("/data/uri")?.as_str()?.to_owned());
        let id = NodeId::from(item.pointer("/data/node")?.as_str()?);
        let (graph, _) = state.graph(&uri)?;
        let node = graph.index().node(&id)?;
        Some(super::hover::about_node(graph, &node))
    })();
    if let Some(about) = about {
        item["documentation"] = match is_markdown {
            true => serde_json::json!({ "kind": "markdown", "value": about }),
            false => about.replace(['`', '*'], "").into(),
        };
    }
    item
}

/// Returns the offers at the cursor, and the span that they replace.
fn offers(desk: &mut Desk<'_>, text: &str, offset: usize) -> (Vec<Offer>, Span) {
    let line = &text[text[..offset].rfind('\n').map_or(0, |at| at + 1)..offset];
    if let Some((_, typed)) = line.rsplit_once("trellis: allow(").filter(|(_, typed)| !typed.contains(')')) {
        let typed = typed.rsplit([',', ' ']).next().unwrap_or_default();
        let codes =
            Code::ALL.iter().filter(|code| code.is_tolerable()).map(|code| Offer::new(code.as_str(), CompletionItemKind::EnumMember));
        return (codes.collect(), Span::new(offset - typed.len(), offset));
    }
    if let Some(offers) = skeletons::offers(&desk.path, text, offset) {
        return offers;
    }
    if let Some(template) = desk.context.template.clone() {
        // The dialect of Go has no `{%`.
        return names::tags(text, &template, offset).unwrap_or_else(|| names::in_template(desk, text, &template, offset));
    }
    match desk.context.place {
        CursorPlace::Body => paths::links(desk, line, offset),
        CursorPlace::Key => {
            let (keys, span) = keys::keys(desk);
            // An item of a list may be a mapping or a value.
            let is_item = desk.context.path.last() == Some(&CursorStep::Item) && desk.context.present.is_empty();
            let (values, of_values) = if is_item { values(desk, line, offset) } else { (Vec::new(), span) };
            match (keys.is_empty(), values.is_empty()) {
                (true, true) => keys::below_dash(desk, text, offset),
                (true, false) => (values, of_values),
                _ => (keys.into_iter().chain(values).collect(), span),
            }
        }
        CursorPlace::Value => values(desk, line, offset),
    }
}

/// Returns the values that may stand at the cursor, and the span that they replace.
fn values(desk: &mut Desk<'_>, line: &str, offset: usize) -> (Vec<Offer>, Span) {
    let whole = desk.context.prefix_span;
    let key = desk.context.key().unwrap_or_default().to_owned();
    let above = desk.context.keys().rev().nth(1).unwrap_or_default().to_owned();
    let of_form = form_at(&desk.context).filter(|_| keys::is_known(desk, &key));
    let words = keys::words(desk);
    let offers = match (key.as_str(), of_form) {
        ("condition" | "assert" | "if", _) => return conditions::condition(desk, offset),
        // `on_error` of several calls takes words.
        (key, Some(_)) if TARGETS.contains(&key) && words.is_empty() => names::targets(desk, key == "graph"),
        _ if above == "on_signal" || above == "on_signal_default" => names::targets(desk, false),
        ("save_to" | "required_context" | "redact" | "locale" | "needs", _) => names::written_keys(desk),
        ("each", Some(_)) => names::keys(desk),
        ("name", Some("call" | "branch")) | ("do" | "undo" | "before_each", Some(_)) => names::called_tools(desk, line),
        _ if above == "parallel" => names::called_tools(desk, line),
        ("tools", _) => names::tools(desk).into_iter().chain(paths::libraries(desk)).collect(),
        ("ask" | "block" | "allow" | "tool", _) if desk.context.keys().any(|key| matches!(key, "policy" | "chain")) => names::tools(desk),
        ("binding", _) => names::tools(desk),
        ("builtin", _) => names::builtins(),
        ("input_default", _) => names::own_options(desk),
        ("approve" | "parameters" | "inputs" | "schema" | "returns" | "input_schema", Some(_)) => {
            words.into_iter().chain(skeletons::values(&key, false)).collect()
        }
        _ if above == "bindings" && desk.context.path.len() == 2 => skeletons::values(&key, true).collect(),
        _ => words,
    };
    (offers, whole)
}

fn item(offer: Offer, at: usize, span: Span, text: &Text, client: &Client, uri: &Uri) -> CompletionItem {
    let is_snippet = offer.is_snippet && client.snippets;
    let insert = match (offer.insert, is_snippet) {
        (Some(insert), true) => insert,
        (Some(insert), false) if !offer.is_snippet => insert,
        // Without snippets, what stands before the first place to fill in.
        (Some(insert), false) => insert.split(['$', '\n']).next().unwrap_or_default().to_owned(),
        (None, _) => offer.label.clone(),
    };
    let about = match client.completion_markdown {
        _ if offer.about.is_empty() => None,
        true => Some(Documentation::MarkupContent(markdown(offer.about))),
        false => Some(Documentation::String(offer.about.replace('`', ""))),
    };
    let (details, detail) = match (offer.detail.is_empty(), client.label_details) {
        (true, _) => (None, None),
        (false, true) => (Some(CompletionItemLabelDetails { detail: None, description: Some(offer.detail) }), None),
        (false, false) => (None, Some(offer.detail)),
    };
    CompletionItem {
        data: offer.node.map(|node| serde_json::json!({ "uri": uri, "node": node.as_str() })),
        filter_text: Some(offer.label.clone()),
        label: offer.label,
        label_details: details,
        detail,
        kind: offer.kind,
        documentation: about,
        sort_text: Some(format!("{at:05}")),
        insert_text_format: Some(if is_snippet { InsertTextFormat::Snippet } else { InsertTextFormat::PlainText }),
        text_edit: Some(CompletionItemTextEdit::TextEdit(TextEdit { range: text.range(span, client.encoding), new_text: insert })),
        ..CompletionItem::default()
    }
}
