//! From documents to a program: names are resolved, nodes lowered to points, ways and writes, and checked.
//!
//! **Invariant:** every error is collected, in file order; any error means no program; one mistake is one diagnostic.

mod again;
mod check;
mod fingerprint;
mod graphs;
mod lower;
mod names;
mod schemas;
mod settle;
mod tools;

use std::{cell::OnceCell, collections::BTreeMap, sync::Arc};

pub(crate) use self::check::Known;
pub use self::{again::Compiler, settle::settle};
use self::{
    again::Linked,
    graphs::GraphSyntax,
    lower::{Common, GraphInfo, Lowering},
    names::{Names, Resolved},
    schemas::Schemas,
    settle::Settled,
    tools::Tools,
};
use crate::{
    diagnostic::{Code, Diagnostic, Place},
    path::KeyPath,
    program::{Graph, Limits, NodeIndex, Predicate, PredicateSource, Program},
    schema::Schema,
    syntax::{
        document::Document,
        node::{NodeSyntax, TargetSyntax},
        project::{LimitsSyntax, PredicateAnswer},
    },
};

/// What compiling comes to.
#[derive(Debug)]
pub struct Compiled {
    /// The program, unless there was an error.
    pub program: Option<Arc<Program>>,
    /// Everything that was found, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The reads of which nothing is known: only there can an accepted program fail on data.
    pub unchecked: Vec<UncheckedRead>,
}

/// A read of which nothing is known (language 8.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UncheckedRead {
    /// Where it stands.
    pub place: Place,
    /// What is read.
    pub path: KeyPath,
}

/// Compiles the documents of a graph; they come in any order.
pub fn compile(documents: &[Arc<Document>]) -> Compiled {
    link(documents, None).0
}

/// Compiles, and takes from the last time what stayed the same.
fn link(documents: &[Arc<Document>], last: Option<Linked>) -> (Compiled, Option<Linked>) {
    let given = documents;
    let mut documents = documents.to_vec();
    if !documents.is_sorted_by(|a, b| a.path <= b.path) {
        documents.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let mut parsed: Vec<Diagnostic> = documents.iter().flat_map(|document| document.diagnostics.iter().cloned()).collect();
    let mut found = Vec::new();
    let (mut graphs, owner) = graphs::split(&documents);
    let settled = Settled::new(&documents, &graphs, &owner);
    let roots: Vec<Arc<str>> = graphs.iter().map(|graph| graph.root.clone()).collect();
    let names = Names::collect(&documents, &roots, &owner, &mut found);
    // What could not be read, or has no name, may lead anywhere.
    let unread = !found.is_empty() || parsed.iter().any(Diagnostic::is_error);
    graphs::entries(&mut graphs, &names, &mut found);

    let edges = last.as_ref().map(Linked::edges);
    let mut lowering = prepare(&documents, graphs, &owner, &names, edges, found);
    (lowering.unread, lowering.unresolved) = (unread, unread);
    let pages = lowering.pages();
    parsed.retain(|diagnostic| diagnostic.place.as_ref().is_none_or(|place| !pages.contains(&place.path)));
    let Some(Lowered { program, linked, mut found, nodes, unchecked }) = lower_all(lowering, &documents, last, &settled) else {
        return link(given, None);
    };
    explained(&parsed, &mut found);
    found.extend(parsed);
    let needed = settled.apply(&mut found);
    let failed = found.iter().any(Diagnostic::is_error);
    let mut unused = Vec::new();
    settled.unused(&needed, !failed, &mut unused);
    settled.apply(&mut unused);
    found.extend(unused);
    found.sort_by(|a, b| a.order().cmp(&b.order()));
    found.dedup();
    let failed = found.iter().any(Diagnostic::is_error);
    (Compiled { program: program.filter(|_| !failed), diagnostics: found, nodes, unchecked }, linked)
}

/// Drops what only follows from a mistake that was found in the same place when its file was parsed.
fn explained(parsed: &[Diagnostic], found: &mut Vec<Diagnostic>) {
    if !parsed.is_empty() {
        let places: rustc_hash::FxHashSet<_> =
            parsed.iter().filter_map(|diagnostic| diagnostic.place.as_ref()).map(|place| (&place.path, place.span)).collect();
        found.retain(|diagnostic| diagnostic.place.as_ref().is_none_or(|place| !places.contains(&(&place.path, place.span))));
    }
}

/// Gives every node its index and points before the first is lowered, so that targets can be written down at once.
fn prepare<'d>(
    documents: &'d [Arc<Document>],
    graphs: Vec<GraphSyntax<'d>>,
    owner: &[u32],
    names: &'d Names<'d>,
    edges: Option<usize>,
    mut found: Vec<Diagnostic>,
) -> Lowering<'d> {
    let mut schemas = Schemas::default();
    let tools = Tools::collect(documents, &graphs, owner, &mut schemas, &mut found);
    let mut predicates = Vec::new();
    let graphs: Vec<GraphInfo<'d>> = graphs
        .into_iter()
        .map(|syntax| {
            let declared = declare(&syntax, &mut schemas, &mut predicates, &mut found);
            let defaults = syntax.defaults(&names.candidates, &mut found);
            GraphInfo { syntax, defaults, keys: OnceCell::new(), predicates: declared, before_each: None }
        })
        .collect();

    let targeted = targeted_pages(names, &graphs);
    let mut lowering = Lowering {
        documents,
        names,
        graphs,
        tools,
        schemas,
        nodes_of: Vec::with_capacity(names.candidates.len()),
        points_of: Vec::with_capacity(names.candidates.len()),
        gated: Vec::with_capacity(names.candidates.len()),
        nodes: Vec::with_capacity(names.candidates.len()),
        points: Vec::with_capacity(names.candidates.len()),
        replies: Vec::with_capacity(2 * names.candidates.len()),
        edges: Vec::with_capacity(edges.unwrap_or_else(|| names.candidates.iter().filter_map(|it| it.syntax).map(likely_edges).sum())),
        common: Common::default(),
        predicates,
        found,
        unread: false,
        unresolved: false,
    };
    let mut point = 0;
    for (at, candidate) in names.candidates.iter().enumerate() {
        if candidate.syntax.is_none() || (candidate.page && !targeted.contains(&at)) {
            lowering.nodes_of.push(None);
            continue;
        }
        let index = u32::try_from(lowering.points_of.len()).unwrap_or(u32::MAX);
        let gated = lowering.graphs[candidate.graph as usize].defaults.before_each.is_some();
        lowering.nodes_of.push(Some(NodeIndex(index)));
        lowering.points_of.push(point);
        lowering.gated.push(gated);
        point += 1 + u32::from(gated);
    }
    lowering
}

/// About how many edges a node will have: most of a large graph's list is then written without moving it.
fn likely_edges(node: &NodeSyntax) -> usize {
    node.transitions.len() + node.options.as_ref().map_or(0, |options| options.value.len()) + node.on_signal.len() + 2
}

/// Pages that some target names are nodes after all (language 1.2).
fn targeted_pages(names: &Names<'_>, graphs: &[GraphInfo<'_>]) -> rustc_hash::FxHashSet<usize> {
    let mut targeted = rustc_hash::FxHashSet::default();
    if !names.candidates.iter().any(|candidate| candidate.page) {
        return targeted;
    }
    let mut named = |target: &TargetSyntax, folder: &str, graph: u32| {
        if let Ok(Resolved::Node(index)) = names.resolve(&target.name.value, target.jump, folder, graph, true) {
            targeted.insert(index as usize);
        }
    };
    for candidate in &names.candidates {
        let targets = candidate.syntax.into_iter().flat_map(check::targets);
        targets.for_each(|target| named(target, candidate.id.folder(), candidate.graph));
    }
    for (index, graph) in (0..).zip(graphs) {
        graph.defaults.targets().for_each(|target| named(target, &graph.syntax.root, index));
    }
    targeted
}

fn declare(
    syntax: &GraphSyntax<'_>,
    schemas: &mut Schemas,
    predicates: &mut Vec<Predicate>,
    found: &mut Vec<Diagnostic>,
) -> BTreeMap<Arc<str>, u32> {
    let mut declared = BTreeMap::new();
    for (_, path, project) in &syntax.projects {
        for predicate in &project.predicates {
            let source = match &predicate.answer {
                PredicateAnswer::Host { needs } => PredicateSource::Host(needs.iter().map(|path| path.value.clone()).collect()),
                PredicateAnswer::Binding(name) => {
                    if !project.bindings.iter().any(|binding| binding.tool.name.as_ref().is_some_and(|bound| bound.value == name.value)) {
                        let bound = project.bindings.iter().filter_map(|binding| binding.tool.name.as_ref()).map(|name| &*name.value);
                        let unknown = Diagnostic::new(Code::UnknownTool, path, name.span, format!("there is no binding `{}`", name.value));
                        let near = crate::diagnostic::near(&name.value, bound);
                        found.push(unknown.meant(name.span, near, || "bind it under `bindings`".into()));
                    }
                    PredicateSource::Binding(name.value.clone())
                }
                PredicateAnswer::Schema(schema) => match schemas.checked(Code::WrongType, path, schema, found) {
                    Some(schema) => PredicateSource::Schema(schema),
                    None => PredicateSource::Host(Box::default()),
                },
            };
            declared.insert(predicate.name.value.clone(), u32::try_from(predicates.len()).unwrap_or(u32::MAX));
            predicates.push(Predicate { name: predicate.name.value.clone(), source });
        }
    }
    declared
}

/// A graph that was lowered and checked.
struct Lowered {
    program: Option<Arc<Program>>,
    linked: Option<Linked>,
    found: Vec<Diagnostic>,
    nodes: usize,
    unchecked: Vec<UncheckedRead>,
}

/// Nothing where taking over from the last time was in vain.
fn lower_all<'d>(
    mut lowering: Lowering<'d>,
    documents: &'d [Arc<Document>],
    last: Option<Linked>,
    settled: &Settled<'_>,
) -> Option<Lowered> {
    lowering.modules();
    lowering.gates();
    lowering.defaults();
    let (seats, last) = again::lower(&mut lowering, documents, last);
    if last.is_some() && seats.is_out_of_patience() {
        return None;
    }
    lowering.found.extend(lowering.tools.shadowed());
    let unwound: Vec<u32> = (0..lowering.graphs.len()).map(|graph| lowering.unwound(u32::try_from(graph).unwrap_or(0))).collect();
    let entries: Option<Vec<NodeIndex>> = lowering.graphs.iter().map(|graph| lowering.nodes_of[graph.syntax.entry? as usize]).collect();
    let nodes = lowering.nodes.len();
    let Some(entries) = entries else {
        return Some(Lowered { program: None, linked: None, found: lowering.found, nodes, unchecked: Vec::new() });
    };
    let unresolved = lowering.unresolved;
    let (program, mut found) = assemble(lowering, documents, &entries, &unwound, last.as_deref());
    let program = Arc::new(program);
    let unchecked = check::program(&program, unresolved, settled, &mut found);
    let linked = seats.with(&program);
    Some(Lowered { program: Some(program), linked: Some(linked), found, nodes, unchecked })
}

fn assemble<'d>(
    mut lowering: Lowering<'d>,
    documents: &'d [Arc<Document>],
    entries: &[NodeIndex],
    unwound: &[u32],
    last: Option<&Program>,
) -> (Program, Vec<Diagnostic>) {
    let mut found = std::mem::take(&mut lowering.found);
    let mut limits = Limits::default();
    let mut graphs = Vec::new();
    for (index, graph) in lowering.graphs.into_iter().enumerate() {
        let syntax = &graph.syntax;
        if index == 0 {
            syntax.projects.iter().for_each(|(_, _, project)| limits = bounded(limits, project.limits));
        }
        let mut bindings = BTreeMap::new();
        for binding in syntax.projects.iter().flat_map(|(_, _, project)| &project.bindings) {
            if let Some(name) = &binding.tool.name {
                bindings.entry(name.value.clone()).or_insert_with(|| binding.clone());
            }
        }
        graphs.push(Graph {
            root: syntax.root.clone(),
            name: syntax.project(|project| project.name.as_ref()).map(|name| name.value.clone()),
            entry: entries[index],
            inputs: inputs(syntax, &mut lowering.schemas, &mut found),
            locale: syntax.project(|project| project.locale.as_ref()).map(|key| key.value.clone()),
            predicates: graph.predicates,
            bindings,
            redact: syntax.projects.iter().flat_map(|(_, _, project)| &project.redact).map(|path| path.value.clone()).collect(),
            retry: syntax.project(|project| project.defaults.retry.as_ref()).map(|retry| retry.value.clone()),
            before_each: graph.before_each,
            unwound: unwound[index],
        });
    }
    let ids = || lowering.nodes.iter().map(|node| (node.id.clone(), node.index)).collect();
    let program = Program {
        graphs,
        by_id: last.map_or_else(|| Arc::new(ids()), |last| Arc::clone(&last.by_id)),
        renamed: last.map_or_else(|| renamed(&lowering.names.candidates, &lowering.nodes_of), |last| last.renamed.clone()),
        nodes: lowering.nodes,
        points: lowering.points,
        replies: lowering.replies,
        edges: lowering.edges,
        predicates: lowering.predicates,
        fingerprint: fingerprint::of(documents),
        documents: documents.to_vec(),
        limits,
    };
    (program, found)
}

fn inputs(syntax: &GraphSyntax<'_>, schemas: &mut Schemas, found: &mut Vec<Diagnostic>) -> Option<Schema> {
    let (path, schema) = syntax.projects.iter().find_map(|(_, path, project)| Some((path, project.inputs.as_ref()?)))?;
    schemas.checked(Code::WrongType, path, schema, found)
}

/// Ids that sessions may still hold, by the node that has them now; an id that is a node again is no old one.
fn renamed(candidates: &[names::Candidate<'_>], nodes_of: &[Option<NodeIndex>]) -> BTreeMap<crate::id::NodeId, NodeIndex> {
    let mut renamed = BTreeMap::new();
    for (candidate, index) in candidates.iter().zip(nodes_of) {
        if let (Some(syntax), Some(index)) = (candidate.syntax, index) {
            renamed.extend(syntax.was.iter().map(|was| (was.value.clone(), *index)));
        }
    }
    renamed
}

fn bounded(limits: Limits, said: LimitsSyntax) -> Limits {
    Limits {
        input: said.input.unwrap_or(limits.input),
        template_output: said.template_output.unwrap_or(limits.template_output),
        template_fuel: said.template_fuel.unwrap_or(limits.template_fuel),
        pass_through: said.pass_through.unwrap_or(limits.pass_through),
        tool_output: said.tool_output.unwrap_or(limits.tool_output),
        effects: said.effects.unwrap_or(limits.effects),
    }
}
