//! The types of the protocol, generated from its metamodel (LSP 3.18). No other file uses their crate directly.

pub(crate) use gen_lsp_types::{
    CallHierarchyIncomingCallsParams, CallHierarchyItem, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams,
    CallHierarchyProvider, ChangeNotifications, Code, CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProvider,
    CodeActionTriggerKind, CodeLensOptions, CodeLensParams, CompletionItem, CompletionItemKind, CompletionItemLabelDetails,
    CompletionItemTextEdit, CompletionList, CompletionOptions, CompletionParams, Contents, DeclarationProvider, DefinitionParams,
    DefinitionProvider, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWatchedFilesRegistrationOptions, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentFormattingParams, DocumentFormattingProvider, DocumentHighlight, DocumentHighlightKind,
    DocumentHighlightParams, DocumentHighlightProvider, DocumentLinkOptions, DocumentLinkParams, DocumentSymbol, DocumentSymbolParams,
    DocumentSymbolProvider, Documentation, FileOperationFilter, FileOperationOptions, FileOperationPattern, FileOperationPatternKind,
    FileOperationRegistrationOptions, FileRename, FileSystemWatcher, FoldingRange, FoldingRangeKind, FoldingRangeParams,
    FoldingRangeProvider, Full, GlobPattern, Hover, HoverParams, HoverProvider, InitializeResult, InlayHintParams, InlayHintProvider,
    InsertTextFormat, Location, MarkupContent, MarkupKind, Message, Position, PositionEncodingKind, PublishDiagnosticsParams, Range,
    ReferenceParams, ReferencesProvider, Registration, RegistrationParams, RenameFilesParams, RenameOptions, RenameParams, RenameProvider,
    Save, SaveOptions, SelectionRangeParams, SelectionRangeProvider, SemanticTokensLegend, SemanticTokensOptions,
    SemanticTokensOptionsRange, SemanticTokensParams, SemanticTokensProvider, SemanticTokensRangeParams, ServerCapabilities, ServerInfo,
    SymbolKind, TextDocumentContentChangeEvent, TextDocumentPositionParams, TextDocumentSync, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextEdit, Uri, WorkspaceFolder, WorkspaceFoldersServerCapabilities, WorkspaceOptions, WorkspaceSymbolParams,
    WorkspaceSymbolProvider,
};

/// A text of Markdown.
pub(crate) fn markdown(value: impl Into<String>) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value: value.into() }
}
