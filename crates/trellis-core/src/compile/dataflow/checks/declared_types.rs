//! What is saved and added against the types that `context:` declares: an answer, a result or a key of which nothing fits is a mistake, whatever the way.

use crate::{
    compile::dataflow::{domain::TypeId, fixpoint::Analysis},
    diagnostic::{Code, Diagnostic, FilePath},
    program::{From, Graph, Outcome, Part, Place, PointIndex, Program, Reply, Role, Write},
    span::Span,
    syntax::document::Content,
    template::{Shape, Step},
};

pub(crate) fn check(known: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = known.program;
    if program.graphs.iter().all(|graph| graph.types.is_empty()) {
        return;
    }
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let node = program.node(program.point(point).node);
        if program.point(point).part != Part::Body || known.at(point).is_none() {
            continue;
        }
        let graph = program.graph_of(node);
        let replies = program.replies(&program.point(point).replies).iter();
        for reply in replies.filter(|reply| matches!(reply.on, Outcome::Answer | Outcome::Chosen(_) | Outcome::Success | Outcome::Pass)) {
            for write in &reply.update {
                let (path, is_item) = match &write.to {
                    Place::Path(path) => (path, false),
                    Place::Append(path) => (path, true),
                    Place::Absent(_) | Place::Input | Place::Ans | Place::Error => continue,
                };
                let Some((key, schema)) = graph.types.iter().find(|(key, _)| key == path.root()) else { continue };
                let Some(given) = given(known, point, reply, write) else { continue };
                let declared = known.types.declared(schema);
                let rest = known.types.rest(path.rest());
                let declared = known.types.select(declared, rest);
                let (mut given, mut declared) = (known.types.present(given), known.types.present(declared));
                if is_item && given != TypeId::NEVER {
                    (given, declared) = (known.types.items_added(given), known.types.inside(declared, &[Step::Item]));
                }
                if given == TypeId::NEVER || declared == TypeId::NEVER || known.types.meet(given, declared) != TypeId::NEVER {
                    continue;
                }
                let (given, declared) = (known.types.described(given), known.types.described(declared));
                let message = match is_item {
                    true => format!("an item of `{path}` is declared as {declared}, and what is added is {given}"),
                    false => format!("`{path}` is declared as {declared}, and what is saved is {given}"),
                };
                let mut mismatch = Diagnostic::new(Code::TypeMismatch, program.path_of(node), write.origin, message);
                if let Some((file, span)) = declaration(program, graph, key) {
                    mismatch = mismatch.label(file, span, "declared here");
                }
                found.push(mismatch.help(format!("let it be {declared}, or change `context`")));
            }
        }
    }
}

/// What a reply writes, where it is an answer, a result or another key as it stands.
fn given(known: &mut Analysis<'_, '_>, point: PointIndex, reply: &Reply, write: &Write) -> Option<TypeId> {
    let program = known.program;
    let shape = match &write.value {
        // Options are literals, which were looked at where they are written.
        From::Input if matches!(reply.on, Outcome::Chosen(_)) => return None,
        From::Input if matches!(&program.node(program.point(point).node).role, Role::Listen(listen) if listen.closed) => return None,
        From::Input => return Some(known.answer_at(point)),
        From::Shape(Shape::Expression(expression)) => expression,
        From::Shape(_) | From::Error => return None,
    };
    let (path, _) = shape.path()?;
    if matches!(&**path.root(), "input" | "tool_result") {
        let answer = match &program.node(program.point(point).node).role {
            Role::Listen(listen) => listen.chosen(&reply.on).map(|value| known.types.of_value(value)),
            Role::Act(_) | Role::Pass => None,
        };
        let (answer, rest) = (answer.unwrap_or_else(|| known.answer_at(point)), known.types.rest(path.rest()));
        return Some(known.types.select(answer, rest));
    }
    // What the same reply wrote before is not what stood there.
    let is_written = reply.update.iter().any(|write| match &write.to {
        Place::Path(written) | Place::Append(written) => written.root() == path.root(),
        Place::Absent(key) => key == path.root(),
        Place::Input | Place::Ans | Place::Error => &**path.root() == "sys",
    });
    let env = known.standing(point).filter(|_| !is_written)?;
    known.known(&env, path)
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
