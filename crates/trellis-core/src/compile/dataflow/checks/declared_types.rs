//! Check of saved values against the types in `context:`.
//!
//! A finding needs no witness: if the declared type and the type of an answer, result or copied key have no value in common, every session
//! that writes it is wrong.

use crate::{
    compile::dataflow::{domain::TypeId, fixpoint::Analysis},
    diagnostic::{Code, Diagnostic, FilePath},
    program::{Graph, Outcome, Part, PointIndex, Program, Reply, Role, Write, WriteSource, WriteTarget},
    span::Span,
    syntax::document::Content,
    template::{ElementStep, Shape},
};

/// Reports writes whose type and declared type meet to bottom.
pub(crate) fn check(analysis: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = analysis.program;
    if program.graphs.iter().all(|graph| graph.types.is_empty()) {
        return;
    }
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let node = program.node(program.point(point).node);
        if program.point(point).part != Part::Body || analysis.at(point).is_none() {
            continue;
        }
        let graph = program.graph_of(node);
        let replies = program.replies(&program.point(point).replies).iter();
        for reply in replies.filter(|reply| matches!(reply.on, Outcome::Answer | Outcome::Chosen(_) | Outcome::Success | Outcome::Pass)) {
            for write in &reply.update {
                let (path, is_item) = match &write.to {
                    WriteTarget::Path(path) => (path, false),
                    WriteTarget::Append(path) => (path, true),
                    WriteTarget::Absent(_) | WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => continue,
                };
                let Some((key, schema)) = graph.types.iter().find(|(key, _)| key == path.root()) else { continue };
                let Some(given) = given(analysis, point, reply, write) else { continue };
                let declared = analysis.types.declared(schema);
                let rest = analysis.types.rest(path.rest());
                let declared = analysis.types.select(declared, rest);
                let (mut given, mut declared) = (analysis.types.present(given), analysis.types.present(declared));
                if is_item && given != TypeId::NEVER {
                    (given, declared) = (analysis.types.items_added(given), analysis.types.inside(declared, &[ElementStep::Item]));
                }
                if given == TypeId::NEVER || declared == TypeId::NEVER || analysis.types.meet(given, declared) != TypeId::NEVER {
                    continue;
                }
                let (given, declared) = (analysis.types.described(given), analysis.types.described(declared));
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

/// Returns the type that a reply writes, if that is an answer, a result or a copied key; `None` for everything else.
fn given(analysis: &mut Analysis<'_, '_>, point: PointIndex, reply: &Reply, write: &Write) -> Option<TypeId> {
    let program = analysis.program;
    let shape = match &write.value {
        // Options are literals, which another check has covered.
        WriteSource::Input if matches!(reply.on, Outcome::Chosen(_)) => return None,
        WriteSource::Input if matches!(&program.node(program.point(point).node).role, Role::Listen(listen) if listen.closed) => {
            return None;
        }
        WriteSource::Input => return Some(analysis.answer_at(point)),
        WriteSource::Shape(Shape::Expression(expression)) => expression,
        WriteSource::Branch(name) => {
            return Some(crate::compile::dataflow::domain::external::of_branch(&mut analysis.types, program, point, name));
        }
        WriteSource::Shape(_) | WriteSource::Error => return None,
    };
    let (path, _) = shape.path()?;
    if matches!(&**path.root(), "input" | "tool_result") {
        let answer = match &program.node(program.point(point).node).role {
            Role::Listen(listen) => listen.chosen(&reply.on).map(|value| analysis.types.of_value(value)),
            Role::Act(_) | Role::Pass => None,
        };
        let (answer, rest) = (answer.unwrap_or_else(|| analysis.answer_at(point)), analysis.types.rest(path.rest()));
        return Some(analysis.types.select(answer, rest));
    }
    // An earlier write of the same reply changes the key.
    let is_written = reply.update.iter().any(|write| match &write.to {
        WriteTarget::Path(written) | WriteTarget::Append(written) => written.root() == path.root(),
        WriteTarget::Absent(key) => key == path.root(),
        WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => &**path.root() == "sys",
    });
    let env = analysis.env_at(point).filter(|_| !is_written)?;
    analysis.known(&env, path)
}

/// Returns the place where `context:` declares a key.
fn declaration<'p>(program: &'p Program, graph: &Graph, key: &str) -> Option<(&'p FilePath, Span)> {
    program.documents.iter().find_map(|document| {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return None };
        let (declared, _) = project.context.iter().find(|(declared, _)| *declared.value == *key).filter(|_| folder == &*graph.root)?;
        Some((&document.path, declared.span))
    })
}
