//! Unchecked reads: values that the fixpoint does not know, as places and paths.

use super::*;
use crate::dataflow::{fixpoint::UnknownAt, ir::PointIr};

/// Replaces the reads of the points that were visited this time; those of the other points stay.
pub(crate) fn renew(unchecked: &mut Vec<(u32, UncheckedRead)>, known: &mut Analysis<'_, '_>) {
    let program = known.program;
    let touched = known.visited().to_vec();
    unchecked.retain(|(point, _)| touched.binary_search(point).is_err());
    let mut point_ir = PointIr::new(program);
    for at in touched {
        let point = PointIndex(at);
        let mut unknown = known.unknown_at(at).peekable();
        if unknown.peek().is_none() {
            continue;
        }
        point_ir.read(point);
        unchecked.extend(unknown.filter_map(|unknown| match unknown {
            UnknownAt::Site { site, kind } => Some((at, of_site(program, &point_ir.sites[site.index()], kind))),
            UnknownAt::Op(op) => Some((at, of_op(program, point, &point_ir.ops[op.index()])?)),
        }));
    }
}

/// Returns an unchecked read of a site.
pub(crate) fn of_site(program: &Program, site: &ReadSite<'_>, unknown: Unknown) -> UncheckedRead {
    let expression = site.expression(program).map(Into::into);
    UncheckedRead { place: site.place(program), path: site.path.clone(), expression, unknown }
}

/// Returns the unchecked use of a value by an operation.
fn of_op(program: &Program, point: PointIndex, op: &Instr<'_>) -> Option<UncheckedRead> {
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
            WriteTarget::Path(path) | WriteTarget::Append(path) => (write.origin, path.clone(), Unknown::Room),
            _ => return None,
        },
        Instr::Read(_) | Instr::Ask { .. } | Instr::Args { .. } | Instr::Undo { .. } => return None,
    };
    Some(UncheckedRead { place: Place::new(&program.documents[of.document as usize].path, span), path, expression: None, unknown })
}
