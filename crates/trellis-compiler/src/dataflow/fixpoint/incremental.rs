//! Incremental analysis after edits of nodes.
//!
//! **Algorithm.** The operations of the edited nodes are interned again and compared. Equal operations need one execution, to renew
//! diagnostics. So do operations that differ only in reads which refine nothing, also in a loop: they leave every environment as it was.
//! Otherwise the component of the point is solved again, then each later component into which something else flows. A key that gains its
//! first reader, or loses its last, counts as a change of every point that mentions it or calls a child.
//!
//! **Soundness.** The solution of a component is a function of its operations and inputs, and it is either computed from scratch or reused
//! as a whole.
//!
//! **Invariant:** if the effects of an edit are unclear, the analysis starts from scratch.
//!
//! **Example.** Adding `{{ name }}` where `name` is present at all times executes that point alone; where `name` can be absent, the read
//! refines it, and its component is solved again.

use super::{worklist::differences, *};
use crate::dataflow::index::to_u32;

impl<'a, 'p> Analysis<'a, 'p> {
    /// Continues from an earlier analysis. `fresh` are the nodes that were edited. `None` if a new analysis is needed: the tables have
    /// grown too large, the number of points changed, or calls did.
    pub(crate) fn restart(program: &'p Program, cfg: &Cfg<'_>, tainted: &'a [bool], cache: AnalysisCache, fresh: &[u32]) -> Option<Self> {
        let AnalysisCache { types, tables, solved, size, .. } = cache;
        if size > solved.size * 2 + MIN_UNUSED_TYPES || tables.ops.is_worn() || solved.at.len() != program.points.len() {
            return None;
        }
        let mut known = Self { program, types, tables, solved, tainted, touched: Vec::new(), touching: None };
        let (mut changed, processed) = known.update_points(fresh)?;
        let turned_tainted = known.solved.tainted.iter().zip(tainted).enumerate().filter(|(_, (before, now))| before != now);
        changed.extend(turned_tainted.map(|(at, _)| to_u32(at)));
        known.solved.tainted = tainted.to_vec();
        let mut open = known.rebuild_digraph(cfg);
        let begun = known.begin();
        if begun != known.solved.begun {
            known.solved.begun = begun;
            changed.push(known.first().0);
        }
        for part in changed.iter().filter_map(|point| known.solved.parts.of(*point)) {
            open[part as usize] = true;
        }
        known.solve(open);
        // Spans and texts may have changed. Executing a point twice is harmless.
        for point in processed {
            known.touched.push(point.0);
            let before = known.solved.onward[point.index()].clone();
            known.process_again(point, &mut UpperBound::default(), true);
            differences(&before, &known.solved.onward[point.index()], &mut |_| debug_assert!(false, "an edit of words leads elsewhere"));
        }
        Some(known)
    }

    /// Interns the edited nodes again. Returns the points whose operations changed, and those that only need new diagnostics. `None` if a
    /// new analysis is needed.
    fn update_points(&mut self, fresh: &[u32]) -> Option<(Vec<u32>, Vec<PointIndex>)> {
        let program = self.program;
        let (mut edited, mut turned) = (Vec::new(), Vec::new());
        let mut reader = Interner {
            point_ir: crate::dataflow::ir::PointIr::new(program),
            types: &mut self.types,
            tables: &mut self.tables,
            undone: None,
        };
        for node in fresh {
            let node = program.node(NodeIndex(*node));
            edited.extend(node.gate.into_iter().chain([node.body]).map(|point| (point, reader.read(point))));
        }
        // New operations are counted first, so that a key that is read before and after the edit does not lose its slot in between.
        edited.iter().for_each(|(_, point_ops)| self.tables.count(point_ops, &mut turned));
        for (point, _) in &edited {
            let old = self.tables.ops.point_ops(*point).clone();
            self.tables.discount(&old, &mut turned);
        }
        if self.tables.keys.is_full() {
            return None;
        }
        let (mut changed, mut processed) = (Vec::new(), Vec::new());
        for (point, point_ops) in edited {
            let old = self.tables.ops.point_ops(point).clone();
            // The reachable points and the callers of a child are not updated incrementally.
            let ops = &self.tables.ops;
            let is_called = !self.solved.children.is_empty();
            if !ops.call_alike(&old, &point_ops) || (is_called && !ops.lead_alike(&old, &point_ops)) {
                return None;
            }
            let is_same = self.tables.ops.are_alike(&old, &point_ops)
                || (turned.is_empty()
                    && self.tables.ops.is_same_but_for_reads(&old, &point_ops)
                    && !self.learns(point, &old)
                    && !self.learns(point, &point_ops));
            self.tables.ops.replace(point, point_ops);
            if is_same {
                processed.push(point);
            } else {
                changed.push(point.0);
            }
        }
        if !turned.is_empty() {
            let ops = &self.tables.ops;
            let depends = ops.points().filter(|point| ops.depends_on(ops.point_ops(*point), &turned));
            changed.extend(depends.map(|point| point.0));
        }
        Some((changed, processed))
    }

    /// Returns true if a read at a point refines its environment.
    fn learns(&mut self, point: PointIndex, point_ops: &PointOps) -> bool {
        match self.solved.at[point.index()].clone() {
            Some(env) => self.look(point, point_ops, env).learned,
            None => false,
        }
    }

    /// Rebuilds the components after edges changed. Returns, for each, true if its points did not form one component in the same order
    /// before.
    fn rebuild_digraph(&mut self, cfg: &Cfg<'_>) -> Vec<bool> {
        let before = Arc::clone(&self.solved.parts);
        if *self.solved.edges == *cfg.digraph {
            return vec![false; before.count() as usize];
        }
        self.solved.edges = Arc::clone(&cfg.digraph);
        self.build_digraph();
        let parts = Arc::clone(&self.solved.parts);
        let is_other = |part: u32| {
            let members = parts.members(part);
            members.first().and_then(|first| before.of(*first)).is_none_or(|old| before.members(old) != members)
        };
        let mut open: Vec<bool> = (0..parts.count()).map(is_other).collect();
        // Points that became unreachable lose their environment, their observations and their edges.
        for (at, point) in (0..).zip(0..self.solved.at.len()) {
            if before.of(at).is_some() && parts.of(at).is_none() {
                self.touched.push(at);
                self.solved.at[point] = None;
                self.solved.notes[point] = Box::default();
                for (to, _) in std::mem::take(&mut self.solved.onward[point]) {
                    if let Some(part) = parts.of(to.0) {
                        open[part as usize] = true;
                    }
                }
            }
        }
        open
    }
}

/// Number of unused table entries that edits may leave behind in any case.
const MIN_UNUSED_TYPES: usize = 4_000;
