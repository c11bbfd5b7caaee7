//! The resources that one client can hold: connections, streams, sessions of MCP.

use std::{fmt::Write as _, fs, time::Duration};

use axum::{body::Body, http::Request};
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use trellis_server::{Bounds, Tokens};

use crate::stand::{Answer, SHOP, Stand, TOKEN, Terms};

/// The time after which a request that hangs fails.
const LONG: Duration = Duration::from_secs(60);
/// The revision without sessions.
const STATELESS: &str = "2026-07-28";

fn bounded(set: impl FnOnce(&mut Bounds)) -> Terms {
    let mut terms = Terms::default();
    (terms.bounds.grace, terms.bounds.header_time, terms.bounds.first_header_time) = (Duration::ZERO, 10 * LONG, 10 * LONG);
    set(&mut terms.bounds);
    terms
}

/// A request of which only the status is read; the connection stays.
async fn begun(stand: &Stand, request: &str) -> (TcpStream, String) {
    let mut stream = stand.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    (stream, String::from_utf8_lossy(&status[9..]).into_owned())
}

// `docs/serve.md`
#[tokio::test]
async fn the_end_is_heard_while_every_connection_is_held() {
    let stand = Stand::on(SHOP, bounded(|bounds| bounds.connections = 1)).await;
    let (held, status) = begun(&stand, &format!("GET /healthz HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", stand.port)).await;
    assert_eq!(status, "200");
    timeout(LONG, stand.stop()).await.expect("the server ends");
    drop(held);
}

// `docs/serve.md#security`
#[tokio::test]
async fn who_takes_nothing_loses_the_connection() {
    let set = |bounds: &mut Bounds| (bounds.connections, bounds.patience) = (1, Duration::from_millis(100));
    let stand = Stand::on(SHOP, bounded(set)).await;
    let mut greedy = stand.connect().await;
    let page = format!("GET /studio.js HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", stand.port);
    // More than the system keeps for a client.
    greedy.write_all(page.repeat(500).as_bytes()).await.unwrap();
    // While it waits for its first request, a newer connection would take its place.
    let mut taken = vec![0; 12];
    greedy.read_exact(&mut taken).await.unwrap();
    let others = timeout(LONG, stand.get("/api/graphs")).await.expect("others are served");
    assert_eq!(others.status, 200);
    drop(greedy.read_to_end(&mut taken).await);
    let answers = String::from_utf8_lossy(&taken).matches("HTTP/1.1 200").count();
    assert!((1..500).contains(&answers), "{answers}");
}

// `docs/serve.md#security`: between requests a client has longer than for a header that it began
#[tokio::test]
async fn an_idle_connection_has_its_time_and_half_a_header_has_less() {
    let times = |header: Duration, idle: Duration| bounded(move |bounds: &mut Bounds| (bounds.header_time, bounds.idle) = (header, idle));
    let (short, hour) = (Duration::from_millis(300), Duration::from_secs(3600));
    let stand = Stand::on(SHOP, times(short, hour)).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", stand.port);
    let (mut stream, status) = begun(&stand, &request).await;
    assert_eq!(status, "200");
    tokio::time::sleep(Duration::from_millis(700)).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut next = vec![0; 4096];
    while !String::from_utf8_lossy(&next).contains("HTTP/1.1 200") {
        assert_ne!(stream.read(&mut next).await.unwrap(), 0, "it was ended too early");
    }
    // One byte a moment is no header either.
    let ends = async {
        while stream.write_all(b"G").await.is_ok() && timeout(Duration::from_millis(50), stream.read(&mut next)).await.is_err() {}
    };
    timeout(LONG, ends).await.expect("half a header has its short time");
    let stand = Stand::on(SHOP, times(short, short)).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", stand.port);
    let (mut idle, _) = begun(&stand, &request).await;
    timeout(LONG, idle.read_to_end(&mut next)).await.expect("an idle connection ends").unwrap();
}

// whoever holds connections without a word keeps nobody out, and they end
#[tokio::test]
async fn a_hundred_idle_connections_keep_nobody_out() {
    let stand = Stand::on(SHOP, bounded(|bounds| (bounds.connections, bounds.first_header_time) = (101, Duration::from_millis(800)))).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(stand.connect().await);
    }
    assert_eq!(timeout(LONG, stand.get("/api/graphs")).await.expect("others are served").status, 200);
    for mut stream in silent {
        let mut nothing = Vec::new();
        timeout(LONG, stream.read_to_end(&mut nothing)).await.expect("it ends").unwrap();
        assert!(nothing.is_empty());
    }
}

/// Returns whether nothing more comes over a connection.
async fn has_ended(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(LONG, stream.read_to_end(&mut rest)).await.expect("it ends").is_err() || rest.is_empty()
}

// `docs/serve.md#security`: while all seats are taken, the connection ends that has waited longest for a request, and none that is answered
#[tokio::test]
async fn a_new_connection_gets_the_seat_of_the_one_that_waits_longest() {
    let stand = Stand::on(SHOP, bounded(|bounds| bounds.connections = 4)).await;
    let seq = stand.counting("ana").await.seq();
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n", stand.port);
    let (mut stream, status) = begun(&stand, &format!("GET /api/sessions/ana/events HTTP/1.1\r\n{head}\r\n")).await;
    assert_eq!(status, "200");
    let mut waiting = stand.connect().await;
    let look = format!("GET /api/sessions/ana HTTP/1.1\r\n{head}prefer: wait=60\r\nif-none-match: \"{seq}\"\r\n\r\n");
    waiting.write_all(look.as_bytes()).await.unwrap();
    // One that was answered, one without a byte, and one with half a header.
    let (mut answered, _) = begun(&stand, &format!("GET /healthz HTTP/1.1\r\n{head}\r\n")).await;
    let mut silent = stand.connect().await;
    let mut half = stand.connect().await;
    half.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    assert!(timeout(LONG, answered.read_to_end(&mut Vec::new())).await.is_ok(), "the last one took its seat");
    let (again, status) = begun(&stand, &format!("GET /healthz HTTP/1.1\r\n{head}\r\n")).await;
    assert!(status == "200" && has_ended(&mut silent).await);
    let (_newest, status) = begun(&stand, &format!("GET /healthz HTTP/1.1\r\n{head}\r\n")).await;
    assert!(status == "200" && has_ended(&mut half).await);
    drop(again);
    // The request that waits is answered, and the stream goes on.
    stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await;
    let mut status = [0; 12];
    timeout(LONG, waiting.read_exact(&mut status)).await.expect("it is answered").unwrap();
    assert_eq!(&status[9..], b"200");
    let mut told = String::new();
    while !told.contains("APPROVAL") {
        let mut some = vec![0; 4096];
        let count = timeout(LONG, stream.read(&mut some)).await.expect("it is told").unwrap();
        assert_ne!(count, 0, "the stream ended");
        told += &String::from_utf8_lossy(&some[..count]);
    }
}

// a body that says it has a gigabyte is refused before it comes
#[tokio::test]
async fn a_gigabyte_is_refused_at_its_first_bytes() {
    let stand = Stand::on(SHOP, bounded(|_| {})).await;
    for path in ["/api/sessions", "/mcp"] {
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n", stand.port);
        let kind = "content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: 1073741824\r\n\r\n";
        let mut stream = stand.connect().await;
        stream.write_all(format!("{head}{kind}{{").as_bytes()).await.unwrap();
        let mut status = [0; 12];
        timeout(LONG, stream.read_exact(&mut status)).await.expect("it is answered without its body").unwrap();
        assert_eq!(&status[9..], b"413", "{path}");
    }
}

/// A stream whose events are over still has its connection.
#[tokio::test]
async fn a_stream_has_its_seat_for_as_long_as_somebody_can_read_it() {
    let stand = Stand::on(SHOP, bounded(|bounds| bounds.streams = 1)).await;
    let seq = stand.counting("ana").await.seq();
    stand.counting("bea").await;
    let host = format!("localhost:{}", stand.port);
    let request = Request::get("/api/sessions/ana/events").header("host", &host).header("authorization", format!("Bearer {TOKEN}"));
    let service = TowerToHyperService::new(stand.server.router());
    let mut events = service.call(request.body(Body::empty()).unwrap()).await.unwrap().into_body();
    stand.with("DELETE", "/api/sessions/ana?open=true", &[("if-match", &format!("\"{seq}\""))], None).await;
    let mut told = String::new();
    while !told.contains("event: removed") {
        told += &String::from_utf8_lossy(&events.frame().await.unwrap().unwrap().into_data().unwrap());
    }
    let another = format!("GET /api/sessions/bea/events HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    assert_eq!(begun(&stand, &another).await.1, "429");
    drop(events);
    assert_eq!(begun(&stand, &another).await.1, "200");
}

/// A message to `/mcp` in a session, or in none.
async fn send(stand: &Stand, headers: &[(&str, &str)], message: Value) -> Answer {
    let mut all = vec![("accept", "application/json, text/event-stream")];
    all.extend(headers);
    timeout(LONG, stand.with("POST", "/mcp", &all, Some(&message))).await.expect("it is answered")
}

async fn initialize(stand: &Stand, headers: &[(&str, &str)], revision: &str) -> Answer {
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    send(stand, headers, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await
}

fn listing() -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} })
}

// `docs/mcp.md`
#[tokio::test]
async fn sessions_of_mcp_are_bounded_whatever_a_request_says_and_however_many_come_at_once() {
    let stand = Stand::on(SHOP, bounded(|bounds| bounds.mcp_sessions = 2)).await;
    let newest = [("mcp-protocol-version", STATELESS)];
    let first = initialize(&stand, &newest, STATELESS).await;
    assert_eq!(first.status, 200, "{first:?}");
    let rest = tokio::join!(
        initialize(&stand, &newest, STATELESS),
        initialize(&stand, &[], "2025-06-18"),
        initialize(&stand, &newest, STATELESS),
        initialize(&stand, &[], STATELESS)
    );
    let mut statuses = [rest.0.status, rest.1.status, rest.2.status, rest.3.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 429, 429, 429]);
    let refused = initialize(&stand, &newest, STATELESS).await;
    assert_eq!((refused.code(), refused.headers.contains_key("retry-after")), ("too-many".to_owned(), true), "{refused:?}");
    // One that ends makes room for another.
    let ended = stand.with("DELETE", "/mcp", &[("mcp-session-id", &first.headers["mcp-session-id"])], None).await;
    assert_eq!((ended.status, &*ended.text), (204, ""), "{ended:?}");
    // As the official clients understand it: one that is over is none, and neither is one that never was.
    for session in [&*first.headers["mcp-session-id"], "nobody"] {
        for method in ["DELETE", "POST"] {
            let headers = [("accept", "application/json, text/event-stream"), ("mcp-session-id", session)];
            let body = Some(listing()).filter(|_| method == "POST");
            let over = stand.with(method, "/mcp", &headers, body.as_ref()).await;
            assert_eq!((over.status, over.code()), (404, "unknown-session".to_owned()), "{method} {session}");
        }
    }
    let nameless = stand.with("DELETE", "/mcp", &[], None).await;
    assert_eq!((nameless.status, nameless.code()), (400, "bad-request".to_owned()), "{nameless:?}");
    let newer = stand.with("DELETE", "/mcp", &newest, None).await;
    assert_eq!((newer.status, newer.code()), (405, "method".to_owned()), "{newer:?}");
    assert_eq!(initialize(&stand, &[], "2025-06-18").await.status, 200);
}

// `docs/mcp.md`, `docs/serve.md#security`
#[tokio::test]
async fn mcp_is_for_tokens_that_may_read_or_walk_and_a_session_is_of_one_token() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut text = String::new();
    for right in ["read", "walk", "approve", "operate", "metrics"] {
        let digest: String = Sha256::digest(right).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{digest} {right} only-{right}").unwrap();
    }
    fs::write(file.path(), text).unwrap();
    let stand = Stand::on(SHOP, Terms { tokens: Tokens::of_file(file.path()).unwrap(), ..Terms::default() }).await;
    for right in ["approve", "operate", "metrics"] {
        let refused = initialize(&stand, &[("authorization", &format!("Bearer {right}"))], "2025-06-18").await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden".to_owned()), "{right}");
    }
    let opened = initialize(&stand, &[("authorization", "Bearer walk")], "2025-06-18").await;
    let session = ("mcp-session-id", &*opened.headers["mcp-session-id"]);
    let theirs = send(&stand, &[("authorization", "Bearer read"), session], listing()).await;
    assert_eq!((theirs.status, theirs.code()), (403, "forbidden".to_owned()));
}

// `docs/serve.md#security`
#[tokio::test]
async fn streams_and_bodies_of_mcp_are_bounded_as_all_are() {
    let set = |bounds: &mut Bounds| {
        (bounds.streams, bounds.mcp_body, bounds.body_time) = (1, 1000, Duration::from_millis(200));
    };
    let stand = Stand::on(SHOP, bounded(set)).await;
    let opened = initialize(&stand, &[], "2025-06-18").await;
    let session = ("mcp-session-id", &*opened.headers["mcp-session-id"]);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(send(&stand, &[session], initialized.clone()).await.status, 202);
    assert_eq!(send(&stand, &[session], listing()).await.status, 200, "one that is over has left its seat");
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n{}: {}\r\n", stand.port, session.0, session.1);
    let (stream, status) = begun(&stand, &format!("GET /mcp HTTP/1.1\r\n{head}accept: text/event-stream\r\n\r\n")).await;
    assert_eq!(status, "200");
    let refused = send(&stand, &[session], listing()).await;
    assert_eq!((refused.status, refused.code()), (429, "too-many".to_owned()));
    assert_eq!(send(&stand, &[session], initialized).await.status, 202, "what is no request needs no stream");
    drop(stream);
    while send(&stand, &[session], listing()).await.status == 429 {}

    let large = send(&stand, &[session], json!({ "id": 3, "method": "x".repeat(1000) })).await;
    assert_eq!((large.status, large.code(), &large.json()["limit"]), (413, "too-large".to_owned(), &json!(1000)));
    let half = "connection: close\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    let slow = timeout(LONG, stand.raw(&format!("POST /mcp HTTP/1.1\r\n{head}{half}"))).await.expect("it is answered");
    assert_eq!((slow.status, slow.code()), (408, "too-slow".to_owned()));
}
