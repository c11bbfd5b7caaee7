//! Gaps: the inputs and results of a reply that none of its guards takes, and the finding about them.

use rustc_hash::FxHashMap;

use super::cases::{Case, CaseValues, input_path, of_operand, subject, uncovered};
use crate::source_lookup::{place as first_line, syntax_of};
use trellis_base::{
    diagnostic::{Code, Diagnostic},
    path::Segment,
    span::Span,
};
use trellis_engine::program::{Callee, Failure, Guard, Node, Operand, Outcome, Program, Reason, Reply, Role, Target};
use trellis_syntax::document::Content;

/// Target of a reply whose edges all have guards that fail.
const NO_MATCH: Target = Target::End(Reason::Failed(Failure::NoMatch));

/// Number of gaps that a finding names.
const MAX_NAMED_GAPS: usize = 4;

/// Returns the replies of a node that may match none of its edges.
pub(crate) fn open<'p>(program: &'p Program, node: &Node) -> impl Iterator<Item = &'p Reply> {
    let replies = program.replies(&program.point(node.body).replies).iter();
    replies.filter(|reply| {
        matches!(reply.on, Outcome::Answer | Outcome::Chosen(_) | Outcome::Success | Outcome::Pass)
            && program.edges_of(reply).last().is_some_and(|last| last.to == NO_MATCH)
    })
}

/// Returns true if a node only asks about its own input. Other values come from elsewhere, and the result of a child from its terminals: only the
/// data analysis knows these.
pub(crate) fn is_own(program: &Program, node: &Node) -> bool {
    open(program, node).all(|reply| {
        let of_child = reply.on == Outcome::Success && matches!(&node.role, Role::Act(call) if matches!(call.callee, Callee::Graph(_)));
        let mut operands = program.edges_of(reply).iter().filter_map(|edge| edge.when.operand());
        !of_child && operands.all(|operand| input_path(reply, operand).is_some())
    })
}

/// Returns the finding about a reply for which the engine found no edge; `closed` returns the known values of its operands there.
pub(crate) fn flowing(program: &Program, node: &Node, reply: &Reply, closed: &mut dyn FnMut(&Operand) -> Option<CaseValues>) -> Diagnostic {
    report(program, node, reply, &gaps(program, reply, closed).unwrap_or_default())
}

/// Combinations that no explicit edge takes.
#[derive(Default)]
pub(crate) struct Gaps {
    /// The first of them.
    named: Vec<String>,
    count: usize,
}

impl Gaps {
    /// Adds the gaps of another reply.
    pub(crate) fn extend(&mut self, more: Self) {
        let new: Vec<_> = more.named.into_iter().filter(|gap| !self.named.contains(gap)).collect();
        self.count += if new.is_empty() { 0 } else { more.count };
        self.named.extend(new);
        self.named.truncate(MAX_NAMED_GAPS);
    }
}

/// Returns the combinations that no explicit edge takes; `None` if there is none. Each guard tests one operand, so the uncovered combinations
/// are the product of the cases that the guards of each operand leave.
pub(crate) fn gaps(program: &Program, reply: &Reply, closed: &mut dyn FnMut(&Operand) -> Option<CaseValues>) -> Option<Gaps> {
    let (last, explicit) = program.edges_of(reply).split_last()?;
    if last.to != NO_MATCH {
        return None;
    }
    // A key that the input was saved to is the input.
    let mut known: FxHashMap<Result<&[Segment], &Operand>, usize> = FxHashMap::default();
    let mut operands: Vec<(&Operand, Vec<&Guard>)> = Vec::new();
    let mut predicates: Vec<(u32, Vec<bool>)> = Vec::new();
    for guard in explicit.iter().map(|edge| &edge.when) {
        match (subject(guard), guard) {
            (Some(operand), _) => {
                let at = *known.entry(input_path(reply, operand).ok_or(operand)).or_insert(operands.len());
                if at == operands.len() {
                    operands.push((operand, Vec::new()));
                }
                operands[at].1.push(guard);
            }
            (None, Guard::Predicate(index, yes)) => {
                if !predicates.iter().any(|(known, _)| known == index) {
                    predicates.push((*index, vec![true, false]));
                }
                let left = predicates.iter_mut().filter(|(known, _)| known == index);
                left.for_each(|(_, left)| left.retain(|answer| answer != yes));
            }
            (None, _) => return None,
        }
    }
    let cases: Vec<Vec<Case>> = operands.iter().map(|(operand, own)| of_operand(closed(operand), own)).collect();
    let open: Vec<Vec<&Case>> = cases.iter().zip(&operands).map(|(cases, (_, own))| uncovered(cases, own)).collect();
    let sizes: Vec<usize> = open.iter().map(Vec::len).chain(predicates.iter().map(|(_, left)| left.len())).collect();
    let count = sizes.iter().fold(1, |count: usize, size| count.saturating_mul(*size));
    let described = (0..count.min(MAX_NAMED_GAPS)).map(|combination| {
        let picked = pick(combination, &sizes);
        let cases = operands.iter().zip(&open).zip(&picked).map(|(((operand, _), open), at)| of_case(operand, open[*at]));
        let answers = predicates.iter().zip(&picked[operands.len()..]);
        let answers = answers.map(|((index, left), at)| format!("`{}` is {}", program.predicates[*index as usize].name, left[*at]));
        cases.chain(answers).collect::<Vec<_>>().join(" and ")
    });
    (count > 0).then(|| Gaps { named: described.collect(), count })
}

/// The digits of `combination` in the mixed base of `sizes`.
fn pick(mut combination: usize, sizes: &[usize]) -> Vec<usize> {
    let digit = |size: &usize| {
        let digit = combination % size;
        combination /= size;
        digit
    };
    sizes.iter().map(digit).collect()
}

fn of_case(operand: &Operand, case: &Case) -> String {
    match case {
        Case::Value(value) => format!("`{}` is `{}`", operand.path, value.to_json()),
        Case::Other => format!("`{}` is anything else", operand.path),
        Case::Absent => format!("`{}` is not set", operand.path),
    }
}

/// The finding about the gaps of a reply.
pub(crate) fn report(program: &Program, node: &Node, reply: &Reply, gaps: &Gaps) -> Diagnostic {
    let more = if gaps.count > MAX_NAMED_GAPS { format!(", and {} more cases", gaps.count - MAX_NAMED_GAPS) } else { String::new() };
    let listed = gaps.named.iter().filter(|gap| !gap.is_empty()).cloned().collect::<Vec<_>>().join(", or ");
    let when = if listed.is_empty() { "for any input".to_owned() } else { format!("when {listed}{more}") };
    let what = if reply.on == Outcome::Success { "a result" } else { "this node" };
    let help = "add `to: node` for everything else";
    let found =
        Diagnostic::new(Code::NonExhaustive, program.path_of(node), place(program, node), format!("{what} has no transition {when}"));
    match fallback(program, node) {
        Some((at, line)) => found.help(help).fix("add `to: fail`, the end as failed", at, line),
        None => found.help(help),
    }
}

/// Returns the line that makes a node end as failed where no edge fits, and its place: it makes the implicit behaviour explicit.
fn fallback(program: &Program, node: &Node) -> Option<(Span, String)> {
    let document = &program.documents[node.document as usize];
    let syntax = syntax_of(program, node).filter(|_| matches!(document.content, Content::Node(_)))?;
    let text = &*document.text;
    let keys = || syntax.keys.iter().map(|(_, span)| span.start as usize);
    let line = |at: usize| text[..at].rfind('\n').map_or(0, |before| before + 1);
    let indent = &text[line(keys().next()?)..keys().next()?];
    let is_block = indent.chars().all(|char| char == ' ') && keys().all(|at| text[line(at)..at] == *indent);
    let is_markdown = document.path.to_ascii_lowercase().ends_with(".md");
    let at = if is_markdown { (node.span.end as usize).checked_sub("---".len())? } else { text.len() };
    let is_data = document.path.ends_with(".yaml") || document.path.ends_with(".yml");
    let is_open = syntax.to.is_none() && (is_markdown || is_data && !text.contains("\n..."));
    let is_new_line = text[..at].ends_with('\n');
    (is_block && is_open && is_new_line).then(|| {
        let end = if text[..at].ends_with("\r\n") { "\r\n" } else { "\n" };
        (Span::at(at), format!("{indent}to: fail{end}"))
    })
}

/// Returns the key whose edges have the gap.
fn place(program: &Program, node: &Node) -> Span {
    let keys = syntax_of(program, node)
        .map(|syntax| ["transitions", "options", "input_options", "to"].into_iter().find_map(|key| syntax.key(key)));
    keys.flatten().unwrap_or_else(|| first_line(node))
}
