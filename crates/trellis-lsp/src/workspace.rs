//! The graphs of a workspace: which folders are graphs, and to which graph a file belongs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use trellis_core::diagnostic::FilePath;
use trellis_project::{Found, LoadError};

use crate::{
    graph::{Graph, marks_graph},
    linker::GraphNumber,
};

/// Greatest number of listed files and folders: a home folder or the root of a disk is not a graph.
pub(crate) const ENTRIES: usize = 100_000;

/// The folders of a client, and the graphs in them.
#[derive(Default)]
pub(crate) struct Workspace {
    /// Without those that lie in another one.
    folders: Vec<PathBuf>,
    /// Graphs that the settings name, instead of those that are found.
    named: Vec<PathBuf>,
    pub(crate) graphs: Vec<Graph>,
    next: GraphNumber,
    entries: usize,
    /// True if a graph came, or changed on the disk, since the last look at which of them are served.
    is_unsifted: bool,
    /// The graphs whose `start` has a file of another name: while that cannot be read, they seem to have none.
    nameless: BTreeSet<GraphNumber>,
    /// Reasons why folders are not served, not reported yet.
    pub(crate) problems: Vec<String>,
}

impl Workspace {
    /// Loads the graphs in some folders, or those that are named, of at most so many files and folders each.
    pub(crate) fn new(folders: Vec<PathBuf>, named: Vec<PathBuf>, entries: usize) -> Self {
        let mut workspace = Self { folders: outermost(folders), named, entries, ..Self::default() };
        let roots = if workspace.named.is_empty() { workspace.roots() } else { outermost(workspace.named.clone()) };
        roots.iter().for_each(|root| workspace.load(root));
        workspace
    }

    /// Loads the graph in a folder, if it is one.
    fn load(&mut self, root: &Path) {
        match Graph::load(self.next, root, self.entries) {
            Ok(graph) if graph.is_graph() => self.push(graph, false),
            Ok(_) => {}
            Err(error) => self.problems.push(unserved(&error)),
        }
    }

    /// Returns the roots of the graphs in the folders.
    fn roots(&mut self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for folder in &self.folders {
            match Found::within(folder, self.entries) {
                Ok(Found::Graph(root)) => roots.push(root),
                Ok(Found::Collection(found)) => roots.extend(found),
                Err(LoadError::NotFound { .. }) => {}
                Err(error) => self.problems.push(unserved(&error)),
            }
        }
        roots
    }

    /// Returns the index of the graph that a file belongs to, and its path there. A file that makes its folder a graph, saved or not, adds
    /// it.
    pub(crate) fn graph_of(&mut self, file: &Path) -> Option<(usize, FilePath)> {
        if let Some(known) = self.known(file) {
            return Some(known);
        }
        if let Some((index, path)) = self.above(file) {
            // It is new on the disk, or none of the graph's: then it belongs to no other one either.
            self.graphs[index].forget(&path);
            self.is_unsifted |= self.graphs[index].read();
            return self.known(file);
        }
        if !self.named.is_empty() {
            return None;
        }
        let folder = file.parent()?;
        let within = self.folders.iter().any(|folder| file.starts_with(folder));
        if !self.folders.is_empty() && !within {
            return None;
        }
        let name = file.file_name()?.to_str()?;
        let root = match within {
            true if marks_graph(name) || folder_marks_graph(folder) => folder.to_owned(),
            true => return None,
            false => topmost(folder, name)?,
        };
        let graph = Graph::load(self.next, &root, self.entries).map_err(|error| self.problems.push(unserved(&error))).ok()?;
        if !graph.is_graph() && !marks_graph(name) {
            return None;
        }
        self.push(graph, marks_graph(name));
        self.known(file)
    }

    fn push(&mut self, graph: Graph, is_named: bool) {
        if !is_named && !has_mark(&graph) {
            self.nameless.insert(graph.number);
        }
        self.next += 1;
        self.graphs.push(graph);
        self.is_unsifted = true;
    }

    /// Takes out the graphs that are served no more: those that are no graph now, and those inside another one, which holds their files. Where
    /// one goes, those inside it are graphs of their own.
    pub(crate) fn sift(&mut self) -> Vec<Graph> {
        if !std::mem::take(&mut self.is_unsifted) || !self.named.is_empty() {
            return Vec::new();
        }
        let (live, mut gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.graphs)
            .into_iter()
            .partition(|graph: &Graph| has_mark(graph) || self.nameless.contains(&graph.number) || graph.is_graph());
        let roots: Vec<PathBuf> = live.iter().map(|graph| graph.root.clone()).collect();
        let is_outermost = |graph: &Graph| {
            // Outside the folders of the client, a file belongs to the unbroken chain of folders above it.
            let is_within = self.folders.iter().any(|folder| graph.root.starts_with(folder));
            !is_within || !roots.iter().any(|root| *root != graph.root && graph.root.starts_with(root))
        };
        let finds = !gone.is_empty();
        let (outermost, inner): (Vec<_>, Vec<_>) = live.into_iter().partition(is_outermost);
        self.graphs = outermost;
        gone.extend(inner);
        if finds {
            self.find();
            self.is_unsifted = false;
        }
        gone
    }

    /// Serves the graphs in the folders that are not served yet.
    pub(crate) fn find(&mut self) {
        let roots = if self.named.is_empty() { self.roots() } else { Vec::new() };
        for root in roots {
            // All files of another folder would have to be read, to find none.
            if folder_marks_graph(&root) && !self.graphs.iter().any(|graph| graph.root == root) {
                self.load(&root);
            }
        }
    }

    /// Returns the graph that is served and holds a file.
    pub(crate) fn known(&self, file: &Path) -> Option<(usize, FilePath)> {
        self.above(file).filter(|(index, path)| self.graphs[*index].would_hold(path))
    }

    /// Returns the graph that is served and whose folder a file lies in, whether or not it holds the file.
    pub(crate) fn above(&self, file: &Path) -> Option<(usize, FilePath)> {
        self.graphs.iter().enumerate().find_map(|(index, graph)| Some((index, graph.path_of(file)?)))
    }

    /// Reads the files that were saved since.
    pub(crate) fn read(&mut self) {
        for graph in &mut self.graphs {
            self.is_unsifted |= graph.read();
        }
    }

    /// Returns a graph by its number.
    pub(crate) fn numbered(&mut self, number: GraphNumber) -> Option<&mut Graph> {
        self.graphs.iter_mut().find(|graph| graph.number == number)
    }

    /// Returns the folder below which relative roots are.
    pub(crate) fn folder(&self) -> Option<&PathBuf> {
        self.folders.first()
    }

    /// Serves these graphs instead of those that are found, or those again if there are none. Returns the graphs that are served no more.
    pub(crate) fn name(&mut self, named: Vec<PathBuf>) -> Vec<Graph> {
        if named == self.named {
            return Vec::new();
        }
        self.named = named;
        let roots = if self.named.is_empty() { self.roots() } else { outermost(self.named.clone()) };
        let (kept, gone) = std::mem::take(&mut self.graphs).into_iter().partition(|graph: &Graph| roots.contains(&graph.root));
        self.graphs = kept;
        for root in roots {
            if !self.graphs.iter().any(|graph| graph.root == root) {
                self.load(&root);
            }
        }
        gone
    }

    /// Changes the folders. Returns the graphs that are served no more.
    pub(crate) fn change(&mut self, removed: &[PathBuf], added: Vec<PathBuf>) -> Vec<Graph> {
        let mut folders: Vec<PathBuf> = std::mem::take(&mut self.folders);
        folders.retain(|folder| !removed.contains(folder));
        folders.extend(added);
        self.folders = outermost(folders);
        if !self.named.is_empty() {
            return Vec::new();
        }
        let roots = self.roots();
        let (live, gone) = std::mem::take(&mut self.graphs)
            .into_iter()
            .partition(|graph: &Graph| graph.open.keys().next().is_some() || roots.contains(&graph.root));
        self.graphs = live;
        self.is_unsifted = true;
        for root in roots {
            if !self.graphs.iter().any(|graph| graph.root == root) {
                self.load(&root);
            }
        }
        gone
    }
}

/// Returns whether a file of a graph makes it one by its name, saved or not.
fn has_mark(graph: &Graph) -> bool {
    graph.documents().iter().any(|document| marks_graph(&document.path))
}

/// Says that a folder is not served.
fn unserved(error: &LoadError) -> String {
    let help =
        if matches!(error, LoadError::TooMany { .. }) { ": open the folder of a graph, or name it in the setting `roots`" } else { "" };
    format!("{error}, so it is not served{help}")
}

/// Leaves out folders that lie in another one.
fn outermost(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders.sort();
    folders.dedup();
    let all = folders.clone();
    folders.retain(|folder| !all.iter().any(|other| other != folder && folder.starts_with(other)));
    folders
}

/// Returns true if a folder on disk has a `trellis.yaml` or a `start`.
fn folder_marks_graph(folder: &Path) -> bool {
    ["trellis.yaml", "start.md", "start.yaml", "start.yml", "start.json"].iter().any(|name| folder.join(name).is_file())
}

/// Returns the topmost folder of the unbroken chain above a file whose folders have a `trellis.yaml` or a `start`; `name` is the file's.
fn topmost(folder: &Path, name: &str) -> Option<PathBuf> {
    if !folder_marks_graph(folder) && !marks_graph(name) {
        return None;
    }
    let above = folder.ancestors().skip(1).take_while(|above| folder_marks_graph(above));
    Some(above.last().unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_too_many_files_is_not_served_and_somebody_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["start.md", "a.md", "b.md"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let served = Workspace::new(vec![folder.path().to_owned()], Vec::new(), 3);
        assert_eq!((served.graphs.len(), served.problems.len()), (1, 0));
        let mut refused = Workspace::new(vec![folder.path().to_owned()], Vec::new(), 2);
        assert!(refused.graphs.is_empty() && refused.problems[0].contains("holds more than 2 files and folders, so it is not served"));
        assert!(refused.graph_of(&folder.path().join("start.md")).is_none() && refused.problems.len() == 2);
    }
}
