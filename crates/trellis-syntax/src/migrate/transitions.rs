//! `text` of a transition: in Go Trellis a transition with a text and no condition is taken when the input is that text.

use super::{
    super::format::layout::{Block, BlockData, BlockEntry},
    Change,
    entries::{inner, is_blank},
};
use trellis_base::{span::Span, value::Value};

/// Returns the changes that turn the texts in `transitions` into conditions. There are some only if one of them precedes another transition, which
/// it would hide: the last one may be a note, as it is here.
pub(super) fn conditions(text: &str, transitions: &Block<'_>, has_to: bool) -> Vec<Change> {
    let BlockData::List(items) = &transitions.data else { return Vec::new() };
    let texts: Vec<Option<&BlockEntry<'_>>> = items.iter().map(text_alone).collect();
    let hides = |at: usize| texts[at].is_some() && (at + 1 < items.len() || has_to);
    if !(0..items.len()).any(hides) {
        return Vec::new();
    }
    texts.iter().flatten().filter_map(|entry| condition(text, entry)).collect()
}

/// The `text` of a transition that has no condition.
fn text_alone<'p, 't>(item: &'p Block<'t>) -> Option<&'p BlockEntry<'t>> {
    let BlockData::Map { entries, .. } = &item.data else { return None };
    let has_condition = entries.iter().any(|entry| entry.name == "condition" && !is_blank(&entry.value));
    entries.iter().find(|entry| entry.name == "text" && !is_blank(&entry.value)).filter(|_| !has_condition)
}

fn condition(text: &str, entry: &BlockEntry<'_>) -> Option<Change> {
    let BlockData::Scalar(answer) = &entry.value.data else { return None };
    if entry.value.pinned || answer.contains(char::is_control) {
        return None;
    }
    let literal = answer.replace('\\', r"\\").replace('\'', r"\'");
    let condition = format!("input == '{literal}'");
    let range = entry.value.range.clone();
    let is_plain = inner(text, &range) == range
        && !answer.chars().any(|char| matches!(char, '"' | '\\' | '\'' | ',' | '[' | ']' | '{' | '}' | ':' | '#'));
    let written = if is_plain { condition } else { Value::text(condition).to_json() };
    Some(Change {
        at: Span::new(entry.start, range.end),
        what: "a text alone is an answer that is compared: `condition`".into(),
        edits: vec![(Span::new(entry.key.start, entry.key.end), "condition".into()), (Span::new(range.start, range.end), written)],
    })
}
