//! Forward taint of keys: the unchecked reads that exist only because of nodes with mistakes.
//!
//! **Algorithm.** For each key that an unchecked read mentions, a reachability search from the points that taint it, along all edges,
//! stopped by replies that overwrite the whole key with an answer, a result or a literal. **Termination.** Each point is visited once for
//! each key. After [`KEYS`] keys, every further one is taken to be tainted everywhere after a mistake. **Soundness.** A computed value may
//! copy a tainted key, so it counts as a source. The worst consequence of imprecision is an unchecked read that is not listed until the
//! mistake is corrected.
//!
//! **Example.** A node with a misspelt tool saves its result to `a`. `{{ a.id }}` after it is not reported as unchecked.

use rustc_hash::FxHashMap;

use crate::{UncheckedRead, cfg::Cfg, dataflow::domain::external};
use trellis_base::{scope::RESERVED, template::Shape, value::Key};
use trellis_engine::program::{Callee, PointIndex, Program, Reply, Write, WriteSource, WriteTarget};

/// Greatest number of keys that are searched; of more, every read after a mistake is taken to follow from it.
const MAX_TAINTED_KEYS: usize = 64;

/// Taint that nodes with mistakes leave in keys.
pub(crate) struct TaintFlow<'a> {
    program: &'a Program,
    /// Points with mistakes.
    tainted: &'a [bool],
    /// Points with mistakes, and points with an unresolved call.
    broken: Vec<bool>,
    /// Points that are reachable from those.
    reachable: Vec<bool>,
    /// Points that the taint of a key reaches, by key.
    left: FxHashMap<Key, Vec<bool>>,
    /// True if a reachable point calls a child, which carries values along no edge.
    calls: bool,
}

impl<'a> TaintFlow<'a> {
    pub(crate) fn new(program: &'a Program, cfg: &Cfg<'_>, tainted: &'a [bool], broken: Vec<bool>) -> Self {
        let reachable = cfg.reachable_from(&broken);
        let is_child = |at: u32| external::call_at(program, PointIndex(at)).is_some_and(|call| matches!(call.callee, Callee::Graph(_)));
        let calls = (0..).zip(&reachable).any(|(at, reachable)| *reachable && is_child(at));
        Self { program, tainted, broken, reachable, left: FxHashMap::default(), calls }
    }

    /// Returns true if a read at a point is unchecked only because of a node with mistakes.
    pub(crate) fn explains(&mut self, point: u32, read: &UncheckedRead) -> bool {
        let root = read.path.root();
        if !self.reachable[point as usize] {
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

    /// Returns the points that the taint of a key reaches.
    fn leaves(&self, key: &Key) -> Vec<bool> {
        let program = self.program;
        let mut stands = vec![false; program.points.len()];
        let mut open: Vec<u32> = Vec::new();
        for (at, point) in (0..).zip(&program.points).filter(|(at, _)| self.reachable[*at as usize]) {
            let brings = |write: &Write| writes(write, key) && (self.broken[at as usize] || is_copied(write));
            let node = program.node(point.node);
            let writes = program.replies(&point.replies).iter().flat_map(|reply| &reply.update).chain(&node.entry.defaults);
            if self.tainted[at as usize] || { writes }.any(brings) {
                stands[at as usize] = true;
                open.push(at);
            }
        }
        while let Some(at) = open.pop() {
            let point = PointIndex(at);
            for on in program.point(point).replies.clone() {
                if !self.tainted[at as usize] && self.replaces(at, &program.replies[on as usize], key) {
                    continue;
                }
                for next in Cfg::successors_on(program, point, on) {
                    if !std::mem::replace(&mut stands[next.to.index()], true) {
                        open.push(next.to.0);
                    }
                }
            }
        }
        stands
    }

    /// Returns true if a reply overwrites the whole key with an untainted value.
    fn replaces(&self, at: u32, reply: &Reply, key: &Key) -> bool {
        let is_whole = |write: &Write| matches!(&write.to, WriteTarget::Path(path) if path.is_key() && path.root() == key);
        let last = reply.update.iter().rfind(|write| writes(write, key));
        last.is_some_and(|write| is_whole(write) && !is_copied(write) && !self.broken[at as usize])
    }
}

fn writes(write: &Write, key: &Key) -> bool {
    match &write.to {
        WriteTarget::Path(path) | WriteTarget::Append(path) => path.root() == key,
        WriteTarget::Absent(absent) => absent == key,
        WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
    }
}

/// Returns true if the written value may be a copy of another key.
fn is_copied(write: &Write) -> bool {
    matches!(&write.value, WriteSource::Shape(shape) if !matches!(shape, Shape::Literal(_)))
}
