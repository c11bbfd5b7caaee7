//! Plain text: contents, prompts with the accepted input, one line for each answer.
//!
//! **Invariant:** no word is special: every typed line is an answer to the question.

use std::{collections::BTreeSet, fmt, io};

use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use trellis_core::{
    Input, Mapping, SessionId, ToolOutcome, ToolResult, Value,
    engine::{Request, RequestType},
    id::CallId,
    state::{CallKind, PendingCall},
    syntax::node::InputType,
};

use super::{
    Reason, choose,
    console::{Asking, Awaited, Command, Console, Note, Reloaded, RunSummary},
    lines::{Line, LineReader},
    notes,
    stream::StreamedText,
    summary::leaves_something,
};
use crate::{controls::is_steering, secrets::shown, store::quoted};

type Format = Box<dyn Fn(&str) -> String>;
type TimeOfDay = Box<dyn Fn(u64) -> String>;
type Hide = Box<dyn Fn(bool)>;

/// A person at the other end.
///
/// ```
/// use tokio::io::{BufReader, stdin, stdout};
/// use trellis_host::TextConsole;
///
/// let console = TextConsole::new(BufReader::new(stdin()), stdout(), 64 << 10, 1 << 20).format(str::to_uppercase);
/// # drop(console);
/// ```
pub struct TextConsole<R, W> {
    lines: LineReader<R>,
    writer: W,
    /// The output for failures, attempts and rollbacks, a line each.
    notes: Option<Box<dyn AsyncWrite + Unpin>>,
    /// The line that is written there before further output: the end may have the same message.
    withheld: Option<String>,
    /// Bytes of an answer, and of a typed result.
    limits: (u64, u64),
    format: Format,
    time_of_day: Option<TimeOfDay>,
    hide: Option<Hide>,
    echo: bool,
    unfinished_line: UnfinishedLine,
    /// True if some content was shown: a blank line then precedes the next one.
    said: bool,
    /// The branch that the next text or question belongs to.
    branch: Option<String>,
    /// Held calls that were shown beside another question.
    held: BTreeSet<CallId>,
    stream: StreamedText,
}

/// The text that must be written before any other output.
#[derive(Default)]
enum UnfinishedLine {
    #[default]
    Nothing,
    /// The line break of a prompt without an answer.
    Prompt,
    /// An answer to repeat. Not written when it is read: a read may be dropped, and a line must not be lost with it.
    Answer(String),
}

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> TextConsole<R, W> {
    /// Lines from `reader`, text to `writer`; an answer is at most `input` bytes, a typed result `result`.
    pub fn new(reader: R, writer: W, input: u64, result: u64) -> Self {
        let format = Box::new(|text: &str| text.to_owned());
        Self {
            lines: LineReader::new(reader),
            writer,
            notes: None,
            withheld: None,
            limits: (input, result),
            format,
            time_of_day: None,
            hide: None,
            echo: false,
            unfinished_line: UnfinishedLine::Nothing,
            said: false,
            branch: None,
            held: BTreeSet::new(),
            stream: StreamedText::default(),
        }
    }

    /// Draws contents, which are Markdown, with `format`; without it they are printed as they are.
    #[must_use]
    pub fn format(mut self, format: impl Fn(&str) -> String + 'static) -> Self {
        self.format = Box::new(format);
        self
    }

    /// Sets the output for failed, repeated and denied calls, and for the reason of a rollback; without it only the end is reported.
    #[must_use]
    pub fn notes(mut self, writer: impl AsyncWrite + Unpin + 'static) -> Self {
        self.notes = Some(Box::new(writer));
        self
    }

    /// Names moments, in milliseconds since 1970, by their time of day with `time_of_day`; without it they have no name.
    #[must_use]
    pub fn time_of_day(mut self, time_of_day: impl Fn(u64) -> String + 'static) -> Self {
        self.time_of_day = Some(Box::new(time_of_day));
        self
    }

    /// Calls `hide` with true while a secret is typed, for a screen that shows typed text, and with false after it.
    #[must_use]
    pub fn hide(mut self, hide: impl Fn(bool) + 'static) -> Self {
        self.hide = Some(Box::new(hide));
        self
    }

    fn hidden(&self, hidden: bool) {
        if let Some(hide) = &self.hide {
            hide(hidden);
        }
    }

    /// Repeats each answer behind its prompt, for input that no terminal shows. Secrets are not repeated.
    #[must_use]
    pub fn echo(mut self, echo: bool) -> Self {
        self.echo = echo;
        self
    }

    async fn print(&mut self, text: &str) -> io::Result<()> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.write(&format!("{text}{end}")).await
    }

    async fn prompt(&mut self, lead: &str, accepted: &str) -> io::Result<()> {
        let branch = self.branch.as_ref().map_or_else(String::new, |branch| format!("{}: ", plain(branch)));
        self.write(&format!("{}{branch}{accepted} > ", plain(lead))).await?;
        (self.unfinished_line, self.said) = (UnfinishedLine::Prompt, true);
        Ok(())
    }

    /// Writes the pending line beside the conversation.
    async fn write_note(&mut self) -> io::Result<()> {
        let Some(line) = self.withheld.take() else { return Ok(()) };
        self.write_notes(&(plain(&line).replace(is_steering, "\u{fffd}") + "\n")).await
    }

    async fn write_notes(&mut self, text: &str) -> io::Result<()> {
        let Some(notes) = self.notes.as_mut().filter(|_| !text.is_empty()) else { return Ok(()) };
        notes.write_all(text.as_bytes()).await?;
        notes.flush().await
    }

    async fn write(&mut self, text: &str) -> io::Result<()> {
        let before = match std::mem::take(&mut self.unfinished_line) {
            UnfinishedLine::Nothing => String::new(),
            UnfinishedLine::Prompt => "\n".to_owned(),
            UnfinishedLine::Answer(answer) => answer + "\n",
        };
        // Texts of people and tools may contain characters that change the direction of the text around them.
        let shown = (before + text).replace(is_steering, "\u{fffd}");
        self.writer.write_all(shown.as_bytes()).await?;
        self.writer.flush().await
    }
}

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> Console for TextConsole<R, W> {
    /// Input that no terminal shows is a pipe or a file.
    fn can_repeat(&self) -> bool {
        !self.echo
    }

    async fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        // The end, and a graph that failed, may say why again.
        let said = match &note {
            Note::End(summary) => summary_text(summary),
            Note::Result(call, result) if matches!(call.kind, CallKind::Graph(_)) => match &result.outcome {
                ToolOutcome::Error(error) => Some(error.message.to_string()),
                ToolOutcome::Success(_) | ToolOutcome::Denied(_) => None,
            },
            _ => None,
        };
        if let Some(said) = said {
            // The call of a graph has the name of its node here, and `graph` in the message of the end.
            let from = |withheld: &str| withheld.find("` failed").unwrap_or_default();
            self.withheld.take_if(|withheld| said.contains(&withheld[from(withheld)..]));
        }
        let end = if matches!(note, Note::Delta(..) | Note::Progress(..)) { "" } else { self.stream.end() };
        self.write_notes(end).await?;
        self.write_note().await?;
        match note {
            Note::Content(text) => {
                let text = (self.format)(&plain(text));
                let apart = if std::mem::replace(&mut self.said, true) { "\n" } else { "" };
                let branch = self.branch.as_ref().map_or_else(String::new, |branch| format!("{}:\n", plain(branch)));
                self.print(&format!("{apart}{branch}{text}")).await
            }
            Note::Awaiting(others) => {
                for call in others.iter().filter_map(|other| other.stop.held_call()) {
                    if self.held.insert(call.id.clone()) {
                        self.said = true;
                        self.print(&format!("waits for an approval:\n{}", plain(&call_text(call)))).await?;
                    }
                }
                Ok(())
            }
            Note::Call(_) | Note::Policy(..) | Note::Result(..) | Note::Refused(..) | Note::RollingBack { .. } => {
                self.write("").await?;
                self.withheld = notes::line(&note);
                Ok(())
            }
            Note::Delta(_, delta) => {
                let text = self.stream.next(delta);
                self.write("").await?;
                self.write_notes(&text).await
            }
            Note::Progress(..) | Note::Sleep(_) => Ok(()),
            Note::Reload(reloaded) => match reload_text(reloaded, self.time_of_day.as_ref()) {
                Some(text) => self.print(&text).await,
                None => Ok(()),
            },
            Note::Error { message, .. } => self.print(&plain(message)).await,
            Note::End(summary) => {
                self.hidden(false);
                match summary_text(summary) {
                    Some(text) => self.print(&plain(&text)).await,
                    None => self.write("").await,
                }
            }
        }
    }

    async fn ask(&mut self, awaited: Awaited<'_>, _asking: Asking) -> io::Result<()> {
        self.write_note().await?;
        self.hidden(is_secret(awaited));
        match awaited {
            Awaited::Input(request) => self.prompt(&options(request), &accepted(request)).await,
            Awaited::Approval { call, .. } => {
                let asks = call.approve.as_ref().and_then(|approval| approval.ask.as_deref());
                let question = asks.map_or_else(String::new, |asks| format!("{asks}\n"));
                self.prompt(&format!("{question}{}", call_text(call)), "[y/N]").await
            }
            Awaited::Result(call) => self.prompt(&call_text(call), "[its result, JSON or text]").await,
            Awaited::Predicate { name, .. } => self.prompt(&format!("does `{name}` hold? "), "[y/n]").await,
            Awaited::Keys { node, missing } => {
                let lead = format!("`{node}` needs {} now, which the session does not have\n", quoted(missing));
                self.prompt(&lead, "[KEY=VALUE, or a JSON mapping]").await
            }
            Awaited::Changed { pending, now } => {
                let lead =
                    format!("the pending call is no longer what `{}` calls, which is `{now}` now\n{}", pending.node, call_text(pending));
                self.prompt(&lead, "[keep it? y/n]").await
            }
            Awaited::Nothing => Ok(()),
        }
    }

    fn about(&mut self, _child: Option<&SessionId>, branch: Option<&str>) {
        self.branch = branch.map(str::to_owned);
    }

    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command> {
        let limit = match awaited {
            Awaited::Nothing => return std::future::pending().await,
            Awaited::Result(_) => self.limits.1,
            _ => self.limits.0,
        };
        let line = match self.lines.next(limit).await? {
            Line::Text(line) => line,
            Line::NotUtf8 => return Ok(Command::Bad { code: "not-utf8", message: "the line is not UTF-8".into() }),
            Line::TooLong { size, limit } => {
                let message = format!("the input is {size} bytes, the limit is {limit}");
                return Ok(Command::Bad { code: "input-too-large", message });
            }
            Line::End => return Ok(Command::End),
        };
        let secret = is_secret(awaited);
        self.unfinished_line = match (self.echo, secret) {
            // The line break was not shown either.
            (_, true) if self.echo || self.hide.is_some() => UnfinishedLine::Answer("***".into()),
            (true, _) => UnfinishedLine::Answer(plain(&line)),
            _ => UnfinishedLine::Nothing,
        };
        if secret {
            self.hidden(false);
        }
        Ok(understand(awaited, &line))
    }
}

fn is_secret(awaited: Awaited<'_>) -> bool {
    matches!(awaited, Awaited::Input(request) if request.input_type == RequestType::Declared(InputType::Secret))
}

fn understand(awaited: Awaited<'_>, line: &str) -> Command {
    match awaited {
        Awaited::Input(request) => match choose::ambiguity(request, line) {
            Some(message) => Command::Bad { code: "invalid-input", message },
            None => Command::Input(choose::answer(request, line)),
        },
        Awaited::Result(call) => {
            let value = Value::from_json(line).unwrap_or_else(|_| Value::text(line));
            Command::Result(ToolResult::new(call.id.clone(), ToolOutcome::Success(value)))
        }
        Awaited::Approval { .. } => match choose::yes_or_no(line) {
            _ if line.trim().is_empty() => Command::Approve { id: None, yes: false },
            Some(yes) => Command::Approve { id: None, yes },
            None => unclear(),
        },
        Awaited::Predicate { id, .. } => match choose::yes_or_no(line) {
            Some(value) => Command::Predicate { id: id.to_owned(), value },
            None => unclear(),
        },
        Awaited::Keys { .. } => keys(line)
            .map_or_else(|| Command::Bad { code: "invalid-input", message: "write KEY=VALUE, or a JSON mapping".into() }, Command::Context),
        Awaited::Changed { .. } => choose::yes_or_no(line).map_or_else(unclear, Command::Keep),
        Awaited::Nothing => Command::Input(Input::Text(line.to_owned())),
    }
}

/// `KEY=VALUE` with JSON or text, or a JSON mapping.
fn keys(line: &str) -> Option<Mapping> {
    if let Ok(Value::Map(keys)) = Value::from_json(line) {
        return Some(keys);
    }
    let (key, value) = line.split_once('=')?;
    let value = Value::from_json(value).unwrap_or_else(|_| Value::text(value));
    (!key.trim().is_empty()).then(|| Mapping::from_iter([(key.trim(), value)]))
}

fn unclear() -> Command {
    Command::Bad { code: "invalid-input", message: "answer `y` or `n`".into() }
}

/// The options, numbered, one a line.
fn options(request: &Request) -> String {
    request.options.iter().enumerate().map(|(index, option)| format!("  {}) {}\n", index + 1, option.text)).collect()
}

/// Returns the accepted input: `[1-3]`, `[integer, default 5]`.
fn accepted(request: &Request) -> String {
    let kind = match request.input_type {
        RequestType::Declared(InputType::Confirm) => "y/n",
        RequestType::Declared(InputType::Int) => "integer",
        RequestType::Declared(InputType::Float) => "decimal",
        RequestType::Declared(InputType::Json) => "JSON",
        RequestType::Declared(InputType::Secret) => "secret text",
        RequestType::Declared(InputType::Text) => "text",
        RequestType::Any(_) => "Enter, or any text",
        RequestType::Declared(InputType::Choice) | RequestType::None(_) => "any text",
    };
    let kind = match (request.options.len(), request.open) {
        (0, _) => kind.to_owned(),
        (1, false) => "1".to_owned(),
        (count, false) => format!("1-{count}"),
        (1, true) => format!("1, or {kind}"),
        (count, true) => format!("1-{count}, or {kind}"),
    };
    match &request.default {
        Some(default) => format!("[{kind}, default {default}]"),
        None => format!("[{kind}]"),
    }
}

/// Returns the result of an edit, unless it needs no message.
fn reload_text(reloaded: &Reloaded<'_>, time_of_day: Option<&TimeOfDay>) -> Option<String> {
    match reloaded {
        // Findings are drawn, and harmless already.
        Reloaded::Broken { findings, since } => {
            let since = time_of_day.map_or_else(|| "before".to_owned(), |time_of_day| format!("of {}", time_of_day(*since)));
            Some(format!("{}still running the version {since}\n", findings.text))
        }
        Reloaded::Sound { healed, moved } => {
            let healed = healed.then_some("the graph is sound again");
            let said = healed.into_iter().chain(*moved).collect::<Vec<_>>().join("; ");
            (!said.is_empty()).then(|| plain(&said))
        }
    }
}

/// A call as it would be made, secrets by name.
fn call_text(call: &PendingCall) -> String {
    let part = call.part.as_ref().map_or_else(String::new, |of| format!("{}: ", of.part));
    format!("  {part}{} {}\n", call.name, Value::Map(shown(call)).to_json())
}

/// Returns the description of the end, unless the session finished.
fn summary_text(summary: &RunSummary) -> Option<String> {
    let ended = summary.ended.as_deref();
    let at = ended.map_or_else(String::new, |ended| format!(" at `{}`", ended.node));
    let message = ended.and_then(|ended| ended.message.as_deref()).or(summary.message.as_deref());
    let why = message.map_or_else(String::new, |message| format!(": {message}"));
    let place = summary.place.as_ref().map_or_else(String::new, |place| format!("\n  {place}"));
    let help = summary.help.map_or_else(String::new, |help| format!("\nhelp: {help}"));
    let undone = ended
        .and_then(|ended| ended.rollback.as_ref())
        .filter(|list| leaves_something(list))
        .map_or_else(String::new, |list| format!(" {}", list.to_json()));
    match summary.reason {
        Reason::Finished => None,
        Reason::Failed => Some(format!("failed{at}{why}{undone}{place}{help}")),
        Reason::Denied => Some(format!("denied{at}{why}{undone}{place}{help}")),
        Reason::RolledBack => Some(format!("rolled back{at}{why}{undone}")),
        Reason::EndOfInput => Some(message.unwrap_or("the input ended").to_owned()),
        Reason::Interrupted => Some(format!("interrupted{at}{why}")),
    }
}

/// Returns the text without control characters, which could rewrite a terminal's content.
fn plain(text: &str) -> String {
    text.chars().filter(|char| !char.is_ascii_control() || matches!(char, '\n' | '\t')).collect()
}

impl<R, W> fmt::Debug for TextConsole<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextConsole").field("limits", &self.limits).finish_non_exhaustive()
    }
}
