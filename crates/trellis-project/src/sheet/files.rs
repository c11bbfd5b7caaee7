//! The sheets of a graph on disk.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Document, syntax::document::Content};

/// The folder of sheets at the root of a graph.
pub const TESTS: &str = "_tests";

/// Files below a folder, sorted; names with `_` are left out.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"_")) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => files.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    files.sort();
    files
}

/// The text of a file that must lie inside a folder.
///
/// # Errors
/// It cannot be read, or lies elsewhere.
pub fn read_inside(root: &Path, path: &Path) -> Result<String, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let path = real(path)?;
    if !path.starts_with(real(root)?) {
        return Err("it lies outside the graph".to_owned());
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The sheets of the graph in a folder, sorted.
pub fn sheets_of(root: &Path) -> Vec<PathBuf> {
    let mut files = files_below(&root.join(TESTS));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files
}

/// The sheets of a graph and of those inside it.
pub fn sheets_within(root: &Path, documents: &[Arc<Document>]) -> Vec<PathBuf> {
    roots(documents).into_iter().flat_map(|folder| sheets_of(&root.join(folder))).collect()
}

/// Returns the folders of the outermost graph and of those inside it.
pub(super) fn roots(documents: &[Arc<Document>]) -> BTreeSet<&str> {
    let projects = documents.iter().filter(|document| matches!(document.content, Content::Project(_)));
    let inner = projects.filter_map(|document| document.path.rsplit_once('/').map(|(folder, _)| folder));
    inner.chain([""]).collect()
}
