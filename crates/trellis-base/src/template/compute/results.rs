//! The values that a `compute` file sets `result` to, as far as they are written, against the JSON Schema of what its tool returns.

use std::ops::Range;

use minijinja::machinery::ast::{Expr, Stmt};

use super::super::{Term, formula, kinds::KindSet, lower::extent};
use crate::{
    diagnostic::{Code, Diagnostic, Report, nearest},
    schema::{Flaw, Hole, Schema, below},
    span::Span,
    value::Value,
};

/// Ways in which one expression can choose that are looked at.
const MAX_WAYS: usize = 16;

/// An expression that may be the result, and its place.
pub(super) type WrittenResult = (Term, Range<usize>);

/// Returns the expressions that `result` may have at the end of a lowered file: one that is set at the top replaces those before it.
pub(super) fn written(tree: &Stmt<'_>) -> Box<[WrittenResult]> {
    let mut found = Vec::new();
    collect(tree, &mut found);
    found.into()
}

fn collect(tree: &Stmt<'_>, found: &mut Vec<WrittenResult>) {
    match tree {
        Stmt::Template(node) => node.children.iter().for_each(|tree| collect(tree, found)),
        Stmt::Set(node) => {
            if matches!(&node.target, Expr::Var(name) if name.id == "result") {
                let span = extent(&node.expr);
                found.clear();
                found.push((formula::term(&node.expr), span.start_offset as usize..span.end_offset as usize));
            }
        }
        // What is captured is a text, which is not looked at.
        Stmt::SetBlock(node) if matches!(&node.target, Expr::Var(name) if name.id == "result") => found.clear(),
        Stmt::IfCond(node) => {
            let (mut one, mut other) = (found.clone(), found.clone());
            node.true_body.iter().for_each(|tree| collect(tree, &mut one));
            node.false_body.iter().for_each(|tree| collect(tree, &mut other));
            other.retain(|result| !one.contains(result));
            *found = one;
            found.append(&mut other);
        }
        _ => {}
    }
}

/// Reports results that do not fit `returns`.
pub(super) fn check(results: &[WrittenResult], returns: &Schema, report: &mut Report) {
    for (term, place) in results {
        let flaw = ways(term).iter().find_map(|branch| {
            let mut holes = Vec::new();
            let value = outline(branch, &mut String::new(), &mut holes);
            returns.flaws(&value, &holes).into_iter().find(|flaw| !matches!(flaw, Flaw::MayBeMissing(_))).map(|flaw| (flaw, value))
        });
        let Some((flaw, value)) = flaw else { continue };
        let (message, help) = match &flaw {
            Flaw::Missing(at, key) => {
                let written = value.as_map().filter(|_| at.is_empty()).into_iter().flat_map(|entries| entries.keys());
                let near = nearest(key, written.map(|name| &**name));
                let help = near.map_or_else(|| format!("add `\"{key}\": …`"), |near| format!("`{near}` is there: did you mean `{key}`?"));
                (format!("`returns` requires `{key}`, which this result does not have"), help)
            }
            Flaw::Unknown(_, key) => (format!("`returns` has no `{key}`"), "declare it in `returns`, or leave it out".to_owned()),
            Flaw::Unfit(at, message) => {
                let path = at.split('/').skip(1).collect::<Vec<_>>().join(".");
                let what = if path.is_empty() { "this result".to_owned() } else { format!("`{path}` of this result") };
                let message = if message.starts_with('`') { message.clone() } else { format!("{what} {message}") };
                (message, "make what fits, or change `returns`".to_owned())
            }
            Flaw::MayBeMissing(_) => continue,
        };
        let span = Span::new(place.start, place.end);
        report.push(Diagnostic::new(Code::TypeMismatch, &report.path.clone(), span, message).help(help));
    }
}

/// Returns the terms among which a term chooses.
fn ways(term: &Term) -> Vec<&Term> {
    let (mut ways, mut open) = (Vec::new(), vec![term]);
    while let Some(term) = open.pop() {
        match term {
            Term::Either(terms) if ways.len() + open.len() < MAX_WAYS => open.extend(terms.iter().rev()),
            term => ways.push(term),
        }
    }
    ways
}

/// Returns the known parts of a term's value: each hole has a placeholder.
fn outline(term: &Term, pointer: &mut String, holes: &mut Vec<Hole>) -> Value {
    let mut inside = |step: &str, term: &Term, holes: &mut Vec<Hole>| {
        let length = pointer.len();
        *pointer = below(pointer, step);
        let value = outline(term, pointer, holes);
        pointer.truncate(length);
        value
    };
    match term {
        Term::Constant(value) => value.clone(),
        Term::Map(entries) => Value::Map(entries.iter().map(|(key, term)| (key.clone(), inside(key, term, holes))).collect()),
        Term::List(terms) if terms.iter().all(|term| !matches!(term, Term::Integer)) => {
            let items = terms.iter().enumerate().map(|(at, term)| inside(&at.to_string(), term, holes));
            items.collect::<Vec<_>>().into()
        }
        term => {
            let text = matches!(term, Term::Of(sorts) if *sorts == KindSet::TEXT);
            holes.push(Hole { pointer: pointer.clone(), text, optional: false });
            if text { Value::text("") } else { Value::Null }
        }
    }
}
