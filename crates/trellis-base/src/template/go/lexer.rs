//! Tokens of one action.

use std::ops::Range;

use super::super::Mistake;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GoToken<'s> {
    /// `name`
    Word(&'s str),
    /// `.a`, without the dot; a field of the value directly before it, or of `.`
    Field(&'s str),
    /// `.`
    Dot,
    /// `$`
    Root,
    /// `$name`
    Variable(&'s str),
    /// `:=`
    Declare,
    /// `,`
    Comma,
    /// `"…"` or `` `…` ``
    Text(String),
    /// `-1`
    Int(i64),
    /// A `u64` beyond `i64`.
    UInt(u64),
    /// `1.5`
    Float(f64),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `|`
    Pipe,
}

/// A token and its bytes.
pub(super) type Placed<'s> = (GoToken<'s>, Range<usize>);

/// Reads tokens with one of lookahead.
pub(super) struct GoLexer<'s> {
    source: &'s str,
    at: usize,
    end: usize,
    peeked: Option<Option<Placed<'s>>>,
}

impl<'s> GoLexer<'s> {
    pub(super) fn new(source: &'s str, range: Range<usize>) -> Self {
        Self { source, at: range.start, end: range.end, peeked: None }
    }

    /// The next token, which stays.
    pub(super) fn peek(&mut self) -> Result<Option<&Placed<'s>>, Mistake> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read()?);
        }
        Ok(self.peeked.as_ref().and_then(Option::as_ref))
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Option<Placed<'s>>, Mistake> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    /// Returns the end of the action, the place of a missing token.
    pub(super) fn end(&self) -> Range<usize> {
        self.end..self.end
    }

    fn read(&mut self) -> Result<Option<Placed<'s>>, Mistake> {
        let rest = &self.source[self.at..self.end];
        let start = self.end - rest.trim_start().len();
        let rest = &self.source[start..self.end];
        let Some(first) = rest.chars().next() else {
            self.at = self.end;
            return Ok(None);
        };
        let (token, length) = match first {
            '(' => (GoToken::Open, 1),
            ')' => (GoToken::Close, 1),
            '|' => (GoToken::Pipe, 1),
            '"' | '`' => self.text(start, first)?,
            ',' => (GoToken::Comma, 1),
            ':' if rest.starts_with(":=") => (GoToken::Declare, 2),
            '$' => match name(&rest[1..]) {
                0 => (GoToken::Root, 1),
                length => (GoToken::Variable(&rest[..=length]), length + 1),
            },
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(rest, start)?,
            '.' => match name(&rest[1..]) {
                0 => (GoToken::Dot, 1),
                length => (GoToken::Field(&rest[1..=length]), length + 1),
            },
            '-' | '+' | '0'..='9' => number(rest, start)?,
            _ => match name(rest) {
                0 => {
                    let place = start..start + first.len_utf8();
                    return Err(Mistake::syntax(place, format!("`{first}` has no meaning here")).help(super::SUBSET));
                }
                length => (GoToken::Word(&rest[..length]), length),
            },
        };
        self.at = start + length;
        Ok(Some((token, start..start + length)))
    }

    /// A quoted text with Go's escapes, or a raw one.
    fn text(&self, start: usize, quote: char) -> Result<(GoToken<'s>, usize), Mistake> {
        let length = quoted(&self.source[start..self.end]).ok_or_else(|| Mistake::syntax(start..start + 1, "this text has no end"))?;
        let inner = &self.source[start + 1..start + length - 1];
        if quote == '`' {
            return Ok((GoToken::Text(inner.to_owned()), length));
        }
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.char_indices();
        while let Some((at, char)) = chars.next() {
            if char != '\\' {
                text.push(char);
                continue;
            }
            let escape = chars.next().map_or('\\', |(_, escape)| escape);
            let digits = match escape {
                'n' => '\n'.into(),
                't' => '\t'.into(),
                'r' => '\r'.into(),
                '"' | '\\' | '\'' => escape.into(),
                'u' | 'U' | 'x' => {
                    let count = if escape == 'u' {
                        4
                    } else if escape == 'U' {
                        8
                    } else {
                        2
                    };
                    let from = at + 2;
                    chars.nth(count - 1);
                    inner.get(from..from + count).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32)
                }
                _ => None,
            };
            let place = start + 1 + at;
            text.push(digits.ok_or_else(|| Mistake::syntax(place..place + 1 + escape.len_utf8(), "this escape is not known"))?);
        }
        Ok((GoToken::Text(text), length))
    }
}

/// Bytes of the name that `text` begins with.
fn name(text: &str) -> usize {
    if !text.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        return 0;
    }
    text.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(text.len())
}

fn number<'s>(rest: &'s str, start: usize) -> Result<(GoToken<'s>, usize), Mistake> {
    let length = rest
        .char_indices()
        .take_while(|&(at, char)| {
            char.is_ascii_alphanumeric()
                || char == '.'
                || char == '_'
                || (matches!(char, '+' | '-') && (at == 0 || rest[..at].ends_with(['e', 'E'])))
        })
        .count();
    let written = &rest[..length];
    let token = (written.parse().map(GoToken::Int)).or_else(|_| written.parse().map(GoToken::UInt)).ok().or_else(|| {
        written.parse().ok().filter(|number: &f64| number.is_finite() && written.contains(['.', 'e', 'E'])).map(GoToken::Float)
    });
    token.map(|token| (token, length)).ok_or_else(|| Mistake::syntax(start..start + length, format!("`{written}` is no number of 64 bits")))
}

/// Bytes of the quoted text that `text` begins with, quotes included.
fn quoted(text: &str) -> Option<usize> {
    let quote = *text.as_bytes().first()?;
    let mut at = 1;
    while let Some(&byte) = text.as_bytes().get(at) {
        at += match byte {
            b'\\' if quote == b'"' => 2,
            _ if byte == quote => return Some(at + 1),
            b'\n' if quote == b'"' => return None,
            _ => 1,
        };
    }
    None
}

/// Returns the place of the `}}` of an action whose inside begins at `from`.
pub(super) fn close(source: &str, from: usize) -> Option<usize> {
    let rest = &source[from..];
    let inside = rest.trim_start();
    if inside.starts_with("/*") {
        let begin = source.len() - inside.len();
        let end = begin + 2 + source[begin + 2..].find("*/")? + 2;
        return Some(end + source[end..].find("}}")?);
    }
    let mut at = from;
    loop {
        let next = at + source[at..].find(['"', '`', '}'])?;
        if source[next..].starts_with("}}") {
            return Some(next);
        }
        at = match source.as_bytes()[next] {
            b'}' => next + 1,
            // A text without an end is reported when it is read.
            _ => next + quoted(&source[next..]).unwrap_or(1),
        };
    }
}
