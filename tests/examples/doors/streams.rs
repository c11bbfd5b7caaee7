//! Very many open streams: what each costs, against bare ones.

use std::{
    convert::Infallible,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, http::header, response::IntoResponse as _, routing::get};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use trellis_host::assembly::{Assembly, StoreSettings};
use trellis_server::{GraphSource, HostNames, Served, Server, Settings, Tokens};

use crate::{
    LOOP, Outcome,
    programs::{Program, graph, rss},
};

/// Streams at once.
const STREAMS: usize = 10_000;

/// Serves streams until it is killed: bare ones, or those of a server whose bounds are lifted.
pub(crate) async fn serve(kind: &str) -> Outcome<()> {
    raise()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("{}", address.port());
    if kind == "bare" {
        let events = async || {
            let first = futures_util::stream::iter([Ok::<_, Infallible>("retry: 1000\n\n")]);
            let forever = futures_util::StreamExt::chain(first, futures_util::stream::pending());
            ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(forever)).into_response()
        };
        return Ok(axum::serve(listener, Router::new().route("/api/events", get(events))).await?);
    }
    let folder = graph("loop", LOOP)?;
    let kept = StoreSettings::of(folder.path(), &[]).address_or_default(Some("memory".to_owned())).open().await?;
    let served = Served::open(vec![GraphSource::new(folder.path(), Assembly::new(), kept)], false).await?;
    let mut settings = Settings::new(Tokens::none(), HostNames::local(address));
    (settings.bounds.connections, settings.bounds.streams) = (2 * STREAMS, 2 * STREAMS);
    Server::new(served, settings).serve(listener, std::future::pending()).await;
    Ok(())
}

/// As many files as the system lets a process have.
fn raise() -> Outcome<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

async fn open(kind: &str) -> Outcome<(Program, Vec<TcpStream>, f64)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["streams", kind]);
    let program = Program::begin(command, false)?;
    let before = rss(program.id())?;
    let request: Arc<str> = format!("GET /api/events HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", program.port).into();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = TcpStream::connect(("127.0.0.1", program.port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut first = [0; 12];
        stream.read_exact(&mut first).await?;
        streams.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let each = (rss(program.id())? - before) as f64 / STREAMS as f64;
    Ok((program, streams, each))
}

/// Opens them, and lets one session move.
pub(crate) async fn compared() -> Outcome<()> {
    raise()?;
    let (bare, streams, alone) = open("bare").await?;
    drop((bare, streams));
    let (program, streams, each) = open("ours").await?;
    println!("{STREAMS} streams (≤ 1.15 × a bare one): {:.2} ({each:.1} against {alone:.1} KiB each)", each / alone);
    let began = Instant::now();
    let readers = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let (mut text, mut buffer) = (String::new(), [0; 2048]);
            while !text.contains("event: session") {
                let read = stream.read(&mut buffer).await.unwrap_or_default();
                if read == 0 {
                    return false;
                }
                text += &String::from_utf8_lossy(&buffer[..read]);
            }
            true
        })
    });
    let readers: Vec<_> = readers.collect();
    program.post("/api/sessions", &json!({ "id": "ana" }))?;
    for reader in readers {
        assert!(reader.await?, "a stream ended");
    }
    println!("a move reaches all of them (≤ 500 ms, of which 100 are gathered): {} ms", began.elapsed().as_millis());
    Ok(())
}
