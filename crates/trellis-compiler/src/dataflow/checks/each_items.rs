//! Check of the literal items that an `each` goes through: an item that names no tool of the node, or does not fit its parameters, can only become an
//! error (language 10.4).
//!
//! A list is followed from its literal to the `each` where that reads the path that was written. Items that the list can no longer hold there are
//! left out.

use super::written_part::{ApartPart, WrittenPart, span_at};
use crate::{
    cfg::Cfg,
    dataflow::{
        domain::{Misfit, TypeId, TypeTable, external},
        fixpoint::{Analysis, WrittenParts, WrittenType},
    },
    outline::outline,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, near},
    path::KeyPath,
    schema::{Flaw, Hole},
    span::Span,
    template::{ElementStep, KindSet, Shape},
    value::{Mapping, Value},
};
use trellis_engine::program::{Call, Callee, Outcome, PointIndex, Program, Tool, Write, WriteSource, WriteTarget};

/// One literal item, and where it is written.
struct LiteralItem<'p> {
    point: PointIndex,
    /// The number of its reply and of the write in it; `None` for a default.
    by: Option<(u32, usize)>,
    to: &'p WriteTarget,
    shape: &'p Shape,
    span: Span,
    /// Its number in the list that is written; `None` if it is added alone.
    at: Option<usize>,
}

impl LiteralItem<'_> {
    /// Returns whether it is written to a list.
    fn is_in(&self, list: &KeyPath) -> bool {
        match self.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => path == list,
            WriteTarget::Absent(key) => key == list.root() && list.rest().is_empty(),
            WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
        }
    }

    /// Returns whether it is written before some call of a point: what a reply of the point writes comes after.
    fn reaches(&self, analysis: &Analysis<'_, '_>, point: PointIndex) -> bool {
        let leads = |from| from == point || analysis.leads(from, point);
        match self.by {
            None => leads(self.point),
            Some((on, _)) => {
                let first = analysis.program.point(self.point).replies.start;
                Cfg::successors_on(analysis.program, self.point, first + on).any(|edge| leads(edge.to))
            }
        }
    }

    /// Returns the type of the item where it is written, part by part.
    fn written_type(&self, analysis: &mut Analysis<'_, '_>) -> Option<WrittenType> {
        let (on, number) = self.by?;
        let mut written = Vec::new();
        analysis.reply_at(self.point, on, &mut |of| written.push(of));
        let written = (number < written.len()).then(|| written.swap_remove(number))?;
        match (self.at, written.parts) {
            (Some(at), WrittenParts::Items(mut items)) => (at < items.len()).then(|| items.swap_remove(at)),
            (None, parts) => Some(WrittenType { of: written.of, parts }),
            _ => None,
        }
    }
}

/// Reports literal items that no call can be made of.
pub(crate) fn check(analysis: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = analysis.program;
    let points = || (0..program.points.len()).filter(|at| !tainted[*at]).map(PointIndex::from_usize);
    let lists = |point| lists_of(external::call_at(program, point)?);
    let reading: Vec<_> = points().filter_map(|point| Some((point, lists(point)?))).collect();
    if reading.is_empty() {
        return;
    }
    let items: Vec<LiteralItem<'_>> = points().flat_map(|point| items_at(program, point)).collect();
    for (point, calls) in reading {
        let Some(env) = analysis.env_at(point) else { continue };
        for (list, call) in calls {
            let Some(known) = analysis.known(&env, list) else { continue };
            let known = analysis.types.inside(known, &[ElementStep::Item]);
            for literal in items.iter().filter(|literal| literal.is_in(list)) {
                let mut holes = Vec::new();
                let value = outline(literal.shape, &mut String::new(), &mut holes);
                if holes.iter().any(|hole| hole.pointer.is_empty()) || !is_possible(analysis, known, &value, &holes) {
                    continue;
                }
                if literal.reaches(analysis, point) {
                    let item = Item { program, literal, value: &value, holes: &holes };
                    found.extend(item.flaw(&call.offered).or_else(|| item.misfit(analysis, &call.offered)));
                }
            }
        }
    }
}

/// Returns the lists that a call goes through, itself or in a branch, each with its call.
fn lists_of(call: &Call) -> Option<Vec<(&KeyPath, &Call)>> {
    let (mut lists, mut open) = (Vec::new(), vec![call]);
    while let Some(call) = open.pop() {
        match &call.callee {
            Callee::Each(list, _) => lists.push((list, call)),
            Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, branch)| branch)),
            Callee::Tool(_) | Callee::Graph(_) => {}
        }
    }
    (!lists.is_empty()).then_some(lists)
}

/// Returns the literal items that the node of a point writes, by its defaults and its replies.
fn items_at(program: &Program, point: PointIndex) -> Vec<LiteralItem<'_>> {
    let node = program.node(program.point(point).node);
    let mut items = Vec::new();
    for (on, reply) in (0..).zip(program.replies(&program.point(point).replies)).filter(|(_, reply)| reply.on != Outcome::Invalid) {
        for (number, write) in reply.update.iter().enumerate() {
            add_items(point, Some((on, number)), write, &mut items);
        }
    }
    let defaults = node.entry.defaults.iter().filter(|_| node.body == point);
    defaults.for_each(|write| add_items(point, None, write, &mut items));
    items
}

fn add_items<'p>(point: PointIndex, by: Option<(u32, usize)>, write: &'p Write, items: &mut Vec<LiteralItem<'p>>) {
    let WriteSource::Shape(shape) = &write.value else { return };
    let item = |at, shape, span| LiteralItem { point, by, to: &write.to, shape, span, at };
    match (shape, &write.to) {
        (Shape::List(list), _) => items.extend(list.iter().enumerate().map(|(at, one)| item(Some(at), &one.value, one.span))),
        (Shape::Map(_), WriteTarget::Append(_)) => items.push(item(None, shape, write.origin)),
        _ => {}
    }
}

/// Returns whether a list whose items are of a type can hold a value; one with holes is taken for possible if its name is.
fn is_possible(analysis: &mut Analysis<'_, '_>, items: TypeId, value: &Value, holes: &[Hole]) -> bool {
    let is_within = |types: &mut TypeTable, inner: &Value, outer: TypeId| {
        let of = types.of_value(inner);
        types.join(outer, of) == outer
    };
    if holes.is_empty() {
        return is_within(&mut analysis.types, value, items);
    }
    let is_hole = holes.iter().any(|hole| hole.pointer == "/name");
    let Some(name) = value.as_map().and_then(|entries| entries.get("name")).filter(|_| !is_hole) else { return true };
    let names = analysis.types.inside(items, &[ElementStep::Key("name".into())]);
    is_within(&mut analysis.types, name, names)
}

/// One item with the known parts of its value.
struct Item<'a, 'p> {
    program: &'p Program,
    literal: &'a LiteralItem<'p>,
    value: &'a Value,
    holes: &'a [Hole],
}

impl Item<'_, '_> {
    /// Returns the mistake of the item, if it has one.
    fn flaw(&self, offered: &[std::sync::Arc<Tool>]) -> Option<Diagnostic> {
        let form = "an item is a call: `{ name: tool, args: { … } }`";
        let whole = self.literal.span;
        let Value::Map(entries) = self.value else {
            let message = format!("an item of `each` is a call, not {}", kind(self.value));
            return Some(self.finding(whole, message).help(form));
        };
        let name = match entries.get("name") {
            _ if self.is_hole("/name") => return None,
            Some(Value::Text(name)) => name,
            Some(other) => {
                let message = format!("the `name` of an item is a text, not {}", kind(other));
                return Some(self.finding(self.place("/name"), message).help(form));
            }
            None => return Some(self.finding(whole, "this item of `each` has no `name`".to_owned()).help(form)),
        };
        let Some(tool) = offered.iter().find(|tool| tool.name == *name) else {
            let (span, names) = (self.place("/name"), offered.iter().map(|tool| &*tool.name));
            let listed = || format!("the node may call `{}`", offered.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join("`, `"));
            let message = format!("this node may call no tool `{name}`");
            return Some(Diagnostic::new(Code::UnknownTool, self.path(), span, message).meant(span, near(name, names), listed));
        };
        let empty = Value::Map(Mapping::new());
        let args = entries.get("args").unwrap_or(&empty);
        if !matches!(args, Value::Map(_)) && !self.is_hole("/args") {
            let message = format!("the `args` of an item are a mapping, not {}", kind(args));
            return Some(self.finding(self.place("/args"), message).help(form));
        }
        let inside = |hole: &Hole| Some(Hole { pointer: hole.pointer.strip_prefix("/args")?.to_owned(), ..hole.clone() });
        let holes: Vec<_> = self.holes.iter().filter_map(inside).collect();
        if holes.iter().any(|hole| hole.pointer.is_empty()) {
            return None;
        }
        let flaw = tool.parameters.as_ref()?.flaws(args, &holes).into_iter().next()?;
        let (at, message) = match flaw {
            Flaw::Missing(at, key) => (at, format!("`{name}` needs `{key}`, which this item does not give")),
            Flaw::Unknown(at, key) => (format!("{at}/{key}"), format!("`{name}` takes no argument `{key}`")),
            Flaw::Unfit(at, message) => {
                let path = at.split('/').skip(1).collect::<Vec<_>>().join(".");
                let message = if message.starts_with('`') { message } else { format!("`{path}` of `{name}` {message}") };
                (at, message)
            }
            Flaw::MayBeMissing(_) => return None,
        };
        Some(self.finding(self.place(&format!("/args{at}")), message).help("what does not fit becomes an error of its item"))
    }

    /// Returns the mistake of an argument whose value is computed, and is of a type that the tool never takes.
    fn misfit(&self, analysis: &mut Analysis<'_, '_>, offered: &[std::sync::Arc<Tool>]) -> Option<Diagnostic> {
        let name = self.value.as_map()?.get("name")?.as_str().filter(|_| !self.holes.is_empty() && !self.is_hole("/name"))?;
        let parameters = offered.iter().find(|tool| *tool.name == *name)?.parameters.as_ref()?;
        let written = self.literal.written_type(analysis)?;
        let WrittenParts::Entries(entries) = &written.parts else { return None };
        let (at, (_, args)) = entries.iter().enumerate().find(|(_, (key, _))| **key == *"args")?;
        let item = WrittenPart { given: &written, shape: Some(self.literal.shape), span: self.literal.span };
        let takes = analysis.types.declared(parameters);
        let ApartPart { span, misfit } = item.part(at, args).apart(&mut analysis.types, takes, "", false)?;
        let Misfit { subject, is, wanted, .. } = misfit;
        let message = format!("{subject} of `{name}` must be {wanted}, is {is}");
        let is_plain = !subject.is_empty() && is != wanted;
        is_plain.then(|| self.finding(span, message).help("what does not fit becomes an error of its item"))
    }

    fn finding(&self, span: Span, message: String) -> Diagnostic {
        Diagnostic::new(Code::BadToolArgs, self.path(), span, message)
    }

    fn path(&self) -> &trellis_base::diagnostic::FilePath {
        self.program.path_of(self.program.node(self.program.point(self.literal.point).node))
    }

    fn is_hole(&self, pointer: &str) -> bool {
        self.holes.iter().any(|hole| hole.pointer == pointer)
    }

    /// Returns the span of the value at a pointer, or of the nearest one around it.
    fn place(&self, pointer: &str) -> Span {
        span_at(self.literal.shape, self.literal.span, pointer)
    }
}

/// Returns the kind of a value in words.
fn kind(value: &Value) -> &'static str {
    KindSet::of_value(Some(value)).name()
}
