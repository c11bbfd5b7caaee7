//! The place of a cursor in a file that is being written: its key, whether it is in key or value, and the text typed so far.
//!
//! It reads the text alone, by indentation, fences and braces, so that it also answers where YAML does not parse. It never fails; where the
//! text is no YAML at all, the answer is of no use, and nothing more.

#[cfg(test)]
mod tests;

use super::{
    decode::{Form, GO_FILE, Inside, NODE, PROJECT},
    frontmatter::{self, Split},
    parse::is_named,
};
use trellis_base::span::Span;

/// One step from a mapping or a list to its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorStep {
    /// The value of a key, as it is written.
    Key(String),
    /// An item of a list.
    Item,
}

/// The part of a file that a cursor is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorPlace {
    /// A key of a mapping, or the beginning of an item.
    Key,
    /// The value of the last key of the path.
    Value,
    /// The body of a Markdown file.
    Body,
}

/// The surroundings of a cursor.
#[derive(Clone, Debug)]
pub struct CursorContext {
    /// The steps from the whole file, or its frontmatter, to the mapping or the value.
    pub path: Vec<CursorStep>,
    /// The part of the file.
    pub place: CursorPlace,
    /// The text of an open `{{` or `{%` before the cursor, without the braces.
    pub template: Option<String>,
    /// The typed part of the key or value before the cursor.
    pub prefix: String,
    /// The place of the typed part, up to the cursor.
    pub prefix_span: Span,
    /// The other keys of the mapping that the cursor is in.
    pub present: Vec<String>,
    /// True if an open `{` or `[` is around the cursor.
    pub is_flow: bool,
    /// The form of the mapping that the cursor is in, where one is known.
    pub(crate) form: Option<&'static Form>,
    /// The innermost form on the way to the cursor, and the step of the path that is a key of it.
    pub(crate) holder: Option<(&'static Form, usize)>,
}

impl CursorContext {
    /// Returns the key whose value the cursor is in, or whose mapping it is in.
    pub fn key(&self) -> Option<&str> {
        self.path.iter().rev().find_map(|step| match step {
            CursorStep::Key(key) => Some(key.as_str()),
            CursorStep::Item => None,
        })
    }

    /// Returns the keys of the path, from the outermost on.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.path.iter().filter_map(|step| match step {
            CursorStep::Key(key) => Some(key.as_str()),
            CursorStep::Item => None,
        })
    }
}

/// Returns the surroundings of an offset in a file; `path` is the file's, which determines its kind.
pub fn cursor_context(path: &str, text: &str, offset: usize) -> CursorContext {
    let offset = text.floor_char_boundary(offset);
    let yaml = yaml_around(path, text, offset);
    let Some(start) = yaml else {
        let template = open_template(&text[..offset]);
        let (prefix, span) = last_word(text, offset);
        return CursorContext {
            path: Vec::new(),
            place: CursorPlace::Body,
            template,
            prefix,
            prefix_span: span,
            present: Vec::new(),
            is_flow: false,
            form: None,
            holder: None,
        };
    };
    let line_start = text[start..offset].rfind('\n').map_or(start, |at| start + at + 1);
    let line = CursorLine::read(&text[line_start..offset]);
    let above: Vec<&str> = text[start..line_start].lines().collect();
    let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1);
    let (mut path_steps, mut present, is_text) = parents(&above, &line);
    if line.flow.is_empty() {
        present.extend(keys_below(&text[end..], line.column));
    }
    path_steps.extend(line.steps());
    let template = open_template(&text[line_start..offset]).or_else(|| if is_text { open_template(&text[start..offset]) } else { None });
    let place = if is_text || line.is_value() { CursorPlace::Value } else { CursorPlace::Key };
    let (form, holder) = form_of(path, text, &path_steps, place);
    let is_flow = !line.flow.is_empty() || !is_text && is_open(&above);
    let prefix = line.typed.clone();
    let prefix_span = Span::new(offset - prefix.len(), offset);
    present.extend(line.present.iter().cloned());
    CursorContext { path: path_steps, place, template, prefix, prefix_span, present, is_flow, form, holder }
}

/// Returns where the YAML begins that holds an offset; `None` in the body of a Markdown file.
fn yaml_around(path: &str, text: &str, offset: usize) -> Option<usize> {
    if !frontmatter::is_markdown(path) {
        return Some(0);
    }
    match frontmatter::split(text) {
        Split::Matter { header, body, .. } => {
            let first = text[header.start..].find('\n').map_or(text.len(), |at| header.start + at + 1);
            (offset >= first && offset < body.start && offset + 3 <= header.end.max(first + 3)).then_some(first)
        }
        Split::Unclosed(fence) => {
            let first = text[fence.start..].find('\n').map_or(text.len(), |at| fence.start + at + 1);
            (offset >= first).then_some(first)
        }
        Split::Body(_) => None,
    }
}

/// The line of the cursor, up to the cursor.
#[derive(Default)]
struct CursorLine {
    /// The column of the key or of the typed part.
    column: usize,
    /// The columns of `- ` before it.
    items: Vec<usize>,
    /// The key of the line, if its colon is typed.
    key: Option<String>,
    /// Open braces after it.
    flow: Vec<Flow>,
    typed: String,
    /// Keys of the innermost open mapping of the line.
    present: Vec<String>,
}

/// An open bracket.
enum Flow {
    /// `{`, with the key whose value is being written.
    Map(Option<String>, Vec<String>),
    List,
}

impl CursorLine {
    fn read(line: &str) -> Self {
        let mut read = Self::default();
        let mut rest = line.trim_start_matches(' ');
        let mut column = line.len() - rest.len();
        while let Some(item) = rest.strip_prefix("- ").or_else(|| rest.strip_prefix('-').filter(|rest| rest.is_empty())) {
            read.items.push(column);
            let inner = item.trim_start_matches(' ');
            column += rest.len() - inner.len();
            rest = inner;
        }
        read.column = column;
        if let Some((key, value)) = block_key(rest) {
            read.key = Some(key.to_owned());
            rest = value.trim_start_matches(' ');
        }
        read.flows(rest);
        read
    }

    /// Follows braces, commas and colons of flow style to the cursor.
    fn flows(&mut self, rest: &str) {
        let mut start = 0;
        let mut quote = None;
        let bytes = rest.as_bytes();
        for (at, char) in rest.char_indices() {
            match (quote, char) {
                (Some(open), _) if char == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if rest[start..at].trim().is_empty() => quote = Some(char),
                (None, '{' | '[') if rest[start..at].trim().is_empty() => {
                    self.flow.push(if char == '{' { Flow::Map(None, Vec::new()) } else { Flow::List });
                    start = at + 1;
                }
                (None, '}' | ']') => {
                    self.flow.pop();
                    start = at + 1;
                }
                (None, ',') => {
                    if let Some(Flow::Map(key, _)) = self.flow.last_mut() {
                        *key = None;
                    }
                    if !self.flow.is_empty() {
                        start = at + 1;
                    }
                }
                (None, ':') if bytes.get(at + 1).is_none_or(|next| *next == b' ') => {
                    if let Some(Flow::Map(key @ None, keys)) = self.flow.last_mut() {
                        let name = rest[start..at].trim().trim_matches(['"', '\'']).to_owned();
                        keys.push(name.clone());
                        *key = Some(name);
                        start = at + 1;
                    }
                }
                _ => {}
            }
        }
        let typed = rest[start..].trim_start();
        self.typed = typed.strip_prefix(['"', '\'']).unwrap_or(typed).to_owned();
        if let Some(Flow::Map(None, keys)) = self.flow.last() {
            self.present = keys.clone();
        }
    }

    fn is_value(&self) -> bool {
        match self.flow.last() {
            Some(Flow::Map(key, _)) => key.is_some(),
            Some(Flow::List) => true,
            None => self.key.is_some(),
        }
    }

    /// The steps of the line itself.
    fn steps(&self) -> Vec<CursorStep> {
        let mut steps: Vec<CursorStep> = self.items.iter().map(|_| CursorStep::Item).collect();
        steps.extend(self.key.iter().cloned().map(CursorStep::Key));
        for flow in &self.flow {
            match flow {
                Flow::Map(key, _) => steps.extend(key.iter().cloned().map(CursorStep::Key)),
                Flow::List => steps.push(CursorStep::Item),
            }
        }
        steps
    }
}

/// Returns a key with its colon at the beginning of a text, and the rest.
fn block_key(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.split_once(':')?;
    let is_plain = !key.is_empty() && !key.contains(['{', '[', '#', ',']) && !key.starts_with(['"', '\'']) || is_quoted(key);
    (is_plain && (rest.is_empty() || rest.starts_with(' '))).then(|| (key.trim().trim_matches(['"', '\'']), rest))
}

fn is_quoted(key: &str) -> bool {
    ['"', '\''].iter().any(|quote| key.len() > 1 && key.starts_with(*quote) && key.ends_with(*quote))
}

/// Climbs from the cursor's line to the margin: the steps above it, the keys beside it, and whether it is a line of a block of text.
fn parents(above: &[&str], line: &CursorLine) -> (Vec<CursorStep>, Vec<String>, bool) {
    let (mut steps, mut present) = (Vec::new(), Vec::new());
    let mut want = line.items.first().copied().unwrap_or(line.column);
    let mut is_item = !line.items.is_empty();
    // Above the first key of an item stands another item, or the key of the list.
    let (mut beside, mut is_text) = (if is_item { usize::MAX } else { want }, false);
    let mut is_first = true;
    for text in above.iter().rev() {
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        let read = CursorLine::read(text.trim_end());
        let key_column = read.column;
        if let Some(key) = &read.key {
            if is_first && key_column == beside {
                present.push(key.clone());
            }
            let is_parent = key_column < want || is_item && key_column == want && read.items.is_empty() && read.typed.is_empty();
            if is_parent {
                steps.insert(0, CursorStep::Key(key.clone()));
                is_text |= steps.len() == 1 && is_first && matches!(read.typed.trim_end_matches(['+', '-']), "|" | ">");
                (want, is_item, is_first) = (key_column, false, false);
            }
        }
        for item in read.items.iter().rev() {
            if *item < want {
                steps.insert(0, CursorStep::Item);
                (want, is_item, is_first) = (*item, true, false);
            }
        }
        // An item of the same column as a key that is being written belongs to the list of a key above.
        let is_before = |item: &usize| if is_item { *item <= beside } else { *item < beside };
        if read.items.first().is_some_and(is_before) && is_first {
            // Another item: the lines above are not beside it.
            beside = usize::MAX;
        }
        if want == 0 && !is_item && !is_first {
            break;
        }
    }
    (steps, present, is_text)
}

/// Returns the keys of the mapping of a column that follow.
fn keys_below(below: &str, column: usize) -> Vec<String> {
    let mut keys = Vec::new();
    for text in below.lines() {
        if text.trim().is_empty() {
            continue;
        }
        let read = CursorLine::read(text);
        let begin = read.items.first().copied().unwrap_or(read.column);
        if begin < column || text.starts_with("---") || text.starts_with("...") {
            break;
        }
        if read.items.is_empty() && read.column == column {
            keys.extend(read.key);
        }
    }
    keys
}

/// Returns the text of a tag that is open at the end of a text.
fn open_template(text: &str) -> Option<String> {
    let tags = [("{{", "}}"), ("{%", "%}")].into_iter();
    let open = tags.filter_map(|(open, close)| Some((text.rfind(open)?, close))).max_by_key(|(at, _)| *at)?;
    let inside = &text[open.0 + 2..];
    (!inside.contains(open.1)).then(|| inside.trim_start_matches(['-', '+']).to_owned())
}

fn last_word(text: &str, offset: usize) -> (String, Span) {
    let before = &text[..offset];
    let start = before
        .rfind(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '-' | '.'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    (before[start..].to_owned(), Span::new(start, offset))
}

/// Returns whether a bracket of the lines above a cursor is still open, from the last line at the margin on.
fn is_open(above: &[&str]) -> bool {
    let is_margin = |line: &&str| !line.is_empty() && !line.starts_with([' ', '}', ']', '-', '#']);
    let from = above.iter().rposition(is_margin).unwrap_or_default();
    let mut open = 0_usize;
    for line in &above[from..] {
        let (mut quote, mut before) = (None, '\n');
        for char in line.chars() {
            match (quote, char) {
                (Some(mark), _) if mark == char => quote = None,
                (Some(_), _) => {}
                (None, '#') if before == ' ' => break,
                (None, '"' | '\'') if matches!(before, '\n' | ' ' | '{' | '[') => quote = Some(char),
                (None, '{' | '[') if matches!(before, '\n' | ' ' | '{' | '[') => open += 1,
                (None, '}' | ']') => open = open.saturating_sub(1),
                _ => {}
            }
            before = char;
        }
    }
    open > 0
}

/// Returns the form of the mapping that a path leads to in a file, and the innermost form on the way with the step that is a key of it.
fn form_of(path: &str, text: &str, steps: &[CursorStep], place: CursorPlace) -> (Option<&'static Form>, Option<(&'static Form, usize)>) {
    let has_nodes = !frontmatter::is_markdown(path) && text.lines().any(|line| line.starts_with("nodes:"));
    let root = if is_named(path, "trellis.yaml") || has_nodes {
        &PROJECT
    } else if is_named(path, "tools.yaml") {
        &GO_FILE
    } else {
        &NODE
    };
    let shown = if place == CursorPlace::Value { steps.len().saturating_sub(1) } else { steps.len() };
    let (mut at, mut holder, mut form) = (Some(Inside::One(root)), None, None);
    for index in 0..=steps.len() {
        if index == shown {
            form = at.and_then(|inside| if let Inside::One(form) = inside { Some(form) } else { None });
        }
        let (Some(inside), Some(step)) = (at, steps.get(index)) else { continue };
        at = match (inside, step) {
            (Inside::One(form), CursorStep::Key(key)) => {
                holder = Some((form, index));
                form.canonical(key).and_then(|key| form.of_value(key))
            }
            (inside @ Inside::Each(_), CursorStep::Key(_)) => inside.of_named(),
            (inside, CursorStep::Item) => inside.of_item(),
        };
    }
    (form, holder)
}
