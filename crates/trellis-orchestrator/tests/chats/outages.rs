//! Models that are away for a while (orchestrator 7.1).

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use crate::{held::change, world::World};

/// The requests that a call makes by itself before somebody is told.
const QUICK_ATTEMPTS: usize = 2;

/// Reads a request to its end.
fn read_request(stream: &TcpStream) {
    let (mut reader, mut length) = (BufReader::new(stream), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).expect("a body");
}

/// A model that is away for a while, and answers once it is `back`.
fn serve(listener: &TcpListener, back: &Receiver<()>) {
    for (number, stream) in listener.incoming().enumerate() {
        let mut stream = stream.expect("a connection");
        read_request(&stream);
        let (status, body) = if number < QUICK_ATTEMPTS {
            ("503 Service Unavailable", "{}")
        } else {
            back.recv().expect("the test goes on");
            ("200 OK", r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello, Ana."},"finish_reason":"stop"}]}"#)
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .expect("written");
    }
}

// orchestrator 7.1: a question outlives an outage of the model: its chat is told once, the model is asked again, and the answer says that it is late
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_away_is_asked_again() {
    let world = World::new("");
    drop(world.opened().await);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (comes_back, back) = channel();
    thread::spawn(move || serve(&listener, &back));
    let settings = format!(
        "providers: {{ house: {{ openai: \"http://127.0.0.1:{port}/v1\" }} }}\nroles: {{ agent: [{{ provider: house, model: any }}] }}\n"
    );
    fs::write(world.at("orchestrator.yaml"), settings).expect("written");
    let mut chat = world.chat().await;
    let said = chat.ask("Hello").await;
    assert!(said.starts_with("The model cannot be reached now (http-503)."), "{said}");
    assert_eq!(change(&world, "update outbox set queued = queued - 3600000 where key like 'away:%'"), 1);
    comes_back.send(()).expect("it waits");
    let answer = chat.hear().await;
    assert!(answer.starts_with("(late by ") && answer.ends_with(" min) Hello, Ana."), "{answer}");
    assert_eq!(chat.leave().await.len(), 2);
}
