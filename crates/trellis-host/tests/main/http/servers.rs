//! Servers: a socket that answers with given bytes, and Python's own `http.server`, plain and behind TLS.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

/// A socket: each request is kept, and answered by a function of its number.
pub(super) struct RawServer {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl RawServer {
    /// Hands the open connection to `answer`, after each request that came over it.
    pub(super) fn with(answer: impl Fn(usize, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, kept, answer) = (stream.unwrap(), Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || {
                    while let Some(request) = read_request(&mut stream) {
                        let number = {
                            let mut kept = kept.lock().unwrap();
                            kept.push(request);
                            kept.len() - 1
                        };
                        if answer(number, &mut stream).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// Answers every request with these bytes, and closes the connection.
    pub(super) fn new(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::with(move |_, stream| {
            stream.write_all(&answer)?;
            stream.shutdown(std::net::Shutdown::Both)
        })
    }

    /// Answers with this status line and these headers, a line each, and a body of the right length.
    pub(super) fn answering(status: &str, headers: &str, body: &str) -> Self {
        Self::new(response(status, headers, body))
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) fn request(&self) -> String {
        self.requests().pop().unwrap()
    }
}

pub(super) fn response(status: &str, headers: &str, body: &str) -> String {
    let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    // The connection is closed behind it: a client that is not told may use it again meanwhile.
    format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A request with its body; nothing at the end of the connection.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let head = loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
        if request.ends_with(b"\r\n\r\n") {
            break String::from_utf8_lossy(&request).to_lowercase();
        }
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.extend(body);
    Some(String::from_utf8_lossy(&request).into_owned())
}

/// Python's `http.server` over a folder; it ends with the test.
pub(super) struct PythonServer {
    child: Child,
    pub(super) port: u16,
}

const PYTHON: &str = "
import http.server, ssl, sys
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";

impl PythonServer {
    pub(super) fn start(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    /// Behind TLS, with a certificate and its key, both files of the folder.
    pub(super) fn tls(folder: &Path, certificate: &str, key: &str) -> Self {
        Self::with(folder, &[certificate, key])
    }

    fn with(folder: &Path, args: &[&str]) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", PYTHON]).args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = python.spawn().expect("python3 starts; install the package python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().expect("the port that it listens on") }
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
