//! A context key in the lines of sheets: where the author gives or shows the context, and in the arguments of calls that give it.

use std::{collections::BTreeSet, ops::Range};

use trellis_core::{Value, query::GraphChange};

/// A key that gets another name, as the sheets of one graph see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyNames {
    old: String,
    new: String,
    /// The folder of the graph that has the key, below that of the sheets; empty if it is the same.
    graph: String,
    /// The folders of all graphs inside that of the sheets.
    inner: Vec<String>,
}

impl KeyNames {
    /// The key of a change for the sheets of the graph in `root`; `None` if they can name none of its sessions.
    pub(super) fn of(change: &GraphChange, roots: &BTreeSet<&str>, root: &str) -> Option<Self> {
        let (old, new) = change.key.as_ref()?;
        let below = |folder: &str| match root {
            _ if folder == root => Some(String::new()),
            "" => Some(folder.to_owned()),
            root => folder.strip_prefix(root)?.strip_prefix('/').map(str::to_owned),
        };
        let inner = roots.iter().filter_map(|folder| below(folder)).filter(|folder| !folder.is_empty()).collect();
        Some(Self { old: old.to_string(), new: new.to_string(), graph: below(&change.key_root)?, inner })
    }

    /// Returns the changes in a line of a transcript.
    pub(super) fn of_line(&self, line: &str) -> Vec<(Range<usize>, String)> {
        let is_own = self.graph.is_empty();
        let found = match line.chars().next() {
            Some('$') if is_own && line.starts_with("$ context {") => self.entry(line),
            Some('=') if is_own => self.shown(line),
            // Other messages may name a tool or a node that is called like the key.
            Some('*' | '-') if is_own && ["missing-context", "context-schema", "not started"].iter().any(|word| line.contains(word)) => {
                let quoted = format!("`{}`", self.old);
                line.find(&quoted).map(|at| at + 1..at + 1 + self.old.len())
            }
            Some('!') => {
                let id = line.split_once(" (graph ").and_then(|(_, rest)| rest.split([')', ',']).next());
                id.filter(|id| self.has(id)).and_then(|_| self.entry(line))
            }
            _ => None,
        };
        found.map(|range| (range, self.new.clone())).into_iter().collect()
    }

    /// The name of the entry of a mapping in a line; none if the mapping has the new name, too.
    fn entry(&self, line: &str) -> Option<Range<usize>> {
        entry(line, &self.old).filter(|_| entry(line, &self.new).is_none())
    }

    /// Returns the changes in a line of stand-ins: the arguments of a call of the graph.
    pub(super) fn of_double(&self, line: &str) -> Vec<(Range<usize>, String)> {
        let call = line.trim_start().strip_prefix("graph:").and_then(|rest| rest.split_once(' '));
        let found = call.filter(|(id, rest)| self.has(id) && rest.trim_start().starts_with('{')).and_then(|_| self.entry(line));
        found.map(|range| (range, self.new.clone())).into_iter().collect()
    }

    /// Returns whether a node is one of the graph that has the key.
    fn has(&self, id: &str) -> bool {
        let holds = |folder: &&String| id.strip_prefix(&***folder).is_some_and(|rest| rest.starts_with('/'));
        self.inner.iter().filter(holds).max_by_key(|folder| folder.len()).map_or("", String::as_str) == self.graph
    }

    /// The path of a line that shows a part of the context, where it begins with the key.
    fn shown(&self, line: &str) -> Option<Range<usize>> {
        let path = line.strip_prefix('=')?.trim_start();
        let path = path.strip_prefix("state context.").unwrap_or(path);
        let rest = path.strip_prefix(&*self.old)?;
        let start = line.len() - path.len();
        (rest.is_empty() || rest.starts_with(['.', '[', ' '])).then(|| start..start + self.old.len())
    }
}

/// Returns the place of the name of an entry of the first mapping of a text, not of one inside it; between the quotes.
pub(super) fn entry(text: &str, name: &str) -> Option<Range<usize>> {
    let mut depth = 0_u32;
    let mut at = text.find('{')?;
    while let Some(char) = text[at..].chars().next() {
        match char {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1).filter(|depth| *depth > 0)?,
            '"' => {
                let end = at + 1 + string_length(&text[at + 1..])?;
                let is_name = depth == 1 && text[end + 1..].trim_start().starts_with(':');
                if is_name && is_written(&text[at..=end], name) {
                    return Some(at + 1..end);
                }
                at = end;
            }
            _ => {}
        }
        at += char.len_utf8();
    }
    None
}

/// Returns whether a JSON string, with its quotes, is a text, whatever escapes it has.
fn is_written(json: &str, text: &str) -> bool {
    let bare = &json[1..json.len() - 1];
    bare == text || bare.contains('\\') && Value::from_json(json).is_ok_and(|read| read.as_str() == Some(text))
}

/// Returns the length of a JSON string up to its closing quote.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, char)| {
        let ends = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(key: &KeyNames, line: &str) -> String {
        let edits = if line.starts_with("graph:") { key.of_double(line) } else { key.of_line(line) };
        let mut text = line.to_owned();
        edits.into_iter().rev().for_each(|(range, new)| text.replace_range(range, &new));
        text
    }

    #[test]
    fn a_key_changes_where_a_line_has_the_context() {
        let key = KeyNames { old: "name".into(), new: "who".into(), graph: String::new(), inner: vec!["survey".into()] };
        for (line, expected) in [
            (r#"$ context {"a":{"name":1},"name":"name"}"#, r#"$ context {"a":{"name":1},"who":"name"}"#),
            (r#"$ context {"\"name":[{"name":1}]}"#, r#"$ context {"\"name":[{"name":1}]}"#),
            (r#"$ context {"n\u0061me":1}"#, r#"$ context {"who":1}"#),
            ("$ context name.json", "$ context name.json"),
            (r#"$ context {"name":1,"who":2}"#, r#"$ context {"name":1,"who":2}"#),
            ("= name", "= who"),
            ("= name.first", "= who.first"),
            ("= state context.name", "= state context.who"),
            ("= names", "= names"),
            ("* end failed missing-context at pay: `name` is not set", "* end failed missing-context at pay: `who` is not set"),
            ("* end failed tool-error at pay: `name` failed", "* end failed tool-error at pay: `name` failed"),
            (r#"! look {"name":1}"#, r#"! look {"name":1}"#),
            (r#"! graph {"name":1} (graph pay)"#, r#"! graph {"who":1} (graph pay)"#),
            (r#"! graph {"name":1} (graph survey/start)"#, r#"! graph {"name":1} (graph survey/start)"#),
            (r#"graph:pay {"name":1} {"name":2}"#, r#"graph:pay {"who":1} {"name":2}"#),
            ("| name `name`", "| name `name`"),
        ] {
            assert_eq!(changed(&key, line), expected);
        }
        // A key of a graph inside: only the calls that give it.
        let inner = KeyNames { graph: "survey".into(), ..key };
        assert_eq!(changed(&inner, r#"! graph {"name":1} (graph survey/start)"#), r#"! graph {"who":1} (graph survey/start)"#);
        assert_eq!(changed(&inner, "= name"), "= name");
    }
}
