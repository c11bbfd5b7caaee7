//! What searching came to beside findings, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    compile::{
        UncheckedRead,
        cfg::Cfg,
        dataflow::{budget::MAX_REACHING_SETS, ir::Ir, report},
    },
    diagnostic::{Code, Diagnostic},
    path::KeyPath,
    program::PointIndex,
};

/// What searching came to beside findings.
#[derive(Default)]
pub(crate) struct SearchOutcome {
    /// Sites inside of values that no search can tell of.
    pub(crate) untold: Vec<(PointIndex, u32)>,
    /// Sites that fail for a reason that was told at another place.
    pub(crate) explained: Vec<u32>,
    /// Paths that were found missing, and where; nothing of what is never set.
    pub(crate) missing: Vec<(KeyPath, Option<PointIndex>)>,
}

impl SearchOutcome {
    /// Drops unchecked reads that follow from what was found: of what stands in something that is missing nothing can be known behind that.
    pub(crate) fn explain(&self, ir: &Ir<'_>, cfg: &Cfg<'_>, unchecked: &mut Vec<(u32, UncheckedRead)>) {
        let program = ir.program;
        let explained: BTreeSet<_> = self.explained.iter().map(|site| report::place(program, &ir.sites[*site as usize])).collect();
        let mut leading: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
        unchecked.retain(|(point, read)| {
            let mut follows = |(missing, at): &(KeyPath, Option<PointIndex>)| {
                if !read.path.segments().starts_with(missing.segments()) {
                    return false;
                }
                let Some(at) = at else { return true };
                if leading.len() == MAX_REACHING_SETS && !leading.contains_key(point) {
                    return true;
                }
                leading.entry(*point).or_insert_with(|| cfg.reaching(*point))[at.index()]
            };
            !explained.contains(&read.place) && !self.missing.iter().any(&mut follows)
        });
    }
}

/// What was not decided about a place where something is wrong anyway is not said.
pub(crate) fn drop_undecided(found: &mut Vec<Diagnostic>) {
    if found.iter().any(|found| found.code == Code::NotDecided) {
        let decided: BTreeSet<_> =
            found.iter().filter(|found| found.code != Code::NotDecided).filter_map(|found| found.place.clone()).collect();
        found.retain(|found| found.code != Code::NotDecided || found.place.as_ref().is_none_or(|place| !decided.contains(place)));
    }
}
