//! Every edge out of a node, explicit and implicit, in the order in which the engine tries them (language 6.3, 7.4, 7.5).

use super::{Here, Lowering, rule};
use trellis_base::{
    diagnostic::{Code, FilePath, Report},
    id::SignalName,
    index::to_u32,
    path::KeyPath,
    span::{SourceMap, Span, Spanned},
    template::{Dialect, Shape},
    value::{Key, Value},
};
use trellis_engine::program::{
    Call, Edge, Failure, Guard, Listen, Outcome, PointIndex, Provenance, Reason, Target, Write, WriteSource, WriteTarget,
};
use trellis_syntax::node::{AssignSyntax, CallSyntax, CalleeSyntax, EndSyntax, InputType, NodeSyntax, OnBranchError, TargetSyntax};

/// Returns the writes of an accepted input or a success: `sys.ans` (never a secret), `save_to`, `set`, `append`.
pub(super) fn update(node: &NodeSyntax, resolves: bool) -> Vec<Write> {
    let mut writes = Vec::with_capacity(2 * usize::from(resolves) + node.set.len() + node.append.len());
    let secret = node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Secret);
    if resolves && !secret {
        writes.push(Write { to: WriteTarget::Ans, value: WriteSource::Input, origin: node.span });
    }
    if resolves && let Some(path) = save_to(node) {
        writes.push(Write { to: WriteTarget::Path(path.value.clone()), value: WriteSource::Input, origin: path.span });
    }
    writes.extend(node.call.iter().filter(|_| resolves).flat_map(|call| of_branches(call)));
    writes.extend(assigned(&node.set, &node.append));
    writes
}

/// `set`, then `append`.
pub(super) fn assigned(set: &[AssignSyntax], append: &[AssignSyntax]) -> impl Iterator<Item = Write> {
    let write = |assign: &AssignSyntax, to: fn(KeyPath) -> WriteTarget| Write {
        to: to(assign.key.value.clone()),
        value: WriteSource::Shape(assign.value.value.clone()),
        origin: assign.key.span,
    };
    let set = set.iter().map(move |assign| write(assign, WriteTarget::Path));
    set.chain(append.iter().map(move |assign| write(assign, WriteTarget::Append)))
}

/// `save_to` of the node, or of its call.
fn save_to(node: &NodeSyntax) -> Option<&Spanned<KeyPath>> {
    node.save_to.as_ref().or_else(|| node.call.as_ref().and_then(|call| call.save_to.as_ref()))
}

/// Returns the writes of the branches of `parallel`: their part of the result, where it exists and, where errors are collected, no error
/// (language 10.3).
pub(super) fn of_branches(call: &CallSyntax) -> Vec<Write> {
    let CalleeSyntax::Parallel(branches, composite) = &call.callee else { return Vec::new() };
    let write = |(name, branch): &(Spanned<Key>, CallSyntax)| {
        let to = branch.save_to.as_ref()?;
        if composite.on_error == Some(OnBranchError::Collect) {
            return Some(Write {
                to: WriteTarget::Path(to.value.clone()),
                value: WriteSource::Branch(name.value.clone()),
                origin: to.span,
            });
        }
        let may_lack = if composite.any { " | optional" } else { "" };
        let text = format!("{{{{ input[{}]{may_lack} }}}}", Value::Text(name.value.clone()).to_json());
        // It repeats the meaning of the key, and cannot be wrong.
        let (map, mut unread) = (SourceMap::Whole(to.span), Report::new(&FilePath::from("")));
        let shape = Shape::parse(&text, &map, Dialect::Jinja, false, &mut unread);
        Some(Write { to: WriteTarget::Path(to.value.clone()), value: WriteSource::Shape(shape), origin: to.span })
    };
    branches.iter().filter_map(write).collect()
}

/// The indices at which the edges of an answer begin in the list; they reach to its end.
pub(super) struct MainEdges {
    pub(super) start: u32,
    /// The index of the first edge after those of the options.
    pub(super) after_options: u32,
}

fn error_write(origin: Span) -> Vec<Write> {
    vec![Write { to: WriteTarget::Error, value: WriteSource::Error, origin }]
}

impl<'d> Lowering<'d> {
    /// Options, transitions, the `no` of a confirm, `to`, and the edge for the case that no guard holds (language 6.3). They are written at the
    /// end of the list. An option with writes of its own is not among them: its edge is that of its own outcome.
    pub(super) fn main_edges(&mut self, here: Here<'_>, node: &NodeSyntax, terminal: bool, input: bool) -> MainEdges {
        let start = self.next_edge();
        let mut denied = node.on_denied.as_deref().filter(|_| input && is_confirm(node));
        for option in node.options().filter(|option| input && option.writes.is_none()) {
            if let Some(target) = &option.target {
                let when = Guard::Is(self.common.input.clone(), true, option.value.value.clone());
                let edge = self.edge(here, when, target, Provenance::Option(option.text.value.shared_text()));
                self.edges.push(edge);
            }
        }
        let after_options = self.next_edge();
        let mut open: Option<Span> = None;
        let mut shadowed = Vec::new();
        for transition in &node.transitions {
            if open.is_some() {
                shadowed.push(transition.span);
            }
            let when = transition.condition.as_ref().map_or(Guard::Always, |condition| self.guard(here, condition));
            if when == Guard::Always {
                self.no_edge(here, denied.take());
            }
            let Some(target) = &transition.target else {
                open = open.or_else(|| (when == Guard::Always).then_some(transition.span));
                self.unresolved = true;
                continue;
            };
            let always = when == Guard::Always;
            let edge = self.edge(here, when, target, Provenance::Transition);
            if open.is_none() {
                self.edges.push(edge);
            }
            if always {
                open = open.or(Some(transition.span));
            }
        }
        self.no_edge(here, denied.take());
        if let Some(to) = &node.to {
            let edge = self.edge(here, Guard::Always, to, Provenance::To);
            if open.is_some() {
                shadowed.push(to.key.span.to(to.name.span));
            } else {
                self.edges.push(edge);
                open = Some(to.key.span);
            }
        }
        if let (Some(open), Some(first)) = (open, shadowed.first()) {
            let more = if shadowed.len() > 1 { format!(", and {} more after it", shadowed.len() - 1) } else { String::new() };
            let diagnostic = trellis_base::diagnostic::Diagnostic::new(
                Code::ShadowedTransition,
                here.path,
                *first,
                format!("this transition is never taken{more}: an unconditional one comes before it"),
            )
            .label(here.path, open, "this one always holds")
            .help("move the unconditional transition to the end, or give it a condition");
            self.push(diagnostic);
            // The shadowed edges are meant to lead somewhere.
            self.unresolved = true;
        }
        if terminal {
            self.edges.push(Edge {
                when: Guard::Always,
                to: Target::End(end(node)),
                why: Provenance::Terminal,
                origin: node.end.as_ref().and_then(|end| here.origin(end.span)),
            });
        } else if self.edges[start as usize..].last().is_none_or(|edge| edge.when != Guard::Always) {
            self.edges.push(rule(Target::End(Reason::Failed(Failure::NoMatch))));
        }
        MainEdges { start, after_options }
    }

    /// Adds the edge for a confirm that was denied: `on_denied`, before the first unconditional edge.
    fn no_edge(&mut self, here: Here<'_>, denied: Option<&TargetSyntax>) {
        if let Some(target) = denied {
            let edge = self.edge(here, Guard::Is(self.common.input.clone(), true, self.common.no.clone()), target, Provenance::OnDenied);
            self.edges.push(edge);
        }
    }

    /// The replies of a listening node beside its answer: invalid inputs and its timeout.
    pub(super) fn listening_replies(&mut self, here: Here<'_>, node: &NodeSyntax, listen: &Listen) {
        if let Some((invalid, max)) = node.on_invalid.as_ref().and_then(|invalid| Some((invalid, invalid.value.max.as_ref()?))) {
            let again =
                Edge { when: Guard::Attempts(max.value), to: Target::Again, why: Provenance::OnInvalid, origin: here.origin(max.span) };
            let last = match &invalid.value.to {
                Some(target) => self.edge(here, Guard::Always, target, Provenance::OnInvalid),
                None => {
                    let message = format!("nothing follows after {} invalid inputs", max.value);
                    self.report(here, Code::NonExhaustive, max.span, message).help =
                        Some("add `to: node` to `on_invalid`, or `to: fail`; without `max` it asks again each time".into());
                    rule(Target::End(Reason::Failed(Failure::InvalidInput)))
                }
            };
            self.reply(Outcome::Invalid, Vec::new(), [again, last]);
        }
        let handled = node.on_signal.iter().any(|(name, _)| name.value.as_str() == SignalName::TIMEOUT);
        if let Some(timeout) = node.timeout.as_ref().filter(|_| !handled) {
            self.unhandled_timeout(here, timeout.span, listen);
        }
    }

    /// `timeout` without a handler of its own: the default becomes the answer, else the graph's handler applies, else it fails (language 7.5).
    fn unhandled_timeout(&mut self, here: Here<'_>, at: Span, listen: &Listen) {
        let on = Outcome::Signal(self.common.timeout.clone());
        if let Some(default) = &listen.default {
            let outcome = listen.outcome(default);
            if let Some(answer) = self.replies.iter().rev().find(|reply| reply.on == outcome) {
                let input = Write { to: WriteTarget::Input, value: WriteSource::Shape(Shape::Literal(default.clone())), origin: at };
                let writes: Vec<_> = std::iter::once(input).chain(answer.update.iter().cloned()).collect();
                let edges = answer.edges.clone();
                self.replies.push(trellis_engine::program::Reply { on, update: writes.into(), edges });
            }
            return;
        }
        let graph = &self.graphs[here.graph as usize].defaults.signals;
        if graph.iter().any(|declared| declared.value.0.is_none_or(|name| name == SignalName::TIMEOUT)) {
            return;
        }
        self.reply(on, Vec::new(), [rule(Target::End(Reason::Failed(Failure::Timeout)))]);
        self.report(here, Code::NonExhaustive, at, "nothing follows when the time is up").help =
            Some("add `on_timeout: node`, or an `input_default` that stands in for the answer".into());
    }

    /// The replies to a call's error, timeout and denial. At a gate the graph's defaults follow a denial too, and targets are entered behind their gates.
    pub(super) fn recovery(&mut self, here: Here<'_>, node: &NodeSyntax, call: &Call, gate: bool) {
        let retry = call.retry.as_ref();
        let again = |covered: bool| {
            let retry = retry.filter(|retry| covered && retry.max > 1)?;
            Some(Edge { when: Guard::Attempts(retry.max), to: Target::Again, why: Provenance::Retry, origin: None })
        };
        let on_timeout = node.on_signal.iter().find(|(name, _)| name.value.as_str() == SignalName::TIMEOUT).map(|(_, target)| target);
        let on_error = node.on_error.as_deref();

        let mut edges: Vec<Edge> = again(retry.is_some_and(|retry| retry.on_error)).into_iter().collect();
        self.first_of(here, &[(on_error, Provenance::OnError)], true, gate, Failure::ToolError, &mut edges);
        self.reply(Outcome::Error, error_write(node.span), edges);

        let mut edges: Vec<Edge> = again(retry.is_some_and(|retry| retry.on_timeout)).into_iter().collect();
        self.first_of(
            here,
            &[(on_timeout, Provenance::OnSignal), (on_error, Provenance::OnError)],
            true,
            gate,
            Failure::Timeout,
            &mut edges,
        );
        self.reply(Outcome::Timeout, error_write(node.span), edges);

        let mut edges = Vec::new();
        self.first_of(
            here,
            &[(node.on_denied.as_deref(), Provenance::OnDenied), (on_error, Provenance::OnError)],
            gate,
            gate,
            Failure::Fail,
            &mut edges,
        );
        if let Some(last) = edges.last_mut()
            && last.why == Provenance::Rule
        {
            last.to = Target::End(Reason::Denied);
        }
        self.reply(Outcome::Denied, error_write(node.span), edges);
    }

    /// The first handler there is, else the graph's `on_error`, else the end.
    fn first_of(
        &mut self,
        here: Here<'_>,
        handlers: &[(Option<&TargetSyntax>, Provenance)],
        graph_default: bool,
        skip_gate: bool,
        failure: Failure,
        edges: &mut Vec<Edge>,
    ) {
        if let Some((target, why)) = handlers.iter().find_map(|(target, why)| Some(((*target)?, why))) {
            edges.push(self.edge_from(here, Guard::Always, target, why.clone(), skip_gate));
            return;
        }
        match self.graphs[here.graph as usize].defaults.on_error {
            Some(declared) if graph_default => {
                let root = self.root_of(declared.document, declared.path, here.graph);
                let edge = self.edge_from(root.as_here(), Guard::Always, declared.value, Provenance::ErrorDefault, skip_gate);
                edges.push(edge);
            }
            _ => edges.push(rule(Target::End(Reason::Failed(failure)))),
        }
    }

    /// Signals while the session waits here: the node's, then the graph's default (language 7.5). A call's timeout is no signal.
    pub(super) fn signals(&mut self, here: Here<'_>, node: &NodeSyntax, acting: bool) {
        for (name, target) in &node.on_signal {
            if acting && name.value.as_str() == SignalName::TIMEOUT {
                continue;
            }
            let edge = self.edge(here, Guard::Always, target, Provenance::OnSignal);
            self.reply(Outcome::Signal(name.value.clone()), Vec::new(), [edge]);
        }
        for at in 0..self.graphs[here.graph as usize].defaults.signals.len() {
            let declared = self.graphs[here.graph as usize].defaults.signals[at];
            let (name, target) = declared.value;
            let taken = |name: &str| {
                (acting && name == SignalName::TIMEOUT)
                    || node.on_signal.iter().any(|(own, _)| own.value.as_str() == name)
                    || (name == SignalName::TIMEOUT && node.timeout.is_some() && node.input_default.is_some())
            };
            if name.is_some_and(taken) {
                continue;
            }
            let root = self.root_of(declared.document, declared.path, here.graph);
            let edge = self.edge(root.as_here(), Guard::Always, target, Provenance::SignalDefault);
            let on = name.map_or(Outcome::AnySignal, |name| Outcome::Signal(SignalName::from(name)));
            self.reply(on, Vec::new(), [edge]);
        }
    }

    /// Adds the reply for a node that was entered too often: on both of its points, since both may be entered.
    pub(super) fn exhausted(&mut self, here: Here<'_>, node: &NodeSyntax) {
        if node.max_visits.is_none() {
            return;
        }
        let edge = match &node.on_max_visits {
            Some(target) => self.edge(here, Guard::Always, target, Provenance::OnMaxVisits),
            None => rule(Target::End(Reason::Failed(Failure::MaxVisits))),
        };
        self.reply(Outcome::Exhausted, Vec::new(), [edge]);
    }

    /// From the gate on to the node itself.
    pub(super) fn proceed(&mut self, body: PointIndex, writes: Vec<Write>) {
        self.reply(
            Outcome::Success,
            writes,
            [Edge { when: Guard::Always, to: Target::Proceed(body), why: Provenance::BeforeEach, origin: None }],
        );
    }

    /// Adds the reply for a graph that was unwound; returns its index.
    pub(crate) fn rollback_reply(&mut self, graph: u32) -> u32 {
        let edge = match self.graphs[graph as usize].defaults.on_rolled_back {
            Some(declared) => {
                let root = self.root_of(declared.document, declared.path, graph);
                self.edge_from(root.as_here(), Guard::Always, declared.value, Provenance::OnRolledBack, true)
            }
            None => rule(Target::End(Reason::RolledBack)),
        };
        let index = to_u32(self.replies.len());
        self.reply(Outcome::RolledBack, Vec::new(), [edge]);
        index
    }

    /// Returns the place of a graph-wide key: its targets are looked up from the graph's root.
    pub(super) fn root_of(&self, document: u32, path: &'d trellis_base::diagnostic::FilePath, graph: u32) -> RootHere<'d> {
        RootHere { document, path, graph, root: self.graphs[graph as usize].syntax.root.clone() }
    }
}

/// A place at a graph's root.
pub(super) struct RootHere<'d> {
    document: u32,
    path: &'d trellis_base::diagnostic::FilePath,
    graph: u32,
    root: std::sync::Arc<str>,
}

impl RootHere<'_> {
    pub(super) fn as_here(&self) -> Here<'_> {
        Here { document: self.document, graph: self.graph, path: self.path, folder: &self.root }
    }
}

fn end(node: &NodeSyntax) -> Reason {
    match node.end.as_ref().map(|end| end.value) {
        Some(EndSyntax::Failed) => Reason::Failed(Failure::End),
        _ => Reason::Finished,
    }
}

fn is_confirm(node: &NodeSyntax) -> bool {
    node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Confirm)
}
