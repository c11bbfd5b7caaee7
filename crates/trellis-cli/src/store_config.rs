//! Where the sessions of a graph are kept: `--store`, `TRELLIS_STORE`, or `.trellis/sessions.db` in the folder of the graph.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use trellis_core::{Document, path::KeyPath, syntax::document::Content};
use trellis_host::store::{self, Keys, MemoryStore, Redacted, Sealed, SessionStore, StoreError};

use crate::{open::Place, terminal};

/// The store where nothing else is said, below the folder of the graph.
const FOLDER: &str = ".trellis";
const FILE: &str = "sessions.db";

/// Which store is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store of the sessions: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis://HOST` or `postgres://HOST`; put a password into
    /// `TRELLIS_STORE`
    /// [default: `.trellis/sessions.db` in the folder of the graph]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Seal sessions with the first key of this file; every key of the file opens them. Also `TRELLIS_KEY_FILE`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// Which store is meant, and the name that the graph has there.
#[derive(Clone)]
pub(crate) struct StoreConfig {
    spec: String,
    graph: Arc<str>,
    /// Whether nobody said which store: then one that cannot be used is no reason not to run.
    is_default: bool,
    key_file: Option<PathBuf>,
    /// What of the context is not stored.
    redact: Vec<KeyPath>,
}

/// A store, and the name that the graph has there.
#[derive(Clone)]
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) graph: Arc<str>,
}

impl StoreArgs {
    /// The store of the graph at `place`.
    pub(crate) fn of(&self, place: &Place, documents: &[Arc<Document>]) -> StoreConfig {
        let graph = graph_name(place, documents);
        let spec = self.named();
        let is_default = spec.is_none();
        let spec = spec.unwrap_or_else(|| format!("sqlite:{}", place.folder().join(FOLDER).join(FILE).display()));
        StoreConfig { spec, graph, is_default, key_file: self.key_file(), redact: store::redacted_by(documents) }
    }

    /// The store that was named, whatever graphs there are.
    pub(crate) fn alone(&self) -> Option<StoreConfig> {
        let spec = self.named()?;
        Some(StoreConfig { spec, graph: "".into(), is_default: false, key_file: self.key_file(), redact: Vec::new() })
    }

    /// The store that is listed where no graph was named: the one that was named, or else the one that the graph in `folder` has. No graph is looked for.
    pub(crate) fn to_list(&self, folder: &Path) -> Option<StoreConfig> {
        let usual = || {
            let file = folder.join(FOLDER).join(FILE);
            let spec = file.is_file().then(|| format!("sqlite:{}", file.display()))?;
            Some(StoreConfig { spec, graph: "".into(), is_default: true, key_file: self.key_file(), redact: Vec::new() })
        };
        self.alone().or_else(usual)
    }

    /// The store that somebody named.
    fn named(&self) -> Option<String> {
        // A name that is no text names nothing, and no store is called so.
        self.store.clone().or_else(|| set("TRELLIS_STORE").map(|name| name.into_string().unwrap_or_default()))
    }

    fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone().or_else(|| set("TRELLIS_KEY_FILE").map(PathBuf::from))
    }
}

impl StoreConfig {
    /// Opens the store for somebody who looks at sessions that are there, or moves them: nothing is made. Where nobody said which store, and nothing
    /// was ever kept, there is an empty one.
    ///
    /// # Errors
    /// The store that was named is not there, or it cannot be read.
    pub(crate) async fn open_to_look(&self) -> anyhow::Result<OpenStore> {
        if self.is_untouched() {
            return Ok(OpenStore { store: Arc::new(MemoryStore::new()), graph: Arc::clone(&self.graph) });
        }
        self.wrapped(store::open_existing(&self.spec).await?)
    }

    /// Whether what is put there is there in another run.
    pub(crate) fn lasts(&self) -> bool {
        self.spec != "memory"
    }

    /// The same, for one who takes recorded steps again: what was redacted reads as the marks that stand for it.
    pub(crate) fn with_marks(self) -> Self {
        Self { redact: Vec::new(), ..self }
    }

    /// The name of the graph.
    pub(crate) fn graph(&self) -> &str {
        &self.graph
    }

    /// Opens the store; its connections belong to the runtime that runs this.
    ///
    /// # Errors
    /// It is not there, or cannot be written or read.
    pub(crate) async fn open(&self) -> anyhow::Result<OpenStore> {
        if let (true, Some(file)) = (self.is_default, self.spec.strip_prefix("sqlite:")) {
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            made(folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        self.wrapped(store::open(&self.spec).await?)
    }

    /// A store, sealed and without what is not stored.
    fn wrapped(&self, mut store: Arc<dyn SessionStore>) -> anyhow::Result<OpenStore> {
        if let Some(keys) = self.keys()? {
            store = Arc::new(Sealed::new(store, keys));
        }
        if !self.redact.is_empty() {
            store = Arc::new(Redacted::new(store, self.redact.clone()));
        }
        Ok(OpenStore { store, graph: Arc::clone(&self.graph) })
    }

    /// The keys that seal and open it, if there are any.
    ///
    /// # Errors
    /// The key file cannot be read, or is none.
    fn keys(&self) -> Result<Option<Keys>, StoreError> {
        self.key_file.as_deref().map(Keys::read).transpose()
    }

    /// The file with its keys.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// The store itself, whose texts are sealed: for one who exchanges keys. Nothing, where nothing was ever kept.
    ///
    /// # Errors
    /// It cannot be opened, or there is no key file.
    pub(crate) async fn open_sealed(&self) -> anyhow::Result<Option<(Arc<dyn SessionStore>, Keys)>> {
        let Some(keys) = self.keys()? else { anyhow::bail!("which key file? `--key-file FILE` or `TRELLIS_KEY_FILE` names it") };
        if self.is_untouched() {
            return Ok(None);
        }
        Ok(Some((store::open_existing(&self.spec).await?, keys)))
    }

    /// Whether nobody said which store, and the usual one was never made.
    fn is_untouched(&self) -> bool {
        self.is_default && self.spec.strip_prefix("sqlite:").is_some_and(|file| !Path::new(file).exists())
    }

    /// Says how the server could lose what it acknowledges, if it could. Whoever writes hears it; a server that does not answer is no matter of this.
    pub(crate) async fn warn(&self) {
        let weaknesses = store::weaknesses(&self.spec).await.unwrap_or_default();
        if !weaknesses.is_empty() {
            let lines = weaknesses.iter().map(|weakness| format!("\n  {weakness}")).collect::<String>();
            terminal::print_error(&format!("warning: the server may lose sessions that it said to keep{lines}\n"));
        }
    }

    /// The same for a run: where nobody said which store, and it cannot be used, nothing is kept.
    ///
    /// # Errors
    /// The store that was named cannot be used.
    pub(crate) async fn open_if_it_can_be(&self) -> anyhow::Result<Option<OpenStore>> {
        match self.open().await {
            Ok(kept) => {
                self.warn().await;
                Ok(Some(kept))
            }
            Err(error) if self.is_default && self.key_file.is_none() => {
                terminal::print_error(&format!("warning: the session is not kept: {error:#}\n"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// What the environment says; a variable that is empty says nothing.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
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
