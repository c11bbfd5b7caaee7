//! Maps spans of an older text to the newest one.
//!
//! **Invariant:** a span that an edit touched is dropped, never guessed.

use trellis_core::span::Span;

/// One replacement: the bytes from `start` to `end` of the text before it, and the length of the new text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) length: u32,
}

impl Replaced {
    /// The one replacement that leads from a text to another: what both begin and end with stays.
    pub(crate) fn between(before: &str, after: &str) -> Self {
        let prefix = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
        let most = before.len().min(after.len()) - prefix;
        let ends = before.bytes().rev().zip(after.bytes().rev()).take(most);
        let suffix = ends.take_while(|(one, other)| one == other).count();
        let end = before.len() - suffix;
        Self { start: at(prefix), end: at(end), length: at(after.len() - suffix - prefix) }
    }

    /// The span in the text after it.
    fn carry(self, span: Span) -> Option<Span> {
        if self.end < span.start {
            let moved = |at: u32| at - (self.end - self.start) + self.length;
            return Some(Span { start: moved(span.start), end: moved(span.end) });
        }
        (self.start > span.end).then_some(span)
    }
}

/// Returns a span in the newest text; `None` if an edit touched it.
pub(crate) fn carry(span: Span, edits: &[Replaced]) -> Option<Span> {
    edits.iter().try_fold(span, |span, edit| edit.carry(span))
}

fn at(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_moves_with_the_text_before_it_and_is_dropped_where_it_is_touched() {
        let edit = Replaced { start: 4, end: 6, length: 5 };
        let span = |start, end| Span { start, end };
        assert_eq!(carry(span(0, 3), &[edit]), Some(span(0, 3)));
        assert_eq!(carry(span(8, 9), &[edit]), Some(span(11, 12)));
        for touched in [span(0, 4), span(3, 5), span(5, 5), span(6, 8), span(0, 9)] {
            assert_eq!(carry(touched, &[edit]), None, "{touched:?}");
        }
        assert_eq!(carry(span(20, 21), &[edit, edit]), Some(span(26, 27)));
    }

    #[test]
    fn a_whole_text_is_one_replacement() {
        assert_eq!(Replaced::between("abcd", "abxd"), Replaced { start: 2, end: 3, length: 1 });
        assert_eq!(Replaced::between("aa", "aaa"), Replaced { start: 2, end: 2, length: 1 });
        assert_eq!(Replaced::between("same", "same"), Replaced { start: 4, end: 4, length: 0 });
        assert_eq!(Replaced::between("", "x"), Replaced { start: 0, end: 0, length: 1 });
    }
}
