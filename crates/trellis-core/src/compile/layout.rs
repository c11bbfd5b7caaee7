//! What a graph's files come to as long as each keeps its name and its kind: which graphs there are, who is called what, and who has which number.

use std::sync::Arc;

use super::{
    graphs::GraphInfo,
    names::{Names, Table},
    split::Split,
};
use crate::{
    diagnostic::{Diagnostic, FilePath},
    id::NodeId,
    program::NodeIndex,
    syntax::{
        document::Document,
        node::{NodeSyntax, TargetSyntax},
    },
};

/// Files and names.
#[derive(Debug)]
pub(super) struct FileLayout {
    pub(super) split: Split,
    pub(super) table: Table,
    /// What is wrong with names.
    pub(super) found: Vec<Diagnostic>,
}

impl FileLayout {
    pub(super) fn new(documents: &[Arc<Document>]) -> Self {
        let split = Split::new(documents);
        let mut found = Vec::new();
        let table = Table::collect(documents, &split, &mut found);
        Self { split, table, found }
    }
}

/// The ids of the nodes that documents hold, each with the file that holds it, sorted by id (language 1.3). A Markdown file without frontmatter counts
/// too: whether it is a page is known when the graph is compiled.
pub fn nodes(documents: &[Arc<Document>]) -> Vec<(NodeId, FilePath)> {
    let frame = FileLayout::new(documents);
    let mut nodes: Vec<_> = frame.table.ids().map(|(id, at)| (id.clone(), FilePath::clone(&documents[at as usize].path))).collect();
    nodes.sort_unstable();
    nodes
}

/// Which candidate, or graph, names which page.
pub(super) type PageNames = Vec<(Option<u32>, u32)>;

/// Every node has its index and points before the first is lowered, so that targets can be written down at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeLayout {
    /// Node index of each candidate; nothing for pages and files that could not be understood.
    pub(super) nodes_of: Vec<Option<NodeIndex>>,
    /// First point of each node.
    pub(super) points_of: Vec<u32>,
    /// Whether `before_each` stands before each node.
    pub(super) gated: Vec<bool>,
    /// The same, by graph.
    gates: Vec<bool>,
    /// Pages that are nodes, because some target names them (language 1.2).
    named: Vec<u32>,
}

impl NodeLayout {
    /// The seats; the ones of the last time where they are the same. `naming` says which pages are named.
    pub(super) fn new(names: &Names<'_>, graphs: &[GraphInfo<'_>], page_names: &PageNames, last: Option<&Arc<Self>>) -> Arc<Self> {
        let gates: Vec<bool> = graphs.iter().map(|graph| graph.defaults.before_each.is_some()).collect();
        let mut named: Vec<u32> = page_names.iter().map(|(_, page)| *page).collect();
        named.sort_unstable();
        named.dedup();
        if let Some(last) = last.filter(|last| last.gates == gates && last.named == named) {
            return Arc::clone(last);
        }
        let count = names.len();
        let mut layouts = Self {
            nodes_of: Vec::with_capacity(count),
            points_of: Vec::with_capacity(count),
            gated: Vec::with_capacity(count),
            gates,
            named,
        };
        let mut point = 0;
        for (at, candidate) in (0..).zip(names.candidates()) {
            if candidate.syntax.is_none() || (candidate.page && layouts.named.binary_search(&at).is_err()) {
                layouts.nodes_of.push(None);
                continue;
            }
            let index = u32::try_from(layouts.points_of.len()).unwrap_or(u32::MAX);
            let gated = layouts.gates[candidate.graph as usize];
            layouts.nodes_of.push(Some(NodeIndex(index)));
            layouts.points_of.push(point);
            layouts.gated.push(gated);
            point += 1 + u32::from(gated);
        }
        Arc::new(layouts)
    }
}

/// Who names pages: all that do, or what `last` said with the edited documents asked again.
pub(super) fn page_names(names: &Names<'_>, graphs: &[GraphInfo<'_>], last: Option<(&PageNames, &[u32])>) -> PageNames {
    let mut page_names = PageNames::new();
    if names.pages().is_empty() {
        return page_names;
    }
    let name = |page_names: &mut PageNames, from: Option<u32>, target: &TargetSyntax, folder: &str, graph: u32| {
        let page = names.find(&target.name.value, target.jump, folder, graph).filter(|page| names.pages().binary_search(page).is_ok());
        page_names.extend(page.map(|page| (from, page)));
    };
    for (index, graph) in (0..).zip(graphs) {
        graph.defaults.targets().for_each(|target| name(&mut page_names, None, target, &graph.syntax.root, index));
    }
    let asked: Vec<u32> = match last {
        None => (0..u32::try_from(names.len()).unwrap_or(u32::MAX)).collect(),
        Some((last, edited)) => {
            let edited: Vec<u32> = edited.iter().flat_map(|document| names.of_document(*document)).collect();
            page_names.extend(last.iter().copied().filter(|(from, _)| from.is_some_and(|from| edited.binary_search(&from).is_err())));
            edited
        }
    };
    for at in asked {
        let candidate = names.candidate(at);
        let targets = candidate.syntax.into_iter().flat_map(NodeSyntax::targets);
        targets.for_each(|target| name(&mut page_names, Some(at), target, candidate.id.folder(), candidate.graph));
    }
    page_names
}
