//! Tools: libraries, shadowing, and which names a node may call (language 5.1, 5.2).

mod definitions;

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, hash_map::Entry},
    sync::Arc,
};

use rustc_hash::FxHashMap;

use super::{
    bindings::{check_templates, completed},
    check::shadowing,
    document_index::references_of,
    graphs::GraphSyntax,
    names::{Candidate, at_path, join},
    schemas::Schemas,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Place, near},
    span::{Span, Spanned},
};
use trellis_engine::program::Tool;
use trellis_syntax::{
    document::{Content, Document},
    node::{NodeSyntax, ToolRef, ToolSyntax},
};

/// Libraries deeper than this are not followed (language A.2).
const MAX_LIBRARY_DEPTH: usize = 64;

/// The callable tools by name, in the order of first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolScope {
    tools: Vec<Arc<Tool>>,
    by_name: FxHashMap<Arc<str>, usize>,
    /// True if some library is missing: its tools are unknown.
    incomplete: bool,
    /// Names in the list that nothing defines: each is reported there.
    unknown: Vec<Arc<str>>,
}

impl ToolScope {
    fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).map(|&at| &self.tools[at])
    }

    /// Adds a tool; a later one of the same name takes the place of the earlier, which comes back.
    fn put(&mut self, tool: Arc<Tool>) -> Option<Arc<Tool>> {
        match self.by_name.entry(Arc::clone(&tool.name)) {
            Entry::Occupied(known) => Some(std::mem::replace(&mut self.tools[*known.get()], tool)),
            Entry::Vacant(free) => {
                free.insert(self.tools.len());
                self.tools.push(tool);
                None
            }
        }
    }

    pub(super) fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// Returns whether nothing can be called here, as far as known.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && !self.incomplete && self.unknown.is_empty()
    }

    /// Returns whether a tool of this name may be missing from it, for a reason that was reported.
    fn may_lack(&self, name: &str) -> bool {
        self.incomplete || self.unknown.iter().any(|unknown| **unknown == *name)
    }
}

/// The tools of all graphs.
pub(super) struct Tools<'d> {
    documents: &'d [Arc<Document>],
    roots: Vec<Arc<str>>,
    bindings: Vec<FxHashMap<Arc<str>, Arc<Tool>>>,
    /// The contracts that authors wrote for bindings which the compiler completed (language 9.24), by their places.
    written: BTreeMap<Place, Tool>,
    /// Of each graph, whether something is missing from its bindings.
    incomplete: Vec<bool>,
    modules: FxHashMap<(u32, String), Arc<ToolScope>>,
    /// Libraries that were resolved, by document and graph: each once, however many paths lead to it.
    libraries: RefCell<FxHashMap<(u32, u32), Arc<ToolScope>>>,
    /// Pairs of definitions of which the second shadowed the first somewhere, with the finding about that.
    shadowed: RefCell<BTreeMap<(Place, Place), Option<Diagnostic>>>,
}

/// A reference that is being followed: the file that names it, and where libraries are looked up.
#[derive(Clone, Copy)]
struct LibraryRef<'d> {
    path: &'d FilePath,
    graph: u32,
}

/// The graph that owns each document, and the documents that define or name tools.
pub(super) struct DocumentTools<'t> {
    pub(super) owner: &'t [u32],
    pub(super) tooled: &'t [u32],
}

impl<'d> Tools<'d> {
    /// Reads the bindings of every graph and checks every tool definition and library reference once, independent of its users.
    pub(super) fn collect(
        documents: &'d [Arc<Document>],
        graphs: &[GraphSyntax<'d>],
        DocumentTools { owner, tooled }: DocumentTools<'_>,
        schemas: &mut Schemas,
        found: &mut Vec<Diagnostic>,
    ) -> Self {
        let roots = graphs.iter().map(|graph| graph.root.clone()).collect();
        let mut tools = Self {
            documents,
            roots,
            bindings: Vec::new(),
            written: BTreeMap::new(),
            incomplete: graphs.iter().map(|graph| graph.is_incomplete).collect(),
            modules: FxHashMap::default(),
            libraries: RefCell::default(),
            shadowed: RefCell::default(),
        };
        for graph in graphs {
            let mut bound = FxHashMap::default();
            for (_, path, project) in &graph.projects {
                for binding in &project.bindings {
                    schemas.check_tool(path, &binding.tool, found);
                    let whole = completed(binding);
                    check_templates(path, &whole, found);
                    let Some(name) = &binding.tool.name else { continue };
                    if matches!(whole, Cow::Owned(_)) {
                        let written = tool(path, &binding.tool, name, true, schemas);
                        tools.written.extend(written.place.clone().map(|place| (place, written)));
                    }
                    bound.entry(Arc::clone(&name.value)).or_insert_with(|| Arc::new(tool(path, &whole.tool, name, true, schemas)));
                }
            }
            tools.bindings.push(bound);
        }
        tools.check_definitions(owner, tooled, schemas, found);
        tools
    }

    /// The file of an index.
    pub(super) fn document(&self, index: u32) -> &'d Document {
        &self.documents[index as usize]
    }

    /// The document that a reference names: from the root, or from the folder for `./` (language 1.7).
    fn library(&self, reference: &str, folder: &str, root: &str) -> Option<u32> {
        let path = match reference.strip_prefix("./") {
            Some(below) => join(folder, below),
            None => join(root, reference.trim_start_matches('/')),
        };
        let at = |path: &str| at_path(self.documents, path);
        let with = |extension: &str| at(&format!("{path}.{extension}"));
        at(&path).or_else(|| ["md", "yaml", "yml", "json"].into_iter().find_map(with))
    }

    /// Returns the tools of a list of references: inline definitions beat imports, later imports earlier ones.
    pub(super) fn own(&self, candidate: Candidate<'d>, schemas: &mut Schemas, found: &mut Vec<Diagnostic>) -> ToolScope {
        let mut scope = ToolScope::default();
        let Some(syntax) = candidate.syntax else { return scope };
        let from = LibraryRef { path: candidate.path, graph: candidate.graph };
        self.resolve(&syntax.tools, from, schemas, &mut scope, 0);
        scope.incomplete |= has_unread_tools(self.document(candidate.document), syntax);
        self.compare_with_inherited(candidate, &scope);
        for reference in &syntax.tools {
            if let ToolRef::Name(name) = reference
                && scope.get(&name.value).is_none_or(|tool| !tool.bound && tool.parameters.is_none())
                && self.inherited(candidate, &name.value).is_none()
                && !self.incomplete[candidate.graph as usize]
                && !scope.incomplete
            {
                let near = near(&name.value, self.bindings[candidate.graph as usize].keys().map(|name| &**name));
                let unknown = Diagnostic::new(Code::UnknownTool, candidate.path, name.span, format!("there is no tool `{}`", name.value));
                found.push(unknown.meant(name.span, near, || "name a bound tool, or define it here with `name`, `parameters`".into()));
                scope.unknown.push(Arc::clone(&name.value));
            }
        }
        scope
    }

    fn resolve(&self, references: &'d [ToolRef], from: LibraryRef<'d>, schemas: &mut Schemas, scope: &mut ToolScope, depth: usize) {
        if depth >= MAX_LIBRARY_DEPTH {
            return;
        }
        let bindings = &self.bindings[from.graph as usize];
        for reference in references {
            match reference {
                ToolRef::Library(written) => match self.library(&written.value, folder(from.path), &self.roots[from.graph as usize]) {
                    Some(index) => {
                        let library = self.imported(index, from.graph, schemas, depth + 1);
                        scope.incomplete |= library.incomplete;
                        library.tools.iter().for_each(|tool| self.put(scope, tool));
                    }
                    None => scope.incomplete = true,
                },
                ToolRef::Name(name) => bindings.get(&name.value).into_iter().for_each(|tool| self.put(scope, tool)),
                ToolRef::Inline(_) => {}
            }
        }
        for reference in references {
            if let ToolRef::Inline(ToolSyntax { name: Some(name), .. }) = reference
                && let ToolRef::Inline(syntax) = reference
            {
                let bound = bindings.get(&name.value);
                let mut tool = tool(from.path, syntax, name, bound.is_some(), schemas);
                if let Some(bound) = bound {
                    tool.effect = tool.effect.or(bound.effect);
                    tool.timeout = tool.timeout.or(bound.timeout);
                    tool.retry = tool.retry.or_else(|| bound.retry.clone());
                    tool.returns = tool.returns.or_else(|| bound.returns.clone());
                    tool.parameters = tool.parameters.or_else(|| bound.parameters.clone());
                }
                self.put(scope, &Arc::new(tool));
            }
        }
    }

    /// Adds a tool to a scope, and compares it with the one whose place it takes.
    fn put(&self, scope: &mut ToolScope, tool: &Arc<Tool>) {
        if let Some(before) = scope.put(Arc::clone(tool)) {
            self.compare(&before, tool);
        }
    }

    /// Compares the tools of a node with those that it would otherwise have called by the same names.
    fn compare_with_inherited(&self, candidate: Candidate<'d>, scope: &ToolScope) {
        if scope.tools.is_empty() {
            return;
        }
        let modules: Vec<_> = self.modules_of(candidate).filter_map(|key| self.modules.get(&key)).collect();
        let bindings = &self.bindings[candidate.graph as usize];
        for tool in &scope.tools {
            let inherited = modules.iter().filter_map(|module| module.get(&tool.name)).chain(bindings.get(&tool.name));
            inherited.into_iter().find(|inherited| inherited.place != tool.place).into_iter().for_each(|before| self.compare(before, tool));
        }
    }

    /// Compares two definitions once, however often the second shadows the first. A diamond brings the same one twice. A contract that the compiler
    /// added to a binding is no definition: the author's contract of a builtin is used instead (language 5.2).
    fn compare(&self, before: &Tool, tool: &Tool) {
        if let (Some(first), Some(second)) = (&before.place, &tool.place)
            && first != second
        {
            let before = self.written.get(first).unwrap_or(before);
            let pair = (second.clone(), first.clone());
            self.shadowed.borrow_mut().entry(pair).or_insert_with(|| shadowing::check(before, tool));
        }
    }

    /// Returns the findings about definitions that shadowed others.
    pub(super) fn shadowed(&self) -> Vec<Diagnostic> {
        self.shadowed.borrow().values().flatten().cloned().collect()
    }

    /// Returns the tools of a library.
    fn imported(&self, index: u32, graph: u32, schemas: &mut Schemas, depth: usize) -> Arc<ToolScope> {
        if let Some(known) = self.libraries.borrow().get(&(index, graph)) {
            return Arc::clone(known);
        }
        // A library that is met while it is being resolved is a cycle, and reported: it adds nothing to itself.
        self.libraries.borrow_mut().insert((index, graph), Arc::default());
        let document: &'d Document = &self.documents[index as usize];
        let mut imported = ToolScope::default();
        let from = LibraryRef { path: &document.path, graph };
        self.resolve(references_of(document), from, schemas, &mut imported, depth);
        // A part with mistakes may have defined the missing tool.
        imported.incomplete |= matches!(document.content, Content::Broken) || document.has_errors();
        let imported = Arc::new(imported);
        self.libraries.borrow_mut().insert((index, graph), Arc::clone(&imported));
        imported
    }

    /// The tool of a name outside the node's own list: its module's `start`, those above it up to the entry, the bindings.
    fn inherited(&self, candidate: Candidate<'d>, name: &str) -> Option<&Arc<Tool>> {
        let scopes = self.modules_of(candidate).filter_map(|key| self.modules.get(&key));
        scopes.filter_map(|scope| scope.get(name)).next().or_else(|| self.bindings[candidate.graph as usize].get(name))
    }

    /// Remembers the tools of a `start`: its module may call them.
    pub(super) fn add_module(&mut self, candidate: Candidate<'d>, scope: ToolScope) {
        if !scope.is_empty() {
            self.modules.insert((candidate.graph, candidate.id.folder().to_owned()), Arc::new(scope));
        }
    }

    /// The modules whose tools a node may call: its own folder and those above it, up to the root.
    fn modules_of(&self, candidate: Candidate<'d>) -> impl Iterator<Item = (u32, String)> {
        let graph = candidate.graph;
        let mut next = (!self.modules.is_empty()).then(|| candidate.id.folder().to_owned());
        std::iter::from_fn(move || {
            let here = next.take()?;
            next = here.rsplit_once('/').map(|(above, _)| above.to_owned()).or_else(|| (!here.is_empty()).then(String::new));
            Some((graph, here))
        })
    }

    /// The tool that a call of `candidate` names.
    ///
    /// # Errors
    /// The nearest name for `unknown-tool`, if there is one, and whether it is the only one; nothing at all where a missing library, an unknown name in `tools` or an unreadable project file may hold the tool, which was reported already.
    pub(super) fn find(&self, candidate: Candidate<'d>, own: &ToolScope, name: &str) -> Result<Arc<Tool>, Option<Option<(String, bool)>>> {
        let bindings = &self.bindings[candidate.graph as usize];
        if let Some(tool) = own.get(name).or_else(|| self.inherited(candidate, name)) {
            return Ok(Arc::clone(tool));
        }
        let mut modules = self.modules_of(candidate).filter_map(|key| self.modules.get(&key));
        if own.may_lack(name) || self.incomplete[candidate.graph as usize] || modules.any(|scope| scope.may_lack(name)) {
            return Err(None);
        }
        let mut names: Vec<&str> = bindings.keys().map(|name| &**name).collect();
        names.extend(own.tools.iter().map(|tool| &*tool.name));
        names.extend(
            self.modules_of(candidate)
                .filter_map(|key| self.modules.get(&key))
                .flat_map(|scope| scope.tools.iter().map(|tool| &*tool.name)),
        );
        names.sort_unstable();
        Err(Some(near(name, names).map(|near| (near.name.to_owned(), near.is_only))))
    }
}

/// Returns whether a part of the `tools` of a node could not be read.
fn has_unread_tools(document: &Document, node: &NodeSyntax) -> bool {
    let Some(at) = node.keys.iter().position(|(key, _)| *key == "tools").filter(|_| document.has_errors()) else { return false };
    let end = node.keys.get(at + 1).map_or(node.span.end, |(_, next)| next.start);
    document.has_errors_in(Span { end, ..node.keys[at].1 })
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn tool(path: &FilePath, syntax: &ToolSyntax, name: &Spanned<Arc<str>>, bound: bool, schemas: &mut Schemas) -> Tool {
    Tool {
        name: Arc::clone(&name.value),
        place: Some(Place::new(path, name.span)),
        description: syntax.description.clone(),
        parameters: syntax.parameters.as_ref().and_then(|schema| schemas.get(&schema.value)),
        returns: syntax.returns.as_ref().and_then(|schema| schemas.get(&schema.value)),
        effect: syntax.effect.as_ref().map(|effect| effect.value),
        timeout: syntax.timeout.as_ref().map(|timeout| timeout.value),
        retry: syntax.retry.as_ref().map(|retry| retry.value.clone()),
        bound,
    }
}
