//! What one look at each document tells: where there is something to do at all, so that most files need not be looked at again.

use std::sync::Arc;

use crate::syntax::{
    document::{Content, Document, SEED, mix},
    node::ToolRef,
};

/// Lists of documents, by index, in order.
#[derive(Debug, Default)]
pub(super) struct DocumentIndex {
    hashes: Vec<u64>,
    /// Those with diagnostics of their own.
    pub(super) marked: Vec<u32>,
    /// Those with comments that allow findings.
    pub(super) allowing: Vec<u32>,
    /// Those that link to others.
    pub(super) linking: Vec<u32>,
    /// Those that define or name tools.
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

    /// Looks again at documents that were edited.
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

    /// A short name for everything that was compiled, over every path and text; the same on every platform. Information for people and records,
    /// no protection.
    pub(super) fn fingerprint(&self) -> Arc<str> {
        let hash = self.hashes.iter().fold(SEED, |hash, document| mix(hash, &document.to_le_bytes()));
        format!("{hash:016x}").into()
    }
}

/// The tool references of a document, whoever holds them.
pub(super) fn references(document: &Document) -> impl Iterator<Item = &ToolRef> {
    let nodes: &[_] = if let Content::Nodes(nodes, _) = &document.content { nodes } else { &[] };
    references_of(document).iter().chain(nodes.iter().flat_map(|node| &node.tools))
}

/// The tool references of a document as a whole.
pub(super) fn references_of(document: &Document) -> &[ToolRef] {
    match &document.content {
        Content::Node(node) => &node.tools,
        Content::Library(tools) => tools,
        _ => &[],
    }
}
