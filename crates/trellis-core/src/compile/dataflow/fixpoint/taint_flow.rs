//! Which unchecked reads only follow from nodes that could not be made out, and which would be there without them.
//!
//! What such a node leaves in a key goes on until an answer, a result or a literal takes its place.

use rustc_hash::FxHashMap;

use crate::{
    compile::{UncheckedRead, cfg::Cfg, dataflow::domain::external},
    program::{Callee, From, Place, PointIndex, Program, Reply, Target, Write},
    scope::RESERVED,
    template::Shape,
    value::Key,
};

/// Keys that are looked at; of more, every read behind such a node is taken to follow from it.
const MAX_TAINTED_KEYS: usize = 64;

/// What nodes that could not be made out leave behind.
pub(crate) struct TaintFlow<'a> {
    program: &'a Program,
    /// Points of which nothing is known.
    tainted: &'a [bool],
    /// Those, and points whose call could not be made out.
    broken: Vec<bool>,
    /// The points behind them.
    behind: Vec<bool>,
    /// Where what was left in a key may still stand.
    left: FxHashMap<Key, Vec<bool>>,
    /// Whether children carry values where no way leads.
    calls: bool,
}

impl<'a> TaintFlow<'a> {
    pub(crate) fn new(program: &'a Program, cfg: &Cfg<'_>, tainted: &'a [bool], broken: Vec<bool>) -> Self {
        let behind = cfg.reachable_from(&broken);
        let is_child = |at: u32| external::call_at(program, PointIndex(at)).is_some_and(|call| matches!(call.callee, Callee::Graph(_)));
        let calls = (0..).zip(&behind).any(|(at, behind)| *behind && is_child(at));
        Self { program, tainted, broken, behind, left: FxHashMap::default(), calls }
    }

    /// Whether a read at a point is unchecked only because of such a node.
    pub(crate) fn explains(&mut self, point: u32, read: &UncheckedRead) -> bool {
        let root = read.path.root();
        if !self.behind[point as usize] {
            return false;
        }
        if self.broken[point as usize] || self.calls || RESERVED.contains(&&**root) {
            return true;
        }
        if !self.left.contains_key(root) {
            if self.left.len() == MAX_TAINTED_KEYS {
                return true;
            }
            let left = self.leaves(root);
            self.left.insert(root.clone(), left);
        }
        self.left[root][point as usize]
    }

    /// Where what was left in a key may still stand.
    fn leaves(&self, key: &Key) -> Vec<bool> {
        let program = self.program;
        let mut stands = vec![false; program.points.len()];
        let mut open: Vec<u32> = Vec::new();
        for (at, point) in (0..).zip(&program.points).filter(|(at, _)| self.behind[*at as usize]) {
            let brings = |write: &Write| writes(write, key) && (self.broken[at as usize] || is_copied(write));
            let node = program.node(point.node);
            let writes = program.replies(&point.replies).iter().flat_map(|reply| &reply.update).chain(&node.entry.defaults);
            if self.tainted[at as usize] || { writes }.any(brings) {
                stands[at as usize] = true;
                open.push(at);
            }
        }
        while let Some(at) = open.pop() {
            for reply in program.replies(&program.point(PointIndex(at)).replies) {
                if !self.tainted[at as usize] && self.replaces(at, reply, key) {
                    continue;
                }
                for edge in program.edges_of(reply) {
                    let graph = program.node(program.point(PointIndex(at)).node).graph;
                    let mut see = |to: PointIndex| {
                        if !std::mem::replace(&mut stands[to.index()], true) {
                            open.push(to.0);
                        }
                    };
                    match edge.to {
                        Target::Point(to) | Target::Proceed(to) => see(to),
                        Target::Rollback => program.unwound_ways(graph).for_each(|way| {
                            if let Target::Point(to) = way.edge.to {
                                see(to);
                            }
                        }),
                        Target::Again | Target::End(_) => {}
                    }
                }
            }
        }
        stands
    }

    /// Whether a reply puts something else in the place of a key, whatever was there.
    fn replaces(&self, at: u32, reply: &Reply, key: &Key) -> bool {
        let is_whole = |write: &Write| matches!(&write.to, Place::Path(path) if path.is_key() && path.root() == key);
        let last = reply.update.iter().rfind(|write| writes(write, key));
        last.is_some_and(|write| is_whole(write) && !is_copied(write) && !self.broken[at as usize])
    }
}

fn writes(write: &Write, key: &Key) -> bool {
    match &write.to {
        Place::Path(path) | Place::Append(path) => path.root() == key,
        Place::Absent(absent) => absent == key,
        Place::Input | Place::Ans | Place::Error => false,
    }
}

/// Whether what is written may stand elsewhere already.
fn is_copied(write: &Write) -> bool {
    matches!(&write.value, From::Shape(shape) if !matches!(shape, Shape::Literal(_)))
}
