//! The graphs that a path holds (language 1.4): one, or a collection of them.

use std::path::{Path, PathBuf};

use trellis_core::{Dialect, Document, diagnostic::FilePath, syntax::document::Content};

use crate::{
    Directory, GraphLoader, LoadError,
    loader::{file_name, folder},
};

/// Folders below a collection in which graphs are looked for.
const DEPTH: usize = 4;

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// One graph, at this path.
    Graph(PathBuf),
    /// A folder without a `start` that holds these graphs, sorted; at least one.
    Collection(Vec<PathBuf>),
}

impl Found {
    /// Returns the graphs at `path`, as [`discover`] does, with at most `entries` files and folders.
    ///
    /// # Errors
    /// As [`discover`], or there are more.
    pub fn within(path: impl AsRef<Path>, entries: usize) -> Result<Self, LoadError> {
        let path = path.as_ref();
        found_in(path, &Directory::new(path)?.with_entries(entries))
    }
}

/// Returns the default path: `graphs/` if it exists, else the current folder.
pub fn default_path() -> PathBuf {
    let graphs = Path::new("graphs");
    if graphs.is_dir() { graphs.to_owned() } else { PathBuf::from(".") }
}

/// Returns the graphs at `path`. A folder with a `start` or a `trellis.yaml` is a graph, and so is one without any graph; graphs are not searched
/// for inside graphs, in folders that begin with `_`, or more than four levels down.
///
/// # Errors
/// There is nothing at `path`, or it cannot be listed.
pub fn discover(path: impl AsRef<Path>) -> Result<Found, LoadError> {
    let path = path.as_ref();
    found_in(path, &Directory::new(path)?)
}

fn found_in(path: &Path, directory: &Directory) -> Result<Found, LoadError> {
    if directory.is_file() {
        return Ok(Found::Graph(path.to_owned()));
    }
    // Most paths are graphs: then deeper folders need not be listed.
    if directory.list_to(0)?.iter().any(|file| marks_graph(file)) {
        return Ok(Found::Graph(path.to_owned()));
    }
    let files = directory.list_to(DEPTH)?;
    let mut roots: Vec<&str> = files.iter().filter(|file| marks_graph(file)).map(|file| folder(file)).collect();
    // Name by name, so that a folder comes right before the folders in it, and these can be left out.
    roots.sort_unstable_by(|one, other| one.split('/').cmp(other.split('/')));
    roots.dedup();
    let mut outermost: Vec<&str> = Vec::new();
    for root in roots {
        if !outermost.last().is_some_and(|above| is_below(root, above)) {
            outermost.push(root);
        }
    }
    if outermost.is_empty() || has_other_start(directory, &files) {
        return Ok(Found::Graph(path.to_owned()));
    }
    Ok(Found::Collection(outermost.into_iter().map(|root| path.join(root)).collect()))
}

/// Returns whether a file makes its folder a graph: its project file, or its `start` (in any case: the compiler reports `Start.md`).
fn marks_graph(path: &str) -> bool {
    let name = file_name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    (name == "trellis.yaml" || stem.eq_ignore_ascii_case("start")) && !path.split('/').any(|part| part.starts_with('_'))
}

/// Returns whether a file right in the folder holds a `start` under another name: by its `id:`, or under `nodes:`.
fn has_other_start(directory: &Directory, files: &[FilePath]) -> bool {
    let own = files.iter().filter(|path| !path.contains('/') && !path.starts_with('_'));
    own.filter_map(|path| directory.read_file(path).ok()).any(|source| {
        let document = Document::parse(&source, Dialect::default());
        let nodes = match &document.content {
            Content::Node(node) => std::slice::from_ref(&**node),
            Content::Nodes(nodes, _) => nodes,
            _ => &[],
        };
        nodes.iter().any(|node| node.id.as_ref().is_some_and(|id| id.value.as_str() == "start"))
    })
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the graphs in a folder with these files; `None` for one graph.
    fn found(files: &[(&str, &str)]) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        match discover(folder.path()).unwrap() {
            Found::Graph(path) => {
                assert_eq!(path, folder.path());
                None
            }
            Found::Collection(graphs) => {
                Some(graphs.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned()).collect())
            }
        }
    }

    #[test]
    fn a_folder_with_a_start_or_a_project_file_is_a_graph_whatever_lies_below() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("start.md", ""), ("orders/start.md", "")]), None);
        assert_eq!(found(&[("start.json", "{}"), ("orders/start.md", "")]), None);
        assert_eq!(found(&[("trellis.yaml", ""), ("orders/start.md", "")]), None);
        assert_eq!(found(&[("Start.md", ""), ("orders/start.md", "")]), None, "the compiler says what is wrong with its case");
        assert_eq!(found(&[("flow.yaml", "nodes: { start: { to: orders } }"), ("orders/start.md", "")]), None);
        assert_eq!(found(&[("hello.md", "---\nid: start\n---\n"), ("orders/start.md", "")]), None);
        assert_eq!(found(&[("other.md", ""), ("_lib/start.md", "")]), None);
    }

    #[test]
    fn a_collection_names_the_outermost_graphs() {
        let files = [
            ("README.md", "graphs"),
            ("tour/start.md", ""),
            ("tour/rest/start.md", ""),
            ("tour-2/trellis.yaml", ""),
            ("more/deep/hello/start.yml", ""),
            ("more/notes.md", ""),
            ("_drafts/x/start.md", ""),
            (".hidden/start.md", ""),
            ("far/a/b/c/d/start.md", ""),
        ];
        assert_eq!(found(&files).unwrap(), ["more/deep/hello", "tour", "tour-2"]);
    }

    #[test]
    fn a_file_is_a_graph_and_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("flow.yaml");
        fs::write(&file, "nodes: {}").unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/start.md"), "").unwrap();
        assert_eq!(discover(&file).unwrap(), Found::Graph(file));
        assert!(matches!(discover(folder.path().join("absent")), Err(LoadError::NotFound { .. })));
    }
}
