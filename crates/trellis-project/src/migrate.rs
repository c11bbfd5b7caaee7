//! Migrating a graph of Go Trellis: everything happens in memory, and comes out as files with their reasons.
//!
//! ```text
//! loader ─▶ forms, again while they change something ─▶ dialect ─▶ tools that nothing declares ─▶ Migration
//!                     ▲                                                      │
//!                     └────────────────── while something changes ───────────┘
//! ```
//!
//! Each round makes an edit that it never has to make again (a key renamed, a tool declared), so the rounds end; `MAX_PASSES` bounds them all the
//! same.
//!
//! **Invariant:** nothing is edited where some file cannot be read; a migrated graph is migrated to itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use trellis_core::{
    Code, Compiled, Diagnostic, Dialect, Document, Mapping, Value,
    diagnostic::FilePath,
    span::LineColumn,
    syntax::{
        document::Content,
        migrate::{self as core, Change, Commands, DialectChange, GraphNames, LeftToDecide, Migrated, Settings, located, place_before},
    },
};

use crate::{
    GraphLoader, LoadError, Project,
    loader::folder,
    overlay::{Edited, Overlay},
    project::PROJECT_FILE,
};

/// Rounds after which it is enough.
const MAX_PASSES: usize = 20;

/// A graph after its migration.
#[derive(Debug)]
pub struct Migration {
    /// The files that change, sorted by path.
    pub files: Vec<Edited>,
    /// The changes in them, with their reasons, by place.
    pub done: Vec<Done>,
    /// The open decisions, beside the findings of `compiled`.
    pub left: Vec<Undecided>,
    /// The graph as it is then.
    pub project: Project,
    /// The findings of the compiler about it.
    pub compiled: Compiled,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The file.
    pub path: FilePath,
    /// The place in the text that the file had; `None` for a new file.
    pub at: Option<LineColumn>,
    /// The change, and its reason.
    pub what: String,
}

/// One thing that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The file.
    pub path: FilePath,
    /// The place in the text that the file has then.
    pub at: LineColumn,
    /// The reason why nothing is done.
    pub why: String,
    /// The remedy.
    pub help: String,
}

/// Migrates the graph that `loader` holds; `to` is the dialect its templates are to have, by default the one they are written in. Nothing is written.
///
/// # Errors
/// The graph cannot be listed. Files that cannot be read are [`Project::problems`] of the result, and then nothing is edited.
pub fn migrate(loader: impl GraphLoader + 'static, root: Option<PathBuf>, to: Option<Dialect>) -> Result<Migration, LoadError> {
    let overlay = Overlay::new(loader);
    let project = Project::with_loader(overlay.clone())?;
    let project = root.into_iter().fold(project, Project::below);
    let compiled = project.compile();
    let mut run = Run {
        overlay,
        project,
        compiled,
        to,
        past: BTreeMap::new(),
        done: Vec::new(),
        left: Vec::new(),
        declared: BTreeSet::new(),
        made: BTreeSet::new(),
        is_go: false,
    };
    if run.project.problems().is_empty() {
        for _ in 0..MAX_PASSES {
            if !run.round()? {
                break;
            }
        }
    }
    run.done.sort_by(|one, other| (&one.path, one.at.map(position)).cmp(&(&other.path, other.at.map(position))));
    run.left.sort_by(|one, other| (&one.path, position(one.at)).cmp(&(&other.path, position(other.at))));
    run.left.dedup();
    Ok(Migration { files: run.overlay.edited(), done: run.done, left: run.left, project: run.project, compiled: run.compiled })
}

fn position(at: LineColumn) -> (usize, usize) {
    (at.line, at.column)
}

struct Run {
    overlay: Overlay,
    project: Project,
    compiled: Compiled,
    to: Option<Dialect>,
    /// The changes of each file, round by round: places refer to the original file.
    past: BTreeMap<FilePath, Vec<Past>>,
    done: Vec<Done>,
    left: Vec<Undecided>,
    /// Tools that were declared: another one whose name is near is no slip.
    declared: BTreeSet<String>,
    /// Files that are new.
    made: BTreeSet<FilePath>,
    /// True if something showed that the graph is one of Go Trellis.
    is_go: bool,
}

/// One round's changes of a file, and the text that they were made in.
struct Past {
    text: Arc<str>,
    changes: Vec<Change>,
}

/// The place of a folder's settings: a project file, which may have to be made, or a file of `nodes:`.
type Place = FilePath;

impl Run {
    /// Applies all changes that are possible at once; returns whether there were any.
    fn round(&mut self) -> Result<bool, LoadError> {
        self.left.clear();
        let documents = self.project.documents().to_vec();
        self.is_go |= documents.iter().any(|document| core::has_go(document) && self.dialect_of(document) != Dialect::Go);
        let names = GraphNames::of(&documents, self.is_go);
        let mut settings: BTreeMap<Place, Settings> = BTreeMap::new();
        let mut commands: BTreeMap<Option<Place>, Commands> = BTreeMap::new();
        for (place, tool) in self.unknown() {
            commands.entry(place).or_default().unknown.insert(tool);
        }
        let mut changed = false;
        for document in &documents {
            let place = self.place(document);
            // A single page has no project file that could bind anything.
            let of_place = commands.entry(place.clone()).or_default();
            if place.is_none() {
                of_place.unknown.clear();
            }
            let migrated = core::forms(document, &names, of_place);
            changed |= self.take(document, migrated);
        }
        for (place, commands) in commands {
            if let Some(place) = place.filter(|_| !commands.bound.is_empty()) {
                settings.entry(place).or_default().bindings = commands.bound;
            }
        }
        changed |= self.settle(&settings);
        if changed {
            // The following steps read the files as they are now.
            self.is_go = true;
            self.again()?;
            return Ok(true);
        }
        if self.dialects(&documents) || self.declare() {
            self.is_go = true;
            self.again()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn again(&mut self) -> Result<(), LoadError> {
        self.project.reload()?;
        self.compiled = self.project.compile();
        Ok(())
    }

    /// Makes the changes of one file, unless it could not be read after them; returns whether there were any.
    fn take(&mut self, document: &Document, migrated: Migrated) -> bool {
        let text = &document.text;
        self.left.extend(migrated.left.iter().map(|left| undecided(document, left)));
        let after = migrated.applied(text).filter(|after| **after != **text);
        let Some(after) = after.filter(|_| !migrated.changes.is_empty()) else { return false };
        self.record(&document.path, text, migrated.changes, &after);
        true
    }

    fn record(&mut self, path: &FilePath, text: &Arc<str>, changes: Vec<Change>, after: &str) {
        let is_old = !self.made.contains(path);
        let past = self.past.entry(path.clone()).or_default();
        for change in &changes {
            let at = past.iter().rev().fold(change.at.start, |at, past| place_before(&past.changes, at));
            let original = past.first().map_or(text, |past| &past.text);
            self.done.push(Done { path: path.clone(), at: is_old.then(|| located(original, at)), what: change.what.clone() });
        }
        past.push(Past { text: Arc::clone(text), changes });
        self.overlay.put(path, Some(after));
    }

    /// Writes settings into their files; returns whether that changed anything.
    fn settle(&mut self, settings: &BTreeMap<Place, Settings>) -> bool {
        let mut changed = false;
        for (place, wanted) in settings.iter().filter(|(_, wanted)| !wanted.is_empty()) {
            let Some(document) = self.project.documents().iter().find(|document| document.path == *place).cloned() else {
                let file = wanted.file();
                self.done.extend(wanted.reasons().into_iter().map(|what| Done { path: place.clone(), at: None, what }));
                self.made.insert(place.clone());
                self.overlay.put(place, Some(&file));
                changed = true;
                continue;
            };
            match core::settings(place, &document.text, wanted) {
                Some(changes) => {
                    let migrated = Migrated { changes, left: Vec::new() };
                    changed |= self.take(&document, migrated);
                }
                None => {
                    let at = located(&document.text, 0);
                    let help = wanted.file().trim_end().replace('\n', ", ");
                    let why = "the project file is written in a way that cannot be edited safely".to_owned();
                    self.left.push(Undecided { path: place.clone(), at, why, help: format!("add what follows: {help}") });
                }
            }
        }
        changed
    }

    /// Sets or converts the dialects; returns whether that changed anything.
    fn dialects(&mut self, documents: &[Arc<Document>]) -> bool {
        let mut groups: BTreeMap<Option<Place>, Vec<&Arc<Document>>> = BTreeMap::new();
        for document in documents {
            groups.entry(self.place(document)).or_default().push(document);
        }
        let mut changed = false;
        for (place, files) in groups {
            let named = self.named(place.as_ref());
            let has_go = named.is_none_or(|named| named == Dialect::Jinja) && files.iter().any(|file| core::has_go(file));
            let from = named.unwrap_or_default();
            let to = match self.to {
                // A single page names no dialect: its templates are Jinja.
                _ if place.is_none() && (has_go || self.to.is_some()) => Dialect::Jinja,
                Some(to) => to,
                None if has_go => Dialect::Go,
                None => continue,
            };
            if to == from && !has_go {
                continue;
            }
            let target = DialectChange { from, to };
            let converted: Vec<Migrated> = files.iter().map(|file| core::dialect(file, target)).collect();
            // A graph has one dialect: it is converted whole, or not at all.
            let is_whole = converted.iter().all(|file| file.left.is_empty());
            let set = match is_whole {
                true => (from != to).then_some(to),
                // A text in Go's dialect has to be read so; the rest is reported.
                false => (has_go && place.is_some()).then_some(Dialect::Go),
            };
            for (file, migrated) in files.iter().zip(converted) {
                match is_whole {
                    true => changed |= self.take(file, migrated),
                    false if to == Dialect::Go && self.to.is_none() => {
                        changed |= self.take(file, Migrated { changes: migrated.changes, left: Vec::new() });
                    }
                    false => self.left.extend(migrated.left.iter().map(|left| undecided(file, left))),
                }
            }
            if let (Some(place), Some(dialect)) = (place, set.filter(|set| named != Some(*set))) {
                let wanted = Settings { templates: Some(dialect), ..Settings::default() };
                changed |= self.settle(&BTreeMap::from([(place, wanted)]));
            }
        }
        changed
    }

    /// Declares the tools that nothing declares, and that are no slip of the pen; returns whether there were any.
    fn declare(&mut self) -> bool {
        let mut settings: BTreeMap<Place, Settings> = BTreeMap::new();
        for (place, tool) in self.unknown() {
            if let Some(place) = place {
                settings.entry(place).or_default().bindings.insert(tool, Value::Map(Mapping::new()));
            }
        }
        self.declared.extend(settings.values().flat_map(|settings| settings.bindings.keys().cloned()));
        self.settle(&settings)
    }

    /// The unknown tools, and where each would be declared.
    fn unknown(&self) -> Vec<(Option<Place>, String)> {
        let documents = self.project.documents();
        let found = self.compiled.diagnostics.iter().filter(|found| found.code == Code::UnknownTool);
        let tool = |found: &Diagnostic| {
            let place = found.place.as_ref()?;
            let document = documents.iter().find(|document| document.path == place.path)?;
            let tool = document.text.get(place.span.range())?.trim();
            let is_name =
                !tool.is_empty() && tool.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '/' | ':'));
            // `did you mean …?`
            let near = found.help.as_deref().and_then(|help| help.strip_prefix("did you mean `")?.split('`').next());
            let is_slip = near.is_some_and(|near| !self.declared.contains(near));
            let is_called = !matches!(document.content, Content::Project(_));
            (is_name && !is_slip && is_called).then(|| (self.place(document), tool.to_owned()))
        };
        found.filter_map(tool).collect()
    }

    /// Returns the place of the settings of a file's graph; `None` for a single page.
    fn place(&self, document: &Document) -> Option<Place> {
        match &document.content {
            Content::Nodes(_, project) if self.is_file() || project.templates.is_some() => return Some(document.path.clone()),
            _ if self.is_file() => return None,
            _ => {}
        }
        let mut here = folder(&document.path);
        while !here.is_empty() {
            let path = format!("{here}/{PROJECT_FILE}");
            if self.project.documents().iter().any(|document| *document.path == *path) {
                return Some(path.into());
            }
            here = folder(here);
        }
        Some(PROJECT_FILE.into())
    }

    fn is_file(&self) -> bool {
        GraphLoader::is_file(&self.overlay)
    }

    /// The dialect that a place names.
    fn named(&self, place: Option<&Place>) -> Option<Dialect> {
        let document = self.project.documents().iter().find(|document| Some(&document.path) == place)?;
        document.dialect().map(|named| named.value)
    }

    fn dialect_of(&self, document: &Document) -> Dialect {
        self.named(self.place(document).as_ref()).unwrap_or_default()
    }
}

fn undecided(document: &Document, left: &LeftToDecide) -> Undecided {
    let at = located(&document.text, left.at.start);
    Undecided { path: document.path.clone(), at, why: left.why.clone(), help: left.help.clone() }
}
