//! The state of the server: the client and its graphs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use trellis_core::diagnostic::FilePath;

use crate::{
    client::{Client, Settings},
    graph::Graph,
    sheets::OpenSheet,
    text::Encoding,
    unhoused::UnhousedFile,
    uri,
    wire::Uri,
    workspace::Workspace,
};

/// An edit that moves files.
pub(crate) struct OwnMoves {
    /// The old and the new place of each file or folder.
    pub(crate) moves: Vec<(String, String)>,
    /// The files that it changes, with hashes of their texts before.
    pub(crate) edited: Vec<(Uri, u64)>,
}

/// The client and the graphs that it is served.
pub(crate) struct ServerState {
    pub(crate) client: Client,
    pub(crate) settings: Settings,
    pub(crate) workspace: Workspace,
    /// The open files that no graph holds.
    pub(crate) unhoused: BTreeMap<PathBuf, UnhousedFile>,
    /// The sheets that are open.
    pub(crate) sheets: BTreeMap<PathBuf, OpenSheet>,
    /// Those of them that changed since their findings were published.
    pub(crate) stale_sheets: BTreeSet<PathBuf>,
    /// Notes for a person about the answers that were given.
    pub(crate) notes: Vec<String>,
    /// Edits that move files, of the answers that were given last.
    pub(crate) own_moves: Vec<OwnMoves>,
}

impl ServerState {
    /// Returns the graph of a file, and its path there; `None` for a file that is not served.
    pub(crate) fn graph(&mut self, uri: &Uri) -> Option<(&mut Graph, FilePath)> {
        let (graph, path) = self.workspace.known(&uri::to_path(uri)?)?;
        Some((&mut self.workspace.graphs[graph], path))
    }

    /// Returns the unit in which the client counts columns.
    pub(crate) fn encoding(&self) -> Encoding {
        self.client.encoding
    }
}
