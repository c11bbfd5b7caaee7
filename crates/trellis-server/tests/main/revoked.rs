//! Tokens that are taken back while their streams are open, and rights.

use std::{fs, path::Path, time::Duration};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use trellis_server::Tokens;

use crate::{
    events::Stream,
    stand::{SHOP, Stand, TOKEN, Terms},
    subscriptions::Older,
};

/// The time after which a wait fails.
const LONG: Duration = Duration::from_secs(120);

/// Writes the file of the tokens: that of the keeper, and that of the streams with these rights, if it has some.
fn write(file: &Path, rights: &str) {
    let line = |token: &str, rights: &str, label: &str| {
        let digest: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digest} {rights} {label}\n")
    };
    let streams = if rights.is_empty() { String::new() } else { line(TOKEN, rights, "ana") };
    fs::write(file, line("keeper", "read,walk", "keeper") + &streams).unwrap();
}

/// A server whose streams have a token with these rights.
async fn stand(rights: &str) -> (tempfile::NamedTempFile, Stand) {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), rights);
    let stand = Stand::on(SHOP, Terms { tokens: Tokens::of_file(file.path()).unwrap(), ..Terms::default() }).await;
    let begun = stand.with("POST", "/api/sessions", &[KEEPER], Some(&json!({ "id": "ana" }))).await;
    assert_eq!(begun.status, 201);
    (file, stand)
}

const KEEPER: (&str, &str) = ("authorization", "Bearer keeper");

async fn answer(stand: &Stand, input: serde_json::Value) {
    assert_eq!(stand.with("POST", "/api/sessions/ana/turns", &[KEEPER], Some(&json!({ "input": input }))).await.status, 200);
}

/// The stream says goodbye before anything else, and ends.
async fn ended(stream: &mut Stream) {
    let bye = tokio::time::timeout(LONG, stream.next()).await.expect("it is told");
    assert_eq!(bye.name, "bye", "{bye:?}");
    assert!(tokio::time::timeout(LONG, stream.maybe()).await.expect("it ends").is_none());
}

// `docs/serve.md#security`: what a token may not see any more comes over no stream that it opened
#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_their_token() {
    let (file, stand) = stand("read,walk").await;
    let mut session = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    session.until("turn").await;
    let mut server = Stream::open(&stand, "/api/events", &[]).await;
    let mut other = Stream::open(&stand, "/api/events", &[KEEPER]).await;
    let older = Older::connect(&stand).await;
    let mut messages = older.listen().await;
    older.ask("resources/subscribe", json!({ "uri": "trellis://sessions/ana" })).await;
    write(file.path(), "");
    stand.server.tokens().reload().unwrap();
    ended(&mut session).await;
    ended(&mut server).await;
    messages.ended().await;
    answer(&stand, json!("Ada")).await;
    tokio::time::timeout(LONG, other.until("session")).await.expect("those of other tokens go on");
    // The session of MCP has ended: before, another token was told whose it is.
    let status = async || {
        let listing = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" });
        let headers = [KEEPER, ("accept", "application/json, text/event-stream"), ("mcp-session-id", &*older.session)];
        stand.with("POST", "/mcp", &headers, Some(&listing)).await.status
    };
    let gone = async { while status().await != 404 {} };
    tokio::time::timeout(LONG, gone).await.expect("the session ends");
}

// `docs/serve.md#security`: a stream was opened with rights that it shows; one more right changes nothing, one less ends it
#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_a_right() {
    let (file, stand) = stand("read,walk").await;
    let mut session = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    session.until("turn").await;
    write(file.path(), "read,walk,approve");
    stand.server.tokens().reload().unwrap();
    answer(&stand, json!("Ada")).await;
    let events = tokio::time::timeout(LONG, session.until("turn")).await.expect("it goes on");
    assert!(events.iter().all(|event| event.name != "bye"));
    write(file.path(), "read,approve");
    stand.server.tokens().reload().unwrap();
    ended(&mut session).await;
    let mut again = Stream::open(&stand, "/api/sessions/ana/events?since=1", &[]).await;
    tokio::time::timeout(LONG, again.until("turn")).await.expect("with the rights that are left, another one can be opened");
}
