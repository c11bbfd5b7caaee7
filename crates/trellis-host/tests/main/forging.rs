//! Whose result of which call is taken when (language C.8): the complete table, and every cell of it.
//!
//! A client is whoever walks a session: a `walk` token over HTTP, a model over MCP, the program at the other end of JSON Lines, an embedder's
//! `Sessions::send`. Whoever operates a host settles calls: an `operate` token, `trellis session settle`, an embedder's `Sessions::settle_call`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::{Notify, Semaphore};
use trellis_core::{
    Input, NavigateError, SessionId, SignalName, Start, ToolError, ToolOutcome, ToolResult, Value, engine::pending_calls, id::CallId,
};
use trellis_host::{
    Entry, Interceptor, Policy, Reply, SendError, Sessions, Stop, Turn, Unbound, Verdict,
    history::History,
    interceptor::{Deciding, Intercepted},
    journal::RequestKey,
    sessions::{Drive, NotYours},
    store::MemoryStore,
};

use crate::stage::{Stage, run_timeless};

/// The phases of a call, as columns of the table.
const PHASES: [&str; 10] = ["due", "policy", "held", "approved", "running", "delayed", "paused", "asked", "left", "ended"];

/// For each call and phase, the answer to a client: `taken`, `late` (recorded, and moves nothing), or the reason of the refusal: `here` (it is carried
/// out here), `held` (it waits for an approval), `delayed` (it waits before its next attempt), `nobody` (nobody is asked to carry it out), `foreign`
/// (the session knows no such call), `ended`. There is no such phase of a call where the table has `-`. A call that was answered is the attempt before the
/// pending one, and the phase is that of the pending one. A call that its session left is late also after the end.
const TABLE: &str = "
                        | due   | policy | held | approved | running | delayed | paused | asked   | left   | ended
bound                   | here  | here   | held | here     | here    | delayed | here   | -       | here   | ended
handed over             | taken | held   | held | taken    | -       | delayed | taken  | taken   | here   | ended
held by its host        | held  | held   | held | here     | -       | -       | held   | -       | here   | ended
unbound                 | taken | held   | held | taken    | -       | delayed | taken  | taken   | late   | ended
unbound, held by host   | held  | held   | held | taken    | -       | -       | held   | -       | nobody | ended
unbound, left held      | -     | -      | -    | -        | -       | -       | -      | -       | nobody | -
unbound, left delayed   | -     | -      | -    | -        | -       | -       | -      | -       | nobody | -
whole with bound part   | here  | here   | here | here     | here    | here    | here   | -       | nobody | ended
whole with held part    | held  | -      | held | taken    | -       | -       | held   | -       | nobody | ended
whole of unbound parts  | taken | held   | held | taken    | -       | delayed | taken  | taken   | nobody | ended
each with bound part    | here  | here   | here | here     | here    | -       | here   | -       | nobody | ended
each of unbound parts   | taken | held   | held | taken    | -       | -       | taken  | taken   | nobody | ended
graph with child        | here  | here   | held | here     | here    | delayed | here   | -       | nobody | ended
graph for its client    | taken | held   | held | taken    | -       | delayed | taken  | taken   | late   | ended
bound part              | here  | here   | held | here     | here    | delayed | here   | -       | here   | here
unbound part            | taken | held   | held | taken    | taken   | delayed | taken  | taken   | late   | late
call of a child         | taken | held   | held | taken    | -       | delayed | taken  | taken   | late   | late
unbound, answered       | -     | -      | -    | -        | -       | nobody  | nobody | nobody  | nobody | nobody
graph for its client, answered | - | -   | -    | -        | -       | nobody  | nobody | nobody  | nobody | nobody
unbound part, answered  | -     | -      | -    | -        | -       | nobody  | nobody | nobody  | nobody | nobody
call of a child, answered | -   | -      | -    | -        | -       | nobody  | nobody | nobody  | foreign | ended
unknown                 | foreign | foreign | foreign | foreign | foreign | foreign | foreign | foreign | foreign | ended
settled                 | -     | -      | -    | -        | -       | -       | -      | foreign | -      | ended
";

/// The table by call and phase.
fn cells() -> BTreeMap<(&'static str, &'static str), &'static str> {
    let mut lines = TABLE.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').map(str::trim));
    let phases: Vec<_> = lines.next().unwrap().skip(1).collect();
    assert_eq!(phases, PHASES, "each phase is a column");
    let row = |mut line: Vec<&'static str>| {
        let call = line.remove(0);
        assert_eq!(line.len(), PHASES.len(), "{call}");
        PHASES.into_iter().zip(line).map(move |(phase, answer)| ((call, phase), answer))
    };
    lines.flat_map(|line| row(line.collect())).collect()
}

/// The answer to whoever operates the host: any call that is open is settled, whoever would carry it out.
fn settled(client: &'static str) -> &'static str {
    match client {
        "taken" | "here" | "held" | "delayed" => "taken",
        other => other,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Client,
    Operator,
}

/// Hands a bound call to the client.
struct HandsOver;

impl Interceptor for HandsOver {
    fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a> {
        let verdict = if &*about.call.name == "bound" { Verdict::Elsewhere("it is done elsewhere".to_owned()) } else { Verdict::Allow };
        Box::pin(std::future::ready(verdict))
    }
}

/// One cell: a session whose call is in that phase, and the way there.
struct Cell {
    call: &'static str,
    phase: &'static str,
    stage: Stage,
    store: Arc<MemoryStore>,
    /// Told when a tool, or the tool of the policy, is in the middle of its work, which lasts until the gate opens.
    entered: Arc<Notify>,
    gate: Arc<Semaphore>,
}

/// The end of the name of a row whose call was answered and is tried again.
const ANSWERED: &str = ", answered";

const ASKS: (&str, &str) = ("asks.md", "---\ninput_type: text\nto: end\n---\nAnd now?\n");
const END: (&str, &str) = ("end.md", "---\noutput: done\n---\n");

fn id() -> SessionId {
    SessionId::from("local")
}

impl Cell {
    fn new(row: &'static str, phase: &'static str) -> Self {
        let call = row.trim_end_matches(ANSWERED);
        let is_held = matches!(phase, "held" | "approved") || call == "whole with held part" || call == "unbound, left held";
        let approve = if is_held { ", approve: true" } else { "" };
        let is_retried = phase == "delayed" || call == "unbound, left delayed" || row.ends_with(ANSWERED);
        let retry = if is_retried { ", retry: {max: 3, base: 1h}" } else { "" };
        let knobs = format!("{approve}{retry}");
        let part = |tool: &str| format!("{{name: {tool}{knobs}}}");
        let of_whole = if call == "whole of unbound parts" { approve } else { "" };
        let of_free = if call == "whole of unbound parts" { retry } else { &knobs };
        let held_items = if is_held { ", approve: true" } else { "" };
        let does = match call {
            "bound" | "handed over" | "held by its host" => part("bound"),
            "whole with bound part" | "bound part" => format!("{{parallel: {{a: {}, b: free}}}}", part("bound")),
            "whole with held part" | "whole of unbound parts" => {
                format!("{{parallel: {{a: {{name: free{of_free}}}, b: free}}{of_whole}}}")
            }
            "unbound part" => format!("{{parallel: {{a: {}, b: bound}}}}", part("free")),
            "each with bound part" | "each of unbound parts" => format!("{{each: calls{held_items}}}"),
            "graph with child" | "graph for its client" => format!("{{graph: inner{knobs}}}"),
            "call of a child" => "{graph: inner}".to_owned(),
            "unknown" if phase == "running" => part("bound"),
            _ => part("free"),
        };
        let inner = if call == "call of a child" { part("free") } else { "free".to_owned() };
        // A child that its author lets fail is not tried again.
        let fails = if call == "graph with child" && phase == "delayed" { "" } else { "on_error: fail\n" };
        let policy = if phase == "policy" { "policy: [{tool: judge}]\n" } else { "" };
        let bindings = "bindings:\n  bound: {function: {}, effect: none}\n  judge: {function: {}, effect: none}\n  free: {effect: none}\n";
        let tool = if call == "each with bound part" { "bound" } else { "free" };
        let calls = format!("default_context: {{calls: [{{name: {tool}, args: {{}}}}, {{name: free, args: {{}}}}]}}\n");
        let signals = "on_signal: {stop: asks}\non_error: asks\non_denied: asks\nto: asks\n";
        let start = format!("---\ntools: [bound, free]\n{calls}do: {does}\nsave_to: r\n{signals}---\n");
        let files = [
            ("trellis.yaml", format!("name: graph\n{bindings}{policy}")),
            ("start.md", start),
            ("inner.md", format!("---\ndo: {inner}\nsave_to: r\n{fails}on_denied: fail\nto: inner_end\n---\n")),
            ("inner_end.md", "---\noutput: \"{{ r }}\"\n---\n".to_owned()),
            (ASKS.0, ASKS.1.to_owned()),
            (END.0, END.1.to_owned()),
        ];
        let files: Vec<_> = files
            .iter()
            .filter(|(path, _)| !path.starts_with("inner") || does.contains("inner"))
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let (entered, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let policy = Policy::new().unbound(Unbound::Elsewhere).detached(true).answers_graphs(call == "graph for its client");
        let stage = Stage::new(&files).policy(policy);
        let stage = {
            let (entered, gate) = (Arc::clone(&entered), Arc::clone(&gate));
            let is_slow = matches!(phase, "running" | "paused" | "left");
            stage.function(move |bindings| {
                let (tells, opens) = (Arc::clone(&entered), Arc::clone(&gate));
                let bindings = bindings.function_async("bound", move |_, _| {
                    let (tells, opens) = (Arc::clone(&tells), Arc::clone(&opens));
                    async move {
                        if is_slow {
                            tells.notify_one();
                            drop(opens.acquire().await);
                        }
                        if phase == "delayed" { Err(ToolError::new("busy")) } else { Ok(Value::Int(1)) }
                    }
                });
                let (tells, opens) = (Arc::clone(&entered), Arc::clone(&gate));
                bindings.function_async("judge", move |_, args| {
                    let (tells, opens) = (Arc::clone(&tells), Arc::clone(&opens));
                    async move {
                        let is_graph = args.get("tool").and_then(Value::as_str).is_some_and(|tool| tool.starts_with("graph:"));
                        if is_graph && call == "call of a child" {
                            return Ok(Value::map([("decision", Value::text("AUTO_RUN"))]));
                        }
                        tells.notify_one();
                        drop(opens.acquire().await);
                        Ok(Value::map([("decision", Value::text("ASK"))]))
                    }
                })
            })
        };
        Self { call: row, phase, stage, store: Arc::new(MemoryStore::new()), entered, gate }
    }

    fn sessions(&self) -> Arc<Sessions> {
        let sessions = Arc::into_inner(self.stage.stored(&self.store)).unwrap();
        Arc::new(match self.call {
            "handed over" => sessions.interceptor(HandsOver),
            // Nobody approves the tool of a policy: it would not run.
            "held by its host" | "unbound, held by host" => sessions.interceptor(|about: Intercepted<'_>| match &*about.call.name {
                "judge" => Verdict::Allow,
                _ => Verdict::hold(),
            }),
            _ => sessions,
        })
    }

    fn opens(&self) {
        self.gate.add_permits(100);
    }

    /// The call that the cell is about.
    fn target(&self, sessions: &Sessions) -> CallId {
        let found = sessions.look(&id(), |session| match self.call.trim_end_matches(ANSWERED) {
            "bound part" | "unbound part" => pending_calls(session.state()).nth(1).map(|call| call.id.clone()),
            "call of a child" => {
                let child = session.here().children.values().next().map(|child| &child.here.state);
                child.and_then(|state| state.pending_tool_call.as_ref()).map(|call| call.id.clone())
            }
            _ => session.state().pending_tool_call.as_ref().map(|call| call.id.clone()),
        });
        let target = found.flatten().unwrap_or_else(|| panic!("{}, {}: no call", self.call, self.phase));
        if self.call == "unknown" { CallId::from("nobody-1") } else { target }
    }

    fn is_bound(&self) -> bool {
        matches!(self.call, "bound" | "whole with bound part" | "each with bound part" | "bound part")
            || self.phase == "running" && matches!(self.call, "unbound part" | "unknown")
    }

    /// Brings a session into the phase, and hands in a result of the call there.
    async fn answer(&self, who: Who) -> String {
        let sessions = self.sessions();
        if self.phase == "policy" {
            let starting = Arc::clone(&sessions);
            let starting = tokio::spawn(async move { starting.start(start()).await });
            self.entered.notified().await;
            let call = self.target(&sessions);
            let seen = sessions.view(&id()).await.unwrap();
            let mut stops = std::iter::once(&seen.stop).chain(seen.others.iter().map(|other| &other.stop));
            assert!(!stops.any(Stop::is_call), "{}: shown as a client's to make before the policy has ruled: {seen:?}", self.call);
            let told = self.meanwhile(&sessions, who, call).await;
            starting.await.unwrap().unwrap();
            return told;
        }
        let turn = sessions.start(start()).await.unwrap();
        let call = self.target(&sessions);
        if self.call.ends_with(ANSWERED) {
            return self.answer_again(&sessions, who, (&turn, call)).await;
        }
        match self.phase {
            "due" => return self.give(&self.sessions(), who, call).await,
            "approved" => {
                let mut turn = turn;
                assert!(held(&turn).is_some(), "{}: nobody is asked to carry it out before it is approved: {:?}", self.call, turn.stop);
                while let Some(call) = held(&turn) {
                    turn = sessions.send(&id(), Reply::Approve { call: Some(call), yes: true }).await.unwrap();
                }
            }
            "running" | "paused" | "left" if self.is_bound() => {
                let driving = Arc::clone(&sessions);
                let driving = tokio::spawn(async move { driving.drive(Drive::UntilIdle, |_| {}).await });
                self.entered.notified().await;
                let told = match self.phase {
                    "running" => self.meanwhile(&sessions, who, call).await,
                    "paused" => {
                        sessions.pause(&id()).unwrap();
                        drop(driving.await.unwrap());
                        return self.give(&sessions, who, call).await;
                    }
                    _ => {
                        sessions.signal(&id(), &SignalName::from("stop")).await.unwrap();
                        self.give(&sessions, who, call).await
                    }
                };
                self.opens();
                driving.abort();
                return told;
            }
            "delayed" if self.is_bound() => {
                sessions.drive(Drive::WhatIsDue, |_| {}).await.unwrap();
                sessions.resume(&id()).await.unwrap();
            }
            "delayed" => fails(&sessions, &turn).await,
            "paused" => sessions.pause(&id()).unwrap(),
            "left" => {
                if self.call == "unbound, left delayed" {
                    fails(&sessions, &turn).await;
                }
                let call = self.target(&sessions);
                sessions.signal(&id(), &SignalName::from("stop")).await.unwrap();
                sessions.resume(&id()).await.unwrap();
                return self.give(&sessions, who, call).await;
            }
            "ended" => {
                self.settle(&sessions, &self.target(&sessions)).await;
                let asks = sessions.resume(&id()).await.unwrap();
                sessions.send(&id(), asks.answer(Input::Text("x".into()))).await.unwrap();
                return self.give(&sessions, who, call).await;
            }
            _ if self.call == "settled" => {
                self.settle(&sessions, &call).await;
                return self.give(&sessions, who, call).await;
            }
            _ => {}
        }
        let call = self.target(&sessions);
        self.give(&sessions, who, call).await
    }

    /// Fails the call, brings its next attempt into the phase, and answers the failed one once more.
    async fn answer_again(&self, sessions: &Arc<Sessions>, who: Who, (turn, answered): (&Turn, CallId)) -> String {
        fails(sessions, turn).await;
        match self.phase {
            "asked" => {
                tokio::time::sleep(Duration::from_secs(3601)).await;
                let turn = sessions.resume(&id()).await.unwrap();
                let mut stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
                assert!(stops.any(Stop::is_call), "{}: the next attempt is asked for: {turn:?}", self.call);
            }
            "paused" => sessions.pause(&id()).unwrap(),
            "left" => {
                sessions.signal(&id(), &SignalName::from("stop")).await.unwrap();
                sessions.resume(&id()).await.unwrap();
            }
            "ended" => {
                self.settle(sessions, &self.target(sessions)).await;
                let asks = sessions.resume(&id()).await.unwrap();
                sessions.send(&id(), asks.answer(Input::Text("x".into()))).await.unwrap();
            }
            _ => {}
        }
        self.give(sessions, who, answered).await
    }

    async fn settle(&self, sessions: &Sessions, call: &CallId) {
        let open = sessions.look(&id(), |session| session.state().pending_tool_call.clone()).flatten().unwrap();
        let call = if self.call == "unknown" || self.call.contains("part") || self.call.contains("child") { &open.id } else { call };
        sessions.settle_call(&id(), self.result(call), None, RequestKey::by("op")).await.unwrap();
    }

    fn result(&self, call: &CallId) -> ToolResult {
        let is_list = self.call.starts_with("each");
        let value = if is_list { Value::list([]) } else { Value::map([("a", Value::Int(1)), ("b", Value::Int(2))]) };
        ToolResult::new(call.clone(), ToolOutcome::Success(value))
    }

    /// Hands the result in while a tool is in the middle of its work, which ends only then.
    async fn meanwhile(&self, sessions: &Sessions, who: Who, call: CallId) -> String {
        let opens = async {
            tokio::task::yield_now().await;
            self.opens();
        };
        tokio::join!(biased; self.give(sessions, who, call), opens).0
    }

    async fn give(&self, sessions: &Sessions, who: Who, call: CallId) -> String {
        let before = self.records().await;
        let result = self.result(&call);
        let given = match who {
            Who::Client => sessions.send(&id(), Input::Result(result)).await,
            Who::Operator => sessions.settle_call(&id(), result, Some("by hand".into()), RequestKey::by("op")).await,
        };
        let told = told(&given);
        let after = self.records().await;
        let about = format!("{}, {}, {who:?}", self.call, self.phase);
        let of_call = after.iter().filter(|record| record.entry.result().is_some_and(|result| result.id == call)).collect::<Vec<_>>();
        if given.is_err() {
            let is_still = !matches!(self.phase, "policy" | "running");
            assert!(!is_still || before == after, "{about}: a refusal changes nothing: {given:?}");
            return told;
        }
        let record = *of_call.last().unwrap_or_else(|| panic!("{about}: its record: {given:?}"));
        match (who, &record.entry) {
            (Who::Client, Entry::Result { .. } | Entry::Late { .. }) => {}
            (Who::Operator, Entry::Settle { by, because, unapproved, .. }) => {
                assert_eq!((by.as_deref(), because.as_deref()), (Some("op"), Some("by hand")), "{about}");
                let is_always_held = self.call == "whole with held part" || self.call.contains("held by");
                let is_held = self.phase == "held" || is_always_held && matches!(self.phase, "due" | "paused");
                assert_eq!(!unapproved.is_empty(), is_held, "{about}: {unapproved:?}");
            }
            (_, entry) => panic!("{about}: {entry:?}"),
        }
        if record.is_late() { "late".to_owned() } else { told }
    }

    async fn records(&self) -> Vec<trellis_host::Record> {
        History::open(&*self.store, &id()).await.unwrap().records
    }
}

fn start() -> Start {
    Start { session: Some(id()), ..Start::default() }
}

/// The first call that waits for an approval.
fn held(turn: &Turn) -> Option<CallId> {
    let mut stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
    stops.find_map(Stop::held).map(|call| call.id.clone())
}

/// Fails the call that a client is asked for, so that it is tried again in an hour.
async fn fails(sessions: &Sessions, turn: &Turn) {
    let stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
    let asked = stops.filter_map(|stop| if let Stop::Call { call, .. } = stop { Some(call) } else { None }).next();
    let failure = ToolResult::new(asked.unwrap().id.clone(), ToolOutcome::Error(ToolError::new("busy")));
    sessions.send(&id(), Input::Result(failure)).await.unwrap();
}

fn told(given: &Result<Turn, SendError>) -> String {
    match given {
        Ok(_) => "taken",
        Err(SendError::NotYours { why: NotYours::Held, .. }) => "held",
        Err(SendError::NotYours { why: NotYours::Delayed, .. }) => "delayed",
        Err(SendError::NotYours { why: NotYours::CarriedOutHere, .. }) => "here",
        Err(SendError::NotYours { why: NotYours::NotAsked, .. }) => "nobody",
        Err(SendError::Refused(NavigateError::ForeignCall { .. } | NavigateError::WrongKind { .. })) => "foreign",
        Err(SendError::Refused(NavigateError::Ended { .. })) => "ended",
        Err(other) => return other.to_string(),
    }
    .to_owned()
}

// C.8
#[test]
fn the_result_of_a_call_is_taken_from_whoever_the_table_says_and_from_nobody_else() {
    let mut wrong = Vec::new();
    for ((call, phase), client) in cells().into_iter().filter(|(_, answer)| *answer != "-") {
        for (who, expected) in [(Who::Client, client), (Who::Operator, settled(client))] {
            // A call that its session left is settled late by hand.
            let is_left = phase == "left" || call.ends_with(ANSWERED) || phase == "ended" && client != "ended";
            let is_known = !matches!(expected, "foreign" | "ended");
            let expected = if who == Who::Operator && is_left && is_known { "late" } else { expected };
            let told = run_timeless(Cell::new(call, phase).answer(who));
            if told != expected {
                wrong.push(format!("{who:?}: {call}, {phase}: {told}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
