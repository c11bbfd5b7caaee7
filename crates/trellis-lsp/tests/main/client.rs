//! A client over channels in memory, with the graph that it has open on disk.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::atomic::{AtomicI32, Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use lsp_server::{Connection, Message, Notification, Request, Response};
use serde_json::{Value as Json, json};
use trellis_lsp::{LateFindings, ServeError, serve};

/// A wait that no test should need to sit out.
const PATIENCE: Duration = Duration::from_secs(120);

/// A list of findings, as it was published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    pub(crate) version: Option<i64>,
    pub(crate) diagnostics: Vec<Json>,
}

impl List {
    /// Each finding as `line:column code message`, from zero.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |found: &Json| {
            let start = &found["range"]["start"];
            let message = found["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            format!("{}:{} {} {message}", start["line"], start["character"], found["code"].as_str().unwrap_or_default())
        };
        self.diagnostics.iter().map(line).collect()
    }
}

/// A client with a server that it talks to.
pub(crate) struct Client {
    connection: Connection,
    server: Option<JoinHandle<Result<(), ServeError>>>,
    pub(crate) folder: tempfile::TempDir,
    /// The lists of each file, in order.
    pub(crate) lists: BTreeMap<String, Vec<List>>,
    /// The messages to the user.
    pub(crate) said: Vec<String>,
    /// Other notifications.
    pub(crate) noted: Vec<(String, Json)>,
    /// The questions of the server.
    pub(crate) asked: Vec<String>,
    /// The section `trellis` of its settings.
    pub(crate) settings: Json,
    pub(crate) initialized: Json,
    next: AtomicI32,
}

/// Returns the capabilities of most editors.
pub(crate) fn capabilities() -> Json {
    json!({
        "workspace": {
            "workspaceEdit": { "documentChanges": true, "resourceOperations": ["create", "rename", "delete"] },
            "didChangeWatchedFiles": { "dynamicRegistration": true }
        },
        "textDocument": {
            "completion": { "completionItem": { "snippetSupport": true, "labelDetailsSupport": true, "documentationFormat": ["markdown"] } },
            "hover": { "contentFormat": ["markdown"] },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix"] } } },
            "publishDiagnostics": { "relatedInformation": true, "tagSupport": { "valueSet": [1, 2] }, "versionSupport": true }
        }
    })
}

impl Client {
    /// Opens a folder with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, capabilities(), json!({}))
    }

    pub(crate) fn with(files: &[(&str, &str)], capabilities: Json, options: Json) -> Self {
        Self::started(
            files,
            |_| trellis_lsp::LateAnswer::default(),
            json!({ "capabilities": capabilities, "initializationOptions": options }),
        )
    }

    /// With what is found after each link, and other parameters of `initialize`.
    pub(crate) fn started(files: &[(&str, &str)], late: LateFindings, params: Json) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            write(&folder.path().join(path), text);
        }
        let root = std::fs::canonicalize(folder.path()).expect("it is there");
        Self::in_folders(folder, &[root], late, params)
    }

    /// With these of its folders as those of the workspace.
    pub(crate) fn in_workspaces(files: &[(&str, &str)], folders: &[&str], capabilities: Json) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            write(&folder.path().join(path), text);
        }
        let root = std::fs::canonicalize(folder.path()).expect("it is there");
        let roots: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
        Self::in_folders(folder, &roots, |_| trellis_lsp::LateAnswer::default(), json!({ "capabilities": capabilities }))
    }

    fn in_folders(folder: tempfile::TempDir, roots: &[PathBuf], late: LateFindings, mut params: Json) -> Self {
        let (own, other) = Connection::memory();
        let server = std::thread::spawn(move || serve(&other, late));
        let mut client = Self {
            connection: own,
            server: Some(server),
            folder,
            lists: BTreeMap::new(),
            said: Vec::new(),
            noted: Vec::new(),
            asked: Vec::new(),
            settings: Json::Null,
            initialized: Json::Null,
            next: AtomicI32::new(1),
        };
        let folders: Vec<Json> = roots.iter().map(|root| json!({ "uri": uri(root), "name": "graph" })).collect();
        params["workspaceFolders"] = folders.into();
        client.initialized = client.request("initialize", params).expect("the server begins");
        client.notify("initialized", json!({}));
        client
    }

    /// The address of a file.
    pub(crate) fn uri(&self, path: &str) -> String {
        uri(&std::fs::canonicalize(self.folder.path()).expect("it is there").join(path))
    }

    pub(crate) fn notify(&self, method: &str, params: Json) {
        let _ = self.connection.sender.send(Notification::new(method.to_owned(), params).into());
    }

    /// Asks, and waits for the answer; lists that come meanwhile are taken.
    pub(crate) fn request(&mut self, method: &str, params: Json) -> Result<Json, (i32, String)> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Asks again until the newest text is linked.
    pub(crate) fn linked(&mut self, method: &str, params: &Json, holds: impl Fn(&Json) -> bool) -> Json {
        let begun = Instant::now();
        loop {
            let answer = self.request(method, params.clone()).unwrap_or_else(|error| panic!("{method}: {error:?}"));
            if holds(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < PATIENCE, "{method} never answers that: {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks, and does not wait.
    pub(crate) fn ask(&self, method: &str, params: Json) -> i32 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.connection.sender.send(Request::new(id.into(), method.to_owned(), params).into());
        id
    }

    /// Waits for an answer.
    pub(crate) fn answer(&mut self, id: i32) -> Result<Json, (i32, String)> {
        loop {
            let message = self.connection.receiver.recv_timeout(PATIENCE).expect("the server answers");
            if let Some(Response { id: of, response_result }) = self.take(message)
                && of == id.into()
            {
                return response_result.map_err(|error| (error.code, error.message));
            }
        }
    }

    fn take(&mut self, message: Message) -> Option<Response> {
        match message {
            Message::Response(response) => return Some(response),
            Message::Notification(note) if note.method == "textDocument/publishDiagnostics" => {
                let list = List {
                    version: note.params["version"].as_i64(),
                    diagnostics: note.params["diagnostics"].as_array().cloned().unwrap_or_default(),
                };
                let uri = note.params["uri"].as_str().unwrap_or_default().to_owned();
                self.lists.entry(uri).or_default().push(list);
            }
            Message::Notification(note) if note.method == "window/showMessage" => {
                self.said.push(note.params["message"].as_str().unwrap_or_default().to_owned());
            }
            Message::Notification(note) => self.noted.push((note.method, note.params)),
            Message::Request(request) => {
                self.asked.push(request.method.clone());
                let answer = if request.method == "workspace/configuration" { json!([self.settings]) } else { Json::Null };
                let _ = self.connection.sender.send(Response::new_ok(request.id, answer).into());
            }
        }
        None
    }

    pub(crate) fn open(&self, path: &str, text: &str) {
        let item = json!({ "uri": self.uri(path), "languageId": "markdown", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Replaces the whole text of an open file.
    pub(crate) fn replace(&self, path: &str, version: i32, text: &str) {
        self.change(path, version, json!([{ "text": text }]));
    }

    pub(crate) fn change(&self, path: &str, version: i32, changes: Json) {
        let document = json!({ "uri": self.uri(path), "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    pub(crate) fn close(&self, path: &str) {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": self.uri(path) } }));
    }

    /// Writes a file, and says so.
    pub(crate) fn save(&self, path: &str, text: Option<&str>) {
        let file = self.folder.path().join(path);
        let kind = match (text, file.exists()) {
            (Some(_), true) => 2,
            (Some(_), false) => 1,
            (None, _) => 3,
        };
        match text {
            Some(text) => write(&file, text),
            None => std::fs::remove_file(&file).expect("it is there"),
        }
        self.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": self.uri(path), "type": kind }] }));
    }

    /// Waits until the lists of a file are as wanted.
    pub(crate) fn wait(&mut self, path: &str, wanted: impl Fn(&List) -> bool) -> List {
        let uri = self.uri(path);
        loop {
            if let Some(list) = self.lists.get(&uri).and_then(|lists| lists.last()).filter(|list| wanted(list)) {
                return list.clone();
            }
            let message = match self.connection.receiver.recv_timeout(PATIENCE) {
                Ok(message) => message,
                Err(_) => panic!("no such list of {path}: {:#?}", self.lists),
            };
            self.take(message);
        }
    }

    /// Takes messages until something holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            let message = self.connection.receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} never comes"));
            self.take(message);
        }
    }

    /// The place of the cursor `‸` in a text that is on the disk or open already.
    pub(crate) fn place(&self, path: &str, marked: &str) -> Json {
        let before = marked.split('‸').next().unwrap_or_default();
        let (line, character) = (before.matches('\n').count(), before.rsplit('\n').next().unwrap_or_default().encode_utf16().count());
        json!({ "textDocument": { "uri": self.uri(path) }, "position": { "line": line, "character": character } })
    }

    /// Asks about the place of the cursor `‸` in a text that is typed into an open file.
    pub(crate) fn at(&mut self, path: &str, version: i32, marked: &str, method: &str) -> Json {
        let before = marked.split('‸').next().unwrap_or_default();
        let text = marked.replace('‸', "");
        self.replace(path, version, &text);
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
        let mut params = json!({ "textDocument": { "uri": self.uri(path) }, "position": { "line": line, "character": character } });
        if method.ends_with("references") {
            params["context"] = json!({ "includeDeclaration": true });
        }
        self.request(method, params).unwrap_or_else(|error| panic!("{method} at {marked}: {error:?}"))
    }

    /// Says goodbye.
    pub(crate) fn leave(mut self) -> Result<(), ServeError> {
        self.request("shutdown", Json::Null).expect("the server shuts down");
        self.notify("exit", Json::Null);
        self.into_served()
    }

    /// Waits until the server ends.
    pub(crate) fn into_served(mut self) -> Result<(), ServeError> {
        self.server.take().expect("it runs").join().expect("it does not panic")
    }
}

fn write(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn uri(path: &std::path::Path) -> String {
    format!("file://{}", path.to_str().expect("a plain path").replace(' ', "%20"))
}
