//! Messages over standard input and output. The reader of `lsp-server` would allocate whatever length a header names.
//!
//! **Invariant:** of a message that is too large, only its id, its method and the URI of its document are kept.

use std::{
    io::{self, BufRead, Read},
    thread::{Builder, JoinHandle},
};

use crossbeam_channel::bounded;
use lsp_server::{Connection, ErrorCode, Message, Notification, RequestId, Response};
use serde::Deserialize;
use serde_json::json;

/// The longest message that is read.
const MESSAGE: u64 = 16 << 20;
/// The longest line of a header.
const HEADER: u64 = 4096;

/// The method under which the server hears of a notification that was too large.
pub(crate) const REFUSED: &str = "$/trellis/refused";

/// The threads that read and write.
pub(crate) struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits until everything is written and the client closed its stream.
    pub(crate) fn join(self) -> io::Result<()> {
        let ended = |thread: JoinHandle<io::Result<()>>| thread.join().unwrap_or_else(|_| Err(io::Error::other("a stream broke")));
        ended(self.reader)?;
        ended(self.writer)
    }
}

/// Connects the standard streams.
pub(crate) fn stdio() -> io::Result<(Connection, Threads)> {
    let (sender, to_write) = bounded::<Message>(0);
    let (to_take, receiver) = bounded::<Message>(0);
    let write = move || {
        let mut output = io::stdout().lock();
        to_write.into_iter().try_for_each(|message| message.write(&mut output))
    };
    let answers = sender.clone();
    let read = move || {
        let mut input = io::stdin().lock();
        while let Some(received) = read(&mut input, MESSAGE)? {
            let message = match received {
                Received::Whole(message) => message,
                Received::Refused(response) => match answers.send(response.into()) {
                    Ok(()) => continue,
                    Err(_) => break,
                },
            };
            let is_exit = matches!(&message, Message::Notification(note) if note.method == "exit");
            if to_take.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    };
    let writer = Builder::new().name("trellis-write".into()).spawn(write)?;
    let reader = Builder::new().name("trellis-read".into()).spawn(read)?;
    Ok((Connection { sender, receiver }, Threads { reader, writer }))
}

/// A message that came in.
#[derive(Debug)]
enum Received {
    /// A message, or the word that a notification was too large.
    Whole(Message),
    /// The answer to a request that was too large.
    Refused(Response),
}

/// The part of a message that is kept if it is too large.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outline {
    id: Option<RequestId>,
    method: Option<String>,
    params: About,
}

/// The subject of a message.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct About {
    text_document: Document,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    uri: Option<String>,
}

/// Reads a message; `None` at the end of the stream.
fn read(input: &mut impl BufRead, limit: u64) -> io::Result<Option<Received>> {
    loop {
        let Some(length) = length(input)? else { return Ok(None) };
        let mut body = input.by_ref().take(length);
        if length <= limit {
            let mut text = Vec::new();
            body.read_to_end(&mut text)?;
            if (text.len() as u64) < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            return serde_json::from_slice(&text).map(|message| Some(Received::Whole(message))).map_err(invalid);
        }
        let outline: Outline = serde_json::from_reader(&mut body).unwrap_or_default();
        io::copy(&mut body, &mut io::sink())?;
        let message = format!("a message of {length} bytes was not read, the limit is {limit}");
        match (outline.id, outline.method) {
            (Some(id), Some(_)) => return Ok(Some(Received::Refused(Response::new_err(id, ErrorCode::InvalidRequest as i32, message)))),
            (None, Some(_)) => {
                let params = json!({ "message": message, "textDocument": { "uri": outline.params.text_document.uri } });
                return Ok(Some(Received::Whole(Notification::new(REFUSED.into(), params).into())));
            }
            // The answer to a question of the server: none of them waits for one.
            _ => {}
        }
    }
}

/// Reads a header and returns the length of the body; `None` at the end of the stream.
fn length(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = std::str::from_utf8(&line).map_err(invalid)?;
        let Some(line) = line.strip_suffix("\r\n") else { return Err(invalid("a line of a header does not end")) };
        if line.is_empty() {
            return length.map(Some).ok_or_else(|| invalid("a header has no `Content-Length`"));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a line of a header has no `:`"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().map_err(invalid)?);
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages that came in, a line each, up to the end or the first mistake.
    fn received(stream: &[u8]) -> Vec<String> {
        let mut input = stream;
        let mut lines = Vec::new();
        loop {
            match read(&mut input, 100) {
                Ok(None) => return lines,
                Ok(Some(Received::Whole(message))) => lines.push(serde_json::to_string(&message).unwrap()),
                Ok(Some(Received::Refused(response))) => lines.push(format!("{} {:?}", response.id, response.response_result)),
                Err(error) => {
                    lines.push(error.kind().to_string());
                    return lines;
                }
            }
        }
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_message_that_is_too_large_is_refused_and_the_next_one_is_read() {
        let text = "x".repeat(200);
        let request = framed(&format!(r#"{{"params":{{"text":"{text}"}},"id":7,"method":"a"}}"#));
        let change = framed(&format!(
            r#"{{"method":"textDocument/didChange","params":{{"contentChanges":[{{"text":"{text}"}}],"textDocument":{{"uri":"file:///a.md"}}}}}}"#
        ));
        let answer = framed(&format!(r#"{{"id":8,"result":"{text}"}}"#));
        let exit = framed(r#"{"method":"exit"}"#);
        let found = received(format!("{request}{change}{answer}{}{exit}", framed(&"[".repeat(300))).as_bytes());
        assert!(found[0].starts_with("7 Err") && found[0].contains("the limit is 100"), "{found:#?}");
        assert!(found[1].contains(REFUSED) && found[1].contains("file:///a.md"), "{found:#?}");
        assert_eq!((found.len(), &*found[2]), (3, r#"{"method":"exit"}"#));
    }

    #[test]
    fn headers_that_make_no_sense_end_the_stream_and_nothing_is_made_room_for() {
        let (invalid, short) = (io::ErrorKind::InvalidData.to_string(), io::ErrorKind::UnexpectedEof.to_string());
        for broken in
            ["Content-Length: x\r\n\r\n", "\r\n", "Content-Length 3\r\n\r\n", "Content-Length: 3\n\n{}", "Content-Length: -1\r\n\r\n"]
        {
            assert_eq!(received(broken.as_bytes()), [invalid.as_str()], "{broken}");
        }
        assert_eq!(received(b"Content-Length: 90\r\n\r\n{}"), [short]);
        assert_eq!(received(b"Content-Length: 18446744073709551615\r\n\r\n{"), [""; 0]);
        assert_eq!(received("x".repeat(9000).as_bytes()), [invalid.as_str()]);
    }
}
