//! The protocol over standard input and output: a message a line.
//!
//! Text on standard output that is no message is skipped, since servers print logs there. A line above the bound ends the connection.
//!
//! **Invariant:** never more than [`MAX_LINE`] bytes of a line are held.

use std::{io, sync::Arc};

use rmcp::{
    RoleClient,
    model::{ErrorData, RequestId, ServerJsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
};

use super::process::{LastWords, ServerProcess};

/// Bytes of one line from a server, as much as an answer over HTTP may have.
pub(super) const MAX_LINE: usize = 16 << 20;

/// A server's pipes.
pub(super) struct Stdio {
    process: ServerProcess,
    words: LastWords,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Stdio {
    pub(super) fn new(process: ServerProcess, stdin: ChildStdin, stdout: ChildStdout, words: LastWords) -> Self {
        let stdin = Arc::new(Mutex::new(Some(stdin)));
        Self { process, words, stdin, stdout: BufReader::with_capacity(64 << 10, stdout), line: Vec::new() }
    }

    /// Reads on to the end of the line; false at the end of the stream, and where the line is too long. May be dropped and called again.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(chunk @ [_, ..]) = self.stdout.fill_buf().await else { return false };
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(chunk.len(), |end| end + 1);
            if self.line.len() + length > MAX_LINE {
                self.words.sent_too_much(MAX_LINE);
                self.line = Vec::new();
                return false;
            }
            self.line.extend_from_slice(&chunk[..length]);
            self.stdout.consume(length);
            if end.is_some() {
                return true;
            }
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match &mut *stdin.lock().await {
                Some(stdin) => stdin.write_all(&line).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.read_line().await {
            let message = message(&self.line);
            self.line.clear();
            if message.is_some() {
                return message;
            }
        }
        if self.words.too_long().is_none() {
            self.process.note_end().await;
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.stdin.lock().await.take();
        self.process.end().await;
        Ok(())
    }
}

/// Reads one line; `None` if it is no message. An answer that cannot be read is an error of its request.
fn message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    #[derive(Deserialize)]
    struct Answer {
        jsonrpc: String,
        id: RequestId,
        #[serde(default)]
        method: Option<serde::de::IgnoredAny>,
    }
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Some(message),
        Err(error) => {
            let answer: Answer = serde_json::from_slice(line).ok()?;
            let malformed = ErrorData::internal_error(format!("the answer cannot be read: {error}"), None);
            (answer.jsonrpc == "2.0" && answer.method.is_none()).then(|| ServerJsonRpcMessage::error(malformed, Some(answer.id)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_passed_over() {
        for line in ["", "  \r\n", "listening on stdio\n", "{\n", "{\"level\": \"info\"}\n", "[1, 2]\n", "\u{feff}3\n"] {
            assert!(message(line.as_bytes()).is_none(), "{line:?}");
        }
        assert!(message(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\r\n").is_some());
        let Some(ServerJsonRpcMessage::Error(malformed)) = message(b"{\"jsonrpc\":\"2.0\",\"id\":3}\n") else { panic!() };
        assert_eq!(malformed.id, Some(RequestId::Number(3)));
    }
}
