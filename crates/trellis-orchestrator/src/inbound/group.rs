//! Groups messages that belong together, so that they get one answer (orchestrator 3.4).

use std::time::Duration;

use super::MAX_GROUP;
use crate::{
    message::{Attachment, ChatPlace},
    queue::InboundRow,
    words::Kind,
};

/// Messages that are answered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind of all of them; only conversation has more than one.
    pub kind: Kind,
    /// The messages, oldest first.
    pub rows: Vec<InboundRow>,
}

impl Group {
    /// Its place.
    pub fn place(&self) -> &ChatPlace {
        &self.rows[0].message.place
    }

    /// The name of the session that it begins.
    pub fn session(&self) -> String {
        self.rows[0].message.session()
    }

    /// All texts, one message per line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.rows.iter().map(|row| &*row.message.text).collect();
        texts.join("\n")
    }

    /// The files that came with the messages.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.rows.iter().flat_map(|row| &row.message.files)
    }

    /// All texts, and the files that came with them, a line each.
    pub fn text_with_files(&self) -> String {
        let lines = std::iter::once(self.text()).filter(|text| !text.trim().is_empty());
        lines.chain(self.files().map(Attachment::line)).collect::<Vec<_>>().join("\n")
    }

    /// Returns whether a file came with its last message: it ends the group.
    fn ends_with_file(&self) -> bool {
        self.rows.last().is_some_and(|row| !row.message.files.is_empty())
    }

    /// Returns whether it is a task beside the conversation, which neither ends nor continues a group of messages.
    fn is_work(&self) -> bool {
        matches!(self.kind, Kind::Work(_))
    }

    /// Returns whether it came too late for the question that it answers: it is a run of its own.
    pub fn is_late(&self) -> bool {
        self.rows.iter().any(|row| row.asked.is_some())
    }

    /// Returns whether it waits for a session.
    fn is_waiting(&self) -> bool {
        self.rows.iter().all(InboundRow::is_waiting)
    }

    /// The numbers of its rows.
    pub fn numbers(&self) -> Vec<i64> {
        self.rows.iter().map(|row| row.n).collect()
    }
}

/// Groups waiting messages in order of arrival: returns the complete groups, and when the next one is complete, in milliseconds since 1970. Messages
/// among them that do not wait any more only part the others. `window` is the time for which a channel collects messages.
pub fn group_rows(rows: Vec<InboundRow>, now: u64, window: impl Fn(&str) -> Duration) -> (Vec<Group>, Option<u64>) {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let kind = row.kind();
        let open = groups.iter_mut().rev().find(|group| group.place() == &row.message.place && !group.is_work());
        match open.filter(|group| kind == Kind::Talk && takes(group, &row, &window)) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { kind, rows: vec![row] }),
        }
    }
    let mut due = None::<u64>;
    let last_of = |groups: &[Group], place: &ChatPlace| groups.iter().rposition(|group| group.place() == place && !group.is_work());
    let waits: Vec<bool> = (0..groups.len())
        .map(|at| {
            let group = &groups[at];
            let ends = end(group, &window);
            // A group that another one follows, or that is full, does not grow.
            let is_open = group.kind == Kind::Talk
                && group.is_waiting()
                && group.rows.len() < MAX_GROUP
                && !group.ends_with_file()
                && last_of(&groups, group.place()) == Some(at);
            // A message from the future was stored before the clock was set back.
            let is_waiting = is_open && ends > now && group.rows[0].stored <= now;
            if is_waiting {
                due = Some(due.map_or(ends, |due| due.min(ends)));
            }
            is_waiting
        })
        .collect();
    let complete = groups.into_iter().zip(waits).filter(|(group, waits)| !waits && group.is_waiting()).map(|(group, _)| group).collect();
    (complete, due)
}

fn takes(group: &Group, row: &InboundRow, window: &impl Fn(&str) -> Duration) -> bool {
    group.kind == Kind::Talk
        && group.rows.len() < MAX_GROUP
        && !group.ends_with_file()
        && group.is_waiting()
        && row.is_waiting()
        && group.rows[0].asked == row.asked
        && group.rows[0].message.sender == row.message.sender
        && row.stored <= end(group, window)
}

/// Returns the time at which a group is complete.
fn end(group: &Group, window: &impl Fn(&str) -> Duration) -> u64 {
    let wait = window(&group.place().provider).as_millis();
    group.rows[0].stored.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX))
}
