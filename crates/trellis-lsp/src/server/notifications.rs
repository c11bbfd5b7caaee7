//! Notifications of clients: texts that are opened, changed and closed, saved files, added and removed folders.

use std::path::{Path, PathBuf};

use lsp_server::{ErrorCode, Message, Notification};
use serde::de::DeserializeOwned;
use trellis_core::diagnostic::FilePath;

use super::{Server, start::BESIDE};
use crate::{
    graph::{Graph, OpenFile},
    revisions::Revisions,
    sheets::{OpenSheet, is_sheet},
    text::Text,
    transport::REFUSED,
    unhoused::UnhousedFile,
    uri,
    wire::{
        DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
        DidOpenTextDocumentParams, Uri,
    },
};

impl Server<'_> {
    /// Handles a notification. An unknown or malformed one changes nothing.
    pub(super) fn notified(&mut self, notification: Notification) {
        match notification.method.as_str() {
            "textDocument/didOpen" => drop(params(notification).map(|params| self.opened(params))),
            "textDocument/didChange" => self.changed(notification),
            // Where the client tells of no other files.
            "textDocument/didSave" => {
                let uri = notification.params.pointer("/textDocument/uri").and_then(|uri| uri.as_str());
                let file = uri.and_then(|uri| uri::to_path(&Uri(uri.to_owned())));
                file.iter().for_each(|file| self.stir(file));
            }
            "textDocument/didClose" => drop(params(notification).map(|params| self.closed(&params))),
            "workspace/didChangeWatchedFiles" => drop(params(notification).map(|params| self.saved(&params))),
            "workspace/didChangeWorkspaceFolders" => drop(params(notification).map(|params| self.refolded(&params))),
            "workspace/didChangeConfiguration" => {
                // Clients that can be asked send no settings; others send all of them.
                match notification.params.get("settings").filter(|settings| settings.is_object()) {
                    _ if self.state.client.configuration => self.ask_settings(),
                    Some(settings) => self.set(&settings.clone()),
                    None => {}
                }
            }
            "$/cancelRequest" => {
                let id = notification.params.get("id").cloned();
                self.cancelled(id.and_then(|id| serde_json::from_value(id).ok()));
            }
            REFUSED => {
                let message = notification.params.get("message").and_then(|message| message.as_str()).unwrap_or_default();
                self.out_of_step(&notification, message);
            }
            _ => {}
        }
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let file = params.text_document;
        let Some(path) = uri::to_path(&file.uri) else { return };
        // A sheet is a file of the graph like others, though none of its nodes.
        if is_sheet(&path) {
            self.state.stale_sheets.insert(path.clone());
            self.state.sheets.insert(
                path.clone(),
                OpenSheet {
                    uri: file.uri.clone(),
                    revisions: Revisions::new(file.version),
                    text: Text::new(file.text.clone()),
                    cases: Vec::new(),
                    needs_graph: false,
                },
            );
        }
        self.state.unhoused.remove(&path);
        let Some((graph, path)) = self.state.workspace.graph_of(&path) else {
            let open =
                UnhousedFile { uri: file.uri, revisions: Revisions::new(file.version), text: Text::new(file.text), is_refused: false };
            self.stir(&path);
            self.state.unhoused.insert(path, open);
            return;
        };
        self.state.workspace.graphs[graph].opened(&path, OpenFile { uri: file.uri, revisions: Revisions::new(file.version) }, &file.text);
    }

    fn changed(&mut self, notification: Notification) {
        match serde_json::from_value(notification.params.clone()).map_err(|error| error.to_string()).and_then(|params| self.edited(&params))
        {
            Ok(()) => {}
            Err(error) => self.out_of_step(&notification, &error),
        }
    }

    /// Takes the edits of an open file.
    ///
    /// # Errors
    /// They are none of the text that is here.
    fn edited(&mut self, params: &DidChangeTextDocumentParams) -> Result<(), String> {
        let document = &params.text_document;
        let encoding = self.state.encoding();
        if let Some(path) = uri::to_path(&document.text_document_identifier.uri)
            && let Some(sheet) = self.state.sheets.get_mut(&path)
        {
            self.state.stale_sheets.insert(path.clone());
            if !sheet.edited(params, encoding) {
                // The text in the editor is unknown: the disk counts until the file is opened again.
                self.state.sheets.remove(&path);
            }
        }
        if let Some(path) = uri::to_path(&document.text_document_identifier.uri)
            && self.state.unhoused.contains_key(&path)
        {
            self.edited_unhoused(&path, params);
            self.stir(&path);
            return Ok(());
        }
        let Some((graph, path)) = self.open(&document.text_document_identifier.uri) else { return Ok(()) };
        let Some(text) = graph.text(&path).cloned() else { return Ok(()) };
        let Some(open) = graph.open.get_mut(&path) else { return Ok(()) };
        let (text, replaced) = open.revisions.edited(&text, params, encoding)?;
        graph.changed(&path, text, replaced);
        Ok(())
    }

    /// Reads an open file from the disk until it is opened again: the client's text is unknown.
    fn out_of_step(&mut self, notification: &Notification, why: &str) {
        let uri = notification.params.pointer("/textDocument/uri").and_then(|uri| uri.as_str());
        let Some(uri) = uri.map(|uri| Uri(uri.to_owned())) else { return };
        if let Some(path) = uri::to_path(&uri) {
            self.state.unhoused.remove(&path);
        }
        let found = self.open(&uri).map(|(graph, path)| {
            graph.closed(&path);
            path
        });
        let name = match (&found, notification.method.as_str()) {
            (Some(path), _) => path.to_string(),
            // An edit of a file that nobody opened here changes nothing.
            (None, REFUSED) => uri.0,
            (None, _) => return,
        };
        self.say(format!("`{name}` is read from disk until it is opened again: {why}"));
    }

    fn closed(&mut self, params: &DidCloseTextDocumentParams) {
        if let Some(path) = uri::to_path(&params.text_document.uri) {
            if self.state.unhoused.remove(&path).is_some() {
                self.stir(&path);
            }
            if self.state.sheets.remove(&path).is_some() {
                self.state.stale_sheets.insert(path);
            }
        }
        if let Some((graph, path)) = self.open(&params.text_document.uri) {
            graph.closed(&path);
        }
    }

    /// Looks again at the graphs whose bindings read a file.
    fn stir(&mut self, file: &Path) {
        self.state.workspace.graphs.iter_mut().for_each(|graph| graph.stir(file));
    }

    /// Returns the graph of an open file and its path there.
    fn open(&mut self, uri: &Uri) -> Option<(&mut Graph, FilePath)> {
        let file = uri::to_path(uri)?;
        let graphs = self.state.workspace.graphs.iter_mut();
        let mut found = graphs.filter_map(|graph| Some((graph.path_of(&file)?, graph)));
        found.find_map(|(path, graph)| graph.open.contains_key(&path).then_some((graph, path)))
    }

    /// Marks saved files to be read again, and graphs to be listed. Folders and ignore files change more than they name.
    fn saved(&mut self, params: &DidChangeWatchedFilesParams) {
        let files: Vec<PathBuf> = params.changes.iter().filter_map(|event| uri::to_path(&event.uri)).collect();
        for graph in &mut self.state.workspace.graphs {
            for file in &files {
                graph.stir(file);
                let path = graph.path_of(file);
                match path.filter(|path| trellis_project::is_graph_file(path)) {
                    Some(path) => graph.forget(&path),
                    None if is_beside(file) => {}
                    None if file.starts_with(&graph.root) || graph.root.starts_with(file) => graph.forget_all(),
                    None => {}
                }
            }
        }
        // A folder may have become a graph.
        for file in files.iter().filter(|file| file.is_file()) {
            if self.state.workspace.above(file).is_none() {
                self.state.workspace.graph_of(file);
            }
        }
    }

    fn refolded(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        let paths = |folders: &[crate::wire::WorkspaceFolder]| folders.iter().filter_map(|folder| uri::to_path(&folder.uri)).collect();
        let (removed, added): (Vec<PathBuf>, Vec<PathBuf>) = (paths(&params.event.removed), paths(&params.event.added));
        let gone = self.state.workspace.change(&removed, added);
        gone.into_iter().for_each(|graph| self.leave(graph));
    }

    /// Refuses a request that still waits.
    fn cancelled(&mut self, id: Option<lsp_server::RequestId>) {
        if let Some(id) = id.and_then(|id| self.waiting.take(&id)) {
            self.refuse(vec![id], ErrorCode::RequestCanceled, "cancelled");
        }
    }
}

/// Returns true for a file that bindings read, and that is neither a file of a graph nor one that decides which these are.
fn is_beside(file: &Path) -> bool {
    let end = file.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| BESIDE.contains(&end))
}

/// Returns true for a message that only marks files on disk as changed: they are read before the next request.
pub(super) fn is_of_disk(message: &Message) -> bool {
    let methods = ["workspace/didChangeWatchedFiles", "textDocument/didClose"];
    matches!(message, Message::Notification(notification) if methods.contains(&notification.method.as_str()))
}

/// Returns the parameters of a notification, if they are well-formed.
fn params<T: DeserializeOwned>(notification: Notification) -> Option<T> {
    serde_json::from_value(notification.params).ok()
}
