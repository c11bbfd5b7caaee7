//! Data analysis (language 8.1–8.3): every read finds a value of the right kind, on every path.
//!
//! ```text
//! Program ─lower─▶ ir ─transfer, join, worklist─▶ environment per point ─▶ alarms
//! alarm ─shortest path, then breadth-first symbolic search─▶ path ─concretize─▶ replay on the engine ─▶ witness
//!          └─ exhausted: refuted │ budget or precision lost: undecided
//! ```
//!
//! **Algorithm.** A path-insensitive abstract interpretation ([`fixpoint`]) over environments of types ([`domain`], [`env`]) raises alarms.
//! A path-sensitive search ([`search`]) over symbolic values ([`symbolic`]) decides each alarm: it finds a session that fails and replays
//! it on the engine, or exhausts all paths.
//!
//! **Soundness.** No alarm, no failure: the environments include every session, except where a value is unknown, and each use of such a
//! value is listed as an unchecked read. No witness, no error: the search reports a path only if the engine itself failed on it. Reads of
//! keys that nothing assigns and the findings of [`checks`] hold on every path and need no witness. An alarm that is neither witnessed nor
//! refuted is reported as `not-decided`.
//!
//! **Termination.** The lattice has finite height, and all searches of a compilation share one budget of steps.
//!
//! **Example.** "How the checker proves" in `docs/architecture.md` works a graph of five nodes through by hand.
//!
//! Dependencies run one way: `ir, domain ← env ← fixpoint`; `ir, domain ← symbolic`; `symbolic, fixpoint ← search`; `fixpoint ← checks`;
//! `fixpoint, search ← report`.

mod assigned_keys;
mod budget;
mod checks;
mod domain;
mod env;
mod fixpoint;
mod index;
mod ir;
mod report;
mod search;
mod slot;
mod symbolic;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

pub(crate) use self::fixpoint::snapshot::PointTypes;
pub(super) use self::{
    domain::{item_of, key_of},
    fixpoint::Analysis,
};

use self::{
    budget::{Budget, MAX_PASSES},
    checks::{branch_undo, declared_types, each_items, invalid_text, never_said, never_true, open_input, returned_values, schema_words},
    domain::external,
    fixpoint::{
        Alarms, AnalysisCache,
        taint_flow::TaintFlow,
        violation::{Alarm, Violation},
    },
    index::SiteIndex,
    ir::{Instr, Ir},
    report::Reporter,
    search::{
        SearchInput, SearchRun,
        entry::EntryState,
        outcome::{self, SearchOutcome},
        path::Verdict,
        shortest_paths::ShortestPaths,
    },
    symbolic::SchemaCache,
};
use super::{UncheckedRead, Unknown, cfg::Cfg, taint::Taint};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    path::KeyPath,
    schema::Schema,
    scope::RESERVED,
    span::Span,
    value::Key,
};
use trellis_engine::program::{Call, Callee, NodeIndex, PointIndex, PredicateSource, Program, WriteTarget};

/// Results of one check that the next one takes over.
#[derive(Debug)]
pub(super) struct DataflowCache {
    analysis: AnalysisCache,
    /// The unchecked reads, by their points.
    unchecked: Vec<(u32, UncheckedRead)>,
}

impl DataflowCache {
    /// Returns itself and the types of the keys at each point of the program that was analysed.
    pub(super) fn with_point_types(self, program: &Program) -> (Self, PointTypes) {
        let tainted = self.analysis.tainted().to_vec();
        let mut analysis = Analysis::reopen(program, &tainted, self.analysis);
        let types = PointTypes::of_analysis(&mut analysis);
        (Self { analysis: analysis.leave(), unchecked: self.unchecked }, types)
    }

    /// Number of points that the analysis executed.
    #[cfg(test)]
    pub(super) fn looked(&self) -> usize {
        self.analysis.processed
    }
}

/// The results of the last check, which this one takes and replaces, and the nodes that were edited since; `None` if everything is new.
pub(super) struct Reuse<'c> {
    pub(super) cache: &'c mut Option<DataflowCache>,
    pub(super) fresh: Option<&'c [u32]>,
}

/// Checks a program in which the environments of some points may be unknown. Returns the unchecked reads. `known` is an analysis that was
/// made already.
pub(super) fn check<'k>(
    program: &'k Arc<Program>,
    cfg: &Cfg<'_>,
    tainted: &'k Taint,
    known: Option<Analysis<'k, 'k>>,
    Reuse { cache, fresh }: Reuse<'_>,
    found: &mut Vec<Diagnostic>,
) -> Vec<UncheckedRead> {
    let Taint { points: tainted, is_lossy, faulty } = tainted;
    let previous = cache.take();
    let mut unchecked = Vec::new();
    let again = || {
        let (before, fresh) = previous.zip(fresh)?;
        let known = Analysis::restart(program, cfg, tainted, before.analysis, fresh)?;
        unchecked = before.unchecked;
        Some(known)
    };
    let mut known = known.or_else(again).unwrap_or_else(|| Analysis::new(program, cfg, tainted));
    let mut taint_flow = TaintFlow::new(program, cfg, tainted, unresolved_calls(program, tainted, found));
    report::unchecked::renew(&mut unchecked, &mut known);
    let all_unchecked = unchecked.clone();
    unchecked.retain(|(point, read)| !taint_flow.explains(*point, read));
    branch_undo::check(&mut known, tainted, found);
    declared_types::check(&mut known, tainted, found);
    returned_values::check(&mut known, tainted, found);
    open_input::check(program, tainted, found);
    schema_words::check(&mut known, tainted, found);
    each_items::check(&mut known, tainted, found);
    if !is_lossy {
        invalid_text::check(&mut known, tainted, found);
        never_true::never_true(&known, found);
        never_said::never_said(&mut known, tainted, found);
    }
    if known.suspects() || *is_lossy {
        let ir = Ir::new(program);
        let gathered = known.gathered(&ir);
        let faulty = is_lossy.then_some(&faulty[..]);
        let searched = Findings { program, ir: &ir, cfg, tainted, faulty }.search(&mut known, gathered, found);
        let unknown =
            |(point, site): (PointIndex, SiteIndex)| (point.0, report::unchecked::of_site(program, &ir.sites[site.index()], Unknown::Part));
        unchecked.extend(searched.unreported.iter().copied().map(unknown));
        searched.explain(&ir, cfg, &mut unchecked);
    }
    *cache = Some(DataflowCache { analysis: known.leave(), unchecked: all_unchecked });
    unchecked.into_iter().map(|(_, read)| read).collect()
}

/// Returns true for each tainted point, and for each point whose call is unresolved: nothing is claimed about its result.
fn unresolved_calls(program: &Program, tainted: &[bool], found: &[Diagnostic]) -> Vec<bool> {
    let is_of_tools = |code: Code| {
        matches!(code, Code::UnknownTool | Code::ToolCycle | Code::MissingToolLibrary | Code::NamelessTool | Code::InvalidToolSchema)
    };
    let places = || found.iter().filter(|found| is_of_tools(found.code)).filter_map(|found| found.place.as_ref());
    if places().next().is_none() {
        return tainted.to_vec();
    }
    let points = program.points.iter().zip(tainted);
    let is_broken = |node: &trellis_engine::program::Node| {
        let path = program.path_of(node);
        external::call_at(program, node.body).is_some()
            && places().any(|place| place.path == *path && node.span.start <= place.span.start && place.span.end <= node.span.end)
    };
    points.map(|(point, tainted)| *tainted || is_broken(program.node(point.node))).collect()
}

/// Inputs that all searches share.
struct Shared {
    entry_states: Vec<EntryState>,
    shortest: ShortestPaths,
    outputs: BTreeMap<PointIndex, Schema>,
    children: BTreeMap<NodeIndex, Schema>,
    cache: Rc<RefCell<SchemaCache>>,
    /// Keys that something reads.
    reads: BTreeSet<Key>,
}

/// Results of earlier searches: the paths that are missing somewhere, and the nodes where a session fails for another reason.
#[derive(Clone, Copy)]
struct FoundSoFar<'f> {
    missing: &'f [KeyPath],
    failing_nodes: &'f BTreeSet<NodeIndex>,
}

/// Context in which alarms are searched.
struct Findings<'a, 'p> {
    program: &'p Arc<Program>,
    ir: &'a Ir<'p>,
    cfg: &'a Cfg<'p>,
    tainted: &'a [bool],
    /// Documents with mistakes; `None` if no edge can be missing because of them.
    faulty: Option<&'a [u32]>,
}

impl Findings<'_, '_> {
    /// Decides all alarms in reverse postorder, then again those that only a witnessed violation before them refuted: they are searched as
    /// if that had been corrected.
    fn search(&self, known: &mut Analysis<'_, '_>, mut gathered: Alarms, found: &mut Vec<Diagnostic>) -> SearchOutcome {
        let mut entry_states = vec![EntryState::entry(self.program)];
        entry_states.extend(gathered.called.iter().map(|(point, args)| EntryState::called(*point, *args, &known.types)));
        let mut reporter = Reporter::new(self.program, self.ir, std::mem::take(&mut gathered.replies));
        let mut budget = Budget::new();
        let shared = Shared {
            shortest: ShortestPaths::new(self.program, &entry_states, |point| !self.tainted[point.index()]),
            outputs: self.outputs(known),
            children: self.children(known),
            cache: Rc::default(),
            reads: self.reads(),
            entry_states,
        };
        let mut missing: Vec<KeyPath> = Vec::new();
        let mut searched = SearchOutcome::default();
        let mut failing_nodes: BTreeSet<NodeIndex> = BTreeSet::new();
        let is_inside = |alarm: &Alarm| match alarm.violation {
            Violation::Missing(site) if !self.ir.sites[site.index()].inside().is_empty() => Some(site),
            _ => None,
        };
        let mut left = gathered.alarms;
        let set = self.set(&shared.entry_states);
        for alarm in &mut left {
            if let Violation::Missing(site) = alarm.violation
                && is_inside(alarm).is_none()
            {
                let root = self.ir.sites[site.index()].path.root();
                alarm.never |= !RESERVED.contains(&&**root) && !set.contains(root);
            }
        }
        let order = self.cfg.digraph.order(self.program.entry().body.0);
        let mut rank = vec![0_u32; order.len()];
        (0..).zip(&order).for_each(|(at, point)| rank[*point as usize] = at);
        let mut reported: BTreeMap<FilePath, Vec<(Code, Span)>> = BTreeMap::new();
        for (place, code) in found.iter().filter_map(|found| Some((found.place.as_ref()?, found.code))) {
            reported.entry(place.path.clone()).or_default().push((code, place.span));
        }
        left.retain(|alarm| !reporter.is_covered(alarm, &reported));
        left.sort_by_key(|alarm| rank[alarm.point.index()]);
        for _ in 0..MAX_PASSES {
            let before = missing.len();
            left.retain(|alarm| {
                if reporter.is_reported(alarm) {
                    searched.explained.extend(if let Violation::Operand(site) = alarm.violation { Some(site) } else { None });
                    return false;
                }
                // The guard of the read is not followed, so no path can be trusted. A key that nothing assigns is misspelt anyway.
                if matches!(alarm.violation, Violation::Missing(site) if self.ir.sites[site.index()].is_opaque()) {
                    if self.unset(alarm, &set).is_some_and(|site| self.is_unasked(site)) {
                        missing.extend(reporter.name(known, alarm, found));
                    }
                    return false;
                }
                let inside = || is_inside(alarm).map(|site| (alarm.point, site));
                let (verdict, may_be_hidden) =
                    self.one(known, alarm, &shared, FoundSoFar { missing: &missing, failing_nodes: &failing_nodes }, &mut budget);
                match verdict {
                    Verdict::Witnessed(hops, details) => {
                        if let Some(path) = reporter.report_alarm(known, alarm, &hops, &details, found) {
                            searched.missing.push((path.clone(), (!alarm.never).then_some(alarm.point)));
                            missing.push(path);
                        } else {
                            failing_nodes.insert(self.program.point(alarm.point).node);
                        }
                        false
                    }
                    Verdict::Refuted => {
                        searched.unreported.extend(inside());
                        may_be_hidden
                    }
                    verdict @ (Verdict::Masked | Verdict::Undecided) => {
                        searched.unreported.extend(inside());
                        match verdict {
                            Verdict::Undecided if self.unset(alarm, &set).is_some() => missing.extend(reporter.name(known, alarm, found)),
                            Verdict::Undecided => reporter.report_undecided(known, alarm, found),
                            _ => {}
                        }
                        false
                    }
                }
            });
            if missing.len() == before || left.is_empty() {
                break;
            }
        }
        self.misspelt_reads(known, &mut reporter, set, found);
        reporter.sum_up(found);
        outcome::drop_undecided(found);
        searched
    }

    /// Decides one alarm: tries the shortest path, then explores all. No session gets past a missing path before it, so the search is
    /// repeated as if those in `assumed_set` were present. Returns true with the verdict if a violation that is found later may change it.
    fn one(
        &self,
        known: &mut Analysis<'_, '_>,
        alarm: &Alarm,
        shared: &Shared,
        FoundSoFar { missing, failing_nodes }: FoundSoFar<'_>,
        budget: &mut Budget,
    ) -> (Verdict, bool) {
        let absent = self.may_be_absent(known, alarm);
        let returns = |point: PointIndex| {
            let call = external::call_at(self.program, point);
            let own = shared.outputs.get(&point).cloned();
            call.into_iter().flat_map(|call| call.returns.iter().cloned()).chain(own).collect()
        };
        let input = SearchInput {
            program: self.program,
            ir: self.ir,
            cfg: self.cfg,
            entry_states: &shared.entry_states,
            shortest: &shared.shortest,
            alarm,
            tainted: self.tainted,
            absent: absent.as_deref(),
            returns: &returns,
            children: &shared.children,
            reads: &shared.reads,
            failing_nodes,
        };
        let is_missing = matches!(alarm.violation, Violation::Missing(_));
        let [mut bare, mut helped] = [&[][..], missing].map(|assumed_set| SearchRun::new(&input, assumed_set, &shared.cache));
        let may_help = is_missing && !missing.is_empty();
        let straight = bare
            .spending(budget, SearchRun::try_shortest)
            .or_else(|| if may_help { helped.spending(budget, SearchRun::try_shortest) } else { None });
        if straight.is_none() && !self.may_reach_goal(known, &input, budget) {
            return (Verdict::Refuted, false);
        }
        let verdict = straight.unwrap_or_else(|| bare.spending(budget, SearchRun::explore));
        // Other missing paths matter only if the search has distinguished states by them.
        match verdict {
            Verdict::Refuted if may_help && bare.has_tracked(missing) => (helped.spending(budget, SearchRun::explore), true),
            verdict => (verdict, is_missing && missing.is_empty()),
        }
    }

    /// Returns the schemas of the results of child graphs and composite calls, by the point that calls them.
    fn outputs(&self, known: &mut Analysis<'_, '_>) -> BTreeMap<PointIndex, Schema> {
        let points = (0..self.program.points.len()).map(PointIndex::from_usize);
        let mut outputs = BTreeMap::new();
        for point in points {
            let Some(call) = external::call_at(self.program, point) else { continue };
            let schema = match call.callee {
                Callee::Graph(node) => known.output_schema(node),
                Callee::Parallel(..) | Callee::Each(..) => {
                    let of = known.answer_at(point);
                    known.types.to_schema(of)
                }
                Callee::Tool(_) => continue,
            };
            if let Ok(schema) = Schema::new(&schema) {
                outputs.insert(point, schema);
            }
        }
        outputs
    }

    /// Returns the schemas of the outputs of the children that branches of `parallel` call.
    fn children(&self, known: &Analysis<'_, '_>) -> BTreeMap<NodeIndex, Schema> {
        let points = (0..self.program.points.len()).map(PointIndex::from_usize);
        let calls = points.filter_map(|point| external::call_at(self.program, point));
        let nodes: BTreeSet<NodeIndex> = calls.filter(|call| matches!(call.callee, Callee::Parallel(..))).flat_map(Call::starts).collect();
        nodes.into_iter().filter_map(|node| Some((node, Schema::new(&known.output_schema(node)).ok()?))).collect()
    }

    /// Returns the keys that something reads. A copy of a value under any other key does not matter.
    fn reads(&self) -> BTreeSet<Key> {
        let sites = self.ir.sites.iter().flat_map(|site| {
            let tests = site.when().iter().filter_map(trellis_base::template::GuardedTest::path);
            let parts = site.calculation().into_iter().flat_map(|calculation| &*calculation.paths);
            tests.chain(parts).chain([site.path]).map(|path| path.root().clone())
        });
        let ops = self.ir.ops.iter().filter_map(|op| match op {
            Instr::Fit { node, index, .. } => self.program.node(*node).entry.types.get(*index as usize).map(|(key, _)| key.clone()),
            Instr::Assert { guard, .. } => guard.operand().map(|operand| operand.path.root().clone()),
            Instr::Write { write, .. } => match &write.to {
                WriteTarget::Path(path) | WriteTarget::Append(path) if !path.is_key() => Some(path.root().clone()),
                _ => None,
            },
            Instr::Ask { guard, .. } => guard.operand().map(|operand| operand.path.root().clone()),
            Instr::Read(_) | Instr::Args { .. } | Instr::Undo { .. } => None,
        });
        let guards = self.program.edges.iter().filter_map(|edge| edge.when.operand()).map(|operand| operand.path.root().clone());
        let asked = self.program.predicates().iter().filter_map(|predicate| match &predicate.source {
            PredicateSource::Schema(schema) => schema.source().as_map()?.get("properties")?.as_map(),
            _ => None,
        });
        sites.chain(ops).chain(guards).chain(asked.flat_map(|asked| asked.keys().cloned())).collect()
    }
}
