//! Check of saved values against the types in `context:`.
//!
//! A finding needs no witness: if the declared type and the type of an answer, result or copied key have no value in common, every session
//! that writes it is wrong.

use crate::{
    compile::{
        dataflow::{domain::TypeId, fixpoint::Analysis},
        outline::outline,
    },
    diagnostic::{Code, Diagnostic, FilePath},
    path::{KeyPath, Segment},
    program::{Graph, Node, Outcome, Part, PointIndex, Program, Reply, Role, Write, WriteSource, WriteTarget},
    schema::{Flaw, Schema},
    span::Span,
    syntax::document::Content,
    template::ElementStep,
    value::Key,
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
        for (on, reply) in (0..).zip(replies) {
            let answers = matches!(reply.on, Outcome::Answer | Outcome::Chosen(_) | Outcome::Success | Outcome::Pass);
            if !answers || !reply.update.iter().any(|write| declared_path(graph, write).is_some()) {
                continue;
            }
            let mut written = Vec::with_capacity(reply.update.len());
            analysis.reply_at(point, on, &mut |_, of| written.push(of));
            for (write, given) in reply.update.iter().zip(written) {
                let Some((path, is_item, (key, schema))) = declared_path(graph, write) else { continue };
                if is_held(node, reply, write, schema, path, is_item) {
                    continue;
                }
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

/// Returns the path that a write goes to, whether it adds an item there, and the declaration of its key.
fn declared_path<'g, 'w>(graph: &'g Graph, write: &'w Write) -> Option<(&'w KeyPath, bool, &'g (Key, Schema))> {
    let (path, is_item) = match &write.to {
        WriteTarget::Path(path) => (path, false),
        WriteTarget::Append(path) => (path, true),
        WriteTarget::Absent(_) | WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => return None,
    };
    Some((path, is_item, graph.types.iter().find(|(key, _)| key == path.root())?))
}

/// Returns whether lowering has held a write to its declaration: a literal, an option, or a shape whose literals do not fit.
fn is_held(node: &Node, reply: &Reply, write: &Write, schema: &Schema, path: &KeyPath, is_item: bool) -> bool {
    let shape = match &write.value {
        WriteSource::Input => {
            return matches!(reply.on, Outcome::Chosen(_)) || matches!(&node.role, Role::Listen(listen) if listen.closed);
        }
        WriteSource::Shape(shape) => shape,
        WriteSource::Error | WriteSource::Branch(_) => return false,
    };
    let mut holes = Vec::new();
    let value = outline(shape, &mut String::new(), &mut holes);
    let steps: Vec<Segment> = path.rest().iter().cloned().chain(is_item.then_some(Segment::Index(0))).collect();
    let part = if steps.is_empty() { Some(schema.clone()) } else { schema.part(&steps) };
    let flaws = part.map(|part| part.flaws(&value, &holes)).unwrap_or_default();
    holes.is_empty() || flaws.iter().any(|flaw| matches!(flaw, Flaw::Unfit(..) | Flaw::Unknown(..)))
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
