//! Completion: what may stand at the cursor, from the text alone and the names of the graph, so that YAML need not parse.

mod conditions;
mod keys;
mod names;

use trellis_core::{
    Code,
    diagnostic::FilePath,
    query::{SymbolIndex, TARGETS},
    span::Span,
    syntax::cursor::{CursorContext, CursorPlace, cursor_context},
};

use super::place;
use crate::{
    client::Client,
    graph::Graph,
    state::ServerState,
    text::Text,
    wire::{
        CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionItemTextEdit, CompletionList, CompletionParams,
        Documentation, InsertTextFormat, TextEdit, markdown,
    },
};

/// Offers that are sent at most; of more, the client asks again as soon as a letter is typed.
const MOST: usize = 500;

/// Returns true if a name has the letters that are typed, in order.
fn holds(name: &str, typed: &str) -> bool {
    let name = name.to_lowercase();
    let mut letters = name.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// A name that may stand at the cursor.
#[derive(Default)]
struct Offer {
    label: String,
    /// What is inserted, where that is not the label.
    insert: Option<String>,
    is_snippet: bool,
    kind: Option<CompletionItemKind>,
    /// A few words beside the label.
    detail: String,
    about: String,
    /// Offers with lower ranks come first.
    rank: usize,
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

/// Returns what may stand at a place.
pub(super) fn complete(state: &mut ServerState, params: &CompletionParams) -> Option<CompletionList> {
    let client = state.client.clone();
    let place = place(state, &params.text_document_position_params)?;
    let (text, offset) = (place.text, place.offset);
    let context = cursor_context(&place.path, text.as_str(), offset);
    let mut desk = Desk { graph: place.graph, path: place.path, context, offset: crate::text::to_u32(offset) };
    let (mut offers, span) = offers(&mut desk, text.as_str(), offset);
    offers.sort_by(|a, b| (a.rank, &a.label).cmp(&(b.rank, &b.label)));
    offers.dedup_by(|a, b| a.label == b.label);
    let is_incomplete = offers.len() >= MOST;
    offers.truncate(MOST);
    let items = offers.into_iter().enumerate().map(|(at, offer)| item(offer, at, span, &text, &client)).collect();
    Some(CompletionList { is_incomplete, items, ..CompletionList::default() })
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
    if let Some(template) = desk.context.template.clone() {
        return names::in_template(desk, &template, offset);
    }
    let whole = desk.context.prefix_span;
    match desk.context.place {
        CursorPlace::Body => (Vec::new(), whole),
        CursorPlace::Key => (keys::keys(desk), whole),
        CursorPlace::Value => {
            let key = desk.context.key().unwrap_or_default().to_owned();
            let above = desk.context.keys().rev().nth(1).unwrap_or_default().to_owned();
            match key.as_str() {
                "condition" | "assert" | "if" => conditions::condition(desk, offset),
                key if TARGETS.contains(&key) || above == "on_signal" || above == "on_signal_default" => {
                    (names::targets(desk, key == "graph"), whole)
                }
                "save_to" | "required_context" | "redact" | "locale" | "needs" | "each" => (names::keys(desk), whole),
                "name" if matches!(above.as_str(), "do" | "undo" | "before_each" | "parallel") => (names::tools(desk), whole),
                "do" | "tools" | "undo" | "binding" => (names::tools(desk), whole),
                _ => (keys::words(desk), whole),
            }
        }
    }
}

fn item(offer: Offer, at: usize, span: Span, text: &Text, client: &Client) -> CompletionItem {
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
