//! Rows of the queue → events: messages in and out, schedules, heartbeats, secrets that are missing.

use super::{EventKind, WorkflowEvent, brief};
use crate::{
    message::Work,
    queue::{InboundRow, OutboxRow},
    schedule::SENDER,
};

/// The event of a message that came in; `None` for work, whose session has events of its own.
pub(super) fn came_in(row: &InboundRow) -> Option<WorkflowEvent> {
    let message = &row.message;
    let (kind, summary) = match message.work() {
        Some(Work::Heartbeat) => (EventKind::Heartbeat, message.id.clone()),
        Some(_) => return None,
        None if message.sender == SENDER && message.id.starts_with("cron-") => (EventKind::CronFired, brief(&message.text)),
        None => (EventKind::MessageIn, format!("{}: {}", brief(&message.sender_name), brief(&message.text))),
    };
    let event = WorkflowEvent::new(&message.key(), 0, kind, row.stored, summary).in_chat(&message.place);
    Some(match &row.run {
        Some(run) => event.of_run(run),
        None => event,
    })
}

/// The events of a message that was sent at a moment.
pub(super) fn went_out(row: &OutboxRow, at: u64) -> Vec<WorkflowEvent> {
    let message = &row.message;
    let event = |kind| WorkflowEvent::new(&message.key, 0, kind, at, brief(&message.text)).in_chat(&message.place);
    let missing = message.key.starts_with("secret:").then(|| event(EventKind::SecretMissing));
    missing.into_iter().chain([event(EventKind::MessageOut)]).collect()
}

/// The event of a message that cannot be sent.
pub(super) fn death(row: &OutboxRow, at: u64) -> WorkflowEvent {
    let (code, why) = row.error.clone().unwrap_or_default();
    let number = row.n.unsigned_abs();
    WorkflowEvent::new(&row.message.key, number, EventKind::MessageDead, at, brief(&format!("{code}: {why}"))).in_chat(&row.message.place)
}
