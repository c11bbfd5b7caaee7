//! Selection of fixes that can be applied together, and the text after them.
//!
//! **Invariant:** a fix is applied whole or not at all, and no two that are applied together touch each other.

use std::collections::BTreeMap;

use super::{Diagnostic, FilePath, TextEdit};

/// Returns the findings whose fixes can be applied at once, in the order of the findings. Of two that touch each other the first is taken; the
/// other has its turn when its graph was compiled with the first.
pub fn together(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut taken: BTreeMap<(&FilePath, u32), u32> = BTreeMap::new();
    let mut chosen = Vec::new();
    for diagnostic in diagnostics {
        let Some(fix) = &diagnostic.fix else { continue };
        let is_free = |edit: &TextEdit| {
            let (path, span) = (&edit.place.path, edit.place.span);
            let before = taken.range(..=(path, span.end)).next_back();
            before.is_none_or(|((other, _), end)| *other != path || *end < span.start)
        };
        let touch = |one: &TextEdit, other: &TextEdit| {
            let (one, other) = (&one.place, &other.place);
            one.path == other.path && one.span.start <= other.span.end && other.span.start <= one.span.end
        };
        let apart = fix.edits.iter().enumerate().all(|(at, one)| fix.edits[..at].iter().all(|other| !touch(one, other)));
        if apart && !fix.edits.is_empty() && fix.edits.iter().all(is_free) {
            taken.extend(fix.edits.iter().map(|edit| ((&edit.place.path, edit.place.span.start), edit.place.span.end)));
            chosen.push(diagnostic);
        }
    }
    chosen
}

/// Returns the text of a file after edits of it that do not touch each other; `None` if one of them names bytes that the text does not have.
pub fn edited<'e>(text: &str, edits: impl IntoIterator<Item = &'e TextEdit>) -> Option<String> {
    let mut edits: Vec<&TextEdit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| edit.place.span);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let range = edit.place.span.range();
        out.push_str(text.get(at..range.start)?);
        out.push_str(&edit.text);
        text.get(range.clone())?;
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnostic::Code, span::Span};

    fn found(start: usize, end: usize, text: &str) -> Diagnostic {
        let span = Span::new(start, end);
        Diagnostic::new(Code::UnknownKey, &"a.md".into(), span, "odd").fix("mend", span, text)
    }

    #[test]
    fn fixes_that_touch_wait_for_each_other() {
        let all = [found(0, 2, "x"), found(1, 3, "y"), found(2, 2, "z"), found(4, 4, "v"), found(3, 5, "w"), found(6, 7, "u")];
        let chosen = together(&all);
        assert_eq!(chosen, [&all[0], &all[3], &all[5]]);
        let edits = chosen.iter().flat_map(|found| &found.fix.as_ref().unwrap().edits);
        assert_eq!(edited("ABCDEFGH", edits).unwrap(), "xCDvEFuH");
    }

    #[test]
    fn a_long_edit_keeps_those_inside_it_away_and_files_do_not_meet() {
        let mut other = found(3, 4, "o");
        other.fix.as_mut().unwrap().edits[0].place.path = "b.md".into();
        let all = [found(0, 9, "x"), found(3, 4, "y"), other];
        assert_eq!(together(&all), [&all[0], &all[2]]);
    }

    #[test]
    fn bytes_that_are_not_there_are_no_text() {
        for (start, end) in [(1, 2), (9, 9), (0, 9)] {
            assert_eq!(edited("é", found(start, end, "x").fix.iter().flat_map(|fix| &fix.edits)), None);
        }
        assert_eq!(edited("é", []), Some("é".into()));
    }
}
