//! Subscriptions of clients of MCP, in both lives of the protocol; names that complete, and prompts that mend.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};

use crate::{
    mcp::{call, message},
    stand::{SHOP, Stand, TOKEN, Terms, write},
};

/// The time after which a wait fails.
const LONG: Duration = Duration::from_secs(120);

/// A stream of messages.
pub(crate) struct Messages(Lines<BufReader<TcpStream>>);

impl Messages {
    /// Sends a request as it stands, and reads what streams back.
    async fn of(stand: &Stand, request: &str) -> Self {
        let mut stream = stand.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.contains(" 200 "), "{status}");
        Self(lines)
    }

    /// Waits for the end: a chunk of nothing, since the connection stays.
    pub(crate) async fn ended(&mut self) {
        let end = async { while self.0.next_line().await.is_ok_and(|line| line.is_some_and(|line| line != "0")) {} };
        timeout(LONG, end).await.expect("the stream ends");
    }

    pub(crate) async fn next(&mut self) -> Value {
        let next = async {
            loop {
                let line = self.0.next_line().await.unwrap().unwrap_or_else(|| panic!("the stream ended"));
                if let Some(data) = line.strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty()) {
                    return serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
                }
            }
        };
        timeout(LONG, next).await.expect("it is told")
    }

    /// The next messages, by their methods and what they are about.
    pub(crate) async fn told(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        for _ in 0..count {
            let message: Value = self.next().await;
            let method = message["method"].as_str().unwrap_or_else(|| panic!("no notification: {message}"));
            let about = message["params"]["uri"].as_str().map(|uri| format!(" {uri}")).unwrap_or_default();
            told.push(format!("{}{about}", method.trim_start_matches("notifications/")));
        }
        told
    }
}

/// A client of an older revision, in a session of its own.
pub(crate) struct Older<'s> {
    stand: &'s Stand,
    pub(crate) session: String,
}

impl<'s> Older<'s> {
    pub(crate) async fn connect(stand: &'s Stand) -> Self {
        Self::with(stand, json!({})).await
    }

    pub(crate) async fn with(stand: &'s Stand, capabilities: Value) -> Self {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let opened = stand.with("POST", "/mcp", &[("accept", "application/json, text/event-stream")], Some(&begin)).await;
        let older = Self { stand, session: opened.headers["mcp-session-id"].clone() };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let headers = [("accept", "application/json, text/event-stream"), ("mcp-session-id", &*older.session)];
        assert_eq!(stand.with("POST", "/mcp", &headers, Some(&initialized)).await.status, 202);
        older
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let headers = [("accept", "application/json, text/event-stream"), ("mcp-session-id", &*self.session)];
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        message(&timeout(LONG, self.stand.with("POST", "/mcp", &headers, Some(&body))).await.expect("it is answered"))
    }

    /// Calls a tool, and reads what streams back.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Messages {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }).to_string();
        let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\nmcp-session-id: {}\r\n", self.stand.port, self.session);
        let head = format!("{head}accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n");
        Messages::of(self.stand, &format!("POST /mcp HTTP/1.1\r\n{head}content-length: {}\r\n\r\n{body}", body.len())).await
    }

    /// Answers a question of the server.
    pub(crate) async fn reply(&self, question: &Value, result: Value) {
        let headers = [("accept", "application/json, text/event-stream"), ("mcp-session-id", &*self.session)];
        let body = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(self.stand.with("POST", "/mcp", &headers, Some(&body)).await.status, 202);
    }

    pub(crate) async fn listen(&self) -> Messages {
        let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\nmcp-session-id: {}\r\n", self.stand.port, self.session);
        Messages::of(self.stand, &format!("GET /mcp HTTP/1.1\r\n{head}accept: text/event-stream\r\n\r\n")).await
    }
}

/// Two sessions that were begun.
async fn begun() -> Stand {
    let stand = Stand::new(SHOP).await;
    for id in ["ana", "bea"] {
        stand.post("/api/sessions", json!({ "id": id })).await;
    }
    stand
}

async fn answer(stand: &Stand, session: &str, input: Value) {
    assert_eq!(stand.post(&format!("/api/sessions/{session}/turns"), json!({ "input": input })).await.status, 200);
}

async fn save(stand: &Stand, text: &str) {
    write(stand.folder.path(), &[("shop/left.md", text)]);
    assert_eq!(stand.post("/api/graphs/shop/reload", json!({})).await.status, 200);
}

// `docs/mcp.md`: until 2025-11-25 a client subscribes to one resource after the other, and hears of changed lists unasked
#[tokio::test(flavor = "multi_thread")]
async fn an_older_client_follows_a_resource_until_it_follows_it_no_more() {
    let stand = begun().await;
    let client = Older::connect(&stand).await;
    let mut stream = client.listen().await;
    let missing = client.ask("resources/subscribe", json!({ "uri": "trellis://sessions/nobody" })).await;
    assert_eq!(missing["error"]["data"]["code"], "unknown-session", "{missing}");
    for uri in ["trellis://sessions/ana", "trellis://sessions/bea/records", "trellis://graph"] {
        let followed = client.ask("resources/subscribe", json!({ "uri": uri })).await;
        assert!(followed["result"].is_object(), "{followed}");
    }
    answer(&stand, "ana", json!("Ada")).await;
    assert_eq!(stream.told(1).await, ["resources/updated trellis://sessions/ana"]);
    client.ask("resources/unsubscribe", json!({ "uri": "trellis://sessions/ana" })).await;
    answer(&stand, "ana", json!(2)).await;
    answer(&stand, "bea", json!("Bea")).await;
    assert_eq!(stream.told(1).await, ["resources/updated trellis://sessions/bea/records"], "nothing of `ana` in between");
    save(&stand, "---\noutput: left\n---\nYou left us.\n").await;
    let lists = ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated trellis://graph"];
    assert_eq!(stream.told(4).await, lists);
}

// `docs/serve.md#events`, `docs/mcp.md#resources-and-prompts`: what another process does to a session of the store is told, too
#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_resource_hears_of_another_server() {
    let stand = begun().await;
    let other = Stand::again(std::sync::Arc::clone(&stand.folder), Terms::default()).await;
    let client = Older::connect(&stand).await;
    let mut stream = client.listen().await;
    client.ask("resources/subscribe", json!({ "uri": "trellis://sessions/ana" })).await;
    answer(&other, "ana", json!("Ada")).await;
    assert_eq!(stream.told(1).await, ["resources/updated trellis://sessions/ana"]);
}

/// Begins to listen in the revision without sessions.
async fn listen(stand: &Stand, filter: Value) -> Messages {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "notifications": filter, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params }).to_string();
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n", stand.port);
    let head = format!("{head}accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n");
    let head = format!("{head}mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n", body.len());
    Messages::of(stand, &format!("POST /mcp HTTP/1.1\r\n{head}{body}")).await
}

// `docs/mcp.md`: since 2026-07-28 one request says what is followed, and its stream has that and nothing else
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_changes_that_were_asked_for_and_no_others() {
    let stand = begun().await;
    let filter =
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["trellis://sessions/ana", "trellis://graphs/shop/diagnostics"] });
    let mut stream = listen(&stand, filter).await;
    assert_eq!(stream.told(1).await, ["subscriptions/acknowledged"]);
    answer(&stand, "bea", json!("Bea")).await;
    answer(&stand, "ana", json!("Ada")).await;
    save(&stand, "---\noutput: left\n---\nYou left us.\n").await;
    let first = stream.next().await;
    let told = (&first["method"], &first["params"]["uri"]);
    assert_eq!(told, (&json!("notifications/resources/updated"), &json!("trellis://sessions/ana")), "{first}");
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7, "{first}");
    assert_eq!(stream.told(2).await, ["tools/list_changed", "resources/updated trellis://graphs/shop/diagnostics"]);
    // It ends with the server.
    timeout(LONG, stand.stop()).await.expect("the server ends");
}

async fn complete(stand: &Stand, of: Value, argument: (&str, &str), context: Value) -> Value {
    let params = json!({ "ref": of, "argument": { "name": argument.0, "value": argument.1 }, "context": context });
    let answer = message(&call(stand, &[], "completion/complete", params, json!({})).await);
    answer["result"]["completion"].clone()
}

// `docs/mcp.md#resources-and-prompts`
#[tokio::test]
async fn names_in_addresses_are_completed() {
    let files: Vec<_> = SHOP.iter().copied().chain([("other/start.md", "---\nto: sell\n---\n"), ("other/sell.md", "Sold.\n")]).collect();
    let stand = Stand::new(&files).await;
    let template = |uri: &str| json!({ "type": "ref/resource", "uri": format!("trellis://{uri}") });
    let graphs = complete(&stand, template("graphs/{graph}"), ("graph", "sh"), json!({})).await;
    assert_eq!((&graphs["values"], &graphs["hasMore"]), (&json!(["shop"]), &json!(false)), "{graphs}");
    let nodes = async |context: Value| {
        let nodes = complete(&stand, template("graphs/{graph}/nodes/{+id}"), ("id", "se"), context).await;
        let mut nodes: Vec<_> = nodes["values"].as_array().unwrap().iter().map(|node| node.as_str().unwrap().to_owned()).collect();
        nodes.sort();
        nodes
    };
    assert_eq!(nodes(json!({ "arguments": { "graph": "shop" } })).await, ["send"]);
    assert_eq!(nodes(json!({})).await, ["sell", "send"]);
    for number in 0..101 {
        let begun = stand.post("/api/sessions", json!({ "id": format!("s{number:03}"), "graph": "shop" })).await;
        assert_eq!(begun.status, 201);
    }
    let few = complete(&stand, template("sessions/{id}"), ("id", "s00"), json!({})).await;
    assert_eq!((few["values"].as_array().map(Vec::len), &few["hasMore"], &few["total"]), (Some(10), &json!(false), &json!(10)), "{few}");
    let many = complete(&stand, template("sessions/{id}/records"), ("id", "s"), json!({})).await;
    assert_eq!((many["values"].as_array().map(Vec::len), &many["hasMore"]), (Some(100), &json!(true)), "{many}");
    let prompt = complete(&stand, json!({ "type": "ref/prompt", "name": "walk-shop" }), ("count", "1"), json!({})).await;
    assert_eq!(prompt["values"], json!([]), "{prompt}");
}

async fn prompts(stand: &Stand) -> Vec<String> {
    let listed = message(&call(stand, &[], "prompts/list", json!({}), json!({})).await);
    listed["result"]["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
}

async fn prompt(stand: &Stand, name: &str) -> Value {
    message(&call(stand, &[], "prompts/get", json!({ "name": name }), json!({})).await)
}

// `docs/mcp.md#resources-and-prompts`
#[tokio::test]
async fn a_broken_graph_has_a_prompt_that_mends_it() {
    let files: Vec<_> = SHOP.iter().copied().chain([("never/start.md", "---\nto: nowhere\n---\n")]).collect();
    let stand = Stand::new(&files).await;
    // One that never ran can be mended and not walked.
    assert_eq!(prompts(&stand).await, ["mend-never", "walk-shop"]);
    assert_eq!(prompt(&stand, "walk-never").await["error"]["code"], -32602);
    assert_eq!(prompt(&stand, "mend-shop").await["error"]["code"], -32602);
    save(&stand, "---\nto: edn\n---\nYou left.\n").await;
    assert_eq!(prompts(&stand).await, ["mend-never", "walk-shop", "mend-shop"], "what ran before still runs");
    let mend = prompt(&stand, "mend-shop").await;
    let text = mend["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{mend}"));
    for part in ["unknown-target", "# unknown-target", "`left.md`:", "to: edn", "Mend its files"] {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
    assert!(!text.contains("Who are you?"), "no file without a mistake: {text}");
    save(&stand, "You left.\n").await;
    assert_eq!(prompts(&stand).await, ["mend-never", "walk-shop"]);
    assert_eq!(prompt(&stand, "mend-shop").await["error"]["code"], -32602);
}
