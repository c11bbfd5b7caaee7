//! The types of the protocol, generated from its metamodel (LSP 3.18). No other file names the crate that they come from.

pub(crate) use gen_lsp_types::{
    ChangeNotifications, Code, CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProvider, CompletionItem, CompletionItemKind,
    CompletionItemLabelDetails, CompletionItemTextEdit, CompletionList, CompletionOptions, CompletionParams, Contents, DeclarationProvider,
    DefinitionParams, DefinitionProvider, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWatchedFilesRegistrationOptions, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentFormattingParams, DocumentFormattingProvider, DocumentHighlight,
    DocumentHighlightKind, DocumentHighlightParams, DocumentHighlightProvider, DocumentSymbol, DocumentSymbolParams,
    DocumentSymbolProvider, Documentation, FileSystemWatcher, FoldingRange, FoldingRangeKind, FoldingRangeParams, FoldingRangeProvider,
    GlobPattern, Hover, HoverParams, HoverProvider, InitializeResult, InsertTextFormat, Location, MarkupContent, MarkupKind, Message,
    Position, PositionEncodingKind, PublishDiagnosticsParams, Range, ReferenceParams, ReferencesProvider, Registration, RegistrationParams,
    RenameOptions, RenameParams, RenameProvider, Save, SaveOptions, ServerCapabilities, ServerInfo, SymbolKind,
    TextDocumentContentChangeEvent, TextDocumentPositionParams, TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions, TextEdit,
    Uri, WorkspaceFolder, WorkspaceFoldersServerCapabilities, WorkspaceOptions, WorkspaceSymbolParams, WorkspaceSymbolProvider,
};

/// A text of Markdown.
pub(crate) fn markdown(value: impl Into<String>) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value: value.into() }
}
