//! Formatting: a file's text with its keys in canonical order and under their present names.
//!
//! Comments stay with their keys. Values, bodies, line breaks and everything else stay byte for byte; JSON keeps its layout too. An
//! author's choice of sugar is not touched.
//!
//! **Invariant:** the formatted text has the same meaning, and formatting it again changes nothing; where the first cannot be shown, the text
//! stays as it was.

mod blocks;
mod edits;
mod flows;
pub(super) mod layout;
mod same;

use std::{ops::Range, sync::Arc};

use self::{edits::Edits, layout::Block};
use super::{
    decode::{Form, GO_FILE, Inside, LIBRARY, NODE, PROJECT, has_bindings, is_library},
    document::Source,
    frontmatter::is_markdown,
    frontmatter::{self, Split},
    parse::is_named,
    text,
    tree::{self, YamlData, YamlNode},
};
use trellis_base::diagnostic::{Diagnostic, Report};

/// The outcome of formatting a file.
#[derive(Clone, Debug)]
pub enum Formatted {
    /// It is formatted already, or holds nothing that could be.
    Same,
    /// It was not; this is its text before and after.
    Changed {
        /// As it was.
        from: Arc<str>,
        /// As it should be.
        to: String,
    },
    /// It cannot be read, so it is left alone.
    Broken {
        /// Its text, as far as there is any.
        text: Arc<str>,
        /// The reasons.
        diagnostics: Vec<Diagnostic>,
    },
}

/// Formats one file. Pure.
pub fn format(source: &Source) -> Formatted {
    let mut report = Report::new(&source.path);
    let text = match text::read(&source.bytes, &mut report) {
        Ok(text) => text,
        Err(text) => return Formatted::Broken { text, diagnostics: report.diagnostics },
    };
    let found = yaml_of(&source.path, &text, &mut report);
    if !report.diagnostics.is_empty() {
        return Formatted::Broken { text, diagnostics: report.diagnostics };
    }
    match found.and_then(|(yaml, root)| formatted(&source.path, &text, yaml, &root)) {
        Some(to) => Formatted::Changed { from: Arc::clone(&text), to },
        None => Formatted::Same,
    }
}

/// Returns the place of a file's YAML and its tree, if there is any.
pub(super) fn yaml_of<'t>(path: &str, text: &'t str, report: &mut Report) -> Option<(Range<usize>, YamlNode<'t>)> {
    let yaml = if is_markdown(path) {
        match frontmatter::split(text) {
            Split::Matter { yaml, .. } => yaml,
            Split::Body(_) => return None,
            Split::Unclosed(fence) => {
                frontmatter::unclosed(text, fence, report);
                return None;
            }
        }
    } else {
        let mark = text.strip_prefix('\u{feff}').map_or(0, |rest| text.len() - rest.len());
        mark..text.len()
    };
    let root = tree::read(text, yaml.clone(), report).ok()??;
    Some((yaml, root))
}

/// The formatted text, if it is another one and means the same.
fn formatted(path: &str, text: &str, yaml: Range<usize>, root: &YamlNode<'_>) -> Option<String> {
    let form = Inside::One(form_of(path, root)?);
    if is_formatted(root, Some(form)) {
        return None;
    }
    let piece = layout::read(text, yaml.clone())?;
    let attempt = |reorder| {
        let to = rewritten(text, &yaml, &piece, form, reorder);
        (to != text && means(path, &to, root, form)).then_some(to)
    };
    attempt(true).or_else(|| attempt(false))
}

/// Returns the form of a whole file; `None` for a file that belongs to something else.
pub(super) fn form_of(path: &str, root: &YamlNode<'_>) -> Option<&'static Form> {
    let YamlData::Map(entries) = &root.data else { return None };
    let markdown = is_markdown(path);
    if is_named(path, "trellis.yaml") && !markdown {
        Some(&PROJECT)
    } else if !markdown && (path == "tools.yaml" || is_named(path, "tools.yaml") && has_bindings(entries)) {
        Some(&GO_FILE)
    } else if !markdown && entries.iter().any(|entry| entry.key == "nodes") {
        Some(&PROJECT)
    } else if is_library(entries) {
        Some(&LIBRARY)
    } else if markdown || entries.iter().all(|entry| NODE.knows(&entry.key)) {
        Some(&NODE)
    } else {
        // A file that belongs to something else may have taken its place among the nodes.
        None
    }
}

/// Returns whether a tree is known as formatted without its layout.
fn is_formatted(node: &YamlNode<'_>, form: Option<Inside>) -> bool {
    match (&node.data, form) {
        (YamlData::Map(entries), Some(Inside::One(form))) => {
            let keys = || entries.iter().map(|entry| &*entry.key);
            let ranks = form.ranks(keys().map(|key| form.meant(key, keys())));
            ranks.is_sorted()
                && entries.iter().all(|entry| form.meant(&entry.key, keys()) == entry.key)
                && entries.iter().all(|entry| is_formatted(&entry.value, form.of_value(&entry.key)))
        }
        (YamlData::Map(entries), form) => {
            let of_named = form.and_then(Inside::of_named);
            of_named.is_none() || entries.iter().all(|entry| is_formatted(&entry.value, of_named))
        }
        (YamlData::List(items), form) => {
            let of_item = form.and_then(Inside::of_item);
            of_item.is_none() || items.iter().all(|item| is_formatted(item, of_item))
        }
        _ => true,
    }
}

/// Returns whether `to` has the same meaning as a text with the tree `root`.
fn means(path: &str, to: &str, root: &YamlNode<'_>, form: Inside) -> bool {
    let mut report = Report::new(&path.into());
    let again = yaml_of(path, to, &mut report);
    report.diagnostics.is_empty() && again.is_some_and(|(_, again)| same::same(root, &again, Some(form)))
}

/// Returns the text with every mapping of a known form in canonical form; its keys keep their order unless `reorder`.
fn rewritten(text: &str, yaml: &Range<usize>, root: &Block<'_>, form: Inside, reorder: bool) -> String {
    let mut edits = Edits::new(text);
    Rewriter { text, yaml, edits: &mut edits, reorder }.piece(root, Some(form));
    edits.applied(0..text.len())
}

struct Rewriter<'t, 'e> {
    text: &'t str,
    yaml: &'t Range<usize>,
    edits: &'e mut Edits<'t>,
    reorder: bool,
}

impl Rewriter<'_, '_> {
    fn piece(&mut self, piece: &Block<'_>, form: Option<Inside>) {
        match (&piece.data, form) {
            // A repetition by an alias may be under another form.
            _ if piece.anchored => {}
            (layout::BlockData::Map { flow, entries }, Some(Inside::One(form))) => {
                let before = self.edits.len();
                let keys = || entries.iter().map(|entry| &*entry.name);
                for entry in entries {
                    let name = form.meant(&entry.name, keys());
                    if name != entry.name {
                        self.edits.replace(entry.key.clone(), name.to_owned());
                    }
                    self.piece(&entry.value, form.of_value(name));
                }
                let ranks = form.ranks(keys().map(|key| form.meant(key, keys())));
                if self.reorder && !piece.pinned && !ranks.is_sorted() {
                    let moved = if *flow {
                        flows::reordered(self.text, piece, entries, &ranks, self.edits)
                    } else {
                        blocks::reordered(self.text, self.yaml, entries, &ranks, self.edits)
                    };
                    if let Some((range, text)) = moved {
                        self.edits.replace_since(before, range, text);
                    }
                }
            }
            (layout::BlockData::Map { entries, .. }, form) => {
                let of_named = form.and_then(Inside::of_named);
                entries.iter().for_each(|entry| self.piece(&entry.value, of_named));
            }
            (layout::BlockData::List(items), form) => {
                let of_item = form.and_then(Inside::of_item);
                items.iter().for_each(|item| self.piece(item, of_item));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
