//! Check of saved values against the types in `context:`.
//!
//! A finding needs no witness: if the declared type and the type of an answer, result or copied key have no value in common, every session
//! that writes it is wrong. So is one whose items or entries are written one by one, where one of these has none, and a mapping that lacks a required
//! key which no write of the program adds.

use super::written_part::{ApartPart, WrittenPart, span_at};
use crate::{
    dataflow::{
        domain::{Misfit, TypeId, TypeTable, item_of, key_of},
        fixpoint::Analysis,
    },
    outline::{is_container, outline},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, nearest},
    path::{KeyPath, Segment},
    schema::{Flaw, Schema},
    span::Span,
    template::KindSet,
    value::{Key, Value},
};
use trellis_engine::program::{Graph, Node, Outcome, Part, PointIndex, Program, Reply, Role, Write, WriteSource, WriteTarget};
use trellis_syntax::document::Content;

/// Reports writes whose type, or that of a part, and the declared type meet to bottom.
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
            analysis.reply_at(point, on, &mut |of| written.push(of));
            for (write, given) in reply.update.iter().zip(written) {
                let Some((path, is_item, (key, schema))) = declared_path(graph, write) else { continue };
                let declared = analysis.types.declared(schema);
                let rest = analysis.types.rest(path.rest());
                let declared = analysis.types.select(declared, rest);
                let declared = analysis.types.present(declared);
                let shape = if let WriteSource::Shape(shape) = &write.value { Some(shape) } else { None };
                let written = WrittenPart { given: &given, shape, span: write.origin };
                let lacking = if is_item { None } else { lacking(program, write, schema, path) };
                let (span, message, help) = match (is_item, lacking) {
                    (_, Some(lacking)) => lacking,
                    (true, _) if is_no_list(&analysis.types, declared) => {
                        let declared = analysis.types.described(declared);
                        let message = format!("`{path}` is declared as {declared}, and `append` makes a list of it");
                        (write.origin, message, "use `set`, or declare a list in `context`".to_owned())
                    }
                    _ if is_held(node, reply, write, schema, path, is_item) => continue,
                    (true, _) => match written.apart_of_items(&mut analysis.types, declared, &format!("an item of `{path}`")) {
                        Some(apart) => apart.describe("added"),
                        None => continue,
                    },
                    (false, _) => match written.apart(&mut analysis.types, declared, &format!("`{path}`"), false) {
                        Some(apart) => apart.describe("saved"),
                        None => continue,
                    },
                };
                let mut mismatch = Diagnostic::new(Code::TypeMismatch, program.path_of(node), span, message);
                if let Some((file, span)) = declaration(program, graph, key) {
                    mismatch = mismatch.label(file, span, "declared here");
                }
                found.push(mismatch.help(help));
            }
        }
    }
}

impl ApartPart {
    /// Returns its place, a message and a help.
    fn describe(self, is_done: &str) -> (Span, String, String) {
        let Misfit { subject, is, wanted, lacks, .. } = self.misfit;
        let message = match lacks {
            true => format!("{subject} is declared as {wanted}, and what is {is_done} has none"),
            false if is == wanted => format!("{subject} is declared as {wanted}, and what is {is_done} does not fit"),
            false => format!("{subject} is declared as {wanted}, and what is {is_done} is {is}"),
        };
        (self.span, message, format!("let it be {wanted}, or change `context`"))
    }
}

/// Returns whether no value of a type is a list.
fn is_no_list(types: &TypeTable, declared: TypeId) -> bool {
    let of = types.get(declared);
    declared != TypeId::NEVER && !of.unknown && !of.dynamic && !types.sorts(declared).meet(KindSet::LIST)
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
    let part = if is_item { schema.added_item(path.rest(), None) } else { part_at(schema, path) };
    let flaws = part.map(|part| part.flaws(&value, &holes)).unwrap_or_default();
    holes.is_empty() || flaws.iter().any(|flaw| matches!(flaw, Flaw::Unfit(..) | Flaw::Unknown(..)))
}

/// Returns the demands of the declaration of a key on the value at a path.
fn part_at(schema: &Schema, path: &KeyPath) -> Option<Schema> {
    if path.is_key() { Some(schema.clone()) } else { schema.part(path.rest()) }
}

/// Returns the place of a mapping that lacks a required key which nothing adds, with a message and a help. An empty one only makes room.
fn lacking(program: &Program, write: &Write, schema: &Schema, path: &KeyPath) -> Option<(Span, String, String)> {
    let WriteSource::Shape(shape) = &write.value else { return None };
    let mut holes = Vec::new();
    let value = outline(shape, &mut String::new(), &mut holes);
    let flaws = part_at(schema, path)?.flaws(&value, &holes);
    let is_reported = |flaw: &Flaw| match flaw {
        Flaw::Unfit(at, _) => !is_container(&value, at),
        Flaw::Unknown(..) => true,
        Flaw::Missing(..) | Flaw::MayBeMissing(_) => false,
    };
    if flaws.iter().any(is_reported) {
        return None;
    }
    flaws.iter().find_map(|flaw| {
        let (Flaw::Missing(pointer, _) | Flaw::Unfit(pointer, _)) = flaw else { return None };
        let (mut inner, mut subject, mut missing) = (&value, format!("`{path}`"), path.segments().to_vec());
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            match inner {
                Value::List(items) => {
                    let at = step.parse().ok()?;
                    inner = items.get(at)?;
                    subject = item_of(&subject);
                    missing.push(Segment::Index(at));
                }
                entries => {
                    inner = entries.as_map()?.get(&step)?;
                    subject = key_of(&subject, &step);
                    missing.push(Segment::Key(step.as_str().into()));
                }
            }
        }
        let span = span_at(shape, write.origin, pointer);
        let key = match flaw {
            Flaw::Missing(_, key) => key,
            Flaw::Unfit(_, message) if !is_grown(program, &missing) => {
                return Some((span, format!("{subject} {message}"), "write what fits, or change `context`".to_owned()));
            }
            _ => return None,
        };
        let given = inner.as_map().filter(|given| !given.is_empty())?;
        missing.push(Segment::Key(key.as_str().into()));
        if is_added(program, path, &missing) {
            return None;
        }
        let near = nearest(key, given.keys().map(|name| &**name));
        let help = near.map_or_else(|| format!("add `{key}: …`"), |near| format!("`{near}` is there: did you mean `{key}`?"));
        let message = format!("{subject} needs `{key}`, which is not given here, and nothing adds it");
        Some((span, message, help))
    })
}

/// Returns whether some write of the program adds to the mapping or the list at a path.
fn is_grown(program: &Program, container: &[Segment]) -> bool {
    let adds = |write: &Write| match &write.to {
        WriteTarget::Path(path) => path.segments().len() > container.len() && path.segments().starts_with(container),
        WriteTarget::Append(path) => path.segments().starts_with(container),
        WriteTarget::Absent(_) | WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
    };
    program.replies.iter().flat_map(|reply| &reply.update).any(adds)
}

/// Returns whether some write of the program adds a path to what is written at a path above it.
fn is_added(program: &Program, above: &KeyPath, missing: &[Segment]) -> bool {
    let adds = |write: &Write| match &write.to {
        WriteTarget::Path(path) | WriteTarget::Append(path) => {
            let path = path.segments();
            path.len() > above.segments().len() && (path.starts_with(missing) || missing.starts_with(path))
        }
        WriteTarget::Absent(_) | WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
    };
    program.replies.iter().flat_map(|reply| &reply.update).any(adds)
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
