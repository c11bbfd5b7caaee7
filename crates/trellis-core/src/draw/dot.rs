//! DOT, for Graphviz.

use std::fmt::Write as _;

use super::{Drawing, Kind, Spot, label};

/// The drawing as a DOT digraph.
pub(super) fn spell(drawing: &Drawing<'_>) -> String {
    let mut out = String::from("digraph trellis {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n");
    for (at, spot) in drawing.spots.iter().enumerate() {
        let _ = writeln!(out, "  n{at} [label={}, shape={}];", quoted(&spot.id), shape(spot));
    }
    for arrow in &drawing.arrows {
        let mut attributes = Vec::new();
        let words = label::arrow(arrow);
        if !words.is_empty() {
            attributes.push(format!("label={}", quoted(&words)));
        }
        if !arrow.is_main() {
            attributes.push("style=dotted".to_owned());
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  n{} -> n{}{attributes};", arrow.from, arrow.to);
    }
    out.push_str("}\n");
    out
}

fn shape(spot: &Spot<'_>) -> &'static str {
    match spot.kind {
        _ if spot.entry => "circle",
        Kind::Act => "component",
        Kind::Listen => "parallelogram",
        Kind::Rollback => "hexagon",
        Kind::End => "doublecircle",
        Kind::Pass if spot.terminal => "oval",
        Kind::Pass => "box",
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
