//! A project: the documents of one graph, and how they came about.
//!
//! **Invariant:** what is shown is one listing: a failed reload leaves the project as it was.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Compiled, Dialect, Document, compile, diagnostic::FilePath};

use crate::{
    Directory, GraphLoader, LoadError,
    loader::{file_name, folder, is_graph_file},
    parse::{Parsed, on_threads, parse},
};

/// The name of a project file (language §1).
const PROJECT_FILE: &str = "trellis.yaml";

/// One graph, loaded.
pub struct Project {
    loader: Box<dyn GraphLoader>,
    root: Option<PathBuf>,
    files: BTreeMap<FilePath, Parsed>,
    documents: Vec<Arc<Document>>,
    problems: Vec<LoadError>,
}

impl Project {
    /// Loads the graph in a folder or a single file.
    ///
    /// # Errors
    /// The graph cannot be listed. Files that cannot be read are [`Project::problems`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let directory = Directory::new(path)?;
        let root = directory.root().to_owned();
        Ok(Self { root: Some(root), ..Self::with_loader(directory)? })
    }

    /// Loads the graph that `loader` holds.
    ///
    /// # Errors
    /// As [`Project::open`].
    pub fn with_loader(loader: impl GraphLoader + 'static) -> Result<Self, LoadError> {
        let mut project =
            Self { loader: Box::new(loader), root: None, files: BTreeMap::new(), documents: Vec::new(), problems: Vec::new() };
        project.reload()?;
        Ok(project)
    }

    /// The folder that the graph's paths are below, absolute; nothing for a graph that is not on disk.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Every file of the graph, parsed, sorted by path.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// Files and folders that could not be read, sorted by path. While there are any, there is no program.
    pub fn problems(&self) -> &[LoadError] {
        &self.problems
    }

    /// Compiles the graph.
    pub fn compile(&self) -> Compiled {
        let compiled = compile(&self.documents);
        if self.problems.is_empty() { compiled } else { Compiled { program: None, ..compiled } }
    }

    /// Lists and reads the graph again; only what changed is parsed. Returns the files that were added, changed or removed, sorted.
    ///
    /// # Errors
    /// As [`Project::open`]; the project stays as it was.
    pub fn reload(&mut self) -> Result<Vec<FilePath>, LoadError> {
        let (files, problems) = load(&*self.loader, &self.files)?;
        let same = |path: &FilePath| match (self.files.get(path), files.get(path)) {
            (Some(old), Some(new)) => Arc::ptr_eq(&old.document, &new.document),
            _ => false,
        };
        let mut changed: Vec<_> = self.files.keys().chain(files.keys()).filter(|path| !same(path)).cloned().collect();
        changed.sort_unstable();
        changed.dedup();
        self.documents = files.values().map(|file| Arc::clone(&file.document)).collect();
        (self.files, self.problems) = (files, problems);
        Ok(changed)
    }
}

type Files = BTreeMap<FilePath, Parsed>;

/// Lists, reads and parses a graph; what is in `known` and did not change is taken from there.
fn load(loader: &dyn GraphLoader, known: &Files) -> Result<(Files, Vec<LoadError>), LoadError> {
    let (project_files, others): (Vec<_>, Vec<_>) = loader.list_nodes()?.into_iter().partition(|path| file_name(path) == PROJECT_FILE);
    let read = |path: &FilePath, dialect| parse(loader, path, dialect, known.get(path));
    let mut results = on_threads(&project_files, |path| read(path, Dialect::default()));
    let dialects = Dialects::named_by(&results);
    results.extend(on_threads(&others, |path| read(path, dialects.of(path))));

    let mut files = Vec::with_capacity(results.len());
    let mut problems = Vec::new();
    let mut missing = Vec::new();
    for (path, result) in project_files.into_iter().chain(others).zip(results) {
        match result {
            Ok(parsed) => files.push((path, parsed)),
            Err(LoadError::NotFound { .. }) => missing.push(path),
            Err(error) => problems.push((path, error)),
        }
    }
    // A file that vanished is as if it had not been listed, unless it is there again (an editor that saves by replacing) or the root is gone.
    if !missing.is_empty() {
        let listed = loader.list_nodes()?;
        for path in missing.into_iter().filter(|path| listed.binary_search(path).is_ok()) {
            match read(&path, dialects.of(&path)) {
                Ok(parsed) => files.push((path, parsed)),
                Err(error) => problems.push((path, error)),
            }
        }
    }
    problems.sort_by(|(one, _), (other, _)| one.cmp(other));
    let unread = problems.iter().filter(|(path, _)| is_graph_file(path));
    files.extend(unread.map(|(path, _)| (FilePath::clone(path), Parsed::unread(path, known.get(path)))));
    Ok((files.into_iter().collect(), problems.into_iter().map(|(_, error)| error).collect()))
}

/// The dialect of each folder that has a project file: it holds for the folders below it too, down to the next project file.
struct Dialects(BTreeMap<String, Dialect>);

impl Dialects {
    fn named_by(project_files: &[Result<Parsed, LoadError>]) -> Self {
        let documents = project_files.iter().flatten().map(|parsed| &parsed.document);
        Self(documents.map(|file| (folder(&file.path).to_owned(), file.dialect().map(|named| named.value).unwrap_or_default())).collect())
    }

    fn of(&self, path: &str) -> Dialect {
        let mut here = folder(path);
        loop {
            match self.0.get(here) {
                Some(dialect) => return *dialect,
                None if here.is_empty() => return Dialect::default(),
                None => here = folder(here),
            }
        }
    }
}
