//! The store of a graph's sessions, from the settings of a person or the environment.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Document, path::KeyPath, syntax::document::Content};

use crate::store::{self, MemoryStore, Redacted, SessionStore, StoreError};
#[cfg(feature = "encryption")]
use crate::store::{Keys, Sealed};

/// The default store, below the folder of the graph.
const STORE_FOLDER: &str = ".trellis";
const FILE: &str = "sessions.db";

/// The address of the store, its sealing and redaction, and the name that a graph has there.
///
/// ```
/// use std::path::Path;
/// use trellis_host::assembly::StoreSettings;
///
/// let settings = StoreSettings::of(Path::new("graphs/support"), &[]);
/// assert_eq!(settings.graph(), "support");
/// assert_eq!(settings.address(), "sqlite:graphs/support/.trellis/sessions.db");
/// ```
#[derive(Clone, Debug)]
pub struct StoreSettings {
    address: String,
    graph: Arc<str>,
    is_default: bool,
    key_file: Option<PathBuf>,
    /// Paths of the context that are not stored.
    redact: Vec<KeyPath>,
}

/// A store, and the name that the graph has there.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenStore {
    /// The store.
    pub store: Arc<dyn SessionStore>,
    /// The name of the graph.
    pub graph: Arc<str>,
}

impl StoreSettings {
    /// Returns the store of the graph at `path`: by default `.trellis/sessions.db` in its folder. Values that its files redact are not stored, and
    /// its name is that of its project file, else that of its folder or file.
    pub fn of(path: &Path, documents: &[Arc<Document>]) -> Self {
        let folder = if path.is_file() { path.parent().unwrap_or(Path::new("")) } else { path };
        Self {
            address: usual(folder),
            graph: graph_name(path, documents),
            is_default: true,
            key_file: None,
            redact: store::redacted_by(documents),
        }
    }

    /// Returns the store with an address, independent of any graph.
    pub fn at(address: impl Into<String>) -> Self {
        Self { address: address.into(), graph: "".into(), is_default: false, key_file: None, redact: Vec::new() }
    }

    /// The store that the graph in `folder` has by default, if it was ever made; no graph is looked for.
    pub fn usual_in(folder: &Path) -> Option<Self> {
        let is_there = folder.join(STORE_FOLDER).join(FILE).is_file();
        is_there.then(|| Self { address: usual(folder), graph: "".into(), is_default: true, key_file: None, redact: Vec::new() })
    }

    /// Sets another address, if there is one: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis://HOST` or `postgres://HOST`.
    #[must_use]
    pub fn address_or_default(self, address: Option<String>) -> Self {
        match address {
            Some(address) => Self { address, is_default: false, ..self },
            None => self,
        }
    }

    /// Seals with the first key of a file; every key of the file opens.
    #[must_use]
    pub fn key_file_maybe(self, key_file: Option<PathBuf>) -> Self {
        Self { key_file, ..self }
    }

    /// Returns redacted values as their marks, for a caller that replays recorded steps.
    #[must_use]
    pub fn with_marks(self) -> Self {
        Self { redact: Vec::new(), ..self }
    }

    /// The address of the store.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The name of the graph.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// The file with its keys.
    pub fn key_file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// Returns whether the address is the default.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// Returns whether the store outlives this run.
    pub fn lasts(&self) -> bool {
        self.address != "memory"
    }

    /// Opens the store; its connections belong to the runtime that runs this. The folder of the usual store is made where it is missing.
    ///
    /// # Errors
    /// It is not there, or cannot be written or read.
    pub async fn open(&self) -> Result<OpenStore, StoreError> {
        if let (true, Some(file)) = (self.is_default, self.address.strip_prefix("sqlite:")) {
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            let unwritable = |error| StoreError::Unwritable {
                store: format!("`{}`", folder.display()).into(),
                message: format!("{error}; `--store` names another place"),
            };
            made(folder).map_err(unwritable)?;
        }
        self.wrapped(store::open(&self.address).await?)
    }

    /// Opens the store for a caller that looks at existing sessions, or moves them: nothing is created. If the address is the default and nothing
    /// was ever stored there, the store is empty.
    ///
    /// # Errors
    /// The store with the given address is not there, or it cannot be read.
    pub async fn open_to_look(&self) -> Result<OpenStore, StoreError> {
        if self.is_untouched() {
            return Ok(OpenStore { store: Arc::new(MemoryStore::new()), graph: Arc::clone(&self.graph) });
        }
        self.wrapped(store::open_existing(&self.address).await?)
    }

    /// Opens the store itself, whose texts are sealed, with its keys: for a caller that exchanges them. `None` if nothing was ever stored.
    ///
    /// # Errors
    /// It cannot be opened, or there is no key file.
    #[cfg(feature = "encryption")]
    pub async fn open_sealed(&self) -> Result<Option<(Arc<dyn SessionStore>, Keys)>, StoreError> {
        let Some(keys) = self.keys()? else {
            return Err(StoreError::Key("which key file? `--key-file FILE` or `TRELLIS_KEY_FILE` names it".to_owned()));
        };
        if self.is_untouched() {
            return Ok(None);
        }
        Ok(Some((store::open_existing(&self.address).await?, keys)))
    }

    /// Returns weaknesses of the server's settings, by which it could lose acknowledged records. A server that does not respond has none here.
    pub async fn weaknesses(&self) -> Vec<String> {
        store::weaknesses(&self.address).await.unwrap_or_default()
    }

    /// Wraps a store: sealed, and without values that are not stored.
    fn wrapped(&self, mut store: Arc<dyn SessionStore>) -> Result<OpenStore, StoreError> {
        #[cfg(feature = "encryption")]
        if let Some(keys) = self.keys()? {
            store = Arc::new(Sealed::new(store, keys));
        }
        #[cfg(not(feature = "encryption"))]
        if let Some(file) = &self.key_file {
            let file = file.display();
            return Err(StoreError::Key(format!("`{file}` cannot be used: this program was built without encryption")));
        }
        if !self.redact.is_empty() {
            store = Arc::new(Redacted::new(store, self.redact.clone()));
        }
        Ok(OpenStore { store, graph: Arc::clone(&self.graph) })
    }

    #[cfg(feature = "encryption")]
    fn keys(&self) -> Result<Option<Keys>, StoreError> {
        self.key_file.as_deref().map(Keys::read).transpose()
    }

    /// Returns whether the address is the default, and the default store was never created.
    fn is_untouched(&self) -> bool {
        self.is_default && self.address.strip_prefix("sqlite:").is_some_and(|file| !Path::new(file).exists())
    }
}

fn usual(folder: &Path) -> String {
    format!("sqlite:{}", folder.join(STORE_FOLDER).join(FILE).display())
}

/// Makes the folder, which no version control needs.
fn made(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(".gitignore"), "*\n")
}

/// The name in `trellis.yaml`, or else that of the folder or file.
fn graph_name(path: &Path, documents: &[Arc<Document>]) -> Arc<str> {
    let project = documents.iter().find_map(|document| match &document.content {
        Content::Project(project) if &*document.path == "trellis.yaml" => Some(&**project),
        Content::Nodes(_, project) => Some(&**project),
        _ => None,
    });
    if let Some(name) = project.and_then(|project| project.name.as_ref()) {
        return Arc::clone(&name.value);
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = if path.is_file() { path.file_stem() } else { path.file_name() };
    name.map_or_else(|| Arc::from("graph"), |name| name.to_string_lossy().into())
}

impl std::fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenStore").field("graph", &self.graph).finish_non_exhaustive()
    }
}
