//! The words of a condition, with their places.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A path, a predicate, or a word such as `not`.
    Word,
    /// A text that begins like a number.
    Number,
    /// Quoted text, with its quotes.
    Text,
    /// Quoted text without its closing quote.
    Unclosed,
    /// Anything else.
    Symbol,
}

/// One word of a condition.
#[derive(Clone, Debug)]
pub(super) struct ConditionToken<'c> {
    pub(super) kind: TokenKind,
    pub(super) text: &'c str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl ConditionToken<'_> {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Cuts a condition into words; every byte that is not blank is in one of them.
pub(super) struct ConditionLexer<'c> {
    text: &'c str,
    at: usize,
}

/// Symbols of more than one character, longest first.
const LONG: [&str; 12] = ["===", "!==", "==", "!=", "<=", ">=", "&&", "||", "{{", "}}", "{%", "%}"];

impl<'c> ConditionLexer<'c> {
    pub(super) fn new(text: &'c str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'c> Iterator for ConditionLexer<'c> {
    type Item = ConditionToken<'c>;

    fn next(&mut self) -> Option<ConditionToken<'c>> {
        let start = self.at + blanks(&self.text[self.at..]);
        let rest = &self.text[start..];
        let first = rest.chars().next()?;
        let second = rest[first.len_utf8()..].chars().next();
        let negative = first == '-' && second.is_some_and(|digit| digit.is_ascii_digit());
        let (kind, length) = if let '"' | '\'' = first {
            quoted(rest, rest.as_bytes()[0])
        } else if first.is_ascii_digit() || negative {
            (TokenKind::Number, number(rest))
        } else if is_word(first) || first == '.' {
            (TokenKind::Word, word(rest))
        } else {
            let long = LONG.iter().find(|symbol| rest.starts_with(**symbol));
            (TokenKind::Symbol, long.map_or(first.len_utf8(), |symbol| symbol.len()))
        };
        self.at = start + length;
        Some(ConditionToken { kind, text: &rest[..length], start, end: start + length })
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Counts the bytes of blanks at the begin of a text.
fn blanks(text: &str) -> usize {
    let spaces = text.bytes().take_while(|byte| *byte == b' ').count();
    match text.as_bytes().get(spaces) {
        Some(byte) if byte.is_ascii_graphic() => spaces,
        _ => text.len() - text.trim_start().len(),
    }
}

/// Counts the bytes of the word at the begin of a text.
fn word(rest: &str) -> usize {
    let ascii = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count();
    match rest.as_bytes().get(ascii) {
        Some(byte) if !byte.is_ascii() => rest.find(|char| !is_word(char) && char != '-' && char != '.').unwrap_or(rest.len()),
        _ => ascii,
    }
}

/// A number with the letters that follow it directly: `1.5e-3`, but also `12ab`, so that it can be refused as a whole.
fn number(rest: &str) -> usize {
    let mut before = ' ';
    let end = rest.char_indices().find(|&(at, char)| {
        let sign = matches!(char, '-' | '+') && (at == 0 || matches!(before, 'e' | 'E'));
        before = char;
        !(is_word(char) || char == '.' || sign)
    });
    end.map_or(rest.len(), |(at, _)| at)
}

fn quoted(rest: &str, quote: u8) -> (TokenKind, usize) {
    let mut escaped = false;
    // Neither byte is part of another character.
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        if byte == quote && !escaped {
            return (TokenKind::Text, at + 1);
        }
        escaped = byte == b'\\' && !escaped;
    }
    (TokenKind::Unclosed, rest.len())
}
