//! Replacements in a text, collected from the inside out: an enclosing one includes the earlier ones in it.
//!
//! **Invariant:** replacements are in the order of the text and do not overlap.

use std::ops::Range;

/// Replacements in one text.
pub(super) struct Edits<'t> {
    text: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Edits<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, edits: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.edits.len()
    }

    /// Replaces a range behind all earlier ones.
    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.edits.push((range, text));
    }

    /// Replaces a range in the place of all replacements since there were `count`, which lie inside it.
    pub(super) fn replace_since(&mut self, count: usize, range: Range<usize>, text: String) {
        self.edits.truncate(count);
        self.edits.push((range, text));
    }

    /// The text of a range, with the replacements inside it made.
    pub(super) fn applied(&self, range: Range<usize>) -> String {
        let first = self.edits.partition_point(|(edit, _)| edit.start < range.start);
        let mut out = String::with_capacity(range.len());
        let mut at = range.start;
        for (edit, text) in self.edits[first..].iter().take_while(|(edit, _)| edit.end <= range.end) {
            out.push_str(&self.text[at..edit.start]);
            out.push_str(text);
            at = edit.end;
        }
        out.push_str(&self.text[at..range.end]);
        out
    }
}
