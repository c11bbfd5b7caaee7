//! Open files without a graph: they are kept as their client has them, and handed over when a graph holds them.
//!
//! **Invariant:** before a message is taken, each open file is with the graph that it belongs to.

use std::path::Path;

use super::Server;
use crate::{
    graph::{Graph, OpenFile},
    unhoused::UnhousedFile,
    wire::DidChangeTextDocumentParams,
};

impl Server<'_> {
    /// Serves no more what is no graph now, and hands open files to the graphs that hold them.
    pub(super) fn house(&mut self) {
        let gone = self.state.workspace.sift();
        gone.into_iter().for_each(|graph| self.leave(graph));
        if self.state.unhoused.is_empty() {
            return;
        }
        for (file, open) in std::mem::take(&mut self.state.unhoused) {
            let Some((graph, path)) = self.state.workspace.known(&file) else {
                self.state.unhoused.insert(file, open);
                continue;
            };
            let UnhousedFile { uri, revisions, text, .. } = open;
            self.state.workspace.graphs[graph].opened(&path, OpenFile { uri, revisions }, text.as_str());
            if self.state.sheets.contains_key(&file) {
                self.state.stale_sheets.insert(file);
            }
        }
    }

    /// Takes the edits of an open file that no graph holds; its folder may have become a graph, and nobody said so.
    pub(super) fn edited_unhoused(&mut self, file: &Path, params: &DidChangeTextDocumentParams) {
        let encoding = self.state.encoding();
        let Some(mut open) = self.state.unhoused.remove(file) else { return };
        if !open.apply(params, encoding) {
            // The text in the editor is unknown.
            return;
        }
        if !open.is_refused {
            open.is_refused = self.is_refused(file);
        }
        self.state.unhoused.insert(file.to_owned(), open);
    }

    /// Looks for the graph of a file; returns whether its folder should be one, and cannot be served.
    fn is_refused(&mut self, file: &Path) -> bool {
        let workspace = &mut self.state.workspace;
        let before = (workspace.graphs.len(), workspace.problems.len());
        workspace.graph_of(file).is_none() && (workspace.graphs.len(), workspace.problems.len()) != before
    }

    /// Looks for graphs that nobody told of: in the folders, and around the open files that no graph holds.
    pub(super) fn look_around(&mut self) {
        self.state.workspace.find();
        let files: Vec<_> = self.state.unhoused.keys().cloned().collect();
        files.iter().for_each(|file| drop(self.state.workspace.graph_of(file)));
    }

    /// Keeps the open files of a graph that is left.
    pub(super) fn keep_open(&mut self, graph: &mut Graph) {
        for path in graph.open.keys().cloned().collect::<Vec<_>>() {
            let (file, text) = (graph.file(&path), graph.text(&path).cloned());
            if let (Some(OpenFile { uri, revisions }), Some(text)) = (graph.open.remove(&path), text) {
                self.state.unhoused.insert(file, UnhousedFile { uri, revisions, text, is_refused: false });
            }
        }
    }
}
