//! Splitting a Markdown file into its frontmatter and its body, by byte offsets of the file as it was saved.
//!
//! The scanner is our own, because it has to give the place of everything: a byte order mark, carriage returns and all.

use std::ops::Range;

use memchr::memchr;

use trellis_base::{
    diagnostic::{Code, Diagnostic, Report},
    id::NodeId,
    path::is_name,
    span::Span,
};

/// The parts of a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// There is no frontmatter.
    Body(Range<usize>),
    /// Frontmatter and body.
    Matter {
        /// Both fences and the text between them, without the last line break.
        header: Range<usize>,
        /// The YAML between the fences, its last line break included; empty when there is nothing in it.
        yaml: Range<usize>,
        /// The text after the line of the closing fence, to the end of the file.
        body: Range<usize>,
    },
    /// The opening fence is never closed.
    Unclosed(Range<usize>),
}

/// Returns whether a path is that of a Markdown file.
pub(super) fn is_markdown(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
}

/// Splits `text`. The opening fence is the first line that is not blank, `---`; the closing one is the next line that is `---` or `...`.
/// Blanks after a fence do not count; an indented `---`, as in a block scalar, is no fence.
pub(super) fn split(text: &str) -> Split {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let open = start + (text.len() - start - text[start..].trim_start().len());
    let at_line_start = open == start || text[..open].ends_with('\n');
    let first = line_at(text, open);
    if !at_line_start || text[first.clone()].trim_end() != "---" {
        return Split::Body(start..text.len());
    }
    let mut at = first.end;
    while at < text.len() {
        let line = line_at(text, at);
        if matches!(text.as_bytes()[at], b'-' | b'.') && is_fence(&text[line.clone()]) {
            let header = open..at + 3;
            let holds = !text[first.end..at].trim().is_empty();
            let yaml = if holds { first.end..at } else { first.end..first.end };
            return Split::Matter { header, yaml, body: line.end..text.len() };
        }
        at = line.end;
    }
    if open > start { Split::Body(start..text.len()) } else { Split::Unclosed(open..open + 3) }
}

/// Returns the id that a file names by a line `id: …` at the margin of its frontmatter, or of its whole text where it is no Markdown. It
/// reads the line alone, so that it also finds the id of a file that cannot be understood.
pub(super) fn named(path: &str, text: &str) -> Option<NodeId> {
    let text = text.trim_start_matches('\u{feff}');
    let is_markdown = is_markdown(path);
    let is_blank = |line: &&str| is_markdown && (line.trim().is_empty() || line.trim_end() == "---");
    let lines = text.lines().skip_while(is_blank).take_while(|line| !is_markdown || !is_fence(line));
    let value = lines.filter_map(|line| line.strip_prefix("id:")).find(|value| value.starts_with([' ', '\t']))?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
    let is_plain = !bare.is_empty() && !bare.contains(|char: char| char.is_control() || "\"'{}[]:,&*!|>%@`#\\".contains(char));
    is_plain.then(|| NodeId::new(bare))
}

/// Reports an opening fence that is never closed.
pub(super) fn unclosed(text: &str, fence: Range<usize>, report: &mut Report) {
    let message = "the frontmatter that begins here is never closed";
    let found = Diagnostic::new(Code::UnclosedFrontmatter, &report.path, Span::new(fence.start, fence.end), message);
    let mut at = line_at(text, fence.start).end;
    let lines = std::iter::from_fn(|| {
        let line = (at < text.len()).then(|| line_at(text, at))?;
        at = line.end;
        Some(line)
    });
    let slip = lines.map(|line| Span::new(line.start, line.start + text[line].trim_end().len())).find(|line| is_slip(&text[line.range()]));
    let path = report.path.clone();
    report.push(match slip {
        Some(slip) => found.label(&path, slip, "three dashes close it").help("write `---` there").fix("write `---`", slip, "---"),
        None => found.help("end it with a line `---`"),
    });
}

/// Keys of a node that no prose begins a line with between two rules.
const TELLING: [&str; 12] =
    ["to", "jump_to", "options", "input_type", "do", "transitions", "save_to", "set", "tools", "type", "output", "on_error"];

/// Returns whether a line begins with a key that shows frontmatter.
fn is_telling(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, rest)| TELLING.contains(&key) && (rest.is_empty() || rest.starts_with([' ', '\n', '\r'])))
}

/// Returns whether a line may be meant as a fence: dashes, but not three.
fn is_slip(line: &str) -> bool {
    let line = line.trim_end();
    line != "---" && line.chars().count() > 1 && line.chars().all(|char| matches!(char, '-' | '–' | '—'))
}

/// Returns whether a line may be meant as the first fence: indented, or in the style of other formats.
fn is_other_fence(line: &str) -> bool {
    let line = line.trim_end();
    is_slip(line) || matches!(line, "---" | "+++")
}

/// Returns whether a line may be meant as the second fence.
fn may_close(line: &str) -> bool {
    is_fence(line) || is_slip(line) || matches!(line.trim(), "+++" | "---")
}

/// Frontmatter without the first fence, or with another line in its place.
pub(super) struct Fenceless {
    /// The place where it would begin.
    first: Span,
    /// True if another line is in place of the fence.
    slip: bool,
    /// The range of its presumed YAML.
    pub(super) yaml: Range<usize>,
}

/// Looks for frontmatter that does not begin with a fence. Its keys decide whether it is any.
pub(super) fn fenceless(text: &str, body: usize) -> Option<Fenceless> {
    let blank = text[body..].len() - text[body..].trim_start().len();
    let first = line_at(text, body + blank);
    let slip = is_other_fence(&text[first.clone()]);
    if !slip && !is_telling(&text[first.clone()]) {
        return None;
    }
    let start = if slip { first.end } else { first.start };
    let is_matter = |line: &str| line.split_once(':').is_some_and(|(key, _)| is_name(key)) || line.starts_with([' ', '-', '#']);
    let (mut at, mut has_key) = (start, false);
    while at < text.len() {
        let line = line_at(text, at);
        let written = text[line.clone()].trim_end_matches(['\r', '\n']);
        if may_close(written) {
            let first = Span::new(first.start, first.start + text[first].trim_end().len());
            return has_key.then_some(Fenceless { first, slip, yaml: start..at });
        }
        if !is_matter(written) {
            return None;
        }
        has_key |= is_telling(written);
        at = line.end;
    }
    None
}

/// Reports frontmatter in TOML, between two lines `+++`; returns whether there is any.
pub(super) fn toml(text: &str, body: usize, report: &mut Report) -> bool {
    let open = body + text[body..].len() - text[body..].trim_start().len();
    let first = line_at(text, open);
    let is_fence = |line: &str| line.trim_end() == "+++";
    let inside = || text[first.end..].lines().take_while(|line| !is_fence(line));
    let is_entry = |line: &str| line.split_once('=').is_some_and(|(key, _)| is_name(key.trim_matches(['"', ' '])));
    let is_matter = is_fence(&text[first.clone()]) && text[first.end..].lines().any(is_fence) && inside().any(is_entry);
    if is_matter {
        let span = Span::new(first.start, first.start + 3);
        let entry = inside().find(|line| is_entry(line)).and_then(|line| line.split_once('=')).unwrap_or_default();
        let help = format!("write `---` in place of `+++`, and `{}: {}`", entry.0.trim(), entry.1.trim());
        report.add(Code::UnclosedFrontmatter, span, "this frontmatter is TOML: that of a node is YAML").help = Some(help);
    }
    is_matter
}

impl Fenceless {
    /// Reports it.
    pub(super) fn report(&self, text: &str, report: &mut Report) {
        let (first, start) = (self.first, self.first.start as usize);
        let found = |message: &str| Diagnostic::new(Code::UnclosedFrontmatter, &report.path, first, message);
        let found = if self.slip {
            let before = text[..start].trim_end_matches(|char: char| char.is_whitespace() && char != '\n').len();
            found("frontmatter begins with a line `---`, and nothing else on it").help("write `---`").fix(
                "write `---`",
                Span::new(before, first.end as usize),
                "---",
            )
        } else {
            let found = found("this looks like frontmatter, but no line `---` stands before it").help("begin the file with a line `---`");
            let line_break = if text[self.yaml.clone()].contains("\r\n") { "\r\n" } else { "\n" };
            found.fix("add a line `---`", Span::at(start), format!("---{line_break}"))
        };
        report.push(found);
    }
}

/// Reports frontmatter behind other text, which is not read; returns whether there is any.
pub(super) fn late(text: &str, body: usize, report: &mut Report) -> bool {
    let (mut at, mut is_code) = (body, false);
    while at < text.len() {
        let line = line_at(text, at);
        at = line.end;
        let written = text[line.clone()].trim_end();
        is_code ^= written.starts_with("```") || written.starts_with("~~~");
        if is_code || written != "---" {
            continue;
        }
        let after = || text[line.end..].lines().take_while(|line| !line.trim().is_empty());
        let closes = after().any(|line| line.trim_end() == "---");
        let is_matter = closes && after().take_while(|line| line.trim_end() != "---").any(is_telling);
        if is_matter {
            let message = "this is no frontmatter: text stands before it";
            let span = Span::new(line.start, line.start + written.len());
            report.add(Code::UnclosedFrontmatter, span, message).help = Some("begin the file with it, and write the text below".into());
        }
        return is_matter;
    }
    false
}

/// Returns whether a line closes frontmatter.
fn is_fence(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

/// The line that begins at `at`, its line break included.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let end = memchr(b'\n', &text.as_bytes()[at..]);
    at..end.map_or(text.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The YAML and the body; `None` without frontmatter.
    fn parts(text: &str) -> Option<(&str, &str)> {
        match split(text) {
            Split::Matter { yaml, body, .. } => Some((&text[yaml], &text[body])),
            Split::Body(_) | Split::Unclosed(_) => None,
        }
    }

    #[test]
    fn splits_at_the_fences() {
        for (text, yaml, body) in [
            ("---\nto: a\n---\nHi\n", "to: a\n", "Hi\n"),
            ("---\nto: a\n---", "to: a\n", ""),
            ("---\nto: a\n...\n---\n", "to: a\n", "---\n"),
            ("---\r\nto: a\r\n---\r\nHi\r\n", "to: a\r\n", "Hi\r\n"),
            ("\u{feff}---\nto: a\n---\nHi", "to: a\n", "Hi"),
            ("\n \n---\nto: a\n---\nHi", "to: a\n", "Hi"),
            ("---  \nto: a\n---\t\nHi", "to: a\n", "Hi"),
            ("---\na: |\n  x\n  ---\n  y\n---\n\nHi", "a: |\n  x\n  ---\n  y\n", "\nHi"),
            ("---\n---\nHi", "", "Hi"),
            ("---\n\n  \n---\nHi", "", "Hi"),
            ("---\n# note\n---\n", "# note\n", ""),
        ] {
            assert_eq!(parts(text), Some((yaml, body)), "{text:?}");
        }
    }

    #[test]
    fn the_header_holds_both_fences() {
        let text = "\u{feff}---\nto: a\n--- \nHi";
        let Split::Matter { header, .. } = split(text) else { panic!() };
        assert_eq!(&text[header], "---\nto: a\n---");
    }

    #[test]
    fn other_files_have_no_frontmatter() {
        for text in ["", "Hi", "----\nto: a\n----\n", "Hi\n---\nto: a\n---\n", " ---\nto: a\n---\n", "\n---\nHi"] {
            assert!(matches!(split(text), Split::Body(_)), "{text:?}");
        }
        for text in ["---", "---\n", "---\nto: a\n ---\n", "\u{feff}---\nto: a\n"] {
            assert!(matches!(split(text), Split::Unclosed(_)), "{text:?}");
        }
    }
}
