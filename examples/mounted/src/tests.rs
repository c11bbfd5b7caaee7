//! The application answers both kinds of routes, and the server's keep their gates.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn ask(address: SocketAddr, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
    ask_over(TcpStream::connect(address).expect("a connection"), address, method, path, token, body)
}

fn ask_over(mut stream: TcpStream, address: SocketAddr, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_of_both_stand_side_by_side() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graph");
    let tokens = Tokens::chosen(TOKEN).expect("a token");
    let server = server(&folder, Settings::new(tokens, HostNames::local(address))).await.expect("a server");
    tokio::spawn({
        let routes = application(&server);
        async move { axum::serve(listener, routes).await }
    });
    let ask = async |method: &'static str, path: &'static str, token: &'static str, body: &'static str| {
        tokio::task::spawn_blocking(move || ask(address, method, path, token, body)).await.expect("an answer")
    };
    assert_eq!(ask("GET", "/hello", "", "").await, (200, "hello".to_owned()));
    assert_eq!(ask("GET", "/api/graphs", "wrong", "").await.0, 401);
    assert_eq!(ask("POST", "/api/sessions", TOKEN, r#"{"id":"ana"}"#).await.0, 201);
    let (status, turn) = ask("POST", "/api/sessions/ana/turns", TOKEN, r#"{"input":"Tea"}"#).await;
    let turn: serde_json::Value = serde_json::from_str(&turn).expect("a turn");
    assert_eq!((status, &turn["stop"]["payload"]["output"]), (200, &"Tea".into()));
    server.stop().await;
    assert_eq!(ask("POST", "/api/sessions", TOKEN, "{}").await.0, 503);
}

/// A request whose answer lasts; its lines come one after the other.
fn open(address: SocketAddr, path: &str) -> impl Iterator<Item = String> {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    BufReader::new(stream).lines().map(|line| line.expect("a line"))
}

// An open stream is told of the end, and holds nothing up.
#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_a_stream_is_open() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graph");
    let tokens = Tokens::chosen(TOKEN).expect("a token");
    let server = server(&folder, Settings::new(tokens, HostNames::local(address))).await.expect("a server");
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(serve(listener, server, async { drop(ended.await) }));
    let mut lines = tokio::task::spawn_blocking(move || {
        let mut lines = open(address, "/api/events");
        assert!(lines.by_ref().any(|line| line == "retry: 1000"));
        lines
    })
    .await
    .expect("a stream");
    end.send(()).expect("it serves");
    tokio::time::timeout(Duration::from_secs(60), serving).await.expect("it ends").expect("it ends well").expect("it served");
    assert!(tokio::task::spawn_blocking(move || lines.any(|line| line == "event: bye")).await.expect("a goodbye"));
}

// Wrong tokens of one address close the door to that address alone, and to no right token.
#[tokio::test(flavor = "multi_thread")]
async fn clients_are_told_apart_by_their_addresses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graph");
    let tokens = Tokens::chosen(TOKEN).expect("a token");
    let server = server(&folder, Settings::new(tokens, HostNames::local(address))).await.expect("a server");
    tokio::spawn(serve(listener, server, std::future::pending()));
    let ask = async |from: [u8; 4], token: &'static str| {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind((from, 0).into()).expect("an address of this machine");
        let stream = socket.connect(address).await.expect("a connection").into_std().expect("a stream");
        stream.set_nonblocking(false).expect("a stream that waits");
        tokio::task::spawn_blocking(move || ask_over(stream, address, "GET", "/api/graphs", token, "").0).await.expect("an answer")
    };
    for _ in 0..10 {
        assert_eq!(ask([127, 0, 0, 9], "wrong").await, 401);
    }
    assert_eq!((ask([127, 0, 0, 9], "wrong").await, ask([127, 0, 0, 2], "wrong").await), (429, 401));
    assert_eq!((ask([127, 0, 0, 9], TOKEN).await, ask([127, 0, 0, 2], TOKEN).await), (200, 200));
}
