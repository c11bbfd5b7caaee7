//! `trellis new --agents`: writes `AGENTS.md`, into an existing folder or together with a new graph.

use std::{io, path::Path};

use anyhow::{Context as _, bail};

use super::{NewFile, folder};
use crate::{Exit, report::printable, terminal};

/// The name under which coding agents look for it.
const FILE: &str = "AGENTS.md";

/// The page. It names no folder, since commands without one find the graphs here.
const TEXT: &str = include_str!("../../../templates/AGENTS.md");

/// Makes the page in a folder that has files, else with a graph; without a folder and a template, in this one.
///
/// # Errors
/// The file exists, the graph cannot be made, or the system refuses.
pub(super) fn make(path: Option<&Path>, template: Option<&str>) -> anyhow::Result<Exit> {
    let folder = path.unwrap_or(Path::new("."));
    if template.is_none() && (path.is_none() || folder::holds_files(folder)) {
        return add(folder);
    }
    super::make(folder, template, Some(NewFile { path: FILE, text: TEXT.to_owned(), is_program: false }))
}

/// Adds the page to a folder that has none.
fn add(folder: &Path) -> anyhow::Result<Exit> {
    let path = folder.join(FILE);
    let shown = path.strip_prefix(".").unwrap_or(&path).display().to_string();
    match folder::add(folder, FILE, TEXT) {
        Ok(()) => terminal::print(&format!("made {}\n", printable(&shown)))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "there is a `{}` already, and it stays as it is\nmove it away, or add to it what `trellis new --agents` writes elsewhere",
                printable(&shown)
            )
        }
        Err(error) => return Err(error).with_context(|| format!("`{}` cannot be written", printable(&shown))),
    }
    Ok(Exit::Fine)
}
