//! The end of a run as a line: a run also ends where its session does not.

use std::sync::Arc;

use crate::{
    runner::{Reason, RunSummary},
    wire::{End, EndReason},
};

impl From<&RunSummary> for End {
    fn from(summary: &RunSummary) -> Self {
        let end = summary.ended.as_ref().map_or_else(|| Self::new(summary.reason.into()), Self::from);
        let message = end.message.clone().or_else(|| summary.message.as_deref().map(Arc::from));
        Self { reason: summary.reason.into(), message, ..end }
    }
}

impl From<Reason> for EndReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Finished => Self::Finished,
            Reason::Failed => Self::Failed,
            Reason::Denied => Self::Denied,
            Reason::RolledBack => Self::RolledBack,
            Reason::EndOfInput => Self::EndOfInput,
            Reason::Interrupted => Self::Interrupted,
        }
    }
}
