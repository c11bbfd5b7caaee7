//! Layers: the items of each layer, and the edges that lead back.

/// An edge between two items of a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// True for edges that are followed first, so that others are the ones that lead back.
    pub(super) is_main: bool,
}

/// The layers of items, and the edges that lead back.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) of: Vec<usize>,
    /// By the number of the edge.
    pub(super) is_back: Vec<bool>,
}

/// Layers `count` items. Walks begin at the first of them.
pub(super) fn layers(count: usize, edges: &[LayerEdge]) -> Layers {
    let out = outgoing(count, edges);
    let is_back = back(count, edges, &out);
    let of = longest(count, edges, &is_back);
    Layers { of, is_back }
}

/// Returns the edges out of each item, those of the main kind first.
fn outgoing(count: usize, edges: &[LayerEdge]) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); count];
    for is_main in [true, false] {
        for (at, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.is_main == is_main) {
            out[edge.from].push(at);
        }
    }
    out
}

/// Returns the edges that lead back to an ancestor in a depth-first walk.
fn back(count: usize, edges: &[LayerEdge], out: &[Vec<usize>]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut is_back = vec![false; edges.len()];
    let mut seen = vec![Seen::No; count];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        if seen[root] == Seen::No {
            seen[root] = Seen::Open;
            stack.push((root, 0));
        }
        while let Some((item, next)) = stack.last_mut() {
            let Some(&edge) = out[*item].get(*next) else {
                seen[*item] = Seen::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].to;
            match seen[to] {
                Seen::No => {
                    seen[to] = Seen::Open;
                    stack.push((to, 0));
                }
                Seen::Open => is_back[edge] = true,
                Seen::Done => {}
            }
        }
    }
    is_back
}

/// Returns the longest path to each item; an item without incoming edges is right before the first one that it leads to.
fn longest(count: usize, edges: &[LayerEdge], is_back: &[bool]) -> Vec<usize> {
    let (mut onward, mut into) = (vec![Vec::new(); count], vec![0_usize; count]);
    for (edge, &is_back) in edges.iter().zip(is_back).filter(|(edge, _)| edge.from != edge.to) {
        let (upper, lower) = if is_back { (edge.to, edge.from) } else { (edge.from, edge.to) };
        onward[upper].push(lower);
        into[lower] += 1;
    }
    let mut of = vec![0_usize; count];
    let sources: Vec<_> = (0..count).filter(|&item| into[item] == 0).collect();
    let mut ready = sources.clone();
    let mut at = 0;
    while let Some(&item) = ready.get(at) {
        at += 1;
        for &lower in &onward[item] {
            of[lower] = of[lower].max(of[item] + 1);
            into[lower] -= 1;
            if into[lower] == 0 {
                ready.push(lower);
            }
        }
    }
    for item in sources {
        let below = onward[item].iter().map(|&lower| of[lower]).min();
        of[item] = below.map_or(0, |below| below.saturating_sub(1));
    }
    of
}
