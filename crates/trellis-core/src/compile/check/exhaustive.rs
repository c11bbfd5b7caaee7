//! `non-exhaustive`: every input and every successful result has a way (language 8.4).

use super::{
    cases::{Assignment, Case, Closed, closed, input_path, of_operand, subject},
    syntax_of,
};
use crate::{
    diagnostic::{Code, Diagnostic},
    program::{Callee, Domain, Failure, Guard, Node, Operand, Outcome, Program, Reason, Reply, Role, Target, Truth},
    span::Span,
    syntax::document::Content,
};

/// Combinations of cases that are tried at one reply.
const BOUND: usize = 1 << 16;

/// How many gaps are named.
const NAMED: usize = 4;

pub(super) fn check(program: &Program, found: &mut Vec<Diagnostic>) {
    for node in &program.nodes {
        if broken(program, node) {
            continue;
        }
        let replies = program.replies(&program.point(node.body).replies);
        for reply in replies.iter().filter(|reply| matches!(reply.on, Outcome::Answer | Outcome::Success | Outcome::Pass)) {
            // What a child returns, only the flow of data knows.
            let of_child = reply.on == Outcome::Success && matches!(&node.role, Role::Act(call) if matches!(call.callee, Callee::Graph(_)));
            // What else a node asks about comes from elsewhere, and only that flow knows what it can be.
            let mut operands = program.edges_of(reply).iter().filter_map(|edge| subject(&edge.when));
            let own = !of_child && operands.all(|operand| input_path(reply, operand).is_some());
            if own && let Some(gaps) = gaps(program, reply, &mut |operand| closed(node, reply, operand)) {
                found.push(report(program, node, reply, &gaps));
            }
        }
    }
}

/// The finding about a reply for which the engine found no way; `closed` says what is known of its operands there.
pub(super) fn flowing(program: &Program, node: &Node, reply: &Reply, closed: &mut dyn FnMut(&Operand) -> Option<Closed>) -> Diagnostic {
    report(program, node, reply, &gaps(program, reply, closed).unwrap_or_default())
}

/// Whether the node's file has mistakes of its own: a way that could not be read is no gap.
fn broken(program: &Program, node: &Node) -> bool {
    program.documents[node.document as usize].diagnostics.iter().any(Diagnostic::is_error)
}

/// The combinations that no explicit way takes; nothing where there is none.
fn gaps(program: &Program, reply: &Reply, closed: &mut dyn FnMut(&Operand) -> Option<Closed>) -> Option<Vec<String>> {
    let (last, explicit) = program.edges_of(reply).split_last()?;
    if last.to != Target::End(Reason::Failed(Failure::NoMatch)) {
        return None;
    }
    let guards: Vec<&Guard> = explicit.iter().map(|edge| &edge.when).collect();
    let mut operands: Vec<(&Operand, Vec<Case>)> = Vec::new();
    let mut predicates: Vec<u32> = Vec::new();
    for guard in &guards {
        if let Some(operand) = subject(guard)
            && !operands.iter().any(|(known, _)| *known == operand)
        {
            operands.push((operand, of_operand(closed(operand), operand, &guards)));
        }
        if let Guard::Predicate(index, _) = guard
            && !predicates.contains(index)
        {
            predicates.push(*index);
        }
    }
    let sizes = operands.iter().map(|(_, cases)| cases.len()).chain(predicates.iter().map(|_| 2));
    let total = sizes.clone().try_fold(1_usize, usize::checked_mul).filter(|total| *total <= BOUND)?;
    let sizes: Vec<usize> = sizes.collect();
    let mut named: Vec<String> = Vec::new();
    for combination in 0..total {
        let picked = pick(combination, &sizes);
        let cases = operands.iter().zip(&picked).map(|((operand, cases), at)| (*operand, &cases[*at]));
        let answers = predicates.iter().zip(&picked[operands.len()..]).map(|(index, at)| (*index, *at == 0));
        let assignment = Assignment { operands: cases.collect(), predicates: answers.collect() };
        if guards.iter().all(|guard| assignment.holds(guard) == Truth::No) {
            named.push(describe(program, &assignment));
        }
    }
    (!named.is_empty()).then_some(named)
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

fn describe(program: &Program, assignment: &Assignment<'_>) -> String {
    let operands = assignment.operands.iter().map(|(operand, case)| match case {
        Case::Value(value) => format!("`{}` is `{}`", operand.path, value.to_json()),
        Case::Other => format!("`{}` is anything else", operand.path),
        Case::Absent => format!("`{}` is not set", operand.path),
    });
    let predicates = assignment.predicates.iter().map(|(index, yes)| format!("`{}` is {yes}", program.predicates[*index as usize].name));
    operands.chain(predicates).collect::<Vec<_>>().join(" and ")
}

fn report(program: &Program, node: &Node, reply: &Reply, gaps: &[String]) -> Diagnostic {
    let more = if gaps.len() > NAMED { format!(", and {} more cases", gaps.len() - NAMED) } else { String::new() };
    let listed = gaps.iter().take(NAMED).filter(|gap| !gap.is_empty()).cloned().collect::<Vec<_>>().join(", or ");
    let when = if listed.is_empty() { "after any input".to_owned() } else { format!("when {listed}{more}") };
    let what = if reply.on == Outcome::Success { "a result" } else { "this node" };
    let help = "add `to: node` as the way for everything else";
    let found = Diagnostic::new(Code::NonExhaustive, program.path_of(node), place(program, node), format!("{what} has no way on {when}"));
    match fallback(program, node) {
        Some((at, line)) => found.help(help).fix("add `to: fail`, the end as failed", at, line),
        None => found.help(help),
    }
}

/// The line that makes a node end as failed where no way fits, and where it belongs: it says what happens without it.
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

/// The key whose ways have the gap.
fn place(program: &Program, node: &Node) -> Span {
    let keys = syntax_of(program, node)
        .map(|syntax| ["transitions", "options", "input_options", "to"].into_iter().find_map(|key| syntax.key(key)));
    keys.flatten().unwrap_or_else(|| super::reach::place(node))
}
