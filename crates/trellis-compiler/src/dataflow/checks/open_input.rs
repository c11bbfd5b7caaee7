//! `open-input`: a key that whoever begins a session can set where `inputs` is open, and that the graph reads as its own (language 7.1).
//!
//! **Algorithm.** Definite assignment over the steps of the outermost graph: which keys, and which parts of them, are written on every path to a point. A
//! read of anything else, a test of its presence and an `append` to it see the value that a session began with. It ends because there are finitely many
//! written paths, and fewer at each visit. A called graph begins with arguments, which its author writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    cfg::Cfg,
    dataflow::ir::{Instr, PointIr, each_followed, edge_span},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Place},
    path::{KeyPath, Segment},
    schema::{Flaw, Hole, Schema, below},
    scope::RESERVED,
    template::Shape,
    value::{Key, Value},
};
use trellis_engine::program::{Call, Callee, ITEM, Node, PointIndex, Program, Role, Write, WriteSource, WriteTarget};

/// Keys, and parts of their values, that are written on every path.
#[derive(Clone)]
struct Assigned(BTreeSet<KeyPath>);

impl Assigned {
    /// Returns whether the whole value at a path is written.
    fn covers(&self, path: &KeyPath) -> bool {
        self.0.iter().any(|written| path.segments().starts_with(written.segments()))
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|path| other.covers(path))
    }

    /// Returns what is written on both of two ways.
    fn meet(&self, other: &Self) -> Self {
        let (own, others) = (self.0.iter().filter(|path| other.covers(path)), other.0.iter().filter(|path| self.covers(path)));
        Self(own.chain(others).cloned().collect())
    }
}

/// Reports the keys that a session may begin with although `inputs` does not name them, each at its first read.
pub(crate) fn check(program: &Program, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let has_patterns = |inputs: &&Schema| inputs.source().get("patternProperties").is_some();
    let Some(inputs) = program.root().inputs.as_ref().filter(|inputs| !inputs.is_closed() || has_patterns(inputs)) else { return };
    let entry = &program.entry().entry;
    let words = inputs.source().as_map();
    let named = words.and_then(|words| words.get("properties")?.as_map()).into_iter().flat_map(|named| named.keys().cloned());
    let required =
        words.and_then(|words| words.get("required")?.as_list()).into_iter().flat_map(|keys| keys.iter().filter_map(Value::as_str));
    let of_entry = entry.required.iter().map(|path| path.root().clone()).chain(entry.types.iter().map(|(key, _)| key.clone()));
    let declared = named.chain(required.map(Key::from)).chain(of_entry).chain(RESERVED.map(Key::from));
    let declared = Assigned(declared.filter_map(|key| KeyPath::new(vec![Segment::Key(key)])).collect());
    let mut open_reads = OpenReads { program, ir: PointIr::new(program), found: BTreeMap::new() };
    let mut assigned: BTreeMap<u32, Assigned> = BTreeMap::new();
    let first = program.entry().gate.unwrap_or(program.entry().body);
    let mut open = vec![(first, declared)];
    while let Some((point, begun)) = open.pop() {
        let known = match assigned.get(&point.0) {
            Some(known) if known.is_within(&begun) => continue,
            Some(known) => known.meet(&begun),
            None => begun,
        };
        assigned.insert(point.0, known);
        if !tainted[point.index()] {
            open.extend(open_reads.visit(point, &assigned[&point.0]));
        }
    }
    let given = open_reads.found.into_iter().filter(|(key, _)| takes_key(inputs, key));
    found.extend(given.map(|(key, place)| {
        let (why, word) = match inputs.is_closed() {
            true => ("a pattern of `inputs` takes it, and no property names it", "patternProperties"),
            false => ("`inputs` is open and does not name it", "additionalProperties"),
        };
        Diagnostic::new(Code::OpenInput, &place.path, place.span, format!("`{key}` may come from whoever begins the session: {why}"))
            .help(format!("name `{key}` in `inputs`, set it before, or take `{word}` out of `inputs`"))
    }));
}

/// Returns whether a session may begin with a key, whatever its value is.
fn takes_key(inputs: &Schema, key: &Key) -> bool {
    let (given, value) = (Value::map([(&**key, Value::Null)]), Hole { pointer: below("", key), text: false, optional: false });
    let refused = |flaw: &Flaw| matches!(flaw, Flaw::Unknown(at, unknown) if at.is_empty() && **key == **unknown);
    !inputs.flaws(&given, &[value]).iter().any(refused)
}

/// The reads that were found so far.
struct OpenReads<'p> {
    program: &'p Program,
    ir: PointIr<'p>,
    found: BTreeMap<Key, Place>,
}

impl<'p> OpenReads<'p> {
    /// Notes the reads of a point, and returns its successors with what is assigned there.
    fn visit(&mut self, point: PointIndex, assigned: &Assigned) -> Vec<(PointIndex, Assigned)> {
        let program = self.program;
        let node = program.node(program.point(point).node);
        self.ir.read(point);
        let mut defaulted = assigned.clone();
        for at in self.ir.entering.clone().chain(self.ir.ending.clone()) {
            self.execute(node, at, &mut defaulted);
        }
        softly_read(node, &mut |path| self.note(path, assigned, || Place::new(program.path_of(node), node.span)));
        let mut successors = Vec::new();
        for (at, on) in program.point(point).replies.clone().enumerate() {
            let mut after = assigned.clone();
            for op in self.ir.replying[at].clone() {
                self.execute(node, op, &mut after);
            }
            for edge in Cfg::successors_on(program, point, on) {
                successors.push((edge.to, after.clone()));
            }
            for edge in program.replies[on as usize].edges.clone() {
                if let Some(operand) = program.edges[edge as usize].when.operand() {
                    self.note(&operand.path, &after, || Place::new(program.path_of(node), edge_span(program, node, edge)));
                }
            }
        }
        successors
    }

    /// Notes the reads of an instruction, then its write.
    fn execute(&mut self, node: &Node, at: u32, assigned: &mut Assigned) {
        let program = self.program;
        let sites = match self.ir.ops[at as usize].clone() {
            Instr::Read(site) => site.0..site.0 + 1,
            Instr::Ask { site: Some(site), .. } => site.0..site.0 + 1,
            Instr::Write { write, reads } => {
                self.write(node, write, assigned);
                reads
            }
            _ => return,
        };
        for site in sites {
            let site = self.ir.sites[site as usize];
            self.note(site.path, assigned, || site.place(program));
        }
        if let Instr::Write { write: Write { to: WriteTarget::Path(path), .. }, .. } = &self.ir.ops[at as usize] {
            assigned.0.insert(path.clone());
        }
    }

    /// Notes the reads of a write that cannot fail, and the list that it adds to.
    fn write(&mut self, node: &Node, write: &Write, assigned: &Assigned) {
        let place = || Place::new(self.program.path_of(node), write.origin);
        let (mut soft, place) = (Vec::new(), place());
        if let WriteSource::Shape(shape) = &write.value {
            each_named(shape, &mut |path| soft.push(path.clone()));
        }
        if let WriteTarget::Append(path) = &write.to {
            soft.push(path.clone());
        }
        soft.iter().for_each(|path| self.note(path, assigned, || place.clone()));
    }

    fn note(&mut self, path: &KeyPath, assigned: &Assigned, place: impl FnOnce() -> Place) {
        if !assigned.covers(path) {
            self.found.entry(path.root().clone()).or_insert_with(place);
        }
    }
}

/// Visits the paths that the calls of a node and its output may do without.
fn softly_read(node: &Node, see: &mut impl FnMut(&KeyPath)) {
    let mut open: Vec<&Call> = if let Role::Act(call) = &node.role { vec![call] } else { Vec::new() };
    node.output.iter().chain(&node.metadata).for_each(|shape| each_named(shape, see));
    while let Some(call) = open.pop() {
        call.args.iter().chain(&call.metadata).for_each(|shape| each_named(shape, see));
        if let Callee::Parallel(branches, _) = &call.callee {
            open.extend(branches.iter().map(|(_, branch)| branch));
        }
    }
}

/// Visits the paths that the expressions of a shape name, guarded or not.
fn each_named(shape: &Shape, see: &mut impl FnMut(&KeyPath)) {
    match shape {
        Shape::Expression(_) => {
            each_followed(shape, see);
            let named = shape.references().into_iter().map(|named| named.path);
            named.filter(|path| **path.root() != *ITEM).for_each(|path| see(&path));
        }
        Shape::List(items) => items.iter().for_each(|item| each_named(&item.value, see)),
        Shape::Map(entries) => entries.iter().for_each(|(_, shape)| each_named(&shape.value, see)),
        Shape::Literal(_) | Shape::Text(_) => {}
    }
}
