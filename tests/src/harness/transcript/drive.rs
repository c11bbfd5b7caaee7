//! The same transcript over JSON Lines: a host walks the graph, and the author's lines are sent to it as another program would send them.
//!
//! **Invariant:** what nodes say and how the session ends must be what the engine alone said, and every line must fit the schema.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex},
    time::{Instant, timeout},
};
use trellis_core::{
    Next, Program, ToolOutcome, Value,
    engine::{Call, RequestType},
    id::CallId,
    state::{CallKind, Ended},
    transcript::{AuthorLine, is_program_line, print, read::read},
};
use trellis_host::{Bindings, Clock, JsonLines, Policy, Runner, Sessions};

use super::{Played, Walk};
use crate::wire::{Way, schema};

/// Long enough for the host to come to its next stop: the clock stands still while anything is left to do.
const SETTLED: Duration = Duration::from_millis(1);
/// Bytes that one side may be ahead of the other.
const PIPE: usize = 8 << 20;

/// Sends the author lines of a block to a host; what is not as the engine alone had it.
pub fn drive(program: &Arc<Program>, played: &Played, block: &str) -> Vec<String> {
    if played.is_stored {
        return Vec::new();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let (input, reader) = duplex(PIPE);
        let (writer, output) = duplex(PIPE);
        let sessions =
            Sessions::new(played.engine.clone(), Bindings::none()).unwrap_or_else(|error| unreachable!("{error}")).clock(clock());
        // A case says what its calls of graphs come to.
        let sessions = sessions.policy(Policy::new().answers_graphs(true)).predictable_keys();
        let host = Runner::new(JsonLines::new(BufReader::new(reader), writer, 4 << 20), sessions).run(played.start.clone());
        let mut other_end = OtherEnd {
            input: Some(input),
            output: BufReader::new(output).lines(),
            answers: played.begun.iter().map(|(name, answer)| (name.to_string(), *answer)).collect(),
            said: String::new(),
            approvals: BTreeSet::new(),
            unanswered: false,
            end: None,
            problems: Vec::new(),
        };
        let drive = other_end.drive(Walk::new(Arc::clone(program)), block);
        let _ = tokio::join!(host, drive);
        other_end.problems
    })
}

/// Returns the number of parts of a composite call that a node writes down.
fn parts_of(whole: &Call) -> usize {
    if let CallKind::Parallel { branches, .. } = &whole.kind { branches.len() } else { 0 }
}

/// A clock that goes as the timers go.
fn clock() -> Clock {
    let began = Instant::now();
    Clock::new(move || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// A program that drives the host.
struct OtherEnd {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    /// Its answers about predicates.
    answers: BTreeMap<String, bool>,
    /// The texts of nodes, as a transcript has them.
    said: String,
    /// The calls whose approval is awaited.
    approvals: BTreeSet<String>,
    /// True if it was asked for a predicate that the transcript leaves open.
    unanswered: bool,
    /// The payload of the last line.
    end: Option<Json>,
    problems: Vec<String>,
}

impl OtherEnd {
    async fn drive(&mut self, mut walk: Walk, block: &str) {
        self.listen(SETTLED).await;
        let mut whole = true;
        for text in block.lines().filter(|line| !is_program_line(line)) {
            let Ok(line) = read(text) else { return };
            if !matches!(line, AuthorLine::Remark | AuthorLine::Begin(..) | AuthorLine::Predicate(..)) {
                walk.begin();
            }
            let step = walk.state().map(|state| state.step);
            let before = (walk.next(), walk.call(if let AuthorLine::Result(number, _) = &line { *number } else { None }));
            walk.take(text);
            // An interrupt that nothing handles ends a run; the engine alone refuses it and goes on.
            let interrupts = line == AuthorLine::Signal("interrupt".into()) && step == walk.state().map(|state| state.step);
            whole = !interrupts && self.send(&walk, before, line).await && !self.unanswered;
            if !whole {
                break;
            }
        }
        walk.begin();
        let ended = walk.state().and_then(|state| state.ended.clone());
        let played = walk.finish();
        let expected = played.text.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect::<String>();
        if whole && self.said != expected {
            self.problems
                .push(format!("over JSON Lines the nodes say something else:\n{}", super::super::diff::diff(&expected, &self.said)));
        }
        self.input = None;
        self.listen(Duration::MAX).await;
        if let Some(ended) = ended.filter(|_| whole) {
            self.compare(&ended);
        }
    }

    /// Sends what a line of the author comes to; whether JSON Lines can say it.
    async fn send(&mut self, walk: &Walk, (before, call): (Option<Next>, CallId), line: AuthorLine) -> bool {
        let mut patience = SETTLED;
        match line {
            AuthorLine::Remark | AuthorLine::Begin(..) | AuthorLine::Show(..) => return true,
            AuthorLine::Predicate(name, answer) => {
                self.answers.insert(name, answer);
                return true;
            }
            // A text is always read as the declared type.
            AuthorLine::Value(Value::Text(_)) => return false,
            AuthorLine::Text(text) => self.print(&json!({ "input": text })).await,
            AuthorLine::Value(value) => self.print(&json!({ "input": value })).await,
            AuthorLine::Signal(name) => self.print(&json!({ "signal": name })).await,
            AuthorLine::Pass => match before {
                Some(Next::Ask(request)) if matches!(request.input_type, RequestType::None(_)) => {
                    patience += request.timeout.unwrap_or_default();
                }
                _ => self.print(&json!({ "input": "" })).await,
            },
            AuthorLine::Result(_, outcome) => {
                // A person approves the whole before its parts begin.
                let whole = if let Some(Next::Parts { whole, open }) = &before {
                    // A whole with parts that nobody was asked for yet is not a client's to settle (language C.8).
                    if call == whole.id && open.len() < parts_of(whole) {
                        return false;
                    }
                    Some(whole.id.to_string())
                } else {
                    None
                };
                if let Some(whole) = whole.filter(|whole| whole != call.as_str() && self.approvals.remove(whole)) {
                    self.print(&json!({ "approve": whole })).await;
                    self.listen(SETTLED).await;
                }
                self.answer(call.as_str(), outcome).await;
            }
        }
        match walk.next() {
            Some(Next::Call(call)) => patience += Duration::from_millis(call.delay),
            Some(Next::Parts { whole, open }) => {
                let parts = open.iter().map(|part| part.delay).max().unwrap_or_default();
                patience += Duration::from_millis(whole.delay.max(parts));
            }
            _ => {}
        }
        self.listen(patience).await;
        true
    }

    /// Approves the call, if that is what the host waits for, and sends its result.
    async fn answer(&mut self, id: &str, outcome: ToolOutcome) {
        if self.approvals.remove(id) {
            if outcome == ToolOutcome::Denied(None) {
                return self.print(&json!({ "deny": id })).await;
            }
            self.print(&json!({ "approve": id })).await;
        }
        let result = match outcome {
            ToolOutcome::Success(value) => json!({ "id": id, "result": value }),
            ToolOutcome::Error(error) => json!({ "id": id, "error": error }),
            ToolOutcome::Denied(None) => json!({ "id": id, "denied": true }),
            ToolOutcome::Denied(Some(reason)) => json!({ "id": id, "denied": true, "reason": reason }),
        };
        self.print(&json!({ "tool_result": result })).await;
    }

    async fn print(&mut self, line: &Json) {
        let line = line.to_string();
        self.problems.extend(schema().check(Way::In, &line).err());
        if let Some(input) = &mut self.input {
            // A host that is done takes no more lines.
            let _ = input.write_all(format!("{line}\n").as_bytes()).await;
        }
    }

    /// Takes what the host prints until it prints nothing for that long.
    async fn listen(&mut self, patience: Duration) {
        while let Ok(Ok(Some(line))) = timeout(patience, self.output.next_line()).await {
            self.problems.extend(schema().check(Way::Out, &line).err());
            let Ok(Json::Object(mut message)) = serde_json::from_str(&line) else { return };
            let payload = message.remove("payload").unwrap_or_default();
            match message["type"].as_str() {
                Some("RENDER_CONTENT") => print::content(&mut self.said, payload.as_str().unwrap_or_default()),
                Some("APPROVAL") => self.approvals.extend(payload["id"].as_str().map(str::to_owned)),
                Some("PREDICATE") => {
                    let answer = payload["name"].as_str().and_then(|name| self.answers.get(name)).copied();
                    self.unanswered = answer.is_none();
                    if let Some(value) = answer {
                        self.print(&json!({ "predicate": { "id": payload["id"], "value": value } })).await;
                    }
                }
                Some("END") => self.end = Some(payload),
                _ => {}
            }
        }
    }

    /// The last line against the end of the session.
    fn compare(&mut self, ended: &Ended) {
        let expected = json!({
            "reason": ended.reason.as_str(),
            "output": ended.output,
            "code": ended.code,
            "node": ended.node,
            "message": ended.message,
            "rollback": ended.rollback,
        });
        let end = self.end.take().unwrap_or_default();
        for (key, expected) in expected.as_object().into_iter().flatten() {
            if end.get(key).unwrap_or(&Json::Null) != expected {
                self.problems.push(format!("the END line has `{key}` {}, the session {expected}", end[key]));
            }
        }
    }
}
