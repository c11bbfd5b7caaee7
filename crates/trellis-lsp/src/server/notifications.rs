//! What clients tell: texts that are opened, changed and closed, files that were saved, folders that come and go.

use std::path::PathBuf;

use lsp_server::Notification;
use serde::de::DeserializeOwned;
use trellis_core::diagnostic::FilePath;

use super::Server;
use crate::{
    carry::Replaced,
    graph::{Graph, OpenFile},
    uri,
    wire::{
        DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
        DidOpenTextDocumentParams, FileChangeType, TextDocumentContentChangeEvent, Uri,
    },
};

impl Server<'_> {
    /// Takes a notification. One that is unknown, or not as the protocol says, changes nothing.
    pub(super) fn notified(&mut self, notification: Notification) {
        match notification.method.as_str() {
            "textDocument/didOpen" => drop(params(notification).map(|params| self.opened(params))),
            "textDocument/didChange" => drop(params(notification).map(|params| self.changed(params))),
            "textDocument/didClose" => drop(params(notification).map(|params| self.closed(&params))),
            "workspace/didChangeWatchedFiles" => drop(params(notification).map(|params| self.saved(&params))),
            "workspace/didChangeWorkspaceFolders" => drop(params(notification).map(|params| self.refolded(&params))),
            "$/cancelRequest" => {
                let id = notification.params.get("id").cloned();
                self.cancelled(id.and_then(|id| serde_json::from_value(id).ok()));
            }
            _ => {}
        }
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let file = params.text_document;
        let Some(path) = uri::to_path(&file.uri) else { return };
        let Some((graph, path)) = self.state.workspace.graph_of(&path) else { return };
        self.state.workspace.graphs[graph].opened(&path, OpenFile { uri: file.uri, version: file.version }, &file.text);
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) {
        let uri = &params.text_document.text_document_identifier.uri;
        let encoding = self.state.encoding();
        let Some((graph, path)) = self.open(uri) else { return };
        let Some(mut text) = graph.text(&path).cloned() else { return };
        let mut replaced: Vec<Replaced> = Vec::new();
        for change in &params.content_changes {
            let (range, new) = match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => (Some(change.range), &change.text),
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(change) => (None, &change.text),
            };
            let edit = text.replace(range, new, encoding);
            // Nothing in place of nothing touches no span.
            if edit.start != edit.end || edit.length > 0 {
                replaced.push(edit);
            }
        }
        graph.changed(&path, params.text_document.version, text, replaced);
    }

    fn closed(&mut self, params: &DidCloseTextDocumentParams) {
        if let Some((graph, path)) = self.open(&params.text_document.uri) {
            graph.closed(&path);
        }
    }

    /// Returns the graph of an open file and its path there.
    fn open(&mut self, uri: &Uri) -> Option<(&mut Graph, FilePath)> {
        let file = uri::to_path(uri)?;
        let graphs = self.state.workspace.graphs.iter_mut();
        let mut found = graphs.filter_map(|graph| Some((graph.path_of(&file)?, graph)));
        found.find_map(|(path, graph)| graph.open.contains_key(&path).then_some((graph, path)))
    }

    /// Reads saved files again; folders and ignore files change more than they name.
    fn saved(&mut self, params: &DidChangeWatchedFilesParams) {
        let mut whole = Vec::new();
        for event in &params.changes {
            let Some(file) = uri::to_path(&event.uri) else { continue };
            let is_one = event.kind == FileChangeType::Changed && !file.ends_with(".gitignore");
            match self.state.workspace.known(&file).filter(|_| is_one) {
                Some((graph, path)) => self.state.workspace.graphs[graph].read_again(&path),
                None => whole.push(file),
            }
        }
        for graph in &mut self.state.workspace.graphs {
            if whole.iter().any(|file| file.starts_with(&graph.root) || graph.root.starts_with(file)) {
                graph.reload();
            }
        }
        // A folder may have become a graph.
        for file in whole.iter().filter(|file| file.is_file()) {
            self.state.workspace.graph_of(file);
        }
    }

    fn refolded(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        let paths = |folders: &[crate::wire::WorkspaceFolder]| folders.iter().filter_map(|folder| uri::to_path(&folder.uri)).collect();
        let (removed, added): (Vec<PathBuf>, Vec<PathBuf>) = (paths(&params.event.removed), paths(&params.event.added));
        let gone = self.state.workspace.change(&removed, added);
        gone.iter().for_each(|graph| self.leave(graph));
    }

    /// Refuses a request that still waits.
    fn cancelled(&mut self, id: Option<lsp_server::RequestId>) {
        let Some(id) = id else { return };
        let waiting = self.waiting.len();
        self.waiting.retain(|request| request.id != id);
        if self.waiting.len() < waiting {
            let code = lsp_server::ErrorCode::RequestCanceled as i32;
            self.send(lsp_server::Response::new_err(id, code, "cancelled".into()));
        }
    }
}

/// Returns the parameters of a notification, if they are as the protocol says.
fn params<T: DeserializeOwned>(notification: Notification) -> Option<T> {
    serde_json::from_value(notification.params).ok()
}
