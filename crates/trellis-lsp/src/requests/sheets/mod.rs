//! `trellis/tests`: the cases of a sheet, saved or not. Clients play them with `trellis test`.

pub(super) mod names;

use std::path::Path;

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

/// Reads a sheet, as its editor has it; `None` for another file.
pub(crate) fn read(state: &mut ServerState, file: &Path) -> Option<Result<Vec<Json>, SheetError>> {
    if !is_sheet(file) {
        return None;
    }
    let text = match state.sheets.get(file) {
        Some(sheet) => sheet.text.clone(),
        None => Text::new(std::fs::read_to_string(file).ok()?),
    };
    let tests = file.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TESTS))?;
    let below = file.strip_prefix(tests).ok()?.display().to_string().replace('\\', "/");
    let beside = beside(state, tests.parent()?);
    let encoding = state.encoding();
    let sheet = match Sheet::parse(file.to_owned(), text.as_str().to_owned(), &Beside(beside)) {
        Ok(sheet) => sheet,
        Err(error) => return Some(Err(error)),
    };
    if let Some(mistake) = sheet.mistake() {
        return Some(Err(mistake));
    }
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

/// Returns the newest texts of the graph in a folder.
fn beside(state: &ServerState, folder: &Path) -> Vec<Source> {
    let graph = state.workspace.graphs.iter().find(|graph| folder.starts_with(&graph.root));
    let Some((graph, below)) = graph.and_then(|graph| Some((graph, folder.strip_prefix(&graph.root).ok()?))) else { return Vec::new() };
    let below = below.display().to_string().replace('\\', "/");
    let within = |path: &str| match below.as_str() {
        "" => Some(path.to_owned()),
        below => path.strip_prefix(below)?.strip_prefix('/').map(str::to_owned),
    };
    graph.documents().iter().filter_map(|document| Some(Source::text(within(&document.path)?, &document.text))).collect()
}

/// The graph beside a sheet.
struct Beside(Vec<Source>);

impl SheetFiles for Beside {
    fn beside(&self) -> &[Source] {
        &self.0
    }

    fn folder(&self, path: &str) -> Result<Vec<Source>, String> {
        Err(format!("`{path}` is not read: a sheet is about the graph beside it"))
    }
}

/// Returns the mistake because of which a sheet cannot be read, as a finding; `None` for a file that is no sheet.
pub(crate) fn findings(state: &mut ServerState, file: &Path) -> Option<Vec<crate::wire::Diagnostic>> {
    let encoding = state.encoding();
    let Err(error) = read(state, file)? else { return Some(Vec::new()) };
    let text = state.sheets.get(file)?.text.clone();
    let line = text.line(error.line.saturating_sub(1)).unwrap_or_default();
    let range = text.range(trellis_core::span::Span::new(line.start, line.end), encoding);
    Some(vec![crate::wire::Diagnostic {
        range,
        severity: Some(crate::wire::DiagnosticSeverity::Error),
        code: None,
        code_description: None,
        source: Some("trellis test".into()),
        message: crate::wire::Message::String(error.message),
        tags: None,
        related_information: None,
        data: None,
    }])
}
