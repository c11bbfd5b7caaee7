//! The client: what it can do, as far as answers depend on it, and its settings.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::{text::Encoding, uri, wire::Uri};

/// What a client offers. Something that it does not offer is not sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// Snippets in completions.
    pub(crate) snippets: bool,
    /// `labelDetails` of completions.
    pub(crate) label_details: bool,
    /// Markdown in hovers.
    pub(crate) hover_markdown: bool,
    /// Markdown in the documentation of completions.
    pub(crate) completion_markdown: bool,
    /// Symbols of a document as a tree.
    pub(crate) symbol_tree: bool,
    /// Code actions as literals, and not as commands alone.
    pub(crate) action_literals: bool,
    /// Edits with the versions of their documents.
    pub(crate) versioned_edits: bool,
    /// Renames of files inside edits.
    pub(crate) file_renames: bool,
    /// `relatedInformation` of findings.
    pub(crate) related: bool,
    /// Tags of findings.
    pub(crate) tags: bool,
    /// The version of a published list.
    pub(crate) versions: bool,
    /// Watched files that are registered later.
    pub(crate) watching: bool,
}

impl Client {
    /// Reads the capabilities of the parameters of `initialize`. What is not as the protocol says counts as absent.
    pub(crate) fn of(params: &Json) -> Self {
        let at = |pointer: &str| params.pointer(&format!("/capabilities{pointer}"));
        let is = |pointer: &str| at(pointer).and_then(Json::as_bool).unwrap_or_default();
        let lists = |pointer: &str, word: &str| at(pointer).and_then(Json::as_array).is_some_and(|all| all.iter().any(|item| item == word));
        let edits = "/workspace/workspaceEdit";
        Self {
            encoding: if lists("/general/positionEncodings", "utf-8") { Encoding::Utf8 } else { Encoding::Utf16 },
            snippets: is("/textDocument/completion/completionItem/snippetSupport"),
            label_details: is("/textDocument/completion/completionItem/labelDetailsSupport"),
            hover_markdown: lists("/textDocument/hover/contentFormat", "markdown"),
            completion_markdown: lists("/textDocument/completion/completionItem/documentationFormat", "markdown"),
            symbol_tree: is("/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            action_literals: at("/textDocument/codeAction/codeActionLiteralSupport").is_some_and(Json::is_object),
            // Neovim names operations on files and not the edits that hold them; it takes both.
            versioned_edits: is(&format!("{edits}/documentChanges")) || lists(&format!("{edits}/resourceOperations"), "rename"),
            file_renames: lists(&format!("{edits}/resourceOperations"), "rename"),
            related: is("/textDocument/publishDiagnostics/relatedInformation"),
            tags: at("/textDocument/publishDiagnostics/tagSupport").is_some_and(|tags| tags.is_object() || tags == true),
            versions: is("/textDocument/publishDiagnostics/versionSupport"),
            watching: is("/workspace/didChangeWatchedFiles/dynamicRegistration"),
        }
    }
}

/// The settings of a client, section `trellis`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Folders of graphs, instead of those that are found.
    pub(crate) roots: Vec<PathBuf>,
    /// Unchecked reads are findings.
    pub(crate) strict: bool,
}

impl Settings {
    /// Reads `initializationOptions`, with or without the section around them. Relative roots are below `folder`.
    pub(crate) fn of(options: &Json, folder: Option<&PathBuf>) -> Self {
        let options = options.get("trellis").unwrap_or(options);
        let roots = options.get("roots").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let root = |text: &str| match uri::to_path(&Uri(text.to_owned())) {
            Some(path) => path,
            None => folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text)),
        };
        Self { roots: roots.map(root).collect(), strict: options.get("strict").and_then(Json::as_bool).unwrap_or_default() }
    }
}

/// Returns the folders of the workspace that `initialize` names, of whatever age the client is.
pub(crate) fn folders(params: &Json) -> Vec<PathBuf> {
    let path = |value: &Json| uri::to_path(&Uri(value.as_str()?.to_owned()));
    let named = params.get("workspaceFolders").and_then(Json::as_array);
    let folders: Vec<PathBuf> = named.into_iter().flatten().filter_map(|folder| path(folder.get("uri")?)).collect();
    if !folders.is_empty() {
        return folders;
    }
    let root = params.get("rootUri").and_then(path).or_else(|| Some(PathBuf::from(params.get("rootPath")?.as_str()?)));
    root.into_iter().collect()
}
