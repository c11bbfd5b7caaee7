//! What happens at each point, in the engine's order, as data: what is read, what is written, what must hold.
//!
//! Entering, taking a reply and ending are read off the compiled nodes once, for all that follows; what a key of the frontmatter means is not known here.
//!
//! **Invariant:** the order is that of `engine/enter.rs`, `choose.rs` and `result.rs`.

mod site;
mod write;

use std::ops::Range;

use rustc_hash::FxHashMap;

pub(super) use self::site::{Kind, Site, Spoken, assert_span};
use super::facts::{INPUT, RESULT, Slot};
use crate::{
    path::{KeyPath, Segment},
    program::{
        Call, Callee, Failure, From, Guard, Node, NodeIndex, Outcome, Part, Place, PointIndex, PredicateSource, Program, Reason, Reply,
        Role, Target, Write,
    },
    schema::Schema,
    span::Span,
    syntax::document::Content,
    template::{Demand, Shape, Sorts, Step, Template, Used},
};

/// One thing that happens.
pub(super) enum Op<'p> {
    /// Something must be there.
    Read(u32),
    /// Something is written, after what it reads; `default_context` only where nothing is.
    Write { write: &'p Write, at: Option<At<'p>>, reads: Range<u32> },
    /// A key, where it is there, must fit (`context_schema`).
    Fit { slot: Slot, schema: &'p Schema, node: NodeIndex, index: u32 },
    /// A condition must hold (`assert`).
    Assert { guard: &'p Guard, node: NodeIndex, index: u32 },
    /// A tool is called with arguments.
    Args { call: &'p Call },
}

/// A path as it is followed: the key and what stands below it.
pub(super) type At<'p> = (Slot, &'p [Segment]);

/// All that happens, by point, reply and edge.
pub(super) struct Script<'p> {
    pub(super) program: &'p Program,
    pub(super) ops: Vec<Op<'p>>,
    pub(super) sites: Vec<Site<'p>>,
    entering: Vec<Range<u32>>,
    replying: Vec<Range<u32>>,
    ending: Vec<Range<u32>>,
    /// The sites of conditions, by edge.
    guards: Vec<Range<u32>>,
    /// What conditions ask about, by edge.
    operands: Vec<Option<At<'p>>>,
    slots: FxHashMap<&'p str, Slot>,
    /// Whether anything reads the accepted input or result.
    pub(super) reads_input: bool,
}

impl<'p> Script<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let mut script = Self {
            program,
            ops: Vec::new(),
            sites: Vec::new(),
            entering: Vec::with_capacity(program.points.len()),
            replying: vec![0..0; program.replies.len()],
            ending: Vec::with_capacity(program.points.len()),
            guards: vec![0..0; program.edges.len()],
            operands: vec![None; program.edges.len()],
            slots: FxHashMap::default(),
            reads_input: false,
        };
        let gates = gate_documents(program);
        for (at, point) in program.points.iter().enumerate() {
            let at = PointIndex(u32::try_from(at).unwrap_or(u32::MAX));
            let from = script.now();
            script.enter(at, &gates);
            script.entering.push(from..script.now());
            for on in point.replies.clone() {
                let from = script.now();
                script.reply(at, &program.replies[on as usize]);
                script.replying[on as usize] = from..script.now();
                script.edges(at, &program.replies[on as usize]);
            }
            let from = script.now();
            script.end(at);
            script.ending.push(from..script.now());
        }
        script.settle();
        script
    }

    /// How many keys are followed.
    pub(super) fn slots(&self) -> usize {
        self.slots.len() + 2
    }

    /// Entering a point, up to what it waits for.
    pub(super) fn entering(&self, point: PointIndex) -> Range<u32> {
        self.entering[point.0 as usize].clone()
    }

    /// Taking a reply, up to the choice.
    pub(super) fn replying(&self, reply: u32) -> Range<u32> {
        self.replying[reply as usize].clone()
    }

    /// Ending at a point.
    pub(super) fn ending(&self, point: PointIndex, target: &Target) -> Range<u32> {
        let of_terminal = matches!(target, Target::End(Reason::Finished | Reason::Failed(Failure::End)));
        if of_terminal { self.ending[point.0 as usize].clone() } else { 0..0 }
    }

    /// What an edge's condition reads and fails without; a question whether something is there reads nothing.
    pub(super) fn guarded(&self, edge: u32) -> Range<u32> {
        self.guards[edge as usize].clone()
    }

    /// What an edge's condition asks about.
    pub(super) fn operand(&self, edge: u32) -> Option<At<'p>> {
        self.operands[edge as usize]
    }

    /// A path as it is followed; nothing where nobody reads it.
    pub(super) fn at<'k>(&self, path: &'k KeyPath) -> Option<At<'k>> {
        let (name, rest) = split(path)?;
        match name {
            "input" => Some((INPUT, rest)),
            "tool_result" => Some((RESULT, rest)),
            name => self.slots.get(name).map(|slot| (*slot, rest)),
        }
    }

    /// The key of this name.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// The keys that are followed, sorted.
    pub(super) fn keys(&self) -> Vec<(String, Slot)> {
        let mut keys: Vec<_> = self.slots.iter().map(|(key, slot)| ((*key).to_owned(), *slot)).collect();
        keys.sort_unstable();
        keys
    }

    fn now(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    fn follow(&mut self, path: &'p KeyPath) -> Option<At<'p>> {
        let (name, rest) = split(path)?;
        match name {
            "input" | "tool_result" => {
                self.reads_input = true;
                Some((if name == "input" { INPUT } else { RESULT }, rest))
            }
            name => {
                let next = Slot(u32::try_from(self.slots.len() + 2).unwrap_or(u32::MAX));
                Some((*self.slots.entry(name).or_insert(next), rest))
            }
        }
    }

    fn site(&mut self, path: &'p KeyPath, document: u32, kind: Kind<'p>) -> u32 {
        if let Kind::Template(used, _) = kind {
            for test in used.when {
                if let crate::template::Test::Truthy(path, _) | crate::template::Test::Set(path, _) | crate::template::Test::Is(path, ..) =
                    test
                {
                    self.follow(path);
                }
            }
        }
        let is_followed = !matches!(kind, Kind::Template(Used { blind: true, .. }, _));
        let at = if is_followed { self.follow(path) } else { None };
        self.sites.push(Site { path, at, document, kind });
        u32::try_from(self.sites.len() - 1).unwrap_or(u32::MAX)
    }

    fn read(&mut self, path: &'p KeyPath, document: u32, kind: Kind<'p>) {
        let site = self.site(path, document, kind);
        self.ops.push(Op::Read(site));
    }

    fn template(&mut self, template: &'p Template, document: u32, spoken: Spoken<'p>) {
        template.each_use(&mut |used| self.read(used.path, document, Kind::Template(used, spoken)));
    }

    /// What a shape is made of is followed, also where nothing has to be there.
    fn follow_shape(&mut self, shape: &'p Shape) {
        match shape {
            Shape::Expression(expression) => {
                if let Some((path, _)) = expression.path() {
                    self.follow(path);
                }
            }
            Shape::List(items) => items.iter().for_each(|item| self.follow_shape(&item.value)),
            Shape::Map(entries) => entries.iter().for_each(|(_, shape)| self.follow_shape(&shape.value)),
            Shape::Literal(_) | Shape::Text(_) => {}
        }
    }

    fn shapes(&mut self, shapes: impl Iterator<Item = &'p Shape>, document: u32) {
        for shape in shapes {
            self.follow_shape(shape);
            shape.each_use(&mut |used| self.read(used.path, document, Kind::Template(used, Spoken::Everywhere)));
        }
    }

    fn write(&mut self, write: &'p Write, document: u32) {
        let from = u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        if let From::Shape(shape) = &write.value {
            self.follow_shape(shape);
            shape.each_use(&mut |used| {
                self.site(used.path, document, Kind::Template(used, Spoken::Everywhere));
            });
        }
        match &write.to {
            // What is written below a key, or added to it, depends on what is there.
            Place::Append(path) => drop(self.follow(path)),
            Place::Path(path) if !path.is_key() => drop(self.follow(path)),
            _ => {}
        }
        let reads = from..u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        self.ops.push(Op::Write { write, at: None, reads });
    }

    /// Once every key that is read is known, writes find theirs.
    fn settle(&mut self) {
        let mut ops = std::mem::take(&mut self.ops);
        for op in &mut ops {
            if let Op::Write { write, at, .. } = op {
                *at = match &write.to {
                    // Of what is written deeper than is followed, the upper part is there.
                    Place::Path(path) | Place::Append(path) => {
                        self.at(path).or_else(|| Some((self.slot(path.root())?, &path.rest()[..FOLLOWED.min(path.rest().len())])))
                    }
                    Place::Absent(key) => self.slot(key).map(|slot| (slot, &[][..])),
                    Place::Input => Some((INPUT, &[][..])),
                    Place::Ans => self.slot("sys.ans").map(|slot| (slot, &[][..])),
                    Place::Error => self.slot("sys.error").map(|slot| (slot, &[][..])),
                };
            }
        }
        self.ops = ops;
    }
}

/// The count of entries, which is there on nodes with `max_visits` (language 4.2).
pub(super) const VISITS: &str = "sys.visits";

/// How many names of a path are followed.
pub(super) const FOLLOWED: usize = 16;

/// The name that is followed, and what stands below it; nothing for what the engine always knows of `sys`, and for what goes deeper than is followed.
fn split(path: &KeyPath) -> Option<(&str, &[Segment])> {
    if path.segments().len() > FOLLOWED {
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
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.defaults.before_each.is_some(),
        _ => false,
    };
    let of_graph = |graph: &crate::program::Graph| {
        let entry = program.node(graph.entry).document;
        if graph.before_each.is_none() {
            return entry;
        }
        let found = program.documents.iter().position(|document| {
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folder == &*graph.root && holds(&document.content)
        });
        found.and_then(|at| u32::try_from(at).ok()).unwrap_or(entry)
    };
    program.graphs.iter().map(of_graph).collect()
}
