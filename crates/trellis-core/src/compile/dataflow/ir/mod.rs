//! What happens at each point, in the engine's order, as data: what is read, what is written, what must hold.
//!
//! Entering, taking a reply and ending are read off the compiled nodes; what a key of the frontmatter means is not known here. The analysis reads
//! one passage after the other and keeps what matters to it; the search for ways to accidents, where there is something to search, has them all.
//!
//! **Invariant:** the order is that of `engine/enter.rs`, `choose.rs` and `result.rs`.

mod arithmetic;
pub(super) mod assigned_keys;
pub(super) mod intern;
pub(super) mod interned;
pub(super) mod keys;
mod lower;
mod read_site;
mod source;
pub(super) mod tables;

use std::{ops::Range, sync::Arc};

pub(crate) use self::read_site::{LocaleScope, ReadKind, ReadSite, assert_span};
use crate::{
    compile::dataflow::index::{EdgeIndex, ReplyIndex, to_u32},
    path::{KeyPath, Segment},
    program::{
        Call, Callee, Choice, Failure, From, Guard, Listen, Node, NodeIndex, Outcome, Part, Point, PointIndex, PredicateSource, Program,
        Reason, Reply, Role, Speech, Target, Write,
    },
    schema::Schema,
    span::Span,
    syntax::document::Content,
    template::{Demand, KindSet, Shape, Step, Template, Used},
};

/// One thing that happens.
#[derive(Clone)]
pub(crate) enum Instr<'p> {
    /// Something must be there.
    Read(u32),
    /// Something is written, after what it reads; `default_context` only where nothing is.
    Write { write: &'p Write, reads: Range<u32> },
    /// A key, where it is there, must fit (`context_schema`).
    Fit { schema: &'p Schema, node: NodeIndex, index: u32 },
    /// A condition decides whether something is said; what it cannot do without is read.
    Ask { guard: &'p Guard, site: Option<u32> },
    /// A condition must hold (`assert`).
    Assert { guard: &'p Guard, node: NodeIndex, index: u32 },
    /// A tool is called with arguments.
    Args { call: &'p Call },
}

/// All that happens at one point; sites and ranges are counted from its first.
pub(crate) struct PointIr<'p> {
    pub(crate) program: &'p Program,
    /// For each graph the document that holds its `before_each`.
    gates: Vec<u32>,
    pub(crate) ops: Vec<Instr<'p>>,
    pub(crate) sites: Vec<ReadSite<'p>>,
    /// What is followed although nothing has to be there.
    pub(crate) follows: Vec<&'p KeyPath>,
    /// Entering, up to what the point waits for.
    pub(crate) entering: Range<u32>,
    /// Taking each reply, up to the choice.
    pub(crate) replying: Vec<Range<u32>>,
    pub(crate) ending: Range<u32>,
    /// What the condition of each edge reads and fails without; a question whether something is there reads nothing.
    pub(crate) guards: Vec<Range<u32>>,
}

impl<'p> PointIr<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let (ops, sites, follows, replying, guards) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { program, gates: gate_documents(program), ops, sites, follows, entering: 0..0, replying, ending: 0..0, guards }
    }

    /// Reads what happens at another point.
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

    fn now(&self) -> u32 {
        to_u32(self.ops.len())
    }

    fn site(&mut self, path: &'p KeyPath, document: u32, kind: ReadKind<'p>) {
        self.sites.push(ReadSite { path, document, kind });
    }

    fn next_site(&self) -> u32 {
        to_u32(self.sites.len())
    }
}

/// The edges of a point: they stand together, and a reply may share those of one before it.
pub(crate) fn edges_of(replies: &[Reply]) -> Range<u32> {
    let start = replies.first().map_or(0, |reply| reply.edges.start);
    start..replies.iter().map(|reply| reply.edges.end).max().unwrap_or(start)
}

/// The first operation and the first read site of a point, as indices of the IR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstIndices {
    pub(crate) op: u32,
    pub(crate) site: u32,
}

/// All that happens, by point, reply and edge.
pub(crate) struct Ir<'p> {
    pub(crate) program: &'p Program,
    pub(crate) ops: Vec<Instr<'p>>,
    pub(crate) sites: Vec<ReadSite<'p>>,
    entering: Vec<Range<u32>>,
    replying: Vec<Range<u32>>,
    ending: Vec<Range<u32>>,
    guards: Vec<Range<u32>>,
    /// The first operation and site of each point.
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
        let mut passage = PointIr::new(program);
        for (at, point) in (0..).map(PointIndex).zip(&program.points) {
            passage.read(at);
            ir.add(point, &passage);
        }
        ir
    }

    fn add(&mut self, point: &Point, passage: &PointIr<'p>) {
        let count = to_u32;
        let (op, site) = (count(self.ops.len()), count(self.sites.len()));
        let moved = |range: &Range<u32>, by: u32| range.start + by..range.end + by;
        self.firsts.push(FirstIndices { op, site });
        self.ops.extend(passage.ops.iter().map(|of| match of {
            Instr::Read(at) => Instr::Read(at + site),
            Instr::Ask { guard, site: at } => Instr::Ask { guard, site: at.map(|at| at + site) },
            Instr::Write { write, reads } => Instr::Write { write, reads: moved(reads, site) },
            other => other.clone(),
        }));
        self.sites.extend_from_slice(&passage.sites);
        self.entering.push(moved(&passage.entering, op));
        self.ending.push(moved(&passage.ending, op));
        for (reply, range) in point.replies.clone().zip(&passage.replying) {
            self.replying[reply as usize] = moved(range, op);
        }
        for (edge, range) in edges_of(self.program.replies(&point.replies)).zip(&passage.guards) {
            self.guards[edge as usize] = moved(range, site);
        }
    }

    /// The first operation of a point, and its first site.
    pub(crate) fn firsts(&self, point: PointIndex) -> FirstIndices {
        self.firsts[point.0 as usize]
    }

    /// Entering a point, up to what it waits for.
    pub(crate) fn entering(&self, point: PointIndex) -> Range<u32> {
        self.entering[point.0 as usize].clone()
    }

    /// The sites of a point.
    pub(crate) fn sites_of(&self, point: PointIndex) -> Range<u32> {
        let at = point.0 as usize;
        self.firsts[at].site..self.firsts.get(at + 1).map_or(to_u32(self.sites.len()), |first| first.site)
    }

    /// Taking a reply, up to the choice.
    pub(crate) fn replying(&self, reply: ReplyIndex) -> Range<u32> {
        self.replying[reply.index()].clone()
    }

    /// Ending at a point.
    pub(crate) fn ending(&self, point: PointIndex, target: &Target) -> Range<u32> {
        if ends_well(target) { self.ending[point.0 as usize].clone() } else { 0..0 }
    }

    /// What an edge's condition reads and fails without; a question whether something is there reads nothing.
    pub(crate) fn guarded(&self, edge: EdgeIndex) -> Range<u32> {
        self.guards[edge.index()].clone()
    }
}

/// Whether a target is the end that the author of a terminal wrote.
pub(crate) fn ends_well(target: &Target) -> bool {
    matches!(target, Target::End(Reason::Finished | Reason::Failed(Failure::End)))
}

/// The count of entries, which is there on nodes with `max_visits` (language 4.2).
pub(crate) const VISITS: &str = "sys.visits";

/// How many names of a path are followed.
pub(crate) const MAX_PATH_SEGMENTS: usize = 16;

/// The name that is followed, and what stands below it; nothing for what the engine always knows of `sys`, and for what goes deeper than is followed.
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
            // Nothing else is ever there.
            _ => Some(("sys", path.rest())),
        },
        ("sys", _) => None,
        (root, rest) => Some((root, rest)),
    }
}

/// For each graph the document that holds its `before_each`.
fn gate_documents(program: &Program) -> Vec<u32> {
    program.graphs.iter().map(|graph| gate_document(program, graph)).collect()
}

/// The document that holds the `before_each` of a graph.
pub(crate) fn gate_document(program: &Program, graph: &crate::program::Graph) -> u32 {
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.defaults.before_each.is_some(),
        _ => false,
    };
    let entry = program.node(graph.entry).document;
    if graph.before_each.is_none() {
        return entry;
    }
    let found = program.documents.iter().position(|document| {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder == &*graph.root && holds(&document.content)
    });
    found.and_then(|at| u32::try_from(at).ok()).unwrap_or(entry)
}
