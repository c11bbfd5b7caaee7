//! A step in progress: the state so far, and the events so far.
//!
//! **Invariant:** nothing leaves a move that was refused; one that failed leaves as a step to the end.

use std::sync::Arc;

use super::{
    Engine, Event, Step, Unanswered,
    fail::{Failed, Stop},
    retry::Trying,
    speech::render_speech,
};
use crate::{
    program::{Node, NodeIndex, Part, PointIndex, Program, Speech, TakenEdge},
    state::{CallRole, ContextWrite, EndReason, Ended, PartName, State, Status},
};
use trellis_base::{
    id::NodeId,
    scope::{Scope, Sys, SysValues},
    template::{RenderLimits, Shape, Template},
    value::Value,
};

/// A step in progress.
pub(super) struct Move<'e> {
    pub(super) engine: &'e Engine,
    pub(super) program: &'e Program,
    pub(super) state: State,
    pub(super) events: Vec<Event>,
    /// The writes to the context, in order.
    pub(super) wrote: Vec<ContextWrite>,
    /// True if there is no node to leave: the session begins, or its node is gone.
    pub(super) fresh: bool,
    /// `input`, while the node resolves.
    pub(super) input: Option<Value>,
    /// `tool_result`, while the node resolves.
    pub(super) tool_result: Option<Value>,
    /// The error that is being resolved, as `sys.error` will have it.
    pub(super) error: Option<Value>,
    /// The instructions of that error about another attempt.
    pub(super) trying: Trying,
    /// The parts that did not succeed, while their call resolves.
    pub(super) failed_parts: Vec<PartName>,
    /// True if the open parts of the pending call were left in this step.
    pub(super) has_left_parts: bool,
    /// The edges that were taken.
    pub(super) took: Vec<TakenEdge>,
    /// Predicates that were asked in this step, with their answers.
    pub(super) asked: Vec<(u32, bool)>,
}

impl<'e> Move<'e> {
    pub(super) fn new(engine: &'e Engine, state: State) -> Self {
        Self {
            engine,
            program: &engine.program,
            state,
            events: Vec::with_capacity(4),
            wrote: Vec::new(),
            fresh: false,
            input: None,
            tool_result: None,
            error: None,
            trying: Trying::default(),
            failed_parts: Vec::new(),
            has_left_parts: false,
            took: Vec::new(),
            asked: Vec::new(),
        }
    }

    pub(super) fn node_of(&self, point: PointIndex) -> &'e Node {
        self.program.node(self.program.point(point).node)
    }

    pub(super) fn scope(&self) -> Scope {
        let mut scope = scope(self.program, &self.state);
        scope.input = self.input.clone().or_else(|| self.supposed("input"));
        scope.tool_result = self.tool_result.clone().or_else(|| self.supposed("tool_result"));
        scope
    }

    /// Returns a value that a trial assumes to be present: a violation may come after another one, which ends every session.
    fn supposed(&self, name: &str) -> Option<Value> {
        if self.engine.is_trial { self.state.context.get(name).cloned() } else { None }
    }

    /// Evaluates a shape; `None` leaves its key out.
    pub(super) fn evaluate(&self, node: &NodeId, shape: &Shape) -> Result<Option<Value>, Stop> {
        if let Shape::Literal(value) = shape {
            return Ok(Some(value.clone()));
        }
        // Secrets occur in arguments only, which `call.rs` evaluates.
        shape.evaluate(&self.scope(), limits(self.program), &mut Vec::new()).map_err(|error| Stop::template(node, &error))
    }

    pub(super) fn text(&self, node: &NodeId, template: &Template) -> Result<Arc<str>, Stop> {
        template.render(&self.scope(), limits(self.program)).map_err(|error| Stop::template(node, &error))
    }

    /// Renders the content of a node; `None` if no part of it is shown.
    pub(super) fn render_speech(&self, node: &NodeId, speech: &Speech) -> Result<Option<Arc<str>>, Stop> {
        render_speech(self.program, &self.scope(), speech).map_err(|unsaid| Stop::unsaid(node, &unsaid))
    }

    /// Ends the move: it becomes a step, also when it failed.
    ///
    /// # Errors
    /// The deferred predicate without which it cannot happen.
    pub(super) fn close(mut self, result: Result<(), Stop>) -> Result<Step, Box<Unanswered>> {
        match result {
            Ok(()) => {}
            Err(Stop::Unanswered(predicate)) => return Err(predicate),
            Err(Stop::Failed(failed)) => self.fail(*failed),
        }
        Ok(self.into_step())
    }

    pub(super) fn into_step(self) -> Step {
        Step { state: self.state, events: self.events, wrote: self.wrote, took: self.took }
    }

    fn fail(&mut self, failed: Failed) {
        let place = failed.span.and_then(|span| {
            let document = failed.document.or_else(|| Some(self.program.node(self.program.find(&failed.node)?).document))?;
            Some(self.program.failure_place(document, span))
        });
        self.end(Ended {
            reason: EndReason::Failed,
            code: Some(failed.failure.as_str().into()),
            node: failed.node,
            message: Some(failed.message.into()),
            place,
            output: None,
            rollback: None,
        });
    }

    pub(super) fn end(&mut self, mut ended: Ended) {
        ended.rollback.clone_from(&self.state.system_context.rollback);
        self.events.push(Event::Ended(ended.reason));
        self.state.status = Status::Terminated;
        self.state.take_call();
        self.state.ended = Some(Arc::new(ended));
    }
}

/// Returns the values that can be read at a state, outside a resolving node.
pub(super) fn scope(program: &Program, state: &State) -> Scope {
    let visits = if state.visits.is_empty() { None } else { visits(program, state) };
    let facts = SysValues {
        session: state.session_id.clone(),
        node: state.current_node_id.clone(),
        step: state.step,
        visits,
        context: state.system_context.clone(),
    };
    Scope { context: state.context.clone(), sys: Sys::new(facts), input: None, tool_result: None }
}

/// `sys.visits`, on nodes with `max_visits`.
fn visits(program: &Program, state: &State) -> Option<u32> {
    let node = program.node(program.find(&state.current_node_id)?);
    node.entry.max_visits.and_then(|_| state.visits.get(&node.id).copied())
}

/// Returns the current point of a state.
pub(super) fn point(state: &State, node: &Node) -> PointIndex {
    let gate = state.pending_tool_call.as_ref().is_some_and(|call| call.role == CallRole::BeforeEach);
    if gate { node.gate.unwrap_or(node.body) } else { node.body }
}

/// The first point of a node.
pub(super) fn first_point(node: &Node) -> PointIndex {
    node.gate.unwrap_or(node.body)
}

pub(super) fn is_gate(program: &Program, point: PointIndex) -> bool {
    program.point(point).part == Part::Gate
}

pub(super) fn limits(program: &Program) -> RenderLimits {
    let limits = program.limits();
    RenderLimits { output: limits.template_output, fuel: limits.template_fuel }
}

/// The node of an id, also under its former name.
pub(super) fn find(program: &Program, id: &NodeId) -> Option<NodeIndex> {
    program.find(id).or_else(|| program.find_renamed(id))
}
