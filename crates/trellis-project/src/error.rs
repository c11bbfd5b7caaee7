//! Failures of the world that a loader meets: files that are missing, refused or unreadable.

use std::{io, path::PathBuf};

use trellis_core::NodeId;

/// A file or folder that could not be listed or read. The path is the loader's root, as it was given, with the file's path below it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file in the graph.
    #[error("there is no `{}`", path.display())]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// No file of the graph holds a node of this id.
    #[error("there is no node `{id}`")]
    NoNode {
        /// The id that was asked for.
        id: NodeId,
    },
    /// The system refused to read it.
    #[error("`{}` cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// A symbolic link that leads out of the graph's root; it is not followed.
    #[error("`{}` links to `{}`, which is outside the graph", path.display(), target.display())]
    Outside {
        /// The link.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A symbolic link that leads nowhere.
    #[error("`{}` links to `{}`, which does not exist", path.display(), target.display())]
    Dangling {
        /// The link.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A name that no target could ever spell.
    #[error("the name of `{}` is not UTF-8", path.display())]
    NotUtf8 {
        /// The path, with `\u{fffd}` in place of bytes that are no text.
        path: PathBuf,
    },
    /// A folder, pipe, socket or device where a file should be; it is not opened.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path that it was taken for.
        path: PathBuf,
    },
    /// A single file that is to be a graph, but is of another kind.
    #[error("`{}` is not a graph: its name must end in .md, .yaml, .yml or .json", path.display())]
    NotAGraph {
        /// The file.
        path: PathBuf,
    },
    /// More files and folders than a graph may have.
    #[error("`{}` holds more than {limit} files and folders", path.display())]
    TooMany {
        /// The root.
        path: PathBuf,
        /// The bound.
        limit: usize,
    },
}
