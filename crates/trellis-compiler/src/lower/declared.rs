//! Literals against the types that `context:` declares for a graph's keys: only literals, not values that flow.

use super::{Here, Lowering};
use crate::{
    dataflow::{item_of, key_of},
    outline::{is_container, outline},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    path::KeyPath,
    schema::Flaw,
    span::Span,
    template::{Shape, Term},
    value::Value,
};
use trellis_syntax::node::{AssignSyntax, NodeSyntax};

/// A literal: its place, the path that it is written to, and whether it is one item of the list there, with its number where that is known.
struct Literal<'s> {
    shape: &'s Shape,
    span: Span,
    to: &'s KeyPath,
    is_item: bool,
    at: Option<usize>,
    /// True if other writes may complete its mappings and lists, which the data-flow analysis knows.
    may_grow: bool,
}

impl Lowering<'_> {
    /// Checks the literals that a node writes against the declared types.
    pub(super) fn check_declared(&mut self, here: Here<'_>, node: &NodeSyntax) {
        if self.graphs[here.graph as usize].types.is_empty() {
            return;
        }
        let of_options = node.option_writes().flat_map(|writes| &writes.set);
        let set = node.set.iter().chain(of_options).map(|assign| (assign, false, true));
        let defaults = node.default_context.iter().map(|assign| (assign, false, false));
        let of_options = node.option_writes().flat_map(|writes| &writes.append);
        let added = node.append.iter().chain(of_options).map(|assign| (assign, true, false));
        let mut found = Vec::new();
        for (assign, is_item, may_grow) in set.chain(defaults).chain(added) {
            let (to, span) = (&assign.key.value, assign.value.span);
            match &assign.value.value {
                // An appended list adds its items.
                Shape::List(items) if is_item => {
                    let before = length_before(node, assign);
                    for (number, item) in items.iter().enumerate() {
                        let at = before.map(|before| before + number);
                        self.hold(here, &Literal { shape: &item.value, span: item.span, to, is_item, at, may_grow }, &mut found);
                    }
                }
                Shape::Expression(expression) => {
                    for value in constants(expression.term()) {
                        let items = if is_item { value.as_list().map(|items| items.iter().cloned().collect::<Vec<_>>()) } else { None };
                        for value in items.unwrap_or_else(|| vec![value.clone()]) {
                            self.hold(
                                here,
                                &Literal { shape: &Shape::Literal(value), span, to, is_item, at: None, may_grow: false },
                                &mut found,
                            );
                        }
                    }
                }
                shape => {
                    let at = if is_item { length_before(node, assign) } else { None };
                    self.hold(here, &Literal { shape, span, to, is_item, at, may_grow }, &mut found);
                }
            }
        }
        for option in node.options() {
            let own = option.writes.as_ref().and_then(|writes| writes.save_to.as_ref());
            if let Some(to) = own.or(node.save_to.as_ref()) {
                let shape = Shape::Literal(option.value.value.clone());
                self.hold(
                    here,
                    &Literal { shape: &shape, span: option.value.span, to: &to.value, is_item: false, at: None, may_grow: false },
                    &mut found,
                );
            }
        }
        self.found.append(&mut found);
    }

    fn hold(&self, here: Here<'_>, literal: &Literal<'_>, found: &mut Vec<Diagnostic>) {
        let types = &self.graphs[here.graph as usize].types;
        let Some(declared) = types.iter().find(|declared| declared.key.value == *literal.to.root()) else { return };
        let part = match (literal.is_item, literal.to.rest()) {
            (true, rest) => declared.schema.added_item(rest, literal.at),
            (false, []) => Some(declared.schema.clone()),
            (false, rest) => declared.schema.part(rest),
        };
        let Some(part) = part else { return };
        let is_beyond = literal.is_item && part.source().as_bool() == Some(false);
        let mut holes = Vec::new();
        let value = outline(literal.shape, &mut String::new(), &mut holes);
        for flaw in part.flaws(&value, &holes) {
            let (at, key, message) = match &flaw {
                Flaw::Unfit(at, _) if literal.may_grow && is_container(&value, at) => continue,
                Flaw::Unfit(at, message) => (at, None, message.clone()),
                Flaw::Unknown(at, key) => (at, Some(&**key), format!("has no `{key}`")),
                // An item is complete when it is added.
                Flaw::Missing(at, key) if literal.is_item => (at, None, format!("needs `{key}`, which is not given")),
                // A mapping may be filled step by step.
                Flaw::Missing(..) | Flaw::MayBeMissing(_) => continue,
            };
            let subject = match literal.is_item {
                true => item_of(&format!("`{}`", literal.to)),
                false => format!("`{}`", literal.to),
            };
            let steps = at.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
            let message = match literal.at.filter(|_| is_beyond) {
                Some(at) => format!("`{}` takes no item number {}", literal.to, at + 1),
                None => format!("{} {message}", steps.fold(subject, |subject, step| key_of(&subject, &step))),
            };
            let near = value.as_str().filter(|_| at.is_empty()).and_then(|text| {
                let (values, _) = part.closed(&[])?;
                did_you_mean(text, values.iter().filter_map(Value::as_str))
            });
            found.push(
                Diagnostic::new(Code::TypeMismatch, here.path, place(literal, at, key), message)
                    .label(declared.path, declared.key.span, "declared here")
                    .help(near.unwrap_or_else(|| "write what fits, or change `context`".into())),
            );
        }
    }
}

/// Returns the number of items that a list has where `append` adds to it, if the writes beside set all of it.
fn length_before(node: &NodeSyntax, append: &AssignSyntax) -> Option<usize> {
    let is_alike = |assign: &&AssignSyntax| assign.key.value.root() == append.key.value.root();
    let of_options = || node.option_writes();
    let adds = node.append.iter().chain(of_options().flat_map(|writes| &writes.append)).filter(is_alike).count();
    let sets = node.set.iter().chain(of_options().flat_map(|writes| &writes.set)).filter(is_alike).count();
    let is_here = |added: &[AssignSyntax]| added.iter().any(|added| std::ptr::eq(added, append));
    let of_option = of_options().find(|writes| is_here(&writes.append)).map(|writes| &writes.set[..]);
    let beside = if is_here(&node.append) { Some(&node.set[..]) } else { of_option };
    let set = beside?.iter().find(|assign| assign.key.value == append.key.value).filter(|_| adds == 1 && sets == 1)?;
    let Shape::List(items) = &set.value.value else { return None };
    let may_lack = |shape: &Shape| matches!(shape, Shape::Expression(expression) if expression.is_optional());
    (!items.iter().any(|item| may_lack(&item.value))).then_some(items.len())
}

/// Returns the constants among which an expression chooses: each of them may be its value.
fn constants(term: &Term) -> Vec<&Value> {
    let (mut found, mut open) = (Vec::new(), vec![term]);
    while let Some(term) = open.pop() {
        match term {
            Term::Constant(value) => found.push(value),
            Term::Either(terms) => open.extend(terms.iter().rev()),
            Term::Default(terms, _) => open.push(&terms[1]),
            _ => {}
        }
    }
    found
}

/// Returns the span of the part of a literal at a pointer, or of a key of it.
fn place(literal: &Literal<'_>, pointer: &str, key: Option<&str>) -> Span {
    let (mut shape, mut span) = (literal.shape, literal.span);
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match shape {
            Shape::Map(entries) => entries.iter().rev().find(|(key, _)| *key.value == *step).map(|(_, value)| value),
            Shape::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
            _ => None,
        };
        let Some(next) = next else { break };
        (shape, span) = (&next.value, next.span);
    }
    match (shape, key) {
        (Shape::Map(entries), Some(key)) => entries.iter().rev().find(|(known, _)| *known.value == *key).map_or(span, |(key, _)| key.span),
        _ => span,
    }
}
