//! A project file with a dialect and more bindings: entries are inserted, nothing else is rewritten.

use std::collections::BTreeMap;

use super::{
    super::{
        format::{
            layout::{self, Block, BlockData, BlockEntry},
            yaml_of,
        },
        tree,
    },
    Change,
    commands::{flowing, word},
};
use trellis_base::{diagnostic::Report, span::Span, template::Dialect, value::Value};

/// The intended content of a project file.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `templates:`.
    pub templates: Option<Dialect>,
    /// `bindings:` by tool.
    pub bindings: BTreeMap<String, Value>,
}

impl Settings {
    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.templates.is_none() && self.bindings.is_empty()
    }

    /// Describes each setting of a new project file, with its reason.
    pub fn reasons(&self) -> Vec<String> {
        self.templates.map(set).into_iter().chain(self.bindings.iter().map(declared)).collect()
    }

    /// A new project file.
    pub fn file(&self) -> String {
        let templates = self.templates.map(|dialect| format!("templates: {}\n", name(dialect))).unwrap_or_default();
        templates + &block(&self.bindings, "\n")
    }
}

/// Writes settings into the text of a project file, or of a graph in one file; `None` if its layout does not allow it.
pub fn settings(path: &str, text: &str, wanted: &Settings) -> Option<Vec<Change>> {
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut report = Report::new(&path.into());
    let found = yaml_of(path, text, &mut report);
    if !report.diagnostics.is_empty() {
        return None;
    }
    let piece = found.as_ref().and_then(|(yaml, _)| layout::read(text, yaml.clone()));
    let mut changes = Vec::new();
    match piece.as_ref().map(|piece| &piece.data) {
        Some(BlockData::Map { flow, entries }) if !entries.is_empty() => {
            let root = SettingsRoot { text, flow: *flow, entries, line_break };
            if let Some(dialect) = wanted.templates {
                changes.push(Change { at: Span::at(0), what: set(dialect), edits: vec![root.templates(name(dialect))] });
            }
            if !wanted.bindings.is_empty() {
                changes.extend(root.bindings(&wanted.bindings)?);
            }
        }
        Some(BlockData::Scalar(text)) if !text.is_empty() => return None,
        Some(BlockData::List(_) | BlockData::Block | BlockData::Map { flow: true, .. }) => return None,
        // Nothing but comments.
        _ => {
            let begin = if text.is_empty() || text.ends_with('\n') { "" } else { line_break };
            let file = format!("{begin}{}", wanted.file().replace('\n', line_break));
            let at = Span::at(text.len());
            changes.extend(wanted.reasons().into_iter().map(|what| Change { at, what, edits: Vec::new() }));
            changes.iter_mut().take(1).for_each(|change| change.edits.push((at, file.clone())));
        }
    }
    keeps(path, text, &changes, wanted).then_some(changes)
}

fn declared((tool, binding): (&String, &Value)) -> String {
    match binding {
        Value::Map(entries) if entries.is_empty() => format!("`{tool}` is declared: the host carries it out"),
        _ => format!("`{tool}` is bound to the program that its call named"),
    }
}

fn set(dialect: Dialect) -> String {
    format!("`templates: {}`: the dialect of these templates", name(dialect))
}

/// Returns whether the text has the same meaning after the changes, and the intended additions.
fn keeps(path: &str, text: &str, changes: &[Change], wanted: &Settings) -> bool {
    let Some(after) = super::applied(text, changes.iter()) else { return false };
    let mut report = Report::new(&path.into());
    let (before, now) = (yaml_of(path, text, &mut report), yaml_of(path, &after, &mut report));
    let Some((_, now)) = now.filter(|_| report.diagnostics.is_empty()) else { return false };
    let get = |root: &tree::YamlNode<'_>, key: &str| match &root.data {
        tree::YamlData::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| written(&entry.value)),
        _ => None,
    };
    let before = before.map(|(_, root)| root);
    let is_unchanged = match before.as_ref().map(|root| &root.data) {
        Some(tree::YamlData::Map(entries)) => entries.iter().all(|entry| {
            let is_changed =
                entry.key == "templates" && wanted.templates.is_some() || entry.key == "bindings" && !wanted.bindings.is_empty();
            is_changed || get(&now, &entry.key) == Some(written(&entry.value))
        }),
        _ => true,
    };
    is_unchanged
        && wanted.templates.is_none_or(|dialect| get(&now, "templates") == Some(format!("{:?}", name(dialect))))
        && wanted.bindings.keys().all(|tool| get(&now, "bindings").is_some_and(|all| all.contains(&format!("{tool:?}:"))))
}

/// A tree as text, for comparing.
fn written(node: &tree::YamlNode<'_>) -> String {
    match &node.data {
        tree::YamlData::Scalar(text, _) => format!("{text:?}"),
        tree::YamlData::List(items) => items.iter().map(|item| written(item) + ",").collect(),
        tree::YamlData::Map(entries) => entries.iter().map(|entry| format!("{:?}:{},", entry.key, written(&entry.value))).collect(),
        tree::YamlData::Reported => String::new(),
    }
}

/// The mapping of a project file.
struct SettingsRoot<'p, 't> {
    text: &'t str,
    flow: bool,
    entries: &'p [BlockEntry<'t>],
    line_break: &'static str,
}

impl SettingsRoot<'_, '_> {
    fn find(&self, key: &str) -> Option<&BlockEntry<'_>> {
        self.entries.iter().find(|entry| entry.name == key)
    }

    fn templates(&self, dialect: &str) -> (Span, String) {
        if let Some(entry) = self.find("templates") {
            let range = super::entries::inner(self.text, &entry.value.range);
            return (Span::new(range.start, range.end), dialect.into());
        }
        let first = &self.entries[0];
        if self.flow {
            return self.in_front(&format!("\"templates\": \"{dialect}\""));
        }
        let line = format!("templates: {dialect}{}", self.line_break);
        match self.find("name") {
            Some(name) => self.below(name, line),
            None => (Span::at(first.start), line),
        }
    }

    /// An entry in front of the others in braces.
    fn in_front(&self, entry: &str) -> (Span, String) {
        let first = self.entries[0].start;
        let blank = &self.text[self.text[..first].rfind('{').map_or(first, |open| open + 1)..first];
        let blank = if blank.trim().is_empty() && !blank.is_empty() { blank } else { " " };
        (Span::at(first), format!("{entry},{blank}"))
    }

    /// Inserts lines below an entry on lines of its own.
    fn below(&self, entry: &BlockEntry<'_>, lines: String) -> (Span, String) {
        let end = entry.end();
        match self.text[end..].find('\n') {
            Some(found) => (Span::at(end + found + 1), lines),
            None => (Span::at(self.text.len()), format!("{}{}", self.line_break, lines.trim_end())),
        }
    }

    fn bindings(&self, bindings: &BTreeMap<String, Value>) -> Option<Vec<Change>> {
        let yaml = |(tool, binding): (&String, &Value)| format!("{}: {}", word(tool), flowing(binding));
        let json = |(tool, binding): (&String, &Value)| format!("{}: {}", Value::text(&**tool).to_json(), binding.to_json());
        let at = match self.find("bindings").map(|entry| (entry, &entry.value)) {
            None if self.flow => {
                self.in_front(&format!("\"bindings\": {{ {} }}", bindings.iter().map(json).collect::<Vec<_>>().join(", ")))
            }
            None => self.below(self.entries.last()?, block(bindings, self.line_break)),
            Some((_, Block { data: BlockData::Map { flow: true, entries }, range, .. })) => {
                let more = bindings.iter().map(if self.flow { json } else { yaml }).collect::<Vec<_>>().join(", ");
                match entries.last() {
                    Some(last) => (Span::at(last.end()), format!(", {more}")),
                    None => (Span::new(range.start, range.end), format!("{{ {more} }}")),
                }
            }
            Some((_, Block { data: BlockData::Map { entries, .. }, .. })) => {
                let last = entries.last()?;
                let line = self.text[..last.start].rfind('\n').map_or(0, |before| before + 1);
                let indent = self.text.get(line..last.start).filter(|indent| indent.bytes().all(|byte| byte == b' '))?;
                self.below(last, bindings.iter().map(|one| format!("{indent}{}{}", yaml(one), self.line_break)).collect())
            }
            Some((entry, value)) if value.range.is_empty() => {
                let colon = entry.end() + self.text[entry.end()..].find(':')? + 1;
                let lines: String = bindings.iter().map(|one| format!("{}  {}", self.line_break, yaml(one))).collect();
                (Span::at(colon), lines)
            }
            Some(_) => return None,
        };
        let mut changes: Vec<Change> = bindings.iter().map(|one| Change { at: at.0, what: declared(one), edits: Vec::new() }).collect();
        changes.first_mut()?.edits.push(at);
        Some(changes)
    }
}

/// `bindings:` on lines.
fn block(bindings: &BTreeMap<String, Value>, line_break: &str) -> String {
    if bindings.is_empty() {
        return String::new();
    }
    let lines = bindings.iter().map(|(tool, binding)| format!("  {}: {}{line_break}", word(tool), flowing(binding)));
    format!("bindings:{line_break}{}", lines.collect::<String>())
}

/// A dialect as it is named.
pub(super) fn name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Jinja => "jinja",
        Dialect::Go => "go",
        Dialect::Legacy => "legacy",
    }
}
