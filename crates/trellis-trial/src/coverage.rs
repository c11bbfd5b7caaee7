//! Coverage of cases: the items are edges and nodes, the counts come from the steps.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use trellis_core::{
    Event, NodeId, Program, State, ToolOutcome, ToolResult,
    engine::Step,
    program::{Call, Callee, Guard, Node, NodeIndex, OutEdge, Outcome, PointIndex, Provenance, Reason, Role, Target},
    span::{LineIndex, Span},
    state::{CallKind, CallRole, PendingCall},
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax},
    },
    value::Key,
};

use crate::wire::{Coverage, Item};

/// The number of times that each item was passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    nodes: BTreeMap<NodeId, u64>,
    /// By the place of the edge in the edge list.
    edges: BTreeMap<u32, u64>,
    options: BTreeMap<(NodeId, usize), u64>,
    /// Of a whole call, or of a branch by its name.
    retries: BTreeMap<(NodeId, Option<String>), u64>,
    /// By the call that undoes, and its success.
    undos: BTreeMap<(NodeId, Arc<str>, bool), u64>,
    /// Branches by their names, items of a list by their tools, and their success.
    parts: BTreeMap<(NodeId, String, bool), u64>,
    locales: BTreeMap<(NodeId, Arc<str>), u64>,
}

impl Counts {
    /// Counts the items that a step passed, from the state before it.
    pub(crate) fn take(&mut self, program: &Program, before: &State, step: &Step) {
        for event in &step.events {
            match event {
                Event::Entered(node) => *self.nodes.entry(node.clone()).or_default() += 1,
                Event::Undone { ok, .. } => {
                    let undo = before.pending_tool_call.as_ref().filter(|call| matches!(call.role, CallRole::Undo(_)));
                    let undone = undo.map(|undo| (undo.node.clone(), Arc::clone(&undo.name), *ok));
                    undone.into_iter().for_each(|undone| *self.undos.entry(undone).or_default() += 1);
                }
                _ => {}
            }
        }
        for taken in &step.took {
            *self.edges.entry(taken.edge).or_default() += 1;
        }
        let Some(first) = step.took.first() else { return };
        let answers = program.out_edges(first.point).any(|out_edge| out_edge.index == first.edge && is_answer(&out_edge.reply.on));
        let node = program.node(program.point(first.point).node);
        let (Role::Listen(listen), true, Some(answer)) = (&node.role, answers, &step.state.system_context.ans) else { return };
        if let Some(chosen) = listen.options.iter().position(|choice| choice.value == *answer) {
            *self.options.entry((node.id.clone(), chosen)).or_default() += 1;
        }
    }

    /// Counts the words of a locale that a node said.
    pub(crate) fn said(&mut self, node: &NodeId, locale: Arc<str>) {
        *self.locales.entry((node.clone(), locale)).or_default() += 1;
    }

    /// Counts another attempt of a call, or of the whole that it is a part of: then each part that did not succeed is one attempt further, too.
    pub(crate) fn retried(&mut self, call: &PendingCall, whole: &PendingCall) {
        if whole.attempt > 1 {
            *self.retries.entry((whole.node.clone(), None)).or_default() += 1;
        }
        if let Some(of) = call.part.as_ref().filter(|_| call.attempt > whole.attempt) {
            *self.retries.entry((call.node.clone(), Some(of.part.to_string()))).or_default() += 1;
        }
    }

    /// Counts the parts that a step settled: the one whose result came, and those that were left. `open` are the calls before it and after it.
    pub(crate) fn settled(&mut self, before: &State, open: [&[Arc<PendingCall>]; 2], result: &ToolResult) {
        let [open, still] = open;
        let is_each = before.pending_tool_call.as_ref().is_some_and(|whole| matches!(whole.kind, CallKind::Each { .. }));
        let name = |call: &PendingCall| call.part.as_ref().map(|of| of.part.to_string());
        for call in open.iter().filter(|call| call.role == CallRole::Do) {
            let Some(part) = name(call) else { continue };
            // One that is open under its name is tried again, or was not touched.
            if still.iter().any(|other| other.node == call.node && name(other).as_ref() == Some(&part)) {
                continue;
            }
            let ok = call.id == result.id && matches!(result.outcome, ToolOutcome::Success(_));
            let label = if is_each { call.name.to_string() } else { part };
            *self.parts.entry((call.node.clone(), label, ok)).or_default() += 1;
        }
    }

    /// Adds the counts of another case of the same graph.
    pub fn add(&mut self, other: &Self) {
        fn sum<K: Ord + Clone>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
            from.iter().for_each(|(key, count)| *to.entry(key.clone()).or_default() += count);
        }
        sum(&mut self.nodes, &other.nodes);
        sum(&mut self.edges, &other.edges);
        sum(&mut self.options, &other.options);
        sum(&mut self.retries, &other.retries);
        sum(&mut self.undos, &other.undos);
        sum(&mut self.parts, &other.parts);
        sum(&mut self.locales, &other.locales);
    }
}

fn is_answer(on: &Outcome) -> bool {
    matches!(on, Outcome::Answer | Outcome::Chosen(_))
}

/// Returns every item of a graph with its count; nodes without incoming edges are left out. `root` is the folder of the graph inside another
/// one, whose names it then has; empty if it is the outermost.
pub fn coverage(program: &Program, counts: &Counts, root: &str) -> Coverage {
    let below = if root.is_empty() { String::new() } else { format!("{root}/") };
    let mut items = Items { program, counts, below, lines: BTreeMap::new(), found: Vec::new() };
    for index in reachable(program) {
        items.node(program.node(index));
    }
    let mut coverage = Coverage { items: items.found, ..Coverage::default() };
    coverage.items.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    coverage.summarise();
    coverage
}

impl Coverage {
    /// Adds the items of a graph that lies inside another one: those that are known from there count on.
    pub fn merge(&mut self, inner: Self) {
        let key = |item: &Item| (item.path.clone(), item.line, item.kind.clone(), item.node.clone(), item.what.clone());
        // Items can look alike: the first of one graph is the first of the other.
        let mut known: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (at, item) in self.items.iter().enumerate() {
            known.entry(key(item)).or_default().push_back(at);
        }
        for item in inner.items {
            match known.get_mut(&key(&item)).and_then(VecDeque::pop_front) {
                Some(at) => self.items[at].count += item.count,
                None => self.items.push(item),
            }
        }
    }

    /// Counts the items of each kind; those that follow from the rules alone are a kind of their own.
    pub fn summarise(&mut self) {
        self.summary =
            ["edge", "guard", "implied", "locale", "node", "option", "part", "retry", "undo"].map(|kind| (kind.to_owned(), [0, 0])).into();
        for item in &self.items {
            let kind = if item.implied { "implied" } else { &*item.kind };
            let entry = self.summary.entry(kind.to_owned()).or_default();
            entry[0] += usize::from(item.count > 0);
            entry[1] += 1;
        }
    }
}

/// The nodes that the edge list leads to, those of called and of undoing graphs included.
fn reachable(program: &Program) -> BTreeSet<NodeIndex> {
    let mut seen = BTreeSet::from([program.entry().index]);
    let mut open = vec![program.entry().index];
    while let Some(index) = open.pop() {
        let node = program.node(index);
        let mut next: Vec<NodeIndex> = Vec::new();
        let target = |target: &Target| match target {
            Target::Point(point) | Target::Proceed(point) => Some(program.point(*point).node),
            _ => None,
        };
        next.extend(points(node).flat_map(|point| program.out_edges(point)).filter_map(|out_edge| target(&out_edge.edge.to)));
        next.extend(program.edges_after_rollback(node.graph).filter_map(|out_edge| target(&out_edge.edge.to)));
        if let Role::Act(call) = &node.role {
            next.extend(call.starts());
        }
        next.retain(|index| seen.insert(*index));
        open.extend(next);
    }
    seen
}

/// The branches of a call.
fn branches(call: &Call) -> &[(Key, Call)] {
    if let Callee::Parallel(branches, _) = &call.callee { branches } else { &[] }
}

/// The name of a call in events.
fn called(call: &Call) -> &str {
    match &call.callee {
        Callee::Tool(tool) => &tool.name,
        Callee::Graph(_) => "graph",
        Callee::Parallel(..) => "parallel",
        Callee::Each(..) => "each",
    }
}

fn points(node: &Node) -> impl Iterator<Item = PointIndex> {
    node.gate.into_iter().chain([node.body])
}

/// Items in the making.
struct Items<'p> {
    program: &'p Program,
    counts: &'p Counts,
    /// The prefix of each path and id.
    below: String,
    lines: BTreeMap<u32, LineIndex<'p>>,
    found: Vec<Item>,
}

impl<'p> Items<'p> {
    fn node(&mut self, node: &'p Node) {
        let place = (node.document, node.span.start);
        let entered = self.counts.nodes.get(&node.id).copied().unwrap_or_default();
        self.add(node, place, "node", self.id(node), None, entered, false);
        for point in points(node) {
            let out_edges: Vec<OutEdge<'p>> = self.program.out_edges(point).collect();
            for (at, out_edge) in out_edges.iter().enumerate() {
                self.out_edge(node, out_edge, &out_edges[at + 1..]);
            }
        }
        let syntax = self.syntax(node);
        for (locale, _) in &node.localised {
            let count = self.counts.locales.get(&(node.id.clone(), Arc::clone(locale))).copied().unwrap_or_default();
            let written = syntax.and_then(|syntax| syntax.messages.iter().find(|message| message.locale.value == *locale));
            self.add_at(node, written.map(|message| message.locale.span), "locale", locale.to_string(), count);
        }
        if let Role::Listen(listen) = &node.role {
            for (at, choice) in listen.options.iter().enumerate() {
                let count = self.counts.options.get(&(node.id.clone(), at)).copied().unwrap_or_default();
                let written = syntax.and_then(|syntax| syntax.options().find(|option| option.value.value == choice.value));
                self.add_at(node, written.map(|option| option.span), "option", choice.value.to_string(), count);
            }
        }
        if let Role::Act(call) = &node.role {
            self.call(node, call, syntax);
        }
    }

    /// Adds what a call passes beside its edges: attempts, parts, undo calls.
    fn call(&mut self, node: &'p Node, call: &'p Call, syntax: Option<&'p NodeSyntax>) {
        let written = syntax.and_then(|syntax| syntax.call.as_deref());
        let retry = written.and_then(|call| call.retry.as_ref()).map(|retry| retry.span);
        let retry = retry.or_else(|| syntax.and_then(|syntax| syntax.key("retry"))).or(written.map(|call| call.key));
        let undo = syntax.and_then(|syntax| syntax.undo.as_ref()).map(|undo| undo.key);
        if points(node).flat_map(|point| self.program.out_edges(point)).any(|out_edge| out_edge.edge.to == Target::Again) {
            self.retry(node, retry, None);
        }
        if matches!(call.callee, Callee::Each(..)) {
            call.offered.iter().for_each(|tool| self.part(node, written.map(|call| call.key), &tool.name));
        }
        self.undo(node, call, undo, "");
        for (name, branch) in branches(call) {
            let written = written.and_then(|call| branch_of(call, name));
            let key = written.map(|(key, _)| key);
            self.part(node, key, name);
            if branch.retry.as_ref().is_some_and(|retry| retry.max > 1) {
                let retry = written.and_then(|(_, branch)| branch.retry.as_ref()).map(|retry| retry.span);
                self.retry(node, retry.or(key), Some(name));
            }
            let undo = written.and_then(|(_, branch)| branch.undo.as_ref()).map(|undo| undo.key);
            self.undo(node, branch, undo, &format!("{name}: "));
        }
    }

    fn retry(&mut self, node: &'p Node, span: Option<Span>, branch: Option<&str>) {
        let count = self.counts.retries.get(&(node.id.clone(), branch.map(str::to_owned))).copied().unwrap_or_default();
        let of = branch.map_or_else(String::new, |branch| format!("{branch}: "));
        self.add_at(node, span, "retry", format!("{of}another attempt"), count);
    }

    fn part(&mut self, node: &'p Node, span: Option<Span>, part: &str) {
        for (ok, what) in [(true, "succeeded"), (false, "failed, denied or left")] {
            let count = self.counts.parts.get(&(node.id.clone(), part.to_owned(), ok)).copied().unwrap_or_default();
            self.add_at(node, span, "part", format!("{part}: {what}"), count);
        }
    }

    fn undo(&mut self, node: &'p Node, call: &Call, span: Option<Span>, of: &str) {
        let Some(undo) = &call.undo else { return };
        for (ok, what) in [(true, "undone"), (false, "undo given up")] {
            let count = self.counts.undos.get(&(node.id.clone(), called(undo).into(), ok)).copied().unwrap_or_default();
            self.add_at(node, span, "undo", format!("{of}{what}"), count);
        }
    }

    /// The node as it is written.
    fn syntax(&self, node: &Node) -> Option<&'p NodeSyntax> {
        match &self.program.documents().get(node.document as usize)?.content {
            Content::Node(syntax) => Some(syntax),
            Content::Nodes(nodes, _) => nodes.iter().find(|syntax| syntax.span == node.span),
            Content::Library(_) | Content::Project(_) | Content::Broken => None,
        }
    }

    /// Adds an item at a place in the file of its node; at the node itself, if it is written elsewhere.
    fn add_at(&mut self, node: &Node, span: Option<Span>, kind: &str, what: String, count: u64) {
        self.add(node, (node.document, span.unwrap_or(node.span).start), kind, what, None, count, false);
    }

    /// Adds an edge, and both sides of its condition; `later_edges` are the edges that are tried after it.
    fn out_edge(&mut self, node: &'p Node, out_edge: &OutEdge<'p>, later_edges: &[OutEdge<'p>]) {
        // Another attempt is an item of its own.
        if out_edge.edge.to == Target::Again {
            return;
        }
        let count = |out_edge: &OutEdge<'_>| self.counts.edges.get(&out_edge.index).copied().unwrap_or_default();
        let (outcome, taken) = (outcome(&out_edge.reply.on), count(out_edge));
        let later = later_edges.iter().filter(|other| std::ptr::eq(other.reply, out_edge.reply)).map(count).sum();
        let place = out_edge.edge.origin.map_or((node.document, node.span.start), |origin| (origin.document, origin.span.start));
        let to = self.target(&out_edge.edge.to);
        let implied = out_edge.edge.origin.is_none();
        self.add(node, place, "edge", format!("{outcome} → {to}"), Some(outcome), taken, implied);
        let is_condition =
            !matches!(out_edge.edge.when, Guard::Always | Guard::Attempts(_)) && !matches!(out_edge.edge.why, Provenance::Option(_));
        if is_condition && !implied {
            self.add(node, place, "guard", format!("→ {to}: held"), None, taken, false);
            self.add(node, place, "guard", format!("→ {to}: did not hold"), None, later, false);
        }
    }

    fn id(&self, node: &Node) -> String {
        format!("{}{}", self.below, node.id)
    }

    fn target(&self, target: &Target) -> String {
        match target {
            Target::Point(point) | Target::Proceed(point) => self.id(self.program.node(self.program.point(*point).node)),
            Target::Again => "again".to_owned(),
            Target::Rollback => "rollback".to_owned(),
            Target::End(Reason::Finished) => "end finished".to_owned(),
            Target::End(Reason::Failed(failure)) => format!("end failed {}", failure.as_str()),
            Target::End(Reason::Denied) => "end denied".to_owned(),
            Target::End(Reason::RolledBack) => "end rolled_back".to_owned(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of an item")]
    fn add(&mut self, node: &Node, (document, at): (u32, u32), kind: &str, what: String, outcome: Option<&str>, count: u64, implied: bool) {
        let Some(file) = self.program.documents().get(document as usize) else { return };
        let line = self.lines.entry(document).or_insert_with(|| LineIndex::new(&file.text)).locate(at).line;
        self.found.push(Item {
            path: format!("{}{}", self.below, file.path),
            line,
            kind: kind.to_owned(),
            node: self.id(node),
            what,
            outcome: outcome.map(str::to_owned),
            count,
            implied,
        });
    }
}

/// A branch of a call as it is written, with the place of its name.
fn branch_of<'s>(call: &'s CallSyntax, name: &str) -> Option<(Span, &'s CallSyntax)> {
    let CalleeSyntax::Parallel(branches, _) = &call.callee else { return None };
    branches.iter().find(|(key, _)| *key.value == *name).map(|(key, branch)| (key.span, branch))
}

/// An outcome by its name.
fn outcome(on: &Outcome) -> &'static str {
    match on {
        Outcome::Pass => "pass",
        Outcome::Answer | Outcome::Chosen(_) => "answer",
        Outcome::Invalid => "invalid",
        Outcome::Success => "success",
        Outcome::Error => "error",
        Outcome::Timeout => "timeout",
        Outcome::Denied => "denied",
        Outcome::Signal(_) | Outcome::AnySignal => "signal",
        Outcome::Exhausted => "exhausted",
        Outcome::RolledBack => "unwound",
    }
}
