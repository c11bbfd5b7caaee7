//! DOT, for Graphviz.

use std::fmt::Write as _;

use super::{Drawing, DrawnKind, DrawnNode, Path, label, path::marks};

/// The drawing as a DOT digraph, with a path over it.
pub(super) fn spell(drawing: &Drawing<'_>, path: Option<&Path>) -> String {
    let mut out = String::from("digraph trellis {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n");
    for (at, spot) in drawing.spots.iter().enumerate() {
        let walked = path.and_then(|path| path.spots.get(&at));
        let label = walked.map_or_else(|| spot.id.clone(), |walked| format!("{} · {}", spot.id, marks(walked)));
        let width = if walked.is_some() { ", penwidth=3" } else { "" };
        let _ = writeln!(out, "  n{at} [label={}, shape={}{width}];", quoted(&label), shape(spot));
    }
    for (at, arrow) in drawing.arrows.iter().enumerate() {
        let mut attributes = Vec::new();
        let walked = path.and_then(|path| path.arrows.get(&at));
        let words = [walked.map(|walked| marks(walked)).unwrap_or_default(), label::arrow(arrow)];
        let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ");
        if !words.is_empty() {
            attributes.push(format!("label={}", quoted(&words)));
        }
        if walked.is_some() {
            attributes.push("penwidth=3".to_owned());
        } else if !arrow.is_main() {
            attributes.push("style=dotted".to_owned());
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  n{} -> n{}{attributes};", arrow.from, arrow.to);
    }
    for ((from, to, is_put), walked) in path.into_iter().flat_map(|path| &path.others) {
        let put = if *is_put { " (put there)" } else { "" };
        let _ = writeln!(out, "  n{from} -> n{to} [label={}, penwidth=3];", quoted(&format!("{}{put}", marks(walked))));
    }
    out.push_str("}\n");
    out
}

fn shape(spot: &DrawnNode<'_>) -> &'static str {
    match spot.kind {
        _ if spot.entry => "circle",
        DrawnKind::Act => "component",
        DrawnKind::Listen => "parallelogram",
        DrawnKind::Rollback => "hexagon",
        DrawnKind::End => "doublecircle",
        DrawnKind::Pass if spot.terminal => "oval",
        DrawnKind::Pass => "box",
    }
}

/// A quoted DOT string; a backslash would begin an escape such as `\N`.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}
