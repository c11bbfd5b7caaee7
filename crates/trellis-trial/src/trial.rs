//! Runs one case and compares its blocks.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use trellis_core::{
    Compiled, NodeId, Program,
    diagnostic::{Diagnostic, Severity, nearest},
    span::LineIndex,
};
use trellis_project::sheet::{
    BlockKind, Case, Expected, PlayedGraph, Sheet,
    findings::{self, Texts},
};

use crate::{
    beside::Beside,
    compare::{Mismatch, is_expectation, mismatch, windows},
    coverage::Counts,
    doubles::{Double, read_blocks},
    limits::Limits,
    player::{Player, Printed},
    update::{Update, written},
    wire::{At, Difference, Outcome},
};

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The outcome: passed, failed or updated.
    pub outcome: Outcome,
    /// The first difference.
    pub difference: Option<Difference>,
    /// The items that it passed; empty if it changed the graph.
    pub counts: Counts,
    /// The new texts of its blocks, if it is to be updated.
    pub edits: Vec<(Range<usize>, String)>,
    /// Lines of inherited doubles that it used.
    pub(crate) used: Vec<usize>,
    /// True if a transcript of it could not be played, so that nobody knows which doubles it would use.
    pub(crate) is_unplayed: bool,
}

/// A graph as a case plays it.
pub(crate) struct Graph<'g> {
    pub(crate) compiled: &'g Compiled,
    pub(crate) texts: &'g Texts,
}

/// A case on trial.
pub(crate) struct Trial<'t> {
    pub(crate) sheet: &'t Sheet,
    pub(crate) case: &'t Case,
    pub(crate) graph: Graph<'t>,
    pub(crate) beside: &'t dyn Beside,
    pub(crate) limits: &'t Limits,
    pub(crate) update: Option<Update>,
    /// True if a block without a program line fails, as in continuous integration.
    pub(crate) is_ci: bool,
}

impl Trial<'_> {
    pub(crate) fn play(&self) -> Verdict {
        let mut verdict = Verdict {
            outcome: Outcome::Passed,
            difference: None,
            counts: Counts::default(),
            edits: Vec::new(),
            used: Vec::new(),
            is_unplayed: false,
        };
        self.findings(&mut verdict);
        let known = KnownGraph { program: self.graph.compiled.program.as_deref(), beside: self.beside };
        let slip = self.sheet.slips(self.case, &known).into_iter().next();
        for block in self.case.of(BlockKind::Transcript) {
            match &self.graph.compiled.program {
                // What means nothing cannot be played.
                _ if slip.is_some() => verdict.is_unplayed = true,
                Some(program) => self.transcript(block, program, &mut verdict),
                None => {
                    verdict.is_unplayed = true;
                    verdict.fail(self.said(block.line, "the graph has errors, so that nothing can be played"));
                }
            }
        }
        if let Some(slip) = slip {
            verdict.fail(self.said(slip.line, &slip.message));
        }
        if self.case.changes_graph {
            verdict.counts = Counts::default();
        }
        if verdict.difference.is_some() {
            verdict.outcome = Outcome::Failed;
        } else if !verdict.edits.is_empty() {
            verdict.outcome = Outcome::Updated;
        }
        verdict
    }

    fn said(&self, line: usize, message: &str) -> Difference {
        Difference { line, message: Some(message.to_owned()), ..Difference::default() }
    }

    /// The end of a line of a block: that of its fence.
    fn ending(&self, block: &Expected) -> &'static str {
        if self.sheet.text[..block.range.start].ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// The findings of a graph that the case made, or that a block is about.
    fn findings(&self, verdict: &mut Verdict) {
        let found = &self.graph.compiled.diagnostics;
        let mut was_reported = false;
        for block in &self.case.expected {
            let got = match block.kind {
                BlockKind::Diagnostics => findings::print(found, self.graph.texts),
                BlockKind::Finds => findings::places(found, self.graph.texts),
                _ => continue,
            };
            was_reported = true;
            let (expected, got): (Vec<_>, Vec<_>) = (block.text.lines().collect(), got.lines().collect());
            if got == expected {
                continue;
            }
            // An empty block expects nothing: it is not an unfilled one.
            if self.update == Some(Update::All) {
                let ending = self.ending(block);
                verdict.edits.push((block.range.clone(), got.iter().map(|line| format!("{line}{ending}")).collect()));
                continue;
            }
            let at = expected.iter().zip(&got).take_while(|(one, other)| one == other).count();
            verdict.fail(shown(block.line, &expected, &got, &Mismatch { expected: at, got: at }));
        }
        let errors: Vec<Diagnostic> = found.iter().filter(|found| found.severity == Severity::Error).cloned().collect();
        if !was_reported && self.case.changes_graph && !errors.is_empty() {
            let got = findings::print(&errors, self.graph.texts);
            let got = got.lines().map(str::to_owned).collect();
            verdict.fail(Difference { got, ..self.said(self.case.line, "the graph of this case has errors") });
        }
    }

    /// Plays a transcript and compares it.
    fn transcript(&self, block: &Expected, program: &Arc<Program>, verdict: &mut Verdict) {
        let mut player = match self.player(block, program) {
            Ok(player) => player,
            Err((line, message)) => return verdict.fail(self.said(line, &message)),
        };
        let expected: Vec<&str> = block.text.lines().collect();
        player.take_block(block);
        player.finish();
        verdict.counts.add(&player.counts);
        verdict.used.extend(player.doubles.iter().filter(|double| double.used > 0).map(|double| double.line));
        if let Some((line, slip)) = player.slips.first() {
            return verdict.fail(self.said(*line, slip));
        }
        // Line breaks of Windows in the sheet are also those of the graph beside it, so they are not marked.
        let mark = if self.ending(block) == "\r\n" { "␍" } else { "" };
        let got: Vec<&str> = player.lines.iter().map(|line| line.text.strip_suffix(mark).unwrap_or(&line.text)).collect();
        let is_new = !expected.iter().any(|line| is_expectation(line));
        let found = mismatch(&expected, &got);
        // Nothing is written then, and why is not to be seen in the lines that differ.
        let early = cause(&player, is_new || self.update.is_some());
        let rewrites = player.stopped.is_none() && (self.update == Some(Update::All) || (self.update == Some(Update::New) && is_new));
        match found {
            Some(_) if rewrites => verdict.edits.push((block.range.clone(), written(&expected, &got, self.ending(block)))),
            // An unfilled block waits for `--update=new`.
            Some(_) if is_new && !self.is_ci && self.update.is_none() && early.is_none() => {
                verdict.fail(self.said(block.line, "this block says nothing yet: `trellis test --update=new` fills it"));
            }
            Some(at) => {
                let mut difference =
                    Difference { message: early.or_else(|| player.miscalculated.clone()), ..shown(block.line, &expected, &got, &at) };
                difference.not_played = expected.iter().skip(at.expected).filter(|line| !is_expectation(line)).count();
                self.locate(&mut difference, player.lines.get(at.got).or(player.lines.last()), program);
                verdict.fail(difference);
            }
            None => {}
        }
        if let Some(reason) = cause(&player, true).filter(|_| player.stopped.is_some()) {
            verdict.fail(self.said(block.line, &reason));
        }
        // Of a recording one result is enough.
        let is_used = |line: usize| player.doubles.iter().any(|double| double.line == line && double.used > 0);
        let is_unused = |double: &&Double| double.distance == 0 && !double.is_optional && double.used == 0 && !double.shares(is_used);
        if let Some(unused) = player.doubles.iter().find(is_unused) {
            verdict.fail(self.said(unused.line, &format!("unused double: `{}`", unused.name)));
        }
    }

    /// Returns a player at the begin of the transcript: after the cases that it comes after.
    fn player(&self, block: &Expected, program: &Arc<Program>) -> Result<Player<'_>, (usize, String)> {
        let mut chain = vec![(self.case, block)];
        while let Some((_, block)) = chain.last()
            && let Some((next, before)) = self.sheet.before(self.case, block).map_err(|error| (error.line, error.message))?
        {
            if chain.iter().any(|(case, _)| case.line == next.line) {
                return Err((block.line, format!("`$ after {}` leads back to the case itself", next.title)));
            }
            chain.push((next, before));
        }
        // The first of them begins the session; each of the others takes it as the one before it left it.
        chain.reverse();
        let mut player = Player::new(Arc::clone(program), read_blocks(&chain[0].0.doubles, self.beside)?, self.beside, self.limits);
        for (at, (_, block)) in chain.iter().enumerate().take(chain.len() - 1) {
            player.take_block(block);
            player.go_on_with(read_blocks(&chain[at + 1].0.doubles, self.beside)?);
        }
        Ok(player)
    }

    /// Adds the node at which a line was printed.
    fn locate(&self, difference: &mut Difference, line: Option<&Printed>, program: &Program) {
        let Some(node) = line.and_then(|line| line.node.as_ref()) else { return };
        difference.node = Some(node.to_string());
        difference.at = place(program, node);
    }
}

/// The reason why a transcript ended early, if it did: it says more than the first line that differs.
fn cause(player: &Player<'_>, says_more: bool) -> Option<String> {
    if let Some(reason) = &player.not_started {
        return Some(reason.clone());
    }
    let stopped = player.stopped.as_ref()?.trim_start_matches("- ");
    let unused: Vec<&Double> = player.doubles.iter().filter(|double| double.used == 0).collect();
    let near = player.unanswered.as_deref().and_then(|name| nearest(name, unused.iter().map(|double| &*double.name)));
    let misspelt = near.and_then(|near| unused.iter().find(|double| double.name == near));
    match misspelt {
        Some(double) => Some(format!("{stopped}, and line {} has a double for `{}`", double.line, double.name)),
        None => says_more.then(|| format!("{stopped}{}", remedy(player, stopped))),
    }
}

/// Returns how a call or a predicate that nothing answered is answered.
fn remedy(player: &Player<'_>, stopped: &str) -> String {
    match (&player.unanswered, stopped.strip_prefix("not answered: ")) {
        (Some(name), _) => format!("; write `< RESULT` below the call, or `{name} RESULT` in a block `tools`"),
        (None, Some(predicate)) => format!("; write `@ {predicate} = true` above it"),
        (None, None) => String::new(),
    }
}

/// The program of a case, as far as lines of sheets name parts of it.
struct KnownGraph<'g> {
    program: Option<&'g Program>,
    beside: &'g dyn Beside,
}

impl PlayedGraph for KnownGraph<'_> {
    fn has_node(&self, id: &str) -> bool {
        self.program.is_none_or(|program| program.find(&NodeId::from(id)).is_some())
    }

    fn has_predicate(&self, name: &str) -> bool {
        self.program.is_none_or(|program| program.predicates().iter().any(|predicate| &*predicate.name == name))
    }

    fn read_beside(&self, path: &str) -> Result<String, String> {
        self.beside.read_beside(path)
    }
}

impl Verdict {
    /// The first thing that is wrong counts.
    fn fail(&mut self, difference: Difference) {
        self.difference.get_or_insert(difference);
    }
}

/// Returns the place of a node.
pub(crate) fn place(program: &Program, node: &NodeId) -> Option<At> {
    let node = program.node(program.find(node)?);
    let document = program.documents().get(node.document as usize)?;
    Some(At::new(&*document.path, LineIndex::new(&document.text).locate(node.span.start).line))
}

/// A difference with the lines around it.
fn shown(block: usize, expected: &[&str], got: &[&str], at: &Mismatch) -> Difference {
    let [old, new] = windows(expected, got, at);
    let lines = |lines: &[&str], window| lines.get::<Range<usize>>(window).into_iter().flatten().map(|line| (*line).to_owned()).collect();
    Difference { line: block + 1 + at.expected, expected: lines(expected, old), got: lines(got, new), ..Difference::default() }
}

/// Inherited doubles of a sheet that no case used, by line.
pub(crate) fn unused(sheet: &Sheet, used: &[usize], beside: &dyn Beside) -> BTreeMap<usize, String> {
    let doubles = sheet.cases.iter().filter_map(|case| read_blocks(&case.doubles, beside).ok()).flatten();
    let unused = doubles.filter(|double| double.distance > 0 && !double.is_optional && !used.contains(&double.line));
    unused.map(|double| (double.line, double.name)).collect()
}
