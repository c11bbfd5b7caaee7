//! Order: sweeps of barycentres, and exchanges of neighbours, until lines stop to cross less.

use super::parts::{LineSegment, Vertex};

/// The width of one place in a layer, so that ports of a wide item can be between places.
const UNIT: i64 = 1024;
/// The largest number of line segments that all sweeps together examine.
const WORK: usize = 600_000;
/// The largest grid whose neighbours are exchanged.
const SMALL: usize = 1_500;

/// The neighbours of every vertex in one direction.
pub(super) struct Neighbours {
    begins: Vec<usize>,
    all: Vec<Neighbour>,
}

/// A neighbour: how far from its middle, and from that of the vertex itself, their line touches them.
#[derive(Clone, Copy, Default)]
pub(super) struct Neighbour {
    pub(super) at: usize,
    pub(super) shift: i64,
    pub(super) own: i64,
    pub(super) weight: i64,
}

impl Neighbours {
    pub(super) fn above(count: usize, segments: &[LineSegment]) -> Self {
        let pair = |segment: &LineSegment| {
            let LineSegment { upper, lower, shifts: (shift, own), weight } = *segment;
            (lower, Neighbour { at: upper, shift, own, weight })
        };
        Self::new(count, segments.iter().map(pair))
    }

    pub(super) fn below(count: usize, segments: &[LineSegment]) -> Self {
        let pair = |segment: &LineSegment| {
            let LineSegment { upper, lower, shifts: (own, shift), weight } = *segment;
            (upper, Neighbour { at: lower, shift, own, weight })
        };
        Self::new(count, segments.iter().map(pair))
    }

    fn new(count: usize, pairs: impl Iterator<Item = (usize, Neighbour)> + Clone) -> Self {
        let mut begins = vec![0; count + 1];
        for (vertex, _) in pairs.clone() {
            begins[vertex + 1] += 1;
        }
        for at in 0..count {
            begins[at + 1] += begins[at];
        }
        let mut next = begins.clone();
        let mut all = vec![Neighbour::default(); begins[count]];
        for (vertex, neighbour) in pairs {
            all[next[vertex]] = neighbour;
            next[vertex] += 1;
        }
        Self { begins, all }
    }

    pub(super) fn of(&self, vertex: usize) -> &[Neighbour] {
        &self.all[self.begins[vertex]..self.begins[vertex + 1]]
    }
}

/// Returns the order of each layer. `had` are the places that items had before: they keep their order unless another one has far fewer crossings.
pub(super) fn ordered(vertices: &[Vertex], segments: &[LineSegment], layers: usize, had: &[Option<i64>]) -> Vec<Vec<usize>> {
    let mut sorter = Sorter {
        vertices,
        above: Neighbours::above(vertices.len(), segments),
        below: Neighbours::below(vertices.len(), segments),
        places: vec![0; vertices.len()],
        layers: vec![Vec::new(); layers],
    };
    let is_known = |at: usize| had.get(at).copied().flatten().is_some();
    let known = (0..had.len()).filter(|&at| is_known(at)).count();
    let previous = (known > 0).then(|| {
        sorter.begin(had);
        let crossings = sorter.improve(segments.len(), &is_known);
        (crossings, sorter.layers.clone())
    });
    if let Some((crossings, layers)) = &previous
        && *crossings == 0
    {
        return layers.clone();
    }
    sorter.begin(&[]);
    let crossings = sorter.improve(segments.len(), &|_| false);
    match previous {
        Some((previous, layers)) if previous <= crossings * 2 + 4 => layers,
        _ => sorter.layers,
    }
}

struct Sorter<'g> {
    vertices: &'g [Vertex],
    above: Neighbours,
    below: Neighbours,
    places: Vec<usize>,
    layers: Vec<Vec<usize>>,
}

impl Sorter<'_> {
    /// Sets the first order: that of a depth-first walk, in which items with an earlier place come by that place.
    fn begin(&mut self, had: &[Option<i64>]) {
        let mut seen = vec![false; self.vertices.len()];
        let mut roots: Vec<_> = (0..self.vertices.len()).collect();
        roots.sort_by_key(|&at| self.vertices[at].layer);
        self.layers.iter_mut().for_each(Vec::clear);
        let mut stack = Vec::new();
        for root in roots {
            stack.push(root);
            while let Some(vertex) = stack.pop() {
                if std::mem::replace(&mut seen[vertex], true) {
                    continue;
                }
                self.layers[self.vertices[vertex].layer].push(vertex);
                stack.extend(self.below.of(vertex).iter().rev().map(|lower| lower.at));
            }
        }
        for layer in &mut self.layers {
            let mut last = i64::MIN;
            let mut keyed: Vec<_> = layer
                .iter()
                .map(|&vertex| {
                    last = had.get(vertex).copied().flatten().unwrap_or(last);
                    (last, vertex)
                })
                .collect();
            keyed.sort_by_key(|(place, _)| *place);
            *layer = keyed.into_iter().map(|(_, vertex)| vertex).collect();
        }
        self.number();
    }

    fn number(&mut self) {
        for layer in &self.layers {
            for (place, &vertex) in layer.iter().enumerate() {
                self.places[vertex] = place;
            }
        }
    }

    /// Sweeps until nothing improves, keeps the best order, and returns its number of crossings. Fixed items keep their order.
    fn improve(&mut self, segments: usize, is_fixed: &dyn Fn(usize) -> bool) -> u64 {
        let mut best = (self.crossings(), self.layers.clone());
        let rounds = (WORK / segments.max(1)).clamp(2, 24);
        let mut idle = 0;
        for _ in 0..rounds {
            self.sweep(true, is_fixed);
            self.sweep(false, is_fixed);
            if self.vertices.len() <= SMALL {
                self.exchange(is_fixed);
            }
            let crossings = self.crossings();
            idle += 1;
            if crossings < best.0 {
                (best, idle) = ((crossings, self.layers.clone()), 0);
            }
            if best.0 == 0 || idle == 4 {
                break;
            }
        }
        self.layers = best.1;
        self.number();
        best.0
    }

    fn sweep(&mut self, is_down: bool, is_fixed: &dyn Fn(usize) -> bool) {
        let count = self.layers.len();
        for step in 1..count {
            let at = if is_down { step } else { count - 1 - step };
            let neighbours = if is_down { &self.above } else { &self.below };
            let mut layer = std::mem::take(&mut self.layers[at]);
            let mut keyed: Vec<_> = layer.iter().map(|&vertex| (self.barycentre(vertex, neighbours), vertex)).collect();
            keyed.sort_by_key(|(key, vertex)| (*key, self.places[*vertex]));
            // Fixed items take the places of fixed items, in their own order.
            let mut fixed = layer.iter().copied().filter(|&vertex| is_fixed(vertex)).collect::<Vec<_>>().into_iter();
            let sorted = keyed.into_iter().map(|(_, vertex)| if is_fixed(vertex) { fixed.next().unwrap_or(vertex) } else { vertex });
            layer = sorted.collect();
            for (place, &vertex) in layer.iter().enumerate() {
                self.places[vertex] = place;
            }
            self.layers[at] = layer;
        }
    }

    /// The middle of the neighbours of a vertex; its own place, if it has none.
    fn barycentre(&self, vertex: usize, neighbours: &Neighbours) -> i64 {
        let all = neighbours.of(vertex);
        let Ok(count @ 1..) = i64::try_from(all.len()) else { return self.place(vertex, 0) };
        all.iter().map(|other| self.place(other.at, other.shift)).sum::<i64>() / count
    }

    /// A place in the layer, and on a wide item the part of it.
    fn place(&self, vertex: usize, shift: i64) -> i64 {
        let place = i64::try_from(self.places[vertex]).unwrap_or(i64::MAX / UNIT) * UNIT;
        place + shift * (UNIT - 1) / self.vertices[vertex].size.across.max(1)
    }

    /// Exchanges neighbours in their layers where that takes crossings away.
    fn exchange(&mut self, is_fixed: &dyn Fn(usize) -> bool) {
        for at in 0..self.layers.len() {
            let mut is_better = true;
            let mut rounds = 0;
            while is_better && rounds < 8 {
                (is_better, rounds) = (false, rounds + 1);
                for place in 1..self.layers[at].len() {
                    let (left, right) = (self.layers[at][place - 1], self.layers[at][place]);
                    if is_fixed(left) && is_fixed(right) {
                        continue;
                    }
                    let ((now, then), (up_now, up_then)) = (self.between(left, right, &self.below), self.between(left, right, &self.above));
                    if then + up_then < now + up_now {
                        self.layers[at].swap(place - 1, place);
                        (self.places[left], self.places[right]) = (place, place - 1);
                        is_better = true;
                    }
                }
            }
        }
    }

    /// Returns the crossings of the lines of two vertices, in their present order and exchanged.
    fn between(&self, left: usize, right: usize, neighbours: &Neighbours) -> (usize, usize) {
        let (mut now, mut then) = (0, 0);
        for one in neighbours.of(left) {
            let one = self.place(one.at, one.shift);
            for other in neighbours.of(right) {
                let other = self.place(other.at, other.shift);
                now += usize::from(one > other);
                then += usize::from(other > one);
            }
        }
        (now, then)
    }

    fn crossings(&self) -> u64 {
        let mut sums = Vec::new();
        self.layers.windows(2).map(|pair| self.crossings_below(&pair[0], pair[1].len(), &mut sums)).sum()
    }

    /// Crossings between a layer and the next: inversions, counted in a tree of sums.
    fn crossings_below(&self, layer: &[usize], width: usize, sums: &mut Vec<u64>) -> u64 {
        sums.clear();
        sums.resize(width + 1, 0);
        let (mut crossings, mut seen) = (0, 0);
        let mut ends = Vec::new();
        for &vertex in layer {
            ends.clear();
            ends.extend(self.below.of(vertex).iter().map(|lower| (lower.own, self.places[lower.at])));
            ends.sort_unstable();
            for &(_, place) in &ends {
                let mut at = place + 1;
                let mut before = 0;
                while at > 0 {
                    before += sums[at];
                    at &= at - 1;
                }
                crossings += seen - before;
                seen += 1;
                at = place + 1;
                while at <= width {
                    sums[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
        crossings
    }
}
