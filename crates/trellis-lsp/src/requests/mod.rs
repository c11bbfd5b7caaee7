//! Requests: which there are, and who answers them. Each kind has a file of its own.

mod formatting;

use lsp_server::Request;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::{
    client::Client,
    state::ServerState,
    wire::{DocumentFormattingProvider, ServerCapabilities},
};

/// The reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It waits for the link of the newest text.
    NotLinked,
    /// Nobody offers it.
    Unknown,
    /// Its parameters are not as the protocol says.
    BadParams(String),
    /// It cannot be done, for a reason that a person is told.
    Refused(String),
}

/// An answer, or the reason why there is none.
pub(crate) type Answer<T = Json> = Result<T, Refusal>;

/// Returns what the server offers to a client.
pub(crate) fn capabilities(_client: &Client) -> ServerCapabilities {
    ServerCapabilities { document_formatting_provider: Some(DocumentFormattingProvider::Bool(true)), ..ServerCapabilities::default() }
}

/// Answers a request.
pub(crate) fn answer(state: &mut ServerState, request: &Request) -> Answer {
    match request.method.as_str() {
        "textDocument/formatting" => json(formatting::format(state, &params(request)?)),
        _ => Err(Refusal::Unknown),
    }
}

/// Returns the parameters of a request.
fn params<T: DeserializeOwned>(request: &Request) -> Answer<T> {
    serde_json::from_value(request.params.clone()).map_err(|error| Refusal::BadParams(error.to_string()))
}

fn json(value: impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| Refusal::BadParams(error.to_string()))
}
