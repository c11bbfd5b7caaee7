//! `non-exhaustive`: every input and every successful result has an edge (language 8.4).

use crate::guards::{
    cases::closed,
    gaps::{Gaps, gaps, is_own, open, report},
};
use trellis_base::diagnostic::Diagnostic;
use trellis_engine::program::{Node, Program, Reply};

pub(super) fn check(program: &Program, node: &Node, found: &mut dyn FnMut(Diagnostic)) {
    // Only the data analysis knows the result of a child.
    if !is_own(program, node) || broken(program, node) {
        return;
    }
    // Options that are outcomes of their own may have the gaps of the other answers: they are one.
    let mut all: Option<(&Reply, Gaps)> = None;
    for reply in open(program, node) {
        match (&mut all, gaps(program, reply, &mut |operand| closed(node, reply, operand))) {
            (Some((_, all)), Some(more)) => all.extend(more),
            (None, Some(gaps)) => all = Some((reply, gaps)),
            (_, None) => {}
        }
    }
    if let Some((reply, gaps)) = all {
        found(report(program, node, reply, &gaps));
    }
}

/// Returns whether the node's file has mistakes of its own: an edge that could not be read is no gap.
fn broken(program: &Program, node: &Node) -> bool {
    program.documents[node.document as usize].has_errors()
}
