//! A graph on disk: a folder, or one file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use trellis_core::{Source, diagnostic::FilePath};

use crate::{
    GraphLoader, LoadError,
    loader::{FILE_LIMIT, is_graph_file},
    root::Root,
    walk::{ENTRY_LIMIT, Listing, walk},
};

/// The files below a folder, or a single file as a graph of its own (language 1.1).
///
/// Hidden files and folders and those that a `.gitignore` names are left out. Links inside the root are followed, links that leave it are refused,
/// links that form a loop are skipped. Pipes, sockets and devices are never opened. A single file is accepted with any first letter of its name.
#[derive(Debug)]
pub struct Directory {
    root: Root,
    only: Option<FilePath>,
    limit: u64,
    entries: usize,
}

impl Directory {
    /// The graph at `path`.
    ///
    /// # Errors
    /// There is nothing at `path`, it cannot be reached, or it is a file of another kind.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let unreadable = |cause: std::io::Error| match cause.kind() {
            std::io::ErrorKind::NotFound => LoadError::NotFound { path: path.to_owned() },
            _ => LoadError::Unreadable { path: path.to_owned(), cause },
        };
        let real = fs::canonicalize(path).map_err(unreadable)?;
        if fs::metadata(&real).map_err(unreadable)?.is_dir() {
            return Ok(Self { root: Root::new(path.to_owned(), real), only: None, limit: FILE_LIMIT, entries: ENTRY_LIMIT });
        }
        Self::single(path)
    }

    /// One file: its folder is the root, and nothing else in it belongs to the graph.
    fn single(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |cause| LoadError::Unreadable { path: path.to_owned(), cause };
        let not_a_graph = || LoadError::NotAGraph { path: path.to_owned() };
        // The last part of `a/..` is no name; a folder was ruled out before, so this is no loss.
        let name = path.file_name().ok_or_else(not_a_graph)?;
        let name = name.to_str().ok_or_else(|| LoadError::NotUtf8 { path: path.to_owned() })?;
        if !is_graph_file(name) {
            return Err(not_a_graph());
        }
        let given = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let folder = if given.as_os_str().is_empty() { Path::new(".") } else { &given };
        let real = fs::canonicalize(folder).map_err(unreadable)?;
        Ok(Self { root: Root::new(given, real), only: Some(name.into()), limit: FILE_LIMIT, entries: ENTRY_LIMIT })
    }

    /// Returns the loader with another bound for the bytes of one file.
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Returns this graph with another bound for the number of files and folders that are listed.
    #[must_use]
    pub fn with_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// The folder that paths of the graph are below: absolute, without links.
    pub fn root(&self) -> &Path {
        self.root.real()
    }

    /// The files in the root and in folders up to `depth` levels below it.
    pub(crate) fn list_to(&self, depth: usize) -> Result<Vec<FilePath>, LoadError> {
        Ok(self.walk_to(depth)?.files)
    }

    fn walk_to(&self, depth: usize) -> Result<Listing, LoadError> {
        #[cfg(target_os = "linux")]
        self.root.reopen();
        walk(&self.root, depth, self.entries)
    }

    /// Returns the files of the graph, and whether each is found under one path only, with all links considered.
    pub(crate) fn list_and_tell_links(&self) -> Result<(Vec<FilePath>, bool), LoadError> {
        match self.only {
            Some(_) => Ok((self.list_files()?, false)),
            None => self.walk_to(usize::MAX).map(|found| (found.files, found.links.is_empty())),
        }
    }

    /// The folders and links that the graph's files are found through; none of a single file.
    #[cfg(feature = "watching")]
    pub(crate) fn spread(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), LoadError> {
        match self.only {
            Some(_) => Ok((Vec::new(), Vec::new())),
            None => walk(&self.root, usize::MAX, self.entries).map(|found| (found.folders, found.links)),
        }
    }
}

impl GraphLoader for Directory {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        match &self.only {
            None => self.list_to(usize::MAX),
            Some(name) if fs::symlink_metadata(self.root.real().join(&**name)).is_ok() => Ok(vec![FilePath::clone(name)]),
            Some(name) => Err(LoadError::NotFound { path: self.root.shown(name) }),
        }
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        let bytes = match &self.only {
            Some(name) if **name != *path => return Err(LoadError::NotFound { path: self.root.shown(path) }),
            Some(_) => self.root.read_named(path, self.limit)?,
            None => self.root.read(path, self.limit)?,
        };
        Ok(Source { path: path.into(), bytes })
    }

    fn is_file(&self) -> bool {
        self.only.is_some()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        os::unix::{ffi::OsStrExt, fs::symlink},
        sync::Arc,
    };

    use tempfile::{TempDir, tempdir};
    use trellis_core::syntax::document::Bytes;

    use super::*;

    /// A folder with these files; a path that ends in `/` is a folder.
    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn list(path: impl AsRef<Path>) -> Vec<String> {
        let files = Directory::new(path).unwrap().list_files().unwrap();
        files.iter().map(ToString::to_string).collect()
    }

    fn text(directory: &Directory, path: &str) -> String {
        match directory.read_file(path).unwrap().bytes {
            Bytes::Read(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            large @ Bytes::TooLarge { .. } => panic!("{large:?}"),
        }
    }

    #[test]
    fn links_out_of_the_root_are_listed_and_refused_and_the_rest_is_read() {
        let outside = folder(&[("secret.md", "secret"), ("more/secret.md", "secret")]);
        let graph = folder(&[("start.md", "start")]);
        symlink(outside.path().join("secret.md"), graph.path().join("stolen.md")).unwrap();
        symlink(outside.path().join("more"), graph.path().join("more")).unwrap();
        symlink(outside.path().join("secret.md"), graph.path().join("picture.png")).unwrap();
        let directory = Directory::new(graph.path()).unwrap();
        assert_eq!(list(graph.path()), ["more", "start.md", "stolen.md"]);
        assert_eq!(text(&directory, "start.md"), "start");
        for path in ["more", "stolen.md", "more/secret.md"] {
            let error = directory.read_file(path).unwrap_err();
            assert!(matches!(error, LoadError::Outside { .. }), "{error}");
            assert!(error.to_string().contains("secret.md") || path == "more", "{error}");
        }
    }

    #[test]
    fn links_inside_the_root_are_followed_and_loops_end() {
        let graph = folder(&[("a/x.md", "x"), ("b/y.md", "y")]);
        let at = |path: &str| graph.path().join(path);
        symlink("../b", at("a/b")).unwrap();
        symlink("../a", at("b/a")).unwrap();
        symlink("..", at("a/up")).unwrap();
        symlink(".", at("a/self")).unwrap();
        symlink(at("a/x.md"), at("absolute.md")).unwrap();
        assert_eq!(list(graph.path()), ["a/b/y.md", "a/x.md", "absolute.md", "b/a/x.md", "b/y.md"]);
        let directory = Directory::new(graph.path()).unwrap();
        assert_eq!(text(&directory, "a/b/y.md"), "y");
        assert_eq!(text(&directory, "absolute.md"), "x");
    }

    #[test]
    fn links_to_nowhere_and_to_themselves_say_so() {
        let graph = folder(&[("start.md", "start")]);
        symlink("absent.md", graph.path().join("lost.md")).unwrap();
        symlink("round.md", graph.path().join("round.md")).unwrap();
        symlink("user@host.1234", graph.path().join(".#start.md")).unwrap();
        let directory = Directory::new(graph.path()).unwrap();
        assert_eq!(list(graph.path()), ["lost.md", "round.md", "start.md"]);
        let error = directory.read_file("lost.md").unwrap_err().to_string();
        assert!(error.ends_with("lost.md` links to `absent.md`, which does not exist"), "{error}");
        assert!(matches!(directory.read_file("round.md"), Err(LoadError::Unreadable { .. })));
    }

    #[test]
    fn names_that_are_no_text_are_reported() {
        let graph = folder(&[("start.md", "start")]);
        fs::write(graph.path().join(OsStr::from_bytes(b"caf\xe9.md")), "x").unwrap();
        fs::write(graph.path().join(OsStr::from_bytes(b"caf\xe9.png")), "x").unwrap();
        fs::create_dir(graph.path().join(OsStr::from_bytes(b"d\xe9"))).unwrap();
        fs::create_dir(graph.path().join(OsStr::from_bytes(b".d\xe9"))).unwrap();
        assert_eq!(list(graph.path()), ["caf\u{fffd}.md", "d\u{fffd}", "start.md"]);
        let error = Directory::new(graph.path()).unwrap().read_file("caf\u{fffd}.md").unwrap_err();
        assert!(matches!(error, LoadError::NotUtf8 { .. }), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_are_neither_listed_nor_waited_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let graph = folder(&[("start.md", "start")]);
        let pipe = graph.path().join("pipe.md");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        symlink("pipe.md", graph.path().join("link.md")).unwrap();
        mknodat(CWD, graph.path().join(".gitignore"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(list(graph.path()), ["start.md"]);
        let directory = Directory::new(graph.path()).unwrap();
        assert!(matches!(directory.read_file("pipe.md"), Err(LoadError::NotAFile { .. })));
        assert!(matches!(directory.read_file("link.md"), Err(LoadError::NotAFile { .. })));
        // Nor is it taken for a file where something waits in it.
        let mut both_ends = fs::File::options().read(true).write(true).open(&pipe).unwrap();
        std::io::Write::write_all(&mut both_ends, b"start").unwrap();
        assert!(matches!(directory.read_file("pipe.md"), Err(LoadError::NotAFile { .. })));
    }

    #[test]
    fn gitignore_holds_without_a_repository_and_the_nearest_rule_wins() {
        let graph = folder(&[
            (".gitignore", "*.tmp.md\n/drafts/\n# a comment\nlogs\n"),
            ("start.md", ""),
            ("x.tmp.md", ""),
            ("drafts/a.md", ""),
            ("sub/drafts/a.md", ""),
            ("sub/logs/a.md", ""),
            ("sub/.gitignore", "!kept.tmp.md\n*.json\n"),
            ("sub/kept.tmp.md", ""),
            ("sub/x.tmp.md", ""),
            ("sub/x.json", ""),
            ("x.json", ""),
            (".ignore", "start.md"),
        ]);
        assert_eq!(list(graph.path()), ["start.md", "sub/drafts/a.md", "sub/kept.tmp.md", "x.json"]);
    }

    #[test]
    fn gitignore_above_the_root_holds_inside_a_repository_only() {
        let files = [(".gitignore", "*.tmp.md\n/graphs/\n"), ("graphs/tour/start.md", ""), ("graphs/tour/x.tmp.md", "")];
        let above = folder(&files);
        assert_eq!(list(above.path().join("graphs/tour")), ["start.md", "x.tmp.md"]);
        fs::create_dir(above.path().join(".git")).unwrap();
        assert_eq!(list(above.path().join("graphs/tour")), ["start.md"], "and a root that is ignored itself was named by its author");
        assert_eq!(list(above.path()), [""; 0]);
    }

    #[test]
    fn a_single_file_is_a_graph_of_its_own() {
        let graph = folder(&[("flow.yaml", "nodes: {}"), ("other.md", ""), ("notes.txt", ""), (".draft.md", "draft")]);
        let directory = Directory::new(graph.path().join("flow.yaml")).unwrap();
        assert_eq!(directory.list_files().unwrap(), ["flow.yaml".into()]);
        assert_eq!(text(&directory, "flow.yaml"), "nodes: {}");
        assert!(matches!(directory.read_file("other.md"), Err(LoadError::NotFound { .. })));
        let hidden = Directory::new(graph.path().join(".draft.md")).unwrap();
        assert_eq!(text(&hidden, &hidden.list_files().unwrap()[0]), "draft");
        assert!(matches!(Directory::new(graph.path().join("notes.txt")), Err(LoadError::NotAGraph { .. })));
        assert!(matches!(Directory::new(graph.path().join("absent")), Err(LoadError::NotFound { .. })));
        fs::remove_file(graph.path().join("flow.yaml")).unwrap();
        assert!(matches!(directory.list_files(), Err(LoadError::NotFound { .. })));
    }

    #[test]
    fn a_root_that_vanished_is_an_error_and_one_that_came_back_is_read() {
        let graph = folder(&[("g/start.md", "old")]);
        let root = graph.path().join("g");
        let directory = Directory::new(&root).unwrap();
        assert_eq!(text(&directory, "start.md"), "old");
        fs::remove_dir_all(&root).unwrap();
        assert!(matches!(directory.list_files(), Err(LoadError::NotFound { .. })));
        assert!(matches!(directory.read_file("start.md"), Err(LoadError::NotFound { .. })));
        fs::create_dir(&root).unwrap();
        fs::write(root.join("start.md"), "new").unwrap();
        assert_eq!(directory.list_files().unwrap(), ["start.md".into()]);
        assert_eq!(text(&directory, "start.md"), "new");
    }

    #[test]
    fn a_graph_that_changes_under_the_walk_never_panics() {
        let graph = folder(&[("start.md", "start")]);
        let directory = Arc::new(Directory::new(graph.path()).unwrap());
        let root = graph.path().to_owned();
        let writer = std::thread::spawn(move || {
            for round in 0..300 {
                let sub = root.join(format!("sub{}", round % 3));
                fs::create_dir_all(&sub).unwrap();
                fs::write(sub.join("a.md"), "a").unwrap();
                fs::write(sub.join("b.md"), "b").unwrap();
                fs::remove_dir_all(&sub).unwrap();
            }
        });
        while !writer.is_finished() {
            for path in directory.list_files().unwrap() {
                match directory.read_file(&path) {
                    Ok(_) | Err(LoadError::NotFound { .. }) => {}
                    Err(error) => panic!("{path}: {error}"),
                }
            }
        }
        writer.join().unwrap();
    }
}
