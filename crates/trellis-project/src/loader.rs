//! The port through which graphs come in, and the rules that every loader shares.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
    sync::Arc,
};

use trellis_core::{Dialect, Document, NodeId, Source, diagnostic::FilePath};

use crate::LoadError;

/// Bytes of a file above which it is not read (language A.2): 1 MiB.
pub const FILE_LIMIT: u64 = 1 << 20;

/// The port through which every graph reaches the compiler.
///
/// A loader knows files, by their paths below the graph's root, with `/` on every platform. Their nodes follow from them.
pub trait GraphLoader: Send + Sync {
    /// Every file that may belong to the graph (nodes, libraries, pages, project files), sorted, each once.
    ///
    /// An entry that blocks a whole folder, or that could be a file but is refused, is listed too: [`GraphLoader::read_file`] then returns
    /// the reason.
    ///
    /// # Errors
    /// The graph as a whole cannot be listed. A graph that cannot be listed is never taken for an empty one.
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError>;

    /// Reads one file. A file above the loader's limit is not read: its source has its size.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] where the graph holds no such file, or holds it no longer; otherwise why it cannot be read.
    fn read_file(&self, path: &str) -> Result<Source, LoadError>;

    /// The ids of the graph's nodes, sorted, each once (language 1.3). A Markdown file without frontmatter counts as a node: whether it is a page is
    /// known when the graph is compiled.
    ///
    /// # Errors
    /// The graph cannot be listed, or one of its files cannot be read: it could hold any node.
    fn list_nodes(&self) -> Result<Vec<NodeId>, LoadError> {
        Ok(nodes(self)?.into_iter().map(|(id, _)| id).collect())
    }

    /// The file that a node is written in, by the node's id. Several nodes of one file have the same source.
    ///
    /// # Errors
    /// [`LoadError::NoNode`] where no file holds such a node; otherwise as [`GraphLoader::list_nodes`].
    fn get_node(&self, id: &NodeId) -> Result<Source, LoadError> {
        let found = nodes(self)?.into_iter().find(|(of, _)| of == id);
        found.map(|(_, source)| source).ok_or_else(|| LoadError::NoNode { id: id.clone() })
    }

    /// Returns whether a single file was named as the graph: a Markdown file without frontmatter is a node then, and no page (language 1.1).
    fn is_file(&self) -> bool {
        false
    }
}

/// Every node with the file that holds it, sorted by id. Files that vanished since they were listed are left out.
fn nodes(loader: &(impl GraphLoader + ?Sized)) -> Result<Vec<(NodeId, Source)>, LoadError> {
    let mut sources = BTreeMap::new();
    for path in loader.list_files()? {
        match loader.read_file(&path) {
            Ok(source) => drop(sources.insert(path, source)),
            Err(LoadError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // Ids are the same in every dialect.
    let parsed = sources.values().map(|source| Document::parse(source, Dialect::default()));
    let documents: Vec<_> = parsed.map(|document| Arc::new(if loader.is_file() { document.as_graph() } else { document })).collect();
    let found = trellis_core::compile::nodes(&documents).into_iter();
    Ok(found.filter_map(|(id, path)| Some((id, sources.get(&path)?.clone()))).collect())
}

/// Returns whether a file of this name may belong to a graph (language 1.1): `.md`, `.yaml`, `.yml`, `.json`.
pub fn is_graph_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && matches!(extension, "md" | "yaml" | "yml" | "json"))
}

/// Returns whether a name is hidden (language 1.2).
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// Returns whether `path` stays below the root and names nothing hidden, independent of the disk.
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

    /// The contract of every loader; `make` builds one that holds `files` and reads at most 10 bytes of each.
    fn contract<L: GraphLoader>(mut make: impl FnMut(Files<'_>) -> L) {
        let list = |loader: &L| loader.list_files().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        let read = |loader: &L, path: &str| match loader.read_file(path).map(|source| source.bytes) {
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
            matches!(loader.read_file("large.md").unwrap().bytes, Bytes::TooLarge { size: 11, limit: 10 }),
            "a file above the limit is not read"
        );
        assert_eq!(&*loader.read_file("sub/z.yml").unwrap().path, "sub/z.yml");

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
            let refused = loader.read_file(path);
            assert!(matches!(refused, Err(LoadError::NotFound { .. })), "{path:?} is no file of the graph: {refused:?}");
        }
    }

    /// The contract of every loader about nodes.
    fn contract_of_nodes<L: GraphLoader>(mut make: impl FnMut(Files<'_>) -> L) {
        let list = |loader: &L| loader.list_nodes().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        let path = |loader: &L, id: &str| loader.get_node(&id.into()).map(|source| source.path.to_string());
        assert!(list(&make(&[])).is_empty());
        let loader = make(&[
            ("trellis.yaml", b"name: shop\n"),
            ("start.md", b"---\nto: orders/find\n---\n"),
            ("orders/find.md", b"---\n---\nFound.\n"),
            ("odd.md", b"---\nid: named\n---\n"),
            ("flow/nodes.yaml", b"nodes:\n  one: {content: 1}\n  two: {content: 2}\n"),
            ("_tools.yaml", b"tools: []\n"),
            ("broken.md", b"---\nto: [\n---\n"),
        ]);
        assert_eq!(list(&loader), ["broken", "flow/one", "flow/two", "named", "orders/find", "start"]);
        assert_eq!(path(&loader, "orders/find").unwrap(), "orders/find.md");
        assert_eq!(path(&loader, "named").unwrap(), "odd.md", "an `id` replaces the path's name");
        assert_eq!(path(&loader, "flow/two").unwrap(), "flow/nodes.yaml");
        for id in ["odd", "orders/find.md", "flow/nodes", "_tools", "trellis", "", "orders", "Start", "../start"] {
            let refused = path(&loader, id);
            assert!(matches!(refused, Err(LoadError::NoNode { .. })), "{id:?} is no node: {refused:?}");
        }
        let alone = make(&[("kettle.md", b"---\ninput_type: confirm\n---\n")]);
        assert_eq!(list(&alone), ["start"], "a single file is its graph's `start`");
    }

    #[test]
    fn memory_keeps_the_contract() {
        contract(|files| Memory::from_iter(files.iter().copied()).with_limit(10));
        contract_of_nodes(|files| Memory::from_iter(files.iter().copied()));
    }

    #[test]
    fn directory_keeps_the_contract() {
        let mut folders = Vec::new();
        let mut make = |files: Files<'_>| {
            let folder = tempfile::tempdir().unwrap();
            for (path, bytes) in files {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            let loader = Directory::new(folder.path()).unwrap();
            folders.push(folder);
            loader
        };
        contract(|files| make(files).with_limit(10));
        contract_of_nodes(make);
    }
}
