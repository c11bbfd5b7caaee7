//! Check of the outputs of a called graph against `returns` of the call (language 5.3, 5.4): if an end and `returns` have no value in
//! common, the call fails there.

use crate::{
    compile::{
        dataflow::{
            domain::{Misfit, TypeId, TypeTable, external},
            fixpoint::Analysis,
        },
        source_lookup::syntax_of,
    },
    diagnostic::{Code, Diagnostic},
    program::{Callee, Part, PointIndex},
};

/// Reports ends of called graphs whose output and the `returns` of the call meet to bottom.
pub(crate) fn check(known: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = known.program;
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let Some(call) = external::call_at(program, point).filter(|call| !call.returns.is_empty()) else { continue };
        let (Callee::Graph(child), true) = (&call.callee, program.point(point).part == Part::Body) else { continue };
        if known.at(point).is_none() {
            continue;
        }
        let node = program.node(program.point(point).node);
        let returns = syntax_of(program, node).and_then(|syntax| syntax.call.as_ref()).and_then(|call| call.returns.as_ref());
        let place = returns.map_or(node.span, |returns| returns.span);
        for (end, of) in known.ends(*child) {
            for schema in &call.returns {
                let declared = known.types.declared(schema);
                if of == TypeId::NEVER || known.types.meet(of, declared) != TypeId::NEVER {
                    continue;
                }
                let ended = program.node(program.point(PointIndex(end)).node);
                let name = &program.node(*child).id;
                let are_apart = |types: &mut TypeTable, of, declared| types.meet(of, declared) == TypeId::NEVER;
                let Misfit { subject, is, wanted, is_inside, lacks } = known.types.misfit("", of, declared, are_apart);
                let message = match (is_inside, lacks) {
                    (true, true) => format!("`{name}` may return no {subject}, which the call takes"),
                    (true, false) => format!("`{name}` may return {is} as {subject}, and the call takes {wanted} there"),
                    (false, _) if is == wanted => format!("`{name}` may return {is} that does not fit"),
                    (false, _) => format!("`{name}` may return {is}, and what the call takes is {wanted}"),
                };
                let output = syntax_of(program, ended).and_then(|syntax| syntax.output.as_ref()).map_or(ended.span, |output| output.span);
                found.push(
                    Diagnostic::new(Code::TypeMismatch, program.path_of(node), place, message)
                        .label(program.path_of(ended), output, "returned here")
                        .help("let every end that is reached return what fits, or change `returns`"),
                );
            }
        }
    }
}
