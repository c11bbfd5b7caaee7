//! The graph as petgraph sees it: points as nodes, the program's own ways as edges.
//!
//! **Invariant:** nothing is copied but an index of who leads where, so that the checks and the engine read the same ways.

use petgraph::{
    Direction,
    visit::{
        DfsPostOrder, GraphBase, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, NodeCount, NodeIndexable, VisitMap, Visitable,
        Walker,
    },
};

use crate::program::{Call, Callee, Failure, NodeIndex, Outcome, PointIndex, Program, Reason, Role, Target, Way, Why};

/// The program's points and ways with their neighbours in both directions.
pub(super) struct Flow<'p> {
    pub(super) program: &'p Program,
    forward: Neighbours,
    backward: Neighbours,
    /// Whether some way rolls back.
    pub(super) rolls_back: bool,
}

/// Neighbour lists of all points in one array.
pub(super) struct Neighbours {
    starts: Vec<u32>,
    points: Vec<u32>,
}

impl Neighbours {
    pub(super) fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut points = vec![0; starts[count] as usize];
        for (from, to) in pairs {
            points[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Self { starts, points }
    }

    pub(super) fn of(&self, point: u32) -> std::iter::Copied<std::slice::Iter<'_, u32>> {
        self.points[self.starts[point as usize] as usize..self.starts[point as usize + 1] as usize].iter().copied()
    }
}

impl<'p> Flow<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let mut pairs = Vec::with_capacity(program.edges.len());
        for index in 0..program.points.len() {
            let from = u32::try_from(index).unwrap_or(u32::MAX);
            successors(program, PointIndex(from), &mut |to| pairs.push((from, to.0)));
        }
        let rolls_back = program.edges.iter().any(|edge| edge.to == Target::Rollback);
        let count = program.points.len();
        let forward = Neighbours::new(count, pairs.iter().copied());
        let backward = Neighbours::new(count, pairs.iter().map(|&(from, to)| (to, from)));
        Self { program, forward, backward, rolls_back }
    }

    /// The point where a node is entered.
    pub(super) fn entry(&self, node: NodeIndex) -> u32 {
        let node = self.program.node(node);
        node.gate.unwrap_or(node.body).0
    }

    /// The points from which a point can be reached, itself among them.
    pub(super) fn leading_to(&self, point: u32) -> Vec<bool> {
        let mut seen = vec![false; self.program.points.len()];
        let mut open = vec![point];
        seen[point as usize] = true;
        while let Some(point) = open.pop() {
            for before in self.backward.of(point) {
                if !std::mem::replace(&mut seen[before as usize], true) {
                    open.push(before);
                }
            }
        }
        seen
    }

    /// All points, first those that `from` leads to: itself, then, but for loops, each behind all that lead to it.
    pub(super) fn order(&self, from: u32) -> Vec<u32> {
        let mut order: Vec<u32> = DfsPostOrder::new(self, from).iter(self).collect();
        order.reverse();
        let mut seen = Seen(vec![false; self.program.points.len()]);
        for point in &order {
            seen.visit(*point);
        }
        order.extend((0..u32::try_from(seen.0.len()).unwrap_or(u32::MAX)).filter(|point| !seen.is_visited(point)));
        order
    }

    /// Whether a session can end at a point by what its author wrote: a terminal, `fail`, `rollback`, `max_visits`.
    pub(super) fn ends(&self, point: PointIndex) -> bool {
        self.program.ways(point).any(|way| match &way.edge.to {
            Target::End(Reason::Failed(Failure::MaxVisits)) => true,
            Target::End(_) => way.edge.why != Why::Rule,
            Target::Rollback => self.unwound(point).is_none(),
            _ => false,
        })
    }

    /// Where a rollback from a point leads, if not to the end.
    fn unwound(&self, point: PointIndex) -> Option<PointIndex> {
        unwound(self.program, point)
    }
}

fn unwound(program: &Program, point: PointIndex) -> Option<PointIndex> {
    let node = program.node(program.point(point).node);
    program.unwound_ways(node.graph).find_map(|way| match way.edge.to {
        Target::Point(point) => Some(point),
        _ => None,
    })
}

/// Every point that a point leads to: by its ways, by a rollback, and by calling a child graph.
pub(super) fn successors(program: &Program, from: PointIndex, see: &mut impl FnMut(PointIndex)) {
    for Way { edge, .. } in program.ways(from) {
        match &edge.to {
            Target::Point(point) | Target::Proceed(point) => see(*point),
            Target::Again => see(from),
            Target::Rollback => unwound(program, from).into_iter().for_each(&mut *see),
            Target::End(_) => {}
        }
    }
    let node = program.node(program.point(from).node);
    if let Role::Act(call) = &node.role {
        children(call, &mut |child| {
            let child = program.node(child);
            see(child.gate.unwrap_or(child.body));
        });
    }
}

/// The nodes that a call begins children at.
fn children(call: &Call, see: &mut impl FnMut(NodeIndex)) {
    match &call.callee {
        Callee::Graph(node) => see(*node),
        Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| {
            if let Callee::Graph(node) = branch.callee {
                see(node);
            }
        }),
        Callee::Tool(_) | Callee::Each(..) => {}
    }
}

/// Whether a session can stop at a point: it waits there, or has to be entered through a call.
pub(super) fn stops(program: &Program, point: PointIndex) -> bool {
    program.ways(point).any(|way| !matches!(way.reply.on, Outcome::Pass | Outcome::Exhausted))
}

impl GraphBase for Flow<'_> {
    type EdgeId = (u32, u32);
    type NodeId = u32;
}

impl<'f> IntoNeighbors for &'f Flow<'_> {
    type Neighbors = std::iter::Copied<std::slice::Iter<'f, u32>>;

    fn neighbors(self, point: u32) -> Self::Neighbors {
        self.forward.of(point)
    }
}

impl<'f> IntoNeighborsDirected for &'f Flow<'_> {
    type NeighborsDirected = std::iter::Copied<std::slice::Iter<'f, u32>>;

    fn neighbors_directed(self, point: u32, direction: Direction) -> Self::NeighborsDirected {
        match direction {
            Direction::Outgoing => self.forward.of(point),
            Direction::Incoming => self.backward.of(point),
        }
    }
}

impl NodeCount for Flow<'_> {
    fn node_count(&self) -> usize {
        self.program.points.len()
    }
}

impl NodeIndexable for Flow<'_> {
    fn node_bound(&self) -> usize {
        self.program.points.len()
    }

    fn to_index(&self, point: u32) -> usize {
        point as usize
    }

    fn from_index(&self, index: usize) -> u32 {
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}

impl IntoNodeIdentifiers for &Flow<'_> {
    type NodeIdentifiers = std::ops::Range<u32>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        0..u32::try_from(self.program.points.len()).unwrap_or(u32::MAX)
    }
}

impl Visitable for Flow<'_> {
    type Map = Seen;

    fn visit_map(&self) -> Seen {
        Seen(vec![false; self.program.points.len()])
    }

    fn reset_map(&self, map: &mut Seen) {
        map.0.clear();
        map.0.resize(self.program.points.len(), false);
    }
}

/// Which points a walk has seen.
pub(super) struct Seen(pub(super) Vec<bool>);

impl VisitMap<u32> for Seen {
    fn visit(&mut self, point: u32) -> bool {
        !std::mem::replace(&mut self.0[point as usize], true)
    }

    fn is_visited(&self, point: &u32) -> bool {
        self.0[*point as usize]
    }

    fn unvisit(&mut self, point: u32) -> bool {
        std::mem::replace(&mut self.0[point as usize], false)
    }
}
