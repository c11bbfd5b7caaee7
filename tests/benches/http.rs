//! The costs of a call over HTTP on loopback, over a connection that stays open, against the client underneath alone.
//!
//! `cargo bench -p trellis-tests --bench http`; `docs/performance.md` says what must come out.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::Arc,
    thread,
};

use divan::Bencher;
use tokio::runtime::Runtime;
use trellis_core::{Dialect, Document, Source, ToolOutcome, compile, state::PendingCall};
use trellis_host::{
    Bindings,
    binding::{Caller, Host},
};

fn main() {
    divan::main();
}

/// A request of the client alone, its body read.
#[divan::bench]
fn client_alone(bencher: Bencher<'_, '_>) {
    let (url, runtime) = (serve(), runtime());
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{url}/people/7?fields=a");
    bencher.bench_local(|| {
        runtime.block_on(async {
            let response = client.get(&url).header("authorization", "Bearer abc").send().await.expect("a response");
            response.bytes().await.expect("a body")
        })
    });
}

/// The same as a call of a binding: templates, request, body as a value.
#[divan::bench]
fn binding(bencher: Bencher<'_, '_>) {
    let (url, runtime) = (serve(), runtime());
    let project = format!(
        "bindings:\n  find:\n    http: {{ base: \"{url}\", get: \"/people/{{{{ id }}}}\", query: {{ fields: \"{{{{ fields }}}}\" }}, headers: {{ authorization: \"Bearer {{{{ token }}}}\" }} }}\n"
    );
    let files = [("trellis.yaml", project.as_str()), ("start.md", "---\ndo: find\n---\n")];
    let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
    let program = compile(&documents).program.expect("it compiles");
    let (bindings, _) = Bindings::new(&program, Path::new("."), &Host::new());
    let call = r#"{"id":"c","name":"find","role":"do","node":"start","args":{"id":"7","fields":"a","token":"abc"},"idempotency_key":"k","attempt":1}"#;
    let call: PendingCall = serde_json::from_str(call).expect("a call");
    let caller = Caller::new("s".into(), "g".into(), |_| {});
    bencher.bench_local(|| {
        let result = runtime.block_on(bindings.call(&program, &call, &caller));
        assert!(matches!(result.outcome, ToolOutcome::Success(_)), "{result:?}");
        result
    });
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A server that answers each request over a connection with 1 KB of JSON; its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let body = format!(r#"{{"name":"Ana","notes":["{}"]}}"#, "x".repeat(1_000));
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || answer_all(stream, answer.as_bytes()));
        }
    });
    url
}

fn answer_all(mut stream: TcpStream, answer: &[u8]) {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    stream.set_nodelay(true).ok();
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        request.extend_from_slice(&piece[..length]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}
