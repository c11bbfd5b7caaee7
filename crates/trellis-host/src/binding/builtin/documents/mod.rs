//! `documents.search` and `documents.read`: the text files of a folder (language 9.24, 9.25).
//!
//! A search asks an index in memory that is built at the first call, cached in the host while names, sizes and times of the files stay, and rebuilt
//! when one of them changes.
//!
//! **Invariant:** nothing outside the folder is read, also not through a link.

mod folder;
mod index;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{ToolError, Value};

pub(in crate::binding::builtin) use self::folder::{Document, Listing};
use self::index::{Hit, Index};
use super::{BuiltinConfig, Request, Tool, final_error, number, store_error, text};
use crate::binding::{Obstacle, config::ConfigReader, host::Resource, kind::Site};

/// Hits where the call does not say.
const LIMIT: u64 = 5;

const DOCUMENT_GLOB: &str = "**/*.md";

/// Indexes of a host by folder and glob, over all its graphs and reloads.
#[derive(Default)]
struct Indexes(Mutex<HashMap<(PathBuf, String), IndexSlot>>);

impl Resource for Indexes {}

impl Indexes {
    fn slot(&self, folder: &Path, files: &str) -> IndexSlot {
        let mut indexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.entry((folder.to_owned(), files.to_owned())).or_default().clone()
    }
}

/// The place of one index, empty until it is first asked.
#[derive(Clone, Debug, Default)]
struct IndexSlot(Arc<Mutex<Option<Index>>>);

impl IndexSlot {
    /// Returns the best documents of a listing, best first. The index is rebuilt if the files changed; `read` makes a document of a path.
    ///
    /// # Errors
    /// The folder cannot be listed (`store`), or there are too many or too large files (`limit`).
    fn search(&self, listing: &Listing, read: impl Fn(&str) -> Option<Document>, query: &str, limit: u64) -> Result<Vec<Hit>, ToolError> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = listing.stamps()?;
        let index = match slot.take() {
            Some(index) if index.is_of(&stamps) => index,
            _ => Index::new(stamps, read)?,
        };
        slot.insert(index).search(query, limit)
    }
}

#[derive(Debug)]
pub(super) struct Search {
    listing: Listing,
    slot: IndexSlot,
}

impl Search {
    pub(super) fn new(config: BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Self> {
        let folder = site.folder.join(config.folder.unwrap_or_default());
        let files = config.files.unwrap_or_else(|| DOCUMENT_GLOB.to_owned());
        match Listing::new(&folder, &files) {
            Ok(listing) => Some(Self { slot: site.host.shared::<Indexes>().slot(&folder, &files), listing }),
            Err(error) => {
                reader.report("files", format!("`files` is no glob: {error}"), Some(format!("write one such as `{DOCUMENT_GLOB}`")));
                None
            }
        }
    }
}

impl Tool for Search {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let limit = number(request.args, "limit").unwrap_or(LIMIT);
        // A file that went away meanwhile, or is no text, is left out.
        let read = |path: &str| Document::read(self.listing.folder(), path).ok()?;
        let hits = self.slot.search(&self.listing, read, text(request.args, "query"), limit)?;
        let hits = hits.into_iter().map(|hit| {
            let fields = [("path", hit.path), ("snippet", hit.snippet), ("title", hit.title)];
            let texts = fields.into_iter().map(|(key, text)| (key, Value::text(text)));
            Value::map(texts.chain([("score", Value::Float(hit.score))]))
        });
        Ok(Value::map([("hits", Value::list(hits))]))
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        no_folder(self.listing.folder()).into_iter().collect()
    }
}

#[derive(Debug)]
pub(super) struct Read {
    folder: PathBuf,
}

impl Read {
    pub(super) fn new(config: &BuiltinConfig, site: &Site<'_>) -> Self {
        Self { folder: site.folder.join(config.folder.clone().unwrap_or_default()) }
    }
}

impl Tool for Read {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let path = text(request.args, "path");
        let document = Document::read(&self.folder, path)?;
        let Some(Document { title, text }) = document else {
            return Err(final_error("not_found", format!("there is no document `{path}`")));
        };
        Ok(Value::map([("path", Value::text(path)), ("text", Value::text(text)), ("title", Value::text(title))]))
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        no_folder(&self.folder).into_iter().collect()
    }
}

/// The obstacle of a folder that is not there.
pub(in crate::binding::builtin) fn no_folder(folder: &Path) -> Option<Obstacle> {
    let why = std::fs::read_dir(folder).err()?;
    Some(Obstacle::new("folder", format!("the folder `{}` cannot be listed: {why}", folder.display())).help("make it, or correct `folder`"))
}
