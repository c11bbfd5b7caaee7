//! A random session of a graph, with its children: what a host does, in an order that chance decides.

use std::collections::BTreeSet;

use trellis_core::{
    Engine, Input, SessionId, SignalName, Start, ToolError, ToolOutcome, ToolResult, Value,
    engine::{Answers, Call, ToolErrorKind},
    id::CallId,
    state::CallKind,
};
use trellis_host::{
    Clock, Session,
    session::{Halt, NotBegun},
};

use super::super::rng::Rng;

/// One session, the calls of tools that it ever made, and what was done.
pub(super) struct Walk {
    pub(super) session: Session,
    calls: BTreeSet<CallId>,
    pub(super) lines: Vec<String>,
}

/// The next thing that a host can do.
enum Action {
    Ask(Option<SessionId>),
    Begin(Option<SessionId>, Call),
    Answer(Call),
    Return(SessionId),
    TimeOut(Call),
}

impl Walk {
    pub(super) fn new(engine: Engine) -> Self {
        let start = Start { session: Some("root".into()), ..Start::default() };
        let session = Session::start(engine, start, Answers::new(), Clock::fixed(1000)).expect("the graph needs nothing");
        Self { session, calls: BTreeSet::new(), lines: Vec::new() }
    }

    /// Does one thing; false at the end, or where nothing leads on.
    pub(super) fn step(&mut self, rng: &mut Rng) -> bool {
        let Some(actions) = self.actions() else { return false };
        match rng.below(40) {
            0 => self.signal(rng),
            1 => self.late(rng),
            _ if actions.is_empty() => return false,
            _ => self.act(rng.pick(&actions), rng),
        }
        true
    }

    /// Advances each session of the tree; nothing at the end, or where one loops.
    fn actions(&mut self) -> Option<Vec<Action>> {
        let children = self.session.here().children.keys().cloned().map(Some);
        let all: Vec<Option<SessionId>> = std::iter::once(None).chain(children).collect();
        let mut actions = Vec::new();
        for child in all {
            if self.session.here_in(child.as_ref()).is_none() {
                continue;
            }
            let halt = loop {
                match self.session.advance_in(child.as_ref()) {
                    Ok(Halt::Said { .. } | Halt::Invalid(_)) => {}
                    Ok(halt) => break halt,
                    Err(error) => {
                        self.lines.push(format!("{child:?}: {error}"));
                        return None;
                    }
                }
            };
            match halt {
                Halt::Ask(_) => actions.push(Action::Ask(child)),
                Halt::Call(call) => actions.extend(self.of_call(child.as_ref(), call)),
                Halt::Parts { whole, open } => {
                    actions.extend(open.into_iter().flat_map(|call| self.of_call(child.as_ref(), call)));
                    actions.extend(whole.timeout.is_some().then_some(Action::TimeOut(whole)));
                }
                Halt::Ended(_) => actions.push(Action::Return(child?)),
                Halt::Predicate(_) | Halt::Said { .. } | Halt::Invalid(_) => unreachable!("there are no predicates"),
            }
        }
        Some(actions)
    }

    fn of_call(&mut self, child: Option<&SessionId>, call: Call) -> Option<Action> {
        match &call.kind {
            CallKind::Graph(_) if self.session.here().children.contains_key(call.id.as_str()) => None,
            CallKind::Graph(_) => Some(Action::Begin(child.cloned(), call)),
            _ => {
                self.calls.insert(call.id.clone());
                Some(Action::Answer(call))
            }
        }
    }

    fn act(&mut self, action: &Action, rng: &mut Rng) {
        let line = match action {
            Action::Ask(child) => {
                let text = *rng.pick(&["1", "3", "-2", "x"]);
                let taken = self.session.send_in(child.as_ref(), Input::Text(text.into())).is_ok();
                format!("{child:?} > {text} {taken}")
            }
            Action::Begin(child, call) => {
                if let Err(NotBegun::Refused(outcome)) = self.session.begin_child(child.as_ref(), call) {
                    let result = ToolResult::new(call.id.clone(), outcome);
                    self.session.send_in(child.as_ref(), Input::Result(result)).expect("the call is open");
                }
                format!("{child:?} begins {}", call.id)
            }
            Action::Answer(call) => self.answer(call, rng),
            Action::Return(child) => {
                let result = self.session.return_child(child).expect("its caller waits");
                format!("{child} ends: {result:?}")
            }
            Action::TimeOut(call) => {
                let error = ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new("too long") };
                let taken = self.session.send_result(ToolResult::new(call.id.clone(), ToolOutcome::Error(error))).is_ok();
                format!("{} times out {taken}", call.id)
            }
        };
        self.lines.push(line);
    }

    fn answer(&mut self, call: &Call, rng: &mut Rng) -> String {
        let outcome = match rng.below(10) {
            0 => ToolOutcome::Error(ToolError::new("broken")),
            1 => ToolOutcome::Denied(None),
            _ => ToolOutcome::Success(value(rng)),
        };
        let line = format!("{} {}: {outcome:?}", call.id, call.name);
        self.session.send_result(ToolResult::new(call.id.clone(), outcome)).expect("the call is open");
        line
    }

    fn signal(&mut self, rng: &mut Rng) {
        let name = SignalName::new(*rng.pick(&["stop", "skip", "interrupt"]));
        let taken = self.session.raise(None, &name).is_ok();
        self.lines.push(format!("^ {name} {taken}"));
    }

    /// A result of any call that was ever made: it is taken, recorded as late, or refused.
    fn late(&mut self, rng: &mut Rng) {
        let calls: Vec<&CallId> = self.calls.iter().collect();
        if calls.is_empty() {
            return;
        }
        let call = (*rng.pick(&calls)).clone();
        let taken = self.session.send_result(ToolResult::new(call.clone(), ToolOutcome::Success(value(rng)))).is_ok();
        self.lines.push(format!("late {call} {taken}"));
    }
}

fn value(rng: &mut Rng) -> Value {
    let json = *rng.pick(&["1", "2", "\"A\"", "\"B\"", "{\"v\":1}", "{\"v\":2}", "null"]);
    Value::from_json(json).expect("it is JSON")
}
