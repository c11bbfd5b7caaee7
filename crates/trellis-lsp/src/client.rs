//! The client: its capabilities, as far as answers depend on them, and its settings.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value as Json;

use crate::{text::Encoding, uri, wire::Uri};

/// The abilities of a client. Nothing is sent that it does not support.
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
    /// New files inside edits.
    pub(crate) file_creations: bool,
    /// Edits that a person confirms.
    pub(crate) annotations: bool,
    /// `relatedInformation` of findings.
    pub(crate) related: bool,
    /// Tags of findings.
    pub(crate) tags: bool,
    /// The version of a published list.
    pub(crate) versions: bool,
    /// Watched files that are registered later.
    pub(crate) watching: bool,
    /// Settings that the server asks for.
    pub(crate) configuration: bool,
    /// Changes of settings that are registered later.
    pub(crate) configuration_registration: bool,
    /// Progress that the server begins.
    pub(crate) progress: bool,
    /// Lenses and hints that are asked for again.
    pub(crate) refreshed: Vec<&'static str>,
    /// `workspace/willRenameFiles`.
    pub(crate) will_rename: bool,
}

impl Client {
    /// Reads the capabilities in the parameters of `initialize`. Malformed ones count as absent.
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
            file_creations: lists(&format!("{edits}/resourceOperations"), "create"),
            annotations: at(&format!("{edits}/changeAnnotationSupport")).is_some_and(Json::is_object),
            related: is("/textDocument/publishDiagnostics/relatedInformation"),
            tags: at("/textDocument/publishDiagnostics/tagSupport").is_some_and(|tags| tags.is_object() || tags == true),
            versions: is("/textDocument/publishDiagnostics/versionSupport"),
            watching: is("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            configuration: is("/workspace/configuration"),
            configuration_registration: is("/workspace/didChangeConfiguration/dynamicRegistration"),
            progress: is("/window/workDoneProgress"),
            refreshed: ["codeLens", "inlayHint", "semanticTokens"]
                .into_iter()
                .filter(|what| is(&format!("/workspace/{what}/refreshSupport")))
                .collect(),
            will_rename: is("/workspace/fileOperations/willRename"),
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
    /// The inlay hints that are shown.
    pub(crate) hints: Hints,
    /// The commands of the client that code lenses may use, by what they do: `play`, `references`, `test`, `update`.
    pub(crate) commands: BTreeMap<String, String>,
}

/// The kinds of inlay hints, all off until they are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The types of saved values.
    pub(crate) types: bool,
    /// The outcome of a failed call if the node says nothing about it.
    pub(crate) endings: bool,
}

impl Settings {
    /// Reads settings, with or without the section around them. Relative roots are below `folder`.
    pub(crate) fn of(options: &Json, folder: Option<&PathBuf>) -> Self {
        let options = options.get("trellis").unwrap_or(options);
        let roots = options.get("roots").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let root = |text: &str| match uri::to_path(&Uri(text.to_owned())) {
            Some(path) => path,
            None => folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text)),
        };
        // Some clients send what stands in a tree, others names with dots.
        let is = |name: &str| {
            let inside = options.pointer(&format!("/{}", name.replace('.', "/")));
            inside.or_else(|| options.get(name)).and_then(Json::as_bool).unwrap_or_default()
        };
        let commands = options.get("commands").and_then(Json::as_object).into_iter().flatten();
        Self {
            roots: roots.map(root).collect(),
            strict: is("strict"),
            hints: Hints { types: is("inlayHints.types"), endings: is("inlayHints.endings") },
            commands: commands.filter_map(|(what, name)| Some((what.clone(), name.as_str()?.to_owned()))).collect(),
        }
    }
}

/// Returns the folders of the workspace that `initialize` names, also in the forms of old clients.
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
