//! `check --fix`: shows the changes of [`trellis_project::fix`], or writes them to the files.
//!
//! **Invariant:** a file that changed since it was read is not written.

use std::{collections::BTreeSet, path::Path};

use trellis_core::diagnostic::FilePath;
use trellis_project::{Edited, fix::Fixer};

use crate::{
    atomic_write::{create, replace},
    diff::difference,
    open::Place,
    report::Checked,
};

/// A file that could not be written.
pub(crate) struct Unwritten {
    pub(crate) path: FilePath,
    /// The files that were written before it.
    pub(crate) written: BTreeSet<FilePath>,
    pub(crate) error: anyhow::Error,
}

/// Returns the findings that are left, ready to be shown.
pub(crate) fn checked(fixer: &Fixer, place: &Place) -> Checked {
    let compiled = fixer.compiled();
    Checked {
        shown_below: place.shown_below(),
        below: place.below.clone(),
        documents: fixer.documents().to_vec(),
        diagnostics: compiled.diagnostics.clone(),
        nodes: compiled.nodes,
        unchecked: compiled.unchecked.clone(),
    }
}

/// Returns the changes that would be made in the files.
pub(crate) fn differences(fixer: &Fixer, place: &Place) -> String {
    let shown = |file: &Edited| difference(&place.shown(&file.path), file.before.as_deref().unwrap_or_default(), &file.after);
    fixer.changed().iter().map(shown).collect()
}

/// Replaces the files below `root`, and makes those that are new. After one that cannot be written no other is tried, since the disk may be full.
pub(crate) fn write(root: &Path, files: Vec<Edited>) -> Result<(), Unwritten> {
    let mut written = BTreeSet::new();
    for Edited { path, before, after } in files {
        let file = root.join(&*path);
        let result = match before {
            Some(before) => replace(&file, before.as_bytes(), after.as_bytes()),
            None => create(&file, after.as_bytes()),
        };
        if let Err(error) = result {
            return Err(Unwritten { path, written, error: error.into() });
        }
        written.insert(path);
    }
    Ok(())
}
