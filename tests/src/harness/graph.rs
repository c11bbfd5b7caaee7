//! The graph of a case: its files parsed and compiled, in two orders that must agree.

use std::sync::Arc;

use trellis_core::{
    Compiled, Dialect, Document, Program, Source, compile,
    diagnostic::{Diagnostic, Fix, TextEdit, fixes},
    syntax::document::Bytes,
};
use trellis_project::{GraphLoader, Memory};

use super::diagnostics::{self, Texts};

/// A compiled graph with the texts it came from.
#[derive(Debug)]
pub struct Loaded {
    /// The result of compiling.
    pub compiled: Compiled,
    /// Texts by path.
    pub texts: Texts,
}

impl Loaded {
    /// Parses and compiles the files of a graph.
    pub fn new(files: &[Source]) -> Self {
        Self::of(&parse(files))
    }

    /// Compiles documents.
    pub fn of(documents: &[Arc<Document>]) -> Self {
        Self { compiled: compile(documents), texts: diagnostics::texts(documents) }
    }

    /// The program of a graph without errors.
    ///
    /// # Errors
    /// The diagnostics, as text.
    pub fn program(&self) -> Result<&Arc<Program>, String> {
        self.compiled.program.as_ref().ok_or_else(|| format!("the graph does not compile:\n{}", self.diagnostics()))
    }

    /// The diagnostics as a suite prints them.
    pub fn diagnostics(&self) -> String {
        diagnostics::print(&self.compiled.diagnostics, &self.texts)
    }

    /// Returns breaches of what must hold for every graph: plain messages, true spans, the same findings in any order of files, fixes that mend, no
    /// program with an error.
    pub fn flaws(&self, files: &[Source]) -> Vec<String> {
        let found = &self.compiled.diagnostics;
        let mut flaws = diagnostics::flaws(found, &self.texts);
        if self.compiled.program.is_some() == found.iter().any(Diagnostic::is_error) {
            flaws.push("there is a program exactly when there is no error".into());
        }
        if !found.is_sorted_by(|a, b| a.order() <= b.order()) {
            flaws.push("the diagnostics are not sorted".into());
        }
        let backwards: Vec<Source> = files.iter().rev().cloned().collect();
        let again = Self::new(&backwards);
        if again.diagnostics() != self.diagnostics() {
            flaws.push(format!("the files in another order give other diagnostics:\n{}", again.diagnostics()));
        }
        let fingerprint = |loaded: &Self| loaded.compiled.program.as_ref().map(|program| Arc::clone(program.fingerprint()));
        if fingerprint(&again) != fingerprint(self) {
            flaws.push("the files in another order give another fingerprint".into());
        }
        flaws.extend(found.iter().filter_map(|diagnostic| idle_fix(diagnostic, files)));
        flaws
    }
}

/// Parses the files that a loader would list, each in the dialect of the graph it belongs to.
pub fn parse(files: &[Source]) -> Vec<Arc<Document>> {
    let listed = Memory::from_iter(files.iter().map(|file| (Arc::clone(&file.path), []))).list_files().unwrap_or_default();
    let files: Vec<&Source> = files.iter().filter(|file| listed.binary_search(&file.path).is_ok()).collect();
    let projects: Vec<(String, Dialect)> = files
        .iter()
        .filter(|file| file.path.rsplit('/').next() == Some("trellis.yaml"))
        .map(|file| {
            let folder = file.path.strip_suffix("trellis.yaml").unwrap_or_default();
            let dialect = Document::parse(file, Dialect::Jinja).dialect();
            (folder.to_owned(), dialect.map_or(Dialect::Jinja, |dialect| dialect.value))
        })
        .collect();
    let dialect = |path: &str| {
        let around = projects.iter().filter(|(folder, _)| path.starts_with(&**folder));
        around.max_by_key(|(folder, _)| folder.len()).map_or(Dialect::Jinja, |(_, dialect)| *dialect)
    };
    files.into_iter().map(|file| Arc::new(Document::parse(file, dialect(&file.path)))).collect()
}

/// A complaint when the fix of a diagnostic leaves it as it was.
fn idle_fix(diagnostic: &Diagnostic, files: &[Source]) -> Option<String> {
    let fixed = apply(diagnostic.fix.as_ref()?, files);
    let same =
        |other: &&Diagnostic| other.code == diagnostic.code && other.message == diagnostic.message && other.place == diagnostic.place;
    let after = Loaded::new(&fixed);
    let still = after.compiled.diagnostics.iter().find(same)?;
    Some(format!("the fix of `{}` does not mend it", still.message))
}

/// The files after a fix.
fn apply(fix: &Fix, files: &[Source]) -> Vec<Source> {
    edit(&fix.edits.iter().collect::<Vec<_>>(), files)
}

/// The files after every change that findings offer, round by round, and how many changes were made.
pub fn mended(files: &[Source]) -> (Vec<Source>, usize) {
    let (mut files, mut made) = (files.to_vec(), 0);
    for _ in 0..ROUNDS {
        let loaded = Loaded::new(&files);
        let chosen = fixes::together(&loaded.compiled.diagnostics);
        let edits: Vec<&TextEdit> = chosen.iter().filter_map(|found| found.fix.as_ref()).flat_map(|fix| &fix.edits).collect();
        if edits.is_empty() {
            break;
        }
        made += chosen.len();
        files = edit(&edits, &files);
    }
    (files, made)
}

/// Rounds of changes after which something goes round.
const ROUNDS: usize = 50;

fn edit(edits: &[&TextEdit], files: &[Source]) -> Vec<Source> {
    let mut edited = files.to_vec();
    for file in &mut edited {
        let Bytes::Read(bytes) = &file.bytes else { continue };
        let own = edits.iter().copied().filter(|edit| edit.place.path == file.path);
        if let Some(text) = std::str::from_utf8(bytes).ok().and_then(|text| fixes::edited(text, own)) {
            file.bytes = Bytes::Read(text.into_bytes().into());
        }
    }
    edited
}
