//! Differences of files in a form for people.

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use crate::report::printable;

/// Returns the changes in the file `shown`, line by line, with three lines around it.
pub(crate) fn difference(shown: &str, from: &str, to: &str) -> String {
    let (bold, removed, added) = (Style::new().bold(), AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let mut out = format!("{bold}--- {0}{bold:#}\n{bold}+++ {0}{bold:#}\n", printable(shown));
    let difference = TextDiff::from_lines(from, to);
    for hunk in difference.unified_diff().context_radius(3).iter_hunks() {
        out += &format!("{}\n", hunk.header());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', removed),
                ChangeTag::Insert => ('+', added),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let line = change.value().trim_end_matches(['\r', '\n']);
            let line = line.split('\t').map(printable).collect::<Vec<_>>().join("\t");
            out += &format!("{style}{sign}{line}{style:#}\n");
        }
    }
    out
}
