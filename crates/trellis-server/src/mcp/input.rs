//! Standard input, line by line: a line that is no JSON gets an answer, which the library leaves out.
//!
//! ```text
//! stdin ─▶ lines ─▶ JSON ─▶ pipe ─▶ transport
//!               └▶ junk ─▶ Unreadable ─▶ error -32700
//! ```

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Stdin},
    sync::mpsc,
};

/// The bytes that wait between standard input and the transport.
const PIPE: usize = 64 * 1024;

/// The reasons that wait to be told. A client that takes no answers is read no further.
const MAX_WAITING: usize = 16;

/// The reasons why lines were no JSON, in order.
pub(super) type Unreadable = mpsc::Receiver<String>;

/// Returns standard input without the lines that are no JSON, and the reasons why these were none.
pub(super) fn lines(stdin: Stdin) -> (DuplexStream, Unreadable) {
    let (mut into, pipe) = tokio::io::duplex(PIPE);
    let (junk, unreadable) = mpsc::channel(MAX_WAITING);
    tokio::spawn(async move {
        let (mut input, mut line) = (BufReader::new(stdin), Vec::new());
        while input.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            match serde_json::from_slice::<serde_json::Value>(&line) {
                _ if line.trim_ascii().is_empty() => {}
                Ok(_) => {
                    if line.last() != Some(&b'\n') {
                        line.push(b'\n');
                    }
                    if into.write_all(&line).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    if junk.send(format!("the line is no JSON: {error}")).await.is_err() {
                        return;
                    }
                }
            }
            line.clear();
        }
    });
    (pipe, unreadable)
}
