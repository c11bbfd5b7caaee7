//! Where the sessions of a graph are kept: `--store`, `TRELLIS_STORE`, or `.trellis/sessions.db` in the folder of the graph.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use trellis_core::{Document, syntax::document::Content};
use trellis_host::store::{self, SessionStore};

use crate::open::Place;

/// The store where nothing else is said, below the folder of the graph.
const FOLDER: &str = ".trellis";
const FILE: &str = "sessions.db";

/// Which store is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where sessions are kept: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis:URL` or `postgres:URL`; a password belongs into `TRELLIS_STORE`
    /// [default: `.trellis/sessions.db` in the folder of the graph]
    #[arg(long, value_name = "STORE", env = "TRELLIS_STORE", hide_env = true, hide_env_values = true)]
    store: Option<String>,
}

/// A store, and the name that the graph has there.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) graph: Arc<str>,
}

impl StoreArgs {
    /// Whether somebody said which store.
    pub(crate) fn is_given(&self) -> bool {
        self.store.is_some()
    }

    /// Opens the store for the graph at `place`.
    ///
    /// # Errors
    /// It cannot be opened: it is not there, or cannot be written or read.
    pub(crate) fn open(&self, place: &Place, documents: &[Arc<Document>]) -> anyhow::Result<Kept> {
        let spec = match &self.store {
            Some(spec) => spec.clone(),
            None => {
                let folder = place.folder().join(FOLDER);
                made(&folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
                format!("sqlite:{}", folder.join(FILE).display())
            }
        };
        Ok(Kept { store: store::open(&spec)?, graph: graph_name(place, documents) })
    }
}

/// Makes the folder, which no version control needs.
fn made(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(".gitignore"), "*\n")
}

/// What `trellis.yaml` calls the graph, or else the name of its folder or file.
fn graph_name(place: &Place, documents: &[Arc<Document>]) -> Arc<str> {
    let project = documents.iter().find_map(|document| match &document.content {
        Content::Project(project) if &*document.path == "trellis.yaml" => Some(&**project),
        Content::Nodes(_, project) => Some(&**project),
        _ => None,
    });
    if let Some(name) = project.and_then(|project| project.name.as_ref()) {
        return Arc::clone(&name.value);
    }
    let path = place.path.canonicalize().unwrap_or_else(|_| place.path.clone());
    let name = if path.is_file() { path.file_stem() } else { path.file_name() };
    name.map_or_else(|| Arc::from("graph"), |name| name.to_string_lossy().into())
}
