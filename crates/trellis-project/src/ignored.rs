//! `.gitignore`: which files a graph leaves out.
//!
//! Those of the root and of folders below it hold, with or without a git repository; inside a repository also those between the repository's
//! top and the root. A root that is itself ignored is still a graph: its author named it. Other ignore files and git's global ones are not read,
//! so that a graph means the same on every machine.

use std::{path::Path, sync::Arc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use trellis_core::syntax::document::Bytes;

use crate::{LoadError, root::read_file};

pub(crate) const FILE_NAME: &str = ".gitignore";

/// The entry that the top folder of a repository holds.
pub(crate) const REPOSITORY: &str = ".git";

/// The rules of one folder over those of the folders above it.
pub(crate) struct Ignored {
    rules: Gitignore,
    above: Option<Arc<Ignored>>,
}

impl Ignored {
    /// The rules that hold in `root` because of folders above it.
    pub(crate) fn above(root: &Path) -> Result<Option<Arc<Self>>, LoadError> {
        let Some(top) = root.ancestors().position(|folder| folder.join(REPOSITORY).exists()) else { return Ok(None) };
        let between: Vec<_> = root.ancestors().take(top + 1).skip(1).collect();
        between.into_iter().rev().try_fold(None, |above, folder| Self::read(folder, above))
    }

    /// Adds the rules of a folder to those `above`, if it holds any.
    pub(crate) fn read(folder: &Path, above: Option<Arc<Self>>) -> Result<Option<Arc<Self>>, LoadError> {
        let path = folder.join(FILE_NAME);
        let unreadable = |cause| LoadError::Unreadable { path: path.clone(), cause };
        // A folder of this name, a pipe, or a link to nowhere is no list of rules; git passes over them too.
        if !path.is_file() {
            return Ok(above);
        }
        let file = std::fs::File::open(&path).map_err(unreadable)?;
        let bytes = match read_file(file, crate::FILE_LIMIT).map_err(unreadable)? {
            Some(Bytes::Read(bytes)) => bytes,
            Some(Bytes::TooLarge { .. }) => return Err(unreadable(std::io::ErrorKind::FileTooLarge.into())),
            None => return Ok(above),
        };
        let mut builder = GitignoreBuilder::new(folder);
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A pattern that means nothing ignores nothing, as in git.
            let _ = builder.add_line(None, line.trim_start_matches('\u{feff}'));
        }
        match builder.build() {
            Ok(rules) if rules.is_empty() => Ok(above),
            Ok(rules) => Ok(Some(Arc::new(Self { rules, above }))),
            Err(error) => Err(unreadable(std::io::Error::other(error))),
        }
    }

    /// Returns whether a file or folder is left out. The folders above it are known not to be.
    pub(crate) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let mut here = Some(self);
        while let Some(level) = here {
            match level.rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => here = level.above.as_deref(),
            }
        }
        false
    }
}
