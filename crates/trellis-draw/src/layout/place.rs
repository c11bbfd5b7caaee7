//! Places: isotonic regression moves every vertex as near to its neighbours as the order of its layer allows.

use super::{
    order::Neighbours,
    parts::{LineSegment, Vertex},
};

/// Times that places go down and up the layers.
const ROUNDS: usize = 6;
/// Room between a layer and the next, and the most that steep lines add to it.
const BETWEEN: i64 = 32;
const STEEP: i64 = 96;
/// Weights of a line: between two pieces of chains, between a piece and an item, between two items.
const STRAIGHT: [i64; 3] = [8, 3, 2];

/// The middles of all vertices across the direction, from 0.
pub(super) fn centres(vertices: &[Vertex], segments: &[LineSegment], layers: &[Vec<usize>]) -> Vec<i64> {
    let above = Neighbours::above(vertices.len(), segments);
    let below = Neighbours::below(vertices.len(), segments);
    let mut centres = vec![0; vertices.len()];
    for layer in layers {
        let mut end = 0;
        for &vertex in layer {
            let half = vertices[vertex].size.across / 2 + vertices[vertex].gap;
            centres[vertex] = end + half;
            end += half * 2;
        }
    }
    let mut fitter = Fitter { vertices, centres, pools: Vec::new() };
    for round in 0..ROUNDS {
        let is_exact = round + 2 >= ROUNDS;
        layers.iter().for_each(|layer| fitter.fit(layer, &[&above], is_exact));
        layers.iter().rev().for_each(|layer| fitter.fit(layer, &[&below], is_exact));
    }
    layers.iter().for_each(|layer| fitter.fit(layer, &[&above, &below], true));
    let mut centres = fitter.centres;
    let first = centres.iter().zip(vertices).map(|(centre, vertex)| centre - vertex.size.across / 2 - vertex.gap).min();
    centres.iter_mut().for_each(|centre| *centre -= first.unwrap_or_default());
    centres
}

struct Fitter<'g> {
    vertices: &'g [Vertex],
    centres: Vec<i64>,
    pools: Vec<Pool>,
}

/// Vertices at the smallest distance to each other.
struct Pool {
    sum: i64,
    weight: i64,
    count: usize,
}

impl Pool {
    fn place(&self) -> i64 {
        self.sum.div_euclid(self.weight)
    }
}

impl Fitter<'_> {
    /// Moves the vertices of a layer towards their neighbours.
    fn fit(&mut self, layer: &[usize], neighbours: &[&Neighbours], is_exact: bool) {
        self.pools.clear();
        let mut offset = 0;
        let mut offsets = Vec::with_capacity(layer.len());
        for &vertex in layer {
            let half = self.vertices[vertex].size.across / 2 + self.vertices[vertex].gap;
            offset += half;
            offsets.push(offset);
            let (wish, weight) = self.wish(vertex, neighbours, is_exact);
            let mut pool = Pool { sum: (wish - offset) * weight, weight, count: 1 };
            while let Some(before) = self.pools.pop_if(|before| before.place() > pool.place()) {
                pool = Pool { sum: before.sum + pool.sum, weight: before.weight + pool.weight, count: before.count + pool.count };
            }
            self.pools.push(pool);
            offset += half;
        }
        let mut at = 0;
        for pool in &self.pools {
            let place = pool.place();
            for _ in 0..pool.count {
                self.centres[layer[at]] = place + offsets[at];
                at += 1;
            }
        }
    }

    /// Returns the place of a vertex without others beside it: at the middle of its neighbours, or exactly at one of them.
    fn wish(&self, vertex: usize, neighbours: &[&Neighbours], is_exact: bool) -> (i64, i64) {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for other in neighbours.iter().flat_map(|neighbours| neighbours.of(vertex)) {
            let items = [vertex, other.at].iter().filter(|&&at| !self.vertices[at].is_chain).count();
            all.push((self.centres[other.at] + other.shift - other.own, STRAIGHT[items] * other.weight));
        }
        let weight: i64 = all.iter().map(|(_, weight)| weight).sum();
        if weight == 0 {
            return (self.centres[vertex], 1);
        }
        if !is_exact {
            return (all.iter().map(|(place, weight)| place * weight).sum::<i64>().div_euclid(weight), weight);
        }
        all.sort_unstable();
        let mut passed = 0;
        let mut below = all[0].0;
        for &(place, own) in &all {
            if passed * 2 == weight {
                return ((below + place).div_euclid(2), weight);
            }
            passed += own;
            below = place;
            if passed * 2 > weight {
                break;
            }
        }
        (below, weight)
    }
}

/// Returns the begin and end of each layer along the direction. Layers of labels are only as far apart as their lines need.
pub(super) fn bands(vertices: &[Vertex], segments: &[LineSegment], centres: &[i64], layers: usize, step: usize) -> Vec<(i64, i64)> {
    let mut thick = vec![0; layers];
    for vertex in vertices {
        thick[vertex.layer] = thick[vertex.layer].max(vertex.size.along);
    }
    let mut wide = vec![0; layers];
    for segment in segments {
        let (upper, lower) = (centres[segment.upper] + segment.shifts.0, centres[segment.lower] + segment.shifts.1);
        let layer = vertices[segment.upper].layer;
        wide[layer] = wide[layer].max((upper - lower).abs());
    }
    let mut begin = 0;
    let mut bands = Vec::with_capacity(layers);
    for (thick, wide) in thick.into_iter().zip(wide) {
        bands.push((begin, begin + thick));
        let step = i64::try_from(step).unwrap_or(1);
        begin += thick + BETWEEN / step + (wide / (8 * step)).min(STEEP / step);
    }
    bands
}
