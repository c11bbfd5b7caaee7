//! The suites at a path, and the cases that filters choose.

use std::{collections::BTreeSet, path::Path};

use anyhow::{anyhow, bail};
use trellis_project::sheet::{Case as SheetCase, Sheet};
use trellis_trial::Suite;

use super::Test;
use crate::{
    open::{self, Place},
    report::printable,
    terminal,
};

/// A suite that is tested.
pub(super) struct Tested {
    /// The prefix of its paths: its folder below the path that is tested.
    pub(super) prefix: String,
    /// The folder of a graph inside another one; empty for a graph of its own.
    pub(super) root: String,
    pub(super) suite: Suite,
    /// The ids of the only cases that are played, if not all of them are.
    pub(super) only: Option<BTreeSet<String>>,
}

impl Tested {
    /// Leaves out all cases but these, by the ids that they are reported with. A double that no case used stands for its whole sheet.
    pub(super) fn restrict(&mut self, reported: &BTreeSet<String>) {
        let Self { prefix, suite, .. } = &*self;
        let is_named = |(sheet, case): &(&Sheet, &SheetCase)| {
            reported.contains(&format!("{prefix}{}", suite.id(sheet, case)))
                || reported.contains(&unused_id(&shown(prefix, suite, &sheet.path)))
        };
        self.only = Some(suite.chosen(&[]).into_iter().filter(is_named).map(|(sheet, case)| suite.id(sheet, case)).collect());
    }

    /// Returns the cases that filters choose: parts of their ids, or whole ids as they are reported.
    pub(super) fn chosen(&self, filters: &[String], are_exact: bool) -> Vec<(&Sheet, &SheetCase)> {
        let Self { prefix, suite, only, .. } = self;
        let mut chosen = suite.chosen(if are_exact { &[] } else { filters });
        chosen.retain(|(sheet, case)| {
            let id = suite.id(sheet, case);
            let is_named = !are_exact || filters.iter().any(|filter| *filter == format!("{prefix}{id}"));
            is_named && only.as_ref().is_none_or(|only| only.contains(&id))
        });
        chosen
    }
}

/// The id with which the unused doubles of a sheet are reported.
pub(super) fn unused_id(sheet: &str) -> String {
    format!("{sheet} › unused double")
}

/// Refuses to play nothing.
///
/// # Errors
/// There is no case, or none for a filter.
pub(super) fn expect_cases(test: &Test, suites: &[Tested]) -> anyhow::Result<()> {
    let errors = suites.iter().flat_map(|tested| tested.suite.errors.iter().map(|error| (&*tested.prefix, &tested.suite, error)));
    let errors: Vec<_> = errors.collect();
    if errors.is_empty() && suites.iter().all(|tested| tested.suite.chosen(&[]).is_empty()) {
        let empty = suites.iter().find_map(|tested| Some(shown(&tested.prefix, &tested.suite, &tested.suite.sheets.first()?.path)));
        match empty {
            Some(sheet) => bail!(
                "the sheet `{}` has no case\na case is a heading `# TITLE` with a block `transcript` below it, which begins with ```transcript",
                printable(&sheet)
            ),
            None => bail!("there are no tests\nwrite a sheet `_tests/NAME.md` in the folder of the graph; `trellis test --help` says more"),
        }
    }
    for filter in &test.filters {
        if suites.iter().all(|tested| tested.chosen(std::slice::from_ref(filter), test.exact).is_empty()) {
            // The case may be one of a sheet that cannot be read.
            for (prefix, suite, error) in &errors {
                let (sheet, message) = (shown(prefix, suite, &error.path), &error.message);
                terminal::print_error(&format!("{}: {}\n", printable(&format!("{sheet}:{}", error.line)), printable(message)));
            }
            let filter = printable(filter);
            if test.exact {
                bail!("no case is named `{filter}`\n`trellis test --list` shows them");
            }
            bail!("no case has `{filter}` in its sheet, heading or title\n`trellis test --list` shows them");
        }
    }
    Ok(())
}

/// The suites of all graphs at a path; graphs inside others are played along.
pub(super) fn suites(path: Option<&Path>) -> anyhow::Result<Vec<Tested>> {
    if let Some(sheet) = path.filter(|path| path.is_file() && is_sheet(path)) {
        let graph = sheet.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "_tests")).and_then(Path::parent);
        let graph = graph.or(sheet.parent()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut suite = Suite::open(graph)?;
        suite.read(sheet.to_owned());
        suite.sheets.retain(|known| known.path == sheet);
        suite.errors.retain(|error| error.path == sheet);
        return Ok(vec![Tested { prefix: String::new(), root: String::new(), suite, only: None }]);
    }
    let mut suites: Vec<Tested> = Vec::new();
    for Place { path, below } in places(path)? {
        let suite = Suite::open(&path)?;
        let inner: Vec<String> = match &suite.compiled.program {
            Some(program) => program.graphs().iter().map(|graph| graph.root.to_string()).filter(|root| !root.is_empty()).collect(),
            None => Vec::new(),
        };
        let outer = suites.len();
        suites.push(Tested { prefix: below.clone(), root: String::new(), suite, only: None });
        for root in inner {
            let suite = Suite::open(&path.join(&root))?.inside(&suites[outer].suite, &root);
            suites.push(Tested { prefix: format!("{below}{root}/"), root, suite, only: None });
        }
    }
    Ok(suites)
}

/// The graphs at a path. Where there is none, the path may be meant as a FILTER.
fn places(path: Option<&Path>) -> anyhow::Result<Vec<Place>> {
    let is_word = path.is_some_and(|path| !path.exists() && path.components().count() == 1);
    open::places(path).map_err(|error| match path.filter(|_| is_word) {
        Some(word) => anyhow!("{error}\na FILTER stands behind a PATH: `trellis test . {}`", printable(&word.to_string_lossy())),
        None => error,
    })
}

/// Returns whether a named file is a sheet, not a graph of one file.
fn is_sheet(path: &Path) -> bool {
    let in_tests = path.components().any(|part| part.as_os_str() == "_tests");
    in_tests && path.extension().is_some_and(|extension| extension == "md")
}

/// The path of a sheet below the path that is tested.
pub(super) fn shown(prefix: &str, suite: &Suite, path: &Path) -> String {
    let below = path.strip_prefix(suite.root()).unwrap_or(path);
    format!("{prefix}{}", below.display().to_string().replace('\\', "/"))
}
