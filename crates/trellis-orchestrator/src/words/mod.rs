//! Classifies a text by its words alone: a command, a decision, or conversation (orchestrator 3.6, 3.7).

mod answer;
mod command;

pub use self::{
    answer::{Answer, Decision, answer},
    command::{Command, command},
};
use crate::{
    message::{Incoming, Work},
    schedule::SENDER,
};

/// The kind of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command.
    Command(Command),
    /// A decision about a call, if one is held; else it is conversation.
    Answer(Answer),
    /// Conversation.
    Talk,
    /// Work of the agent beside its conversations.
    Work(Work),
}

/// Classifies a message. A message of a schedule is always conversation, since no person can decide.
pub fn kind(message: &Incoming) -> Kind {
    if let Some(work) = message.work() {
        return Kind::Work(work);
    }
    if message.sender == SENDER && message.id.starts_with("cron-") {
        return Kind::Talk;
    }
    match (command(&message.text), answer(&message.text)) {
        (Some(command), _) => Kind::Command(command),
        (None, Some(answer)) => Kind::Answer(answer),
        (None, None) => Kind::Talk,
    }
}
