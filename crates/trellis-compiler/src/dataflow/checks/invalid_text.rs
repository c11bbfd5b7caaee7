//! Check of the texts of `on_invalid`: a text that reads a key which is never present is never shown.
//!
//! No session fails by it, so there is no violation to search a path to. That the key is absent on every path is a result of the fixpoint.

use crate::dataflow::fixpoint::Analysis;
use trellis_base::diagnostic::{Code, Diagnostic, Near, near};
use trellis_engine::program::{Part, PointIndex, Role};

/// Reports texts of `on_invalid` that read a key which is never present.
pub(crate) fn check(analysis: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = analysis.program;
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let node = program.node(program.point(point).node);
        let Role::Listen(listen) = &node.role else { continue };
        let (Some(invalid), Part::Body) = (&listen.on_invalid, program.point(point).part) else { continue };
        let Some(env) = analysis.env_at(point) else { continue };
        let texts = invalid.text.iter().chain(invalid.messages.iter().map(|(_, text)| text));
        texts.for_each(|text| {
            text.each_use(&mut |used| {
                // The rejected input is always present.
                let is_followed = used.when.is_empty() && !used.blind && **used.path.root() != *"input";
                let Some(of) = analysis.known(&env, used.path).filter(|_| is_followed) else { return };
                if analysis.types.may_be_there(of) {
                    return;
                }
                let written = used.path.to_string();
                let names = analysis.keys().into_iter().filter(|(_, slot)| env.may_hold(*slot, &analysis.types));
                let names: Vec<String> = names.map(|(name, _)| name).collect();
                let message = format!("`{written}` is not set on any path to `{}`, so this is never shown", node.id);
                let missing = Diagnostic::new(Code::UndefinedVariable, program.path_of(node), used.span(), message);
                let near = near(&written, names.iter().map(String::as_str));
                let spelled = program.documents[node.document as usize].text.get(used.span().range()) == Some(&*written);
                found.push(match near {
                    Some(near) if spelled => missing.meant(used.span(), Some(near), String::new),
                    near => missing.help(near.map_or_else(|| "set it before, or take it out".to_owned(), Near::question)),
                });
            })
        });
    }
}
