//! The needs of a session, as a client sees them: as a form for its person, or in words for its model.

mod form;
mod words;

pub(super) use self::{
    form::{Form, Given, form, message},
    words::{detail, words},
};
use serde_json::Value as Json;
use trellis_core::{Mapping, Value};
use trellis_host::wire::{Choice, End, InputType, SecretPlace, SessionEvent, Stop, Turn};

use super::arguments;

/// The end, where it is over.
pub(super) fn ended(stop: &Stop) -> Option<&End> {
    if let Stop::End(end) = stop { Some(end) } else { None }
}

/// Returns whether an input is asked for.
pub(super) fn is_input(stop: &Stop) -> bool {
    matches!(stop, Stop::RequestInput(_))
}

/// Returns whether the question is for a secret, which no form and no model may see.
pub(super) fn is_secret(stop: &Stop) -> bool {
    matches!(stop, Stop::RequestInput(question) if question.input_type == InputType::Secret)
}

/// Returns whether a call waits for an approval.
pub(super) fn is_held(stop: &Stop) -> bool {
    matches!(stop, Stop::Approval(_))
}

/// Names a question: by the number of its record and, where several questions can share a number, by its subject or its child.
pub(super) fn name(asked: u64, turn: &Turn) -> String {
    match (&turn.stop, &turn.child) {
        (Stop::Approval(question), _) => format!("{asked}:{}", question.id),
        (Stop::Predicate(question), _) => format!("{asked}:{}", question.id),
        (_, Some(child)) => format!("{asked}:{child}"),
        (_, None) => asked.to_string(),
    }
}

/// Returns arguments as JSON, with the names of secrets at their places.
fn shown(args: &Mapping, secrets: &[SecretPlace]) -> String {
    let mut json = arguments::json(&Value::Map(args.clone()));
    // Each place is that in a text without the others.
    for secret in secrets.iter().rev() {
        if let Some(Json::String(text)) = json.pointer_mut(&secret.pointer)
            && text.is_char_boundary(secret.offset)
        {
            text.insert_str(secret.offset, &format!("{{{{secret:{}}}}}", secret.name));
        }
    }
    json.to_string()
}

/// Returns the reason why the answer before was refused, if its graph counts such answers: any other refusal makes no turn.
pub(super) fn refusal(turn: &Turn) -> Option<&str> {
    turn.happened.iter().rev().find_map(|line| match &line.event {
        SessionEvent::Error(refusal) if *refusal.code == *"invalid-input" && line.child == turn.child => Some(&*refusal.message),
        _ => None,
    })
}

/// Returns the texts that represent options: a text as it is, any other value as its JSON. A text that is the JSON of another option has its quotes.
pub(super) fn option_texts(options: &[Choice]) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_json(), str::to_owned);
    let text = |option: &Choice| {
        let text = plain(&option.value);
        let is_shared = options.iter().any(|other| other.value != option.value && plain(&other.value) == text);
        if is_shared { option.value.to_json() } else { text }
    };
    options.iter().map(text).collect()
}
