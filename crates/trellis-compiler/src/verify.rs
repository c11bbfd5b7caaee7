//! Every check of a lowered program: those of its shape, then those of its data.

use std::sync::Arc;

use super::{
    Join, UncheckedRead,
    cfg::Cfg,
    check,
    dataflow::{self, Analysis, Reuse},
    severity::Severities,
    taint::Taint,
};
use trellis_base::diagnostic::Diagnostic;
use trellis_engine::program::Program;

/// Results of checks, stored for the next compilation.
#[derive(Debug, Default)]
pub(super) struct CheckCache {
    nodes: check::NodeFindings,
    /// The fixed point over the data of every node.
    data: Option<dataflow::DataflowCache>,
}

impl CheckCache {
    /// Returns the types of the keys at each point of the program that was checked; `None` if its data were not.
    pub(super) fn point_types(&mut self, program: &Program) -> Option<dataflow::PointTypes> {
        let (data, types) = self.data.take()?.with_point_types(program);
        self.data = Some(data);
        Some(types)
    }
}

#[cfg(test)]
impl CheckCache {
    /// Number of points that the last data-flow analysis executed.
    pub(super) fn looked(&self) -> usize {
        self.data.as_ref().map_or(0, dataflow::DataflowCache::looked)
    }
}

/// Points of a graph for which it pays to do two things at once.
const MIN_PARALLEL_POINTS: usize = 1_000;

/// A program to be checked, and the parts that were checked before.
pub(super) struct CheckInput<'p> {
    pub(super) program: &'p Arc<Program>,
    /// True if some edge could not be read or leads nowhere. The nodes behind it are unknown then: a node that it may have meant is not unreachable,
    /// and no node is without a path to an end.
    pub(super) unresolved: bool,
    /// The nodes that were edited; `None` where every node is new.
    pub(super) fresh: Option<&'p [u32]>,
    /// The documents with links.
    pub(super) linking: &'p [u32],
}

/// Runs every check and returns the unchecked reads.
pub(super) fn program(
    checked: &CheckInput<'_>,
    severities: &Severities<'_>,
    cache: &mut CheckCache,
    both: Option<Join>,
    found: &mut Vec<Diagnostic>,
) -> Vec<UncheckedRead> {
    let &CheckInput { program, unresolved, fresh, linking } = checked;
    let cfg = Cfg::new(program);
    let tame = vec![false; program.points.len()];
    let mut known = None;
    let CheckCache { nodes, data } = cache;
    let mut shape = || check::shape(&cfg, unresolved.then_some(severities), nodes, fresh, linking, found);
    match both.filter(|_| fresh.is_none() && program.points.len() >= MIN_PARALLEL_POINTS) {
        // Most graphs have no mistakes, so the data analysis of that case runs at the same time.
        Some(both) => both(&mut || known = Some(Analysis::new(program, &cfg, &tame)), &mut shape),
        None => shape(),
    }
    match Taint::new(program, severities.parsed().chain(found.iter()), |found| severities.is_error(found)) {
        Some(tainted) => {
            let known = known.filter(|_| tainted.points == tame);
            dataflow::check(program, &cfg, &tainted, known, Reuse { cache: data, fresh }, found)
        }
        None => {
            *data = None;
            Vec::new()
        }
    }
}
