//! Output of `check --watch`: a page that is redrawn, a report below the last one, or a line of JSON.

use std::{
    io::{IsTerminal, stdout},
    time::{Duration, SystemTime},
};

use anstyle::AnsiColor;

use super::millis;
use crate::{
    report::{self, Checked, Summary, counted, printable},
    terminal::{self, QUIET, Width, clock_time},
};

/// Files that were saved and are named.
const MAX_NAMED_SAVES: usize = 3;
/// To the top, and nothing below.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J";

/// The place where reports go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportOutput {
    /// A terminal: the newest report alone.
    Page,
    /// A pipe or a file: one report after another.
    Reports,
    /// A pipe: one JSON object a line.
    Json,
}

/// The content of one report.
pub(super) struct Report<'r> {
    pub(super) graphs: &'r [Checked],
    /// The files that were saved since the last one; none the first time.
    pub(super) changed: &'r [String],
    /// The files that could not be read, and why.
    pub(super) problems: &'r [String],
    /// True if errors were found the last time, and none now.
    pub(super) healed: bool,
    pub(super) took: Duration,
    /// True if it is the first.
    pub(super) first: bool,
}

impl ReportOutput {
    /// Returns the form that suits standard output.
    pub(crate) fn here() -> Self {
        if stdout().is_terminal() { Self::Page } else { Self::Reports }
    }

    /// The text of a report.
    pub(super) fn text(self, report: &Report<'_>) -> String {
        match self {
            Self::Json => report::json_line(report.graphs, report.changed, report.problems),
            Self::Reports => format!("{}{}\n", findings(report), summary(report)),
            Self::Page => page(report, &clock_time(millis(SystemTime::now())), terminal::size()),
        }
    }
}

fn findings(report: &Report<'_>) -> String {
    let problem = |problem: &String| format!("{}\n", report::trouble(problem));
    report.problems.iter().map(problem).collect::<String>() + &report::human(report.graphs, Width::of(&stdout()))
}

fn summary(report: &Report<'_>) -> String {
    let numbers = Summary::of(report.graphs).line();
    match (report.problems, report.healed) {
        ([], true) => format!("healed: {numbers}"),
        ([], false) => numbers,
        (_, _) if report.graphs.is_empty() => "nothing to check; waiting for it to come back".to_owned(),
        _ => format!("{numbers}; some files could not be read"),
    }
}

/// Renders a screen: the first findings, as many as fit, and a summary below.
fn page(report: &Report<'_>, time: &str, (columns, rows): (usize, usize)) -> String {
    let style = match () {
        () if !report.problems.is_empty() || Summary::of(report.graphs).errors > 0 => AnsiColor::Red.on_default().bold(),
        () if Summary::of(report.graphs).warnings > 0 => AnsiColor::Yellow.on_default().bold(),
        () => AnsiColor::Green.on_default().bold(),
    };
    let took = report.took.as_millis();
    let below = format!(
        "{style}{}{style:#} ({took} ms)\n{QUIET}{time}{}; watching, Ctrl-C ends it{QUIET:#}\n",
        summary(report),
        saved(report.changed)
    );
    // Earlier contents of the screen stay in the scrollback.
    let above = if report.first { "\n".repeat(rows.saturating_sub(1)) } else { String::new() };
    let (shown, hidden) = first_of(&findings(report), columns, rows.saturating_sub(4));
    let more = if hidden > 0 { format!("{QUIET}… and {} more{QUIET:#}\n\n", hidden) } else { String::new() };
    format!("{above}{CLEAR_SCREEN}{shown}{more}{below}")
}

/// ` start.md saved`, ` start.md, bye.md and 4 more saved`.
fn saved(changed: &[String]) -> String {
    let named = changed.iter().take(MAX_NAMED_SAVES).map(|path| printable(path)).collect::<Vec<_>>().join(", ");
    match changed.len().saturating_sub(MAX_NAMED_SAVES) {
        _ if changed.is_empty() => String::new(),
        0 => format!(" {named} changed"),
        more => format!(" {named} and {} changed", counted(more, "other file")),
    }
}

/// The findings that fit into so many rows, at least one, and how many do not.
fn first_of(findings: &str, columns: usize, rows: usize) -> (String, usize) {
    let all = findings.split_inclusive("\n\n").collect::<Vec<_>>();
    let mut used = 0;
    let fitting = all.iter().take_while(|finding| {
        used += rows_of(finding, columns);
        used <= rows
    });
    let count = fitting.count().max(1).min(all.len());
    (all[..count].concat(), all.len() - count)
}

/// Returns the number of rows of a text whose long lines wrap.
fn rows_of(text: &str, columns: usize) -> usize {
    let width = |line: &str| report::display_width(&anstream::adapter::strip_str(line).to_string());
    text.lines().map(|line| width(line).div_ceil(columns.max(1)).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_whole_findings_from_the_first_and_counts_the_rest() {
        let findings = "error: a\n 1 | x\n\nerror: b\n 2 | y\n\nerror: c\n 3 | z\n\n";
        assert_eq!(first_of(findings, 80, 9), (findings.to_owned(), 0));
        assert_eq!(first_of(findings, 80, 8), ("error: a\n 1 | x\n\nerror: b\n 2 | y\n\n".to_owned(), 1));
        assert_eq!(first_of(findings, 80, 0), ("error: a\n 1 | x\n\n".to_owned(), 2), "one is always shown");
        assert_eq!(first_of(findings, 4, 8), ("error: a\n 1 | x\n\n".to_owned(), 2), "long lines take more rows");
        assert_eq!(first_of("", 80, 8), (String::new(), 0));
    }

    #[test]
    fn a_page_says_what_is_gone_and_that_it_waits() {
        let problems = ["there is no `x\u{1b}[2J`".to_owned()];
        let report = Report { graphs: &[], changed: &[], problems: &problems, healed: false, took: Duration::from_millis(3), first: true };
        let page = page(&report, "14:02:10", (80, 24));
        let (above, page) = page.split_once(CLEAR_SCREEN).unwrap();
        assert_eq!(above, "\n".repeat(23), "what stood on the screen is moved up, not wiped out");
        let expected = "error: there is no `x\u{fffd}[2J`\n\nnothing to check; waiting for it to come back (3 ms)\n14:02:10; watching, Ctrl-C ends it\n";
        assert_eq!(anstream::adapter::strip_str(page).to_string(), expected);
    }

    #[test]
    fn saved_files_are_named_while_they_are_few() {
        let files = ["a.md", "b.md", "c.md", "d.md", "e.md"].map(str::to_owned);
        assert_eq!(saved(&files[..0]), "");
        assert_eq!(saved(&files[..1]), " a.md changed");
        assert_eq!(saved(&files), " a.md, b.md, c.md and 2 other files changed");
    }
}
