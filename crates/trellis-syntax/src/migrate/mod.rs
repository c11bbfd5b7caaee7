//! Migrating: the necessary changes of a file of Go Trellis, as edits with their reasons.
//!
//! ```text
//! Document ──forms────▶ keys that are named or written otherwise, calls that name their program
//!          ──dialect──▶ templates in another dialect
//! text     ──settings─▶ a project file with a dialect and bindings
//! ```
//!
//! **Invariant:** comments, line breaks and the order of keys stay; an edit after which the file does not have the intended meaning is not made, but
//! reported; a migrated file has no further edits.

mod commands;
mod dialect;
mod entries;
mod forms;
mod holes;
mod settings;
mod transitions;

use std::{collections::BTreeSet, sync::Arc};

pub use self::{
    commands::Commands,
    dialect::{DialectChange, dialect, has_go, is_all_go},
    forms::forms,
    settings::{Settings, settings},
};
use super::document::{Content, Document};
use trellis_base::span::{LineColumn, LineIndex, Span};

/// Extensions that Go Trellis takes off an id.
const EXTENSIONS: [&str; 4] = ["md", "json", "yaml", "yml"];

/// The migration of one file.
#[derive(Clone, Debug, Default)]
pub struct Migrated {
    /// The edits, in the order of their places.
    pub changes: Vec<Change>,
    /// The decisions for a person, in the order of places.
    pub left: Vec<LeftToDecide>,
}

/// One change of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The place of the change.
    pub at: Span,
    /// The change and its reason.
    pub what: String,
    /// The edits, which belong together.
    pub edits: Vec<(Span, String)>,
}

/// One thing that is left to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftToDecide {
    /// The place of the decision.
    pub at: Span,
    /// The reason why nothing was changed.
    pub why: String,
    /// The remedy.
    pub help: String,
}

impl Migrated {
    /// Applies every change to the text; `None` if two of them touch.
    pub fn applied(&self, text: &str) -> Option<String> {
        applied(text, self.changes.iter())
    }

    fn left(&mut self, at: Span, why: impl Into<String>, help: impl Into<String>) {
        self.left.push(LeftToDecide { at, why: why.into(), help: help.into() });
    }
}

/// Applies the edits of changes; `None` if two of them touch, or one names bytes that do not exist.
fn applied<'c>(text: &str, changes: impl Iterator<Item = &'c Change>) -> Option<String> {
    let mut edits: Vec<&(Span, String)> = changes.flat_map(|change| &change.edits).collect();
    edits.sort_by_key(|(span, _)| *span);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (span, new) in edits {
        out.push_str(text.get(at..span.start as usize)?);
        out.push_str(new);
        at = span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Maps a place in the changed text back to the text before `changes`, so that a message names the place in the file as it is.
pub fn place_before(changes: &[Change], at: u32) -> u32 {
    let mut edits: Vec<&(Span, String)> = changes.iter().flat_map(|change| &change.edits).collect();
    edits.sort_by_key(|(span, _)| *span);
    let (at, mut shift) = (i64::from(at), 0_i64);
    for (span, new) in edits {
        let (start, length) = (i64::from(span.start) + shift, i64::try_from(new.len()).unwrap_or(i64::MAX));
        if at < start {
            break;
        }
        if at < start + length {
            return span.start;
        }
        shift += length - i64::from(span.end - span.start);
    }
    u32::try_from(at - shift).unwrap_or_default()
}

/// A line and column of a text.
pub fn located(text: &str, at: u32) -> LineColumn {
    LineIndex::new(text).locate(at)
}

/// The knowledge about a graph that one of its files does not contain.
#[derive(Clone, Debug, Default)]
pub struct GraphNames {
    ids: BTreeSet<String>,
    /// True if some part of the graph shows that it was written for Go Trellis.
    is_go: bool,
}

impl GraphNames {
    /// Reads the ids of a graph's nodes; `is_go` is true if the graph shows signs of Go Trellis. An id that has an extension, and would be free
    /// without it, does not count: it loses that.
    pub fn of(documents: &[Arc<Document>], is_go: bool) -> Self {
        let mut ids = BTreeSet::new();
        for document in documents {
            let path = document.path.rsplit_once('.').map_or(&*document.path, |(stem, _)| stem);
            match &document.content {
                Content::Node(node) => ids.extend([node.id.as_ref().map_or(path, |id| id.value.as_str()).to_owned()]),
                Content::Nodes(nodes, _) => ids.extend(nodes.iter().filter_map(|node| Some(node.id.as_ref()?.value.as_str().to_owned()))),
                Content::Broken => ids.extend([path.to_owned()]),
                Content::Library(_) | Content::Project(_) => {}
            }
        }
        let lost: Vec<String> = ids.iter().filter(|id| without_extension(id).is_some_and(|stem| !ids.contains(stem))).cloned().collect();
        ids.retain(|id| !lost.contains(id));
        Self { ids, is_go }
    }

    /// Returns whether a target of this spelling may mean a node, from anywhere.
    fn has(&self, written: &str) -> bool {
        let written = written.trim_start_matches("./").trim_start_matches('/');
        self.ids.iter().any(|id| id.strip_suffix(written).is_some_and(|folder| folder.is_empty() || folder.ends_with('/')))
    }

    /// Returns whether a node has exactly this id.
    fn is_id(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// A name without the extension of a file, if it has one.
fn without_extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_stem = !stem.is_empty() && !stem.ends_with(['/', '.']);
    (is_stem && EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))).then_some(stem)
}

#[cfg(test)]
mod tests;
