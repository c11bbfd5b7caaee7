//! Intermediate representation: the instructions at each point, in the order in which the engine executes them.
//!
//! Lowering (`lower`) translates a compiled node into three kinds of ranges over one list of [`Instr`]: entering it up to its wait, taking
//! each reply up to the choice of an edge, and ending the session there. A place that reads is a [`ReadSite`]. This form borrows from the
//! program; the search executes it, and the reports quote it. [`interned`] is the same program with interned operands, which the fixpoint
//! executes and which survives edits. The frontmatter is out of reach here: a default, an option or an approval is already a write, an edge
//! or a template.
//!
//! **Why it is sound.** Every read, write and check of the engine has an instruction at its position. An expression that the templates
//! cannot follow is a site without a path that is followed, not a site left out.
//!
//! **Invariant:** the order is that of `engine/enter.rs`, `choose.rs` and `result.rs`.
//!
//! **Example.** A node with `required_context: [name]`, `save_to: age` and the content `Hello {{ name }}` enters with `Read(name as
//! required)`, `Read(name in the content)`, and takes its answer with `Write(age)`.

pub(super) mod arithmetic;
pub(super) mod intern;
pub(super) mod interned;
pub(super) mod keys;
mod lower;
mod read_site;
pub(super) mod source;
pub(super) mod tables;

use std::{ops::Range, sync::Arc};

pub(crate) use self::lower::{each_followed, is_of_branch, part_of_result};
pub(crate) use self::read_site::{LocaleScope, ReadKind, ReadSite, assert_span, edge_span};
use crate::dataflow::index::{EdgeIndex, OpIndex, ReplyIndex, SiteIndex, to_u32};
use trellis_base::{
    path::{KeyPath, Segment},
    schema::Schema,
    span::Span,
    template::{Demand, ElementStep, KindSet, Shape, Template, Used},
};
use trellis_engine::program::{
    Call, Callee, Choice, Failure, Guard, ITEM, Listen, Node, NodeIndex, Outcome, Part, Point, PointIndex, Program, Reason, Reply, Role,
    Speech, Target, Write, WriteSource,
};

/// One instruction.
#[derive(Clone)]
pub(crate) enum Instr<'p> {
    /// Reads a site: its path must be present.
    Read(SiteIndex),
    /// Writes, after it read its `reads`. A `default_context` writes only if the key is absent.
    Write { write: &'p Write, reads: Range<u32> },
    /// Checks a key against its `context_schema`, if the key is present. `index` counts the node's list.
    Fit { schema: &'p Schema, node: NodeIndex, index: u32 },
    /// Evaluates the condition of a part of the content. `site` is the path that the condition cannot be evaluated without.
    Ask { guard: &'p Guard, site: Option<SiteIndex> },
    /// Checks an `assert`. `index` counts the node's list.
    Assert { guard: &'p Guard, node: NodeIndex, index: u32 },
    /// Calls a tool or a graph with its arguments.
    Args { call: &'p Call },
    /// Calls the graph that undoes a branch of `parallel`, with arguments that may be of the branch's result.
    Undo { branch: &'p Call, undo: &'p Call },
}

/// Instructions of one point. Sites and ranges count from the first of the point.
pub(crate) struct PointIr<'p> {
    pub(crate) program: &'p Program,
    /// Document that holds `before_each`, by graph.
    gates: Vec<u32>,
    pub(crate) ops: Vec<Instr<'p>>,
    pub(crate) sites: Vec<ReadSite<'p>>,
    /// Paths whose types matter although no read of them can fail.
    pub(crate) follows: Vec<&'p KeyPath>,
    /// Instructions of entering, up to the wait of the point.
    pub(crate) entering: Range<u32>,
    /// Instructions of each reply, up to the choice of an edge.
    pub(crate) replying: Vec<Range<u32>>,
    /// Instructions of ending the session at a terminal.
    pub(crate) ending: Range<u32>,
    /// Sites that the condition of each edge cannot be evaluated without. Tests of presence have none.
    pub(crate) guards: Vec<Range<u32>>,
}

impl<'p> PointIr<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let (ops, sites, follows, replying, guards) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { program, gates: gate_documents(program), ops, sites, follows, entering: 0..0, replying, ending: 0..0, guards }
    }

    /// Replaces the contents by the instructions of the point `at`.
    pub(crate) fn read(&mut self, at: PointIndex) {
        let program = self.program;
        self.ops.clear();
        self.sites.clear();
        self.follows.clear();
        self.replying.clear();
        self.guards.clear();
        self.enter(at);
        self.entering = 0..self.now();
        let replies = program.replies(&program.point(at).replies);
        let mut edges = edges_of(replies);
        for reply in replies {
            let from = self.now();
            self.reply(at, reply);
            self.replying.push(from..self.now());
            while edges.start < reply.edges.end {
                self.edge(at, edges.start);
                edges.start += 1;
            }
        }
        let from = self.now();
        self.end(at);
        self.ending = from..self.now();
    }

    /// Returns the index of the next instruction.
    fn now(&self) -> u32 {
        to_u32(self.ops.len())
    }

    fn site(&mut self, path: &'p KeyPath, document: u32, kind: ReadKind<'p>) {
        self.sites.push(ReadSite { path, document, kind });
    }

    fn next_site(&self) -> SiteIndex {
        SiteIndex(to_u32(self.sites.len()))
    }
}

/// Returns the edges of all replies of a point. They are contiguous, and several replies may share some of them.
pub(crate) fn edges_of(replies: &[Reply]) -> Range<u32> {
    let start = replies.first().map_or(0, |reply| reply.edges.start);
    start..replies.iter().map(|reply| reply.edges.end).max().unwrap_or(start)
}

/// Indices of the first instruction and the first read site of a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstIndices {
    pub(crate) op: OpIndex,
    pub(crate) site: SiteIndex,
}

/// Instructions of the whole program, by point, reply and edge.
pub(crate) struct Ir<'p> {
    pub(crate) program: &'p Program,
    pub(crate) ops: Vec<Instr<'p>>,
    pub(crate) sites: Vec<ReadSite<'p>>,
    entering: Vec<Range<u32>>,
    replying: Vec<Range<u32>>,
    ending: Vec<Range<u32>>,
    guards: Vec<Range<u32>>,
    /// First instruction and first site of each point.
    firsts: Vec<FirstIndices>,
}

impl<'p> Ir<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let mut ir = Self {
            program,
            ops: Vec::new(),
            sites: Vec::new(),
            entering: Vec::with_capacity(program.points.len()),
            replying: vec![0..0; program.replies.len()],
            ending: Vec::with_capacity(program.points.len()),
            guards: vec![0..0; program.edges.len()],
            firsts: Vec::with_capacity(program.points.len()),
        };
        let mut point_ir = PointIr::new(program);
        for (at, point) in (0..).map(PointIndex).zip(&program.points) {
            point_ir.read(at);
            ir.add(point, &point_ir);
        }
        ir
    }

    fn add(&mut self, point: &Point, point_ir: &PointIr<'p>) {
        let (op, site) = (OpIndex(to_u32(self.ops.len())), SiteIndex(to_u32(self.sites.len())));
        let moved = |range: &Range<u32>, by: u32| range.start + by..range.end + by;
        self.firsts.push(FirstIndices { op, site });
        self.ops.extend(point_ir.ops.iter().map(|of| match of {
            Instr::Read(at) => Instr::Read(at.after(site)),
            Instr::Ask { guard, site: at } => Instr::Ask { guard, site: at.map(|at| at.after(site)) },
            Instr::Write { write, reads } => Instr::Write { write, reads: moved(reads, site.0) },
            other => other.clone(),
        }));
        self.sites.extend_from_slice(&point_ir.sites);
        self.entering.push(moved(&point_ir.entering, op.0));
        self.ending.push(moved(&point_ir.ending, op.0));
        for (reply, range) in point.replies.clone().zip(&point_ir.replying) {
            self.replying[reply as usize] = moved(range, op.0);
        }
        for (edge, range) in edges_of(self.program.replies(&point.replies)).zip(&point_ir.guards) {
            self.guards[edge as usize] = moved(range, site.0);
        }
    }

    /// Returns the index of the first instruction of a point, and of its first site.
    pub(crate) fn firsts(&self, point: PointIndex) -> FirstIndices {
        self.firsts[point.0 as usize]
    }

    /// Returns the instructions of entering a point, up to its wait.
    pub(crate) fn entering(&self, point: PointIndex) -> Range<u32> {
        self.entering[point.0 as usize].clone()
    }

    /// Returns the sites of a point.
    pub(crate) fn sites_of(&self, point: PointIndex) -> impl Iterator<Item = SiteIndex> + use<> {
        let at = point.index();
        let end = self.firsts.get(at + 1).map_or(to_u32(self.sites.len()), |first| first.site.0);
        (self.firsts[at].site.0..end).map(SiteIndex)
    }

    /// Returns the instructions of a reply, up to the choice of an edge.
    pub(crate) fn replying(&self, reply: ReplyIndex) -> Range<u32> {
        self.replying[reply.index()].clone()
    }

    /// Returns the instructions of ending at a point; none if `target` is not the end that the author of a terminal wrote.
    pub(crate) fn ending(&self, point: PointIndex, target: &Target) -> Range<u32> {
        if ends_well(target) { self.ending[point.0 as usize].clone() } else { 0..0 }
    }

    /// Returns the sites that the condition of an edge cannot be evaluated without. Tests of presence have none.
    pub(crate) fn guarded(&self, edge: EdgeIndex) -> impl Iterator<Item = SiteIndex> + use<> {
        self.guards[edge.index()].clone().map(SiteIndex)
    }
}

/// Returns true if a target is the end that the author of a terminal wrote.
pub(crate) fn ends_well(target: &Target) -> bool {
    matches!(target, Target::End(Reason::Finished | Reason::Failed(Failure::End)))
}

/// Path of the number of entries, which is present on nodes with `max_visits` (language 4.2).
pub(crate) const VISITS: &str = "sys.visits";

/// Greatest number of segments of a path that is followed.
pub(crate) const MAX_PATH_SEGMENTS: usize = 16;

/// Splits a path into the name of an environment key and the segments below it. `None` for `sys` itself, for its parts that are always
/// present (`session`, `node`, `step`), and for paths of more than [`MAX_PATH_SEGMENTS`] segments.
pub(crate) fn split(path: &KeyPath) -> Option<(&str, &[Segment])> {
    if path.segments().len() > MAX_PATH_SEGMENTS {
        return None;
    }
    match (&**path.root(), path.rest()) {
        ("sys", [Segment::Key(key), rest @ ..]) => match &**key {
            "ans" => Some(("sys.ans", rest)),
            "error" => Some(("sys.error", rest)),
            "rollback" => Some(("sys.rollback", rest)),
            "visits" => Some((VISITS, rest)),
            "session" | "node" | "step" => None,
            // No other part of `sys` is ever present.
            _ => Some(("sys", path.rest())),
        },
        ("sys", _) => None,
        (root, rest) => Some((root, rest)),
    }
}

/// Returns the document that holds `before_each`, by graph.
fn gate_documents(program: &Program) -> Vec<u32> {
    program.graphs.iter().map(|graph| program.gate_document(graph)).collect()
}
