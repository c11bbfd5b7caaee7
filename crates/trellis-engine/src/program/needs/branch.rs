//! The reads of the undos of branches (language 10.6).

use super::local::{ContextEvent, Locals};
use crate::program::{Call, Callee, Outcome};
use trellis_base::language::OnBranchError;

impl Locals {
    /// Lists the reads of the undos of a call's branches. Each is interpolated when its branch succeeds, over the context at the call and the writes of
    /// its own branch; `on` is the outcome of the whole.
    pub(super) fn undos_of_branches(&mut self, call: &Call, on: &Outcome) -> Vec<ContextEvent> {
        let Callee::Parallel(branches, settings) = &call.callee else { return Vec::new() };
        let all_succeed = *on == Outcome::Success && !settings.any && settings.on_error == OnBranchError::Fail;
        let mut reads = Vec::new();
        for (_, branch) in branches {
            let Some(undo) = &branch.undo else { continue };
            let mut events: Vec<_> = branch.writes.iter().flat_map(|write| self.write(write)).collect();
            events.extend(self.call(undo));
            let mut written = Vec::new();
            for event in events {
                match event {
                    ContextEvent::Write(path) => written.push(path),
                    ContextEvent::Read(path) | ContextEvent::MayRead(path) if written.iter().any(|write| self.meet(*write, path)) => {}
                    ContextEvent::Read(path) if !all_succeed => reads.push(ContextEvent::MayRead(path)),
                    event => reads.push(event),
                }
            }
        }
        reads
    }

    /// Returns whether one of two paths is a part of the other.
    fn meet(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|path| self.paths[path as usize].segments());
        one.starts_with(other) || other.starts_with(one)
    }
}
