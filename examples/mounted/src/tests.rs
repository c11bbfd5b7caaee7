//! The application answers both kinds of routes, and the server's keep their gates.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn ask(address: SocketAddr, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
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
