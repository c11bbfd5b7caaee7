//! The reads of the undos of branches (language 10.6).

use super::local::{ContextEvent, Locals};
use crate::{
    language::OnBranchError,
    path::Segment,
    program::{Call, Callee, Outcome, WriteTarget},
};

impl Locals {
    /// Lists the reads of the undos of a call's branches. Each is interpolated when its branch succeeds, over the context at the call and the writes of
    /// its own branch; `on` is the outcome of the whole.
    pub(super) fn undos_of_branches(&mut self, call: &Call, on: &Outcome) -> Vec<ContextEvent> {
        let Callee::Parallel(branches, settings) = &call.callee else { return Vec::new() };
        let all_succeed = *on == Outcome::Success && !settings.any && settings.on_error == OnBranchError::Fail;
        let mut reads = Vec::new();
        for (_, branch) in branches {
            let Some(undo) = &branch.undo else { continue };
            for event in self.call(undo) {
                let (ContextEvent::Read(path) | ContextEvent::MayRead(path)) = event else { continue };
                if !branch.writes.iter().any(|write| self.meets(&write.to, path)) {
                    let is_certain = all_succeed && matches!(event, ContextEvent::Read(_));
                    reads.push(if is_certain { event } else { ContextEvent::MayRead(path) });
                }
            }
        }
        reads
    }

    /// Returns whether a write leaves something at a path, or at a part of it.
    fn meets(&self, to: &WriteTarget, path: u32) -> bool {
        let path = &self.paths[path as usize];
        match to {
            WriteTarget::Path(written) | WriteTarget::Append(written) => {
                let (written, read) = (written.segments(), path.segments());
                written.starts_with(read) || read.starts_with(written)
            }
            WriteTarget::Absent(key) => path.root() == key,
            WriteTarget::Ans | WriteTarget::Error => {
                let name = if matches!(to, WriteTarget::Ans) { "ans" } else { "error" };
                &**path.root() == "sys" && matches!(path.rest().first(), Some(Segment::Key(key)) if &**key == name)
            }
            WriteTarget::Input => false,
        }
    }
}
