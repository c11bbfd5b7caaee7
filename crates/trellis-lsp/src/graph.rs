//! One graph: its texts, its last link, and the edits since.
//!
//! **Invariant:** every span that this module returns is a span of the newest text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{
    Diagnostic, Document, Program,
    compile::apply_severities,
    context_types::ContextTypes,
    diagnostic::{FilePath, Place},
    query::SymbolIndex,
    span::Span,
};
use trellis_project::{Directory, LoadError, Overlay, Project};

use crate::{
    carry::{Replaced, carry},
    linker::{GraphNumber, Job, Link, LinkJob},
    revisions::Revisions,
    sheets::{is_in_tests, is_sheet},
    text::Text,
    unhoused::UnhousedFile,
    wire::{self, Uri},
};

/// A file that a client has open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) uri: Uri,
    pub(crate) revisions: Revisions,
}

/// A graph that is served.
pub(crate) struct Graph {
    pub(crate) number: GraphNumber,
    /// The folder, or the file, as clients name it.
    pub(crate) root: PathBuf,
    overlay: Overlay,
    project: Project,
    /// True if a file must be read again.
    is_forgotten: bool,
    /// True if its sheets must be listed.
    pub(crate) lists_sheets: bool,
    /// Counts the edits.
    pub(crate) generation: u64,
    /// The generation that the linking thread works on.
    linking: Option<u64>,
    link: Option<Link>,
    types: Option<(u64, ContextTypes)>,
    pub(crate) open: BTreeMap<FilePath, OpenFile>,
    index: SymbolIndex,
    /// The generation that the index saw.
    indexed: u64,
    texts: BTreeMap<FilePath, Text>,
    /// The edits of each file that the last link has not seen, with their generations.
    since: BTreeMap<FilePath, Vec<(u64, Replaced)>>,
    /// The files that were replaced as a whole, or came or went, since the last link.
    renewed: BTreeMap<FilePath, u64>,
    /// The files to publish at the next occasion.
    pub(crate) stale: BTreeSet<FilePath>,
}

impl Graph {
    /// Loads the graph in a folder of at most so many files and folders.
    pub(crate) fn load(number: GraphNumber, root: &Path, entries: usize) -> Result<Self, LoadError> {
        let directory = Directory::new(root)?.with_entries(entries);
        let below = directory.root().to_owned();
        let overlay = Overlay::new(directory);
        let project = Project::with_loader(overlay.clone())?.below(below);
        let stale = project.documents().iter().map(|document| FilePath::clone(&document.path)).collect();
        Ok(Self {
            number,
            root: root.to_owned(),
            overlay,
            project,
            is_forgotten: false,
            lists_sheets: true,
            generation: 1,
            linking: None,
            link: None,
            types: None,
            open: BTreeMap::new(),
            index: SymbolIndex::default(),
            indexed: 0,
            texts: BTreeMap::new(),
            since: BTreeMap::new(),
            renewed: BTreeMap::new(),
            stale,
        })
    }

    /// Returns true if the folder holds a graph: a `start`, by whatever name, or a `trellis.yaml`. Nobody's README is one, also where it is alone.
    pub(crate) fn is_graph(&self) -> bool {
        if let [alone] = self.project.documents()
            && alone.path.eq_ignore_ascii_case("readme.md")
        {
            return false;
        }
        self.project.documents().iter().any(|document| marks_graph(&document.path))
            || trellis_core::compile::nodes(self.project.documents()).iter().any(|(id, _)| id.as_str() == "start")
    }

    /// Returns the path of a file below the root, as the graph names it; `None` for a file outside.
    pub(crate) fn path_of(&self, file: &Path) -> Option<FilePath> {
        if file == self.root {
            return file.file_name().map(|name| FilePath::from(name.to_string_lossy()));
        }
        path_below(&self.root, file)
    }

    /// Returns the address of a file: that of its client if it is open.
    pub(crate) fn uri(&self, path: &FilePath) -> Uri {
        self.open.get(path).map_or_else(|| crate::uri::of_path(&self.file(path)), |open| open.uri.clone())
    }

    /// Returns the open files below `_tests` that are no sheets, with the versions and texts that the client has.
    pub(crate) fn open_beside_sheets(&self) -> impl Iterator<Item = (PathBuf, (i32, Text))> {
        let beside = self.open.iter().map(|(path, open)| (path, self.file(path), open.revisions.version));
        let beside = beside.filter(|(_, file, _)| is_in_tests(file) && !is_sheet(file));
        beside.filter_map(|(path, file, version)| Some((file, (version, self.texts.get(path)?.clone()))))
    }

    /// Returns where a file lies on disk.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        if self.root.is_file() { self.root.clone() } else { path.split('/').fold(self.root.clone(), |folder, part| folder.join(part)) }
    }

    /// Returns true if the graph holds a file, or would hold it once it is saved: one that git ignores is on disk and not listed.
    pub(crate) fn would_hold(&self, path: &FilePath) -> bool {
        trellis_project::is_graph_file(path) && (self.document(path).is_some() || !self.file(path).exists())
    }

    /// Returns the newest documents, sorted by path.
    pub(crate) fn documents(&self) -> &[Arc<Document>] {
        self.project.documents()
    }

    /// Returns the newest document of a file.
    pub(crate) fn document(&self, path: &str) -> Option<&Arc<Document>> {
        let documents = self.project.documents();
        documents.binary_search_by(|document| (*document.path).cmp(path)).ok().map(|at| &documents[at])
    }

    /// Returns the index of the names in the newest texts.
    pub(crate) fn index(&mut self) -> &SymbolIndex {
        if self.indexed != self.generation {
            self.index.update(self.project.documents());
            self.indexed = self.generation;
        }
        &self.index
    }

    /// Returns the newest text of a file.
    pub(crate) fn text(&mut self, path: &FilePath) -> Option<&Text> {
        if !self.texts.contains_key(path) {
            let text = Arc::clone(&self.document(path)?.text);
            self.texts.insert(path.clone(), Text::new(text));
        }
        self.texts.get(path)
    }

    /// Gives a file another text, or takes it out.
    fn put(&mut self, path: &FilePath, text: Option<&str>) {
        let changed = self.project.edit(&[(path.clone(), text)]);
        if changed.is_empty() {
            return;
        }
        self.generation += 1;
        for path in changed {
            // A file with the same text was parsed again, in another dialect.
            let is_same = self.texts.get(&path).is_some_and(|text| self.document(&path).is_some_and(|now| *now.text == *text.as_str()));
            if !is_same {
                self.texts.remove(&path);
            }
            self.stale.insert(path);
        }
    }

    /// Opens a file with a text.
    pub(crate) fn opened(&mut self, path: &FilePath, file: OpenFile, text: &str) {
        self.overlay.put(path, Some(text));
        let is_same = self.document(path).is_some_and(|document| *document.text == *text);
        self.put(path, Some(text));
        if !is_same {
            self.since.remove(path);
            self.renewed.insert(path.clone(), self.generation);
        }
        self.texts.insert(path.clone(), Text::new(text));
        self.open.insert(path.clone(), file);
        self.stale.insert(path.clone());
    }

    /// Replaces parts of an open file, in order.
    pub(crate) fn changed(&mut self, path: &FilePath, text: Text, replaced: Vec<Replaced>) {
        self.overlay.put(path, Some(text.as_str()));
        self.put(path, Some(text.as_str()));
        // A change that comes to the same text moves nothing, and nothing is linked because of it.
        let is_same = self.texts.get(path).is_some_and(|before| before.as_str() == text.as_str());
        if !replaced.is_empty() && !is_same {
            let generation = self.generation;
            self.since.entry(path.clone()).or_default().extend(replaced.into_iter().map(|replaced| (generation, replaced)));
        }
        self.texts.insert(path.clone(), text);
        self.stale.insert(path.clone());
    }

    /// Closes a file: from now on, its text is the one on disk.
    pub(crate) fn closed(&mut self, path: &FilePath) {
        self.open.remove(path);
        self.forget(path);
        self.stale.insert(path.clone());
    }

    /// Marks a file that no client has open as stale, and the list of files: [`Graph::read`] reads them again.
    pub(crate) fn forget(&mut self, path: &FilePath) {
        if !self.open.contains_key(path) {
            self.overlay.put(path, None);
            self.is_forgotten = true;
        }
    }

    /// Marks all files that no client has open as stale.
    pub(crate) fn forget_all(&mut self) {
        for path in self.documents().iter().map(|document| FilePath::clone(&document.path)).collect::<Vec<_>>() {
            self.forget(&path);
        }
        // There may be new ones, also where each that is known is open.
        self.overlay.relist();
        self.is_forgotten = true;
    }

    /// Lists the graph and reads stale files, once for any number of marks. Returns whether anything changed.
    pub(crate) fn read(&mut self) -> bool {
        if !std::mem::take(&mut self.is_forgotten) {
            return false;
        }
        self.lists_sheets = true;
        let Some(changed) = self.project.reload().ok().filter(|changed| !changed.is_empty()) else { return false };
        self.generation += 1;
        for path in changed {
            if !self.open.contains_key(&path) {
                self.since.remove(&path);
                self.renewed.insert(path.clone(), self.generation);
                self.texts.remove(&path);
            }
            self.stale.insert(path);
        }
        true
    }

    /// Returns a job for the linking thread if there is a newer text than it has, and it has none of this graph. `unhoused` are the open files that
    /// no graph holds.
    pub(crate) fn job(&mut self, strict: bool, unhoused: &BTreeMap<PathBuf, UnhousedFile>) -> Option<Job> {
        let is_done = self.link.as_ref().is_some_and(|link| link.generation == self.generation);
        if self.linking.is_some() || is_done {
            return None;
        }
        self.linking = Some(self.generation);
        let root = match self.root.is_file() {
            true => self.root.parent().unwrap_or(&self.root).to_owned(),
            false => self.root.clone(),
        };
        let below = |(file, open): (&PathBuf, &UnhousedFile)| Some((path_below(&root, file)?, open.text.as_str().into()));
        let unsaved = unhoused.iter().filter_map(below).collect();
        let (graph, generation, snapshot) = (self.number, self.generation, self.project.snapshot());
        Some(Job::Link(Box::new(LinkJob { graph, generation, snapshot, strict, root, unsaved })))
    }

    /// Links again if the last link looked at a file beside the graph, or at the folder that holds it.
    pub(crate) fn stir(&mut self, file: &Path) {
        let (Some(path), Some(link)) = (self.path_of(file), &self.link) else { return };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.document(&path).is_none() && (link.looked.contains(&path) || link.looked.contains(folder)) {
            self.judge_again();
        }
    }

    /// Links again if an open file beside the graph has another text than the last link saw.
    pub(crate) fn stir_outdated(&mut self, unhoused: &BTreeMap<PathBuf, UnhousedFile>) {
        let is_seen = |file: &Path, open: &UnhousedFile| {
            let seen = self.path_of(file).and_then(|path| self.link.as_ref()?.unsaved.get(&path));
            seen.is_some_and(|seen| **seen == *open.text.as_str())
        };
        let outdated: Vec<&PathBuf> = unhoused.iter().filter(|(file, open)| !is_seen(file, open)).map(|(file, _)| file).collect();
        outdated.into_iter().for_each(|file| self.stir(file));
    }

    /// Returns the text beside the graph that the last link has findings about.
    pub(crate) fn beside(&self, path: &str) -> Option<&Arc<str>> {
        let link = self.link.as_ref()?;
        link.beside.iter().find(|source| *source.path == *path).map(|source| &source.text)
    }

    /// Links again, since what counts as a finding is another thing now.
    pub(crate) fn judge_again(&mut self) {
        self.generation += 1;
    }

    /// Takes a link. The files whose texts it saw are to be published.
    pub(crate) fn linked(&mut self, link: Link) {
        self.linking = None;
        let generation = link.generation;
        self.since.retain(|_, edits| {
            edits.retain(|(edited, _)| *edited > generation);
            !edits.is_empty()
        });
        self.renewed.retain(|_, renewed| *renewed > generation);
        let before = self.link.replace(link);
        let documents = self.link.iter().chain(&before).flat_map(|link| &link.diagnostics);
        let named: BTreeSet<FilePath> = documents.filter_map(|found| found.place.as_ref()).map(|place| place.path.clone()).collect();
        let open = self.open.keys().cloned();
        let all = named.into_iter().chain(open).chain(self.home());
        let seen = all.filter(|path| !self.since.contains_key(path) && !self.renewed.contains_key(path));
        self.stale.extend(seen.collect::<Vec<_>>());
    }

    /// Takes the types of a link.
    pub(crate) fn typed(&mut self, generation: u64, types: ContextTypes) {
        self.types = Some((generation, types));
    }

    /// Returns true once the graph was linked.
    pub(crate) fn has_link(&self) -> bool {
        self.link.is_some()
    }

    /// Returns true if the last link saw the newest texts.
    pub(crate) fn is_linked(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.generation == self.generation)
    }

    /// Returns the program of the last link, also one with mistakes.
    pub(crate) fn program(&self) -> Option<&Arc<Program>> {
        self.link.as_ref()?.program.as_ref()
    }

    /// Returns the types that the keys can have at each node, as some link found them.
    pub(crate) fn types(&self) -> Option<&ContextTypes> {
        self.types.as_ref().map(|(_, types)| types)
    }

    /// Returns the place in the newest text of a span of the last link; `None` where an edit touched it.
    pub(crate) fn carried(&self, path: &FilePath, span: Span) -> Option<Span> {
        if self.renewed.contains_key(path) || self.document(path).is_none() {
            return None;
        }
        let Some(edits) = self.since.get(path) else { return Some(span) };
        let edits: Vec<Replaced> = edits.iter().map(|(_, replaced)| *replaced).collect();
        carry(span, &edits)
    }

    /// Returns the file that shows findings about the whole graph: `trellis.yaml`, or else the entry, or else the first file.
    fn home(&self) -> Option<FilePath> {
        let documents = self.documents();
        let named = |stem: &str| documents.iter().find(|document| document.path.rsplit_once('.').map(|(name, _)| name) == Some(stem));
        let home = self.document("trellis.yaml").or_else(|| named("start")).or_else(|| documents.first())?;
        Some(FilePath::clone(&home.path))
    }

    /// Returns the findings of a file, in order: what its newest text says, and what the last link says of it, with all spans in the newest
    /// texts.
    pub(crate) fn findings(&self, path: &FilePath) -> Vec<Diagnostic> {
        let Some(document) = self.document(path) else {
            let link = self.link.as_ref().filter(|_| self.beside(path).is_some());
            return link.map(|link| link.of(Some(path)).to_vec()).unwrap_or_default();
        };
        let is_seen = !self.since.contains_key(path) && !self.renewed.contains_key(path);
        let mut found = Vec::new();
        if (!is_seen || self.link.is_none()) && !document.diagnostics.is_empty() {
            found.extend(document.diagnostics.iter().cloned());
            let decides = |document: &&Arc<Document>| document.path.ends_with("trellis.yaml") || document.path == *path;
            let around: Vec<_> = self.documents().iter().filter(decides).cloned().collect();
            apply_severities(&around, &mut found);
        }
        if let Some(link) = &self.link {
            let before = link.documents.binary_search_by(|document| document.path.cmp(path)).ok().map(|at| &link.documents[at]);
            let said = |finding: &Diagnostic| {
                before.is_some_and(|document| {
                    document
                        .diagnostics
                        .iter()
                        .any(|own| own.place == finding.place && own.code == finding.code && own.message == finding.message)
                })
            };
            let global = Some(link.of(None)).filter(|global| !global.is_empty() && self.home().as_ref() == Some(path));
            for finding in global.into_iter().flatten().chain(link.of(Some(path))) {
                if is_seen || !said(finding) {
                    found.extend(self.moved(finding));
                }
            }
        }
        found.sort_by(|a, b| a.order().cmp(&b.order()));
        found
    }

    /// Returns a finding of the last link with all its places in the newest texts; `None` if an edit touched where it stands. Labels that
    /// were touched are left out, and so is a fix.
    fn moved(&self, finding: &Diagnostic) -> Option<Diagnostic> {
        let place = |place: &Place| Some(Place::new(&place.path, self.carried(&place.path, place.span)?));
        let mut moved = finding.clone();
        if let Some(at) = &finding.place {
            moved.place = Some(place(at)?);
        }
        moved.labels.retain_mut(|label| place(&label.place).map(|at| label.place = at).is_some());
        if let Some(fix) = &mut moved.fix {
            let edits: Option<Vec<_>> = fix
                .edits
                .iter()
                .map(|edit| Some(trellis_core::diagnostic::TextEdit { place: place(&edit.place)?, text: edit.text.clone() }))
                .collect();
            match edits {
                Some(edits) => fix.edits = edits,
                None => moved.fix = None,
            }
        }
        Some(moved)
    }

    /// Returns the range of a place in the newest text, as its client counts.
    pub(crate) fn range(&mut self, path: &FilePath, span: Span, encoding: crate::text::Encoding) -> wire::Range {
        if self.document(path).is_none()
            && let Some(text) = self.beside(path)
        {
            return Text::new(Arc::clone(text)).range(span, encoding);
        }
        self.text(path).map(|text| text.range(span, encoding)).unwrap_or_default()
    }
}

/// Returns the path of a file below a folder.
fn path_below(folder: &Path, file: &Path) -> Option<FilePath> {
    let below = file.strip_prefix(folder).ok()?;
    let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(FilePath::from(parts.join("/")))
}

/// Returns true if a path alone makes its folder a graph.
pub(crate) fn marks_graph(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    !path.contains('/') && (path == "trellis.yaml" || (trellis_project::is_graph_file(path) && stem.eq_ignore_ascii_case("start")))
}
