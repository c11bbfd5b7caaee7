//! Results of all searches besides their findings, and their consequences.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    UncheckedRead,
    cfg::Cfg,
    dataflow::{budget::MAX_REACHING_SETS, index::SiteIndex, ir::Ir},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic},
    path::KeyPath,
};
use trellis_engine::program::PointIndex;

/// Results of all searches besides their findings.
#[derive(Default)]
pub(crate) struct SearchOutcome {
    /// Read sites inside of values that no search could decide.
    pub(crate) unreported: Vec<(PointIndex, SiteIndex)>,
    /// Sites that fail for a reason that was reported at another place.
    pub(crate) explained: Vec<SiteIndex>,
    /// Paths that were found missing, and the point; `None` if the path is never set.
    pub(crate) missing: Vec<(KeyPath, Option<PointIndex>)>,
}

impl SearchOutcome {
    /// Drops unchecked reads that follow from findings: nothing is known of the parts of a missing value after the point where it is missing.
    pub(crate) fn explain(&self, ir: &Ir<'_>, cfg: &Cfg<'_>, unchecked: &mut Vec<(u32, UncheckedRead)>) {
        let program = ir.program;
        let explained: BTreeSet<_> = self.explained.iter().map(|site| ir.sites[site.index()].place(program)).collect();
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

/// Drops undecided diagnostics of places that have another diagnostic.
pub(crate) fn drop_undecided(found: &mut Vec<Diagnostic>) {
    if found.iter().any(|found| found.code == Code::NotDecided) {
        let decided: BTreeSet<_> =
            found.iter().filter(|found| found.code != Code::NotDecided).filter_map(|found| found.place.clone()).collect();
        found.retain(|found| found.code != Code::NotDecided || found.place.as_ref().is_none_or(|place| !decided.contains(place)));
    }
}
