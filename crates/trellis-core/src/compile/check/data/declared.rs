//! What is saved against the types that `context:` declares: an answer or a result of which nothing fits is a mistake, whatever the way.

use super::{knowledge::Knowledge, types::TypeId};
use crate::{
    diagnostic::{Code, Diagnostic, FilePath},
    program::{From, Graph, Outcome, Part, Place, PointIndex, Program, Role},
    span::Span,
    syntax::document::Content,
};

pub(super) fn check(known: &mut Knowledge<'_, '_>, wild: &[bool], found: &mut Vec<Diagnostic>) {
    let program = known.program;
    if program.graphs.iter().all(|graph| graph.types.is_empty()) {
        return;
    }
    for at in (0..program.points.len()).filter(|at| !wild[*at]) {
        let point = PointIndex(u32::try_from(at).unwrap_or(u32::MAX));
        let node = program.node(program.point(point).node);
        // Options are literals, which were looked at where they are written.
        let is_listed = matches!(&node.role, Role::Listen(listen) if listen.closed);
        if program.point(point).part != Part::Body || is_listed || known.at(point).is_none() {
            continue;
        }
        let graph = program.graph_of(node);
        let replies = program.replies(&program.point(point).replies).iter();
        let saved = replies.filter(|reply| matches!(reply.on, Outcome::Answer | Outcome::Success)).flat_map(|reply| reply.update.iter());
        for write in saved {
            let (Place::Path(path), From::Input) = (&write.to, &write.value) else { continue };
            let Some((key, schema)) = graph.types.iter().find(|(key, _)| key == path.root()) else { continue };
            let (given, declared) = (known.answer_at(point), known.types.declared(schema));
            let rest = known.types.rest(path.rest());
            let declared = known.types.below(declared, rest);
            let (given, declared) = (known.types.present(given), known.types.present(declared));
            if given == TypeId::NEVER || declared == TypeId::NEVER || known.types.met(given, declared) != TypeId::NEVER {
                continue;
            }
            let (given, declared) = (known.types.described(given), known.types.described(declared));
            let message = format!("`{path}` is declared as {declared}, and what is saved is {given}");
            let mut mismatch = Diagnostic::new(Code::TypeMismatch, program.path_of(node), write.origin, message);
            if let Some((file, span)) = declaration(program, graph, key) {
                mismatch = mismatch.label(file, span, "declared here");
            }
            found.push(mismatch.help(format!("let it be {declared}, or change `context`")));
        }
    }
}

/// Where `context:` declares a key.
fn declaration<'p>(program: &'p Program, graph: &Graph, key: &str) -> Option<(&'p FilePath, Span)> {
    program.documents.iter().find_map(|document| {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return None };
        let (declared, _) = project.context.iter().find(|(declared, _)| *declared.value == *key).filter(|_| folder == &*graph.root)?;
        Some((&document.path, declared.span))
    })
}
