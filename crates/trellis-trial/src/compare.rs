//! Compares actual with expected lines: wildcards, the first difference, and the lines that are shown of it.

use std::ops::Range;

use trellis_core::transcript::is_program_line;

/// Lines shown before a difference, in it, and after it.
const AROUND: usize = 3;

/// The wildcard for any program lines.
pub(crate) const ANY_LINES: &str = "...";
/// The wildcard for any text within a line.
pub(crate) const ANY_TEXT: &str = "[..]";
/// The literal text `[..]`, escaped.
pub(crate) const ESCAPED: &str = "\\[..]";

/// The first difference between a block and the actual lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The line of the block, from 0; one after the last if lines are missing there.
    pub(crate) expected: usize,
    /// The line of the output, from 0; one after the last if lines are missing there.
    pub(crate) got: usize,
}

/// Returns whether a line of a block is the program's, or a wildcard for such lines.
pub(crate) fn is_expectation(line: &str) -> bool {
    is_program_line(line) || is_any(line)
}

/// Returns whether a line is the wildcard for any program lines.
pub(crate) fn is_any(line: &str) -> bool {
    line.trim_end() == ANY_LINES
}

/// Returns the first difference; both texts have the same author lines, in the same order.
pub(crate) fn mismatch(expected: &[&str], got: &[&str]) -> Option<Mismatch> {
    let (mut at, mut to) = (0, 0);
    loop {
        let end = segment(expected, at);
        let got_end = segment(got, to);
        if let Some((expected, got)) = differs(&expected[at..end], &got[to..got_end]) {
            return Some(Mismatch { expected: at + expected, got: to + got });
        }
        (at, to) = (end + 1, got_end + 1);
        match (end < expected.len(), got_end < got.len()) {
            (true, true) => {}
            (false, false) => return None,
            _ => return Some(Mismatch { expected: end, got: got_end }),
        }
    }
}

/// The end of the program lines that begin at `from`.
pub(crate) fn segment(lines: &[&str], from: usize) -> usize {
    let length = lines.get(from..).into_iter().flatten().take_while(|line| is_expectation(line)).count();
    from + length
}

/// Returns the first difference between the program lines after an author line, as an index into each list.
pub(crate) fn differs(expected: &[&str], got: &[&str]) -> Option<(usize, usize)> {
    let mut to = 0;
    let mut skips = false;
    for (at, pattern) in expected.iter().enumerate() {
        if is_any(pattern) {
            skips = true;
            continue;
        }
        let found = if skips { got[to..].iter().position(|line| fits(pattern, line)) } else { Some(0) };
        match found.map(|skipped| to + skipped).filter(|&found| got.get(found).is_some_and(|line| fits(pattern, line))) {
            Some(found) => to = found + 1,
            None => return Some((at, to)),
        }
        skips = false;
    }
    if skips || to == got.len() { None } else { Some((expected.len(), to)) }
}

/// Returns whether a line matches a pattern.
pub(crate) fn fits(pattern: &str, line: &str) -> bool {
    let pieces = pieces(pattern);
    let [first, rest @ ..] = &pieces[..] else { return pattern == line };
    let Some(mut left) = line.strip_prefix(&**first) else { return false };
    let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
    for piece in middle {
        let Some(found) = left.find(&**piece) else { return false };
        left = &left[found + piece.len()..];
    }
    left.ends_with(&**last)
}

/// Returns the lines of a block and of the output that show a difference: those before it and after it fit each other, one by one.
pub(crate) fn windows(expected: &[&str], got: &[&str], at: &Mismatch) -> [Range<usize>; 2] {
    // A wildcard for lines may stand for any number of them: no line before it has a counterpart.
    let same = expected[..at.expected].iter().rev().take(AROUND).take_while(|line| !is_any(line)).count().min(at.got);
    let takes_lines = same == 0 && at.expected > 0 && is_any(expected[at.expected - 1]);
    let (from, got_from) = (at.expected - same - usize::from(takes_lines), at.got - same);
    let (mut end, mut got_end) = (segment(expected, at.expected), segment(got, at.got));
    if end == at.expected && got_end == at.got {
        (end, got_end) = (expected.len(), got.len());
    }
    let (old, new) = (&expected[at.expected..end], &got[at.got..got_end]);
    let fitting = |(pattern, line): &(&&str, &&str)| fits(pattern, line);
    let common = old.iter().rev().zip(new.iter().rev()).take_while(fitting).count();
    let (length, got_length) = (old.len() - common, new.len() - common);
    if length.max(got_length) > AROUND + 1 {
        let end = |lines: &[&str], at: usize| (at + AROUND + 1).min(lines.len());
        return [from..end(expected, at.expected), got_from..end(got, at.got)];
    }
    let (end, got_end) = (at.expected + length, at.got + got_length);
    let after = expected[end..].iter().zip(&got[got_end..]).take(AROUND).take_while(fitting).count();
    [from..end + after, got_from..got_end + after]
}

/// Returns the lines of both sides, each with ` ` if it fits, `-` if it is missing, or `+` if it came instead: as few changes as possible.
///
/// `cost[at][to]` is the number of changes from these lines on, so that the path of least cost begins at the first lines.
pub(crate) fn changes<'l>(expected: &'l [String], got: &'l [String]) -> Vec<(char, &'l str)> {
    let cost = costs(expected, got);
    let (mut at, mut to, mut lines) = (0, 0, Vec::new());
    while at < expected.len() || to < got.len() {
        if expected.get(at).is_some_and(|line| is_any(line)) {
            lines.push((' ', &*expected[at]));
            while cost[at + 1][to] > cost[at][to] {
                lines.push((' ', &got[to]));
                to += 1;
            }
            at += 1;
        } else if at < expected.len() && to < got.len() && fits(&expected[at], &got[to]) && cost[at + 1][to + 1] == cost[at][to] {
            lines.push((' ', &got[to]));
            (at, to) = (at + 1, to + 1);
        } else if at < expected.len() && cost[at + 1][to] < cost[at][to] {
            lines.push(('-', &expected[at]));
            at += 1;
        } else {
            lines.push(('+', &got[to]));
            to += 1;
        }
    }
    // Findings have no wildcards: a line that only seems to be one differs.
    if lines.iter().any(|(sign, _)| *sign != ' ') || expected == got {
        return lines;
    }
    let sides = [('-', expected), ('+', got)];
    sides.into_iter().flat_map(|(sign, lines)| lines.iter().map(move |line| (sign, &**line))).collect()
}

fn costs(expected: &[String], got: &[String]) -> Vec<Vec<usize>> {
    let mut cost = vec![vec![0; got.len() + 1]; expected.len() + 1];
    for at in (0..=expected.len()).rev() {
        for to in (0..=got.len()).rev() {
            let line = got.get(to);
            cost[at][to] = match (expected.get(at), line) {
                (None, _) => got.len() - to,
                (Some(any), Some(line)) if is_any(any) && is_program_line(line) => cost[at + 1][to].min(cost[at][to + 1]),
                (Some(any), _) if is_any(any) => cost[at + 1][to],
                (Some(_), None) => cost[at + 1][to] + 1,
                (Some(pattern), Some(line)) => {
                    let changed = cost[at + 1][to].min(cost[at][to + 1]) + 1;
                    if fits(pattern, line) { changed.min(cost[at + 1][to + 1]) } else { changed }
                }
            };
        }
    }
    cost
}

/// The texts between the wildcards of a pattern.
fn pieces(pattern: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let length = if let Some(after) = rest.strip_prefix(ESCAPED) {
            pieces.last_mut().unwrap_or_else(|| unreachable!("there is a first piece")).push_str(ANY_TEXT);
            rest.len() - after.len()
        } else if let Some(after) = rest.strip_prefix(ANY_TEXT) {
            pieces.push(String::new());
            rest.len() - after.len()
        } else {
            pieces.last_mut().unwrap_or_else(|| unreachable!("there is a first piece")).push(char);
            char.len_utf8()
        };
        rest = &rest[length..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_text_within_a_line_and_can_be_escaped() {
        assert!(fits("| Hello [..].", "| Hello Ada."));
        assert!(!fits("| Hello [..].", "| Hello Ada!"));
        assert!(fits("| a[..]b[..]c", "| a1b2b3c"));
        assert!(fits("| \\[..]", "| [..]") && !fits("| \\[..]", "| x"));
        assert!(!fits("| ab[..]bc", "| abc"), "no letter counts twice");
    }

    #[test]
    fn any_lines_end_at_the_first_line_that_fits_and_never_pass_an_author_line() {
        let fit = |expected: &str, got: &str| mismatch(&expected.lines().collect::<Vec<_>>(), &got.lines().collect::<Vec<_>>());
        assert_eq!(fit("...\n| b\n> x\n| c", "| a\n| b\n> x\n| c"), None);
        assert_eq!(fit("...\n> x\n...", "| a\n> x"), None);
        assert_eq!(fit("...\n| c\n> x\n", "| a\n> x\n| c"), Some(Mismatch { expected: 1, got: 0 }));
        assert_eq!(fit("| a", "| a\n| b"), Some(Mismatch { expected: 1, got: 1 }));
        assert_eq!(fit("...\n| b\n| c", "| b\n| b\n| c"), Some(Mismatch { expected: 2, got: 1 }), "as few lines as possible");
        assert_eq!(fit("| a\n> x", "| a"), Some(Mismatch { expected: 1, got: 1 }));
    }

    /// The lines that are shown of the first difference, each with its sign.
    fn shown(expected: &str, got: &str) -> String {
        let (expected, got): (Vec<_>, Vec<_>) = (expected.lines().collect(), got.lines().collect());
        let [old, new] = windows(&expected, &got, &mismatch(&expected, &got).unwrap());
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
        let (old, new) = (lines(&expected[old]), lines(&got[new]));
        changes(&old, &new).iter().map(|(sign, line)| format!("{sign}{line}")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_that_wildcards_stand_for_are_no_changes() {
        assert_eq!(shown("...\n> x\n| a [..]\n| b\n* end", "| 1\n> x\n| a 1\n| c\n* end"), " > x\n | a 1\n-| b\n+| c\n * end");
        assert_eq!(shown("| a\n| b", "| new\n| a\n| b"), "+| new\n | a\n | b");
        assert_eq!(shown("...\n| c", "| a\n| b"), " ...\n | a\n | b\n-| c");
        assert_eq!(shown("| a\n...\n* end", "| b\n| c\n* end"), "-| a\n ...\n | b\n | c\n * end");
        assert_eq!(shown("| a\n> x\n> y", "| a\n> x"), " | a\n > x\n-> y");
        assert_eq!(shown("| a\n> x\n| b", "| c\n> x\n| d"), "-| a\n+| c\n > x", "the next answer is another difference");
    }

    #[test]
    fn a_line_without_a_wildcard_that_looks_like_one_differs() {
        let lines = |text: &str| vec![text.to_owned()];
        assert_eq!(changes(&lines("a.md:1 [..]"), &lines("a.md:1 gone")), [('-', "a.md:1 [..]"), ('+', "a.md:1 gone")]);
    }
}
