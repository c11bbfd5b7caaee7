//! Division of a set of documents into graphs (language 1.4).

use std::{collections::BTreeSet, sync::Arc};

use trellis_syntax::document::{Content, Document};

/// The graphs: the outermost first, then each folder with a `trellis.yaml`.
#[derive(Debug)]
pub(super) struct GraphSplit {
    pub(super) roots: Vec<Arc<str>>,
    /// To which graph each document belongs.
    pub(super) owner: Vec<u32>,
    /// The project files of each graph, in the order in which they are asked.
    pub(super) projects: Vec<Vec<u32>>,
    /// True if part of one of them could not be read.
    pub(super) incomplete: Vec<bool>,
}

impl GraphSplit {
    pub(super) fn new(documents: &[Arc<Document>]) -> Self {
        let nested = documents.iter().filter_map(|document| document.path.strip_suffix("/trellis.yaml"));
        let roots: BTreeSet<&str> = std::iter::once("").chain(nested).collect();
        let roots: Vec<&str> = roots.into_iter().collect();
        let owner: Vec<u32> = documents.iter().map(|document| owner_of(&document.path, &roots)).collect();
        let mut projects = vec![Vec::new(); roots.len()];
        let mut incomplete = vec![false; roots.len()];
        for ((index, document), &graph) in (0..).zip(documents).zip(&owner) {
            let (folder, name) = document.path.rsplit_once('/').unwrap_or(("", &document.path));
            let graph = graph as usize;
            match document.content {
                Content::Project(_) | Content::Nodes(..) if folder == roots[graph] => {
                    projects[graph].push(index);
                    let is_project = matches!(document.content, Content::Project(_));
                    incomplete[graph] |= is_project && document.has_errors();
                }
                Content::Broken if folder == roots[graph] => incomplete[graph] |= matches!(name, "trellis.yaml" | "tools.yaml"),
                _ => {}
            }
        }
        let path = |index: &u32| &documents[*index as usize].path;
        projects.iter_mut().for_each(|of| of.sort_by_key(|at| (!path(at).ends_with("trellis.yaml"), path(at).ends_with("tools.yaml"))));
        Self { roots: roots.into_iter().map(Arc::from).collect(), owner, projects, incomplete }
    }
}

/// The innermost graph whose folder holds `path`.
fn owner_of(path: &str, roots: &[&str]) -> u32 {
    if roots.len() == 1 {
        return 0;
    }
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        if let Ok(index) = roots.binary_search(&above) {
            return u32::try_from(index).unwrap_or(0);
        }
        folder = above;
    }
    0
}
