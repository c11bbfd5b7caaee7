//! Loads the graphs of a PATH argument: one graph, or those of a collection (language 1.4).

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use trellis_core::{Compiled, compile::Compiler, diagnostic::nearest};
use trellis_project::{Found, LoadError, Project, default_path, discover};

use crate::{
    report::{Checked, printable},
    terminal,
};

/// The default of PATH, for help texts.
pub(crate) const DEFAULT_PATH: &str =
    "The folder or file of a graph, or a folder of graphs [default: `graphs` if it exists, else the current folder]";

/// A graph that can be opened.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its path, as the user can type it.
    pub(crate) path: PathBuf,
    /// Its folder below the collection it was found in, with a `/` at the end; empty for a graph that was named itself.
    pub(crate) below: String,
}

/// Loaded and compiled.
pub(crate) struct Opened {
    pub(crate) project: Project,
    pub(crate) compiled: Compiled,
    /// The prefix of its paths for people.
    shown_below: String,
    below: String,
}

/// The graphs at `path`, sorted; more than one, or a single one with `below`, means a collection.
///
/// # Errors
/// There is nothing, or it cannot be listed.
pub(crate) fn places(path: Option<&Path>) -> anyhow::Result<Vec<Place>> {
    let path = path.map_or_else(default_path, Path::to_owned);
    let found = discover(&path).map_err(|error| match (&error, beside(&path)) {
        (LoadError::NotFound { .. }, Some(near)) => anyhow!("{error}\ndid you mean `{near}`?"),
        _ => error.into(),
    });
    Ok(match found? {
        Found::Graph(path) => vec![Place { path, below: String::new() }],
        Found::Collection(graphs) => {
            let below = |graph: &Path| graph.strip_prefix(&path).map(slashed).unwrap_or_default();
            graphs.into_iter().map(|graph| Place { below: below(&graph), path: graph }).collect()
        }
    })
}

/// Returns the sibling of a missing path with the most similar name.
fn beside(path: &Path) -> Option<String> {
    let (name, folder) = (path.file_name()?.to_str()?, path.parent()?);
    let listed = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok()?;
    let names: Vec<String> = listed.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(name, names.iter().map(String::as_str).filter(|name| !name.starts_with('.')))?;
    Some(folder.join(near).to_string_lossy().into_owned())
}

/// The one graph at `path`.
///
/// # Errors
/// As [`places`]; or there are more, which the message names.
pub(crate) fn only(path: Option<&Path>, command: &str) -> anyhow::Result<Place> {
    let mut places = places(path)?;
    match places.len() {
        1 => Ok(places.remove(0)),
        _ => bail!(several(&places, command)),
    }
}

/// Returns the reason why a command that takes one graph cannot take a collection.
pub(crate) fn several(places: &[Place], command: &str) -> String {
    let names = places.iter().map(|place| format!("\ntrellis {command} {}", place.path.display())).collect::<String>();
    format!("there are {} graphs here, name one of them{names}", places.len())
}

impl Place {
    /// Names its files with their folder, to tell them from those of other paths.
    pub(crate) fn named_in_full(self) -> Self {
        Self { below: slashed(self.folder()), ..self }
    }

    /// Returns the prefix of the paths of its files for people.
    pub(crate) fn shown_below(&self) -> String {
        slashed(self.folder())
    }

    /// One of its files, as the user can type it.
    pub(crate) fn shown(&self, file: &str) -> String {
        format!("{}{file}", slashed(self.folder()))
    }

    /// Its folder, or itself if it is one.
    pub(crate) fn folder(&self) -> &Path {
        if self.path.is_file() { self.path.parent().unwrap_or(Path::new("")) } else { &self.path }
    }

    /// Loads and compiles it.
    ///
    /// # Errors
    /// It cannot be listed. Unreadable files are reported on standard error, and there is no program then.
    pub(crate) fn open(&self) -> Result<Opened, LoadError> {
        self.open_with(&mut Compiler::default())
    }

    /// Loads and compiles it with the compiler of the caller, which keeps its state for the next time.
    pub(crate) fn open_with(&self, compiler: &mut Compiler) -> Result<Opened, LoadError> {
        let project = Project::open(&self.path)?;
        for problem in project.problems() {
            terminal::print_error(&format!("error: {}\n", printable(&problem.to_string())));
        }
        let compiled = project.recompile(compiler);
        Ok(Opened { project, compiled, shown_below: self.shown_below(), below: self.below.clone() })
    }
}

impl Opened {
    /// Returns whether every file could be read.
    pub(crate) fn is_whole(&self) -> bool {
        self.project.problems().is_empty()
    }

    /// The folder that relative paths in its project files begin at.
    pub(crate) fn folder(&self) -> &Path {
        self.project.root().unwrap_or(Path::new("."))
    }

    /// One of its files, as the user can type it.
    pub(crate) fn shown(&self, file: &str) -> String {
        format!("{}{file}", self.shown_below)
    }

    /// Returns the findings, ready to be shown.
    pub(crate) fn into_checked(self) -> Checked {
        self.into_parts().1
    }

    /// Returns the findings, ready to be shown, and the project.
    pub(crate) fn into_parts(self) -> (Project, Checked) {
        let checked = Checked {
            shown_below: self.shown_below,
            below: self.below,
            documents: self.project.documents().to_vec(),
            diagnostics: self.compiled.diagnostics,
            nodes: self.compiled.nodes,
            unchecked: self.compiled.unchecked,
        };
        (self.project, checked)
    }
}

/// A path as a shell takes it.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '/' | '.' | '-' | '_' | '+' | ',' | '@' | ':');
    if !text.is_empty() && text.chars().all(is_plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// A folder as it stands before the paths of its files: with `/` at the end, nothing for the current one.
fn slashed(folder: &Path) -> String {
    let text = folder.to_string_lossy();
    let text = text.strip_prefix("./").unwrap_or(&text).trim_end_matches('/');
    match text {
        "" if folder.has_root() => "/".to_owned(),
        "" | "." => String::new(),
        text => format!("{text}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_the_user_can_type_them() {
        for (folder, shown) in
            [(".", ""), ("", ""), ("./", ""), ("graphs", "graphs/"), ("./a/b/", "a/b/"), ("/", "/"), ("/tmp/x", "/tmp/x/")]
        {
            assert_eq!(slashed(Path::new(folder)), shown, "{folder:?}");
        }
    }
}
