//! Check of the outputs of a called graph against `returns` of the call (language 5.3, 5.4): if an end and `returns` have no value in
//! common, the call fails there.

use crate::{
    dataflow::{
        domain::{Misfit, TypeId, TypeTable, external},
        fixpoint::Analysis,
    },
    source_lookup::syntax_of,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Place},
    schema::Schema,
};
use trellis_engine::program::{Callee, NodeIndex, Part, PointIndex};
use trellis_syntax::node::CalleeSyntax;

/// Reports ends of called graphs whose output and the `returns` of the call meet to bottom.
pub(crate) fn check(known: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = known.program;
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let Some(call) = external::call_at(program, point).filter(|_| program.point(point).part == Part::Body) else { continue };
        let node = program.node(program.point(point).node);
        let syntax = syntax_of(program, node).and_then(|syntax| syntax.call.as_deref());
        let mut open = vec![(call, syntax)];
        while let Some((call, syntax)) = open.pop() {
            match &call.callee {
                Callee::Graph(child) if !call.returns.is_empty() && known.at(point).is_some() => {
                    let place = syntax.and_then(|syntax| syntax.returns.as_ref()).map_or(node.span, |returns| returns.span);
                    hold(known, *child, &call.returns, &Place::new(program.path_of(node), place), found);
                }
                Callee::Parallel(branches, _) => {
                    let written: &[_] = match syntax.map(|syntax| &syntax.callee) {
                        Some(CalleeSyntax::Parallel(written, _)) => written,
                        _ => &[],
                    };
                    let branches = branches.iter().enumerate();
                    open.extend(branches.rev().map(|(at, (_, branch))| (branch, written.get(at).map(|(_, syntax)| syntax))));
                }
                Callee::Graph(_) | Callee::Tool(_) | Callee::Each(..) => {}
            }
        }
    }
}

/// Holds the ends of a child to the `returns` of one call of it.
fn hold(known: &mut Analysis<'_, '_>, child: NodeIndex, returns: &[Schema], place: &Place, found: &mut Vec<Diagnostic>) {
    let program = known.program;
    for (end, of) in known.ends(child) {
        for schema in returns {
            let declared = known.types.declared(schema);
            if of == TypeId::NEVER || known.types.meet(of, declared) != TypeId::NEVER {
                continue;
            }
            let ended = program.node(program.point(PointIndex(end)).node);
            let name = &program.node(child).id;
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
                Diagnostic::new(Code::TypeMismatch, &place.path, place.span, message)
                    .label(program.path_of(ended), output, "returned here")
                    .help("let every end that is reached return what fits, or change `returns`"),
            );
        }
    }
}
