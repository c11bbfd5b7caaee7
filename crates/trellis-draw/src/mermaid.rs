//! Mermaid: a flowchart that GitHub and editors show in a Markdown file.
//!
//! **Invariant:** ids in the text are `n0`, `n1`, …; text of an author occurs in quoted labels only.

use std::fmt::Write as _;

use super::{
    Drawing, DrawnKind, DrawnNode, Path, label,
    path::{Marks, marks},
};

/// The drawing as a Mermaid flowchart, with a path over it.
pub(super) fn spell(drawing: &Drawing<'_>, path: Option<&Path>) -> String {
    let mut out = String::from("flowchart TD\n");
    let mut order = (0..drawing.spots.len()).collect::<Vec<_>>();
    order.sort_by_key(|&at| drawing.spots[at].module.split('/').collect::<Vec<_>>());
    let mut open = Vec::new();
    for at in order {
        let spot = &drawing.spots[at];
        enter(&mut out, &mut open, spot.module);
        let _ = writeln!(out, "{}n{at}{}", indent(open.len()), shape(spot, path.and_then(|path| path.spots.get(&at))));
    }
    enter(&mut out, &mut open, "");
    for (at, arrow) in drawing.arrows.iter().enumerate() {
        let walked = path.and_then(|path| path.arrows.get(&at));
        let line = match walked {
            Some(_) => "==>",
            None if arrow.is_main() => "-->",
            None => "-.->",
        };
        let words = [walked.map(|walked| marks(walked)).unwrap_or_default(), label::arrow(arrow)];
        let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ");
        let words = if words.is_empty() { words } else { format!("|\"{}\"|", escaped(&words)) };
        let _ = writeln!(out, "  n{} {line}{words} n{}", arrow.from, arrow.to);
    }
    for ((from, to, is_put), walked) in path.into_iter().flat_map(|path| &path.others) {
        let put = if *is_put { " (put there)" } else { "" };
        let _ = writeln!(out, "  n{from} ==>|\"{}{put}\"| n{to}", marks(walked));
    }
    let spots = path.into_iter().flat_map(|path| path.spots.keys()).map(|at| format!("n{at}")).collect::<Vec<_>>();
    if !spots.is_empty() {
        let _ = writeln!(out, "  classDef walked stroke-width:3px\n  class {} walked", spots.join(","));
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

fn shape(spot: &DrawnNode<'_>, walked: Option<&Marks>) -> String {
    let walked = walked.map(|walked| format!(" · {}", marks(walked))).unwrap_or_default();
    let id = escaped(&spot.id) + &walked;
    if spot.entry {
        return format!("((\"{id}\"))");
    }
    match spot.kind {
        DrawnKind::Act => format!("[[\"{id}\"]]"),
        DrawnKind::Listen => format!("[/\"{id}\"/]"),
        DrawnKind::Rollback => format!("{{{{\"{id}\"}}}}"),
        DrawnKind::Pass | DrawnKind::End if spot.terminal => format!("([\"{id}\"])"),
        DrawnKind::Pass | DrawnKind::End => format!("[\"{id}\"]"),
    }
}

/// Returns an escaped text: Mermaid has no backslash escapes, so characters that could end a label or begin markup become character codes.
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
