//! A server on a port of its own over graphs in a folder of its own, and a client that holds every answer to `openapi.json`.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use trellis_host::{
    Bindings, Policy, Secrets, Sessions,
    assembly::{Assembly, StoreSettings},
    binding::Host,
    store::SessionStore,
};
use trellis_server::{Bounds, GraphSource, HostNames, Served, Server, Settings, Tokens, extra::News, openapi};

/// The token of every stand that has one.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A graph that asks, calls with an approval, and ends.
pub(crate) const SHOP: &[(&str, &str)] = &[
    ("shop/start.md", "---\ninput_type: text\nsave_to: name\nto: count\n---\n# Shop\n\nWho are you?\n"),
    ("shop/count.md", "---\ninput_type: int\nsave_to: count\nto: send\non_signal: {leave: left}\n---\nHow many, {{ name }}?\n"),
    (
        "shop/send.md",
        "---\ntools: [{name: ship, effect: irreversible}]\ndo: {name: ship, args: {count: \"{{ count }}\"}, approve: {ask: \"Ship {{ count }}?\"}}\nsave_to: shipped\non_error: left\non_denied: left\nto: end\n---\n",
    ),
    ("shop/left.md", "---\noutput: left\n---\nYou left.\n"),
    ("shop/end.md", "---\noutput: \"{{ shipped }}\"\n---\nShipped.\n"),
];

/// A server.
pub(crate) struct Stand {
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) port: u16,
    pub(crate) server: Server,
    /// Tells whoever follows the server.
    pub(crate) news: News,
    end: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

/// The differences of a stand from a usual one.
pub(crate) struct Terms {
    pub(crate) tokens: Tokens,
    pub(crate) bounds: Bounds,
    pub(crate) functions: fn(Bindings) -> Bindings,
    pub(crate) watch: bool,
    /// A wrapper around the store of each graph.
    pub(crate) store: fn(Arc<dyn SessionStore>) -> Arc<dyn SessionStore>,
    /// A wrapper around its sessions.
    pub(crate) over: fn(Sessions) -> Sessions,
    /// The secrets of its graphs.
    pub(crate) secrets: fn() -> Secrets,
    /// True if each graph has a store of its own.
    pub(crate) stores: bool,
    /// Other settings than the tokens and the bounds.
    pub(crate) settings: fn(Settings) -> Settings,
    /// The reason why the application around it is not ready.
    pub(crate) unready: fn() -> Option<String>,
    /// The address at which it listens.
    pub(crate) listen: &'static str,
    /// True if the routes stand in an application of others.
    pub(crate) is_mounted: bool,
}

impl Default for Terms {
    fn default() -> Self {
        let mut bounds = Bounds::default();
        bounds.grace = Duration::from_secs(2);
        Self {
            tokens: Tokens::chosen(TOKEN).unwrap(),
            bounds,
            functions: |bindings| bindings,
            watch: false,
            store: |store| store,
            over: |sessions| sessions,
            secrets: Secrets::default,
            stores: false,
            settings: |settings| settings,
            unready: || None,
            listen: "127.0.0.1:0",
            is_mounted: false,
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_else(|| panic!("no problem: {self:?}")).to_owned()
    }

    /// The stop of a turn, by its type.
    pub(crate) fn stop(&self) -> String {
        self.json()["stop"]["type"].as_str().unwrap_or_else(|| panic!("no turn: {self:?}")).to_owned()
    }

    pub(crate) fn seq(&self) -> u64 {
        self.json()["seq"].as_u64().unwrap_or_else(|| panic!("no turn: {self:?}"))
    }
}

/// Writes graphs into a folder.
pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Stand {
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::on(files, Terms::default()).await
    }

    pub(crate) async fn on(files: &[(&str, &str)], terms: Terms) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        write(folder.path(), files);
        Self::again(folder, terms).await
    }

    /// A server over what another one left.
    pub(crate) async fn again(folder: Arc<tempfile::TempDir>, terms: Terms) -> Self {
        let mut graphs: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        graphs.sort();
        let policy = Policy::new().detached(true);
        let mut sources = Vec::new();
        for path in graphs.into_iter().filter(|path| !path.ends_with("kept")) {
            let name = path.file_name().unwrap_or_default();
            let place = if terms.stores { folder.path().join("kept").join(name) } else { folder.path().join("kept") };
            let address = format!("files:{}", place.display());
            fs::create_dir_all(&place).unwrap();
            let mut kept = StoreSettings::of(&path, &[]).address_or_default(Some(address)).open().await.unwrap();
            kept.store = (terms.store)(kept.store);
            let assembly = Assembly::new().host(Host::new().secrets((terms.secrets)())).policy(policy).functions(terms.functions);
            let source = GraphSource::new(path, assembly, kept);
            sources.push(source.over(terms.over));
        }
        let served = Served::open(sources, terms.watch).await.unwrap();
        served.ready_unless(move || std::future::ready((terms.unready)()));
        let listener = TcpListener::bind(terms.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = Settings::new(terms.tokens, HostNames::local(address)).bounds(terms.bounds);
        let news = served.news();
        let server = Server::new(served, (terms.settings)(settings));
        let (end, ended) = oneshot::channel::<()>();
        let serving = server.clone();
        let served = tokio::spawn(async move {
            let ended = async { drop(ended.await) };
            if terms.is_mounted {
                let others = axum::Router::new().route("/hello", axum::routing::get(async || "hello"));
                drop(axum::serve(listener, others.merge(serving.router())).with_graceful_shutdown(ended).await);
            } else {
                serving.serve(listener, ended).await;
            }
        });
        Self { folder, port: address.port(), server, news, end: Some(end), served }
    }

    /// Ends as a signal makes it end.
    pub(crate) async fn stop(mut self) -> Arc<tempfile::TempDir> {
        self.end.take().unwrap().send(()).unwrap();
        (&mut self.served).await.unwrap();
        Arc::clone(&self.folder)
    }

    /// Tells it to end, and waits for nothing.
    pub(crate) fn begin_to_stop(&mut self) {
        self.end.take().unwrap().send(()).unwrap();
    }

    /// One request with the token, as it stands.
    pub(crate) async fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read(&mut stream).await
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// A request with these headers besides; its answer must be one that the document has.
    pub(crate) async fn with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("host: localhost:{}\r\n", self.port);
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            text += &format!("authorization: Bearer {TOKEN}\r\n");
        }
        if !body.is_empty() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            text += "content-type: application/json\r\n";
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text += &format!("{name}: {value}\r\n");
        }
        let answer = self.raw(&format!("{text}content-length: {}\r\n\r\n{body}", body.len())).await;
        documented(method, path, &answer);
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.with("GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.with("POST", path, &[], Some(&body)).await
    }

    /// A session of the shop that asks how many.
    pub(crate) async fn counting(&self, id: &str) -> Answer {
        assert_eq!(self.post("/api/sessions", json!({ "id": id, "graph": "shop" })).await.status, 201);
        self.post(&format!("/api/sessions/{id}/turns"), json!({ "input": "Ada" })).await
    }

    /// One that waits for an approval, and the id of its call.
    pub(crate) async fn held(&self, id: &str) -> String {
        self.counting(id).await;
        let held = self.post(&format!("/api/sessions/{id}/turns"), json!({ "input": 2 })).await;
        assert_eq!(held.stop(), "APPROVAL");
        held.json()["stop"]["payload"]["id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // An answer from before the connection broke counts.
    drop(stream.read_to_end(&mut bytes).await);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status, headers, text: body.to_owned() }
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(openapi);

fn validator(schema: &str) -> Validator {
    let reference = json!({ "$ref": format!("#/components/schemas/{schema}"), "components": DOCUMENT["components"] });
    jsonschema::draft202012::new(&reference).unwrap_or_else(|error| panic!("{error}"))
}

/// Holds an answer to the document: its status, its kind and its body.
fn documented(method: &str, path: &str, answer: &Answer) {
    static TURN: LazyLock<Validator> = LazyLock::new(|| validator("turn"));
    static PROBLEM: LazyLock<Validator> = LazyLock::new(|| validator("problem"));
    let kind = answer.headers.get("content-type").map(String::as_str).unwrap_or_default();
    // Routes behind `/mcp` have errors of their own protocol.
    if answer.status >= 400 && path != "/mcp" {
        assert_eq!(kind, "application/problem+json", "{method} {path}: {answer:?}");
        let json = answer.json();
        let errors: Vec<_> = PROBLEM.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?} in {json:#}");
        assert_eq!(json["status"], answer.status);
    }
    let path = path.split('?').next().unwrap();
    let Some(operation) = operation(method, path) else { return };
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{method} {path}: {} is not documented: {answer:?}", answer.status);
    if answer.status >= 400 {
        let code = answer.code();
        assert!(response["description"].as_str().unwrap().contains(&format!("`{code}`")), "{method} {path}: `{code}` is not documented");
    }
    if response["content"]["application/json"]["schema"]["$ref"] == "#/components/schemas/turn" {
        let json = answer.json();
        let errors: Vec<_> = TURN.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?} in {json:#}");
    }
}

/// The operation that a path belongs to.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fits = |template: &str| {
        let (mut one, mut other) = (template.split('/'), path.split('/'));
        loop {
            match (one.next(), other.next()) {
                (None, None) => return true,
                (Some("{node}"), Some(_)) => return true,
                (Some(part), Some(given)) if part == given || part.starts_with('{') && !given.is_empty() => {}
                _ => return false,
            }
        }
    };
    let exact = paths.get(path).or_else(|| paths.iter().find(|(template, _)| fits(template)).map(|(_, operations)| operations));
    exact?.get(method.to_lowercase())
}
