//! Slots: the numbers of the tracked keys, and the width of the pages that hold their types.

/// A key that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

/// `input` and `tool_result`, which are present only while their node resolves (language 4.3).
pub(crate) const INPUT: Slot = Slot(0);
pub(crate) const RESULT: Slot = Slot(1);

/// Number of those slots. They are stored apart from the others because they change at every step.
pub(crate) const OWN: usize = 2;

/// No page is narrower.
pub(crate) const MIN_PAGE_SLOTS: usize = 16;

/// The approximate number of pages of a graph: copying a page costs less than counting the references to the others.
const TARGET_PAGES: usize = 4;

/// No page is wider: where keys are very many, a point changes few of them.
const MAX_PAGE_SLOTS: usize = 256;

/// Slots that edits may take before everything is analysed from scratch.
const SPARE_SLOTS: usize = 8;

/// Returns the number of slots to allocate for `needed` ones.
pub(crate) fn room(needed: usize) -> usize {
    let needed = needed.saturating_sub(OWN) + SPARE_SLOTS;
    needed.next_multiple_of(width(needed)) + OWN
}

/// Returns the slots of one page, for this number of needed slots.
pub(crate) fn width(needed: usize) -> usize {
    needed.div_ceil(TARGET_PAGES).next_power_of_two().clamp(MIN_PAGE_SLOTS, MAX_PAGE_SLOTS)
}
