//! Levels: each open box with its items, and the part of every line that runs in it.
//!
//! A line from box to box leaves through ports at the edges of the boxes. Lines to one item share their ports.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{
    Direction, LayoutSettings, NODE_HEIGHT, NODE_WIDTH,
    chain::Grid,
    clusters::{ClusterGraph, ItemKind},
    layer::{self, LayerEdge},
    parts::{ClusterEdge, EdgeEnd, Extent, Port},
};
use crate::Drawing;

/// Space for the name of a box, above its content.
const HEADER: i64 = 30;
/// Room at the other sides.
const PADDING: i64 = 18;
/// Room beside a node for a line that leads back to itself.
const LOOP_ROOM: i64 = 22;

/// All levels, by the modules that they are the inside of.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) of: Vec<Option<Level>>,
    /// By link: the edges that it runs along, from its beginning to its end, with their modules.
    pub(super) routes: Vec<Vec<(usize, usize)>>,
    /// By item: its place in its level.
    pub(super) local: Vec<usize>,
}

/// The inside of a box.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Items of the graph.
    pub(super) items: Vec<usize>,
    pub(super) ports: Vec<Port>,
    port_at: FxHashMap<Port, usize>,
    pub(super) edges: Vec<ClusterEdge>,
    /// The layers of the items.
    layers: Vec<usize>,
    /// The grid with all positions, once it is placed.
    pub(super) grid: Grid,
}

/// Space around the content of a box: before and behind it, across and along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padding {
    pub(super) across: (i64, i64),
    pub(super) along: (i64, i64),
}

impl Padding {
    pub(super) fn of(direction: Direction) -> Self {
        let (header, even) = ((HEADER, PADDING), (PADDING, PADDING));
        match direction {
            Direction::Down => Self { across: even, along: header },
            Direction::Right => Self { across: header, along: even },
        }
    }
}

impl Levels {
    /// The levels of a graph, in layers.
    pub(super) fn new(graph: &ClusterGraph<'_>) -> Self {
        let is_shown = |at: usize| graph.modules[at].is_open && (at == 0 || graph.modules[at].item.is_some());
        let mut levels = Self {
            of: (0..graph.modules.len()).map(|at| is_shown(at).then(Level::default)).collect(),
            routes: vec![Vec::new(); graph.links.len()],
            local: Vec::new(),
        };
        let mut local = vec![0; graph.items.len()];
        let (starts, others): (Vec<_>, Vec<_>) = (0..graph.items.len()).partition(|&item| graph.items[item].is_start);
        for item in starts.into_iter().chain(others) {
            let level = levels.level(graph.items[item].module);
            local[item] = level.items.len();
            level.items.push(item);
        }
        let climbs: Vec<_> = graph.links.iter().map(|link| climb(graph, link.from, link.to)).collect();
        let mut known = FxHashMap::default();
        levels.meet(graph, &climbs, &local, &mut known);
        levels.pass(graph, &climbs, &local, &mut known);
        levels.local = local;
        levels
    }

    fn level(&mut self, module: usize) -> &mut Level {
        self.of[module].get_or_insert_with(Level::default)
    }

    /// Adds the edges between items of one box, and layers the items by them.
    fn meet(&mut self, graph: &ClusterGraph<'_>, climbs: &[Climb], local: &[usize], known: &mut Known) {
        for (link, climb) in climbs.iter().enumerate() {
            let (Some(&from), Some(&to)) = (climb.up.last(), climb.down.last()) else { continue };
            let ends = (EdgeEnd::Item(local[from]), EdgeEnd::Item(local[to]));
            let edge = self.edge(graph.items[from].module, ends, graph.links[link].net(), known);
            self.routes[link].push(edge);
        }
        for level in self.of.iter_mut().flatten() {
            let end_layers = |edge: &ClusterEdge| match (edge.from, edge.to) {
                (EdgeEnd::Item(from), EdgeEnd::Item(to)) => Some(LayerEdge { from, to, is_main: edge.net % 2 == 1 }),
                _ => None,
            };
            let edges: Vec<_> = level.edges.iter().filter_map(end_layers).collect();
            let layers = layer::layers(level.items.len(), &edges);
            for (edge, is_back) in level.edges.iter_mut().zip(layers.is_back) {
                edge.is_back = is_back;
            }
            level.layers = layers.of;
        }
    }

    /// Adds the edges from items to the ports of their box, and from ports to items.
    fn pass(&mut self, graph: &ClusterGraph<'_>, climbs: &[Climb], local: &[usize], known: &mut Known) {
        for (link, climb) in climbs.iter().enumerate() {
            let net = graph.links[link].net();
            let Some(&(module, middle)) = self.routes[link].first() else { continue };
            let is_back = self.level(module).edges[middle].is_back;
            let mut route = Vec::new();
            for &item in &climb.up[..climb.up.len() - 1] {
                let module = graph.items[item].module;
                let port = self.level(module).port(net, is_back);
                route.push(self.edge(module, (EdgeEnd::Item(local[item]), EdgeEnd::Port(port)), net, known));
            }
            route.push((module, middle));
            for &item in climb.down[..climb.down.len() - 1].iter().rev() {
                let module = graph.items[item].module;
                let port = self.level(module).port(net, !is_back);
                route.push(self.edge(module, (EdgeEnd::Port(port), EdgeEnd::Item(local[item])), net, known));
            }
            for &(module, edge) in &route {
                self.level(module).edges[edge].is_back = is_back;
            }
            let (module, edge) = route[0];
            self.level(module).edges[edge].link = Some(link);
            self.routes[link] = route;
        }
    }

    fn edge(&mut self, module: usize, (from, to): (EdgeEnd, EdgeEnd), net: usize, known: &mut Known) -> (usize, usize) {
        let level = self.level(module);
        let edge = *known.entry((module, from, to, net)).or_insert_with(|| {
            level.edges.push(ClusterEdge { from, to, net, link: None, is_back: false });
            level.edges.len() - 1
        });
        (module, edge)
    }

    /// Gives everything its place within its box, inner boxes first. `before` has places that items had, by their names.
    pub(super) fn place(
        &mut self,
        drawing: &Drawing<'_>,
        graph: &ClusterGraph<'_>,
        settings: &LayoutSettings,
        before: &BTreeMap<String, i64>,
    ) {
        let mut inside_first: Vec<_> = (0..graph.modules.len()).filter(|&at| self.of[at].is_some()).collect();
        inside_first.sort_by_key(|&at| std::cmp::Reverse(graph.modules[at].depth));
        for module in inside_first {
            let Some(mut level) = self.of[module].take() else { continue };
            let sizes: Vec<_> = level.items.iter().map(|&item| self.size(graph, item, settings.direction)).collect();
            let loops: Vec<_> = level.edges.iter().filter(|edge| edge.from == edge.to).map(|edge| edge.from).collect();
            let mut grid = Grid::new(&level.layers, &sizes, &level.ports, settings.has_labels);
            for &end in &loops {
                grid.widen(end, LOOP_ROOM);
            }
            for edge in &level.edges {
                let shifts = (self.shift(graph, &level, edge, true, settings), self.shift(graph, &level, edge, false, settings));
                let label = edge.link.map_or("", |link| &*graph.links[link].label);
                grid.run(edge, shifts, label, settings.direction);
            }
            let had: Vec<_> = level.items.iter().map(|&item| before.get(&graph.name(drawing, item)).copied()).collect();
            grid.place(&had);
            level.grid = grid;
            self.of[module] = Some(level);
        }
    }

    /// The size of an item.
    pub(super) fn size(&self, graph: &ClusterGraph<'_>, item: usize, direction: Direction) -> Extent {
        let inner = match graph.items[item].kind {
            ItemKind::Open(module) => self.of[module].as_ref(),
            _ => None,
        };
        match (inner, direction) {
            (Some(inner), _) => {
                let (padding, size) = (Padding::of(direction), inner.grid.size);
                let around = |(before, after): (i64, i64)| before + after;
                Extent { across: size.across + around(padding.across), along: size.along + around(padding.along) }
            }
            (None, Direction::Down) => Extent { across: NODE_WIDTH, along: NODE_HEIGHT },
            (None, Direction::Right) => Extent { across: NODE_HEIGHT, along: NODE_WIDTH },
        }
    }

    /// Returns the distance from the middle of an item at which an edge touches it. Lines of several kinds at one item stay apart.
    fn shift(&self, graph: &ClusterGraph<'_>, level: &Level, edge: &ClusterEdge, is_from: bool, settings: &LayoutSettings) -> i64 {
        let EdgeEnd::Item(at) = (if is_from { edge.from } else { edge.to }) else { return 0 };
        let item = level.items[at];
        let across = self.size(graph, item, settings.direction).across;
        if let ItemKind::Open(module) = graph.items[item].kind
            && let Some(inner) = &self.of[module]
        {
            let port = Port { net: edge.net, is_first: edge.is_back == is_from };
            let padding = Padding::of(settings.direction);
            return inner.port_at.get(&port).map_or(0, |&at| inner.grid.port(at) + padding.across.0 - across / 2);
        }
        let eighths = i64::from(edge.is_back) * 2 + i64::from(edge.net.is_multiple_of(2));
        across * eighths / 8
    }
}

impl Level {
    fn port(&mut self, net: usize, is_first: bool) -> usize {
        let port = Port { net, is_first };
        let ports = &mut self.ports;
        *self.port_at.entry(port).or_insert_with(|| {
            ports.push(port);
            ports.len() - 1
        })
    }
}

type Known = FxHashMap<(usize, EdgeEnd, EdgeEnd, usize), usize>;

/// The items that a link passes: from each of its ends up to those that share a box.
struct Climb {
    up: Vec<usize>,
    down: Vec<usize>,
}

fn climb(graph: &ClusterGraph<'_>, from: usize, to: usize) -> Climb {
    let mut climb = Climb { up: vec![from], down: vec![to] };
    let (mut from, mut to) = (from, to);
    while graph.items[from].module != graph.items[to].module {
        let (one, other) = (graph.items[from].module, graph.items[to].module);
        let is_from_deeper = graph.modules[one].depth >= graph.modules[other].depth;
        let above = graph.modules[if is_from_deeper { one } else { other }].item;
        let Some(above) = above else { break };
        if is_from_deeper {
            from = above;
            climb.up.push(above);
        } else {
            to = above;
            climb.down.push(above);
        }
    }
    climb
}
