//! The order of keys in a mapping of lines: each key moves with the lines of its value and with its comments.
//!
//! Lines between two keys belong to the key below them, except for comments that are indented deeper than the keys, or that a blank line separates
//! from the key below but not from the one above: these belong to the key above. Lines above the first key that end with a blank line, and lines
//! below the last, stay there.
//!
//! **Invariant:** no line is lost or repeated, except for blank ones at the new top.

use std::ops::Range;

use super::{edits::Edits, layout::BlockEntry};

/// Beginnings of comments that speak to a program and stay at the top.
const MODELINES: [&str; 3] = ["# yaml-language-server:", "# vim:", "# -*-"];

/// Comments that allow findings: in front of everything they apply to the file, elsewhere to the key that they belong to.
const ALLOW: &str = "trellis:";

/// One entry with the lines that move with it.
struct Chunk {
    /// The lines above it that belong to it.
    lead: Range<usize>,
    /// From its key to the end of its last line.
    body: Range<usize>,
    ends_in_block: bool,
}

/// Returns the lines of a mapping in the order of `ranks`; `None` if their layout does not allow to move them.
pub(super) fn reordered(
    text: &str,
    yaml: &Range<usize>,
    entries: &[BlockEntry<'_>],
    ranks: &[usize],
    edits: &Edits<'_>,
) -> Option<(Range<usize>, String)> {
    let lines = Lines { text, yaml };
    let first = entries.first()?;
    let start = lines.start(first.start);
    let prefix = &text[start..first.start];
    let column = prefix.len();
    // A mapping may begin behind the dash of its item.
    let dash = prefix.len() - prefix.trim_start_matches(' ').len();
    let inline = match prefix[dash..].strip_prefix('-') {
        Some(rest) if !rest.is_empty() && rest.trim_matches(' ').is_empty() => true,
        None if prefix.len() == dash => false,
        _ => return None,
    };
    let chunks = lines.chunks(entries, column, inline)?;
    let from = if inline { start } else { chunks.first()?.lead.start };
    let range = from..chunks.last()?.body.end;
    if text[range.clone()].replace("\r\n", "").contains('\r') {
        return None;
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| ranks[*at]);
    // A comment about one key must not move in front of everything.
    let is_root = lines.is_between(yaml.start..start);
    if is_root && order.first().is_some_and(|first| *first > 0 && text[chunks[*first].lead.clone()].lines().any(allows)) {
        return None;
    }

    let line_break = if text[yaml.clone()].contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::with_capacity(range.len() + 2);
    let mut before: Option<usize> = None;
    for at in order {
        let chunk = &chunks[at];
        let mut lead = &text[chunk.lead.clone()];
        // Blank lines at the top are for nothing, and behind another block scalar they could become part of it.
        if before.map_or(at > 0, |before| chunks[before].ends_in_block && before + 1 != at) {
            lead = without_blank_lines(lead);
        }
        match before {
            None if inline => {
                lead.split_inclusive('\n').for_each(|line| out.extend([&prefix[..dash], line.trim_start_matches(' ')]));
                out.push_str(prefix);
            }
            _ => {
                out.push_str(lead);
                out.extend(std::iter::repeat_n(' ', column));
            }
        }
        out.push_str(&edits.applied(chunk.body.clone()));
        if !out.ends_with('\n') {
            out.push_str(line_break);
        }
        before = Some(at);
    }
    let was_bare = !text[range.clone()].ends_with('\n');
    if was_bare && before.is_some_and(|last| !chunks[last].ends_in_block) {
        out.truncate(out.len() - line_break.len());
    }
    Some((range, out))
}

/// The lines of a YAML text.
struct Lines<'t> {
    text: &'t str,
    yaml: &'t Range<usize>,
}

impl Lines<'_> {
    /// Returns the begin of the line that contains `at`.
    fn start(&self, at: usize) -> usize {
        self.text[self.yaml.start..at].rfind('\n').map_or(self.yaml.start, |end| self.yaml.start + end + 1)
    }

    /// Returns the end of the line that contains `at`, after its line break.
    fn end(&self, at: usize) -> usize {
        self.text[at..self.yaml.end].find('\n').map_or(self.yaml.end, |end| at + end + 1)
    }

    fn chunks(&self, entries: &[BlockEntry<'_>], column: usize, inline: bool) -> Option<Vec<Chunk>> {
        let mut chunks = Vec::with_capacity(entries.len());
        let first = entries.first()?.start;
        let mut free = if inline { first } else { self.above(self.start(first), column) };
        for (at, entry) in entries.iter().enumerate() {
            let line = if inline && at == 0 { first } else { self.start(entry.start) };
            let indented = inline && at == 0 || self.text.get(line..entry.start)? == " ".repeat(column);
            if !indented || free > line || !self.is_between(free..line) {
                return None;
            }
            let next = entries.get(at + 1).map(|next| self.start(next.start));
            let ends_in_block = entry.value.ends_in_block();
            let end = self.claimed(self.end(entry.end()), next.unwrap_or(self.yaml.end), column, ends_in_block);
            let end = next.map_or(end, |next| self.below(end, next));
            chunks.push(Chunk { lead: free..line, body: entry.start..end, ends_in_block });
            free = end;
        }
        Some(chunks)
    }

    /// Returns the begin of the comments right above the first key, at its column.
    fn above(&self, key: usize, column: usize) -> usize {
        let mut at = key;
        while at > self.yaml.start {
            let line = self.start(at - 1);
            let (indent, comment) = indented(&self.text[line..at]);
            let is_for_all = allows(comment) && self.is_between(self.yaml.start..line);
            if indent != column || !comment.starts_with('#') || is_for_all || MODELINES.iter().any(|mark| comment.starts_with(mark)) {
                break;
            }
            at = line;
        }
        at
    }

    /// Returns the end of the lines that belong to an entry, of those from `end` to `next`: blank lines that may be part of a block scalar,
    /// and comments that are indented deeper than its key.
    fn claimed(&self, end: usize, next: usize, column: usize, ends_in_block: bool) -> usize {
        let (mut at, mut claimed, mut blank) = (end, end, ends_in_block);
        while at < next {
            let line_end = self.end(at);
            let (indent, line) = indented(&self.text[at..line_end]);
            let is_blank = line.trim().is_empty();
            if !is_blank && !line.starts_with('#') {
                break;
            }
            blank &= is_blank;
            if blank || !is_blank && indent > column {
                claimed = line_end;
            }
            at = line_end;
        }
        claimed.min(next)
    }

    /// Returns the end of the comments right at `end`, with the blank lines that separate them from the key at `next`; `end` itself if there are
    /// none.
    fn below(&self, end: usize, next: usize) -> usize {
        let (mut at, mut comments, mut blanks) = (end, 0, 0);
        while at < next {
            let line_end = self.end(at);
            match self.text[at..line_end].trim().is_empty() {
                true if comments == 0 => return end,
                true => blanks += 1,
                false if blanks > 0 => break,
                false => comments += 1,
            }
            at = line_end;
        }
        if blanks > 0 { at.min(next) } else { end }
    }

    /// Returns whether a range has nothing but blank lines and comments.
    fn is_between(&self, range: Range<usize>) -> bool {
        self.text[range].lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
    }
}

/// Splits a line into the width of its indentation and the rest.
fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// Returns whether a line is a comment that allows findings.
fn allows(line: &str) -> bool {
    line.trim_start().strip_prefix('#').is_some_and(|comment| comment.trim_start_matches('#').trim_start().starts_with(ALLOW))
}

fn without_blank_lines(lines: &str) -> &str {
    let blank: usize = lines.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    &lines[blank..]
}
