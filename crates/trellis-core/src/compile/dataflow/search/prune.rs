//! Where a key that is missing may be absent, and whether a session comes there.

use super::SearchRun;
use crate::{
    compile::dataflow::{
        Findings,
        fixpoint::{
            Analysis,
            violation::{Alarm, Violation},
        },
        index::to_u32,
    },
    program::PointIndex,
};

impl Findings<'_, '_> {
    /// Where a missing path may still be absent; nothing where it does not matter: something may take it away again.
    pub(crate) fn may_be_absent(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm) -> Option<Vec<bool>> {
        let Violation::Missing(site) = alarm.violation else { return None };
        if alarm.never {
            return None;
        }
        let site = &self.ir.sites[site as usize];
        if self.forgets(site.path) || !site.inside().is_empty() {
            return None;
        }
        let (slot, rest) = known.followed(site.path)?;
        let points = 0..to_u32(self.program.points.len());
        let absent = points.map(|point| known.stands_at(PointIndex(point), slot, rest).is_some_and(|of| known.types.may_be_absent(of)));
        Some(absent.collect())
    }

    /// Whether a session can come where a key is missing, by what its absence says of other keys.
    pub(crate) fn may_come(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm, run: &SearchRun<'_, '_>) -> bool {
        let missing = run.input.wanted().filter(|path| run.input.absent.is_some() && path.is_key());
        let followed = missing.and_then(|path| known.followed(path));
        followed.is_none_or(|(slot, _)| known.may_reach_without(alarm.point, slot, run.budget))
    }
}
