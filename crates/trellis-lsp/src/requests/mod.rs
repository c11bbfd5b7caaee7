//! Requests: which there are, and who answers them. Each kind has a file of its own.

mod actions;
mod completion;
mod edits;
mod folding;
mod formatting;
mod hover;
mod navigation;
mod outline;
mod rename;
mod symbols;

use lsp_server::Request;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use trellis_core::diagnostic::FilePath;

use crate::{
    client::Client,
    graph::Graph,
    state::ServerState,
    text::Text,
    wire::{
        CodeActionKind, CodeActionOptions, CodeActionProvider, CompletionOptions, DeclarationProvider, DefinitionProvider,
        DocumentFormattingProvider, DocumentHighlightProvider, DocumentSymbolProvider, FoldingRangeProvider, HoverProvider,
        ReferencesProvider, RenameOptions, RenameProvider, ServerCapabilities, TextDocumentPositionParams, WorkspaceSymbolProvider,
    },
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

/// Characters after which completions are offered.
const TRIGGERS: [&str; 9] = [":", " ", "/", "{", ".", "\"", "|", "-", "("];

/// Returns what the server offers to a client.
pub(crate) fn capabilities(client: &Client) -> ServerCapabilities {
    let actions = CodeActionOptions { code_action_kinds: Some(vec![CodeActionKind::QuickFix]), ..CodeActionOptions::default() };
    let completion = CompletionOptions { trigger_characters: Some(TRIGGERS.map(str::to_owned).into()), ..CompletionOptions::default() };
    ServerCapabilities {
        completion_provider: Some(completion),
        hover_provider: Some(HoverProvider::Bool(true)),
        declaration_provider: Some(DeclarationProvider::Bool(true)),
        definition_provider: Some(DefinitionProvider::Bool(true)),
        references_provider: Some(ReferencesProvider::Bool(true)),
        document_highlight_provider: Some(DocumentHighlightProvider::Bool(true)),
        document_symbol_provider: Some(DocumentSymbolProvider::Bool(true)),
        workspace_symbol_provider: Some(WorkspaceSymbolProvider::Bool(true)),
        code_action_provider: client.action_literals.then_some(CodeActionProvider::CodeActionOptions(actions)),
        rename_provider: Some(RenameProvider::RenameOptions(RenameOptions { prepare_provider: Some(true), ..RenameOptions::default() })),
        folding_range_provider: Some(FoldingRangeProvider::Bool(true)),
        document_formatting_provider: Some(DocumentFormattingProvider::Bool(true)),
        ..ServerCapabilities::default()
    }
}

/// Answers a request.
pub(crate) fn answer(state: &mut ServerState, request: &Request) -> Answer {
    match request.method.as_str() {
        "textDocument/completion" => json(completion::complete(state, &params(request)?)),
        "textDocument/hover" => json(hover::hover(state, &params(request)?)),
        "textDocument/definition" | "textDocument/declaration" => json(navigation::definition(state, &params(request)?)),
        "textDocument/references" => json(navigation::references(state, &params(request)?)),
        "textDocument/documentHighlight" => json(navigation::highlight(state, &params(request)?)),
        "textDocument/documentSymbol" => json(symbols::of_document(state, &params(request)?)),
        "workspace/symbol" => json(symbols::of_workspace(state, &params(request)?)),
        "textDocument/codeAction" => json(actions::actions(state, &params(request)?)),
        "textDocument/prepareRename" => rename::prepare(state, &params(request)?),
        "textDocument/rename" => rename::rename(state, &params(request)?),
        "textDocument/foldingRange" => json(folding::fold(state, &params(request)?)),
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

/// A place that a request is about.
struct RequestPlace<'s> {
    graph: &'s mut Graph,
    path: FilePath,
    text: Text,
    /// The offset in the newest text.
    offset: usize,
}

/// Returns the place that a request is about; `None` for a file that is not served.
fn place<'s>(state: &'s mut ServerState, params: &TextDocumentPositionParams) -> Option<RequestPlace<'s>> {
    let encoding = state.encoding();
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let offset = text.offset(params.position, encoding);
    Some(RequestPlace { graph, path, text, offset })
}
