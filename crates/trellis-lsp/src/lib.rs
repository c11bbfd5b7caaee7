//! The language server of Trellis: shows findings while a graph is written, and completes, finds and renames every name.
//!
//! ```text
//! client ──lsp-server──▶ server ──edits──▶ Graph ──snapshot──▶ linking thread
//!        ◀──findings────        ◀──────────Link, ContextTypes───────┘
//! ```
//!
//! One thread reads and answers, another one links. A request is answered at once, from the newest text and the last finished link.
//!
//! **Invariant:** every position that is sent is one of the newest text, and no list of findings is older than the one before it. Nothing
//! here runs a node, a tool or a binding, and nothing but the linking thread compiles a graph.

mod carry;
mod client;
mod findings;
mod graph;
mod linker;
mod log;
mod parent;
mod requests;
mod revisions;
mod server;
mod sheets;
mod state;
mod text;
mod transport;
mod unhoused;
mod uri;
mod wire;
mod workspace;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
    sync::Arc,
};

use trellis_core::{Diagnostic, Document, diagnostic::FilePath};

pub use lsp_server::Connection;
pub use server::{ServeError, serve};

/// A graph in which more mistakes are looked for.
#[derive(Clone, Copy, Debug)]
pub struct LateQuestion<'g> {
    /// Its files.
    pub documents: &'g [Arc<Document>],
    /// The folder that their paths are below.
    pub root: &'g Path,
    /// The texts of open files that lie in the folder and are no files of the graph.
    pub unsaved: &'g BTreeMap<FilePath, Arc<str>>,
}

/// The mistakes that were found.
#[derive(Debug, Default)]
pub struct LateAnswer {
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files beside the graph that they point into.
    pub sources: Vec<Arc<Document>>,
    /// The files and folders beside the graph that were looked at: an edit of one may change the findings.
    pub looked: BTreeSet<FilePath>,
}

impl From<Vec<Diagnostic>> for LateAnswer {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, ..Self::default() }
    }
}

/// Finds mistakes that `trellis check` reports beyond the rules of a graph, such as those in the settings of bindings and in the files that
/// bindings read. It is called after each link.
pub type LateFindings = fn(&LateQuestion<'_>) -> LateAnswer;

/// Serves a client on the standard streams until it says `exit`. What the server says about itself is appended to `log`; without one, warnings
/// go to standard error.
///
/// # Errors
/// The client breaks the protocol, or a stream fails.
pub fn serve_stdio(late: LateFindings, log: Option<File>) -> Result<(), ServeError> {
    let (connection, threads) = transport::stdio().map_err(ServeError::Stream)?;
    let served = server::serve_with(&connection, late, log::Log::new(log));
    drop(connection);
    match served {
        Ok(()) => threads.join().map_err(ServeError::Stream),
        // The reading thread may wait for a client that sends nothing more.
        Err(error) => Err(error),
    }
}
