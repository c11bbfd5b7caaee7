//! An endpoint that says, byte by byte, what a test wants.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A part of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Bytes, sent at once.
    Bytes(Vec<u8>),
    /// Time in which nothing is sent.
    Pause(Duration),
}

/// An endpoint; it ends with this.
pub(crate) struct Endpoint {
    /// The beginning of its URLs.
    pub(crate) base: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Answers the first request with the first of these, and so on; the last one answers all others as well.
    pub(crate) async fn saying(answers: Vec<Vec<Part>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let (heard, answers) = (Arc::clone(&heard), answers.clone());
                tokio::spawn(async move {
                    let Some(request) = request(&mut stream).await else { return };
                    let count = {
                        let mut heard = heard.lock().unwrap();
                        heard.push(request);
                        heard.len()
                    };
                    let parts = &answers[(count - 1).min(answers.len() - 1)];
                    for part in parts {
                        match part {
                            Part::Bytes(bytes) => drop(stream.write_all(bytes).await),
                            Part::Pause(time) => tokio::time::sleep(*time).await,
                        }
                    }
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { base, requests, task }
    }

    /// Answers every request with these events.
    pub(crate) async fn streaming(events: &[&str]) -> Self {
        Self::saying(vec![stream(events)]).await
    }

    /// Returns the requests so far: head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A status with a body.
pub(crate) fn status(status: &str, headers: &str, body: &str) -> Vec<Part> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    vec![Part::Bytes((head + body).into_bytes())]
}

/// Events that end with the connection.
pub(crate) fn stream(events: &[&str]) -> Vec<Part> {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    raw_stream(&[body.as_bytes()])
}

/// A stream in pieces, as they are.
pub(crate) fn raw_stream(pieces: &[&[u8]]) -> Vec<Part> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
    let mut parts = vec![Part::Bytes(head.into())];
    for piece in pieces {
        parts.push(Part::Bytes(piece.to_vec()));
        parts.push(Part::Pause(Duration::from_millis(15)));
    }
    parts
}

/// An event with text.
pub(crate) fn says(text: &str) -> String {
    serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string()
}

/// The event that ends an answer.
pub(crate) fn ends(reason: &str) -> String {
    serde_json::json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string()
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut chunk).await.ok()?;
        read.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return Some(text);
            }
        }
        if length == 0 {
            return None;
        }
    }
}
