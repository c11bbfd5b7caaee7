//! Check of the reads by the undo of a branch of its branch's result, as `input` or under the key that the branch saves it to (language 8.6, 10.6).
//!
//! A finding needs no witness: the undo is interpolated at every success of its branch, and `returns` determines the parts that such a
//! success may lack.

use crate::{
    compile::dataflow::{
        domain::{TypeId, external},
        fixpoint::Analysis,
        ir::is_of_branch,
    },
    diagnostic::{Code, Diagnostic},
    path::{KeyPath, Segment},
    program::{Call, Callee, PointIndex},
};

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
            let result = external::returned(&mut analysis.types, branch);
            let mut lacking = Vec::new();
            for shape in undo.args.iter().chain(&undo.metadata) {
                shape.each_use(&mut |used| {
                    let rest = below(branch, used.path).filter(|_| used.when.is_empty() && is_of_branch(branch, used.path));
                    let Some(rest) = rest else { return };
                    let rest = analysis.types.rest(rest);
                    let of = analysis.types.select(result, rest);
                    if of == TypeId::DYNAMIC || analysis.types.join(of, TypeId::ABSENT) == of {
                        lacking.push((used.path.clone(), used.span()));
                    }
                });
            }
            for (path, span) in lacking {
                let message = format!("the undo of `{name}` reads `{path}`, which its branch may not return");
                let help = format!("guard it, `{{{{ {path} | default(\"…\") }}}}`, or let `returns` of the branch require it");
                found.push(Diagnostic::new(Code::TypeMismatch, program.path_of(node), span, message).help(help));
            }
        }
    }
}

/// Returns the part of a branch's result that a path reads; `None` where it reads more than that.
fn below<'p>(branch: &Call, path: &'p KeyPath) -> Option<&'p [Segment]> {
    match (&**path.root(), &branch.save_to) {
        ("input" | "tool_result", _) => Some(path.rest()),
        (_, Some(saved)) => path.segments().strip_prefix(saved.segments()),
        (_, None) => None,
    }
}
