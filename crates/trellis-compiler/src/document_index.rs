//! Index of the documents that have diagnostics, comments, links or tools, so that later passes skip all others.

use std::sync::Arc;

use trellis_syntax::{
    document::{Content, Document, SEED, mix},
    node::ToolRef,
};

/// Documents by their content: indices, in ascending order.
#[derive(Debug, Default)]
pub(super) struct DocumentIndex {
    hashes: Vec<u64>,
    /// Documents with diagnostics of parsing.
    pub(super) marked: Vec<u32>,
    /// Documents with comments that allow findings.
    pub(super) allowing: Vec<u32>,
    /// Documents that link to others.
    pub(super) linking: Vec<u32>,
    /// Documents that define or name tools.
    pub(super) tooled: Vec<u32>,
}

impl DocumentIndex {
    pub(super) fn new(documents: &[Arc<Document>]) -> Self {
        let mut index = Self { hashes: vec![0; documents.len()], ..Self::default() };
        for (at, document) in (0..).zip(documents) {
            index.look(at, document);
        }
        index
    }

    /// Updates the entries of edited documents.
    pub(super) fn renew(&mut self, documents: &[Arc<Document>], edited: &[u32]) {
        for list in [&mut self.marked, &mut self.allowing, &mut self.linking, &mut self.tooled] {
            list.retain(|at| edited.binary_search(at).is_err());
        }
        edited.iter().for_each(|&at| self.look(at, &documents[at as usize]));
        for list in [&mut self.marked, &mut self.allowing, &mut self.linking, &mut self.tooled] {
            list.sort_unstable();
        }
    }

    fn look(&mut self, at: u32, document: &Document) {
        self.hashes[at as usize] = document.hash;
        let mut note = |list: fn(&mut Self) -> &mut Vec<u32>, is_so: bool| {
            if is_so {
                list(self).push(at)
            }
        };
        note(|index| &mut index.marked, !document.diagnostics.is_empty());
        note(|index| &mut index.allowing, !document.allows.is_empty());
        note(|index| &mut index.linking, matches!(&document.content, Content::Node(node) if !node.links.is_empty()));
        note(|index| &mut index.tooled, references(document).next().is_some());
    }

    /// Returns a hash over all paths and texts, the same on every platform. It identifies a program to people and in records; it protects
    /// against nothing.
    pub(super) fn fingerprint(&self) -> Arc<str> {
        let hash = self.hashes.iter().fold(SEED, |hash, document| mix(hash, &document.to_le_bytes()));
        format!("{hash:016x}").into()
    }
}

/// Returns the tool references of a document and of its nodes.
pub(super) fn references(document: &Document) -> impl Iterator<Item = &ToolRef> {
    let nodes: &[_] = if let Content::Nodes(nodes, _) = &document.content { nodes } else { &[] };
    references_of(document).iter().chain(nodes.iter().flat_map(|node| &node.tools))
}

/// Returns the tool references of a document that holds one node or a library.
pub(super) fn references_of(document: &Document) -> &[ToolRef] {
    match &document.content {
        Content::Node(node) => &node.tools,
        Content::Library(tools) => tools,
        _ => &[],
    }
}
