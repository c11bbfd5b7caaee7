//! `trellis/tests`: the cases of a sheet, saved or not. Clients play them with `trellis test`.

pub(super) mod names;
pub(super) mod offers;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trellis_core::{Dialect, Document, Source, query::Symbol};
use trellis_project::sheet::{Case, PlayedGraph, Sheet, SheetError, SheetFiles, TESTS, read_inside};

use crate::{
    sheets::is_sheet,
    state::ServerState,
    text::Text,
    uri,
    wire::{Range, Uri},
};

/// The sheet that is asked about.
#[derive(Deserialize)]
pub(super) struct TestsParams {
    uri: Uri,
}

/// Returns the cases of a sheet, with the ids of `trellis test --list`; those of the last text that could be read, with `stale`, while the
/// newest one cannot.
pub(super) fn tests(state: &mut ServerState, params: &TestsParams) -> Option<Json> {
    let file = uri::to_path(&params.uri)?;
    let parsed = read(state, &file)?;
    let stale = parsed.is_err();
    let cases = match parsed {
        Ok(cases) => {
            if let Some(sheet) = state.sheets.get_mut(&file) {
                sheet.cases.clone_from(&cases);
            }
            cases
        }
        Err(_) => state.sheets.get(&file).map(|sheet| sheet.cases.clone()).unwrap_or_default(),
    };
    Some(json!({ "cases": cases, "stale": stale }))
}

/// Returns the cases of a file that is a sheet and can be read.
pub(super) fn cases(state: &mut ServerState, file: &Path) -> Option<Vec<Json>> {
    read(state, file)?.ok()
}

/// Reads the cases of a sheet, as its editor or the disk has it; `None` for another file.
fn read(state: &mut ServerState, file: &Path) -> Option<Result<Vec<Json>, SheetError>> {
    let text = text(state, file)?;
    let below = file.strip_prefix(tests_above(file)?).ok()?.display().to_string().replace('\\', "/");
    let sheet = match parsed(state, file, &text)? {
        Ok(sheet) => sheet,
        Err(error) => return Some(Err(error)),
    };
    let encoding = state.encoding();
    let case = |case: &Case| {
        let line = text.line(case.line.saturating_sub(1)).unwrap_or_default();
        let heading = text.range(trellis_core::span::Span::new(line.start, line.end), encoding);
        let end = text.range(trellis_core::span::Span::at(case.end), encoding).end;
        json!({
            "id": format!("{below} › {}", case.title), "title": case.title, "range": heading,
            "whole": Range { start: heading.start, end },
        })
    };
    Some(Ok(sheet.cases.iter().map(case).collect()))
}

/// The folder of sheets that a file lies in.
fn tests_above(file: &Path) -> Option<&Path> {
    file.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TESTS))
}

/// Parses a sheet, by the graph as it is now.
fn parsed(state: &mut ServerState, file: &Path, text: &Text) -> Option<Result<Sheet, SheetError>> {
    let folder = tests_above(file)?.parent()?;
    let beside = Beside { state, folder, files: OnceCell::new() };
    let parsed = Sheet::parse(file.to_owned(), text.as_str().to_owned(), &beside);
    let needs_graph = beside.files.get().is_some() || text.as_str().lines().any(|line| line.starts_with("$ at ") || line.starts_with('@'));
    if let Some(open) = state.sheets.get_mut(file) {
        open.needs_graph = needs_graph;
    }
    Some(parsed.and_then(|sheet| sheet.mistake().map_or(Ok(sheet), Err)))
}

/// The text of a sheet, as its editor or the disk has it; `None` for another file, and one that is not there.
fn text(state: &ServerState, file: &Path) -> Option<Text> {
    if !is_sheet(file) {
        return None;
    }
    match state.sheets.get(file) {
        Some(sheet) => Some(sheet.text.clone()),
        None => Some(Text::new(std::fs::read_to_string(file).ok()?)),
    }
}

/// The newest texts of the graph in a folder.
fn newest(state: &ServerState, folder: &Path) -> Vec<Source> {
    let graph = state.workspace.graphs.iter().find(|graph| folder.starts_with(&graph.root));
    let Some((graph, below)) = graph.and_then(|graph| Some((graph, folder.strip_prefix(&graph.root).ok()?))) else { return Vec::new() };
    let below = below.display().to_string().replace('\\', "/");
    let within = |path: &str| match below.as_str() {
        "" => Some(path.to_owned()),
        below => path.strip_prefix(below)?.strip_prefix('/').map(str::to_owned),
    };
    graph.documents().iter().filter_map(|document| Some(Source::text(within(&document.path)?, &document.text))).collect()
}

/// The graph beside a sheet, read if a case changes it.
struct Beside<'s> {
    state: &'s ServerState,
    folder: &'s Path,
    files: OnceCell<Vec<Source>>,
}

impl SheetFiles for Beside<'_> {
    fn beside(&self) -> &[Source] {
        self.files.get_or_init(|| newest(self.state, self.folder))
    }

    fn folder(&self, path: &str) -> Result<Vec<Source>, String> {
        Err(format!("`{path}` is not read: a sheet is about the graph beside it"))
    }
}

/// The graph beside a sheet, as far as its lines name parts of it.
struct NamedGraph {
    nodes: BTreeSet<String>,
    /// `None` if they are not known: those of a graph that a case changes.
    predicates: Option<BTreeSet<String>>,
    /// The folder of the graph, and that of the sheet.
    folders: (PathBuf, PathBuf),
    /// The files beside the sheet that are open.
    open: BTreeMap<PathBuf, String>,
}

impl NamedGraph {
    /// The graph in a folder, with its sheet.
    fn of(state: &mut ServerState, folder: &Path, file: &Path) -> Option<Self> {
        let (at, _) = state.workspace.above(&folder.join("start.md"))?;
        let graph = &mut state.workspace.graphs[at];
        let open = graph.open_beside_sheets().map(|(file, (_, text))| (file, text.as_str().to_owned())).collect();
        let below = folder.strip_prefix(&graph.root).ok()?.display().to_string().replace('\\', "/");
        let inside = |id: &str| match below.as_str() {
            "" => Some(id.to_owned()),
            below => Some(id.strip_prefix(below)?.strip_prefix('/')?.to_owned()),
        };
        let nodes = graph.index().nodes().iter().filter_map(|node| inside(node.id.as_str())).collect();
        let predicate = |symbol: &Symbol| if let Symbol::Predicate(_, name) = symbol { Some(name.to_string()) } else { None };
        let predicates = Some(graph.index().symbols().iter().filter_map(predicate).collect());
        Some(Self { nodes, predicates, folders: (folder.to_owned(), file.parent()?.to_owned()), open })
    }

    /// The same with the files of a case.
    fn changed(&self, files: &[Source]) -> Self {
        let documents: Vec<_> = files.iter().map(|file| Arc::new(Document::parse(file, Dialect::default()))).collect();
        let nodes = trellis_core::compile::nodes(&documents).into_iter().map(|(id, _)| id.to_string()).collect();
        Self { nodes, predicates: None, folders: self.folders.clone(), open: self.open.clone() }
    }
}

impl PlayedGraph for NamedGraph {
    fn has_node(&self, id: &str) -> bool {
        self.nodes.contains(id)
    }

    fn has_predicate(&self, name: &str) -> bool {
        self.predicates.as_ref().is_none_or(|predicates| predicates.contains(name))
    }

    fn read_beside(&self, path: &str) -> Result<String, String> {
        let file = self.folders.1.join(path);
        self.open.get(&file).cloned().map_or_else(|| read_inside(&self.folders.0, &file), Ok)
    }
}

/// Returns the mistakes of a sheet: that because of which it cannot be read, or those of its lines; none for a file that is not there.
fn mistakes(state: &mut ServerState, file: &Path, text: &Text) -> Option<Vec<SheetError>> {
    let sheet = match parsed(state, file, text)? {
        Ok(sheet) => sheet,
        Err(error) => return Some(vec![error]),
    };
    let graph = NamedGraph::of(state, tests_above(file)?.parent()?, file)?;
    let of_case = |case: &Case| match case.changes_graph {
        true => sheet.slips(case, &graph.changed(&case.files)),
        false => sheet.slips(case, &graph),
    };
    let mut found: Vec<SheetError> = sheet.cases.iter().flat_map(of_case).collect();
    // Inherited doubles are those of several cases.
    found.sort_by(|one, other| (one.line, &one.message).cmp(&(other.line, &other.message)));
    found.dedup();
    Some(found)
}

/// Returns the mistakes of a sheet as findings.
pub(crate) fn findings(state: &mut ServerState, file: &Path) -> Vec<crate::wire::Diagnostic> {
    let Some(text) = text(state, file) else { return Vec::new() };
    let found = mistakes(state, file, &text).unwrap_or_default();
    let encoding = state.encoding();
    let finding = |error: SheetError| {
        let line = text.line(error.line.saturating_sub(1)).unwrap_or_default();
        crate::wire::Diagnostic {
            range: text.range(trellis_core::span::Span::new(line.start, line.end), encoding),
            severity: Some(crate::wire::DiagnosticSeverity::Error),
            code: None,
            code_description: None,
            source: Some("trellis test".into()),
            message: crate::wire::Message::String(error.message),
            tags: None,
            related_information: None,
            data: None,
        }
    };
    found.into_iter().map(finding).collect()
}
