//! Conditions in the content of nodes that never hold, by the types at the node.

use super::never_true::is_switch;
use crate::{
    dataflow::{
        domain::{SubPathId, TypeId},
        fixpoint::Analysis,
    },
    guards::impossible,
    source_lookup::syntax_of,
};
use trellis_base::diagnostic::Diagnostic;
use trellis_engine::program::{Guard, Node, Speech};

/// Reports parts of the content that are never shown (language 8.2).
pub(crate) fn never_said(known: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = known.program;
    for node in &program.nodes {
        let mut parts = speeches(node).flat_map(Speech::parts).peekable();
        if parts.peek().is_none() || tainted[node.body.0 as usize] {
            continue;
        }
        let Some(env) = known.env_at(node.body) else { continue };
        for part in parts {
            let compares = matches!(part.when, Guard::Is(..) | Guard::In(..) | Guard::Truth(..));
            let Some(operand) = part.when.operand().filter(|_| compares) else { continue };
            let Some(seen) = known.known(&env, &operand.path) else { continue };
            let guard_id = known.types.intern_guard(&part.when);
            let holds = known.types.refine(seen, SubPathId::NONE, guard_id, true) != TypeId::NEVER;
            let of = known.types.get(seen);
            // An absent operand, or one that is no truth value, has another finding.
            if holds || of.absent || of.dynamic || is_switch(of, &part.when) || known.types.may_fail(seen, &part.when) {
                continue;
            }
            let condition = syntax_of(program, node).and_then(|syntax| {
                let mut conditions = syntax.speech_parts().filter_map(|part| part.condition.as_ref());
                conditions.find(|condition| condition.span == part.origin)
            });
            if let Some(condition) = condition {
                let described = known.types.described(seen);
                found.push(impossible::finding(program, node, condition, &part.when, operand, &of.values.clone(), &described));
            }
        }
    }
}

fn speeches(node: &Node) -> impl Iterator<Item = &Speech> {
    node.content.iter().chain(node.localised.iter().filter_map(|(_, words)| words.content.as_ref()))
}
