//! Concretization and replay: a symbolic path becomes a session that the engine runs.
//!
//! Every symbolic input is given a value that satisfies its constraints, then the engine takes the moves in order. The path is a witness only if the
//! session ends at the alarm's node with the failure that the alarm predicts; this makes a finding certain, however coarse the search was.
//! Attempts and compensations of one move repeat at most [`MAX_REPEATED_INPUTS`] times.
//!
//! **Example:** for `Missing(name)` at `greet` the session must end as failed at `greet`, with a message that names `name`.

use std::sync::Arc;

use super::{
    SearchInput,
    path::{HostInput, HostMove, InitialState},
};
use crate::{
    dataflow::{
        budget::MAX_REPEATED_INPUTS,
        domain::external,
        fixpoint::violation::Violation as Candidate,
        index::{OpIndex, SiteIndex, to_u32},
        ir::Instr,
        symbolic::{Constraints, SymValue},
    },
    draft::on_trial,
};
use trellis_base::{
    id::SessionId,
    schema::Schema,
    scope::{RESERVED, Scope},
    template::KindSet,
    value::{Mapping, Value},
    witness::{Violation, Witness},
};
use trellis_engine::{
    engine::{Answers, Engine, Event, Input, Moment, Start, StartError, ToolError, ToolErrorKind, ToolOutcome, ToolResult},
    program::{Call, Callee, Failure, Write, WriteTarget},
    state::{CallKind, EndReason, PendingCall, State, Status},
};

/// Outcome of replaying a path.
pub(crate) enum ReplayOutcome {
    /// The session ended in the alarm's violation.
    Violates(ViolatingSession),
    /// The session failed earlier, at a node that is known to fail.
    Masked,
    /// The engine did not follow the path.
    Astray,
}

/// A session that ended in the alarm's violation.
pub(crate) struct ViolatingSession {
    /// The session; `None` if it met another mistake at the same place first.
    pub(crate) witness: Option<Arc<Witness>>,
    /// The message of the engine.
    pub(crate) message: Option<String>,
    /// The kinds of the operands, if the alarm is about a calculation.
    pub(crate) sorts: Vec<KindSet>,
}

/// Runs these moves on the engine.
pub(crate) fn replay(input: &SearchInput<'_, '_>, initial: &InitialState, moves: &[HostMove], constraints: &Constraints) -> ReplayOutcome {
    attempt(input, initial, moves, constraints).unwrap_or(ReplayOutcome::Astray)
}

fn attempt(input: &SearchInput<'_, '_>, initial: &InitialState, moves: &[HostMove], constraints: &Constraints) -> Option<ReplayOutcome> {
    let program = input.program;
    let engine = on_trial(program);
    let given = initial.context.iter().filter(|(_, sym)| constraints.presence(sym) != Some(false));
    let context = given.map(|(key, sym)| Some((key.clone(), constraints.choose(sym)?)));
    let context = context.collect::<Option<Mapping>>()?;
    let at = (!initial.is_entry).then(|| program.node(program.point(initial.point).node).id.clone());
    let start = Start { session: Some(SessionId::from("witness")), context, locale: locale(input), at, seed: None };
    let walked = |begun, moments, violation| Witness::new(start.clone(), begun, moments, violation);
    let mut walk = match answering(&engine, None).start(start.clone()) {
        Ok(step) => Replay { begun: answers(&step.events), state: step.state, moments: Vec::new() },
        // A child that lacks an argument is refused before it begins.
        Err(StartError::Inputs { problems }) => {
            let missing = input.wanted()?.to_string();
            let is_it = moves.is_empty() && problems.contains(&format!("`{missing}` is missing"));
            let witness = || walked(Answers::new(), Vec::new(), Violation::Refused { missing: missing.into() });
            return is_it.then(|| {
                ReplayOutcome::Violates(ViolatingSession { witness: Some(Arc::new(witness())), message: None, sorts: Vec::new() })
            });
        }
        Err(_) => return None,
    };
    for step in moves {
        // A terminal with content only ends in the step that enters it.
        if walk.state.status == Status::Terminated {
            break;
        }
        walk.take(&engine, step, constraints)?;
    }
    let Replay { state, begun, moments } = walk;
    let Some((violation, is_it)) = details(input, &state) else {
        let at = state.ended.as_ref().filter(|ended| ended.reason == EndReason::Failed).and_then(|ended| program.find(&ended.node));
        return at.is_some_and(|at| input.failing_nodes.contains(&at)).then_some(ReplayOutcome::Masked);
    };
    let sorts = calculated(input, &state)?;
    let message = state.ended.as_ref().and_then(|ended| ended.message.as_deref().map(str::to_owned));
    Some(ReplayOutcome::Violates(ViolatingSession { witness: is_it.then(|| Arc::new(walked(begun, moments, violation))), message, sorts }))
}

/// Returns the kinds of the operands where a session failed, or `None` if the calculation does not fail with them. Reserved names, which exist only
/// while a node resolves, are not evaluated again.
fn calculated(input: &SearchInput<'_, '_>, state: &State) -> Option<Vec<KindSet>> {
    let Candidate::Operand(at) = input.alarm.violation else { return Some(Vec::new()) };
    let Some(calculation) = input.ir.sites[at.index()].calculation() else { return Some(Vec::new()) };
    if calculation.paths.iter().any(|path| RESERVED.contains(&&**path.root())) {
        return Some(Vec::new());
    }
    let scope = Scope { context: state.context.clone(), ..Scope::default() };
    let values: Vec<Option<Value>> = calculation.paths.iter().map(|path| scope.lookup(path).cloned()).collect();
    calculation.fails(&values).then(|| values.iter().map(|value| KindSet::of_value(value.as_ref())).collect())
}

/// Returns the answers of predicates in a step.
fn answers(events: &[Event]) -> Answers {
    let answered = events.iter().filter_map(|event| match event {
        Event::Predicate { name, answer } => Some((Arc::clone(name), *answer)),
        _ => None,
    });
    answered.collect()
}

/// Returns the locale in which the alarm's template is rendered.
fn locale(input: &SearchInput<'_, '_>) -> Option<Arc<str>> {
    match input.alarm.violation {
        Candidate::Missing(site) | Candidate::Operand(site) => input.ir.sites[site.index()].locale().map(Arc::from),
        _ => None,
    }
}

/// Returns the engine with these answers; a predicate without an answer does not hold.
fn answering(engine: &Engine, step: Option<&HostMove>) -> Engine {
    let program = engine.inspect();
    let answer = |index: usize| {
        let index = to_u32(index);
        step.and_then(|step| step.answers.get(&index)).copied().unwrap_or(false)
    };
    let answers: Answers = program.predicates().iter().enumerate().map(|(at, predicate)| (predicate.name.clone(), answer(at))).collect();
    engine.answering(answers)
}

/// A session that is replayed, and its moments so far.
struct Replay {
    state: State,
    begun: Answers,
    moments: Vec<Moment>,
}

impl Replay {
    fn take(&mut self, engine: &Engine, step: &HostMove, constraints: &Constraints) -> Option<()> {
        let engine = answering(engine, Some(step));
        let node = self.state.current_node_id.clone();
        if let Some(before) = &step.before {
            self.hand_in(&engine, host_input(&self.state, before, constraints)?)?;
        }
        for _ in 0..MAX_REPEATED_INPUTS {
            self.hand_in(&engine, host_input(&self.state, &step.given, constraints)?)?;
            // Attempts repeat until the policy is spent; completed effects are undone.
            let again = self.state.current_node_id == node && self.state.attempt > 1 && self.state.status != Status::Terminated;
            if !again {
                break;
            }
        }
        for _ in 0..MAX_REPEATED_INPUTS {
            if self.state.status != Status::RollingBack {
                break;
            }
            let id = self.state.pending_tool_call.as_ref()?.id.clone();
            self.hand_in(&engine, Input::Result(ToolResult::new(id, ToolOutcome::Success(Value::Null))))?;
        }
        Some(())
    }

    fn hand_in(&mut self, engine: &Engine, input: Input) -> Option<()> {
        let step = engine.navigate(&self.state, input.clone()).ok()?;
        let to = Some(step.state.current_node_id.clone());
        self.moments.push(Moment { input, answers: answers(&step.events), to });
        self.state = step.state;
        Some(())
    }
}

fn host_input(state: &State, given: &HostInput, constraints: &Constraints) -> Option<Input> {
    let result = |outcome| {
        let call = state.pending_tool_call.as_ref()?;
        Some(Input::Result(ToolResult::new(call.id.clone(), outcome)))
    };
    match given {
        HostInput::Pass => Some(Input::Pass),
        HostInput::Answer(sym) => Some(Input::Value(constraints.choose(sym)?)),
        HostInput::Invalid => Some(Input::Text("?".into())),
        HostInput::Success(sym) => result(ToolOutcome::Success(constraints.choose(sym)?)),
        HostInput::Error(sym) => result(ToolOutcome::Error(failure(constraints, sym)?)),
        HostInput::Denied(sym) => result(ToolOutcome::Denied(Some(failure(constraints, sym)?.message))),
        HostInput::Signal(name) => Some(Input::Signal(name.clone())),
    }
}

/// Returns the tool error that leaves this value as `sys.error`.
fn failure(constraints: &Constraints, sym: &SymValue) -> Option<ToolError> {
    let Value::Map(error) = constraints.choose(sym)? else { return None };
    let kind = match error.get("kind").and_then(Value::as_str)? {
        "timeout" => ToolErrorKind::Timeout,
        "schema" => ToolErrorKind::Schema,
        _ => ToolErrorKind::Error,
    };
    let message = error.get("message").and_then(Value::as_str)?.to_owned();
    Some(ToolError { kind, code: error.get("code").cloned(), data: error.get("data").cloned(), ..ToolError::new(message) })
}

/// Returns the violation in which a session ended, if it failed at the alarm's node as the alarm predicts, and whether its message is about the
/// alarm's own path.
fn details(input: &SearchInput<'_, '_>, state: &State) -> Option<(Violation, bool)> {
    let program = input.program;
    let node = &program.node(program.point(input.alarm.point).node).id;
    let op = |at: OpIndex| &input.ir.ops[at.index()];
    let site = |at: SiteIndex| &input.ir.sites[at.index()];
    let (codes, about): (&[Failure], Option<String>) = match input.alarm.violation {
        Candidate::Missing(at) => (&[Failure::Template, Failure::Condition, Failure::MissingContext], Some(site(at).name(program))),
        Candidate::Truth(at) => (&[Failure::Condition], Some(site(at).path.to_string())),
        Candidate::Operand(at) => (&[Failure::Template], Some(site(at).path.to_string())),
        Candidate::Unfit(at) => {
            let Instr::Fit { node, index, .. } = op(at) else { return None };
            let (key, _) = program.node(*node).entry.types.get(*index as usize)?;
            (&[Failure::ContextSchema], Some(key.to_string()))
        }
        Candidate::Fails(at) => {
            let Instr::Assert { guard, .. } = op(at) else { return None };
            (&[Failure::Assert], guard.operand().map(|operand| operand.path.to_string()))
        }
        Candidate::Write(at) => {
            let Instr::Write { write: Write { to: WriteTarget::Path(path) | WriteTarget::Append(path), .. }, .. } = op(at) else {
                return None;
            };
            (&[Failure::Write], Some(path.to_string()))
        }
        Candidate::NoMatch(_) => (&[Failure::NoMatch], None),
        Candidate::Args(at) => {
            let Instr::Args { call } = op(at) else { return None };
            return called(input, state, call).map(|violation| (violation, true));
        }
    };
    let ended = state.ended.as_ref().filter(|ended| ended.reason == EndReason::Failed && ended.node == *node)?;
    let code = codes.iter().find(|code| ended.code.as_deref() == Some(code.as_str()))?;
    let message = ended.message.as_deref().unwrap_or_default();
    let (is_it, missing) = match input.alarm.violation {
        Candidate::Missing(at) => {
            let site = site(at);
            let lacks_part = || !site.inside().is_empty() && LACKING.iter().any(|lacking| message.ends_with(lacking));
            let is_it =
                names(message, &site.path.to_string()) || names(message, site.written(program).trim_start_matches('.')) || lacks_part();
            // Another value may be missing before it in the same text; for an item, only the message shows that.
            let before = *code == Failure::Template && (site.inside().is_empty() || message.ends_with("is not set"));
            (site.is_deep() || is_it || before).then_some((is_it, site.inside().is_empty()))?
        }
        // One template may hold several mistakes.
        Candidate::Operand(_) => (!message.ends_with("is not set"), false),
        _ => (true, false),
    };
    Some((Violation::Failed { node: node.clone(), code: code.as_str().into(), about: about.map(Arc::from), missing }, is_it))
}

/// The engine's messages about an item that lacks the attribute of `map(attribute=…)`.
const LACKING: [&str; 2] = ["a part of the value is not set", "cannot add nothing to a sum"];

/// Returns whether a message names something.
fn names(message: &str, what: &str) -> bool {
    message.contains(&format!("`{what}`"))
}

/// Returns the pending or compensating call whose arguments do not fit.
fn called(input: &SearchInput<'_, '_>, state: &State, call: &Call) -> Option<Violation> {
    let program = input.program;
    let takes: Value = external::taken(program, call)?.into();
    let schema = Schema::new(&takes).ok()?;
    let undone = state.effects.undoable().next_back().and_then(|effect| effect.undo.as_deref());
    let mut calls: Vec<&PendingCall> = state.pending_tool_call.as_deref().into_iter().chain(undone).collect();
    while let Some(pending) = calls.pop() {
        let is_it = match (&call.callee, &pending.kind) {
            (Callee::Tool(tool), _) => *pending.name == *tool.name,
            (Callee::Graph(child), CallKind::Graph(id)) => program.node(*child).id == *id,
            _ => false,
        };
        if is_it && !schema.fits(&Value::Map(pending.args.clone())) {
            return Some(Violation::Call { node: pending.node.clone(), callee: pending.name.clone(), takes });
        }
        if let CallKind::Parallel { branches, .. } = &pending.kind {
            calls.extend(branches.iter().map(|(_, branch)| branch));
        }
    }
    None
}
