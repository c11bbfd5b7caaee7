//! Graphs of a set of documents, and the settings of each (language 1.4, `trellis.yaml`).

use std::{cell::OnceCell, collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashSet;

use super::{
    names::{NameTable, join, library_help},
    split::GraphSplit,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    schema::Schema,
    span::{Span, Spanned},
    template::Shape,
    value::Key,
};
use trellis_engine::program::Call;
use trellis_syntax::{
    document::{Content, Document},
    node::{CallSyntax, CalleeSyntax, DefaultsSyntax, NodeSyntax, TargetSyntax},
    project::ProjectSyntax,
};

/// One graph as its files describe it.
#[derive(Default)]
pub(super) struct GraphSyntax<'d> {
    pub(super) root: Arc<str>,
    /// `trellis.yaml`, or a file with `nodes:`, first; then `tools.yaml`.
    pub(super) projects: Vec<(u32, &'d FilePath, &'d ProjectSyntax)>,
    /// True if part of a project file could not be read: then its bindings are unknown.
    pub(super) is_incomplete: bool,
    /// The `start` at the root.
    pub(super) entry: Option<u32>,
}

/// Default of a graph, and where it is declared.
#[derive(Clone, Copy)]
pub(super) struct GraphDefault<'d, T> {
    pub(super) document: u32,
    pub(super) path: &'d FilePath,
    pub(super) value: T,
}

/// The graph-wide defaults of a graph, each from `trellis.yaml` or the entry node.
#[derive(Default)]
pub(super) struct Defaults<'d> {
    pub(super) on_error: Option<GraphDefault<'d, &'d TargetSyntax>>,
    pub(super) signals: Vec<GraphDefault<'d, (Option<&'d str>, &'d TargetSyntax)>>,
    pub(super) before_each: Option<GraphDefault<'d, &'d CallSyntax>>,
    pub(super) on_rolled_back: Option<GraphDefault<'d, &'d TargetSyntax>>,
}

/// A graph while it is lowered.
pub(super) struct GraphInfo<'d> {
    pub(super) syntax: GraphSyntax<'d>,
    pub(super) defaults: Defaults<'d>,
    /// Every key that is ever set or declared; only some conditions ask.
    pub(super) keys: OnceCell<FxHashSet<&'d str>>,
    pub(super) predicates: BTreeMap<Arc<str>, u32>,
    /// The types of its keys.
    pub(super) types: Vec<Declared<'d>>,
    pub(super) before_each: Option<Arc<Call>>,
}

/// The type of a key, and where it is declared.
pub(super) struct Declared<'d> {
    pub(super) key: &'d Spanned<Key>,
    pub(super) path: &'d FilePath,
    pub(super) schema: Schema,
}

impl<'d> GraphSyntax<'d> {
    /// The graphs as their files describe them.
    pub(super) fn all(split: &GraphSplit, documents: &'d [Arc<Document>]) -> Vec<Self> {
        let project = |&at: &u32| match &documents[at as usize].content {
            Content::Project(project) | Content::Nodes(_, project) => Some((at, &documents[at as usize].path, &**project)),
            _ => None,
        };
        let graphs = split.roots.iter().zip(&split.projects).zip(&split.incomplete);
        let graph = |((root, of), is_incomplete): ((&Arc<str>, &Vec<u32>), &bool)| Self {
            root: root.clone(),
            projects: of.iter().filter_map(project).collect(),
            is_incomplete: *is_incomplete,
            entry: None,
        };
        graphs.map(graph).collect()
    }

    /// The first project file's answer to a question.
    pub(super) fn project<T>(&self, ask: impl Fn(&'d ProjectSyntax) -> Option<T>) -> Option<T> {
        self.projects.iter().find_map(|(_, _, project)| ask(project))
    }

    /// Joins the settings of `trellis.yaml` and of the entry node; a key in both is reported.
    pub(super) fn defaults(&self, names: &NameTable<'d>, found: &mut Vec<Diagnostic>) -> Defaults<'d> {
        let mut defaults = Defaults::default();
        for &(document, path, project) in &self.projects {
            let declared = |value| GraphDefault { document, path, value };
            defaults.on_error = defaults.on_error.or(project.defaults.on_error.as_ref().map(declared));
            defaults.take(document, path, &project.defaults, found);
        }
        if let Some(entry) = self.entry {
            let candidate = names.candidate(entry);
            if let Some(own) = candidate.syntax.and_then(|syntax| syntax.defaults.as_ref()) {
                defaults.take(candidate.document, candidate.path, own, found);
            }
        }
        defaults
    }
}

impl<'d> Defaults<'d> {
    /// Every node that a default names, called graphs included.
    pub(super) fn targets(&self) -> impl Iterator<Item = &'d TargetSyntax> {
        let single = [self.on_error, self.on_rolled_back].into_iter().flatten().map(|declared| declared.value);
        let signals = self.signals.iter().map(|declared| declared.value.1);
        let called = self.before_each.into_iter().flat_map(|declared| declared.value.called());
        single.chain(signals).chain(called)
    }

    fn take(&mut self, document: u32, path: &'d FilePath, syntax: &'d DefaultsSyntax, found: &mut Vec<Diagnostic>) {
        let mut twice = |key: &str, first: (&FilePath, Span), second: Span| {
            found.push(
                Diagnostic::new(Code::DuplicateKey, path, second, format!("`{key}` stands in the project file and in the entry node"))
                    .label(first.0, first.1, "it is here already")
                    .help("keep one of them"),
            );
        };
        let declared = |value| GraphDefault { document, path, value };
        if let Some((_, target)) = syntax.on_signal_default.first()
            && let Some(first) = self.signals.first()
        {
            twice("on_signal_default", (first.path, first.value.1.key.span), target.key.span);
        } else {
            let signals = syntax.on_signal_default.iter();
            self.signals.extend(signals.map(|(name, target)| GraphDefault {
                document,
                path,
                value: (name.as_ref().map(|name| name.value.as_str()), target),
            }));
        }
        match (&self.before_each, &syntax.before_each) {
            (Some(first), Some(second)) => twice("before_each", (first.path, first.value.key), second.key),
            (None, Some(call)) => self.before_each = Some(GraphDefault { document, path, value: call }),
            _ => {}
        }
        match (&self.on_rolled_back, &syntax.on_rolled_back) {
            (Some(first), Some(second)) => twice("on_rolled_back", (first.path, first.value.key.span), second.key.span),
            (None, Some(target)) => self.on_rolled_back = Some(declared(target)),
            _ => {}
        }
    }
}

/// Every key that is ever set or declared in a graph: a bare name in a condition is one of them, or a predicate. `with_locale` counts the key of
/// `locale`.
pub(super) fn known_keys<'d>(
    graph: &GraphSyntax<'d>,
    nodes: impl Iterator<Item = &'d NodeSyntax>,
    with_locale: bool,
) -> FxHashSet<&'d str> {
    let mut keys = FxHashSet::default();
    for (_, _, project) in &graph.projects {
        keys.extend(project.context.iter().map(|(key, _)| &*key.value));
        keys.extend(project.locale.iter().filter(|_| with_locale).map(|key| &*key.value));
        keys.extend(project.defaults.before_each.iter().flat_map(|call| saved(call)));
        let properties = project.inputs.as_ref().and_then(|inputs| inputs.value.as_map()?.get("properties")?.as_map());
        keys.extend(properties.into_iter().flat_map(|properties| properties.keys().map(|key| &**key)));
    }
    for node in nodes {
        keys.extend(node.save_to.iter().map(|path| &**path.value.root()));
        keys.extend(node.required_context.iter().map(|path| &**path.value.root()));
        keys.extend(node.context_schema.iter().map(|(key, _)| &*key.value));
        let assigned = node.set.iter().chain(&node.append).chain(&node.default_context);
        keys.extend(assigned.map(|assign| &**assign.key.value.root()));
        for writes in node.option_writes() {
            let assigned = writes.set.iter().chain(&writes.append).map(|assign| &assign.key);
            keys.extend(writes.save_to.iter().chain(assigned).map(|path| &**path.value.root()));
        }
        for call in node.call.iter().chain(node.defaults.iter().filter_map(|defaults| defaults.before_each.as_ref())) {
            keys.extend(saved(call));
            if let (CalleeSyntax::Graph(_), Some(args)) = (&call.callee, &call.args)
                && let Shape::Map(entries) = &args.value
            {
                keys.extend(entries.iter().map(|(key, _)| &*key.value));
            }
        }
    }
    keys
}

fn saved(call: &CallSyntax) -> impl Iterator<Item = &str> {
    let branches: &[_] = if let CalleeSyntax::Parallel(branches, _) = &call.callee { branches } else { &[] };
    let branches = branches.iter().filter_map(|(_, branch)| branch.save_to.as_ref());
    call.save_to.iter().chain(branches).map(|path| &**path.value.root())
}

/// Finds the entry of each graph; a graph without one is reported.
pub(super) fn entries(graphs: &mut [GraphSyntax<'_>], names: &NameTable<'_>, found: &mut Vec<Diagnostic>) {
    for (index, graph) in graphs.iter_mut().enumerate() {
        let start = join(&graph.root, "start");
        graph.entry = names.of_id(&start);
        if graph.entry.is_some() {
            continue;
        }
        let own = || names.candidates().filter(|candidate| candidate.graph as usize == index && !candidate.page);
        let message = match own().next() {
            None => format!("the graph{} holds no nodes", of(&graph.root)),
            Some(_) => format!("the graph{} has no node `start`", of(&graph.root)),
        };
        let near = own().find(|candidate| {
            let name = candidate.id.name();
            name.eq_ignore_ascii_case("start") || matches!(name, "index" | "main" | "begin" | "entry")
        });
        let page = || names.candidates().find(|candidate| candidate.graph as usize == index && candidate.page);
        let help = match (near, names.library(&start)) {
            (_, Some(library)) => library_help(library),
            (Some(near), None) => format!("rename `{}` to `start`, or give it `id: {start}`", near.path),
            (None, None) => match page().filter(|_| own().next().is_none()) {
                Some(page) => format!("`{}` has no frontmatter, so it is a page: rename it to `{start}.md`", page.path),
                None => format!("add `{start}.md`: a graph begins at its node `start`"),
            },
        };
        found.push(Diagnostic::global(Code::MissingStart, message).help(help));
    }
}

fn of(root: &str) -> String {
    if root.is_empty() { String::new() } else { format!(" in `{root}`") }
}
