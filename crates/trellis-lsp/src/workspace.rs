//! The graphs of a workspace: which folder is one, and which graph a file belongs to.

use std::path::{Path, PathBuf};

use trellis_core::diagnostic::FilePath;
use trellis_project::{Found, discover};

use crate::{
    graph::{Graph, marks_graph},
    linker::GraphNumber,
};

/// The folders of a client, and the graphs in them.
#[derive(Default)]
pub(crate) struct Workspace {
    /// Without those that lie in another one.
    folders: Vec<PathBuf>,
    /// Graphs that the settings name, instead of those that are found.
    named: Vec<PathBuf>,
    pub(crate) graphs: Vec<Graph>,
    next: GraphNumber,
}

impl Workspace {
    pub(crate) fn new(folders: Vec<PathBuf>, named: Vec<PathBuf>) -> Self {
        let mut workspace = Self { folders: outermost(folders), named, ..Self::default() };
        let roots = if workspace.named.is_empty() {
            workspace.folders.iter().flat_map(|folder| graphs_below(folder)).collect()
        } else {
            outermost(workspace.named.clone())
        };
        roots.iter().for_each(|root| workspace.load(root));
        workspace
    }

    /// Loads the graph in a folder, if it is one.
    fn load(&mut self, root: &Path) {
        if let Ok(graph) = Graph::load(self.next, root)
            && graph.is_graph()
        {
            self.next += 1;
            self.graphs.push(graph);
        }
    }

    /// Returns the index of the graph that a file belongs to, and its path there. A file that makes its folder a graph, saved or not, adds
    /// it.
    pub(crate) fn graph_of(&mut self, file: &Path) -> Option<(usize, FilePath)> {
        if let Some(known) = self.known(file) {
            return Some(known);
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
        let graph = Graph::load(self.next, &root).ok()?;
        if !graph.is_graph() && !marks_graph(name) {
            return None;
        }
        self.next += 1;
        self.graphs.push(graph);
        self.known(file)
    }

    /// Returns the graph that is served and holds a file.
    pub(crate) fn known(&self, file: &Path) -> Option<(usize, FilePath)> {
        let holds = |graph: &Graph| graph.path_of(file);
        let (index, path) = self.graphs.iter().enumerate().find_map(|(index, graph)| Some((index, holds(graph)?)))?;
        self.graphs[index].would_hold(&path).then_some((index, path))
    }

    /// Returns a graph by its number.
    pub(crate) fn numbered(&mut self, number: GraphNumber) -> Option<&mut Graph> {
        self.graphs.iter_mut().find(|graph| graph.number == number)
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
        let roots: Vec<PathBuf> = self.folders.iter().flat_map(|folder| graphs_below(folder)).collect();
        let (kept, gone) = std::mem::take(&mut self.graphs)
            .into_iter()
            .partition(|graph: &Graph| graph.open.keys().next().is_some() || roots.contains(&graph.root));
        self.graphs = kept;
        for root in roots {
            if !self.graphs.iter().any(|graph| graph.root == root) {
                self.load(&root);
            }
        }
        gone
    }
}

/// Returns the roots of the graphs in a folder of the workspace.
fn graphs_below(folder: &Path) -> Vec<PathBuf> {
    match discover(folder) {
        Ok(Found::Graph(root)) => vec![root],
        Ok(Found::Collection(roots)) => roots,
        Err(_) => Vec::new(),
    }
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
