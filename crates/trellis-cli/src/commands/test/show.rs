//! Test results in a form for people.

use std::{collections::BTreeMap, fmt::Write as _};

use anstyle::{AnsiColor, Style};
use trellis_trial::wire::{Case, Coverage, Difference, Item, Outcome, Summary};

use crate::report::{counted, display_width, printable};

/// One case; of one that failed the first difference.
pub(super) fn case(case: &Case) -> String {
    let (word, style) = match case.outcome {
        Outcome::Passed => ("ok", AnsiColor::Green.on_default()),
        Outcome::Failed => ("FAILED", AnsiColor::Red.on_default().bold()),
        Outcome::Updated => ("updated", AnsiColor::Yellow.on_default()),
        Outcome::Error => ("error", AnsiColor::Red.on_default().bold()),
        Outcome::Skipped => ("skipped", Style::new().dimmed()),
        _ => return format!("{}\n", printable(&case.id)),
    };
    let mut out = format!("{style}{word}{style:#} {}\n", printable(&case.id));
    if let Some(difference) = &case.difference {
        out += &self::difference(&case.path, difference);
    }
    out
}

fn difference(path: &str, difference: &Difference) -> String {
    let (bold, removed, added) = (Style::new().bold(), AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let place = if difference.line > 0 { format!("{path}:{}", difference.line) } else { path.to_owned() };
    let mut out = format!("  {bold}{}{bold:#}", printable(&place));
    if let Some(message) = &difference.message {
        let _ = write!(out, ": {}", printable(message));
    }
    out.push('\n');
    for (sign, line) in difference.changes() {
        let style = match sign {
            '-' => removed,
            '+' => added,
            _ => Style::new(),
        };
        let _ = writeln!(out, "  {style}{sign} {}{style:#}", printable(line));
    }
    if let Some(node) = &difference.node {
        let at = difference.at.as_ref().map(|at| format!(", {}:{}", at.path, at.line)).unwrap_or_default();
        let _ = writeln!(out, "  at node `{}`{}", printable(node), printable(&at));
    }
    if difference.not_played > 0 {
        let _ = writeln!(out, "  {} after it", counted(difference.not_played, "author line"));
    }
    out
}

/// The numbers of all cases.
pub(super) fn summary(summary: &Summary) -> String {
    let numbers = [
        (summary.passed, "passed"),
        (summary.failed, "failed"),
        (summary.updated, "updated"),
        (summary.errors, "cannot be read"),
        (summary.skipped, "skipped"),
    ];
    let said: Vec<String> = numbers.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    format!("{}\n", if said.is_empty() { "no case".to_owned() } else { said.join(", ") })
}

/// Kinds that have a column.
const COLUMNS: [&str; 4] = ["node", "edge", "option", "guard"];

/// Renders a table by file, and the items that are not covered.
pub(super) fn coverage(coverage: &Coverage) -> String {
    let mut files: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in coverage.items.iter().filter(|item| !item.implied) {
        files.entry(&item.path).or_default().push(item);
    }
    let width = files.keys().map(|path| display_width(path)).max().unwrap_or(0).max("all".len());
    let mut out = format!("\n{:width$}  {}\n", "", COLUMNS.map(|kind| format!("{:>9}", format!("{kind}s"))).join(""));
    for (path, items) in &files {
        out += &row(path, width, items);
    }
    let all: Vec<&Item> = files.values().flatten().copied().collect();
    out += &row("all", width, &all);
    let implied = coverage.summary.get("implied").copied().unwrap_or_default();
    let _ = writeln!(out, "implied by the rules: {} of {}", implied[0], implied[1]);
    let missed: Vec<&&Item> = all.iter().filter(|item| item.count == 0).collect();
    if !missed.is_empty() {
        out.push_str("\nnot passed:\n");
    }
    for item in missed {
        let what = match &*item.kind {
            "node" => format!("node `{}`", item.node),
            "edge" => format!("`{}`: {}", item.node, item.what),
            kind => format!("`{}`: {kind} {}", item.node, item.what),
        };
        let _ = writeln!(out, "  {}:{} {}", printable(&item.path), item.line, printable(&what));
    }
    out
}

fn row(path: &str, width: usize, items: &[&Item]) -> String {
    let share = |kind: &str| {
        let of: Vec<_> = items.iter().filter(|item| item.kind == kind).collect();
        let hit = of.iter().filter(|item| item.count > 0).count();
        if of.is_empty() { "-".to_owned() } else { format!("{hit}/{}", of.len()) }
    };
    let space = width.saturating_sub(display_width(path));
    format!("{}{:space$}  {}\n", printable(path), "", COLUMNS.map(|kind| format!("{:>9}", share(kind))).join(""))
}

/// A file with the count of each line that has an item: the smallest of them, so that a line is done when all of it is.
pub(super) fn lines(path: &str, text: &str, items: &[&Item]) -> String {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for item in items.iter().filter(|item| !item.implied) {
        counts.entry(item.line).and_modify(|count| *count = (*count).min(item.count)).or_insert(item.count);
    }
    let mut out = format!("\n{}\n", printable(path));
    for (at, line) in text.lines().enumerate() {
        let margin = counts.get(&(at + 1)).map_or_else(String::new, |count| if *count == 0 { "!".to_owned() } else { count.to_string() });
        let _ = writeln!(out, "{margin:>6} | {}", printable(line));
    }
    out
}
