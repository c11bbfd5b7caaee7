//! JSON Lines: one object a line, out and in (`docs/reference/json-lines.md`).
//!
//! Lines that arrive while the program is busy are queued in order, but signals act at once.
//!
//! **Invariant:** no line is lost; a bad one is answered in its turn.

mod end;
mod incoming;

use std::{collections::VecDeque, fmt, io};

use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use trellis_core::{SessionId, id::CallId, state::PendingCall};

use self::incoming::{bad, parse};
use super::{
    console::{Asking, Awaited, Command, Console, Note, Reloaded},
    lines::{self, LineReader},
};
use crate::{
    controls::escaped,
    sessions,
    wire::{
        ApprovalQuestion, Call, CallResult, Delta, End, InputQuestion, KeepQuestion, KeysQuestion, Line, PolicyDecision, PredicateQuestion,
        Progress, Refusal, Reload, SessionEvent, Stop,
    },
};

/// A program at the other end.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use trellis_core::Start;
/// use trellis_host::{Bindings, JsonLines, Runner, Sessions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let mut output = Vec::new();
/// let console = JsonLines::new(&b"{\"input\": \"Ana\"}\n"[..], &mut output, 1 << 20);
/// Runner::new(console, Sessions::new(engine, Bindings::none())?).run(Start::default()).await?;
/// let output = String::from_utf8(output)?;
/// assert!(output.contains(r#""type":"REQUEST_INPUT""#) && output.contains("Hello Ana."));
/// # Ok(())
/// # }
/// ```
pub struct JsonLines<R, W> {
    lines: LineReader<R>,
    writer: W,
    /// The commands that came while the program was busy.
    early: VecDeque<(Command, u64)>,
    early_bytes: u64,
    limit: u64,
    /// Parts that were printed last, and whether as calls.
    parts: VecDeque<(CallId, bool)>,
    /// The child whose lines are printed.
    child: Option<SessionId>,
}

/// Parts that are remembered as printed: more than can be open at once.
const PARTS: usize = 256;

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> JsonLines<R, W> {
    /// Lines from `reader`, lines to `writer`; a line is at most `limit` bytes, which must hold inputs and results of tools.
    pub fn new(reader: R, writer: W, limit: u64) -> Self {
        Self { lines: LineReader::new(reader), writer, early: VecDeque::new(), early_bytes: 0, limit, parts: VecDeque::new(), child: None }
    }

    /// Returns whether a part was not printed yet, as a call or as a question for its approval: each is printed once.
    fn is_new(&mut self, id: &CallId, as_call: bool) -> bool {
        if self.parts.len() >= PARTS {
            self.parts.pop_front();
        }
        let printed = (id.clone(), as_call);
        let is_new = !self.parts.contains(&printed);
        if is_new {
            self.parts.push_back(printed);
        }
        is_new
    }

    /// Returns whether a call may wait beside others, which are asked about repeatedly.
    fn is_shown_once(&self, call: &PendingCall) -> bool {
        call.part.is_some() || self.child.is_some()
    }

    async fn print(&mut self, line: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(&Line { line, child: self.child.as_ref() }).map_err(io::Error::other)?;
        let line = format!("{}\n", escaped(&line));
        self.writer.write_all(line.as_bytes()).await?;
        self.writer.flush().await
    }

    /// The next line that is not blank.
    async fn next(&mut self) -> io::Result<(Command, u64)> {
        loop {
            return Ok(match self.lines.next(self.limit).await? {
                lines::Line::Text(line) if line.trim().is_empty() => continue,
                lines::Line::Text(line) => (parse(&line), line.len() as u64),
                lines::Line::NotUtf8 => (bad("not-utf8", "the line is not UTF-8"), 0),
                lines::Line::TooLong { size, limit } => {
                    (bad("line-too-long", format!("the line is {size} bytes, the limit is {limit}")), 0)
                }
                lines::Line::End => (Command::End, 0),
            });
        }
    }
}

/// The bounds of queued lines and bytes; beyond them, reading waits until the program is ready.
const EARLY_LINES: usize = 10_000;
const EARLY_BYTES: u64 = 8 << 20;

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> Console for JsonLines<R, W> {
    async fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        let event = match note {
            Note::Content(text) => SessionEvent::RenderContent(text.into()),
            Note::Call(call) => SessionEvent::CallTool(Call::from(call)),
            Note::Policy(call, decided) => SessionEvent::Policy(PolicyDecision::new(call.id.clone(), decided)),
            Note::Result(_, result) => SessionEvent::ToolResult(CallResult::from(result)),
            Note::Progress(call, text) => SessionEvent::Progress(Progress::new(call.id.clone(), text)),
            Note::Delta(call, delta) => SessionEvent::Delta(Delta::new(call.id.clone(), delta)),
            // A sleep has its length in the graph; the other end has nothing to do.
            Note::Awaiting(others) => {
                for waiting in others {
                    self.child.clone_from(&waiting.child);
                    match &waiting.stop {
                        sessions::Stop::Call { call, .. } if self.is_new(&call.id, true) => {
                            self.print(&Stop::CallTool(Call::from(&**call))).await?;
                        }
                        sessions::Stop::Approve { call, .. } if self.is_new(&call.id, false) => {
                            self.print(&Stop::Approval(ApprovalQuestion::from(&**call))).await?;
                        }
                        _ => {}
                    }
                }
                return Ok(());
            }
            Note::Sleep(_) | Note::Refused(..) | Note::RollingBack { .. } => return Ok(()),
            Note::Reload(Reloaded::Sound { moved, .. }) => SessionEvent::Reload(Reload::sound(*moved)),
            Note::Reload(Reloaded::Broken { findings, since }) => SessionEvent::Reload(Reload::broken(findings.json.clone(), Some(*since))),
            Note::Error { code, message } => SessionEvent::Error(Refusal::new(code, message)),
            Note::End(summary) => {
                self.child = None;
                return self.print(&Stop::End(End::from(summary))).await;
            }
        };
        self.print(&event).await
    }

    async fn ask(&mut self, awaited: Awaited<'_>, asking: Asking) -> io::Result<()> {
        let seq = asking.seq;
        let stop = match awaited {
            // After an error the request is still valid.
            _ if asking.again => return Ok(()),
            Awaited::Input(request) => Stop::RequestInput(InputQuestion::new(request, seq)),
            Awaited::Approval { call, .. } if self.is_shown_once(call) && !self.is_new(&call.id, false) => return Ok(()),
            Awaited::Result(call) if self.is_shown_once(call) && !self.is_new(&call.id, true) => return Ok(()),
            Awaited::Approval { call, .. } => Stop::Approval(ApprovalQuestion::from(call)),
            Awaited::Result(call) => Stop::CallTool(Call::from(call)),
            Awaited::Predicate { id, name } => Stop::Predicate(PredicateQuestion::new(id, name)),
            Awaited::Keys { node, missing } => Stop::Needs(KeysQuestion::new(node, missing, seq)),
            Awaited::Changed { pending, now } => Stop::Changed(KeepQuestion::new(pending, now, seq)),
            Awaited::Nothing => return Ok(()),
        };
        self.print(&stop).await
    }

    fn about(&mut self, child: Option<&SessionId>, _branch: Option<&str>) {
        self.child = child.cloned();
    }

    /// Each line names its child.
    fn groups_questions(&self) -> bool {
        false
    }

    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command> {
        if !matches!(awaited, Awaited::Nothing) {
            if let Some((command, bytes)) = self.early.pop_front() {
                self.early_bytes -= bytes;
                return Ok(command);
            }
            return Ok(self.next().await?.0);
        }
        loop {
            if self.lines.ended() || self.early.len() >= EARLY_LINES || self.early_bytes >= EARLY_BYTES {
                return std::future::pending().await;
            }
            match self.next().await? {
                (signal @ Command::Signal(_), _) => return Ok(signal),
                (Command::End, _) => {}
                early => {
                    self.early_bytes += early.1;
                    self.early.push_back(early);
                }
            }
        }
    }
}

impl<R, W> fmt::Debug for JsonLines<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").field("limit", &self.limit).finish_non_exhaustive()
    }
}
