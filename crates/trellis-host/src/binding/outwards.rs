//! The project files that a graph sees: its own, then those of the graphs around it (language 9.1).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{
    Document,
    syntax::{document::Content, project::HostConfig},
};

/// Returns the settings of the project files for hosts, innermost first, each with the root of its graph: those of the graph at `root`, then
/// outwards.
pub(super) fn outwards<'d>(documents: &'d [Arc<Document>], root: &'d str) -> impl Iterator<Item = (&'d HostConfig, &'d str)> {
    let roots = std::iter::successors(Some(root), |root| (!root.is_empty()).then(|| around(root)));
    roots.flat_map(move |root| {
        let here = documents.iter().filter(move |document| around(&document.path) == root);
        here.filter_map(move |document| match &document.content {
            Content::Project(project) | Content::Nodes(_, project) => Some((&project.host, root)),
            _ => None,
        })
    })
}

/// Returns the folder of the graph at `outer`, which is around the one at `root` whose folder is `folder`, or is the same.
pub(super) fn folder_of(outer: &str, root: &str, folder: &Path) -> PathBuf {
    let depth = |root: &str| root.split('/').filter(|part| !part.is_empty()).count();
    let up = depth(root).saturating_sub(depth(outer));
    folder.ancestors().nth(up).unwrap_or(folder).to_owned()
}

/// The folder around a path of the program, empty for the outermost.
fn around(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(around, _)| around)
}

#[cfg(test)]
mod tests {
    use trellis_core::{Dialect, Source};

    use super::*;

    #[test]
    fn a_graph_sees_its_own_file_then_those_around_it() {
        // language 9.1
        let file = |path: &str| Arc::new(Document::parse(&Source::text(path, "budget: { calls: 1 }\n"), Dialect::default()));
        let documents = ["trellis.yaml", "a/trellis.yaml", "a/b/c/trellis.yaml", "d/trellis.yaml"].map(file);
        let seen = |root| outwards(&documents, root).map(|(_, root)| root).collect::<Vec<_>>();
        assert_eq!(seen("a/b/c"), ["a/b/c", "a", ""]);
        assert_eq!(seen("d"), ["d", ""]);
        assert_eq!(seen(""), [""]);
        assert_eq!(folder_of("a", "a/b/c", Path::new("/g/a/b/c")), Path::new("/g/a"));
        assert_eq!(folder_of("", "a/b/c", Path::new("/g/a/b/c")), Path::new("/g"));
        assert_eq!(folder_of("a", "a", Path::new("/g/a")), Path::new("/g/a"));
    }
}
