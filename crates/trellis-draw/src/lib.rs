//! Drawing: a program becomes a diagram: Mermaid, DOT, JSON or SVG.
//!
//! The common form is a [`Drawing`]: spots (nodes, rollbacks, ends) and arrows (edges). The formats only print it.
//!
//! **Invariant:** arrows come from [`Program::out_edges`] and [`Program::edges_after_rollback`] alone, in their order, and every format draws each of
//! them once; nothing here knows the compiler.

mod dot;
mod json;
mod label;
pub mod layout;
mod mermaid;
#[cfg(feature = "miette")]
pub mod miette;
mod path;
mod svg;
mod text;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use self::layout::{Layout, LayoutSettings};
pub use self::{
    label::{condition, outcome},
    path::{Path, PathStep},
    svg::STYLE,
};

use trellis_base::{diagnostic::FilePath, index::to_u32, span::LineIndex};
use trellis_engine::program::{Edge, Node, Origin, OutEdge, Outcome, Part, PointIndex, Program, Provenance, Reason, Role, Target};

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A Mermaid flowchart, with a shape for each kind of node.
    Mermaid,
    /// Graphviz.
    Dot,
    /// `{nodes, edges}`.
    Json,
    /// A picture, laid out by [`layout`].
    Svg,
}

/// Draws a program. Same program, same text.
pub fn draw(program: &Program, format: Format) -> String {
    spell(&Drawing::new(program), None, format)
}

/// The picture of a drawing as it is laid out: SVG, as [`Format::Svg`] draws it.
pub fn picture(drawing: &Drawing<'_>, layout: &Layout) -> String {
    svg::spell(drawing, layout, None)
}

/// Draws a program as [`Format::Svg`] does, with the path of a session over it where there is one, and with these modules as one box each.
pub fn picture_collapsed(drawing: &Drawing<'_>, path: Option<&Path>, collapsed: BTreeSet<String>) -> String {
    let settings = LayoutSettings { collapsed, has_labels: true, ..LayoutSettings::default() };
    svg::spell(drawing, &Layout::with_path(drawing, &settings, None, path), path)
}

/// Draws in characters, in at most `room` columns where that is possible; with the path of a session over it where there is one.
pub fn text(drawing: &Drawing<'_>, path: Option<&Path>, room: usize) -> String {
    text::spell(drawing, &LayoutSettings::for_drawing(drawing).collapsed, path, room)
}

/// Draws a drawing in a format, with the path of a session over it where there is one.
pub fn spell(drawing: &Drawing<'_>, path: Option<&Path>, format: Format) -> String {
    match format {
        Format::Mermaid => mermaid::spell(drawing, path),
        Format::Dot => dot::spell(drawing, path),
        Format::Json => json::spell(drawing, path),
        Format::Svg => picture_collapsed(drawing, path, LayoutSettings::for_drawing(drawing).collapsed),
    }
}

/// A program as spots and arrows.
#[derive(Debug)]
#[non_exhaustive]
pub struct Drawing<'p> {
    /// Nodes in the program's order; then, where an arrow leads there, rollbacks and ends.
    pub spots: Vec<DrawnNode<'p>>,
    /// Every edge out of every node, then the edges after rollbacks.
    pub arrows: Vec<Arrow<'p>>,
}

/// Something that arrows join.
#[derive(Debug)]
#[non_exhaustive]
pub struct DrawnNode<'p> {
    /// The node's id; `rollback` or `rollback:<graph>`; `end:<reason>`.
    pub id: String,
    /// Its kind.
    pub kind: DrawnKind,
    /// Its action, in a few words: `asks choice`, `calls orders.find`.
    pub does: String,
    /// True if sessions of its graph begin there.
    pub entry: bool,
    /// True if no target leads out of it (language 2.4).
    pub terminal: bool,
    /// Its file and line, for a node.
    pub at: Option<(&'p FilePath, usize)>,
    /// The root of the graph that it belongs to; `None` for ends.
    pub graph: Option<&'p str>,
    /// The folder of its module; empty at the root and for spots that are no nodes.
    pub module: &'p str,
}

/// The kind of a spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawnKind {
    /// A node that passes through, or ends.
    Pass,
    /// A node that listens.
    Listen,
    /// A node that acts.
    Act,
    /// Compensation.
    Rollback,
    /// An end.
    End,
}

impl DrawnKind {
    /// As JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Listen => "listen",
            Self::Act => "act",
            Self::Rollback => "rollback",
            Self::End => "end",
        }
    }
}

/// One edge from spot to spot.
#[derive(Debug)]
#[non_exhaustive]
pub struct Arrow<'p> {
    /// Index of the spot that is left.
    pub from: usize,
    /// Index of the spot that is reached.
    pub to: usize,
    /// The outcome at which it is taken.
    pub outcome: &'p Outcome,
    /// True if it is a reply to `before_each`, not to the node itself.
    pub gate: bool,
    /// Its condition, as an author would write it.
    pub condition: Option<String>,
    /// The key that declares it.
    pub why: &'p Provenance,
    /// The failure that it ends in.
    pub failure: Option<&'static str>,
    /// The place of that key.
    pub at: Option<(&'p FilePath, usize)>,
}

impl Arrow<'_> {
    /// Returns whether it belongs to the main flow, on which no failure occurs: drawn solid, all others dotted.
    pub fn is_main(&self) -> bool {
        matches!(self.outcome, Outcome::Pass | Outcome::Answer | Outcome::Chosen(_) | Outcome::Success)
            && self.failure.is_none()
            && *self.why != Provenance::Retry
    }
}

impl<'p> Drawing<'p> {
    /// The drawing of a program.
    pub fn new(program: &'p Program) -> Self {
        let mut pen = Pen::new(program);
        for (index, node) in program.nodes().iter().enumerate() {
            for point in node.gate.into_iter().chain([node.body]) {
                pen.node_edges(index, node, point);
            }
        }
        for graph in 0..program.graphs().len() {
            pen.edges_after_rollback(graph);
        }
        Self { spots: pen.spots, arrows: pen.arrows }
    }

    /// Leaves out every arrow that is not of the main flow, and the spots that no arrow joins any more.
    #[must_use]
    pub fn main_flow(mut self) -> Self {
        self.arrows.retain(Arrow::is_main);
        let joined: BTreeSet<usize> = self.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]).collect();
        let stays = |at: usize, spot: &DrawnNode<'_>| spot.entry || joined.contains(&at);
        let spots = std::mem::take(&mut self.spots).into_iter().enumerate();
        let (places, spots): (Vec<usize>, Vec<_>) = spots.filter(|(at, spot)| stays(*at, spot)).unzip();
        let place = |at: usize| places.binary_search(&at).unwrap_or_default();
        self.arrows.iter_mut().for_each(|arrow| (arrow.from, arrow.to) = (place(arrow.from), place(arrow.to)));
        Self { spots, ..self }
    }
}

/// A drawing in the making.
struct Pen<'p> {
    program: &'p Program,
    spots: Vec<DrawnNode<'p>>,
    arrows: Vec<Arrow<'p>>,
    /// Spots that are no nodes, by id.
    extra: BTreeMap<String, usize>,
    /// Line indexes by document, made when first needed.
    lines: Vec<Option<LineIndex<'p>>>,
}

impl<'p> Pen<'p> {
    fn new(program: &'p Program) -> Self {
        let documents = program.documents().len();
        let mut pen =
            Self { program, spots: Vec::new(), arrows: Vec::new(), extra: BTreeMap::new(), lines: (0..documents).map(|_| None).collect() };
        let modules = modules(program);
        pen.spots = program.nodes().iter().map(|node| pen.node(node, &modules)).collect();
        pen
    }

    fn node(&mut self, node: &'p Node, modules: &BTreeSet<&'p str>) -> DrawnNode<'p> {
        let kind = match node.role {
            Role::Pass => DrawnKind::Pass,
            Role::Listen(_) => DrawnKind::Listen,
            Role::Act(_) => DrawnKind::Act,
        };
        let graph = self.program.graph_of(node);
        DrawnNode {
            id: node.id.to_string(),
            kind,
            does: work::words(self.program, node),
            entry: graph.entry == node.index,
            terminal: node.terminal,
            at: self.locate(Origin { document: node.document, span: node.span }),
            graph: Some(&graph.root),
            module: module_of(node.id.folder(), modules),
        }
    }

    fn node_edges(&mut self, from: usize, node: &'p Node, point: PointIndex) {
        let gate = self.program.point(point).part == Part::Gate;
        let mut answered: Vec<&Edge> = Vec::new();
        for out in self.program.out_edges(point) {
            // The writes of an option are not drawn, so edges that it shares with other answers are drawn once.
            if matches!(out.reply.on, Outcome::Answer | Outcome::Chosen(_)) {
                if answered.iter().any(|edge| std::ptr::eq(*edge, out.edge)) {
                    continue;
                }
                answered.push(out.edge);
            }
            let to = match &out.edge.to {
                Target::Point(to) => self.program.point(*to).node.0 as usize,
                // From `before_each` on to its own node: the node is not left, so there is nothing to draw.
                Target::Proceed(_) => continue,
                Target::Again => from,
                Target::Rollback => self.rollback(node.graph as usize),
                Target::End(reason) => self.end(reason),
            };
            self.arrow(from, to, gate, out);
        }
    }

    fn edges_after_rollback(&mut self, graph: usize) {
        let Some(&from) = self.extra.get(&self.rollback_id(graph)) else { return };
        for out in self.program.edges_after_rollback(to_u32(graph)) {
            let to = match &out.edge.to {
                Target::Point(to) | Target::Proceed(to) => self.program.point(*to).node.0 as usize,
                Target::Again | Target::Rollback => from,
                Target::End(reason) => self.end(reason),
            };
            self.arrow(from, to, false, out);
        }
    }

    fn arrow(&mut self, from: usize, to: usize, gate: bool, out: OutEdge<'p>) {
        let failure = match &out.edge.to {
            Target::End(Reason::Failed(failure)) => Some(failure.as_str()),
            _ => None,
        };
        let at = out.edge.origin.and_then(|origin| self.locate(origin));
        let chosen = match &out.edge.why {
            Provenance::Option(_) => self.chosen(from, &out.reply.on),
            _ => None,
        };
        self.arrows.push(Arrow {
            from,
            to,
            outcome: &out.reply.on,
            gate,
            condition: chosen.or_else(|| label::condition(self.program, &out.edge.when)),
            why: &out.edge.why,
            failure,
            at,
        });
    }

    /// The condition that an option is which is an outcome of its own.
    fn chosen(&self, from: usize, on: &Outcome) -> Option<String> {
        let Role::Listen(listen) = &self.program.nodes().get(from)?.role else { return None };
        Some(format!("input == {}", label::literal(listen.chosen(on)?)))
    }

    fn rollback_id(&self, graph: usize) -> String {
        match &*self.program.graphs()[graph].root {
            "" => "rollback".to_owned(),
            root => format!("rollback:{root}"),
        }
    }

    fn rollback(&mut self, graph: usize) -> usize {
        let root = &*self.program.graphs()[graph].root;
        self.spot(self.rollback_id(graph), DrawnKind::Rollback, Some(root))
    }

    fn end(&mut self, reason: &Reason) -> usize {
        self.spot(format!("end:{}", label::reason(reason)), DrawnKind::End, None)
    }

    fn spot(&mut self, id: String, kind: DrawnKind, graph: Option<&'p str>) -> usize {
        if let Some(&at) = self.extra.get(&id) {
            return at;
        }
        let at = self.spots.len();
        self.extra.insert(id.clone(), at);
        let does = if kind == DrawnKind::End { "ends" } else { "undoes" }.to_owned();
        self.spots.push(DrawnNode { id, kind, does, entry: false, terminal: kind == DrawnKind::End, at: None, graph, module: "" });
        at
    }

    fn locate(&mut self, origin: Origin) -> Option<(&'p FilePath, usize)> {
        let document = self.program.documents().get(origin.document as usize)?;
        let lines = self.lines.get_mut(origin.document as usize)?;
        let lines = lines.get_or_insert_with(|| LineIndex::new(&document.text));
        Some((&document.path, lines.locate(origin.span.start).line))
    }
}

/// The folders that are modules: those with a `start` (language 1.4).
fn modules(program: &Program) -> BTreeSet<&str> {
    program.nodes().iter().filter_map(|node| node.id.as_str().strip_suffix("/start")).collect()
}

/// The nearest module that holds `folder`.
fn module_of<'p>(mut folder: &'p str, modules: &BTreeSet<&'p str>) -> &'p str {
    while !folder.is_empty() && !modules.contains(folder) {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    folder
}

#[cfg(test)]
mod tests;
