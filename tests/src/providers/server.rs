//! A server of HTTP/1.1 that answers each request with what a function says.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use serde_json::Value as Json;

/// A request.
pub(super) struct HttpCall {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) authorization: String,
    /// The body, where it is JSON.
    pub(super) body: Json,
    /// The body as it came.
    pub(super) raw: Vec<u8>,
    pub(super) kind: String,
}

impl HttpCall {
    /// The parts of a form: the name of the field, that of the file, and what stands in it.
    pub(super) fn parts(&self) -> Vec<(String, Option<String>, String)> {
        let Some((_, boundary)) = self.kind.split_once("boundary=") else { return Vec::new() };
        let body = String::from_utf8_lossy(&self.raw).into_owned();
        let part = |part: &str| {
            let (head, text) = part.trim_start_matches("\r\n").split_once("\r\n\r\n")?;
            let named = |key: &str| Some(head.split_once(&format!("{key}=\""))?.1.split('"').next()?.to_owned());
            Some((named(" name")?, named("filename"), text.strip_suffix("\r\n")?.to_owned()))
        };
        body.split(&format!("--{boundary}")).filter_map(part).collect()
    }
}

/// An answer.
pub(super) struct HttpReply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    kind: &'static str,
    body: String,
    is_cut: bool,
}

impl HttpReply {
    pub(super) fn json(status: u16, body: &Json) -> Self {
        Self::text(status, &body.to_string())
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), kind: "application/json", body: body.to_owned(), is_cut: false }
    }

    /// The same as a page of another type.
    pub(super) fn typed(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Half of it.
    pub(super) fn cut(self) -> Self {
        Self { is_cut: true, ..self }
    }
}

/// Serves until the process ends.
pub(super) fn serve(answer: impl Fn(HttpCall) -> HttpReply + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            // Whoever goes away in the middle is missed by nobody.
            thread::spawn(move || drop(talk(&stream, &*answer)));
        }
    });
    address
}

fn talk(stream: &TcpStream, answer: &dyn Fn(HttpCall) -> HttpReply) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(call) = read(&mut reader)? {
        let HttpReply { status, headers, kind, body, is_cut } = answer(call);
        let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\n");
        if status != 204 {
            head += &format!("content-length: {}\r\n", body.len());
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let shown = if is_cut { &body[..body.floor_char_boundary(body.len() / 2)] } else { &*body };
        let mut stream = stream;
        stream.write_all(format!("{head}\r\n{shown}").as_bytes())?;
        if is_cut {
            return stream.shutdown(std::net::Shutdown::Both);
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<HttpCall>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let (mut length, mut authorization, mut kind) = (0, String::new(), String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            "authorization" => value.trim().clone_into(&mut authorization),
            "content-type" => value.trim().clone_into(&mut kind),
            _ => {}
        }
    }
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.to_owned(), decoded(value))).collect();
    let body = serde_json::from_slice(&raw).unwrap_or(Json::Null);
    Ok(Some(HttpCall { method, path: path.to_owned(), query, authorization, body, raw, kind }))
}

pub(super) fn decoded(value: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), value.as_bytes());
    while let [first, behind @ ..] = rest {
        let escaped = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = escaped.and_then(|digits| u8::from_str_radix(&String::from_utf8_lossy(digits), 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
