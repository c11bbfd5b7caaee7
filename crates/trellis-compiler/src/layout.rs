//! Layout of a graph: its graphs and names, which depend on paths and kinds of files alone, and the numbers of its nodes and points.

use std::sync::Arc;

use super::{
    graphs::GraphInfo,
    names::{NameClaims, NameTable},
    split::GraphSplit,
};
use trellis_base::{
    diagnostic::{Diagnostic, FilePath},
    id::NodeId,
    index::to_u32,
};
use trellis_engine::program::NodeIndex;
use trellis_syntax::{
    document::Document,
    node::{NodeSyntax, TargetSyntax},
};

/// Graphs and names of the files.
#[derive(Debug)]
pub(super) struct FileLayout {
    pub(super) split: GraphSplit,
    pub(super) table: NameClaims,
    /// Diagnostics about names.
    pub(super) found: Vec<Diagnostic>,
}

impl FileLayout {
    pub(super) fn new(documents: &[Arc<Document>]) -> Self {
        let split = GraphSplit::new(documents);
        let mut found = Vec::new();
        let table = NameClaims::collect(documents, &split, &mut found);
        Self { split, table, found }
    }
}

/// Returns the ids of the nodes in `documents`, each with its file, sorted by id (language 1.3). Markdown files without frontmatter are
/// included: compilation decides if one is a page.
pub fn nodes(documents: &[Arc<Document>]) -> Vec<(NodeId, FilePath)> {
    let frame = FileLayout::new(documents);
    let mut nodes: Vec<_> = frame.table.ids().map(|(id, at)| (id.clone(), FilePath::clone(&documents[at as usize].path))).collect();
    nodes.sort_unstable();
    nodes
}

/// Pages and the candidates that name them; `None` if a graph does.
pub(super) type PageNames = Vec<(Option<u32>, u32)>;

/// Indices of nodes and points. They are assigned before the first node is lowered, so that targets can be resolved at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeLayout {
    /// Node index of each candidate; `None` for pages and files that could not be parsed.
    pub(super) nodes_of: Vec<Option<NodeIndex>>,
    /// First point of each node.
    pub(super) points_of: Vec<u32>,
    /// True for each node that has a gate, because its graph has `before_each`.
    pub(super) gated: Vec<bool>,
    /// True for each graph that has `before_each`.
    gates: Vec<bool>,
    /// Pages that are nodes because a target names them (language 1.2).
    named: Vec<u32>,
}

impl NodeLayout {
    /// Assigns indices; returns `last` if it is equal. `page_names` has the pages that are named.
    pub(super) fn new(names: &NameTable<'_>, graphs: &[GraphInfo<'_>], page_names: &PageNames, last: Option<&Arc<Self>>) -> Arc<Self> {
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
            let index = to_u32(layouts.points_of.len());
            let gated = layouts.gates[candidate.graph as usize];
            layouts.nodes_of.push(Some(NodeIndex(index)));
            layouts.points_of.push(point);
            layouts.gated.push(gated);
            point += 1 + u32::from(gated);
        }
        Arc::new(layouts)
    }
}

/// Returns the pages that targets name. With `last`, only the edited documents are read again.
pub(super) fn page_names(names: &NameTable<'_>, graphs: &[GraphInfo<'_>], last: Option<(&PageNames, &[u32])>) -> PageNames {
    let mut page_names = PageNames::new();
    if names.pages().is_empty() {
        return page_names;
    }
    let name = |page_names: &mut PageNames, from: Option<u32>, target: &TargetSyntax, folder: &str, graph: u32| {
        let page = names.find(&target.name.value, target.is_jump(), folder, graph).filter(|page| names.pages().binary_search(page).is_ok());
        page_names.extend(page.map(|page| (from, page)));
    };
    for (index, graph) in (0..).zip(graphs) {
        graph.defaults.targets().for_each(|target| name(&mut page_names, None, target, &graph.syntax.root, index));
    }
    let asked: Vec<u32> = match last {
        None => (0..to_u32(names.len())).collect(),
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
