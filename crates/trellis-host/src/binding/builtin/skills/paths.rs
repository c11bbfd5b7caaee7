//! Paths that a card declares: below the workspace, also behind links (language 11.13).

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Resolves a declared path below a workspace: the links that it leads through, and at the end the path itself, links resolved. The workspace has to
/// exist for links to be followed.
///
/// # Errors
/// The end of a sentence that begins with the path: it leaves the workspace, or overlaps `state`, the folder of the backups.
pub(super) fn resolve(workspace: &Path, state: &Path, declared: &str) -> Result<Vec<PathBuf>, String> {
    if declared.is_empty() || declared.contains('\0') {
        return Err("is no path".to_owned());
    }
    for part in Path::new(declared).components() {
        match part {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => return Err("leaves the workspace by `..`".to_owned()),
            Component::RootDir | Component::Prefix(_) => return Err("is absolute".to_owned()),
        }
    }
    let Ok(root) = fs::canonicalize(workspace) else { return Ok(vec![PathBuf::from(declared)]) };
    let (mut found, mut here) = (Vec::new(), root.clone());
    for part in Path::new(declared).components().filter(|part| matches!(part, Component::Normal(_))) {
        here.push(part);
        if here.symlink_metadata().is_ok_and(|file| file.is_symlink()) {
            let real = fs::canonicalize(&here).map_err(|error| format!("leads through the link `{}`: {error}", here.display()))?;
            found.push(here);
            here = real;
        }
        if !here.starts_with(&root) {
            return Err("leaves the workspace through a link".to_owned());
        }
    }
    let state = fs::canonicalize(state).unwrap_or_else(|_| state.to_owned());
    if here.starts_with(&state) || state.starts_with(&here) {
        return Err(format!("has part in `{}`, where backups are stored", state.display()));
    }
    found.push(here);
    Ok(found.iter().map(|path| path.strip_prefix(&root).unwrap_or(path).to_owned()).collect())
}
