//! `unbound-tool`: tools that a program calls and nothing here carries out (language C.4); and functions here that no program calls.
//!
//! Only a host can decide whether that is a mistake, so it is no check of the compiler.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Program,
    diagnostic::{Place, Severity, nearest},
    program::{Call, Graph, Node, Role},
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax},
    },
};

use super::{Bindings, Bound, Carrier};

/// Functions that no graph calls: their names are misspelt, or they are not needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
#[non_exhaustive]
pub struct UnknownFunctions {
    /// Their names, with the nearest name that the graph calls where one is near.
    pub names: Vec<(Arc<str>, Option<Arc<str>>)>,
}

impl UnknownFunctions {
    fn message(&self) -> String {
        let name = |(name, near): &(Arc<str>, Option<Arc<str>>)| match near {
            Some(near) => format!("`{name}` (did you mean `{near}`?)"),
            None => format!("`{name}`"),
        };
        let names = self.names.iter().map(name).collect::<Vec<_>>().join(", ");
        format!("the graph calls no tool named {names}; functions that serve several graphs are registered with `Bindings::shared`")
    }
}

impl Bindings {
    /// Checks that a program calls every registered function: the same at a start and at each reload.
    ///
    /// # Errors
    /// Functions that no call can mean, with the nearest name that one can.
    pub(crate) fn check_functions(&self, program: &Program) -> Result<(), UnknownFunctions> {
        if self.is_shared {
            return Ok(());
        }
        let mut known = program.tool_names();
        known.extend(self.bound.values().flat_map(BTreeMap::values).filter_map(|bound| match bound {
            Bound::By(Carrier::Function(name), _) => Some(Arc::clone(name)),
            Bound::By(Carrier::Binding(..), _) | Bound::Faulty => None,
        }));
        known.extend(self.settings.policy.tools().cloned());
        let unknown = self.registered.keys().filter(|name| !known.contains(*name));
        let near = |name: &str| nearest(name, known.iter().map(|known| &**known)).map(Arc::from);
        let names: Vec<_> = unknown.map(|name| (Arc::clone(name), near(name))).collect();
        if names.is_empty() { Ok(()) } else { Err(UnknownFunctions { names }) }
    }

    /// Tools that a program calls and that nothing here carries out: one finding each, where it is called first, with its other calls as labels;
    /// sorted.
    pub fn unbound_tools(&self, program: &Program, severity: Severity) -> Vec<Diagnostic> {
        unbound_tools(program, self, severity)
    }
}

fn unbound_tools(program: &Program, bindings: &Bindings, severity: Severity) -> Vec<Diagnostic> {
    let mut calls = BTreeMap::<Arc<str>, Vec<Place>>::new();
    for node in program.nodes() {
        if let Role::Act(call) = &node.role {
            for name in unbound(call, bindings, program.graph_of(node)) {
                calls.entry(Arc::clone(&name)).or_default().push(place_at(program, node, &name));
            }
        }
    }
    for (graph, call) in program.graphs().iter().filter_map(|graph| Some((graph, graph.before_each.as_ref()?))) {
        for name in unbound(call, bindings, graph) {
            calls.entry(Arc::clone(&name)).or_default().extend(place_of_default(program, &name));
        }
    }
    let mut findings = calls.into_iter().map(|(name, places)| finding(program, &name, places, severity)).collect::<Vec<_>>();
    findings.sort_by(|a, b| a.order().cmp(&b.order()));
    findings
}

fn finding(program: &Program, name: &str, mut places: Vec<Place>, severity: Severity) -> Diagnostic {
    places.sort();
    places.dedup();
    let message = format!("`{name}` is called, but nothing here carries it out");
    let mut places = places.into_iter();
    let mut first = match places.next() {
        Some(place) => Diagnostic::new(Code::UnboundTool, &place.path, place.span, message),
        None => Diagnostic::global(Code::UnboundTool, message),
    };
    first.severity = severity;
    let all = places.fold(first, |found, place| found.label(&place.path, place.span, "called here too"));
    let is_foreign = program.graphs().iter().any(|graph| graph.bindings.contains_key(name));
    let help = if is_foreign {
        format!("the binding of `{name}` is of a kind that this program does not carry out: use `process`, or run it with `--json`")
    } else {
        format!("bind it in `trellis.yaml`: `bindings: {{{name}: {{process: [./{name}]}}}}`")
    };
    all.help(help)
}

/// The names of the unbound tools that a call may call, sorted, each once.
fn unbound(call: &Call, bindings: &Bindings, graph: &Graph) -> Vec<Arc<str>> {
    // A binding with a mistake has a finding of its own.
    let has_none = |name: &str| !bindings.binds(&graph.root, name) && !bindings.is_faulty(&graph.root, name);
    let unbound = call.tools().map(|tool| &tool.name).filter(|name| has_none(name));
    let mut names: Vec<_> = unbound.map(Arc::clone).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the place where a node calls `name`.
fn place_at(program: &Program, node: &Node, name: &str) -> Place {
    let document = &program.documents()[node.document as usize];
    let syntax = nodes(document).iter().find(|syntax| syntax.span == node.span);
    let calls = syntax.into_iter().flat_map(|syntax| syntax.call.iter().chain(&syntax.undo)).map(|call| &**call);
    Place::new(&document.path, span_of(calls, name).unwrap_or(node.span))
}

/// Returns the place where a `before_each` calls `name`.
fn place_of_default(program: &Program, name: &str) -> Option<Place> {
    program.documents().iter().find_map(|document| {
        let project = match &document.content {
            Content::Project(project) | Content::Nodes(_, project) => project.defaults.before_each.as_deref(),
            _ => None,
        };
        let entries = nodes(document).iter().filter_map(|node| node.defaults.as_ref()?.before_each.as_deref());
        span_of(entries.chain(project), name).map(|span| Place::new(&document.path, span))
    })
}

fn nodes(document: &Document) -> &[NodeSyntax] {
    match &document.content {
        Content::Node(node) => std::slice::from_ref(node),
        Content::Nodes(nodes, _) => nodes,
        _ => &[],
    }
}

/// The place of `name` in these calls; of the list, where the calls are its items.
fn span_of<'c>(calls: impl Iterator<Item = &'c CallSyntax>, name: &str) -> Option<trellis_core::span::Span> {
    let mut open = calls.collect::<Vec<_>>();
    let mut listed = None;
    while let Some(call) = open.pop() {
        match &call.callee {
            CalleeSyntax::Tool(tool) if *tool.value == *name => return Some(tool.span),
            CalleeSyntax::Each(list, _) => listed = Some(list.span),
            CalleeSyntax::Parallel(branches, _) => open.extend(branches.iter().map(|(_, call)| call)),
            CalleeSyntax::Tool(_) | CalleeSyntax::Graph(_) => {}
        }
    }
    listed
}
