//! The needs of a session, as a client sees them: as a form for its person, or in words for its model.

mod form;
mod words;

pub(super) use self::{
    form::{Form, Given, form},
    words::{detail, words},
};
use trellis_host::wire::{End, InputType, Stop};

/// The end, where it is over.
pub(super) fn ended(stop: &Stop) -> Option<&End> {
    if let Stop::End(end) = stop { Some(end) } else { None }
}

/// Returns whether the question is for a secret, which no form and no model may see.
pub(super) fn is_secret(stop: &Stop) -> bool {
    matches!(stop, Stop::RequestInput(question) if question.input_type == InputType::Secret)
}

/// Returns whether a call waits for an approval.
pub(super) fn is_held(stop: &Stop) -> bool {
    matches!(stop, Stop::Approval(_))
}

/// Names a question: by the number of its record and, where several questions can share a number, by its subject.
pub(super) fn name(asked: u64, stop: &Stop) -> String {
    match stop {
        Stop::Approval(question) => format!("{asked}:{}", question.id),
        Stop::Predicate(question) => format!("{asked}:{}", question.id),
        _ => asked.to_string(),
    }
}
