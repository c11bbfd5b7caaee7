//! The table of requests and their handlers. Each kind has its own file.

mod actions;
mod completion;
mod drawing;
mod edits;
mod folding;
mod formatting;
mod hierarchy;
mod hints;
mod hover;
mod lenses;
mod links;
mod navigation;
mod outline;
pub(crate) mod own_moves;
mod parts;
mod rename;
mod selection;
pub(crate) mod sheets;
mod symbols;
mod tokens;
mod values;
mod words;

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
        CallHierarchyProvider, CodeActionKind, CodeActionOptions, CodeActionProvider, CodeLensOptions, CompletionOptions,
        DeclarationProvider, DefinitionProvider, DocumentFormattingProvider, DocumentHighlightProvider, DocumentLinkOptions,
        DocumentSymbolProvider, FileOperationFilter, FileOperationOptions, FileOperationPattern, FileOperationPatternKind,
        FileOperationRegistrationOptions, FoldingRangeProvider, Full, HoverProvider, InlayHintProvider, ReferencesProvider, RenameOptions,
        RenameProvider, SelectionRangeProvider, SemanticTokensLegend, SemanticTokensOptions, SemanticTokensOptionsRange,
        SemanticTokensProvider, ServerCapabilities, TextDocumentPositionParams, WorkspaceSymbolProvider,
    },
};

/// The reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It waits for the link of the newest text.
    NotLinked,
    /// Nobody offers it.
    Unknown,
    /// Its parameters are malformed.
    BadParams(String),
    /// It cannot be done; the user sees the reason.
    Refused(String),
}

/// An answer, or the reason why there is none.
pub(crate) type Answer<T = Json> = Result<T, Refusal>;

/// Characters after which completions are offered.
const TRIGGERS: [&str; 9] = [":", " ", "/", "{", ".", "\"", "|", "-", "("];

/// Returns the capabilities of the server for a client.
pub(crate) fn capabilities(client: &Client) -> ServerCapabilities {
    let kinds = actions::ACTION_KINDS.map(|kind| CodeActionKind::from(kind.to_owned()));
    let actions = CodeActionOptions { code_action_kinds: Some(kinds.into()), ..CodeActionOptions::default() };
    let completion = CompletionOptions {
        trigger_characters: Some(TRIGGERS.map(str::to_owned).into()),
        resolve_provider: Some(true),
        ..CompletionOptions::default()
    };
    let legend = SemanticTokensLegend {
        token_types: tokens::TOKEN_KINDS.map(str::to_owned).into(),
        token_modifiers: tokens::MODIFIERS.map(str::to_owned).into(),
    };
    let tokens = SemanticTokensOptions {
        legend,
        range: Some(SemanticTokensOptionsRange::Bool(true)),
        full: Some(Full::Bool(true)),
        ..SemanticTokensOptions::default()
    };
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
        semantic_tokens_provider: Some(SemanticTokensProvider::SemanticTokensOptions(tokens)),
        inlay_hint_provider: Some(InlayHintProvider::Bool(true)),
        code_lens_provider: Some(CodeLensOptions::default()),
        document_link_provider: Some(DocumentLinkOptions::default()),
        selection_range_provider: Some(SelectionRangeProvider::Bool(true)),
        call_hierarchy_provider: Some(CallHierarchyProvider::Bool(true)),
        experimental: Some(serde_json::json!({ "trellis": { "graph": true, "tests": true } })),
        ..ServerCapabilities::default()
    }
}

/// Returns the moves of files that the server wants to hear of before they are made: those of graphs, and of folders.
pub(crate) fn file_operations() -> FileOperationOptions {
    // A filter that names no kind is held by VS Code to the bare path of a folder, which ends in no slash.
    let filter = |glob: &str, kind| FileOperationFilter {
        scheme: Some("file".into()),
        pattern: FileOperationPattern { glob: glob.into(), matches: Some(kind), options: None },
    };
    let files = filter("**/*.{md,yaml,yml,json}", FileOperationPatternKind::File);
    let filters = vec![files, filter("**/*", FileOperationPatternKind::Folder)];
    FileOperationOptions { will_rename: Some(FileOperationRegistrationOptions { filters }), ..FileOperationOptions::default() }
}

/// Answers a request.
pub(crate) fn answer(state: &mut ServerState, request: &Request) -> Answer {
    match request.method.as_str() {
        "textDocument/completion" => json(completion::complete(state, &params(request)?)),
        "completionItem/resolve" => Ok(completion::resolve(state, request.params.clone())),
        "textDocument/hover" => json(hover::hover(state, &params(request)?)),
        "textDocument/definition" | "textDocument/declaration" => json(navigation::definition(state, &params(request)?)),
        "textDocument/references" => json(navigation::references(state, &params(request)?)),
        "textDocument/documentHighlight" => json(navigation::highlight(state, &params(request)?)),
        "textDocument/documentSymbol" => json(symbols::of_document(state, &params(request)?)),
        "workspace/symbol" => json(symbols::of_workspace(state, &params(request)?)),
        "textDocument/codeAction" => {
            let offered = actions::actions(state, &params(request)?);
            own_moves::remembered(state, offered)
        }
        "textDocument/prepareRename" => rename::prepare(state, &params(request)?),
        "textDocument/rename" => {
            let renamed = rename::rename(state, &params(request)?);
            own_moves::remembered(state, renamed)
        }
        "workspace/willRenameFiles" => {
            let moved = params(request)?;
            if own_moves::are_own(state, &moved) { Ok(Json::Null) } else { rename::will_rename(state, &moved) }
        }
        "textDocument/prepareCallHierarchy" => json(hierarchy::prepare(state, &params(request)?)),
        "callHierarchy/incomingCalls" => json(hierarchy::incoming(state, &params(request)?)),
        "callHierarchy/outgoingCalls" => json(hierarchy::outgoing(state, &params(request)?)),
        "textDocument/semanticTokens/full" => json(tokens::full(state, &params(request)?)),
        "textDocument/semanticTokens/range" => json(tokens::in_range(state, &params(request)?)),
        "textDocument/inlayHint" => json(hints::hints(state, &params(request)?)),
        "textDocument/codeLens" => json(lenses::lenses(state, &params(request)?)),
        "textDocument/documentLink" => json(links::links(state, &params(request)?)),
        "textDocument/selectionRange" => json(selection::select(state, &params(request)?)),
        "trellis/graph" => json(drawing::draw(state, &params(request)?)),
        "trellis/tests" => json(sheets::tests(state, &params(request)?)),
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
