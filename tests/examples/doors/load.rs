//! A load of requests over kept connections, and the same steps without a server.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value as Json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use trellis_core::{Dialect, Document, Engine, Input, Predicates, SessionId, Source, Start, compile};
use trellis_host::{
    Bindings, Sessions,
    store::{SessionStore, SqliteStore},
};

use crate::Outcome;

/// Connections at once.
pub(crate) const CONNECTIONS: usize = 16;

/// A request that is sent over and over.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    port: u16,
    bytes: Arc<[u8]>,
}

impl Request {
    pub(crate) fn post(port: u16, path: &str, body: &Json, headers: &str) -> Self {
        let body = body.to_string();
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        Self { port, bytes: text.into_bytes().into() }
    }

    pub(crate) fn get(port: u16, path: &str, headers: &str) -> Self {
        Self { port, bytes: format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\n{headers}\r\n").into_bytes().into() }
    }
}

/// The results of a load: answers a second of each round, and the time of each answer.
#[derive(Debug, Default)]
pub(crate) struct Load {
    rates: Vec<f64>,
    times: Vec<Duration>,
}

impl Load {
    pub(crate) async fn of(requests: &[Request], rounds: usize, time: Duration) -> Outcome<Self> {
        let mut load = Self::default();
        for _ in 0..rounds {
            load.run(requests, time).await?;
        }
        Ok(load)
    }

    /// Sends requests over all connections for a while; each connection has one of them.
    pub(crate) async fn run(&mut self, requests: &[Request], time: Duration) -> Outcome<()> {
        let began = Instant::now();
        let connections = (0..CONNECTIONS).map(|at| {
            let request = requests[at % requests.len()].clone();
            tokio::spawn(async move { repeated(&request, time).await.map_err(|error| error.to_string()) })
        });
        let mut answers = 0;
        for connection in connections.collect::<Vec<_>>() {
            let times = connection.await??;
            answers += times.len();
            self.times.extend(times);
        }
        self.rates.push(answers as f64 / began.elapsed().as_secs_f64());
        Ok(())
    }

    pub(crate) fn median(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    }

    pub(crate) fn p99(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() * 99 / 100]
    }
}

async fn repeated(request: &Request, time: Duration) -> Outcome<Vec<Duration>> {
    let mut stream = TcpStream::connect(("127.0.0.1", request.port)).await?;
    stream.set_nodelay(true)?;
    let (began, mut times, mut buffer) = (Instant::now(), Vec::new(), Vec::with_capacity(64 << 10));
    while began.elapsed() < time {
        let asked = Instant::now();
        stream.write_all(&request.bytes).await?;
        answer(&mut stream, &mut buffer).await?;
        times.push(asked.elapsed());
    }
    Ok(times)
}

/// Reads one answer.
///
/// # Errors
/// It is none, or a refusal.
pub(crate) async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Outcome<()> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the connection ended".into());
        }
        let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
        if !head.starts_with("http/1.1 20") {
            return Err(format!("refused: {}", String::from_utf8_lossy(buffer)).into());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let whole = end + 4 + length.ok_or("an answer without a length")?.trim().parse::<usize>()?;
        while buffer.len() < whole {
            stream.read_buf(buffer).await?;
        }
        return Ok(());
    }
}

/// Steps of as many sessions at once, durable, without a server: how many a second.
pub(crate) async fn durable(folder: &Path, files: &[(&str, &str)], rounds: usize, time: Duration) -> Outcome<f64> {
    let documents: Vec<_> =
        files.iter().map(|(path, text)| Arc::new(Document::parse(&Source::text(*path, text), Dialect::default()))).collect();
    let program = compile(&documents).program.ok_or("the graph has mistakes")?;
    let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(folder.join("host.db"))?);
    let sessions = Arc::new(Sessions::new(Engine::new(program, Predicates::new())?, Bindings::none())?.store(store, "loop"));
    let mut rates = Vec::new();
    for round in 0..rounds {
        let began = Instant::now();
        let tasks = (0..CONNECTIONS).map(|number| {
            let (sessions, id) = (Arc::clone(&sessions), SessionId::from(&*format!("r{round}-{number}")));
            tokio::spawn(async move {
                let start = Start { session: Some(id.clone()), ..Start::default() };
                sessions.start(start).await.map_err(|error| error.to_string())?;
                let (began, mut steps) = (Instant::now(), 0_u32);
                while began.elapsed() < time {
                    sessions.send(&id, Input::Text("word".to_owned())).await.map_err(|error| error.to_string())?;
                    steps += 1;
                }
                Ok::<_, String>(steps)
            })
        });
        let mut steps = 0.0;
        for task in tasks.collect::<Vec<_>>() {
            steps += f64::from(task.await??);
        }
        rates.push(steps / began.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[rates.len() / 2])
}
