//! Templates that are only text and plain paths, `Dear {{ user.name }}`: rendered without any template engine. Also the whole of the `legacy` dialect.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::{Mistake, secret::UsedSecret};
use crate::{path::KeyPath, scope::Scope, value::Value};

/// A piece of such a template; ranges are bytes of its text.
#[derive(Clone, Debug)]
pub(super) enum SegmentPiece {
    /// Text as written.
    Text(Range<usize>),
    /// The value at a path, and the bytes of the path.
    Path(KeyPath, Range<usize>),
    /// The place of a secret, and the bytes of its name.
    Secret(Range<usize>),
}

/// The reason why a path could not be read.
pub(super) enum Unreadable {
    /// It has no value.
    Unset(Range<usize>),
    /// The text is longer than the bound.
    TooLong,
}

/// Words that the jinja dialect takes for values or keywords.
const WORDS: &[&str] = &["true", "True", "false", "False", "none", "None", "loop", "self", "not", "if", "else", "and", "or", "in", "is"];

/// The pieces of a template in the jinja or Go dialect (`dots` in front of paths), or `None` if it needs the engine.
pub(super) fn split(text: &str, dots: bool, secrets: &[UsedSecret]) -> Option<Vec<SegmentPiece>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = memchr(b'{', &text.as_bytes()[at..]) {
        let open = at + found;
        match text.as_bytes().get(open + 1) {
            Some(b'{') => {
                let close = open + 2 + closing(&text[open + 2..])?;
                let piece = secret_at(secrets, open).or_else(|| plain_path(text, open + 2..close, dots))?;
                if open > from {
                    pieces.push(SegmentPiece::Text(from..open));
                }
                pieces.push(piece);
                (from, at) = (close + 2, close + 2);
            }
            Some(b'%' | b'#') if !dots => return None,
            _ => at = open + 1,
        }
    }
    if from < text.len() {
        pieces.push(SegmentPiece::Text(from..text.len()));
    }
    Some(pieces)
}

/// Returns the begin of the first `}}`.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr_iter(b'}', bytes).find(|at| bytes.get(at + 1) == Some(&b'}'))
}

fn secret_at(secrets: &[UsedSecret], open: usize) -> Option<SegmentPiece> {
    secrets.iter().find(|found| found.place.start == open).map(|found| SegmentPiece::Secret(found.name.clone()))
}

/// A path of ASCII names without indexes, which the engine and [`KeyPath`] read alike.
fn plain_path(text: &str, range: Range<usize>, dots: bool) -> Option<SegmentPiece> {
    let inner = trimmed(text, range);
    let mut written = &text[inner.clone()];
    if dots {
        written = written.strip_prefix('.')?;
    }
    let name = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut parts = written.split('.');
    if !parts.clone().all(name) || (!dots && WORDS.contains(&parts.next()?)) {
        return None;
    }
    Some(SegmentPiece::Path(KeyPath::parse(written)?, inner))
}

/// The pieces of a template in the legacy dialect. `{{` without `}}` is text.
///
/// # Errors
/// The text between the braces is no key.
pub(super) fn split_legacy(text: &str, secrets: &[UsedSecret]) -> Result<Vec<SegmentPiece>, Vec<Mistake>> {
    let mut pieces = Vec::new();
    let mut mistakes = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find("{{").map(|found| from + found) {
        let Some(close) = text[open + 2..].find("}}").map(|found| open + 2 + found) else { break };
        if open > from {
            pieces.push(SegmentPiece::Text(from..open));
        }
        let inner = trimmed(text, open + 2..close);
        from = close + 2;
        if let Some(secret) = secret_at(secrets, open) {
            pieces.push(secret);
            continue;
        }
        match KeyPath::parse(&text[inner.clone()]).filter(KeyPath::is_key) {
            Some(path) => pieces.push(SegmentPiece::Path(path, inner)),
            None if inner.is_empty() => mistakes.push(Mistake::syntax(open..close + 2, "a key is missing here")),
            None => {
                let message = format!("`{}` is no key, and `templates: legacy` knows nothing else", one_line(&text[inner]));
                let help = "set `templates: jinja` in trellis.yaml for paths and expressions";
                mistakes.push(Mistake::syntax(open..close + 2, message).help(help));
            }
        }
    }
    if from < text.len() {
        pieces.push(SegmentPiece::Text(from..text.len()));
    }
    if mistakes.is_empty() { Ok(pieces) } else { Err(mistakes) }
}

/// `range` without the white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = &text[range.clone()];
    let start = range.start + inner.len() - inner.trim_start().len();
    start..(start + inner.trim().len())
}

/// Renders pieces; `secret` hears of each one with its offset in the result.
pub(super) fn render(
    text: &str,
    pieces: &[SegmentPiece],
    scope: &Scope,
    bytes: u64,
    mut secret: impl FnMut(usize, &str),
) -> Result<String, Unreadable> {
    use std::fmt::Write;

    let mut out = String::with_capacity(text.len() + 64);
    for piece in pieces {
        match piece {
            SegmentPiece::Text(range) => out.push_str(&text[range.clone()]),
            SegmentPiece::Path(path, range) => match scope.lookup(path).ok_or_else(|| Unreadable::Unset(range.clone()))? {
                Value::Text(value) => out.push_str(value),
                value => write!(out, "{value}").unwrap_or_default(),
            },
            SegmentPiece::Secret(name) => secret(out.len(), &text[name.clone()]),
        }
        if out.len() as u64 > bytes {
            return Err(Unreadable::TooLong);
        }
    }
    Ok(out)
}

/// Returns the text of an author, fit for a message of one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect()
}

/// Returns whether there may be a hole.
pub(super) fn has_brace(text: &str) -> bool {
    memchr(b'{', text.as_bytes()).is_some()
}
