//! The outline of a text, by indentation and headings, so that the YAML need not parse.

use trellis_core::span::Span;

use crate::text::Text;

/// Levels of keys that an outline has.
const LEVELS: usize = 3;

/// A key or a heading with its children.
pub(super) struct Section {
    pub(super) name: String,
    /// The name alone.
    pub(super) place: Span,
    /// All of it.
    pub(super) span: Span,
    pub(super) is_heading: bool,
    pub(super) below: Vec<Section>,
}

/// Returns the sections of a text: keys of the frontmatter or the whole file, and headings of the body.
pub(super) fn outline(path: &str, text: &Text) -> Vec<Section> {
    let is_markdown = path.to_ascii_lowercase().ends_with(".md");
    let whole = text.as_str();
    let (yaml, body) = if is_markdown { parts(text) } else { (0..text.lines(), text.lines()..text.lines()) };
    let mut flat: Vec<(usize, Section)> = Vec::new();
    for number in yaml.clone() {
        let Some(line) = text.line(number) else { continue };
        let written = &whole[line.clone()];
        let content = written.trim_start_matches([' ', '-']);
        let Some((key, _)) = content.split_once(':').filter(|(key, rest)| is_key(key) && (rest.is_empty() || rest.starts_with(' '))) else {
            continue;
        };
        let indent = written.len() - content.len();
        let start = line.start + indent;
        let end = (number + 1..yaml.end).map_while(|below| text.line(below)).take_while(|below| {
            let written = &whole[below.clone()];
            written.trim().is_empty()
                || written.len() - written.trim_start_matches([' ', '-']).len() > indent
                || written.starts_with(&" ".repeat(indent + 1))
        });
        let end = end.filter(|line| !whole[line.clone()].trim().is_empty()).last().map_or(line.end, |line| line.end);
        let place = Span::new(start, start + key.len());
        flat.push((
            indent,
            Section {
                name: key.trim_matches(['"', '\'']).to_owned(),
                place,
                span: Span::new(start, end),
                is_heading: false,
                below: Vec::new(),
            },
        ));
    }
    let mut sections = nested(flat);
    sections.extend(headings(text, body));
    sections
}

/// Returns the lines of the frontmatter and of the body of a Markdown file.
pub(super) fn parts(text: &Text) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let line = |number: usize| text.line(number).map(|line| text.as_str()[line].trim_start_matches('\u{feff}').trim_end());
    let Some(first) = (0..text.lines()).find(|number| line(*number).is_some_and(|line| !line.is_empty())) else {
        return (0..0, 0..text.lines());
    };
    if line(first) != Some("---") {
        return (0..0, 0..text.lines());
    }
    let close = (first + 1..text.lines()).find(|number| matches!(line(*number), Some("---" | "...")));
    match close {
        Some(close) => (first + 1..close, close + 1..text.lines()),
        None => (first + 1..text.lines(), text.lines()..text.lines()),
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with('#')
        && key.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '/' | '"' | '\''))
}

/// Puts keys below those that are less indented.
fn nested(flat: Vec<(usize, Section)>) -> Vec<Section> {
    let mut open: Vec<(usize, Section)> = Vec::new();
    let mut done = Vec::new();
    let close = |open: &mut Vec<(usize, Section)>, done: &mut Vec<Section>, indent: usize| {
        while open.last().is_some_and(|(other, _)| *other >= indent) {
            let Some((_, section)) = open.pop() else { break };
            match open.last_mut() {
                Some((_, above)) => above.below.push(section),
                None => done.push(section),
            }
        }
    };
    for (indent, section) in flat {
        close(&mut open, &mut done, indent);
        if open.len() < LEVELS {
            open.push((indent, section));
        }
    }
    close(&mut open, &mut done, 0);
    done
}

fn headings(text: &Text, body: std::ops::Range<usize>) -> Vec<Section> {
    let whole = text.as_str();
    let mut flat = Vec::new();
    let mut is_code = false;
    let lines: Vec<_> = body.clone().filter_map(|number| text.line(number)).collect();
    let level = |line: &str| line.chars().take_while(|char| *char == '#').count();
    let mut marks = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let written = &whole[line.clone()];
        is_code ^= written.starts_with("```") || written.starts_with("~~~");
        let depth = level(written);
        if !is_code && (1..=6).contains(&depth) && written[depth..].starts_with(' ') {
            marks.push((at, depth));
        }
    }
    for (index, (at, depth)) in marks.iter().enumerate() {
        let next = marks[index + 1..].iter().find(|(_, other)| other <= depth).map_or(lines.len(), |(next, _)| *next);
        let (line, last) = (&lines[*at], &lines[next - 1]);
        let name = whole[line.clone()][*depth..].trim().to_owned();
        let span = Span::new(line.start, last.end.max(line.end));
        flat.push((*depth, Section { name, place: Span::new(line.start, line.end), span, is_heading: true, below: Vec::new() }));
    }
    nested(flat)
}
