//! Directed graphs over numbers in compressed sparse rows, with the traits of petgraph.
//!
//! **Algorithm.** [`Digraph::components`] is Kosaraju's: a depth-first search numbers the vertices in postorder, then each vertex in
//! reverse postorder collects, over reversed edges, the vertices of its strongly connected component. Both passes are linear. Components
//! come out in topological order.
//!
//! **Example.** `0 → 1`, `1 → 2`, `2 → 1`, `2 → 3`: the components from 0 are `{0}`, `{1, 2}`, `{3}`.

use petgraph::{
    Direction,
    visit::{
        Dfs, DfsPostOrder, GraphBase, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, NodeCount, NodeIndexable, Reversed,
        VisitMap, Visitable, Walker,
    },
};

use trellis_base::index::to_u32;

/// Directed graph over the numbers below a count.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Digraph {
    pub(crate) forward: Adjacency,
    pub(crate) backward: Adjacency,
}

/// Neighbour lists in one array, in the order in which the pairs were given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl Adjacency {
    pub(crate) fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut all = vec![0; starts[count] as usize];
        for (from, to) in pairs {
            all[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Self { starts, all }
    }

    pub(crate) fn of(&self, at: u32) -> std::iter::Copied<std::slice::Iter<'_, u32>> {
        self.all[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize].iter().copied()
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Digraph {
    pub(crate) fn new(count: usize, pairs: &[(u32, u32)]) -> Self {
        let forward = Adjacency::new(count, pairs.iter().copied());
        let backward = Adjacency::new(count, pairs.iter().map(|&(from, to)| (to, from)));
        Self { forward, backward }
    }

    /// Returns all vertices: first those that `from` reaches, in reverse postorder, then the others.
    pub(crate) fn order(&self, from: u32) -> Vec<u32> {
        let mut order: Vec<u32> = DfsPostOrder::new(self, from).iter(self).collect();
        order.reverse();
        let mut seen = self.visit_map();
        for at in &order {
            seen.visit(*at);
        }
        order.extend(self.node_identifiers().filter(|at| !seen.is_visited(at)));
        order
    }

    /// Returns the strongly connected components of the vertices that `from` reaches.
    pub(crate) fn components(&self, from: u32) -> Components {
        let mut order: Vec<u32> = DfsPostOrder::new(self, from).iter(self).collect();
        order.reverse();
        let mut of: Vec<Option<u32>> = vec![None; self.forward.count()];
        let mut is_reached = self.visit_map();
        for at in &order {
            is_reached.visit(*at);
        }
        let mut count = 0;
        let mut sizes = Vec::new();
        // Over reversed edges a vertex reaches its own component, and components that have been collected.
        let mut walk = Dfs::empty(Reversed(self));
        for at in &order {
            if of[*at as usize].is_some() {
                continue;
            }
            walk.move_to(*at);
            sizes.push(0_u32);
            while let Some(member) = walk.next(Reversed(self)) {
                if is_reached.is_visited(&member) {
                    of[member as usize] = Some(count);
                    sizes[count as usize] += 1;
                }
            }
            count += 1;
        }
        Components::new(&order, of, &sizes)
    }
}

/// Strongly connected components, in topological order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Components {
    starts: Vec<u32>,
    members: Vec<u32>,
    of: Vec<Option<u32>>,
}

impl Components {
    fn new(order: &[u32], of: Vec<Option<u32>>, sizes: &[u32]) -> Self {
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        let mut end = 0;
        starts.push(end);
        starts.extend(sizes.iter().map(|size| {
            end += size;
            end
        }));
        let mut next = starts.clone();
        let mut members = vec![0; order.len()];
        for at in order {
            if let Some(part) = of[*at as usize] {
                let place = &mut next[part as usize];
                members[*place as usize] = *at;
                *place += 1;
            }
        }
        Self { starts, members, of }
    }

    pub(crate) fn count(&self) -> u32 {
        to_u32(self.starts.len() - 1)
    }

    /// Returns the component of a vertex; `None` if it is not reached.
    pub(crate) fn of(&self, at: u32) -> Option<u32> {
        self.of[at as usize]
    }

    /// Returns the vertices of a component, in reverse postorder of the whole graph.
    pub(crate) fn members(&self, part: u32) -> &[u32] {
        &self.members[self.starts[part as usize] as usize..self.starts[part as usize + 1] as usize]
    }
}

impl GraphBase for Digraph {
    type EdgeId = (u32, u32);
    type NodeId = u32;
}

impl<'w> IntoNeighbors for &'w Digraph {
    type Neighbors = std::iter::Copied<std::slice::Iter<'w, u32>>;

    fn neighbors(self, at: u32) -> Self::Neighbors {
        self.forward.of(at)
    }
}

impl<'w> IntoNeighborsDirected for &'w Digraph {
    type NeighborsDirected = std::iter::Copied<std::slice::Iter<'w, u32>>;

    fn neighbors_directed(self, at: u32, direction: Direction) -> Self::NeighborsDirected {
        match direction {
            Direction::Outgoing => self.forward.of(at),
            Direction::Incoming => self.backward.of(at),
        }
    }
}

impl NodeCount for Digraph {
    fn node_count(&self) -> usize {
        self.forward.count()
    }
}

impl NodeIndexable for Digraph {
    fn node_bound(&self) -> usize {
        self.forward.count()
    }

    fn to_index(&self, at: u32) -> usize {
        at as usize
    }

    fn from_index(&self, index: usize) -> u32 {
        to_u32(index)
    }
}

impl IntoNodeIdentifiers for &Digraph {
    type NodeIdentifiers = std::ops::Range<u32>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        0..to_u32(self.forward.count())
    }
}

impl Visitable for Digraph {
    type Map = VisitedPoints;

    fn visit_map(&self) -> VisitedPoints {
        VisitedPoints(vec![false; self.forward.count()])
    }

    fn reset_map(&self, map: &mut VisitedPoints) {
        map.0.clear();
        map.0.resize(self.forward.count(), false);
    }
}

/// Vertices that a search has visited.
pub(crate) struct VisitedPoints(Vec<bool>);

impl VisitMap<u32> for VisitedPoints {
    fn visit(&mut self, at: u32) -> bool {
        !std::mem::replace(&mut self.0[at as usize], true)
    }

    fn is_visited(&self, at: &u32) -> bool {
        self.0[*at as usize]
    }

    fn unvisit(&mut self, at: u32) -> bool {
        std::mem::replace(&mut self.0[at as usize], false)
    }
}
