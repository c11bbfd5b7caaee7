//! Diagnostics from verdicts: the message, the path of the witness edge by edge, and the help.
//!
//! A witnessed violation is reported with its path, an undecided alarm as `not-decided`, a refuted one not at all. Several alarms with one
//! cause become one diagnostic.

mod arguments;
mod missing;
mod operands;
mod path;
pub(super) mod unchecked;
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
    ir::{Instr, Ir, ReadKind, ReadSite, assert_span, edge_span},
    search::path::{Hop, WitnessDetails},
};
use crate::{
    UncheckedRead, Unknown,
    dataflow::index::{ReplyIndex, SiteIndex},
    guards::gaps,
    source_lookup::syntax_of,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Near, Place, near},
    path::{KeyPath, Segment},
    span::Span,
    template::{ElementStep, KindSet, LOOPED, Shape},
    value::Value,
};
use trellis_engine::program::{
    Call, Callee, Guard, Node, NodeIndex, Operand, Outcome, Part, PointIndex, Program, Provenance, Role, Target, Write, WriteSource,
    WriteTarget,
};

/// Greatest number of places that are named as assigning a path, and of those that are examined for it.
const MAX_SETTERS_NAMED: usize = 2;
const MAX_SETTERS_TRIED: usize = 8;

/// Number of edges that are described at the beginning, and at the end, of a long path.
const MAX_HOPS_AT_EACH_END: usize = 16;

/// Greatest number of undecided alarms that are reported one by one.
const MAX_UNDECIDED_NAMED: usize = 20;

/// Writer of diagnostics, one for each mistake.
pub(crate) struct Reporter<'a, 'p> {
    program: &'p Arc<Program>,
    ir: &'a Ir<'p>,
    replies: BTreeMap<ReplyIndex, Env>,
    reported: BTreeSet<(String, u32)>,
    /// Operands of the calculations that were reported at each point: others with the same operands fail for the same reason.
    calculated: BTreeMap<PointIndex, Vec<BTreeSet<&'p KeyPath>>>,
    /// Number of undecided alarms.
    open: usize,
    /// Diagnostics about arguments that copy a path, by the path and its type.
    arguments: BTreeMap<(KeyPath, TypeId), usize>,
    /// Keys that some site or condition reads.
    read: OnceCell<FxHashSet<&'p str>>,
}

impl<'a, 'p> Reporter<'a, 'p> {
    pub(crate) fn new(program: &'p Arc<Program>, ir: &'a Ir<'p>, replies: BTreeMap<ReplyIndex, Env>) -> Self {
        Self {
            program,
            ir,
            replies,
            reported: BTreeSet::new(),
            calculated: BTreeMap::new(),
            open: 0,
            arguments: BTreeMap::new(),
            read: OnceCell::new(),
        }
    }

    /// Returns the key by which alarms of one mistake are merged: a path that is never set has one diagnostic, any other missing path has
    /// one at each point.
    fn key(&self, alarm: &Alarm) -> (String, u32) {
        let whose = if alarm.never { 0 } else { alarm.point.0 + 1 };
        match alarm.violation {
            Violation::Missing(site) if !self.ir.sites[site.index()].inside().is_empty() => {
                let site = &self.ir.sites[site.index()];
                (format!("{} {:?}", site.path, site.inside()), alarm.point.0 + 1)
            }
            Violation::Missing(site) => (self.ir.sites[site.index()].path.to_string(), whose),
            Violation::Truth(site) => (format!("truth {}", self.ir.sites[site.index()].path), alarm.point.0 + 1),
            Violation::Operand(site) => (format!("operand {:?}", self.operands(site)), alarm.point.0 + 1),
            violation => (format!("{violation:?}"), 0),
        }
    }

    /// Returns true if the mistake of an alarm was reported.
    pub(crate) fn is_reported(&self, alarm: &Alarm) -> bool {
        let explains = |reported: &BTreeSet<&KeyPath>, site| {
            let paths = self.operands(site);
            reported.is_subset(&paths) || paths.is_subset(reported)
        };
        let is_explained = |site| self.calculated.get(&alarm.point).into_iter().flatten().any(|reported| explains(reported, site));
        self.reported.contains(&self.key(alarm)) || matches!(alarm.violation, Violation::Operand(site) if is_explained(site))
    }

    /// Returns the paths that a site calculates with.
    fn operands(&self, site: SiteIndex) -> BTreeSet<&'p KeyPath> {
        let site = &self.ir.sites[site.index()];
        site.calculation().map_or_else(|| [site.path].into(), |calculation| calculation.paths.iter().collect())
    }

    /// Records that the mistake of an alarm was reported.
    fn remember(&mut self, alarm: &Alarm) {
        self.reported.insert(self.key(alarm));
        if let Violation::Operand(site) = alarm.violation {
            let operands = self.operands(site);
            self.calculated.entry(alarm.point).or_default().push(operands);
        }
    }

    /// Returns true if a diagnostic of another check covers an alarm.
    pub(crate) fn is_covered(&self, alarm: &Alarm, found: &BTreeMap<FilePath, Vec<(Code, Span)>>) -> bool {
        let node = self.node(alarm);
        let (document, span) = match alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let site = &self.ir.sites[site.index()];
                (site.document, site.span(self.program))
            }
            Violation::Args(_) if self.program.point(alarm.point).part == Part::Gate => {
                let document = self.program.gate_document(self.program.graph_of(node));
                (document, Span::new(0, self.program.documents[document as usize].text.len()))
            }
            Violation::Args(_) => (node.document, node.span),
            // The condition that never holds explains the gap.
            Violation::NoMatch(_) => {
                let mut reported = found.get(self.file(node.document)).into_iter().flatten();
                let is_here = |reported: &Span| node.span.start <= reported.start && reported.end <= node.span.end;
                return reported.any(|(code, span)| *code == Code::NeverTrue && is_here(span));
            }
            _ => return false,
        };
        let path = self.file(document);
        let is_args = matches!(alarm.violation, Violation::Args(_));
        let same = |reported: &Span| if is_args { span.start <= reported.start && reported.end <= span.end } else { *reported == span };
        let mut reported = found.get(path).into_iter().flatten().filter(|(code, _)| !is_args || *code == Code::BadToolArgs);
        reported.any(|(_, reported)| same(reported))
    }

    /// Reports a witnessed violation. Returns the path that is missing, if it is one of the context.
    pub(crate) fn report_alarm(
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
        if let Some((path, span, text)) = self.begin_of_child(alarm, hops).filter(|_| details.witness.is_some()) {
            finding = finding.step(&path, span, text);
        }
        // A long path is shortened to its beginning and its end.
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
            Violation::Missing(site) if self.ir.sites[site.index()].inside().is_empty() => Some(self.ir.sites[site.index()].path.clone()),
            _ => None,
        };
        if let Some(path) = missing.as_ref().filter(|_| !alarm.never) {
            // If a mapping above the path is present, only the field is missing.
            let whole = (1..path.segments().len()).rev().find_map(|length| {
                let whole = KeyPath::new(path.segments()[..length].to_vec())?.to_string();
                details.set_names.contains(&whole).then_some(whole)
            });
            // An assignment that cannot reach the point explains nothing.
            let setters = self.setters(path).into_iter().take(MAX_SETTERS_TRIED).filter(|(_, _, from, _)| known.leads(*from, alarm.point));
            for (file, span, ..) in setters.take(MAX_SETTERS_NAMED) {
                let text = match &whole {
                    Some(whole) => format!("sets `{whole}`, in which `{path}` may be missing"),
                    None => format!("sets `{path}`, on other paths"),
                };
                finding = finding.label(&file, span, text);
            }
        }
        found.push(finding);
        missing.filter(|path| &**path.root() != "sys")
    }

    /// Reports the number of undecided alarms that were not reported one by one.
    pub(crate) fn sum_up(&self, found: &mut Vec<Diagnostic>) {
        let more = self.open.saturating_sub(MAX_UNDECIDED_NAMED);
        if more > 0 {
            let message = format!("whether {more} more places always get what they need was not decided");
            found.push(Diagnostic::global(Code::NotDecided, message).help("fix the places that are named first"));
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
            Violation::Missing(site) => self.missing(known, alarm, &self.ir.sites[site.index()], details),
            Violation::Truth(site) => {
                let site = &self.ir.sites[site.index()];
                let kind = known.types.described(alarm.seen);
                let message = format!("`{}` is {kind} here, not a boolean", site.path);
                Diagnostic::new(Code::TypeMismatch, self.file(site.document), site.span(self.program), message)
                    .help(format!("compare it with a value: `{} == …`", site.path))
            }
            Violation::Operand(site) => self.operand(known, alarm, &self.ir.sites[site.index()], details),
            Violation::NoMatch(on) => self.gap(known, alarm, on),
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => {
                self.broken(known, alarm, &self.ir.ops[op.index()], details)
            }
        }
    }

    /// Reports a reply none of whose edges may hold, with the values for which none does.
    fn gap(&self, known: &mut Analysis<'_, '_>, alarm: &Alarm, on: ReplyIndex) -> Diagnostic {
        let node = self.node(alarm);
        let env = self.replies.get(&on);
        let mut closed = |operand: &Operand| {
            let of = known.known(env?, &operand.path)?;
            known.types.closed(of).or_else(|| self.listed(operand))
        };
        gaps::flowing(self.program, node, &self.program.replies[on.index()], &mut closed)
    }

    /// Returns the values of a key that is only assigned from options, which the analysis may have widened to their kind.
    fn listed(&self, operand: &Operand) -> Option<(Vec<Value>, bool)> {
        let root = operand.path.root();
        let mut values = Vec::new();
        for node in &self.program.nodes {
            let points = node.gate.into_iter().chain([node.body]).map(|point| self.program.point(point));
            let replies = points.flat_map(|point| self.program.replies(&point.replies));
            let of_replies = replies.flat_map(|reply| reply.update.iter().map(move |write| (Some(&reply.on), write)));
            let entry = node.entry.defaults.iter().map(|write| (None, write));
            let mut writes = of_replies.chain(entry).filter(|(_, write)| match &write.to {
                WriteTarget::Path(path) | WriteTarget::Append(path) => path.root() == root,
                WriteTarget::Absent(key) => key == root,
                WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
            });
            if node.entry.required.iter().any(|path| path.root() == root) {
                return None;
            }
            let listen = if let Role::Listen(listen) = &node.role { Some(listen) } else { None };
            let all = writes.try_for_each(|(on, write)| {
                let listen = listen.filter(|_| matches!(&write.to, WriteTarget::Path(path) if *path == operand.path))?;
                let chosen = listen.chosen(on?);
                let listed = listen.options.iter().map(|option| &option.value).filter(|value| chosen.is_none_or(|chosen| chosen == *value));
                (matches!(write.value, WriteSource::Input) && (listen.closed || chosen.is_some())).then(|| values.extend(listed.cloned()))
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
                let message = format!("`{text}` does not hold on every path to `{}`", node.id);
                Diagnostic::new(Code::FailedAssert, self.file(node.document), assert_span(self.program, *of, *index), message)
                    .help("lead here only on paths where it holds: ask the same in the condition of the transition")
            }
            Instr::Write { write, .. } => {
                let (WriteTarget::Path(path) | WriteTarget::Append(path)) = &write.to else {
                    unreachable!("only what is written below something, or added to a list, finds something in its way")
                };
                let (message, help) = match &write.to {
                    WriteTarget::Append(_) => {
                        let kind = known.types.described(alarm.seen);
                        (
                            format!("`{path}` is {kind} on some path, and nothing can be added to it"),
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
                            format!("`{upper}` is no mapping on some path, so `{path}` cannot be written"),
                            "save to another key, or set a mapping before",
                        )
                    }
                };
                Diagnostic::new(Code::TypeMismatch, self.file(node.document), write.origin, message).help(help)
            }
            Instr::Args { call } => self.argument(known, alarm, call),
            Instr::Read(_) | Instr::Ask { .. } | Instr::Undo { .. } => unreachable!("a read is missing something, or takes it for a truth"),
        }
    }

    /// Reports a key that violates its `context_schema`, in the words of the engine.
    fn unfit(&self, known: &mut Analysis<'_, '_>, node: NodeIndex, index: u32, details: &WitnessDetails) -> Diagnostic {
        let node = self.program.node(node);
        let Some((key, schema)) = node.entry.types.get(index as usize) else { unreachable!("the operation stands for one of them") };
        let span = declared_at(self.program, node, key);
        let wanted = known.types.of_schema(schema.source());
        let wanted = known.types.described(wanted);
        let message = details.message.as_deref().and_then(|message| message.strip_prefix(&format!("`{}`: ", node.id)));
        let message = match message {
            Some(message) => format!("{message}, on some path to `{}`", node.id),
            None => format!("`{key}` is not {wanted} on some path to `{}`", node.id),
        };
        Diagnostic::new(Code::TypeMismatch, self.file(node.document), span, message)
            .help(format!("let every path save {wanted} that fits, or change `context_schema`"))
    }
}

/// Returns the place of a key in `context_schema`.
fn declared_at(program: &Program, node: &Node, key: &str) -> Span {
    let syntax = syntax_of(program, node);
    let declared = syntax.and_then(|syntax| syntax.context_schema.iter().find(|(known, _)| *known.value == *key));
    declared.map_or(node.span, |(key, _)| key.span)
}
