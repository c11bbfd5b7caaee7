//! Words of tags and conditions, with their kinds.

use trellis_core::span::Span;

use super::{Token, TokenKind};

/// Words of templates and conditions with a meaning of their own.
const KEYWORDS: [&str; 28] = [
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "with",
    "endwith",
    "filter",
    "endfilter",
    "raw",
    "endraw",
    "range",
    "end",
    "and",
    "or",
    "not",
    "in",
    "is",
    "true",
    "false",
    "none",
    "null",
    "True",
    "False",
    "None",
];

/// Adds the tokens of every tag that is closed.
pub(super) fn tags(text: &str, tokens: &mut Vec<Token>) {
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").into_iter().chain(text[at..].find("{%")).min().map(|open| at + open) {
        let closing = if text[open..].starts_with("{{") { "}}" } else { "%}" };
        let Some(length) = text[open + 2..].find(closing) else { return };
        let inside = Span::new(open + 2, open + 2 + length);
        let end = open + 2 + length + 2;
        // A tag that would contain the beginning of another one is none.
        if text[inside.range()].contains("{{") {
            at = open + 2;
            continue;
        }
        delimiter(open, tokens);
        words(text, inside, true, tokens);
        delimiter(end - 2, tokens);
        at = end;
    }
}

/// Adds the tokens of a condition.
pub(super) fn condition(text: &str, span: Span, tokens: &mut Vec<Token>) {
    let Some(written) = text.get(span.range()) else { return };
    // A condition begins with a name: quotes are those of YAML.
    let is_quoted = written.len() > 1 && written.starts_with(['"', '\'']) && written.ends_with(&written[..1]);
    let inside = if is_quoted { Span { start: span.start + 1, end: span.end - 1 } } else { span };
    words(text, inside, false, tokens);
}

fn delimiter(at: usize, tokens: &mut Vec<Token>) {
    tokens.push(Token { span: Span::new(at, at + 2), kind: TokenKind::Delimiter, modifiers: 0 });
}

fn words(text: &str, inside: Span, is_tag: bool, tokens: &mut Vec<Token>) {
    let (start, end) = (inside.start as usize, inside.end as usize);
    let trimmed = text[start..end].trim_start();
    if is_tag && trimmed.starts_with("secret:") {
        let from = end - trimmed.len();
        let span = Span::new(from, from + trimmed.trim_end().len());
        return tokens.push(Token { span, kind: TokenKind::Secret, modifiers: 0 });
    }
    let mut at = start;
    let mut before = "";
    while let Some(first) = text[at..end].chars().next() {
        let rest = &text[at..end];
        let length = match first {
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |close| close + 2),
            first if is_word(first) => rest.find(|char| !is_word(char) && char != '.').unwrap_or(rest.len()),
            '=' | '!' | '<' | '>' => rest.find(|char| !matches!(char, '=' | '!' | '<' | '>')).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let word = &rest[..length];
        let kind = match first {
            '"' | '\'' => Some(TokenKind::Text),
            '0'..='9' => Some(TokenKind::Number),
            first if is_word(first) && KEYWORDS.contains(&word) => Some(TokenKind::Keyword),
            first if is_word(first) && matches!(before, "|" | "is") => Some(TokenKind::Tool),
            first if is_word(first) => Some(TokenKind::Key),
            '=' | '!' | '<' | '>' | '|' | '+' | '*' | '/' | '~' => Some(TokenKind::Operator),
            _ => None,
        };
        if let Some(kind) = kind.filter(|_| !word.contains('\n')) {
            tokens.push(Token { span: Span::new(at, at + length), kind, modifiers: 0 });
        }
        // `is not defined` still asks for a test.
        let is_test_denied = before == "is" && word == "not";
        if !is_test_denied && !word.trim().is_empty() {
            before = word;
        }
        at += length;
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
