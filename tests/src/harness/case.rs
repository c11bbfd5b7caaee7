//! The sheets of this repository: a case names its files, or a graph of the repository.

use std::path::Path;

use trellis_core::Source;
use trellis_project::{
    Directory, GraphLoader,
    sheet::{Sheet, SheetFiles},
};

/// No graph beside the sheets; folders are those of the repository.
#[derive(Debug)]
struct Repository;

impl SheetFiles for Repository {
    fn beside(&self) -> &[Source] {
        &[]
    }

    fn folder(&self, path: &str) -> Result<Vec<Source>, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let loader = Directory::new(root).map_err(|error| error.to_string())?;
        let paths = loader.list_files().map_err(|error| error.to_string())?;
        paths.iter().map(|path| loader.read_file(path).map_err(|error| error.to_string())).collect()
    }
}

/// Reads the cases of a Markdown file.
///
/// # Errors
/// The file cannot be read, or a block makes no sense.
pub fn read_sheet(path: &Path) -> Result<Sheet, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Sheet::parse(path.to_owned(), text, &Repository).map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.message))
}
