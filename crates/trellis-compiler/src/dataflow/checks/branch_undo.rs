//! Check of the reads by the undo of a branch of its branch's result, as `input` or under the key that the branch saves it to (language 8.6, 10.6).
//!
//! A finding needs no witness: the undo is interpolated at every success of its branch, and `returns` determines the parts that such a
//! success may lack.

use crate::dataflow::{
    domain::{TypeId, external},
    fixpoint::Analysis,
    ir::{is_of_branch, part_of_result},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic},
    path::KeyPath,
    span::Span,
};
use trellis_engine::program::{Call, Callee, PointIndex};

/// Reports reads of parts that a branch's result may lack, by the `returns` of the branch.
pub(crate) fn check(analysis: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = analysis.program;
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let Some(call) = external::call_at(program, point).filter(|_| analysis.at(point).is_some()) else { continue };
        let Callee::Parallel(branches, _) = &call.callee else { continue };
        let node = program.node(program.point(point).node);
        for (name, branch) in branches {
            let Some(undo) = &branch.undo else { continue };
            for (path, span) in lacking(analysis, branch, undo) {
                let message = format!("the undo of `{name}` reads `{path}`, which its branch may not return");
                let help = format!("guard it, `{{{{ {path} | default(\"…\") }}}}`, or let `returns` of the branch require it");
                found.push(Diagnostic::new(Code::TypeMismatch, program.path_of(node), span, message).help(help));
            }
        }
    }
}

/// Returns what an undo, or a part of it, reads of the result of its branch although that may lack it.
fn lacking(analysis: &mut Analysis<'_, '_>, branch: &Call, undo: &Call) -> Vec<(KeyPath, Span)> {
    let result = analysis.result(branch);
    let types = &mut analysis.types;
    let (mut lacking, mut open) = (Vec::new(), vec![undo]);
    while let Some(call) = open.pop() {
        for shape in call.args.iter().chain(&call.metadata) {
            shape.each_use(&mut |used| {
                let rest = part_of_result(branch, used.path).filter(|_| used.when.is_empty() && is_of_branch(branch, used.path));
                let Some(rest) = rest else { return };
                let rest = types.rest(rest);
                let of = types.select(result, rest);
                if of == TypeId::DYNAMIC || types.join(of, TypeId::ABSENT) == of {
                    lacking.push((used.path.clone(), used.span()));
                }
            });
        }
        if let Callee::Parallel(parts, _) = &call.callee {
            open.extend(parts.iter().map(|(_, part)| part));
        }
    }
    lacking
}
