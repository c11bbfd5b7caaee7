//! The grid of a box: its layers with items, ports, labels, and the chains of long lines.
//!
//! A line over several layers has a vertex in each of them, so that the order and the places leave room for it. Lines of one net share theirs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Direction, order,
    parts::{ClusterEdge, EdgeEnd, EdgePath, Extent, LineSegment, Port, Vertex},
    place,
};

/// The most vertices of chains in one box. Lines beyond them are drawn straight.
const CHAINS: usize = 250_000;
/// The length of a character of a label.
const CHARACTER: i64 = 6;
/// The height of a label.
const LABEL: i64 = 18;

/// The grid.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// Items, then ports, then labels and chains.
    pub(super) vertices: Vec<Vertex>,
    pub(super) segments: Vec<LineSegment>,
    /// The vertices of each layer, in order.
    pub(super) layers: Vec<Vec<usize>>,
    /// By edge.
    pub(super) paths: Vec<EdgePath>,
    /// The middle of each vertex, across the direction.
    pub(super) centres: Vec<i64>,
    /// The begin and end of each layer.
    pub(super) bands: Vec<(i64, i64)>,
    pub(super) size: Extent,
    items: usize,
    /// Layers between one item and the next.
    step: usize,
    chains: FxHashMap<(usize, bool, usize), usize>,
    drawn: FxHashSet<(usize, usize, i64, i64)>,
}

impl Grid {
    /// A grid with the items and ports of a level.
    pub(super) fn new(layers: &[usize], sizes: &[Extent], ports: &[Port], has_labels: bool) -> Self {
        let step = if has_labels { 2 } else { 1 };
        let before = if ports.iter().any(|port| port.is_first) { step } else { 0 };
        let last = layers.iter().max().map_or(0, |last| last * step) + before;
        let after = if ports.iter().any(|port| !port.is_first) { step } else { 0 };
        let mut grid = Self { items: sizes.len(), step, layers: vec![Vec::new(); last + after + 1], ..Self::default() };
        for (&layer, &size) in layers.iter().zip(sizes) {
            grid.vertex(Vertex { layer: layer * step + before, size, gap: 14, is_chain: false });
        }
        for port in ports {
            let layer = if port.is_first { 0 } else { last + after };
            grid.vertex(Vertex { layer, size: Extent::default(), gap: 6, is_chain: true });
        }
        grid
    }

    fn vertex(&mut self, vertex: Vertex) -> usize {
        let at = self.vertices.len();
        self.layers[vertex.layer].push(at);
        self.vertices.push(vertex);
        at
    }

    /// Gives an item more room at both sides.
    pub(super) fn widen(&mut self, end: EdgeEnd, by: i64) {
        let at = self.at(end);
        if let Some(vertex) = self.vertices.get_mut(at) {
            vertex.gap += by;
        }
    }

    fn at(&self, end: EdgeEnd) -> usize {
        match end {
            EdgeEnd::Item(item) => item,
            EdgeEnd::Port(port) => self.items + port,
        }
    }

    /// The place of a port.
    pub(super) fn port(&self, port: usize) -> i64 {
        self.centres.get(self.items + port).copied().unwrap_or_default()
    }

    /// Adds the vertices of an edge.
    pub(super) fn run(&mut self, edge: &ClusterEdge, shifts: (i64, i64), label: &str, direction: Direction) {
        let (from, to) = (self.at(edge.from), self.at(edge.to));
        let mut path = EdgePath { vertices: vec![from], shifts, label: None };
        let (begin, end) = (self.vertices[from].layer, self.vertices[to].layer);
        let length = begin.abs_diff(end);
        let is_straight = from == to || self.chains.len() + length > CHAINS;
        for passed in 1..if is_straight { 1 } else { length.max(1) } {
            let layer = if edge.is_back { begin - passed } else { begin + passed };
            let vertex = match label {
                "" => self.chain(edge, layer),
                label if passed == 1 => {
                    let at = self.label(layer, label, direction);
                    path.label = Some(at);
                    at
                }
                _ => self.chain(edge, layer),
            };
            path.vertices.push(vertex);
        }
        path.vertices.push(to);
        let last = path.vertices.len() - 2;
        for (at, pair) in path.vertices.windows(2).enumerate().filter(|_| !is_straight) {
            let one = if at == 0 { shifts.0 } else { 0 };
            let other = if at == last { shifts.1 } else { 0 };
            let (upper, lower, shifts) = if edge.is_back { (pair[1], pair[0], (other, one)) } else { (pair[0], pair[1], (one, other)) };
            if self.drawn.insert((upper, lower, shifts.0, shifts.1)) {
                // Lines of the main flow are straightened first.
                let weight = if edge.net % 2 == 1 && !edge.is_back { 4 } else { 1 };
                // Labels are near the begin of their line.
                let weight = if at == 0 && path.label.is_some() { weight * 3 } else { weight };
                self.segments.push(LineSegment { upper, lower, shifts, weight });
            }
        }
        self.paths.push(path);
    }

    fn chain(&mut self, edge: &ClusterEdge, layer: usize) -> usize {
        if let Some(&at) = self.chains.get(&(edge.net, edge.is_back, layer)) {
            return at;
        }
        let at = self.vertex(Vertex { layer, size: Extent::default(), gap: 6, is_chain: true });
        self.chains.insert((edge.net, edge.is_back, layer), at);
        at
    }

    fn label(&mut self, layer: usize, text: &str, direction: Direction) -> usize {
        let length = text.chars().map(|char| if u32::from(char) < 0x1100 { CHARACTER } else { 2 * CHARACTER }).sum::<i64>() + CHARACTER;
        let size = match direction {
            Direction::Down => Extent { across: length, along: LABEL },
            Direction::Right => Extent { across: LABEL, along: length },
        };
        self.vertex(Vertex { layer, size, gap: 6, is_chain: true })
    }

    /// Orders the layers and gives everything its place. `had` are the places of items before.
    pub(super) fn place(&mut self, had: &[Option<i64>]) {
        self.layers = order::ordered(&self.vertices, &self.segments, self.layers.len(), had);
        self.centres = place::centres(&self.vertices, &self.segments, &self.layers);
        let sides = self.vertices.iter().zip(&self.centres).map(|(vertex, centre)| centre + vertex.size.across / 2 + vertex.gap);
        self.size.across = sides.max().unwrap_or_default();
        self.bands = place::bands(&self.vertices, &self.segments, &self.centres, self.layers.len(), self.step);
        self.size.along = self.bands.last().map_or(0, |(_, end)| *end);
        (self.chains, self.drawn) = (FxHashMap::default(), FxHashSet::default());
    }
}
