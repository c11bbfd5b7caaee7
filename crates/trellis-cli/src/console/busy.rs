//! Work in progress while no question is open: running calls, several at once if they are parts of one or belong to several children, or
//! a sleep.

use std::time::{Duration, Instant};

use trellis_core::{SessionId, id::CallId, state::PendingCall};

use super::{
    frame::Frame,
    rows::{self, Window},
};

/// The time that a call runs before it is shown.
const SILENT_CALL: Duration = Duration::from_millis(150);
/// The time between two turns of the mark of a running call.
const TURN: Duration = Duration::from_millis(100);

/// The work in progress.
#[derive(Default)]
pub(super) enum Busy {
    #[default]
    Nothing,
    Running(Vec<RunningCall>),
    Sleeping {
        until: Instant,
    },
}

/// A call that runs.
pub(super) struct RunningCall {
    id: CallId,
    /// The child whose call it is; nothing for the session itself.
    child: Option<SessionId>,
    pub(super) name: String,
    pub(super) since: Instant,
}

impl Busy {
    /// A call of the child begins beside those that run.
    pub(super) fn begin(&mut self, call: &PendingCall, child: Option<&SessionId>) {
        let running = RunningCall { id: call.id.clone(), child: child.cloned(), name: label(call), since: Instant::now() };
        match self {
            Self::Running(calls) => calls.push(running),
            Self::Nothing | Self::Sleeping { .. } => *self = Self::Running(vec![running]),
        }
    }

    /// A call of the child is over; how long it ran, if it did.
    pub(super) fn end(&mut self, call: &PendingCall, child: Option<&SessionId>) -> Option<Duration> {
        let Self::Running(calls) = self else {
            *self = Self::Nothing;
            return None;
        };
        let at = calls.iter().position(|running| running.id == call.id && running.child.as_ref() == child)?;
        let ended = calls.remove(at);
        if calls.is_empty() {
            *self = Self::Nothing;
        }
        Some(ended.since.elapsed())
    }

    /// A sleep begins, beside calls that it does not show.
    pub(super) fn sleep(&mut self, until: Instant) {
        if !matches!(self, Self::Running(_)) {
            *self = Self::Sleeping { until };
        }
    }

    /// The child does something else: its calls run no more, and where it is the session itself, none does. Returns these calls.
    pub(super) fn leave(&mut self, child: Option<&SessionId>) -> Vec<RunningCall> {
        let Self::Running(calls) = std::mem::take(self) else { return Vec::new() };
        let (left, others): (_, Vec<_>) = calls.into_iter().partition(|call| child.is_none() || call.child.as_ref() == child);
        if !others.is_empty() {
            *self = Self::Running(others);
        }
        left
    }

    /// Returns whether a call begins beside others.
    pub(super) fn runs_beside(&self, call: &PendingCall) -> bool {
        call.part.is_some() && matches!(self, Self::Running(_))
    }

    /// The rows that show it.
    pub(super) fn frame(&self, window: Window) -> Frame {
        let now = Instant::now();
        match self {
            Self::Running(calls) => {
                let shown = calls.iter().map(|call| (&*call.name, now.duration_since(call.since)));
                rows::running(&shown.filter(|(_, elapsed)| *elapsed >= SILENT_CALL).collect::<Vec<_>>(), window)
            }
            Self::Sleeping { until } => rows::sleeping(until.saturating_duration_since(now), window),
            Self::Nothing => Frame::default(),
        }
    }

    /// Returns the time until the rows change by themselves.
    pub(super) fn next_change(&self) -> Option<Duration> {
        let now = Instant::now();
        match self {
            Self::Nothing => None,
            Self::Running(calls) => {
                let waits = calls.iter().map(|call| SILENT_CALL.checked_sub(now.duration_since(call.since)).unwrap_or(TURN));
                waits.min()
            }
            Self::Sleeping { until } => to_second(*until),
        }
    }
}

/// Returns the name of a call among others: a part by its name and its tool.
pub(super) fn label(call: &PendingCall) -> String {
    call.part.as_ref().map_or_else(|| call.callee().to_owned(), |of| format!("{}: {}", of.part, call.callee()))
}

/// Returns the time until a countdown changes.
pub(super) fn to_second(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    let step = if left > Duration::from_secs(10) { 1000 } else { 100 };
    (!left.is_zero()).then(|| Duration::from_millis(u64::from(left.subsec_millis()) % step + 1))
}
