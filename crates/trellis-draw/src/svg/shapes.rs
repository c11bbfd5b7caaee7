//! Shapes of nodes by their kinds, and the curves between them.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{cut, escaped};
use crate::{
    Drawing, DrawnKind, DrawnNode, Path,
    layout::{Area, Layout, PlacedModule},
    path::marks,
};

/// Characters of an id and of a line below it that a node has room for.
const ID: usize = 20;
const LINE: usize = 26;

/// Draws the nodes.
pub(super) fn nodes(out: &mut String, drawing: &Drawing<'_>, layout: &Layout, path: Option<&Path>) {
    let spots: BTreeMap<_, _> = drawing.spots.iter().enumerate().map(|(at, spot)| (&*spot.id, at)).collect();
    for node in &layout.nodes {
        let Some(&at) = spots.get(&*node.id) else { continue };
        node_at(out, &drawing.spots[at], &node.area, path.and_then(|path| path.spots.get(&at)).map(|walked| marks(walked)));
    }
}

fn node_at(out: &mut String, spot: &DrawnNode<'_>, area: &Area, walked: Option<String>) {
    let kind = match spot.kind {
        DrawnKind::End => spot.id.trim_start_matches("end:"),
        kind => kind.as_str(),
    };
    let class = if walked.is_some() { "walked shape" } else { "shape" };
    let (stroke, width) = match (&walked, kind) {
        (Some(_), _) => ("#A34A06", "2.5"),
        (None, "finished") => ("#1F7A3D", "1.4"),
        (None, "failed") => ("#B3261E", "1.4"),
        (None, "denied") => ("#8A4B00", "1.4"),
        (None, "rolled_back" | "rollback") => ("#6B3FA0", "1.4"),
        (None, _) => ("#8B8579", "1.2"),
    };
    let _ = write!(out, "<g><title>{}</title>", escaped(&format!("{}: {}", spot.id, spot.does)));
    let _ = write!(
        out,
        "<path class=\"{class} {kind}\" d=\"{}\" fill=\"#FFFFFF\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>",
        outline(spot, area)
    );
    if spot.entry {
        let (x, y) = (area.x + 17, area.y + area.height / 2);
        let _ = write!(
            out,
            "<circle class=\"start\" cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"#1B6B50\" stroke=\"none\"/>\
             <circle class=\"ring\" cx=\"{x}\" cy=\"{y}\" r=\"6.5\" fill=\"none\" stroke=\"#1B6B50\" stroke-width=\"1.4\"/>"
        );
    }
    let middle = area.x + area.width / 2;
    let name = spot.id.strip_prefix(spot.module).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&spot.id);
    if matches!(spot.kind, DrawnKind::End | DrawnKind::Rollback) {
        let sign = match kind {
            "finished" => "✓ ",
            "failed" => "✕ ",
            "denied" => "⊘ ",
            _ => "↶ ",
        };
        let words = format!("{sign}{}", name.trim_start_matches("end:").replace('_', " "));
        text(out, (middle, area.y + area.height / 2 + 4), &cut(&words, ID), "font-size=\"12\"");
    } else {
        let room = if spot.entry { ID - 5 } else { ID };
        let place = if spot.entry { middle + 8 } else { middle };
        let mono = "font-size=\"12\" font-family=\"ui-monospace, monospace\"";
        text(out, (place, area.y + area.height / 2 - 3), &cut(name, room), mono);
        text(out, (place, area.y + area.height / 2 + 13), &cut(&spot.does, LINE), "class=\"dim\" font-size=\"10\" fill=\"#5B6067\"");
    }
    if let Some(walked) = walked {
        let _ = write!(out, "<g class=\"walked\">");
        text(out, (area.x + area.width, area.y - 4), &walked, "font-size=\"10\" fill=\"#A34A06\"");
        let _ = write!(out, "</g>");
    }
    out.push_str("</g>\n");
}

fn text(out: &mut String, (x, y): (i64, i64), text: &str, attributes: &str) {
    let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" {attributes}>{}</text>", escaped(text));
}

/// The outline of a node: its kind.
fn outline(spot: &DrawnNode<'_>, area: &Area) -> String {
    let (x, y, width, height) = (area.x, area.y, area.width, area.height);
    let (right, bottom, half) = (x + width, y + height, height / 2);
    match spot.kind {
        DrawnKind::Listen => format!("M{} {y}H{right}L{} {bottom}H{x}Z", x + 12, right - 12),
        DrawnKind::Act => {
            let (left, end) = (x + 7, right - 7);
            format!("M{x} {y}H{right}V{bottom}H{x}ZM{left} {y}V{bottom}M{end} {y}V{bottom}")
        }
        DrawnKind::Rollback => {
            let (left, end, middle) = (x + 14, right - 14, y + half);
            format!("M{left} {y}H{end}L{right} {middle}L{end} {bottom}H{left}L{x} {middle}Z")
        }
        DrawnKind::Pass if !spot.terminal => rounded(area, 6),
        DrawnKind::End | DrawnKind::Pass => rounded(area, half),
    }
}

fn rounded(area: &Area, r: i64) -> String {
    let (x, y, across, down) = (area.x, area.y, area.width - 2 * r, area.height - 2 * r);
    format!(
        "M{} {y}h{across}a{r} {r} 0 0 1 {r} {r}v{down}a{r} {r} 0 0 1 -{r} {r}h-{across}a{r} {r} 0 0 1 -{r} -{r}v-{down}a{r} {r} 0 0 1 {r} -{r}Z",
        x + r
    )
}

/// Draws a module that is one box.
pub(super) fn closed_module(out: &mut String, module: &PlacedModule) {
    let area = &module.area;
    let shadow = Area { x: area.x + 4, y: area.y + 4, ..*area };
    let _ = write!(out, "<g><title>{}</title>", escaped(&module.id));
    for area in [&shadow, area] {
        let _ = write!(out, "<path class=\"shape\" d=\"{}\" fill=\"#FFFFFF\" stroke=\"#8B8579\" stroke-width=\"1.2\"/>", rounded(area, 6));
    }
    let middle = area.x + area.width / 2;
    let mono = "font-size=\"12\" font-family=\"ui-monospace, monospace\" font-weight=\"600\"";
    text(out, (middle, area.y + area.height / 2 - 3), &cut(&module.id, ID), mono);
    let nodes = if module.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", module.nodes) };
    text(out, (middle, area.y + area.height / 2 + 13), &nodes, "class=\"dim\" font-size=\"10\" fill=\"#5B6067\"");
    out.push_str("</g>\n");
}
