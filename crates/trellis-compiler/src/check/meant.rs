//! Nodes that a mistaken target in another file may have meant: they are not reported as unreachable.
//!
//! A name without a target was meant for a node with a similar name, or for an unknown one. A file with any other mistake may have lost an edge, but
//! only to a node whose name it contains, or to its own nodes, which may have been meant to have another name.

use petgraph::visit::Dfs;

use crate::{
    cfg::Cfg,
    names::{at_path, mentions},
    severity::Severities,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, nearest},
    id::NodeId,
};
use trellis_engine::program::Node;

/// Returns the points that are reached, or would be if all possible meanings of mistaken targets were meant; `None` if a mistake may have
/// meant any node.
pub(super) fn reached(cfg: &Cfg<'_>, reached: &[bool], severities: &Severities<'_>, found: &[Diagnostic]) -> Option<Vec<bool>> {
    let program = cfg.program;
    let mut all = reached.to_vec();
    let unreachable: Vec<&Node> = program.nodes().iter().map(|node| &**node).filter(|node| !reached[node.body.0 as usize]).collect();
    if unreachable.is_empty() {
        return Some(all);
    }
    let (mut faulty, mut meant) = (Vec::new(), Vec::new());
    for diagnostic in severities.parsed().chain(found).filter(|found| severities.is_error(found)) {
        let place = diagnostic.place.as_ref()?;
        let at = at_path(&program.documents, &place.path)?;
        let text = &*program.documents[at as usize].text;
        match diagnostic.code {
            _ if text.is_empty() => return None,
            // A target that is left out could be any, and so could a name that is taken.
            Code::MissingValue | Code::DuplicateNode | Code::ReservedName => return None,
            Code::UnknownTarget | Code::UnknownModule | Code::WrongCase => meant.push(text.get(place.span.range())?),
            _ => faulty.push((at, text)),
        }
    }
    let mut hinted: Vec<&Node> = Vec::new();
    for written in meant.into_iter().map(|written| written.rsplit('/').next().unwrap_or(written)) {
        let is_like = |node: &Node| {
            let id = node.id.as_str();
            [last(id), id.rsplit('/').next().unwrap_or(id)].into_iter().any(|name| name == written || nearest(written, [name]).is_some())
        };
        // A file that nothing else leads to may be no node for that reason alone.
        let files = program.documents.iter().map(|document| last(document.path.rsplit_once('.').map_or(&*document.path, |(id, _)| id)));
        // And a slip of `fail` or `rollback` means no node.
        if !program.nodes().iter().any(|node| is_like(node)) && nearest(written, files.chain(NodeId::RESERVED)).is_none() {
            return None;
        }
        hinted.extend(unreachable.iter().filter(|node| is_like(node)));
    }
    hinted.extend(
        unreachable.iter().filter(|node| faulty.iter().any(|(at, text)| *at == node.document || mentions(text, last(node.id.as_str())))),
    );
    for node in hinted {
        let mut walk = Dfs::new(&*cfg.digraph, cfg.entry(node.index));
        while let Some(point) = walk.next(&*cfg.digraph) {
            all[point as usize] = true;
        }
        all[node.body.0 as usize] = true;
    }
    Some(all)
}

/// The last name of an id; of a module its folder.
fn last(id: &str) -> &str {
    let id = id.strip_suffix("/start").unwrap_or(id);
    id.rsplit('/').next().unwrap_or(id)
}
