//! Mermaid: a flowchart that GitHub and editors show as it stands in a Markdown file.
//!
//! **Invariant:** ids in the text are `n0`, `n1`, …; what an author wrote stands in quoted labels only.

use std::fmt::Write as _;

use super::{Drawing, Kind, Spot, label};

/// The drawing as a Mermaid flowchart.
pub(super) fn spell(drawing: &Drawing<'_>) -> String {
    let mut out = String::from("flowchart TD\n");
    let mut order = (0..drawing.spots.len()).collect::<Vec<_>>();
    order.sort_by_key(|&at| drawing.spots[at].module.split('/').collect::<Vec<_>>());
    let mut open = Vec::new();
    for at in order {
        let spot = &drawing.spots[at];
        enter(&mut out, &mut open, spot.module);
        let _ = writeln!(out, "{}n{at}{}", indent(open.len()), shape(spot));
    }
    enter(&mut out, &mut open, "");
    for arrow in &drawing.arrows {
        let line = if arrow.is_main() { "-->" } else { "-.->" };
        let words = match label::arrow(arrow) {
            words if words.is_empty() => String::new(),
            words => format!("|\"{}\"|", escaped(&words)),
        };
        let _ = writeln!(out, "  n{} {line}{words} n{}", arrow.from, arrow.to);
    }
    out
}

/// Closes and opens subgraphs until `module` is the open one; `open` holds the modules that are, outermost first.
fn enter<'p>(out: &mut String, open: &mut Vec<&'p str>, module: &'p str) {
    while let Some(current) = open.last()
        && *current != module
        && !module.strip_prefix(current).is_some_and(|rest| rest.starts_with('/'))
    {
        open.pop();
        let _ = writeln!(out, "{}end", indent(open.len()));
    }
    if !module.is_empty() && open.last() != Some(&module) {
        let _ = writeln!(out, "{}subgraph \"{}\"", indent(open.len()), escaped(module));
        open.push(module);
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

fn shape(spot: &Spot<'_>) -> String {
    let id = escaped(&spot.id);
    if spot.entry {
        return format!("((\"{id}\"))");
    }
    match spot.kind {
        Kind::Act => format!("[[\"{id}\"]]"),
        Kind::Listen => format!("[/\"{id}\"/]"),
        Kind::Rollback => format!("{{{{\"{id}\"}}}}"),
        Kind::Pass | Kind::End if spot.terminal => format!("([\"{id}\"])"),
        Kind::Pass | Kind::End => format!("[\"{id}\"]"),
    }
}

/// Mermaid has no backslash escapes: what could end a label or begin markup becomes a character code.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' => {
                let _ = write!(out, "#{};", u32::from(char));
            }
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}
