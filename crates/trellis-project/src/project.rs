//! A project: the documents of one graph, and how they came about.
//!
//! **Invariant:** all documents are of one listing: a failed reload leaves the project as it was.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{
    Compiled, Dialect, Document,
    compile::{Compiler, compile_with},
    diagnostic::FilePath,
};

use crate::{
    Directory, GraphLoader, LoadError, Memory,
    loader::{file_name, folder, is_graph_file},
    parse::{Parsed, parse},
    threads::{FILES, both, on_threads},
    unread::Unread,
};

/// The name of a project file (language 1).
pub(crate) const PROJECT_FILE: &str = "trellis.yaml";

/// One graph, loaded.
///
/// ```
/// use trellis_project::{Memory, Project};
///
/// let graph: Memory = [("start.md", "---\n---\nHello.\n")].into_iter().collect();
/// let compiled = Project::with_loader(graph)?.compile();
/// assert!(compiled.program.is_some());
/// # Ok::<(), trellis_project::LoadError>(())
/// ```
///
/// [`Project::open`] takes the path of a folder or a file.
pub struct Project {
    pub(crate) loader: Box<dyn GraphLoader>,
    root: Option<PathBuf>,
    pub(crate) files: Files,
    pub(crate) documents: Vec<Arc<Document>>,
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
        let (files, problems) = load(&loader, &Files::new())?;
        Ok(Self { loader: Box::new(loader), root: None, documents: documents(&files), files, problems })
    }

    /// Returns the graph of these documents, which are sorted by path. It has nothing to read them from again.
    pub(crate) fn of_documents(documents: &[Arc<Document>]) -> Self {
        let named = documents.iter().filter(|document| file_name(&document.path) == PROJECT_FILE);
        let named = named.map(|file| (folder(&file.path).to_owned(), file.dialect().map(|named| named.value).unwrap_or_default()));
        let dialects = Dialects(named.collect());
        let known = |document: &Arc<Document>| {
            let is_project = file_name(&document.path) == PROJECT_FILE;
            let dialect = if is_project { Dialect::default() } else { dialects.of(&document.path) };
            (FilePath::clone(&document.path), Parsed::known(Arc::clone(document), dialect))
        };
        let files = documents.iter().map(known).collect();
        Self { loader: Box::new(Memory::new()), root: None, files, documents: documents.to_vec(), problems: Vec::new() }
    }

    /// Returns the graph with its files below this absolute folder: a loader that is no [`Directory`] does not say so.
    #[must_use]
    pub fn below(self, root: PathBuf) -> Self {
        Self { root: Some(root), ..self }
    }

    /// Returns the absolute folder of the graph's paths; `None` for a graph that is not on disk.
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
        self.readable(compile_with(&self.documents, both))
    }

    /// Compiles the graph as it is now, reusing the earlier results in `compiler`. The result is the one of [`Project::compile`].
    pub fn recompile(&self, compiler: &mut Compiler) -> Compiled {
        self.readable(compiler.compile_with(&self.documents, both))
    }

    /// Takes the program away where a file could not be read: it may be anything.
    fn readable(&self, compiled: Compiled) -> Compiled {
        Unread::of(&self.problems).apply(self.root.as_deref(), &self.documents, compiled)
    }

    /// Lists and reads the graph again; only changed files are parsed. Returns the files that were added, changed or removed, sorted.
    ///
    /// # Errors
    /// As [`Project::open`]; the project stays as it was.
    pub fn reload(&mut self) -> Result<Vec<FilePath>, LoadError> {
        let (files, problems) = load(&*self.loader, &self.files)?;
        let is_known = |path: &FilePath, old: &Parsed| files.get(path).is_some_and(|new| Arc::ptr_eq(&old.document, &new.document));
        let same = |path: &FilePath| self.files.get(path).is_some_and(|old| is_known(path, old));
        let mut changed: Vec<_> = self.files.keys().chain(files.keys()).filter(|path| !same(path)).cloned().collect();
        changed.sort_unstable();
        changed.dedup();
        self.documents = documents(&files);
        (self.files, self.problems) = (files, problems);
        Ok(changed)
    }

    /// Reads these files again and no others; returns those that changed. Nothing, and the project stays as it was, where that may not be all there is to
    /// do: files that are new, gone or cannot be read, and project files, whose dialect is that of others too.
    pub(crate) fn reload_only(&mut self, paths: &[FilePath]) -> Option<Vec<FilePath>> {
        if !self.problems.is_empty() || paths.iter().any(|path| file_name(path) == PROJECT_FILE) {
            return None;
        }
        let mut changed = Vec::new();
        for path in paths {
            let known = self.files.get(path)?;
            let now = known.again(&*self.loader, path).ok()?;
            if !Arc::ptr_eq(&now.document, &known.document) {
                changed.push((FilePath::clone(path), now));
            }
        }
        for (path, now) in &changed {
            if let Ok(at) = self.documents.binary_search_by(|document| document.path.cmp(path)) {
                self.documents[at] = Arc::clone(&now.document);
            }
        }
        let paths = changed.iter().map(|(path, _)| FilePath::clone(path)).collect();
        self.files.extend(changed);
        Some(paths)
    }
}

pub(crate) type Files = BTreeMap<FilePath, Parsed>;

pub(crate) fn documents(files: &Files) -> Vec<Arc<Document>> {
    files.values().map(|file| Arc::clone(&file.document)).collect()
}

/// Lists, reads and parses a graph; unchanged files are taken from `known`.
fn load(loader: &dyn GraphLoader, known: &Files) -> Result<(Files, Vec<LoadError>), LoadError> {
    let (project_files, others): (Vec<_>, Vec<_>) = loader.list_files()?.into_iter().partition(|path| file_name(path) == PROJECT_FILE);
    let read = |path: &FilePath, dialect| parse(loader, path, dialect, known.get(path));
    let mut results = on_threads(&project_files, FILES, |path| read(path, Dialect::default()));
    let dialects = Dialects::named_by(&results);
    results.extend(on_threads(&others, FILES, |path| read(path, dialects.of(path))));

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
    // A vanished file is treated as if it had not been listed, unless it exists again (an editor that saves by replacing) or the root is gone.
    if !missing.is_empty() {
        let listed = loader.list_files()?;
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

/// The dialect of each folder with a project file: it applies to the folders below it too, down to the next project file.
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

impl fmt::Debug for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project")
            .field("root", &self.root)
            .field("files", &self.files.keys())
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use trellis_core::{Code, Source};

    use super::*;
    use crate::Memory;

    /// A graph that is edited while a project holds it.
    #[derive(Clone)]
    struct Edited(Arc<Mutex<Memory>>);

    impl GraphLoader for Edited {
        fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
            self.0.lock().unwrap().list_files()
        }

        fn read_file(&self, path: &str) -> Result<Source, LoadError> {
            self.0.lock().unwrap().read_file(path)
        }
    }

    fn document(project: &Project, path: &str) -> Arc<Document> {
        Arc::clone(project.documents().iter().find(|document| *document.path == *path).unwrap())
    }

    fn codes(project: &Project) -> Vec<Code> {
        project.compile().diagnostics.iter().map(|found| found.code).collect()
    }

    #[test]
    fn a_reload_parses_only_what_changed() {
        let files = [("start.md", "---\nto: end\n---\n"), ("end.md", "---\n---\nbye\n"), ("bad.yaml", "\0\u{ff}")];
        let graph = Edited(Arc::new(Mutex::new(files.into_iter().collect())));
        graph.0.lock().unwrap().insert("junk.md", *b"\xff\xfe");
        let mut project = Project::with_loader(graph.clone()).unwrap();
        assert_eq!(project.root(), None);
        let before: Vec<_> = project.documents().to_vec();
        assert!(project.reload().unwrap().is_empty());
        assert!(before.iter().zip(project.documents()).all(|(old, new)| Arc::ptr_eq(old, new)), "nothing was parsed again");

        graph.0.lock().unwrap().insert("end.md", *b"---\n---\nsee you\n");
        graph.0.lock().unwrap().insert("new.md", *b"a page\n");
        graph.0.lock().unwrap().remove("bad.yaml");
        assert_eq!(project.reload().unwrap(), ["bad.yaml", "end.md", "new.md"].map(FilePath::from));
        assert!(Arc::ptr_eq(&before[3], &document(&project, "start.md")));
        assert!(project.documents().is_sorted_by(|one, other| one.path < other.path));
    }

    #[test]
    fn a_page_that_is_named_itself_is_a_graph_and_a_folder_of_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("NOTES.md");
        std::fs::write(&page, "Hello.\n").unwrap();
        let mut named = Project::open(&page).unwrap();
        assert_eq!((codes(&named), named.compile().nodes), (vec![], 1));
        assert_eq!(codes(&Project::open(folder.path()).unwrap()), [Code::MissingStart]);

        std::fs::write(&page, "Goodbye.\n").unwrap();
        assert_eq!(named.reload().unwrap(), ["NOTES.md".into()]);
        assert_eq!(codes(&named), [], "also after an edit");
    }

    #[test]
    fn each_folder_with_a_project_file_has_its_own_dialect() {
        let node = "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n";
        let files = [
            ("trellis.yaml", "templates: go\n"),
            ("start.md", node),
            ("greet.md", "---\nto: sub/more\n---\nHello {{ .name }}\n"),
            ("sub/more.md", "---\ndo: { graph: nested, args: { name: \"{{ .name }}\" } }\n---\n"),
            ("nested/trellis.yaml", "name: nested\n"),
            ("nested/start.md", "---\nrequired_context: [name]\n---\nHello {{ name }}\n"),
        ];
        let graph = Edited(Arc::new(Mutex::new(files.into_iter().collect())));
        let mut project = Project::with_loader(graph.clone()).unwrap();
        assert_eq!(codes(&project), []);

        // Another dialect parses the files below its project file again, and those only.
        let nested = document(&project, "nested/start.md");
        graph.0.lock().unwrap().insert("trellis.yaml", *b"name: outer\n");
        project.reload().unwrap();
        assert!(Arc::ptr_eq(&nested, &document(&project, "nested/start.md")));
        assert!(codes(&project).contains(&Code::TemplateSyntax), "`.name` is no jinja");
    }

    #[test]
    fn a_file_of_nodes_names_its_own_dialect() {
        let text = "templates: go\nnodes:\n  start: { input_type: text, save_to: name, to: greet, content: Name? }\n  greet: { content: \"Hello {{ .name }}\" }\n";
        let project = Project::with_loader([("flow.yaml", text)].into_iter().collect::<Memory>()).unwrap();
        assert_eq!(codes(&project), []);
    }

    #[test]
    fn what_is_done_at_the_same_time_comes_to_the_same() {
        // With `sav_to` the variable that the node sets is unknown, so no finding is about `town`.
        for save_to in ["save_to: town", "save_to: city", "sav_to: town"] {
            let mut text = format!("nodes:\n  start: {{ input_type: text, {save_to}, to: n0 }}\n");
            (0..1_100).for_each(|at| text.push_str(&format!("  n{at}: {{ to: n{} }}\n", at + 1)));
            text.push_str("  n1100: { content: \"{{ town }}\" }\n");
            let project = Project::with_loader([("flow.yaml", text)].into_iter().collect::<Memory>()).unwrap();
            let (one, other) = (project.compile(), trellis_core::compile(project.documents()));
            assert_eq!(one.diagnostics, other.diagnostics);
            assert_eq!((one.diagnostics.len(), one.program.is_some()), if save_to == "save_to: town" { (0, true) } else { (1, false) });
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_read_takes_the_program_and_hides_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("start.md"), "---\nto: linked\non_error: nowhere\n---\n").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("linked.md")).unwrap();
        let mut project = Project::open(folder.path()).unwrap();
        assert!(matches!(project.problems(), [LoadError::Outside { .. }]), "{:?}", project.problems());
        let compiled = project.compile();
        assert!(compiled.program.is_none());
        assert!(compiled.diagnostics.iter().all(|found| !found.message.contains("linked")), "{:?}", compiled.diagnostics);
        assert!(project.reload().unwrap().is_empty(), "still unread is no change");
        std::fs::remove_file(folder.path().join("linked.md")).unwrap();
        std::fs::write(folder.path().join("linked.md"), "---\n---\nbye\n").unwrap();
        assert_eq!(project.reload().unwrap(), ["linked.md".into()]);
        assert!(project.problems().is_empty());
    }

    #[test]
    fn a_failed_reload_leaves_the_project_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("graph");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("start.md"), "---\n---\nbye\n").unwrap();
        let mut project = Project::open(&root).unwrap();
        assert_eq!(project.root(), Some(&*std::fs::canonicalize(&root).unwrap()));
        std::fs::remove_dir_all(&root).unwrap();
        assert!(project.reload().is_err());
        assert!(project.compile().program.is_some());
    }
}
