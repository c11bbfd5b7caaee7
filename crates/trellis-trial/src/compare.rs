//! Compares actual with expected lines: wildcards, and the first difference.

use trellis_core::transcript::is_program_line;

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
}
