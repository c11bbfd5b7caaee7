//! Pruning by absence: the points where the alarm's path may be absent, from the environments of the fixpoint.
//!
//! The search for a missing path follows only these points. If none of them leads to the goal, the alarm is refuted without a search.

use super::SearchInput;
use crate::dataflow::{
    Findings,
    budget::Budget,
    fixpoint::{
        Analysis,
        violation::{Alarm, Violation},
    },
    index::to_u32,
};
use trellis_engine::program::PointIndex;

impl Findings<'_, '_> {
    /// Returns by point whether the missing path may be absent, or `None` if the path can become absent again, so that this prunes nothing.
    pub(crate) fn may_be_absent(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm) -> Option<Vec<bool>> {
        let Violation::Missing(site) = alarm.violation else { return None };
        if alarm.never {
            return None;
        }
        let site = &self.ir.sites[site.index()];
        if self.forgets(site.path) || !site.inside().is_empty() {
            return None;
        }
        let (slot, rest) = known.followed(site.path)?;
        let points = 0..to_u32(self.program.points.len());
        let absent = points.map(|point| known.type_at(PointIndex(point), slot, rest).is_some_and(|of| known.types.may_be_absent(of)));
        Some(absent.collect())
    }

    /// Returns whether a session can reach the alarm without the key, judged by the keys that are correlated with it.
    pub(crate) fn may_reach_goal(&self, known: &mut Analysis<'_, '_>, input: &SearchInput<'_, '_>, budget: &mut Budget) -> bool {
        let missing = input.wanted().filter(|path| input.absent.is_some() && path.is_key());
        let followed = missing.and_then(|path| known.followed(path));
        followed.is_none_or(|(slot, _)| known.may_reach_without(input.alarm.point, slot, budget))
    }
}
