//! What a text is, by its words alone: a command, a decision, or conversation (orchestrator 3.6, 3.7).

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
    /// A decision about a call that is held, if one is; else it is conversation.
    Answer(Answer),
    /// Conversation.
    Talk,
    /// Work that the agent does beside it.
    Work(Work),
}

/// The kind of a message. What a schedule says is conversation, whatever it looks like: nobody is there who decides.
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
