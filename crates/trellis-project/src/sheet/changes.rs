//! Changes of a file, in the form of a block `diff`.

/// Returns the text after changes: unchanged lines begin with a space, removed ones with `-`, added ones with `+`. Line ends are those of the
/// text, not of the sheet.
pub(super) fn patched(text: &str, changes: &str) -> Result<String, String> {
    fn bare(line: &str) -> &str {
        line.trim_end_matches(['\n', '\r'])
    }
    let marked = |marks: [char; 2]| {
        let lines = changes.lines().filter(move |line| line.is_empty() || line.starts_with(marks));
        lines.map(|line| line.get(1..).unwrap_or_default()).collect::<Vec<_>>()
    };
    let (before, after) = (marked([' ', '-']), marked([' ', '+']));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_there = |at: &usize| lines[*at..].iter().copied().map(bare).take(before.len()).eq(before.iter().copied());
    let found: Vec<usize> = (0..=lines.len()).filter(is_there).collect();
    let [at] = found[..] else { return Err(format!("what changes stands {} times in the file, not once", found.len())) };
    let ending = if lines.get(at).or(lines.last()).is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let new = after.iter().map(|line| format!("{line}{ending}"));
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    Ok(owned(&lines[..at]).into_iter().chain(new).chain(owned(&lines[at + before.len()..])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_the_line_endings_of_the_file_whatever_the_sheet_has() {
        assert_eq!(patched("a\r\nb\r\nc\r\n", " a\n-b\n+B\n").unwrap(), "a\r\nB\r\nc\r\n");
        assert_eq!(patched("a\nb\n", "-a\r\n+A\r\n").unwrap(), "A\nb\n");
        assert_eq!(patched("ab\nb\n", "-b\n").unwrap(), "ab\n", "lines change, not parts of them");
        assert!(patched("a\na\n", "+b\n").is_err() && patched("a\na\n", "-a\n").is_err());
    }
}
