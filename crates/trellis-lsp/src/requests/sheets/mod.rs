//! `trellis/tests`: the cases of a sheet, saved or not. Clients play them with `trellis test`.

pub(super) mod names;

use std::{cell::OnceCell, path::Path};

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trellis_core::Source;
use trellis_project::sheet::{Sheet, SheetError, SheetFiles, TESTS};

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

/// Reads a sheet, as its editor or the disk has it; `None` for another file.
fn read(state: &mut ServerState, file: &Path) -> Option<Result<Vec<Json>, SheetError>> {
    let text = text(state, file)?;
    let tests = file.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TESTS))?;
    let below = file.strip_prefix(tests).ok()?.display().to_string().replace('\\', "/");
    let beside = Beside { state, folder: tests.parent()?, files: OnceCell::new() };
    let parsed = Sheet::parse(file.to_owned(), text.as_str().to_owned(), &beside);
    let changes_graph = beside.files.get().is_some();
    if let Some(open) = state.sheets.get_mut(file) {
        open.changes_graph = changes_graph;
    }
    let sheet = match parsed {
        Ok(sheet) => sheet,
        Err(error) => return Some(Err(error)),
    };
    if let Some(mistake) = sheet.mistake() {
        return Some(Err(mistake));
    }
    let encoding = state.encoding();
    let case = |case: &trellis_project::sheet::Case| {
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

/// Returns the mistake because of which a sheet cannot be read, as a finding; none for a file that is not there.
pub(crate) fn findings(state: &mut ServerState, file: &Path) -> Vec<crate::wire::Diagnostic> {
    let (Some(Err(error)), Some(text)) = (read(state, file), text(state, file)) else { return Vec::new() };
    let line = text.line(error.line.saturating_sub(1)).unwrap_or_default();
    let range = text.range(trellis_core::span::Span::new(line.start, line.end), state.encoding());
    vec![crate::wire::Diagnostic {
        range,
        severity: Some(crate::wire::DiagnosticSeverity::Error),
        code: None,
        code_description: None,
        source: Some("trellis test".into()),
        message: crate::wire::Message::String(error.message),
        tags: None,
        related_information: None,
        data: None,
    }]
}
