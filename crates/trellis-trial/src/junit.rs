//! JUnit XML: a suite for each sheet, a case for each case.

use std::fmt::Write as _;

use crate::wire::{Case, Difference, Outcome};

/// The report of cases, in the order of sheets.
pub fn junit(cases: &[Case]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = |cases: &[&Case], outcome: Outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let all: Vec<&Case> = cases.iter().collect();
    let numbers = |cases: &[&Case]| {
        let seconds = cases.iter().map(|case| case.ms).sum::<u64>();
        let [failed, errors, skipped] = [Outcome::Failed, Outcome::Error, Outcome::Skipped].map(|outcome| count(cases, outcome));
        let total = cases.len();
        format!("tests=\"{total}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\"", time(seconds))
    };
    let _ = writeln!(out, "<testsuites name=\"trellis test\" {}>", numbers(&all));
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|case| case.path == first.path).count();
        let (sheet, after) = rest.split_at(length);
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}>", escaped(&first.path), numbers(sheet));
        sheet.iter().for_each(|case| testcase(&mut out, case));
        out.push_str("  </testsuite>\n");
        rest = after;
    }
    out.push_str("</testsuites>\n");
    out
}

fn testcase(out: &mut String, case: &Case) {
    let path = escaped(&case.path);
    let name = case.id.split_once(" › ").map_or(&*case.id, |(_, name)| name);
    let _ = write!(
        out,
        "    <testcase name=\"{}\" classname=\"{path}\" file=\"{path}\" line=\"{}\" time=\"{}\"",
        escaped(name),
        case.line,
        time(case.ms)
    );
    let tag = match case.outcome {
        Outcome::Failed => "failure",
        Outcome::Error => "error",
        Outcome::Skipped => {
            out.push_str("><skipped/></testcase>\n");
            return;
        }
        _ => {
            out.push_str("/>\n");
            return;
        }
    };
    let text = case.difference.as_ref().map(text).unwrap_or_default();
    let message = case.difference.as_ref().and_then(|difference| difference.message.as_deref()).unwrap_or("what came out differs");
    let _ = writeln!(out, "><{tag} message=\"{}\">{}</{tag}></testcase>", escaped(message), escaped(&text));
}

/// A difference as text.
fn text(difference: &Difference) -> String {
    let mut out = format!("line {}", difference.line);
    for (sign, line) in difference.changes() {
        let _ = write!(out, "\n{sign} {line}");
    }
    out
}

fn time(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Text as XML may hold it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(char),
            // XML 1.0 cannot represent these.
            char if char.is_control() || matches!(char, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            char => out.push(char),
        }
    }
    out
}
