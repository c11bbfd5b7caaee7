//! Formatting every file of a graph, on threads.
//!
//! **Invariant:** a file is read, formatted and handed over by the same thread, one at a time: the text that is handed over is the one that
//! was just read.

use trellis_core::{
    diagnostic::FilePath,
    syntax::format::{self, Formatted},
};

use crate::{
    GraphLoader, LoadError,
    threads::{FILES, on_threads},
};

/// A file, and the result for it.
type Taken<T> = (FilePath, Result<T, LoadError>);

/// Formats each file that `loader` lists and hands the result to `take`; sorted by path. Files that vanished meanwhile are left out.
///
/// # Errors
/// The graph cannot be listed. A file that cannot be read is an error of its own.
pub fn format<T: Send>(loader: &dyn GraphLoader, take: impl Fn(&FilePath, Formatted) -> T + Sync) -> Result<Vec<Taken<T>>, LoadError> {
    let paths = loader.list_files()?;
    let taken = on_threads(&paths, FILES, |path| loader.read_file(path).map(|source| take(path, format::format(&source))));
    let there = |taken: &Taken<T>| !matches!(taken.1, Err(LoadError::NotFound { .. }));
    Ok(paths.into_iter().zip(taken).filter(there).collect())
}
