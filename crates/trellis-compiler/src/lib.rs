//! Compilation of documents to a program: names are resolved, nodes are lowered to points, replies and edges, and checks run on the result.
//!
//! Beside it stand what a linked graph tells about its data ([`context_types`]) and sessions as text ([`transcript`]). The engine is asked which
//! written values an input takes, and to replay the session that demonstrates a finding.
//!
//! **Invariant:** all errors are collected, in file order; with an error there is no program; one mistake has one diagnostic.

mod bindings;
mod cfg;
mod check;
mod dataflow;
mod dialects;
mod document_index;
mod draft;
mod graphs;
mod guards;
mod incremental;
mod inputs;
mod layout;
mod limits;
mod lower;
mod names;
mod outline;
mod resolver;
mod room;
mod schemas;
mod severity;
mod source_lookup;
mod split;
mod taint;
mod tools;
mod unchecked;
mod verify;

pub mod context_types;
pub mod transcript;

use std::{cell::OnceCell, collections::BTreeMap, sync::Arc};

pub(crate) use self::dataflow::PointTypes;
use self::{
    bindings::declare,
    document_index::DocumentIndex,
    graphs::{Declared, GraphInfo, GraphSyntax},
    incremental::{Previous, Reused},
    layout::{FileLayout, NodeLayout, PageNames},
    lower::{Common, Lowering},
    names::NameTable,
    room::Room,
    schemas::Schemas,
    severity::Severities,
    tools::{DocumentTools, Tools},
    verify::CheckInput,
};
pub use self::{
    bindings::{contradictions, read_nodes},
    draft::Draft,
    incremental::Compiler,
    layout::nodes,
    severity::apply_severities,
    unchecked::{UncheckedRead, Unknown},
};
pub use self::{
    incremental::is_same_node_place,
    resolver::{NamedNode, NodeNames},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    schema::Schema,
};
use trellis_engine::program::{Graph, Limits, NodeIndex, Program, Waiting};
use trellis_syntax::document::Document;

/// Result of a compilation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// Program; `None` if there was an error.
    pub program: Option<Arc<Program>>,
    /// Graph as far as it was lowered, to replay the witness of a finding; `None` if a graph has no entry.
    pub draft: Option<Draft>,
    /// All diagnostics, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of nodes.
    pub nodes: usize,
    /// Reads of unknown values: only there can an accepted program fail because of data.
    pub unchecked: Vec<UncheckedRead>,
}

/// Runs two independent jobs, one after the other or in parallel. The result is the same.
pub type Join = fn(&mut (dyn FnMut() + Send), &mut (dyn FnMut() + Send));

/// Compiles the documents of a graph, in any order. The result has a program unless a diagnostic is an error.
#[doc = include_str!("example.md")]
pub fn compile(documents: &[Arc<Document>]) -> Compiled {
    link(documents, None, None).0
}

/// Compiles as [`compile`] does, but runs independent jobs with `both`, which may use threads.
pub fn compile_with(documents: &[Arc<Document>], both: Join) -> Compiled {
    link(documents, None, Some(both)).0
}

/// Sorts documents by path.
fn in_order(documents: &[Arc<Document>]) -> Arc<[Arc<Document>]> {
    if documents.is_sorted_by(|a, b| a.path <= b.path) {
        return documents.into();
    }
    let mut documents = documents.to_vec();
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    documents.into()
}

/// Files, and the data that is derived from them before any node is lowered.
struct Files<'d> {
    documents: &'d Arc<[Arc<Document>]>,
    frame: &'d Arc<FileLayout>,
    index: &'d DocumentIndex,
}

/// Compiles, and reuses the previous compilation as far as possible. Returns the state for the next one.
fn link(given: &[Arc<Document>], last: Option<Previous>, both: Option<Join>) -> (Compiled, Option<Previous>) {
    let edited = last.as_ref().and_then(|last| last.edited(given));
    let documents = if edited.is_some() { given.into() } else { in_order(given) };
    let last = last.zip(edited).filter(|(last, edited)| last.is_same_around(&documents, edited));
    let (frame, index, last) = match last {
        Some((mut last, edited)) => {
            let mut index = std::mem::take(&mut last.index);
            index.renew(&documents, &edited);
            (Arc::clone(&last.frame), index, Some((last, edited)))
        }
        None => (Arc::new(FileLayout::new(&documents)), DocumentIndex::new(&documents), None),
    };
    let files = Files { documents: &documents, frame: &frame, index: &index };
    let graphs = GraphSyntax::all(&frame.split, &documents);
    let severities = Severities::new(&documents, &frame.split, &graphs, &index);
    let Some((compiled, linked)) = link_files(&files, graphs, &severities, last, both) else { return link(given, None, both) };
    (compiled, linked.map(|linked| Previous { index, ..linked }))
}

/// Compiles with a layout and an index. `None` if reuse failed, so that a full compilation is needed.
fn link_files<'d>(
    files: &Files<'d>,
    mut graphs: Vec<GraphSyntax<'d>>,
    severities: &Severities<'_>,
    last: Option<(Previous, Vec<u32>)>,
    both: Option<Join>,
) -> Option<(Compiled, Option<Previous>)> {
    let mut parsed: Vec<Diagnostic> = severities.parsed().cloned().collect();
    let mut found = files.frame.found.clone();
    let names = NameTable::new(files.documents, &files.frame.table);
    graphs::entries(&mut graphs, &names, &mut found);

    let folders = bindings::read_folders(&graphs);
    // The names must outlive the lowering.
    let names = &names;
    let LoweredGraph { program, linked, mut found, nodes, mut unchecked, pages } =
        lower_all(files, names, graphs, severities, found, last, both)?;
    parsed.retain(|diagnostic| diagnostic.place.as_ref().is_none_or(|place| !pages.contains(&place.path)));
    dialects::say_once(&mut parsed, files.documents, &files.frame.split.owner);
    explained(&parsed, &mut found);
    found.extend(parsed);
    bindings::hint_at_folders(&folders, &mut found);
    unchecked::drop_explained(&mut unchecked, &found);
    let needed = severities.apply(&mut found);
    let failed = found.iter().any(Diagnostic::is_error);
    let mut unused = Vec::new();
    severities.unused(&needed, !failed, &mut unused);
    severities.apply(&mut unused);
    found.extend(unused);
    found.sort_by(|a, b| a.order().cmp(&b.order()));
    found.dedup_by(|a, b| a.says_the_same(b));
    let failed = found.iter().any(Diagnostic::is_error);
    let draft = program.clone().map(Draft::new);
    Some((Compiled { program: program.filter(|_| !failed), draft, diagnostics: found, nodes, unchecked }, linked))
}

/// Drops findings at the place of a parse error.
fn explained(parsed: &[Diagnostic], found: &mut Vec<Diagnostic>) {
    if !parsed.is_empty() {
        let places: rustc_hash::FxHashSet<_> =
            parsed.iter().filter_map(|diagnostic| diagnostic.place.as_ref()).map(|place| (&place.path, place.span)).collect();
        found.retain(|diagnostic| diagnostic.place.as_ref().is_none_or(|place| !places.contains(&(&place.path, place.span))));
    }
}

/// Prepares the lowering: tools, predicates, defaults, and the indices of nodes.
fn prepare<'d>(
    files: &Files<'d>,
    names: &'d NameTable<'d>,
    graphs: Vec<GraphSyntax<'d>>,
    mut found: Vec<Diagnostic>,
    mut schemas: Schemas,
    last: Option<&(Previous, Vec<u32>)>,
) -> (Lowering<'d>, PageNames) {
    let about = DocumentTools { owner: &files.frame.split.owner, tooled: &files.index.tooled };
    let tools = Tools::collect(files.documents, &graphs, about, &mut schemas, &mut found);
    bindings::check_settings(&graphs, &mut found);
    let mut predicates = Vec::new();
    let graphs: Vec<GraphInfo<'d>> = graphs
        .into_iter()
        .map(|syntax| {
            let declared = declare(&syntax, &mut schemas, &mut predicates, &mut found);
            let defaults = syntax.defaults(names, &mut found);
            let types = types_of(&syntax, &mut schemas, &mut found);
            GraphInfo { syntax, defaults, keys: OnceCell::new(), predicates: declared, types, before_each: None }
        })
        .collect();

    let page_names = layout::page_names(names, &graphs, last.map(|(last, edited)| (&last.page_names, &edited[..])));
    let layouts = NodeLayout::new(names, &graphs, &page_names, last.map(|(last, _)| &last.layouts));
    let room = last.map_or_else(|| Room::of(names, &graphs), |(last, _)| last.room());
    let lowering = Lowering {
        documents: files.documents,
        names,
        graphs,
        tools,
        schemas,
        layouts,
        nodes: Vec::with_capacity(names.len()),
        points: Vec::with_capacity(names.len()),
        replies: Vec::with_capacity(room.replies),
        edges: Vec::with_capacity(room.edges),
        common: Common::default(),
        predicates,
        found,
        bare_names: Vec::new(),
        guarded_names: Vec::new(),
        unresolved: false,
    };
    (lowering, page_names)
}

/// Returns the declared types of a graph's keys.
fn types_of<'d>(syntax: &GraphSyntax<'d>, schemas: &mut Schemas, found: &mut Vec<Diagnostic>) -> Vec<Declared<'d>> {
    let declared =
        syntax.projects.iter().flat_map(|&(_, path, project)| project.context.iter().map(move |(key, schema)| (path, key, schema)));
    let checked = declared
        .filter_map(|(path, key, schema)| Some(Declared { key, path, schema: schemas.checked(Code::WrongType, path, schema, found)? }));
    checked.collect()
}

/// Result of lowering and checks.
struct LoweredGraph<'d> {
    program: Option<Arc<Program>>,
    linked: Option<Previous>,
    found: Vec<Diagnostic>,
    nodes: usize,
    unchecked: Vec<UncheckedRead>,
    /// Files that are pages.
    pages: rustc_hash::FxHashSet<&'d FilePath>,
}

/// Lowers and checks all nodes. `None` if reuse failed, so that a full compilation is needed.
fn lower_all<'d>(
    files: &Files<'d>,
    names: &'d NameTable<'d>,
    graphs: Vec<GraphSyntax<'d>>,
    severities: &Severities<'_>,
    found: Vec<Diagnostic>,
    mut last: Option<(Previous, Vec<u32>)>,
    both: Option<Join>,
) -> Option<LoweredGraph<'d>> {
    // A file that could not be read, or has no name, may contain any edge.
    let unread = !files.frame.found.is_empty() || severities.parsed().any(Diagnostic::is_error);
    let schemas = last.as_mut().map(|(last, _)| std::mem::take(&mut last.schemas)).unwrap_or_default();
    let (mut lowering, page_names) = prepare(files, names, graphs, found, schemas, last.as_ref());
    lowering.unresolved = unread;
    let pages = lowering.pages();
    // A node is reused only among the same nodes.
    last.take_if(|(last, _)| !Arc::ptr_eq(&last.layouts, &lowering.layouts));
    let (mut own, taken) = match &mut last {
        Some((last, edited)) => (std::mem::take(&mut last.own), Some(Reused { program: &last.program, lowered: &last.lowered, edited })),
        None => (verify::CheckCache::default(), None),
    };
    lowering.modules(&files.index.tooled);
    lowering.gates();
    lowering.defaults();
    let (lowered, fresh) = incremental::lower(&mut lowering, taken.as_ref());
    if taken.is_some() && lowered.is_out_of_patience() {
        return None;
    }
    // An unreadable part might set any name.
    if !unread {
        lowering.unknown_predicates(lowered.bare_names());
    }
    if files.frame.found.is_empty() {
        lowering.unset_keys(lowered.guarded_names());
    }
    lowering.found.extend(lowering.tools.shadowed());
    let rollback_replies: Vec<u32> =
        (0..lowering.graphs.len()).map(|graph| lowering.rollback_reply(u32::try_from(graph).unwrap_or(0))).collect();
    let entries: Option<Vec<NodeIndex>> =
        lowering.graphs.iter().map(|graph| lowering.layouts.nodes_of[graph.syntax.entry? as usize]).collect();
    let nodes = lowering.nodes.len();
    let Some(entries) = entries else {
        return Some(LoweredGraph { program: None, linked: None, found: lowering.found, nodes, unchecked: Vec::new(), pages });
    };
    let unresolved = lowering.unresolved;
    let layouts = Arc::clone(&lowering.layouts);
    let program = taken.as_ref().map(|taken| &**taken.program);
    let (program, mut found, mut schemas) = assemble(lowering, files, &entries, &rollback_replies, program);
    let program = Arc::new(program);
    let fresh = taken.is_some().then_some(&fresh[..]);
    if fresh.is_none() {
        schemas.are_all();
    }
    let checked = CheckInput { program: &program, unresolved, fresh, linking: &files.index.linking };
    let unchecked = verify::program(&checked, severities, &mut own, both, &mut found);
    let linked = Previous {
        program: Arc::clone(&program),
        frame: Arc::clone(files.frame),
        index: DocumentIndex::default(),
        page_names,
        layouts,
        schemas: schemas.reusable(),
        lowered,
        own,
    };
    Some(LoweredGraph { program: Some(program), linked: Some(linked), found, nodes, unchecked, pages })
}

fn assemble<'d>(
    mut lowering: Lowering<'d>,
    files: &Files<'d>,
    entries: &[NodeIndex],
    rollback_replies: &[u32],
    last: Option<&Program>,
) -> (Program, Vec<Diagnostic>, Schemas) {
    let mut found = std::mem::take(&mut lowering.found);
    let mut limits = Limits::default();
    let mut graphs = Vec::new();
    for (index, graph) in lowering.graphs.into_iter().enumerate() {
        let syntax = &graph.syntax;
        if index == 0 {
            syntax.projects.iter().for_each(|(_, _, project)| limits = limits::override_limits(limits, project.limits));
        }
        let mut bound = BTreeMap::new();
        for binding in syntax.projects.iter().flat_map(|(_, _, project)| &project.bindings) {
            if let Some(name) = &binding.tool.name {
                bound.entry(name.value.clone()).or_insert_with(|| bindings::completed(binding).into_owned());
            }
        }
        graphs.push(Graph {
            root: syntax.root.clone(),
            name: syntax.project(|project| project.name.as_ref()).map(|name| name.value.clone()),
            entry: entries[index],
            inputs: inputs(syntax, lowering.names, &mut lowering.schemas, &mut found),
            locale: syntax.project(|project| project.locale.as_ref()).map(|key| key.value.clone()),
            predicates: graph.predicates,
            types: graph.types.into_iter().map(|declared| (declared.key.value.clone(), declared.schema)).collect(),
            bindings: bound,
            host: syntax.projects.iter().map(|(_, _, project)| &project.host).filter(|host| !host.values.is_empty()).cloned().collect(),
            redact: syntax.projects.iter().flat_map(|(_, _, project)| &project.redact).map(|path| path.value.clone()).collect(),
            retry: syntax.project(|project| project.defaults.retry.as_ref()).map(|retry| retry.value.clone()),
            before_each: graph.before_each,
            rollback_reply: rollback_replies[index],
        });
    }
    let ids = || lowering.nodes.iter().map(|node| (node.id.clone(), node.index)).collect();
    let program = Program {
        graphs,
        by_id: last.map_or_else(|| Arc::new(ids()), |last| Arc::clone(&last.by_id)),
        renamed: last.map_or_else(|| renamed(lowering.names, &lowering.layouts), |last| last.renamed.clone()),
        nodes: lowering.nodes,
        points: lowering.points,
        replies: lowering.replies,
        edges: lowering.edges,
        predicates: lowering.predicates,
        fingerprint: files.index.fingerprint(),
        documents: Arc::clone(files.documents),
        limits,
        waiting: Waiting::default(),
    };
    (program, found, lowering.schemas)
}

/// Returns the schema of the initial context of a graph; a mistake in `inputs` is reported.
fn inputs(syntax: &GraphSyntax<'_>, names: &NameTable<'_>, schemas: &mut Schemas, found: &mut Vec<Diagnostic>) -> Option<Schema> {
    let (path, schema) = syntax.projects.iter().find_map(|(_, path, project)| Some((path, project.inputs.as_ref()?)))?;
    let written = schemas.checked(Code::WrongType, path, schema, found)?;
    let entry = syntax.entry.and_then(|entry| names.candidate(entry).syntax);
    entry.map_or(Some(written), |entry| schemas.get(&inputs::closed(&schema.value, entry)))
}

/// Returns previous ids, which stored sessions may have, by the node that has them now. An id that is a node again is excluded.
fn renamed(names: &NameTable<'_>, layouts: &NodeLayout) -> BTreeMap<trellis_base::id::NodeId, NodeIndex> {
    let mut renamed = BTreeMap::new();
    for (candidate, index) in names.candidates().zip(&layouts.nodes_of) {
        if let (Some(syntax), Some(index)) = (candidate.syntax, index) {
            renamed.extend(syntax.was.iter().map(|was| (was.value.clone(), *index)));
        }
    }
    renamed
}
