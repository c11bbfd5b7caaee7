//! The server, over real sockets.

use std::{fs, path::Path};

use serde_json::{Value as Wire, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::*;

/// A server, and how it is ended.
struct Server {
    port: u16,
    end: oneshot::Sender<()>,
    served: JoinHandle<Result<(), Failed>>,
}

impl Server {
    async fn begin(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let store = format!("sqlite:{}", folder.join("pizza.db").display());
        let (end, ended) = oneshot::channel();
        let ended = async {
            let _ = ended.await;
        };
        let served = tokio::spawn(serve(listener, folder.join("graph"), store, ended));
        Self { port, end, served }
    }

    async fn end(self) {
        self.end.send(()).unwrap();
        self.served.await.unwrap().unwrap();
    }

    /// One request: the status and the body.
    async fn request(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let length = body.len();
        let text = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    async fn turn(&self, method: &str, path: &str, body: &str) -> (u16, Wire) {
        let (status, body) = self.request(method, path, body).await;
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
    }
}

/// A copy of the graph that can be edited, in a folder of its own.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("graph")).unwrap();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("graph")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join("graph").join(file.file_name())).unwrap();
    }
    folder
}

#[tokio::test]
async fn a_pizza_is_ordered_over_http_and_a_restart() {
    let folder = folder();
    let server = Server::begin(folder.path()).await;
    let (_, asked) = server.turn("POST", "/sessions", "").await;
    assert_eq!(
        (asked["said"][0]["text"].as_str(), &asked["stop"]["payload"]["input_type"]),
        (Some("# Pizza\n\nWhich one?\n"), &json!("choice"))
    );
    let path = format!("/sessions/{}", asked["session"].as_str().unwrap());
    let refused = server.request("POST", &path, r#"{"input": "calzone"}"#).await;
    assert_eq!(refused.0, 409, "{}", refused.1);
    assert_eq!(server.request("POST", &path, "calzone").await.0, 400);
    assert_eq!(server.request("GET", "/sessions/nobody", "").await.0, 404);
    let order = format!(r#"{{"input": "marinara", "seq": {}}}"#, asked["seq"]);
    let (_, held) = server.turn("POST", &path, &order).await;
    assert_eq!((&held["stop"]["type"], &held["stop"]["payload"]["ask"]), (&json!("APPROVAL"), &json!("Bake a marinara?")));
    server.end().await;

    let server = Server::begin(folder.path()).await;
    let (_, seen) = server.turn("GET", &path, "").await;
    assert_eq!((&seen["stop"], &seen["seq"]), (&held["stop"], &held["seq"]));
    let (status, again) = server.turn("POST", &path, &order).await;
    assert_eq!((status, &again["stop"]), (412, &held["stop"]), "a click that comes twice counts once");
    let approve = json!({ "approve": held["stop"]["payload"]["id"] }).to_string();
    let (status, ended) = server.turn("POST", &path, &approve).await;
    assert_eq!((status, &ended["stop"]["payload"]["output"]), (200, &json!({ "pizza": "marinara", "minutes": 7 })));
    server.end().await;
}

#[tokio::test]
async fn an_edit_is_asked_by_the_next_session_and_makes_an_old_answer_stale() {
    let folder = folder();
    let server = Server::begin(folder.path()).await;
    let (_, asked) = server.turn("POST", "/sessions", "").await;
    let start = folder.path().join("graph/start.md");
    let edited = fs::read_to_string(&start).unwrap().replace("Which one?", "Which pizza?");
    fs::write(&start, edited).unwrap();
    loop {
        let (_, other) = server.turn("POST", "/sessions", "").await;
        if other["said"][0]["text"] == "# Pizza\n\nWhich pizza?\n" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // In memory the graph that asked takes the answer; a server that was begun anew has only the new one.
    server.end().await;
    let server = Server::begin(folder.path()).await;
    let path = format!("/sessions/{}", asked["session"].as_str().unwrap());
    let order = format!(r#"{{"input": "marinara", "seq": {}}}"#, asked["seq"]);
    let (status, now) = server.turn("POST", &path, &order).await;
    assert_eq!((status, now["said"][0]["text"].as_str()), (412, Some("# Pizza\n\nWhich pizza?\n")));
    server.end().await;
}
