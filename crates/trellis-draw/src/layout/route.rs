//! Routes: from places inside of boxes to places in the drawing, and the corners of every line.

use super::{
    Area, Direction, Layout, LayoutSettings, PlacedEdge, PlacedLabel, PlacedModule, PlacedNode,
    clusters::{ClusterGraph, ItemKind},
    level::{Level, Levels, Padding},
    parts::{ClusterEdge, EdgeEnd, Extent, Vertex},
};
use crate::Drawing;

/// The distance by which a line that leads back to its own item reaches beyond it.
const LOOP_REACH: i64 = 18;
/// Room around the drawing.
const MARGIN: i64 = 12;

/// A point: across the direction, and along it.
type Corner = (i64, i64);

/// The layout of a graph whose levels are placed.
pub(super) fn layout(drawing: &Drawing<'_>, graph: &ClusterGraph<'_>, levels: &Levels, settings: &LayoutSettings) -> Layout {
    let router = Router { graph, levels, direction: settings.direction, origins: origins(graph, levels, settings.direction) };
    let whole = levels.of[0].as_ref().map_or(Extent::default(), |level| level.grid.size);
    let size = router.turned((whole.across + 2 * MARGIN, whole.along + 2 * MARGIN));
    let mut layout = Layout { direction: settings.direction, width: size.0, height: size.1, ..Layout::default() };
    let collapsed = graph.modules.iter().filter(|module| !module.is_open);
    layout.collapsed = collapsed.map(|module| module.id.to_owned()).collect();
    let mut nodes: Vec<_> = Vec::new();
    for at in 0..graph.items.len() {
        let area = router.area(at);
        match graph.items[at].kind {
            ItemKind::Spot(spot) => nodes.push((spot, PlacedNode { id: drawing.spots[spot].id.clone(), area })),
            ItemKind::Open(module) | ItemKind::Closed(module) => {
                let module = &graph.modules[module];
                let (nodes, modules) = (module.nodes, module.modules);
                layout.modules.push(PlacedModule { id: module.id.to_owned(), area, is_collapsed: !module.is_open, nodes, modules });
            }
        }
    }
    nodes.sort_by_key(|(spot, _)| *spot);
    layout.nodes = nodes.into_iter().map(|(_, node)| node).collect();
    layout.modules.sort_by(|one, other| one.id.cmp(&other.id));
    layout.edges = (0..graph.links.len()).map(|link| router.edge(drawing, link)).collect();
    layout
}

/// Returns the origin of the content of each open box.
fn origins(graph: &ClusterGraph<'_>, levels: &Levels, direction: Direction) -> Vec<Corner> {
    let mut origins = vec![(MARGIN, MARGIN); graph.modules.len()];
    // Modules come after those that contain them.
    for at in 1..graph.modules.len() {
        let Some(item) = graph.modules[at].item.filter(|_| levels.of[at].is_some()) else { continue };
        let (corner, _) = place(graph, levels, direction, &origins, item);
        let padding = Padding::of(direction);
        origins[at] = (corner.0 + padding.across.0, corner.1 + padding.along.0);
    }
    origins
}

/// The first corner of an item, and its size.
fn place(graph: &ClusterGraph<'_>, levels: &Levels, direction: Direction, origins: &[Corner], item: usize) -> (Corner, Extent) {
    let (module, local) = (graph.items[item].module, levels.local[item]);
    let size = levels.size(graph, item, direction);
    let Some(level) = &levels.of[module] else { return (origins[module], size) };
    let (origin, vertex) = (origins[module], &level.grid.vertices[local]);
    let corner = (origin.0 + level.grid.centres[local] - size.across / 2, origin.1 + level.grid.bands[vertex.layer].0);
    (corner, size)
}

struct Router<'s, 'd> {
    graph: &'s ClusterGraph<'d>,
    levels: &'s Levels,
    direction: Direction,
    origins: Vec<Corner>,
}

impl Router<'_, '_> {
    fn turned(&self, (across, along): Corner) -> Corner {
        match self.direction {
            Direction::Down => (across, along),
            Direction::Right => (along, across),
        }
    }

    fn rectangle(&self, corner: Corner, size: Extent) -> Area {
        let ((x, y), (width, height)) = (self.turned(corner), self.turned((size.across, size.along)));
        Area { x, y, width, height }
    }

    fn area(&self, item: usize) -> Area {
        let (corner, size) = place(self.graph, self.levels, self.direction, &self.origins, item);
        self.rectangle(corner, size)
    }

    fn edge(&self, drawing: &Drawing<'_>, at: usize) -> PlacedEdge {
        let link = &self.graph.links[at];
        let mut points = Vec::new();
        let (mut label, mut is_back) = (None, false);
        for &(module, edge) in &self.levels.routes[at] {
            let Some(level) = &self.levels.of[module] else { continue };
            self.run(module, level, edge, &mut points);
            is_back = level.edges[edge].is_back;
            if let Some(vertex) = level.grid.paths[edge].label.filter(|_| level.edges[edge].link == Some(at)) {
                label = Some(PlacedLabel { text: link.label.clone(), area: self.label(module, level, vertex) });
            }
        }
        let end = |item: usize| match self.graph.items[item].kind {
            ItemKind::Spot(spot) => (drawing.spots[spot].id.clone(), false),
            ItemKind::Closed(module) | ItemKind::Open(module) => (self.graph.modules[module].id.to_owned(), true),
        };
        let ((from, from_module), (to, to_module)) = (end(link.from), end(link.to));
        let points = straightened(&points).into_iter().map(|point| self.turned(point)).collect();
        PlacedEdge { from, to, from_module, to_module, edges: link.arrows.clone(), is_main: link.is_main, is_back, points, label }
    }

    fn label(&self, module: usize, level: &Level, vertex: usize) -> Area {
        let (origin, size) = (self.origins[module], level.grid.vertices[vertex].size);
        let (begin, end) = level.grid.bands[level.grid.vertices[vertex].layer];
        let along = (begin + end - size.along) / 2;
        self.rectangle((origin.0 + level.grid.centres[vertex] - size.across / 2, origin.1 + along), size)
    }

    /// Adds the corners of one part of a line.
    fn run(&self, module: usize, level: &Level, at: usize, points: &mut Vec<Corner>) {
        let (edge, path, origin) = (&level.edges[at], &level.grid.paths[at], self.origins[module]);
        if edge.from == edge.to {
            return self.circle(module, level, edge, points);
        }
        let last = path.vertices.len() - 1;
        for (number, &vertex) in path.vertices.iter().enumerate() {
            let shift = match number {
                0 => path.shifts.0,
                _ if number == last => path.shifts.1,
                _ => 0,
            };
            let Vertex { layer, size, .. } = level.grid.vertices[vertex];
            let (begin, end) = level.grid.bands[layer];
            // An item may be shorter than its layer: the line touches it where it ends.
            let (enter, leave) = match (number, edge.is_back) {
                (0, false) => (begin + size.along, end),
                (0, true) => (begin, begin),
                (_, false) if number == last => (begin, begin),
                (_, true) if number == last => (end, begin + size.along),
                (_, false) => (begin, end),
                (_, true) => (end, begin),
            };
            let across = origin.0 + level.grid.centres[vertex] + shift;
            points.extend([(across, origin.1 + enter), (across, origin.1 + leave)]);
        }
    }

    /// A line from an item back to itself.
    fn circle(&self, module: usize, level: &Level, edge: &ClusterEdge, points: &mut Vec<Corner>) {
        let EdgeEnd::Item(at) = edge.from else { return };
        let Vertex { layer, size, .. } = level.grid.vertices[at];
        let (across, along) = (self.origins[module].0 + level.grid.centres[at] + size.across / 2, self.origins[module].1);
        let begin = along + level.grid.bands[layer].0;
        let (one, other) = (begin + size.along / 4, begin + size.along - size.along / 4);
        points.extend([(across, one), (across + LOOP_REACH, one), (across + LOOP_REACH, other), (across, other)]);
    }
}

/// The corners without those on straight lines.
fn straightened(points: &[Corner]) -> Vec<Corner> {
    let mut out: Vec<Corner> = Vec::with_capacity(points.len());
    for &point in points {
        if let &[.., (x1, y1), (x2, y2)] = &out[..]
            && ((x1 == x2 && x2 == point.0) || (y1 == y2 && y2 == point.1))
        {
            out.pop();
        }
        if out.last() != Some(&point) {
            out.push(point);
        }
    }
    out
}
