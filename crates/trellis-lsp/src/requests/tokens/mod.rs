//! Semantic tokens: what neither a Markdown nor a YAML grammar colours. Names come from the index, everything else from the text of tags and
//! conditions, so that half of a file is coloured while the other half is being typed.

mod lexer;

use serde_json::{Value as Json, json};
use trellis_core::{
    Document,
    query::{Occurrence, OccurrenceKind, Symbol},
    span::Span,
    syntax::{document::Content, node::NodeSyntax},
};

use crate::{
    state::ServerState,
    text::{Encoding, Text, to_u32},
    wire::{SemanticTokensParams, SemanticTokensRangeParams, Uri},
};

/// The kinds of tokens, in the order of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Node,
    Key,
    Tool,
    Predicate,
    Keyword,
    Operator,
    Text,
    Number,
    Delimiter,
    Secret,
}

/// Their names in the protocol. Two are common to all editors only as something else: a node is a `class`, a delimiter of a template a `macro`.
pub(super) const TOKEN_KINDS: [&str; 10] =
    ["class", "variable", "function", "event", "keyword", "operator", "string", "number", "macro", "regexp"];

/// The modifiers: a name that is given, a key that is written.
pub(super) const MODIFIERS: [&str; 2] = ["definition", "modification"];

/// A coloured place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) span: Span,
    pub(super) kind: TokenKind,
    /// Bits, in the order of [`MODIFIERS`].
    pub(super) modifiers: u32,
}

/// Returns the tokens of a file.
pub(super) fn full(state: &mut ServerState, params: &SemanticTokensParams) -> Option<Json> {
    tokens(state, &params.text_document.uri, |_| None)
}

/// Returns the tokens of a range.
pub(super) fn in_range(state: &mut ServerState, params: &SemanticTokensRangeParams) -> Option<Json> {
    let encoding = state.encoding();
    tokens(state, &params.text_document.uri, |text| Some(text.span(params.range, encoding)))
}

fn tokens(state: &mut ServerState, uri: &Uri, part: impl Fn(&Text) -> Option<Span>) -> Option<Json> {
    let encoding = state.encoding();
    let (graph, path) = state.graph(uri)?;
    let text = graph.text(&path)?.clone();
    let named = graph.index().of_file(&path);
    let conditions = graph.document(&path).map(|document| conditions(document)).unwrap_or_default();
    let mut tokens = gathered(text.as_str(), &named, &conditions);
    if let Some(part) = part(&text) {
        tokens.retain(|token| token.span.end >= part.start && token.span.start <= part.end);
    }
    Some(json!({ "data": encoded(&tokens, &text, encoding) }))
}

/// Returns the tokens of a text, in order; none overlaps another.
fn gathered(text: &str, named: &[Occurrence], conditions: &[Span]) -> Vec<Token> {
    let mut tokens: Vec<Token> = named.iter().filter(|one| one.is_exact).filter_map(|one| of_name(text, one)).collect();
    tokens.sort_by_key(|token| token.span);
    let mut kept: Vec<Token> = Vec::new();
    for token in tokens {
        if kept.last().is_none_or(|last| last.span.end <= token.span.start) {
            kept.push(token);
        }
    }
    let mut others = Vec::new();
    lexer::tags(text, &mut others);
    conditions.iter().for_each(|span| lexer::condition(text, *span, &mut others));
    others.sort_by_key(|token| token.span);
    let mut last = 0;
    others.retain(|token| {
        let at = kept.partition_point(|other| other.span.end <= token.span.start);
        let is_free = token.span.start >= last && kept.get(at).is_none_or(|other| other.span.start >= token.span.end);
        last = if is_free { token.span.end } else { last };
        is_free
    });
    kept.extend(others);
    kept.sort_by_key(|token| token.span);
    kept
}

fn of_name(text: &str, one: &Occurrence) -> Option<Token> {
    let kind = match one.symbol {
        Symbol::Node(_) => TokenKind::Node,
        Symbol::Key(..) => TokenKind::Key,
        Symbol::Tool(_) => TokenKind::Tool,
        Symbol::Predicate(..) | Symbol::Signal(_) => TokenKind::Predicate,
        Symbol::Option(..) => return None,
    };
    let written = text.get(one.span.range())?;
    let modifiers = match one.kind {
        OccurrenceKind::Defines => 1,
        OccurrenceKind::Writes => 2,
        OccurrenceKind::Reads | OccurrenceKind::Refers => 0,
    };
    (!written.is_empty() && !written.contains('\n')).then_some(Token { span: one.span, kind, modifiers })
}

/// Returns the places of the conditions of a file that was understood.
fn conditions(document: &Document) -> Vec<Span> {
    let of_node = |node: &NodeSyntax| {
        let transitions = node.transitions.iter().filter_map(|transition| transition.condition.as_ref());
        let parts = node.speech_parts().filter_map(|part| part.condition.as_ref());
        transitions.chain(node.asserts.iter()).chain(parts).map(|condition| condition.span).collect::<Vec<_>>()
    };
    match &document.content {
        Content::Node(node) => of_node(node),
        Content::Nodes(nodes, _) => nodes.iter().flat_map(of_node).collect(),
        Content::Library(_) | Content::Project(_) | Content::Broken => Vec::new(),
    }
}

/// Returns tokens as the protocol packs them: each from the one before it.
fn encoded(tokens: &[Token], text: &Text, encoding: Encoding) -> Vec<u32> {
    let mut data = Vec::with_capacity(tokens.len() * 5);
    let (mut line, mut character) = (0, 0);
    for token in tokens {
        let range = text.range(token.span, encoding);
        let (down, start) = (range.start.line - line, range.start.character);
        let right = if down == 0 { start - character } else { start };
        data.extend([down, right, range.end.character - start, token.kind as u32, token.modifiers]);
        (line, character) = (range.start.line, start);
    }
    debug_assert!(to_u32(data.len()).is_multiple_of(5));
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, conditions: &[Span]) -> Vec<String> {
        let tokens = gathered(text, &[], conditions);
        tokens.iter().map(|token| format!("{}:{}", &text[token.span.range()], TOKEN_KINDS[token.kind as usize])).collect()
    }

    #[test]
    fn tags_and_conditions_are_coloured_word_by_word() {
        let text = "Hi {{ name | upper }}, {% if n > 3 and x is defined %}a{% endif %} {{secret:key}} {{ open";
        assert_eq!(
            words(text, &[]),
            [
                "{{:macro",
                "name:variable",
                "|:operator",
                "upper:function",
                "}}:macro",
                "{%:macro",
                "if:keyword",
                "n:variable",
                ">:operator",
                "3:number",
                "and:keyword",
                "x:variable",
                "is:keyword",
                "defined:function",
                "%}:macro",
                "{%:macro",
                "endif:keyword",
                "%}:macro",
                "{{:macro",
                "secret:key:regexp",
                "}}:macro",
            ]
        );
        let condition = "not drink in [\"tea\", 'a b', 2] ";
        let span = Span::new(0, condition.len());
        assert_eq!(
            words(condition, &[span]),
            ["not:keyword", "drink:variable", "in:keyword", "\"tea\":string", "'a b':string", "2:number"]
        );
    }

    #[test]
    fn tokens_are_packed_from_one_to_the_next() {
        let text = Text::new("a 😀 {{ b }}\n{{ c }}");
        let tokens = gathered(text.as_str(), &[], &[]);
        let data = encoded(&tokens, &text, Encoding::Utf16);
        assert_eq!(data, [0, 5, 2, 8, 0, 0, 3, 1, 1, 0, 0, 2, 2, 8, 0, 1, 0, 2, 8, 0, 0, 3, 1, 1, 0, 0, 2, 2, 8, 0]);
    }
}
