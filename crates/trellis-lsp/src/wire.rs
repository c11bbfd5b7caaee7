//! The types of the protocol, generated from its metamodel (LSP 3.18). No other file names the crate that they come from.

pub(crate) use gen_lsp_types::{
    ChangeNotifications, Code, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWatchedFilesRegistrationOptions, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentFormattingParams, DocumentFormattingProvider, FileChangeType, FileSystemWatcher, GlobPattern,
    InitializeResult, Location, MarkupContent, MarkupKind, Message, Position, PositionEncodingKind, PublishDiagnosticsParams, Range,
    Registration, RegistrationParams, Save, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentContentChangeEvent, TextDocumentSync,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextEdit, Uri, WorkspaceFolder, WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};

/// A text of Markdown.
pub(crate) fn markdown(value: impl Into<String>) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value: value.into() }
}
