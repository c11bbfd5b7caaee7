//! The port through which graphs come in, and the rules that every loader shares.

use std::path::{Component, Path};

use trellis_core::{Source, diagnostic::FilePath};

use crate::LoadError;

/// Bytes of a file above which it is not read (language A.2): 1 MiB.
pub const FILE_LIMIT: u64 = 1 << 20;

/// The only way in which a graph reaches the compiler.
///
/// Paths are below the graph's root, with `/` on every platform.
pub trait GraphLoader: Send + Sync {
    /// Every file that may belong to the graph (nodes, libraries, pages, project files), sorted, each once.
    ///
    /// What stands in the way of a whole folder, or could be a file but is refused, is listed too: [`GraphLoader::get_node`] then says why.
    ///
    /// # Errors
    /// The graph as a whole cannot be listed. A graph that cannot be listed is never taken for an empty one.
    fn list_nodes(&self) -> Result<Vec<FilePath>, LoadError>;

    /// Reads one file. A file above the loader's limit is not read: its source says how large it is.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] where the graph holds no such file, or holds it no longer; otherwise why it cannot be read.
    fn get_node(&self, path: &str) -> Result<Source, LoadError>;
}

/// Whether a file of this name may belong to a graph (language 1.1): `.md`, `.yaml`, `.yml`, `.json`.
pub fn is_graph_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && matches!(extension, "md" | "yaml" | "yml" | "json"))
}

/// Whether a name is hidden (language 1.2).
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// Whether `path` stays below the root and names nothing hidden, whatever lies on the disk.
pub(crate) fn is_below_root(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !is_hidden(name);
    // `..` and `/` at the beginning are no names. Elsewhere there are drives, and other strokes.
    path.split('/').all(is_name) && (cfg!(unix) || Path::new(path).components().all(|part| matches!(part, Component::Normal(_))))
}

/// The folder that holds a path, without a trailing slash; empty at the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last name of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use trellis_core::syntax::document::Bytes;

    use super::*;
    use crate::{Directory, Memory};

    type Files<'f> = &'f [(&'f str, &'f [u8])];

    /// What every loader must do; `make` builds one that holds `files` and reads at most 10 bytes of each.
    fn contract<L: GraphLoader>(mut make: impl FnMut(Files<'_>) -> L) {
        let list = |loader: &L| loader.list_nodes().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        let read = |loader: &L, path: &str| match loader.get_node(path).map(|source| source.bytes) {
            Ok(Bytes::Read(bytes)) => bytes.to_vec(),
            other => panic!("`{path}` was not read: {other:?}"),
        };

        assert!(list(&make(&[])).is_empty(), "an empty graph has no files");

        let loader = make(&[
            ("start.md", b"start"),
            ("trellis.yaml", b""),
            ("sub/z.yml", b"z"),
            ("sub/a.json", b"\xff\x00"),
            ("sub-2/b.md", b"\xef\xbb\xbfb\r\n"),
            ("_lib/tools.yaml", b"tools"),
            ("a b/\u{e9}.md", b"accent"),
            ("image.png", b"png"),
            ("Makefile", b"all"),
            ("md", b"no extension"),
            (".hidden.md", b"hidden"),
            (".git/config.yaml", b"hidden"),
            ("sub/.cache/x.md", b"hidden"),
            ("full.md", b"0123456789"),
            ("large.md", b"0123456789a"),
        ]);
        let expected = [
            "_lib/tools.yaml",
            "a b/\u{e9}.md",
            "full.md",
            "large.md",
            "start.md",
            "sub-2/b.md",
            "sub/a.json",
            "sub/z.yml",
            "trellis.yaml",
        ];
        assert_eq!(list(&loader), expected, "files of a graph, sorted");
        assert_eq!(list(&loader), expected, "the same every time");

        assert_eq!(read(&loader, "start.md"), b"start");
        assert_eq!(read(&loader, "trellis.yaml"), b"", "an empty file is a file");
        assert_eq!(read(&loader, "sub/a.json"), b"\xff\x00", "bytes that are no text come as they are");
        assert_eq!(read(&loader, "sub-2/b.md"), b"\xef\xbb\xbfb\r\n", "byte order marks and carriage returns stay");
        assert_eq!(read(&loader, "full.md"), b"0123456789", "the limit itself is allowed");
        assert!(
            matches!(loader.get_node("large.md").unwrap().bytes, Bytes::TooLarge { size: 11, limit: 10 }),
            "a file above the limit is not read"
        );
        assert_eq!(&*loader.get_node("sub/z.yml").unwrap().path, "sub/z.yml");

        for path in [
            "absent.md",
            "sub/absent.md",
            "absent/start.md",
            "start.md/x.md",
            "image.png",
            "Makefile",
            ".hidden.md",
            ".git/config.yaml",
            "",
            "/",
            "..",
            "../start.md",
            "sub/../start.md",
            "./start.md",
            "/start.md",
            "sub//z.yml",
            "start.md/",
            "start.md\0",
            "\u{0}",
        ] {
            let refused = loader.get_node(path);
            assert!(matches!(refused, Err(LoadError::NotFound { .. })), "{path:?} is no file of the graph: {refused:?}");
        }
    }

    #[test]
    fn memory_keeps_the_contract() {
        contract(|files| Memory::from_iter(files.iter().copied()).with_limit(10));
    }

    #[test]
    fn directory_keeps_the_contract() {
        let mut folders = Vec::new();
        contract(|files| {
            let folder = tempfile::tempdir().unwrap();
            for (path, bytes) in files {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            let loader = Directory::new(folder.path()).unwrap().with_limit(10);
            folders.push(folder);
            loader
        });
    }
}
