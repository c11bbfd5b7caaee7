//! Finds the secrets of a text.

use std::ops::Range;

use super::{SecretKind, numbers, patterns::PATTERNS};

/// The delimiters of a reference.
const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";
/// Characters of the longest name, with what may stand behind its beginning.
const MAX_CUT: usize = 80;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: SecretKind,
    /// The bytes of its value.
    pub range: Range<usize>,
}

/// Finds the secrets of a text, in order and without overlap; `before` is the previous message of the same person.
///
/// ```
/// use trellis_orchestrator::seal::{SecretKind, find};
///
/// let found = find("hunter2", Some("my password is"));
/// assert_eq!((found[0].kind, found[0].range.clone()), (SecretKind::Password, 0..7));
/// assert!(find("where can I change my password?", None).is_empty());
/// ```
pub fn find(text: &str, before: Option<&str>) -> Vec<Finding> {
    let references: Vec<Range<usize>> = references(text).map(|(place, _)| place).collect();
    let expected = before.and_then(|before| PATTERNS.announced_value(text, before));
    // What is declared secret is a secret whole; other findings in the same place are part of it.
    let found = PATTERNS.find(text).chain(numbers::numbers(text)).chain(entropy(text)).chain(expected);
    let mut found: Vec<(usize, Finding)> = found.map(|(kind, range)| Finding { kind, range }).enumerate().collect();
    found.retain(|(_, Finding { range, .. })| !range.is_empty() && !touches(&references, range));
    found.sort_by_key(|(_, finding)| finding.range.start);
    let mut apart: Vec<(usize, Finding)> = Vec::new();
    for (order, finding) in found {
        match apart.last_mut().filter(|(_, last)| finding.range.start < last.range.end) {
            Some((first, last)) => {
                last.range.end = last.range.end.max(finding.range.end);
                if order < *first {
                    (*first, last.kind) = (order, finding.kind);
                }
            }
            None => apart.push((order, finding)),
        }
    }
    apart.into_iter().map(|(_, finding)| finding).collect()
}

/// The references of a text, `{{secret:NAME}}`, in order: their places and names. A text that only begins like one is none.
pub(super) fn references(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.match_indices(OPEN).filter_map(move |(start, _)| {
        let after = &text[start + OPEN.len()..];
        // A name is short, so that many beginnings cost no more than one.
        let length = after.bytes().position(|byte| byte == b'}' || byte == b'{')?;
        let name = after.get(..length).filter(|name| after[length..].starts_with(CLOSE) && trellis_host::secrets::is_name(name))?;
        Some((start..start + OPEN.len() + length + CLOSE.len(), name))
    })
}

/// Beginnings of references that end before they are one, in order: the places with the beginnings of names. A word or the text ends there.
pub(super) fn cut_references(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.match_indices(OPEN).filter_map(move |(start, _)| {
        let after = &text[start + OPEN.len()..];
        let is_end = |(_, char): &(usize, char)| char.is_whitespace() || *char == '…';
        // A name is short, so that many beginnings cost no more than one.
        let end = match after.char_indices().take(MAX_CUT).find(is_end) {
            Some((end, _)) => end,
            None if after.chars().nth(MAX_CUT).is_some() => return None,
            None => after.len(),
        };
        let word = &after[..end];
        let beginning = word.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
        trellis_host::secrets::is_name(beginning).then(|| (start..start + OPEN.len() + word.len(), beginning))
    })
}

/// Returns whether a range has a part in one of these, which are in order.
pub(super) fn touches(places: &[Range<usize>], range: &Range<usize>) -> bool {
    let after = places.partition_point(|place| place.end <= range.start);
    places.get(after).is_some_and(|place| place.start < range.end)
}

/// Words that only a machine makes: long, of mixed letters and digits, with no order in them. Hashes and ids of one case are none.
fn entropy(text: &str) -> impl Iterator<Item = (SecretKind, Range<usize>)> {
    let is_inner = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '+' | '/');
    let words = text.split(move |char| !is_inner(char)).map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word));
    let words = words.filter(|(_, word)| is_random(word)).map(|(start, word)| (start, without_path(&text[..start], word)));
    words.map(|(start, word)| {
        let padding = text[start + word.len()..].bytes().take(2).take_while(|byte| *byte == b'=').count();
        (SecretKind::Secret, start..start + word.len() + padding)
    })
}

/// A word of an address without the plain name behind its last slash.
fn without_path<'t>(before: &str, word: &'t str) -> &'t str {
    let is_address = before.rsplit(char::is_whitespace).next().is_some_and(|start| start.contains("://"));
    let plain = word.rsplit_once('/').filter(|(_, name)| is_address && name.chars().all(|char| char.is_ascii_alphabetic()));
    plain.map_or(word, |(front, _)| front)
}

fn is_random(word: &str) -> bool {
    let count = |is: fn(&char) -> bool| word.chars().filter(is).count();
    let (upper, lower, digits) = (count(char::is_ascii_uppercase), count(char::is_ascii_lowercase), count(char::is_ascii_digit));
    let slashes = word.matches('/').count();
    let is_path = slashes > 1 && word.split('/').any(|part| part.len() > 2 && part.chars().all(|char| char.is_ascii_lowercase()));
    (32..=512).contains(&word.len()) && upper >= 5 && lower >= 5 && digits >= 3 && !is_path && bits(word) >= 4.2
}

/// Bits of a character, by how often each occurs.
#[expect(clippy::cast_precision_loss, reason = "words are short")]
fn bits(word: &str) -> f64 {
    let mut counts = [0_usize; 256];
    word.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = word.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| *count as f64 / length).map(|share| -share * share.log2()).sum()
}
