//! A collector for tests: takes OTLP over HTTP, and behaves as it is told to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;

/// The manner of its answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// Takes everything.
    Takes,
    /// Says this and takes nothing.
    Says(&'static str),
    /// Reads and says nothing, for ever.
    IsSilent,
}

/// A request: its head and its body as they came.
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    pub(crate) fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let all = Arc::clone(&all);
                thread::spawn(move || serve(stream.unwrap(), manner, &all));
            }
        });
        Self { endpoint, received }
    }

    /// Returns the number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// Returns the bytes of all requests.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let received = self.received.lock().unwrap();
        received.iter().flat_map(|one| [one.head.as_bytes(), &one.body].concat()).collect()
    }

    /// The head of each request.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|one| one.head.clone()).collect()
    }

    /// Returns the contents of each request.
    pub(crate) fn exports(&self) -> Vec<ExportTraceServiceRequest> {
        self.received.lock().unwrap().iter().map(|one| ExportTraceServiceRequest::decode(&one.body[..]).unwrap()).collect()
    }

    /// All spans that came.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let resources = self.exports().into_iter().flat_map(|export| export.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

fn serve(stream: TcpStream, manner: Manner, received: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok()).unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        received.lock().unwrap().push(Received { head, body });
        let status = match manner {
            Manner::Takes => "200 OK",
            Manner::Says(status) => status,
            Manner::IsSilent => loop {
                thread::park();
            },
        };
        // One that waits no longer is no failure of the test.
        if write!(writer, "HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// The text or number of an attribute.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}
