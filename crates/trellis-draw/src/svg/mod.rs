//! SVG: a laid out drawing as a self-contained picture, in light and in dark.
//!
//! **Invariant:** text of an author occurs in escaped texts only, and nothing is loaded from elsewhere. Colours are attributes, for programs that
//! know no style sheets; the style sheet changes them in the dark.

mod lines;
mod shapes;

use std::fmt::Write as _;

use super::{
    Drawing, Path,
    layout::{Area, Layout, PlacedEdge, PlacedModule},
    path::marks,
};

/// The style sheet of every picture; nothing in it depends on the graph.
pub const STYLE: &str = include_str!("style.css");

/// The picture of a laid out drawing, with a path over it.
pub(super) fn spell(drawing: &Drawing<'_>, layout: &Layout, path: Option<&Path>) -> String {
    let (width, height) = (layout.width, layout.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-sans-serif, system-ui, sans-serif\" font-size=\"11\" fill=\"#1C1E21\">\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\" fill=\"#FBFAF7\"/>\n"
    );
    for module in layout.modules.iter().filter(|module| !module.is_collapsed) {
        open_module(&mut out, module);
    }
    let walked = |edge: &PlacedEdge| path.is_some_and(|path| edge.edges.iter().any(|at| path.arrows.contains_key(at)));
    lines(&mut out, layout, walked);
    for module in layout.modules.iter().filter(|module| !module.is_collapsed) {
        name(&mut out, module);
    }
    for (from, to, marks) in path.into_iter().flat_map(|path| hops(layout, drawing, path)) {
        jump(&mut out, from, to, &marks);
    }
    layout.edges.iter().for_each(|edge| words(&mut out, edge, walked(edge)));
    shapes::nodes(&mut out, drawing, layout, path);
    for module in layout.modules.iter().filter(|module| module.is_collapsed) {
        shapes::closed_module(&mut out, module);
    }
    out.push_str("</svg>\n");
    out
}

fn open_module(out: &mut String, module: &PlacedModule) {
    let Area { x, y, width, height, .. } = module.area;
    let _ = writeln!(
        out,
        "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#F4F1EA\" stroke=\"#DEDAD1\"/>"
    );
}

/// The name of a box, over the lines that pass it.
fn name(out: &mut String, module: &PlacedModule) {
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{}\" y=\"{}\" font-weight=\"600\" fill=\"#5B6067\" stroke=\"#F4F1EA\" stroke-width=\"4\" paint-order=\"stroke\">{}</text>",
        module.area.x + 12,
        module.area.y + 18,
        escaped(&module.id)
    );
}

/// Draws the lines: failures below the main flow, and the path over both.
fn lines(out: &mut String, layout: &Layout, walked: impl Fn(&PlacedEdge) -> bool) {
    let kinds = [
        ("other", "#8B8579", " stroke-width=\"1.2\" stroke-dasharray=\"2 3\""),
        ("main", "#5B6067", " stroke-width=\"1.4\""),
        ("walked", "#A34A06", " stroke-width=\"2.5\""),
    ];
    for (at, (class, colour, style)) in kinds.into_iter().enumerate() {
        let kind = |edge: &PlacedEdge| if walked(edge) { 2 } else { usize::from(edge.is_main) };
        let mut drawn = lines::Drawn::default();
        for edge in layout.edges.iter().filter(|edge| kind(edge) == at) {
            let (line, head) = (drawn.line(layout.direction, &edge.points), drawn.head(layout.direction, &edge.points));
            if !line.is_empty() {
                let _ = writeln!(out, "<path class=\"{class} line\" d=\"{line}\" fill=\"none\" stroke=\"{colour}\"{style}/>");
            }
            if !head.is_empty() {
                let _ = writeln!(out, "<path class=\"{class} head\" d=\"{head}\" fill=\"{colour}\"/>");
            }
        }
    }
}

/// The words of a line, over it.
fn words(out: &mut String, edge: &PlacedEdge, is_walked: bool) {
    let Some(label) = &edge.label else { return };
    let area = &label.area;
    let (class, colour) = if is_walked { ("walked", "#A34A06") } else { ("label", "#5B6067") };
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><rect class=\"ground\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#FBFAF7\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{colour}\">{}</text></g>",
        area.x,
        area.y,
        area.width,
        area.height,
        area.x + area.width / 2,
        area.y + area.height / 2 + 3,
        escaped(&label.text)
    );
}

/// The middle of a node.
type Middle = (i64, i64);

/// Returns hops without an arrow, between visible spots.
fn hops(layout: &Layout, drawing: &Drawing<'_>, path: &Path) -> Vec<(Middle, Middle, String)> {
    let middle = |spot: usize| {
        let node = layout.nodes.iter().find(|node| node.id == drawing.spots[spot].id)?;
        Some((node.area.x + node.area.width / 2, node.area.y + node.area.height / 2))
    };
    let others = path.others.iter();
    others
        .filter_map(|((from, to, is_put), walked)| {
            let put = if *is_put { " (put there)" } else { "" };
            Some((middle(*from)?, middle(*to)?, format!("{}{put}", marks(walked))))
        })
        .collect()
}

fn jump(out: &mut String, (x1, y1): Middle, (x2, y2): Middle, marks: &str) {
    let (x, y) = (i64::midpoint(x1, x2) + (y2 - y1) / 4, i64::midpoint(y1, y2) - (x2 - x1) / 4);
    let _ = writeln!(
        out,
        "<g class=\"walked\"><path class=\"walked line\" d=\"M{x1} {y1}Q{x} {y} {x2} {y2}\" fill=\"none\" stroke=\"#A34A06\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/>\
         <text x=\"{x}\" y=\"{y}\" font-size=\"10\" text-anchor=\"middle\" fill=\"#A34A06\">{}</text></g>",
        escaped(marks)
    );
}

/// Returns a text of XML: characters that could end it, and those that XML cannot represent, are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

/// Returns a text of at most `room` characters, cut in the middle.
fn cut(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let (head, tail) = ((room - 1) / 2, room / 2);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}
