//! The costs of a model's text while it streams: 10,000 chunks on loopback, against reading the same bytes.
//!
//! `cargo bench -p trellis-tests --bench model`; `docs/performance.md` says what must come out.

use std::{
    fmt::Write as _,
    io::{Read, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use divan::Bencher;
use tokio::{runtime::Runtime, sync::Notify};
use trellis_core::{Dialect, Document, Program, Source, ToolOutcome, compile, state::PendingCall};
use trellis_host::{
    Bindings,
    binding::{Caller, Host},
};

const CHUNKS: usize = 10_000;

fn main() {
    divan::main();
}

/// The bytes of the stream, read by the client alone.
#[divan::bench]
fn bytes_alone(bencher: Bencher<'_, '_>) {
    let (url, runtime) = (serve(None), runtime());
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{url}/chat/completions");
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut response = client.post(&url).body("{}").send().await.expect("a response");
            let mut read = 0;
            while let Some(chunk) = response.chunk().await.expect("a chunk") {
                read += chunk.len();
            }
            read
        })
    });
}

/// The same as a call of a binding: each chunk is told, and the whole is the result.
#[divan::bench]
fn stream(bencher: Bencher<'_, '_>) {
    let (role, runtime) = (Role::at(&serve(None)), runtime());
    let caller = Caller::new("s".into(), "g".into(), |_| {}).watched(|delta| drop(divan::black_box(delta)));
    bencher.bench_local(|| {
        let result = runtime.block_on(role.bindings.call(&role.program, &role.call, &caller));
        assert!(matches!(result.outcome, ToolOutcome::Success(_)), "{result:?}");
        result
    });
}

/// From the request to the first piece of text that is told; the rest of the stream never comes.
#[divan::bench]
fn first_delta(bencher: Bencher<'_, '_>) {
    let (hold, held) = channel();
    let (role, runtime) = (Role::at(&serve(Some(held))), runtime());
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let caller = Caller::new("s".into(), "g".into(), |_| {}).watched(move |_| tells.notify_one());
    bencher.bench_local(|| {
        runtime.block_on(async {
            tokio::select! {
                result = role.bindings.call(&role.program, &role.call, &caller) => panic!("{result:?}"),
                () = told.notified() => {}
            }
        });
    });
    drop::<Sender<()>>(hold);
}

/// The same for the client alone: from the request to its first bytes.
#[divan::bench]
fn first_bytes(bencher: Bencher<'_, '_>) {
    let (hold, held) = channel();
    let (url, runtime) = (serve(Some(held)), runtime());
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{url}/chat/completions");
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut response = client.post(&url).body("{}").send().await.expect("a response");
            response.chunk().await.expect("a chunk")
        })
    });
    drop::<Sender<()>>(hold);
}

/// A program that asks a model, and a call of it.
struct Role {
    program: Arc<Program>,
    bindings: Bindings,
    call: PendingCall,
}

impl Role {
    fn at(url: &str) -> Self {
        let project = format!(
            "models: {{ providers: {{ cloud: {{ openai: \"{url}\" }} }}, roles: {{ helper: [{{ provider: cloud, model: m }}] }} }}\n\
             bindings: {{ ask: {{ model: {{ role: helper, stream: always }}, effect: none }} }}\n"
        );
        let files = [("trellis.yaml", project.as_str()), ("start.md", "---\ndo: { name: ask, args: { prompt: hi } }\n---\n")];
        let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
        let program = compile(&documents).program.expect("it compiles");
        let (bindings, _) = Bindings::new(&program, Path::new("."), &Host::new());
        let call = r#"{"id":"c","name":"ask","role":"do","node":"start","args":{"prompt":"hi"},"idempotency_key":"k","attempt":1}"#;
        Self { program, bindings, call: serde_json::from_str(call).expect("a call") }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// An endpoint that answers each request with a stream of words; its address. With `held` it sends one of them and then waits until nobody holds it.
fn serve(held: Option<Receiver<()>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let chunk = |text: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let mut body = chunk("word 0 ");
    let first = body.len();
    for word in 1..CHUNKS {
        body.push_str(&chunk(&format!("word {word} ")));
    }
    write!(body, "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n").expect("a text");
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", body.len());
    let sent = if held.is_some() { first } else { body.len() };
    let answer: Arc<str> = (head + &body[..sent]).into();
    let held = held.map(|held| Arc::new(Mutex::new(held)));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, held) = (Arc::clone(&answer), held.clone());
            thread::spawn(move || answer_all(stream, answer.as_bytes(), held.as_deref()));
        }
    });
    url
}

fn answer_all(mut stream: TcpStream, answer: &[u8], held: Option<&Mutex<Receiver<()>>>) {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    stream.set_nodelay(true).ok();
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        request.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        if body.len() < length {
            continue;
        }
        request.clear();
        if stream.write_all(answer).is_err() {
            return;
        }
        if let Some(held) = held {
            // It ends with an error when the other side is dropped.
            let _ = held.lock().expect("nobody panics").recv();
            return;
        }
    }
}
