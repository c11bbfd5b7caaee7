//! A folder with a graph that is watched, and what somebody does to it.
//!
//! **Invariant:** a test waits for what must come, for as long as it takes; it fails when that is too long to be anything else.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;
use trellis_project::{Edit, Live, Status, Waited, Watch};

const PATIENCE: Duration = Duration::from_secs(120);
/// Long enough for a save that was noticed to be told.
const SILENCE: Duration = Duration::from_millis(250);

/// A node that leads to `bye`.
pub(crate) const START: &str = "---\nto: bye\n---\nHello.\n";

pub(crate) struct Desk {
    folder: TempDir,
    root: PathBuf,
    pub(crate) live: Live,
    pub(crate) watch: Watch,
}

impl Desk {
    /// A sound graph of two nodes at `graph`, below a folder of its own.
    pub(crate) fn new() -> Self {
        Self::with(&[("graph/start.md", START), ("graph/bye.md", "Bye.\n")], "graph", |root| Watch::new([root]))
    }

    /// A graph at `root` in a folder with these files.
    pub(crate) fn with(files: &[(&str, &str)], root: &str, watch: impl FnOnce(PathBuf) -> Watch) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(&folder.path().join(path), text);
        }
        Self::at(folder, root, watch)
    }

    /// A graph at `root` in a folder that is already as it should be.
    pub(crate) fn at(folder: TempDir, root: &str, watch: impl FnOnce(PathBuf) -> Watch) -> Self {
        let root = folder.path().join(root);
        let watch = watch(root.clone());
        assert!(watch.trouble().is_none(), "{:?}", watch.trouble());
        Self { live: Live::open(&root).unwrap(), folder, root, watch }
    }

    /// A path below the folder of its own.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A path below the graph.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file in place.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.path(path), text);
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    /// The next edit.
    pub(crate) fn edit(&mut self) -> Edit {
        match self.live.next(&mut self.watch, Some(PATIENCE)) {
            Waited::Edit(edit) => edit,
            other => panic!("nothing came: {other:?}"),
        }
    }

    /// Edits until one is as it should be; on a busy machine one save may be seen as two.
    pub(crate) fn edit_until(&mut self, is_it: impl Fn(&Edit) -> bool) -> Edit {
        loop {
            let edit = self.edit();
            if is_it(&edit) {
                return edit;
            }
        }
    }

    /// Edits until the graph is sound and has these files.
    pub(crate) fn sound_with(&mut self, files: &[&str]) -> Edit {
        self.edit_until(|edit| matches!(edit.status, Status::Sound { .. }) && paths(edit) == files)
    }

    /// Nothing more comes.
    pub(crate) fn silence(&mut self) {
        match self.live.next(&mut self.watch, Some(SILENCE)) {
            Waited::Elapsed => {}
            other => panic!("nothing was saved: {other:?}"),
        }
    }

    /// Returns the text of a file in the present version.
    pub(crate) fn text(&self, path: &str) -> String {
        self.live.version().documents.iter().find(|document| *document.path == *path).unwrap().text.to_string()
    }
}

/// The files of the graph.
pub(crate) fn paths(edit: &Edit) -> Vec<&str> {
    edit.version.documents.iter().map(|document| &*document.path).collect()
}

pub(crate) fn changed(edit: &Edit) -> Vec<&str> {
    edit.changed.iter().map(|path| &**path).collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
