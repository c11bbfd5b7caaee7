//! Initialization: the capabilities of the client and of the server, and the graphs of the workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use crossbeam_channel::{Receiver, bounded, never};
use lsp_server::{Connection, Message, Request};
use serde_json::Value as Json;
use trellis_project::{Wake, Watch};

use super::{ServeError, Server, waiting::Queue};
use crate::{
    LateFindings,
    client::{Client, Settings, folders},
    findings::Published,
    linker::Linker,
    log::Log,
    parent::Parent,
    requests,
    state::ServerState,
    text::Encoding,
    wire::{
        DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, InitializeResult, PositionEncodingKind, Registration,
        RegistrationParams, Save, SaveOptions, ServerInfo, TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions,
        WorkspaceFoldersServerCapabilities, WorkspaceOptions,
    },
    workspace::{ENTRIES, Workspace},
};

/// The endings of files that bindings read, beside those of graphs.
pub(super) const BESIDE: [&str; 5] = ["jinja", "jinja2", "j2", "sql", "txt"];

/// Shakes hands; `None` if the client left again.
pub(super) fn start<'c>(connection: &'c Connection, late: LateFindings, log: Log) -> Result<Option<Server<'c>>, ServeError> {
    let (id, params) = match connection.initialize_start() {
        Ok(begun) => begun,
        Err(error) if error.channel_is_disconnected() => return Ok(None),
        // `exit` before `initialize` is no mistake of the protocol.
        Err(error) => return if error.to_string().contains("\"exit\"") { Ok(None) } else { Err(ServeError::Protocol(error)) },
    };
    // Before the answer: from then on the client may die.
    let process = params.get("processId").and_then(Json::as_u64).and_then(|number| u32::try_from(number).ok());
    let parent = Parent::watch(process).map_err(ServeError::Stream)?;
    let client = Client::of(&params);
    let folders = folders(&params);
    let settings = Settings::of(params.get("initializationOptions").unwrap_or(&Json::Null), folders.first());
    let result = InitializeResult {
        capabilities: capabilities(&client),
        server_info: Some(ServerInfo { name: "trellis".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }),
    };
    let result = serde_json::to_value(result).unwrap_or_default();
    match connection.initialize_finish(id, result) {
        Ok(()) => {}
        Err(error) if error.channel_is_disconnected() => return Ok(None),
        Err(error) => return Err(ServeError::Protocol(error)),
    }
    let linker = Linker::start(late).map_err(ServeError::Stream)?;
    let saves = if client.watching { never() } else { watch(folders.clone()).map_err(ServeError::Stream)? };
    register(connection, &client);
    let workspace = Workspace::new(folders, settings.roots.clone(), ENTRIES);
    let (published, waiting, said) = (Published::default(), Queue::default(), BTreeSet::new());
    let state = ServerState {
        client,
        settings,
        workspace,
        sheets: BTreeMap::new(),
        unhoused: BTreeMap::new(),
        stale_sheets: BTreeSet::new(),
        notes: Vec::new(),
        own_moves: Vec::new(),
    };
    Ok(Some(Server {
        connection,
        state,
        published,
        linker,
        saves,
        parent,
        waiting,
        said,
        asked: BTreeMap::new(),
        is_progressing: false,
        log,
        is_shut_down: false,
    }))
}

fn capabilities(client: &Client) -> crate::wire::ServerCapabilities {
    let encoding = match client.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    };
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        save: Some(Save::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let folders = WorkspaceFoldersServerCapabilities {
        supported: Some(true),
        change_notifications: Some(crate::wire::ChangeNotifications::Bool(true)),
    };
    let mut capabilities = requests::capabilities(client);
    capabilities.position_encoding = Some(encoding);
    capabilities.text_document_sync = Some(TextDocumentSync::Options(sync));
    let file_operations = client.will_rename.then(requests::file_operations);
    capabilities.workspace = Some(WorkspaceOptions { workspace_folders: Some(folders), file_operations, ..WorkspaceOptions::default() });
    capabilities
}

/// Asks the client to say which files are saved and which settings change, as far as it can.
fn register(connection: &Connection, client: &Client) {
    let mut registrations = Vec::new();
    if client.watching {
        let beside = format!("**/*.{{{}}}", BESIDE.join(","));
        let globs = ["**/*.{md,yaml,yml,json}", &beside, "**/.gitignore"];
        let watchers = globs.map(|glob| FileSystemWatcher { glob_pattern: GlobPattern::Pattern(glob.into()), kind: None });
        let options = DidChangeWatchedFilesRegistrationOptions { watchers: watchers.into() };
        let (id, method) = ("files".into(), "workspace/didChangeWatchedFiles".into());
        registrations.push(Registration { id, method, register_options: serde_json::to_value(options).ok() });
    }
    if client.configuration_registration {
        let (id, method) = ("settings".into(), "workspace/didChangeConfiguration".into());
        registrations.push(Registration { id, method, register_options: Some(serde_json::json!({ "section": "trellis" })) });
    }
    if !registrations.is_empty() {
        let params = RegistrationParams { registrations };
        let request = Request::new("register".to_owned().into(), "client/registerCapability".into(), params);
        let _ = connection.sender.send(Message::Request(request));
    }
}

/// Watches folders on a thread of its own, which ends after the server.
fn watch(folders: Vec<PathBuf>) -> std::io::Result<Receiver<()>> {
    if folders.is_empty() {
        return Ok(never());
    }
    let (rings, saves) = bounded(1);
    let run = move || {
        let mut watch = Watch::new(folders);
        // What was saved after the server read it, and before this watch began.
        let _ = rings.try_send(());
        while watch.next(None) == Wake::Changed {
            // One ring is enough for all saves that nobody has looked at.
            if let Err(crossbeam_channel::TrySendError::Disconnected(())) = rings.try_send(()) {
                return;
            }
        }
    };
    std::thread::Builder::new().name("trellis-watch".into()).spawn(run)?;
    Ok(saves)
}
