//! Rewrites blocks: lines that still match keep their bytes, wildcards included.
//!
//! **Invariant:** a written block matches the actual lines, and is at least as specific as before.

use std::{borrow::Cow, ops::Range};

use trellis_project::sheet::Sheet;

use crate::compare::{ANY_TEXT, ESCAPED, differs, fits, is_any, segment};

/// The blocks that are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Those that hold no program line.
    New,
    /// Those too whose lines differ.
    All,
}

/// Returns the text of a sheet with these blocks rewritten.
pub fn rewritten(sheet: &Sheet, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = sheet.text.clone();
    edits.into_iter().rev().for_each(|(range, new)| text.replace_range(range, &new));
    text
}

/// Returns the text of a block after the actual lines, with this at the end of each line.
pub(crate) fn written(expected: &[&str], got: &[&str], ending: &str) -> String {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    let (mut at, mut to) = (0, 0);
    loop {
        let (end, got_end) = (segment(expected, at), segment(got, to));
        let (old, new) = (&expected[at..end], &got[to..got_end]);
        let merged = merged(old, new);
        // Lines that stayed can end a `...` too early: then it does not stay.
        let is_fit = differs(&merged.iter().map(|line| &**line).collect::<Vec<_>>(), new).is_none();
        lines.extend(if is_fit { merged } else { new.iter().map(|line| escaped(line)).collect() });
        match (expected.get(end), got.get(got_end)) {
            (Some(author), _) => lines.push((*author).into()),
            (None, Some(author)) => lines.push((*author).into()),
            (None, None) => break,
        }
        (at, to) = ((end + 1).min(expected.len()), (got_end + 1).min(got.len()));
    }
    lines.into_iter().map(|line| format!("{line}{ending}")).collect()
}

/// Returns a printed line in the form of a block: text with the form of a wildcard is escaped.
fn escaped(line: &str) -> Cow<'_, str> {
    if line.contains(ANY_TEXT) { line.replace(ANY_TEXT, ESCAPED).into() } else { line.into() }
}

/// The lines between two author lines: by longest common subsequence, those that fit stay as they are.
fn merged<'l>(expected: &[&'l str], got: &[&'l str]) -> Vec<Cow<'l, str>> {
    let plain: Vec<usize> = (0..expected.len()).filter(|&at| !is_any(expected[at])).collect();
    // Longest common subsequences of the remaining lines of both.
    let mut longest = vec![vec![0_usize; got.len() + 1]; plain.len() + 1];
    for (at, &line) in plain.iter().enumerate().rev() {
        for to in (0..got.len()).rev() {
            longest[at][to] =
                if fits(expected[line], got[to]) { longest[at + 1][to + 1] + 1 } else { longest[at + 1][to].max(longest[at][to + 1]) };
        }
    }
    let mut pairs = Vec::new();
    let (mut at, mut to) = (0, 0);
    while at < plain.len() && to < got.len() {
        if fits(expected[plain[at]], got[to]) {
            pairs.push((plain[at], to));
            (at, to) = (at + 1, to + 1);
        } else if longest[at + 1][to] >= longest[at][to + 1] {
            at += 1;
        } else {
            to += 1;
        }
    }
    let mut lines: Vec<Cow<'l, str>> = Vec::new();
    let mut next = 0;
    for (at, to) in pairs {
        // A `...` stays while the line behind it does.
        if at > 0 && is_any(expected[at - 1]) {
            lines.push(expected[at - 1].into());
        } else {
            lines.extend(got[next..to].iter().map(|line| escaped(line)));
        }
        lines.push(expected[at].into());
        next = to + 1;
    }
    match expected.last() {
        // The last one matches all lines after the ones that stayed.
        Some(last) if is_any(last) && (next > 0 || expected.len() == 1) => lines.push((*last).into()),
        _ => lines.extend(got[next..].iter().map(|line| escaped(line))),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::mismatch;

    fn update(expected: &str, got: &str) -> String {
        written(&expected.lines().collect::<Vec<_>>(), &got.lines().collect::<Vec<_>>(), "\n")
    }

    #[test]
    fn what_fits_keeps_its_bytes_and_wildcards_stay_with_the_line_behind_them() {
        assert_eq!(update("> x", "| a\n> x\n| b"), "| a\n> x\n| b\n");
        assert_eq!(update("| a [..]\n| old\n> x", "| a 1\n| new\n> x\n* end"), "| a [..]\n| new\n> x\n* end\n");
        assert_eq!(update("...\n| b\n> x", "| 1\n| 2\n| b\n| c\n> x"), "...\n| b\n| c\n> x\n");
        assert_eq!(update("...\n| gone\n> x", "| 1\n> x"), "| 1\n> x\n");
        assert_eq!(update("...\n> x\n| a", "| 1\n> x\n| b"), "...\n> x\n| b\n");
    }

    #[test]
    fn what_is_written_fits_and_makes_no_wildcard() {
        assert_eq!(update("| a\n> x", "| [..] a\n> x"), "| \\[..] a\n> x\n");
        assert_eq!(update("", "| \\[..]"), "| \\\\[..]\n");
        // The first `| b` would end the `...`.
        for (expected, got) in [("...\n| b\n| c", "| b\n| 1\n| b\n| c"), ("...\n| b\n...\n| b", "| b\n| c"), ("", "| \\[..]\n| [..]")] {
            let (new, got) = (update(expected, got), got.lines().collect::<Vec<_>>());
            assert_eq!(mismatch(&new.lines().collect::<Vec<_>>(), &got), None, "{new}");
        }
    }
}
