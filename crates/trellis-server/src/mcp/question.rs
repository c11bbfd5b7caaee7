//! A question to a person: a form, or the address of a page where a secret is typed.

use rmcp::model::{ElicitRequestParams, ElicitResult};
use serde_json::Value as Json;
use trellis_host::wire::Turn;

use super::ask::Form;
use crate::{
    act::Walked,
    trouble::{Code, Trouble},
};

/// A question to a person.
#[derive(Clone, Debug)]
pub(super) enum Question {
    Form(Form),
    /// A page where a secret is typed.
    Page {
        url: String,
        message: String,
    },
}

/// What came of a question.
#[derive(Debug)]
pub(super) enum Heard {
    Result(ElicitResult),
    /// The question is over without an answer.
    Moved(Box<Walked>),
    /// The client cannot be asked.
    Silence,
}

impl Question {
    /// Returns whether it is the address of a page.
    pub(super) fn is_page(&self) -> bool {
        matches!(self, Self::Page { .. })
    }

    /// The question as a request to a client, with a sentence before it.
    ///
    /// # Errors
    /// Its schema is none that a form can have.
    pub(super) fn params(&self, turn: &Turn, lead: Option<String>) -> Result<ElicitRequestParams, Trouble> {
        let led = |message: &str| lead.map_or_else(|| message.to_owned(), |lead| format!("{lead}\n\n{message}"));
        Ok(match self {
            Self::Form(form) => {
                let schema = serde_json::from_value(form.schema.clone());
                let schema = schema.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
                ElicitRequestParams::FormElicitationParams { meta: None, message: led(&form.message), requested_schema: schema }
            }
            Self::Page { url, message } => {
                let id = format!("{}@{}", turn.session, turn.seq);
                ElicitRequestParams::UrlElicitationParams { meta: None, message: led(message), url: url.clone(), elicitation_id: id }
            }
        })
    }
}

/// Reads what a client sends as the answer to a question.
///
/// # Errors
/// It is none.
pub(super) fn read(answer: Json) -> Result<ElicitResult, Trouble> {
    serde_json::from_value(answer).map_err(|error| Trouble::request("/inputResponses", error.to_string()))
}
