//! The nodes of a graph, and the meaning of a target at its place (language 1.2–1.6).
//!
//! **Invariant:** a name is looked up by hashing, never by scanning; only a name that was not found costs a scan.

mod table;

use std::{
    cell::{Cell, OnceCell, RefCell},
    ops::Range,
    sync::Arc,
};

use rustc_hash::FxHashSet;

pub(super) use self::table::{Candidate, NameClaims, is_project};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Near},
    id::NodeId,
    index::to_u32,
};
use trellis_syntax::{
    document::{Content, Document},
    node::TargetSyntax,
};

/// Targets with a meaning of their own (language 1.6).
pub(super) const RESERVED_TARGETS: [&str; 2] = NodeId::RESERVED;

/// The result of resolving a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// A candidate.
    Node(u32),
    /// `rollback`.
    Rollback,
    /// `fail`.
    Fail,
}

/// The meaning of names.
pub(super) struct NameTable<'d> {
    documents: &'d [Arc<Document>],
    table: &'d NameClaims,
    /// The folders that hold nodes; only mistakes ask.
    folders: OnceCell<FxHashSet<&'d str>>,
    /// Room to write ids in.
    room: RefCell<String>,
    /// Names that will still be compared with ones that were not found.
    patience: Cell<usize>,
}

/// A graph in which everything is misspelled gets this many comparisons, and its last mistakes no suggestion.
pub(super) const MAX_NAME_COMPARISONS: usize = 2_000_000;

impl<'d> NameTable<'d> {
    pub(super) fn new(documents: &'d [Arc<Document>], table: &'d NameClaims) -> Self {
        Self { documents, table, folders: OnceCell::new(), room: RefCell::default(), patience: Cell::new(MAX_NAME_COMPARISONS) }
    }

    /// Returns the number of candidates.
    pub(super) fn len(&self) -> usize {
        self.table.claims.len()
    }

    pub(super) fn candidate(&self, at: u32) -> Candidate<'d> {
        self.table.claims[at as usize].of(self.documents)
    }

    /// All candidates, in file order.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate<'d>> {
        let documents = self.documents;
        self.table.claims.iter().map(move |claim| claim.of(documents))
    }

    /// The candidates that are pages unless they are named, in order.
    pub(super) fn pages(&self) -> &'d [u32] {
        &self.table.pages
    }

    /// The candidates of a document.
    pub(super) fn of_document(&self, document: u32) -> Range<u32> {
        let claims = &self.table.claims;
        let from = |document: u32| to_u32(claims.partition_point(|claim| claim.document < document));
        from(document)..from(document.saturating_add(1))
    }

    /// Returns the number of names that were compared so far.
    pub(super) fn compared(&self) -> usize {
        MAX_NAME_COMPARISONS - self.patience.get()
    }

    /// The candidate of an id.
    pub(super) fn of_id(&self, id: &str) -> Option<u32> {
        self.table.of_id(id)
    }

    fn folders(&self) -> &FxHashSet<&'d str> {
        self.folders.get_or_init(|| {
            let mut folders = FxHashSet::default();
            for candidate in self.candidates() {
                let mut folder = candidate.path.rsplit_once('/').map(|(folder, _)| folder);
                while let Some(here) = folder.filter(|here| folders.insert(*here)) {
                    folder = here.rsplit_once('/').map(|(above, _)| above);
                }
            }
            folders
        })
    }

    /// The candidate of this name in a folder, or of the module of that name.
    fn find_in(&self, folder: &str, name: &str) -> Option<u32> {
        let named = if folder.is_empty() {
            self.table.by_name.get(name)
        } else {
            let mut id = self.room.borrow_mut();
            id.clear();
            id.extend([folder, "/", name]);
            self.table.by_name.get(id.as_str())
        };
        named.and_then(|named| named.node.or(named.module))
    }

    /// Resolves a target that is written in `folder` of graph `graph`.
    ///
    /// # Errors
    /// The diagnostic, without a place: unknown, wrong case, a folder without `start`, or another graph.
    pub(super) fn resolve(&self, name: &str, jump: bool, folder: &str, graph: u32, call: bool) -> Result<Resolved, Box<MissingTarget>> {
        match name {
            "rollback" if !call => return Ok(Resolved::Rollback),
            "fail" if !call => return Ok(Resolved::Fail),
            _ => {}
        }
        let found = self.find(name, jump, folder, graph);
        match found {
            Some(index) if self.table.claims[index as usize].graph == graph || call => Ok(Resolved::Node(index)),
            Some(_) => Err(Box::new(MissingTarget {
                code: Code::UnknownTarget,
                message: format!("`{name}` is a graph of its own and cannot be a target"),
                help: Some(format!("call it: `do: {{graph: {name}}}`")),
                fix: None,
            })),
            None => Err(Box::new(self.missing(name, folder, graph, call))),
        }
    }

    /// Returns the candidate that a target means, in any graph.
    pub(super) fn find(&self, name: &str, jump: bool, folder: &str, graph: u32) -> Option<u32> {
        let root = &*self.table.roots[graph as usize];
        if let Some(below) = name.strip_prefix("./") {
            return self.find_in(folder, below);
        }
        if let Some(below) = name.strip_prefix('/') {
            return self.find_in(root, below);
        }
        if jump && let Some(index) = self.find_in(root, name) {
            return Some(index);
        }
        let mut here = folder;
        loop {
            if let Some(index) = self.find_in(here, name) {
                return Some(index);
            }
            if here.len() <= root.len() {
                return None;
            }
            here = here.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Returns the reason why a name was not found; the only place that scans.
    fn missing(&self, name: &str, folder: &str, graph: u32, call: bool) -> MissingTarget {
        let root = &*self.table.roots[graph as usize];
        let bare = name.trim_start_matches("./").trim_start_matches('/');
        let before = &name[..name.len() - bare.len()];
        let scopes = match name.as_bytes() {
            [b'.', b'/', ..] => vec![folder],
            [b'/', ..] => vec![root],
            _ => vec![folder, root],
        };
        if scopes.iter().any(|scope| self.folders().contains(&*join(scope, bare))) {
            let help = Some(format!("a module needs a node `start`: add `{bare}/start.md`, or name one of its nodes"));
            return MissingTarget { code: Code::UnknownModule, message: format!("the folder `{bare}` has no `start`"), help, fix: None };
        }
        let patience = self.patience.get();
        let graphs = self
            .table
            .roots
            .iter()
            .filter(|root| call && !root.is_empty())
            .flat_map(|root| scopes.iter().filter_map(|scope| below(root, scope)));
        let mut visible: Vec<&str> = self.visible(&scopes, graph).chain(graphs).take(patience).collect();
        self.patience.set(patience - visible.len());
        let endings = if before.is_empty() && !call { &ENDINGS[..] } else { &[] };
        if let Some(right) = visible.iter().chain(endings).find(|id| id.eq_ignore_ascii_case(bare)) {
            let fix = Some(format!("{before}{right}"));
            return MissingTarget {
                code: Code::WrongCase,
                message: format!("`{name}` is written `{right}`"),
                help: Some("names are case-sensitive".into()),
                fix,
            };
        }
        // A node that is yet to be written is no ending: most of the name must be the same.
        visible.extend(endings.iter().filter(|ending| trellis_base::diagnostic::near(bare, [**ending]).is_some_and(|near| near.is_only)));
        // It is not at the place of its prefix, but would be found without that.
        if !before.is_empty() && self.find(bare, false, folder, graph).is_some() {
            return MissingTarget {
                code: Code::UnknownTarget,
                message: format!("there is no node `{name}`"),
                help: Some(format!(
                    "did you mean `{bare}`? `{before}` looks {} only",
                    if before == "./" { "beside this node" } else { "at the root" }
                )),
                fix: Some(bare.to_owned()),
            };
        }
        let stem = bare.rsplit_once('.').filter(|(_, extension)| is_node_extension(extension)).map(|(stem, _)| stem);
        let near = stem.filter(|stem| self.find(stem, false, folder, graph).is_some());
        let near = near.or_else(|| self.beyond(before, bare, folder, graph));
        let near = near.map(|name| Near { name, is_only: true }).or_else(|| below_another(bare, &visible));
        let near = near.or_else(|| trellis_base::diagnostic::near(bare, visible.iter().copied()));
        let called = || {
            let roots =
                self.table.roots.iter().filter(|root| !call && !root.is_empty()).filter_map(|root| below(root, scopes[scopes.len() - 1]));
            below_another(bare, &roots.collect::<Vec<_>>()).map(|near| near.name)
        };
        let help = match near {
            Some(near) if Some(near.name) == stem => format!("targets have no extension: `{}`", near.name),
            Some(near) if ENDINGS.contains(&near.name) => format!("{} if not, add `{}.md`", near.question(), join(scopes[0], bare)),
            Some(near) => near.question(),
            None if let Some(library) = scopes.iter().find_map(|scope| self.library(&join(scope, bare))) => library_help(library),
            None if let Some(help) = not_an_id(bare, stem) => help,
            None if let Some(graph) = called() => format!("`{graph}` is a graph of its own: call it, `do: {{ graph: {graph} }}`"),
            None if ENDS.contains(&name) && !call => {
                format!("a node that leads nowhere ends: leave the target out, or add `{}.md`", join(scopes[0], bare))
            }
            None => format!("add `{}.md`, or name a node that exists", join(scopes[0], bare)),
        };
        MissingTarget {
            code: Code::UnknownTarget,
            message: format!("there is no node `{name}`"),
            help: Some(help),
            // A node that was forgotten, such as `mail`, must not become an end in silence.
            fix: near.filter(|near| near.is_only && !ENDINGS.contains(&near.name)).map(|near| format!("{before}{}", near.name)),
        }
    }

    /// Returns the name of the node that a path of files would lead to, `../bye` or `bye/`, where that name leads to it.
    fn beyond<'n>(&self, before: &str, bare: &'n str, folder: &str, graph: u32) -> Option<&'n str> {
        let mut rest = bare.trim_end_matches('/');
        let mut here = if before == "/" { &*self.table.roots[graph as usize] } else { folder };
        while let Some(above) = rest.strip_prefix("../") {
            here = here.rsplit_once('/').map_or("", |(above, _)| above);
            rest = above;
        }
        let meant = (rest.len() < bare.len()).then(|| self.find_in(here, rest)).flatten();
        (meant.is_some() && meant == self.find(&format!("{before}{rest}"), false, folder, graph)).then_some(rest)
    }

    /// The library whose path would give a node this id.
    pub(super) fn library(&self, id: &str) -> Option<&'d FilePath> {
        let mut documents = NODE_EXTENSIONS.iter().filter_map(|extension| at_path(self.documents, &format!("{id}.{extension}")));
        documents.find_map(|at| match &self.documents[at as usize] {
            document if matches!(document.content, Content::Library(_)) => Some(&document.path),
            _ => None,
        })
    }

    /// Names by which nodes of the graph can be reached from the folders in `scopes`.
    fn visible(&self, scopes: &[&str], graph: u32) -> impl Iterator<Item = &str> {
        self.table.claims.iter().filter(move |claim| claim.graph == graph).flat_map(move |claim| {
            let id = claim.id.as_str();
            let spellings = [Some(id), id.strip_suffix("/start")];
            spellings.into_iter().flatten().flat_map(move |name| scopes.iter().filter_map(move |scope| below(name, scope)))
        })
    }
}

/// Returns the name that ends in another one, in whatever folder: `exchange/rates` for `rates`.
fn below_another<'n>(name: &str, names: &[&'n str]) -> Option<Near<'n>> {
    let mut ends: Vec<&str> = names.iter().copied().filter(|known| known.rsplit_once('/').is_some_and(|(_, last)| last == name)).collect();
    // Of the names of one node, the shorter one is seen from here.
    ends.sort_unstable_by_key(|name| (name.len(), *name));
    let first = ends.first().copied()?;
    Some(Near { name: first, is_only: ends.iter().all(|name| name.ends_with(first)) })
}

/// Returns what to write in place of a target that can be no id: a file, or a path with empty parts or dots.
fn not_an_id(bare: &str, stem: Option<&str>) -> Option<String> {
    match stem {
        Some(stem) => Some(format!("a target is an id, without the extension: `{stem}`")),
        None if bare.split('/').any(|part| matches!(part, "" | "." | "..")) => {
            Some("a target is an id, such as `bye` or `folder/bye`: it is looked for in this folder and those above it".to_owned())
        }
        None => None,
    }
}

/// The reserved targets (language 1.6).
const ENDINGS: [&str; 2] = ["rollback", "fail"];

/// Names that authors use for the end of a session, which has no name.
const ENDS: [&str; 8] = ["end", "END", "exit", "stop", "done", "finish", "finished", "quit"];

/// A target that leads nowhere.
pub(super) struct MissingTarget {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) fix: Option<String>,
}

impl MissingTarget {
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

/// The document of a path, among documents in order.
pub(super) fn at_path(documents: &[Arc<Document>], path: &str) -> Option<u32> {
    documents.binary_search_by(|document| (*document.path).cmp(path)).ok().and_then(|at| u32::try_from(at).ok())
}

/// Returns the rest of `id` below `folder`.
fn below<'i>(id: &'i str, folder: &str) -> Option<&'i str> {
    if folder.is_empty() { Some(id) } else { id.strip_prefix(folder)?.strip_prefix('/') }
}

/// Returns the help for an author who meant a node and wrote a library.
pub(super) fn library_help(library: &FilePath) -> String {
    format!("`{library}` has no key but `tools`, so it is a library: a node has another one, such as `metadata`")
}

const NODE_EXTENSIONS: [&str; 4] = ["md", "yaml", "yml", "json"];

fn is_node_extension(extension: &str) -> bool {
    NODE_EXTENSIONS.contains(&extension)
}

/// Returns whether a text contains a name as a word.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    places_of(text, name).next().is_some()
}

/// Returns the places where a text contains a name as a word.
pub(crate) fn places_of<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> {
    let is_inside = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let is_word = move |at: &usize| !text[..*at].ends_with(is_inside) && !text[at + name.len()..].starts_with(is_inside);
    text.match_indices(name).map(|(at, _)| at).filter(is_word)
}
