//! Taking entries out of a mapping, in lines or in braces, and turning one into a comment.
//!
//! **Invariant:** the removed text has nothing but the entries, blanks, commas and line breaks; comments stay.

use std::ops::Range;

use super::super::{
    format::layout::{Block, BlockData, BlockEntry},
    scalar::Plain,
};
use trellis_base::span::Span;

/// One edit.
pub(super) type Edit = (Span, String);

fn edit(range: Range<usize>, text: impl Into<String>) -> Edit {
    (Span::new(range.start, range.end), text.into())
}

/// Returns the edits that remove these entries (`gone`, ascending) from the mapping `map`, each with the entry that it is for; `None` for one whose
/// layout does not allow it.
pub(super) fn without(text: &str, map: &Block<'_>, gone: &[usize]) -> Vec<Option<Vec<Edit>>> {
    let BlockData::Map { flow, entries } = &map.data else { return vec![None; gone.len()] };
    let mut edits = vec![None; gone.len()];
    let mut at = 0;
    while at < gone.len() {
        let mut end = at + 1;
        while end < gone.len() && gone[end] == gone[end - 1] + 1 {
            end += 1;
        }
        let run = gone[at]..gone[end - 1] + 1;
        if *flow || follows_a_dash(text, &entries[run.start]) {
            // One edit for neighbours: the first has it, the others come with it.
            if let Some(first) = run_of(text, entries, run, *flow) {
                edits[at..end].fill(Some(Vec::new()));
                edits[at] = Some(vec![first]);
            }
        } else {
            for (edit, index) in edits[at..end].iter_mut().zip(run) {
                *edit = lines_of(text, &entries[index]).map(|found| vec![found]);
            }
        }
        at = end;
    }
    edits
}

/// Neighbours in braces, or behind the dash of an item.
fn run_of(text: &str, entries: &[BlockEntry<'_>], run: Range<usize>, flow: bool) -> Option<Edit> {
    let (start, end) = (entries[run.start].start, entries[run.end - 1].end());
    let is_gap = |gap: Range<usize>| text.get(gap).is_some_and(|gap| gap.bytes().all(|byte| byte == b',' || byte.is_ascii_whitespace()));
    let mut between = entries[run.clone()].windows(2).map(|pair| pair[0].end()..pair[1].start);
    if !between.all(is_gap) {
        return None;
    }
    if let Some(next) = entries.get(run.end) {
        if is_gap(end..next.start) {
            return Some(edit(start..next.start, ""));
        }
        // `- condition: "" # why`: the comment stays behind the dash.
        let comment = end + text.get(end..next.start)?.find('#')?;
        return (!flow).then(|| edit(start..comment, ""));
    }
    match run.start.checked_sub(1).map(|before| &entries[before]) {
        Some(before) if flow && is_gap(before.end()..start) => Some(edit(before.end()..end, "")),
        Some(_) => None,
        None if flow => Some(edit(start..end, "")),
        None => Some(edit(start..end, "{}")),
    }
}

/// Removes an entry on lines of its own; a comment behind it stays.
fn lines_of(text: &str, entry: &BlockEntry<'_>) -> Option<Edit> {
    let line = line_start(text, entry.start);
    if !text[line..entry.start].bytes().all(|byte| byte == b' ') {
        return None;
    }
    // An entry without a value ends before its colon.
    let colon = || Some(entry.end() + text[entry.end()..].find(':')? + 1);
    let end = if entry.value.range.is_empty() { colon()? } else { entry.end() };
    let next = text[end..].find('\n').map_or(text.len(), |found| end + found + 1);
    let rest = &text[end..next];
    match rest.trim() {
        "" => Some(edit(line..next, "")),
        comment if comment.starts_with('#') => Some(edit(entry.start..end + rest.find('#')?, "")),
        _ => None,
    }
}

fn follows_a_dash(text: &str, entry: &BlockEntry<'_>) -> bool {
    text[line_start(text, entry.start)..entry.start].contains('-')
}

/// The edits that turn an entry on lines of its own into a comment.
pub(super) fn commented(text: &str, entry: &BlockEntry<'_>) -> Option<Vec<Edit>> {
    let first = line_start(text, entry.start);
    if first != entry.start || entry.value.pinned {
        return None;
    }
    let mut edits = Vec::new();
    let mut at = first;
    while at < entry.end() {
        let next = text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
        let mark = if text[at..next].trim().is_empty() { "#" } else { "# " };
        edits.push(edit(at..at, mark));
        at = next;
    }
    Some(edits)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |before| before + 1)
}

/// Returns the text of a scalar that no alias repeats.
pub(super) fn scalar<'p>(piece: &'p Block<'_>) -> Option<&'p str> {
    match &piece.data {
        BlockData::Scalar(text) if !piece.pinned => Some(text),
        _ => None,
    }
}

/// Returns whether it is empty.
pub(super) fn is_blank(piece: &Block<'_>) -> bool {
    // Quotes are part of the range, and an absent value has none.
    let is_plain = |text: &str| piece.range.is_empty() || piece.range.len() == text.len();
    scalar(piece).is_some_and(|text| text.trim().is_empty() || Plain::is_null(text) && is_plain(text))
}

/// A range without the quotes around it.
pub(super) fn inner(text: &str, range: &Range<usize>) -> Range<usize> {
    let quotes = usize::from(range.len() > 1 && text[range.clone()].starts_with(['"', '\'']));
    range.start + quotes..range.end - quotes
}
