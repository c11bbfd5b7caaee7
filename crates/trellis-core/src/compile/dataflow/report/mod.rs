//! Findings in words: what is wrong, the way to it hop by hop, and the remedy.

mod arguments;
mod missing;
mod operands;
mod path;
mod undecided;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rustc_hash::FxHashSet;

use super::{
    domain::{TypeId, TypeTable},
    env::Env,
    fixpoint::{
        Analysis,
        violation::{Alarm, Violation},
    },
    ir::{Instr, Ir, ReadKind, ReadSite, assert_span, gate_document},
    search::path::{Hop, WitnessDetails},
};
use crate::{
    compile::{UncheckedRead, Unknown, check::exhaustive, dataflow::index::ReplyIndex},
    diagnostic::{Code, Diagnostic, FilePath, Near, Place, near},
    path::{KeyPath, Segment},
    program::{
        Call, Callee, From, Guard, Node, NodeIndex, Operand, Outcome, Part, Place as To, PointIndex, Program, Provenance, Role, Target,
        Write,
    },
    span::Span,
    template::{KindSet, LOOPED, Shape, Step},
    value::Value,
};

/// How many places are named that set a path, and how many are looked at for that.
const MAX_SETTERS_NAMED: usize = 2;
const MAX_SETTERS_TRIED: usize = 8;

/// How many steps of a long way are told, of its beginning and of its end.
const MAX_HOPS_AT_EACH_END: usize = 16;

/// How much that is undecided is named.
const MAX_UNDECIDED_NAMED: usize = 20;

/// Tells findings, each once.
pub(crate) struct Reporter<'a, 'p> {
    program: &'p Arc<Program>,
    ir: &'a Ir<'p>,
    replies: BTreeMap<ReplyIndex, Env>,
    told: BTreeSet<(String, u32)>,
    /// What was calculated with at points where that was told: other calculations with the same there fail for the same reason.
    calculated: BTreeMap<PointIndex, Vec<BTreeSet<&'p KeyPath>>>,
    /// How much was left undecided.
    open: usize,
    /// Findings about arguments that are a path of a kind, by what the path is and its kind.
    arguments: BTreeMap<(KeyPath, TypeId), usize>,
    /// The keys that something reads.
    read: OnceCell<FxHashSet<&'p str>>,
}

impl<'a, 'p> Reporter<'a, 'p> {
    pub(crate) fn new(program: &'p Arc<Program>, ir: &'a Ir<'p>, replies: BTreeMap<ReplyIndex, Env>) -> Self {
        Self {
            program,
            ir,
            replies,
            told: BTreeSet::new(),
            calculated: BTreeMap::new(),
            open: 0,
            arguments: BTreeMap::new(),
            read: OnceCell::new(),
        }
    }

    /// One mistake is one finding: what is never set is said once, what is missing at a point is said once there.
    fn key(&self, alarm: &Alarm) -> (String, u32) {
        let whose = if alarm.never { 0 } else { alarm.point.0 + 1 };
        match alarm.violation {
            Violation::Missing(site) if !self.ir.sites[site as usize].inside().is_empty() => {
                let site = &self.ir.sites[site as usize];
                (format!("{} {:?}", site.path, site.inside()), alarm.point.0 + 1)
            }
            Violation::Missing(site) => (self.ir.sites[site as usize].path.to_string(), whose),
            Violation::Truth(site) => (format!("truth {}", self.ir.sites[site as usize].path), alarm.point.0 + 1),
            Violation::Operand(site) => (format!("operand {:?}", self.operands(site)), alarm.point.0 + 1),
            violation => (format!("{violation:?}"), 0),
        }
    }

    pub(crate) fn is_told(&self, alarm: &Alarm) -> bool {
        let explains = |told: &BTreeSet<&KeyPath>, site| {
            let paths = self.operands(site);
            told.is_subset(&paths) || paths.is_subset(told)
        };
        let is_explained = |site| self.calculated.get(&alarm.point).into_iter().flatten().any(|told| explains(told, site));
        self.told.contains(&self.key(alarm)) || matches!(alarm.violation, Violation::Operand(site) if is_explained(site))
    }

    /// What a place calculates with.
    fn operands(&self, site: u32) -> BTreeSet<&'p KeyPath> {
        let site = &self.ir.sites[site as usize];
        site.calculation().map_or_else(|| [site.path].into(), |calculation| calculation.paths.iter().collect())
    }

    /// Remembers that something was told.
    fn remember(&mut self, alarm: &Alarm) {
        self.told.insert(self.key(alarm));
        if let Violation::Operand(site) = alarm.violation {
            let operands = self.operands(site);
            self.calculated.entry(alarm.point).or_default().push(operands);
        }
    }

    /// Whether what was found without following any way says the same already.
    pub(crate) fn is_said(&self, alarm: &Alarm, found: &BTreeMap<FilePath, Vec<(Code, Span)>>) -> bool {
        let node = self.node(alarm);
        let (document, span) = match alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let site = &self.ir.sites[site as usize];
                (site.document, site.span(self.program))
            }
            Violation::Args(_) if self.program.point(alarm.point).part == Part::Gate => {
                let document = gate_document(self.program, self.program.graph_of(node));
                (document, Span::new(0, self.program.documents[document as usize].text.len()))
            }
            Violation::Args(_) => (node.document, node.span),
            // A condition that can never hold is the gap.
            Violation::NoMatch(_) => {
                let mut said = found.get(self.file(node.document)).into_iter().flatten();
                let is_here = |said: &Span| node.span.start <= said.start && said.end <= node.span.end;
                return said.any(|(code, span)| *code == Code::NeverTrue && is_here(span));
            }
            _ => return false,
        };
        let path = self.file(document);
        let is_args = matches!(alarm.violation, Violation::Args(_));
        let same = |said: &Span| if is_args { span.start <= said.start && said.end <= span.end } else { *said == span };
        let mut said = found.get(path).into_iter().flatten().filter(|(code, _)| !is_args || *code == Code::BadToolArgs);
        said.any(|(_, said)| same(said))
    }

    /// Reports what the engine walked into. Gives the path that is missing, if that is what is wrong.
    pub(crate) fn tell(
        &mut self,
        known: &mut Analysis<'_, '_>,
        alarm: &Alarm,
        hops: &[Hop],
        details: &WitnessDetails,
        found: &mut Vec<Diagnostic>,
    ) -> Option<KeyPath> {
        self.remember(alarm);
        if self.is_the_same(known, alarm, found) {
            return None;
        }
        let at_call = self.at_call(alarm, hops, details);
        let mut finding = at_call.unwrap_or_else(|| self.finding(known, alarm, details));
        finding.witness.clone_from(&details.witness);
        // Of a very long way its beginning and its end.
        let between = if hops.len() > 2 * MAX_HOPS_AT_EACH_END { MAX_HOPS_AT_EACH_END..hops.len() - MAX_HOPS_AT_EACH_END } else { 0..0 };
        for (at, hop) in hops.iter().enumerate().filter(|(at, _)| !between.contains(at)) {
            if let Some((path, span, mut text)) = self.describe(hop, matches!(alarm.violation, Violation::Missing(_))) {
                if !between.is_empty() && at == between.end {
                    text = format!("{} steps later: {text}", between.len());
                }
                finding = finding.step(&path, span, text);
            }
        }
        let missing = match alarm.violation {
            Violation::Missing(site) if self.ir.sites[site as usize].inside().is_empty() => Some(self.ir.sites[site as usize].path.clone()),
            _ => None,
        };
        if let Some(path) = missing.as_ref().filter(|_| !alarm.never) {
            // Where the whole is there, it is the part that is not.
            let whole = (1..path.segments().len()).rev().find_map(|length| {
                let whole = KeyPath::new(path.segments()[..length].to_vec())?.to_string();
                details.there.contains(&whole).then_some(whole)
            });
            // What is set elsewhere and never comes here explains nothing.
            let setters = self.setters(path).into_iter().take(MAX_SETTERS_TRIED).filter(|(_, _, from, _)| known.leads(*from, alarm.point));
            for (file, span, ..) in setters.take(MAX_SETTERS_NAMED) {
                let text = match &whole {
                    Some(whole) => format!("sets `{whole}`, in which `{path}` may be missing"),
                    None => format!("sets `{path}`, on other ways"),
                };
                finding = finding.label(&file, span, text);
            }
        }
        found.push(finding);
        missing.filter(|path| &**path.root() != "sys")
    }

    /// What was left undecided beside what was named.
    pub(crate) fn sum_up(&self, found: &mut Vec<Diagnostic>) {
        let more = self.open.saturating_sub(MAX_UNDECIDED_NAMED);
        if more > 0 {
            let message = format!("whether {more} more places always get what they need was not decided");
            found.push(Diagnostic::global(Code::NotDecided, message).help("mend what is named first"));
        }
    }

    fn node(&self, alarm: &Alarm) -> &'p Node {
        self.program.node(self.program.point(alarm.point).node)
    }

    fn file(&self, document: u32) -> &'p FilePath {
        &self.program.documents[document as usize].path
    }

    fn finding(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm, details: &WitnessDetails) -> Diagnostic {
        match alarm.violation {
            Violation::Missing(site) => self.missing(known, alarm, &self.ir.sites[site as usize], details),
            Violation::Truth(site) => {
                let site = &self.ir.sites[site as usize];
                let kind = known.types.described(alarm.seen);
                let message = format!("`{}` is {kind} here, not a boolean", site.path);
                Diagnostic::new(Code::TypeMismatch, self.file(site.document), site.span(self.program), message)
                    .help(format!("compare it with a value: `{} == …`", site.path))
            }
            Violation::Operand(site) => self.operand(known, alarm, &self.ir.sites[site as usize], details),
            Violation::NoMatch(on) => self.gap(known, alarm, on),
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => {
                self.broken(known, alarm, &self.ir.ops[op as usize], details)
            }
        }
    }

    /// Which values have no way on, as far as they are known where the node begins to choose.
    fn gap(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm, on: ReplyIndex) -> Diagnostic {
        let node = self.node(alarm);
        let env = self.replies.get(&on);
        let mut closed = |operand: &Operand| {
            let of = known.known(env?, &operand.path)?;
            known.types.closed(of).or_else(|| self.listed(operand))
        };
        exhaustive::flowing(self.program, node, &self.program.replies[on.index()], &mut closed)
    }

    /// The values of a key that is only ever chosen from lists: of many, the analysis knows the kind alone.
    fn listed(&self, operand: &Operand) -> Option<(Vec<Value>, bool)> {
        let root = operand.path.root();
        let mut values = Vec::new();
        for node in &self.program.nodes {
            let points = node.gate.into_iter().chain([node.body]).map(|point| self.program.point(point));
            let replies = points.flat_map(|point| self.program.replies(&point.replies));
            let of_replies = replies.flat_map(|reply| reply.update.iter().map(move |write| (Some(&reply.on), write)));
            let entry = node.entry.defaults.iter().map(|write| (None, write));
            let mut writes = of_replies.chain(entry).filter(|(_, write)| match &write.to {
                To::Path(path) | To::Append(path) => path.root() == root,
                To::Absent(key) => key == root,
                To::Input | To::Ans | To::Error => false,
            });
            if node.entry.required.iter().any(|path| path.root() == root) {
                return None;
            }
            let listen = if let Role::Listen(listen) = &node.role { Some(listen) } else { None };
            let all = writes.try_for_each(|(on, write)| {
                let listen = listen.filter(|_| matches!(&write.to, To::Path(path) if *path == operand.path))?;
                let chosen = listen.chosen(on?);
                let listed = listen.options.iter().map(|option| &option.value).filter(|value| chosen.is_none_or(|chosen| chosen == *value));
                (matches!(write.value, From::Input) && (listen.closed || chosen.is_some())).then(|| values.extend(listed.cloned()))
            });
            all?;
        }
        let mut known = BTreeSet::new();
        values.retain(|value: &Value| known.insert(value.to_json()));
        (!values.is_empty()).then_some((values, false))
    }

    fn broken(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm, op: &Instr<'_>, details: &WitnessDetails) -> Diagnostic {
        let node = self.node(alarm);
        match op {
            Instr::Fit { node, index, .. } => self.unfit(known, *node, *index, details),
            Instr::Assert { node: of, index, .. } => {
                let node = self.program.node(*of);
                let text = node.entry.asserts.get(*index as usize).map_or("", |(_, text)| text);
                let message = format!("`{text}` does not hold on every way to `{}`", node.id);
                Diagnostic::new(Code::FailedAssert, self.file(node.document), assert_span(self.program, *of, *index), message)
                    .help("let only ways lead here on which it holds: ask the same in the condition of the way")
            }
            Instr::Write { write, .. } => {
                let (To::Path(path) | To::Append(path)) = &write.to else {
                    unreachable!("only what is written below something, or added to a list, finds something in its way")
                };
                let (message, help) = match &write.to {
                    To::Append(_) => {
                        let kind = known.types.described(alarm.seen);
                        (
                            format!("`{path}` is {kind} on some way, and nothing can be added to it"),
                            "begin with a list, `set: {key: []}`, or leave the key unset",
                        )
                    }
                    _ => {
                        let upper = (1..path.segments().len()).find(|length| {
                            let rest = known.types.rest(&path.rest()[..*length]);
                            known.types.may_block(alarm.seen, rest)
                        });
                        let upper =
                            upper.and_then(|length| KeyPath::new(path.segments()[..length].to_vec())).unwrap_or_else(|| path.clone());
                        (
                            format!("`{upper}` is no mapping on some way, so `{path}` cannot be written"),
                            "save to another key, or set a mapping before",
                        )
                    }
                };
                Diagnostic::new(Code::TypeMismatch, self.file(node.document), write.origin, message).help(help)
            }
            Instr::Args { call } => self.argument(known, alarm, call),
            Instr::Read(_) | Instr::Ask { .. } => unreachable!("a read is missing something, or takes it for a truth"),
        }
    }

    /// What a key must be, in the engine's own words.
    fn unfit(&self, known: &mut Analysis<'_, '_>, node: NodeIndex, index: u32, details: &WitnessDetails) -> Diagnostic {
        let node = self.program.node(node);
        let Some((key, schema)) = node.entry.types.get(index as usize) else { unreachable!("the operation stands for one of them") };
        let span = declared_at(self.program, node, key);
        let wanted = known.types.of_schema(schema.source());
        let wanted = known.types.described(wanted);
        let said = details.said.as_deref().and_then(|said| said.strip_prefix(&format!("`{}`: ", node.id)));
        let message = match said {
            Some(said) => format!("{said}, on some way to `{}`", node.id),
            None => format!("`{key}` is not {wanted} on some way to `{}`", node.id),
        };
        Diagnostic::new(Code::TypeMismatch, self.file(node.document), span, message)
            .help(format!("let every way save {wanted} that fits, or change `context_schema`"))
    }
}

/// Where a site stands.
pub(crate) fn place(program: &Program, site: &ReadSite<'_>) -> Place {
    Place::new(&program.documents[site.document as usize].path, site.span(program))
}

/// A read of a value of which nothing is known.
pub(crate) fn unknown_site(program: &Program, site: &ReadSite<'_>, unknown: Unknown) -> UncheckedRead {
    UncheckedRead { place: place(program, site), path: site.path.clone(), unknown }
}

/// Something that is done with a value of which nothing is known.
pub(crate) fn unknown_op(program: &Program, point: PointIndex, op: &Instr<'_>) -> Option<UncheckedRead> {
    let of = program.node(program.point(point).node);
    let (span, path, unknown) = match op {
        Instr::Fit { node, index, .. } => {
            let (key, _) = program.node(*node).entry.types.get(*index as usize)?;
            (declared_at(program, of, key), KeyPath::new(vec![Segment::Key(key.clone())])?, Unknown::Fit)
        }
        Instr::Assert { guard, node, index, .. } => {
            let name = || {
                KeyPath::parse(
                    &program.predicates().get(if let Guard::Predicate(at, _) = guard { *at as usize } else { return None })?.name,
                )
            };
            (assert_span(program, *node, *index), guard.operand().map(|operand| operand.path.clone()).or_else(name)?, Unknown::Truth)
        }
        Instr::Write { write, .. } => match &write.to {
            To::Path(path) | To::Append(path) => (write.origin, path.clone(), Unknown::Room),
            _ => return None,
        },
        Instr::Read(_) | Instr::Ask { .. } | Instr::Args { .. } => return None,
    };
    Some(UncheckedRead { place: Place::new(&program.documents[of.document as usize].path, span), path, unknown })
}

/// Where a key stands in `context_schema`.
fn declared_at(program: &Program, node: &Node, key: &str) -> Span {
    let syntax = crate::compile::check::syntax_of(program, node);
    let declared = syntax.and_then(|syntax| syntax.context_schema.iter().find(|(known, _)| *known.value == *key));
    declared.map_or(node.span, |(key, _)| key.span)
}
