//! The order of keys in braces: `key: value` pairs change places, and the text between them stays.

use std::ops::Range;

use super::{
    edits::Edits,
    layout::{Block, BlockEntry},
};

/// Returns the inside of a mapping in braces with its pairs in the order of `ranks`; `None` if other text is between them.
pub(super) fn reordered(
    text: &str,
    piece: &Block<'_>,
    entries: &[BlockEntry<'_>],
    ranks: &[usize],
    edits: &Edits<'_>,
) -> Option<(Range<usize>, String)> {
    let whole = &text[piece.range.clone()];
    let inside = piece.range.start + 1..piece.range.end.checked_sub(1)?;
    if !whole.starts_with('{') || !whole.ends_with('}') {
        return None;
    }
    let is_gap = |gap: Range<usize>| text.get(gap).is_some_and(|gap| gap.bytes().all(|byte| byte == b',' || byte.is_ascii_whitespace()));
    let ends = std::iter::once(inside.start).chain(entries.iter().map(BlockEntry::end));
    let starts = entries.iter().map(|entry| entry.start).chain([inside.end]);
    // A value that is missing has no place that could be given to another.
    if entries.iter().any(|entry| entry.value.range.is_empty()) || !ends.zip(starts).all(|(end, start)| is_gap(end..start)) {
        return None;
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| ranks[*at]);
    let mut out = String::with_capacity(inside.len());
    let mut at = inside.start;
    for (place, moved) in entries.iter().zip(order) {
        out.push_str(&text[at..place.start]);
        out.push_str(&edits.applied(entries[moved].start..entries[moved].end()));
        at = place.end();
    }
    out.push_str(&text[at..inside.end]);
    Some((inside, out))
}
