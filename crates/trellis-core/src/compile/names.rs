//! Which nodes there are, and what a target means where it stands (language 1.2–1.6).
//!
//! **Invariant:** a name is looked up by hashing, never by scanning; only a name that was not found costs a scan.

use std::{
    cell::{Cell, OnceCell, RefCell},
    sync::Arc,
};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::{
    diagnostic::{Code, Diagnostic, FilePath, Near},
    id::NodeId,
    span::Span,
    syntax::{
        document::{Content, Document},
        node::{NodeSyntax, TargetSyntax},
    },
};

/// Targets with a meaning of their own (language 1.6).
pub(super) const RESERVED: [&str; 2] = NodeId::RESERVED;

/// A node that may be compiled: where it is written and what it is called.
pub(super) struct Candidate<'d> {
    pub(super) id: NodeId,
    pub(super) document: u32,
    /// Which of the nodes of its file it is.
    pub(super) ordinal: u32,
    pub(super) graph: u32,
    pub(super) path: &'d FilePath,
    /// Nothing for a file that could not be understood: it claims its id only.
    pub(super) syntax: Option<&'d NodeSyntax>,
    /// A Markdown file without frontmatter: a page unless some target names it.
    pub(super) page: bool,
}

impl Candidate<'_> {
    /// Where the node's id is written, or its beginning.
    pub(super) fn place(&self) -> Span {
        let id = self.syntax.and_then(|syntax| syntax.id.as_ref());
        id.map_or_else(|| Span::at(self.syntax.map_or(0, |syntax| syntax.span.start as usize)), |id| id.span)
    }
}

/// What a target resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// A candidate.
    Node(u32),
    /// `rollback`.
    Rollback,
    /// `fail`.
    Fail,
}

/// The names of all graphs that are compiled together.
pub(super) struct Names<'d> {
    pub(super) candidates: Vec<Candidate<'d>>,
    by_name: FxHashMap<NodeId, Named>,
    /// The folders that hold nodes; only mistakes ask.
    folders: OnceCell<FxHashSet<&'d str>>,
    roots: Vec<Arc<str>>,
    /// Room to write ids in.
    room: RefCell<String>,
    /// Names that will still be compared with ones that were not found.
    patience: Cell<usize>,
}

/// What a name stands for, so that one look finds a node as well as a module.
#[derive(Clone, Copy, Default)]
struct Named {
    /// The candidate of this id.
    node: Option<u32>,
    /// The `start` in the folder of this name.
    module: Option<u32>,
}

/// A graph in which everything is misspelled gets this many comparisons, and its last mistakes no suggestion.
pub(super) const PATIENCE: usize = 2_000_000;

impl<'d> Names<'d> {
    /// Collects the nodes of `documents`, which belong to the graphs with these roots (`owner` says which).
    pub(super) fn collect(documents: &'d [Arc<Document>], roots: &[Arc<str>], owner: &[u32], found: &mut Vec<Diagnostic>) -> Self {
        let mut names = Self {
            candidates: Vec::with_capacity(documents.len()),
            by_name: FxHashMap::with_capacity_and_hasher(documents.len() + 1, FxBuildHasher),
            folders: OnceCell::new(),
            roots: roots.to_vec(),
            room: RefCell::default(),
            patience: Cell::new(PATIENCE),
        };
        let alone = documents.len() == 1;
        for (index, document) in documents.iter().enumerate() {
            if is_hidden(&document.path) {
                continue;
            }
            let (index, graph) = (u32::try_from(index).unwrap_or(u32::MAX), owner[index]);
            let own = |id| Candidate { id, document: index, ordinal: 0, graph, path: &document.path, syntax: None, page: false };
            match &document.content {
                Content::Node(syntax) => {
                    let page = !syntax.has_matter && document.path.ends_with(".md") && !alone;
                    let by_path = || id_of(document, alone);
                    let id = syntax.id.as_ref().map_or_else(by_path, |id| id.value.clone());
                    let page = page && !id.is_start();
                    let taken = names.add(Candidate { syntax: Some(syntax), page, ..own(id) }, found);
                    // A node whose `id` it cannot have is found by its path, so that nothing else is said of those who lead to it.
                    if !taken && syntax.id.is_some() && names.of_id(by_path().as_str()).is_none() {
                        names.add(Candidate { syntax: Some(syntax), page, ..own(by_path()) }, found);
                    }
                }
                Content::Nodes(nodes, _) => {
                    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    for (ordinal, syntax) in (0..).zip(nodes) {
                        let Some(id) = &syntax.id else { continue };
                        names.add(Candidate { syntax: Some(syntax), ordinal, ..own(NodeId::new(join(folder, id.value.as_str()))) }, found);
                    }
                }
                Content::Broken if !is_project(&document.path) => {
                    names.add(own(id_of(document, alone)), found);
                }
                Content::Library(_) | Content::Project(_) | Content::Broken => {}
            }
        }
        names
    }

    /// Adds a node; whether it got its name.
    fn add(&mut self, candidate: Candidate<'d>, found: &mut Vec<Diagnostic>) -> bool {
        let index = u32::try_from(self.candidates.len()).unwrap_or(u32::MAX);
        if let Some(first) = self.of_id(candidate.id.as_str()) {
            found.push(self.duplicate(&candidate, &self.candidates[first as usize]));
            return false;
        }
        let last = candidate.id.name();
        if RESERVED.contains(&last) {
            let message = format!("`{last}` is a reserved target and cannot name a node");
            let help = format!("rename the file, or give it another `id`; `to: {last}` has a meaning of its own");
            found.push(Diagnostic::new(Code::ReservedName, candidate.path, candidate.place(), message).help(help));
            if candidate.syntax.is_some_and(|syntax| syntax.id.is_some()) {
                return false;
            }
        }
        if last == "start" {
            self.by_name.entry(NodeId::from(candidate.id.folder())).or_default().module = Some(index);
        }
        self.by_name.entry(candidate.id.clone()).or_default().node = Some(index);
        self.candidates.push(candidate);
        true
    }

    /// How many names were compared so far.
    pub(super) fn compared(&self) -> usize {
        PATIENCE - self.patience.get()
    }

    /// The candidate of an id.
    pub(super) fn of_id(&self, id: &str) -> Option<u32> {
        self.by_name.get(id)?.node
    }

    fn folders(&self) -> &FxHashSet<&'d str> {
        self.folders.get_or_init(|| {
            let mut folders = FxHashSet::default();
            for candidate in &self.candidates {
                let mut folder = candidate.path.rsplit_once('/').map(|(folder, _)| folder);
                while let Some(here) = folder.filter(|here| folders.insert(*here)) {
                    folder = here.rsplit_once('/').map(|(above, _)| above);
                }
            }
            folders
        })
    }

    fn duplicate(&self, second: &Candidate<'_>, first: &Candidate<'_>) -> Diagnostic {
        let message = format!("there are two nodes `{}`", second.id);
        Diagnostic::new(Code::DuplicateNode, second.path, second.place(), message)
            .label(first.path, first.place(), "the first one is here")
            .help("rename one of the files, or give one another `id`")
    }

    /// The candidate of this name in a folder, or of the module of that name.
    fn find(&self, folder: &str, name: &str) -> Option<u32> {
        let named = if folder.is_empty() {
            self.by_name.get(name)
        } else {
            let mut id = self.room.borrow_mut();
            id.clear();
            id.extend([folder, "/", name]);
            self.by_name.get(id.as_str())
        };
        named.and_then(|named| named.node.or(named.module))
    }

    /// Resolves a target that stands in `folder` of graph `graph`.
    ///
    /// # Errors
    /// The diagnostic, without a place: unknown, wrong case, a folder without `start`, or another graph.
    pub(super) fn resolve(&self, name: &str, jump: bool, folder: &str, graph: u32, call: bool) -> Result<Resolved, Box<Missing>> {
        match name {
            "rollback" if !call => return Ok(Resolved::Rollback),
            "fail" if !call => return Ok(Resolved::Fail),
            _ => {}
        }
        let found = self.look_up(name, jump, folder, graph);
        match found {
            Some(index) if self.candidates[index as usize].graph == graph || call => Ok(Resolved::Node(index)),
            Some(_) => Err(Box::new(Missing {
                code: Code::UnknownTarget,
                message: format!("`{name}` is a graph of its own and cannot be a target"),
                help: Some(format!("call it: `do: {{graph: {name}}}`")),
                fix: None,
            })),
            None => Err(Box::new(self.missing(name, folder, graph))),
        }
    }

    fn look_up(&self, name: &str, jump: bool, folder: &str, graph: u32) -> Option<u32> {
        let root = &*self.roots[graph as usize];
        if let Some(below) = name.strip_prefix("./") {
            return self.find(folder, below);
        }
        if let Some(below) = name.strip_prefix('/') {
            return self.find(root, below);
        }
        if jump && let Some(index) = self.find(root, name) {
            return Some(index);
        }
        let mut here = folder;
        loop {
            if let Some(index) = self.find(here, name) {
                return Some(index);
            }
            if here.len() <= root.len() {
                return None;
            }
            here = here.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Says why a name was not found; the only place that scans.
    fn missing(&self, name: &str, folder: &str, graph: u32) -> Missing {
        let root = &*self.roots[graph as usize];
        let bare = name.trim_start_matches("./").trim_start_matches('/');
        let before = &name[..name.len() - bare.len()];
        let scopes = match name.as_bytes() {
            [b'.', b'/', ..] => vec![folder],
            [b'/', ..] => vec![root],
            _ => vec![folder, root],
        };
        if scopes.iter().any(|scope| self.folders().contains(&*join(scope, bare))) {
            let help = Some(format!("a module needs a node `start`: add `{bare}/start.md`, or name one of its nodes"));
            return Missing { code: Code::UnknownModule, message: format!("the folder `{bare}` has no `start`"), help, fix: None };
        }
        let patience = self.patience.get();
        let visible: Vec<&str> = self.visible(&scopes, graph).take(patience).collect();
        self.patience.set(patience - visible.len());
        if let Some(right) = visible.iter().find(|id| id.eq_ignore_ascii_case(bare)) {
            let fix = Some(format!("{before}{right}"));
            return Missing {
                code: Code::WrongCase,
                message: format!("`{name}` is written `{right}`"),
                help: Some("names are case-sensitive".into()),
                fix,
            };
        }
        let stem = bare.rsplit_once('.').filter(|(_, extension)| is_node_extension(extension)).map(|(stem, _)| stem);
        let near = stem.filter(|stem| self.look_up(stem, false, folder, graph).is_some());
        let near = near.map(|name| Near { name, is_only: true }).or_else(|| crate::diagnostic::near(bare, visible.iter().copied()));
        let help = match near {
            Some(near) if Some(near.name) == stem => format!("targets have no extension: `{}`", near.name),
            Some(near) => near.question(),
            None => format!("add `{}.md`, or name a node that exists", join(scopes[0], bare)),
        };
        Missing {
            code: Code::UnknownTarget,
            message: format!("there is no node `{name}`"),
            help: Some(help),
            fix: near.filter(|near| near.is_only).map(|near| format!("{before}{}", near.name)),
        }
    }

    /// Names by which nodes of the graph can be reached from the folders in `scopes`.
    fn visible(&self, scopes: &[&str], graph: u32) -> impl Iterator<Item = &str> {
        self.candidates.iter().filter(move |candidate| candidate.graph == graph).flat_map(move |candidate| {
            let id = candidate.id.as_str();
            let module = id.strip_suffix("/start").unwrap_or(id);
            scopes.iter().filter_map(move |scope| below(module, scope))
        })
    }
}

/// A target that leads nowhere.
pub(super) struct Missing {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) fix: Option<String>,
}

impl Missing {
    /// The diagnostic at the target's name.
    pub(super) fn at(self, path: &FilePath, target: &TargetSyntax) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.code, path, target.name.span, self.message).help_maybe(self.help);
        self.fix.into_iter().fold(diagnostic, |diagnostic, name| diagnostic.rename(target.name.span, &name))
    }
}

/// `name` in `folder`.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// What remains of `id` below `folder`.
fn below<'i>(id: &'i str, folder: &str) -> Option<&'i str> {
    if folder.is_empty() { Some(id) } else { id.strip_prefix(folder)?.strip_prefix('/') }
}

fn is_node_extension(extension: &str) -> bool {
    matches!(extension, "md" | "yaml" | "yml" | "json")
}

/// Whether a file or one of its folders begins with `_` or `.` (language 1.2).
pub(super) fn is_hidden(path: &str) -> bool {
    let bytes = path.as_bytes();
    matches!(bytes.first(), Some(b'_' | b'.')) || bytes.windows(2).any(|pair| matches!(pair, [b'/', b'_' | b'.']))
}

fn is_project(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("trellis.yaml" | "tools.yaml"))
}

/// The id that a path gives; a file that is a graph alone is its `start` (language 1.1).
fn id_of(document: &Document, alone: bool) -> NodeId {
    if alone { NodeId::new("start") } else { document.id.clone() }
}
