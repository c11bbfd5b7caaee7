//! One node: its role, the steps of entering it, and its points.

use std::sync::Arc;

use super::{Here, Lowering, call::Around, edges::update};
use crate::names::Candidate;
use trellis_base::diagnostic::{Code, Diagnostic};
use trellis_engine::program::{Call, Entry, Localised, Node, NodeIndex, Outcome, Part, PointIndex, Role, Write, WriteSource, WriteTarget};
use trellis_syntax::{
    condition::Condition,
    node::{EndSyntax, NodeKind, NodeSyntax},
};

impl<'d> Lowering<'d> {
    /// Lowers one node to its points.
    pub(crate) fn node(&mut self, candidate: Candidate<'d>, syntax: &'d NodeSyntax, index: NodeIndex) {
        let here = Here::of(candidate);
        self.check_kind(here, syntax);
        self.check_places(here, candidate, syntax);
        self.check_declared(here, syntax);
        let mut found = std::mem::take(&mut self.found);
        let own = self.tools.own(candidate, &mut self.schemas, &mut found);
        self.found = found;
        let around = Around { here, candidate, own: &own };

        let has_target = |options: &[trellis_syntax::node::OptionSyntax]| options.iter().any(|option| option.target.is_some());
        let terminal = syntax.to.is_none()
            && syntax.transitions.is_empty()
            && !syntax.options.as_ref().is_some_and(|options| has_target(&options.value));
        let acts = syntax.call.is_some();
        let listens = !acts && listening_key(syntax).is_some();
        let writes = update(syntax, acts || listens);
        let role = match &syntax.call {
            Some(call) => Role::Act(Arc::new(self.node_call(&around, syntax, call, &writes))),
            None if listens => Role::Listen(Box::new(self.listen(here, syntax))),
            None => Role::Pass,
        };

        let replies = self.replies.len();
        let gate = self.layouts.gated[index.0 as usize].then(|| PointIndex(self.layouts.points_of[index.0 as usize]));
        let body = self.entry_point(index, true);
        if gate.is_some() {
            self.gate(here, syntax, index, body);
        }
        self.begin_point(index, Part::Body);
        let main = self.main_edges(here, syntax, terminal, listens);
        match &role {
            Role::Pass => self.reply_from(main.start, Outcome::Pass, writes),
            Role::Listen(listen) => {
                self.answers(here, syntax, listen, &main, writes);
                self.listening_replies(here, syntax, listen);
                self.signals(here, syntax, false);
            }
            Role::Act(call) => {
                let call = Arc::clone(call);
                self.reply_from(main.start, Outcome::Success, writes);
                self.recovery(here, syntax, &call, false);
                self.signals(here, syntax, true);
            }
        }
        self.exhausted(here, syntax);
        self.end_point();

        let entry = self.entry(here, syntax);
        let localised = syntax.messages.iter().map(|message| {
            let options = message.options.iter().map(|(value, text)| (value.value.clone(), text.value.clone()));
            let content = message.content.as_ref().map(|content| self.speech(here, &content.value));
            (message.locale.value.clone(), Localised { content, options: options.collect() })
        });
        let mut localised: Box<[_]> = localised.collect();
        localised.sort_by(|(a, _), (b, _)| a.cmp(b));
        let content = syntax.content.as_ref().map(|content| self.speech(here, &content.value));
        let node = Node {
            id: candidate.id.clone(),
            index,
            graph: candidate.graph,
            document: candidate.document,
            ordinal: candidate.ordinal,
            span: syntax.span,
            gate,
            body,
            content,
            localised,
            role,
            entry,
            terminal,
            output: syntax.output.as_ref().map(|output| Box::new(output.value.clone())),
            end: syntax.end.as_ref().map(|end| end.value),
            reason: syntax.reason.as_ref().map(|reason| reason.value.clone()),
            metadata: syntax.metadata.as_ref().map(|metadata| Box::new(metadata.value.clone())),
        };
        self.guarded(here, syntax, &node, replies);
        self.nodes.push(Arc::new(node));
    }

    /// The point where `before_each` is called.
    fn gate(&mut self, here: Here<'d>, syntax: &'d NodeSyntax, index: NodeIndex, body: PointIndex) {
        let Some((call, declared)) = self.before_each(here) else { return };
        self.begin_point(index, Part::Gate);
        let writes = Self::saved(declared);
        self.proceed(body, writes);
        self.recovery(here, syntax, &call, true);
        self.signals(here, syntax, true);
        self.exhausted(here, syntax);
        self.end_point();
    }

    fn before_each(&self, here: Here<'d>) -> Option<(Arc<Call>, &'d trellis_syntax::node::CallSyntax)> {
        let graph = &self.graphs[here.graph as usize];
        Some((graph.before_each.clone()?, graph.defaults.before_each?.value))
    }

    fn entry(&mut self, here: Here<'d>, syntax: &'d NodeSyntax) -> Entry {
        let types = syntax.context_schema.iter().filter_map(|(key, schema)| {
            Some((key.value.clone(), self.schemas.checked(Code::WrongType, here.path, schema, &mut self.found)?))
        });
        let types: Box<[_]> = types.collect();
        let file = &self.documents[here.document as usize].text;
        let asserts =
            syntax.asserts.iter().map(|condition| (self.guard(here, condition), Condition::text_of(condition, file).into())).collect();
        Entry {
            max_visits: syntax.max_visits.as_ref().map(|max| max.value),
            defaults: syntax
                .default_context
                .iter()
                .map(|assign| Write {
                    to: WriteTarget::Absent(assign.key.value.root().clone()),
                    value: WriteSource::Shape(assign.value.value.clone()),
                    origin: assign.key.span,
                })
                .collect(),
            required: syntax.required_context.iter().map(|path| path.value.clone()).collect(),
            types,
            asserts,
        }
    }

    /// Checks `type:`, which declares the kind of a node; a contradiction is an error (language 2).
    fn check_kind(&mut self, here: Here<'_>, node: &NodeSyntax) {
        if let (Some(call), Some(listens)) = (&node.call, listening_key(node)) {
            let by_kind = node.kind.as_ref().filter(|kind| kind.span == listens);
            let diagnostic = match by_kind {
                Some(kind) => Diagnostic::new(Code::TypeContradiction, here.path, kind.span, "this type listens, but the node has `do`")
                    .label(here.path, call.key, "the call")
                    .help("drop `type`, or split the node: one that asks and one that calls"),
                None => Diagnostic::new(Code::ActAndListen, here.path, call.key, "a node calls or listens, not both")
                    .label(here.path, listens, "it listens because of this")
                    .help("split the node: one that asks and leads to one that calls"),
            };
            self.push(diagnostic);
            return;
        }
        let Some(kind) = &node.kind else { return };
        match (kind.value, &node.call) {
            (NodeKind::Tool, None) => {
                self.report(here, Code::TypeContradiction, kind.span, "a node of type `tool` needs `do`").help =
                    Some("add `do: name`, or drop `type`".into());
            }
            (NodeKind::Text | NodeKind::Format | NodeKind::Start, Some(call)) => {
                let diagnostic =
                    Diagnostic::new(Code::TypeContradiction, here.path, kind.span, "a node of this type calls nothing, but it has `do`")
                        .label(here.path, call.key, "the call")
                        .help("drop `type`, or make it `tool`");
                self.push(diagnostic);
            }
            _ => {}
        }
    }

    /// Reports keys that have no meaning in this node: `misplaced-key`.
    fn check_places(&mut self, here: Here<'_>, candidate: Candidate<'_>, node: &NodeSyntax) {
        let entry = self.graphs[here.graph as usize].syntax.entry.is_some_and(|entry| self.names.candidate(entry).id == candidate.id);
        // A key whose value was refused still shows the kind of the node.
        let acts = node.key("do").is_some() || node.is_unclear;
        let listens = listening_key(node).is_some() || node.is_unclear || (node.kind.is_none() && node.key("type").is_some());
        let gated = self.graphs[here.graph as usize].defaults.before_each.is_some();
        let waits = acts || listens || gated || node.key("wait").is_some();
        let terminal = node.to.is_none()
            && node.transitions.is_empty()
            && !node.options.as_ref().is_some_and(|options| options.value.iter().any(|option| option.target.is_some()));
        let other_type = node.input_type.as_ref().is_some_and(|kind| kind.value != trellis_syntax::node::InputType::Confirm);
        let confirm = node.key("input_type").is_some() && !other_type;
        // An end that was refused may have been this one.
        let fails = node.end.as_ref().map_or(node.key("end").is_some(), |end| end.value == EndSyntax::Failed);
        let graph_wide = ["before_each", "on_signal_default", "on_rolled_back"];
        for &(key, span) in &node.keys {
            let help = match key {
                _ if graph_wide.contains(&key) && !entry => "it holds for the whole graph: put it into `trellis.yaml` or the entry node",
                "save_to" if !acts && !listens => "only a node that listens or acts has something to save; use `set`",
                "undo" | "retry" if !acts => "it belongs to a call: add `do`",
                "on_error" if !acts && !gated => "only a call can fail: add `do`, or drop it",
                "on_denied" if !acts && !gated && !confirm => "only a call or a `confirm` can be denied",
                "input_default" | "input_schema" | "on_invalid" if !listens => "the node does not listen: add `input_type`",
                "timeout" | "on_timeout" if !waits => "the node does not wait: add `input_type`, `wait` or `do`",
                "on_signal" | "on_interrupt" if !waits => {
                    "signals are taken only while a node waits: add `wait: true`, `input_type` or `do`"
                }
                "on_max_visits" if node.key("max_visits").is_none() => "it needs `max_visits: n`",
                "output" | "end" if !terminal => "it belongs to a node that ends: drop it, or drop the targets",
                "reason" if !fails => "it says why a node with `end: failed` fails: add that, or drop it",
                _ => continue,
            };
            self.report(here, Code::MisplacedKey, span, format!("`{key}` means nothing here")).help = Some(help.into());
        }
        if let Some(to) =
            node.on_invalid.as_ref().and_then(|invalid| if invalid.value.max.is_none() { invalid.value.to.as_ref() } else { None })
        {
            self.report(here, Code::MisplacedKey, to.key.span, "`to` means nothing here").help = Some("it needs `max: n` beside it".into());
        }
    }
}

/// The key that makes a node listen (language 2.4).
fn listening_key(node: &NodeSyntax) -> Option<trellis_base::span::Span> {
    let kind = node.kind.as_ref().filter(|kind| matches!(kind.value, NodeKind::Question | NodeKind::Prompt));
    let wait = node.wait.as_ref().map(|wait| wait.span);
    let input = node.input_type.as_ref().map(|kind| kind.span);
    let options = node.options.as_ref().map(|options| options.span);
    let refused = || ["input_type", "options"].iter().find_map(|key| node.key(key));
    wait.or(input).or(options).or(kind.map(|kind| kind.span)).or_else(refused)
}
