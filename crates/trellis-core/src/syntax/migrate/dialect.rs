//! Templates in another dialect, written back where they stand: bodies as they are, values of YAML in their own style, or else in double quotes.
//!
//! **Invariant:** after the changes each text reads as it was converted, byte for byte; where that cannot be shown there are no changes.

use std::{collections::BTreeMap, ops::Range};

use super::{
    super::{
        document::Document,
        format::{
            layout::{self, Data, Piece},
            yaml_of,
        },
        tree,
    },
    Change, Migrated,
    holes::{Hole, holes},
    settings::name,
};
use crate::{
    diagnostic::Report,
    span::Span,
    template::{self, Dialect},
    value::Value,
};

/// A conversion from one dialect to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The dialect that the graph names, or has without naming one.
    pub from: Dialect,
    /// The one that it is to have.
    pub to: Dialect,
}

/// Whether some text of a file is a Go template where Jinja's belong.
pub fn has_go(document: &Document) -> bool {
    holes(document).into_iter().any(|(text, _)| template::is_go(text))
}

/// Converts the templates of one file. What cannot be converted is left, with its reason; then the dialect of the graph cannot change. Pure.
pub fn dialect(document: &Document, target: Target) -> Migrated {
    let mut out = Migrated::default();
    let mut wanted: BTreeMap<Span, (String, String)> = BTreeMap::new();
    for (text, span) in holes(document) {
        match converted(text, target) {
            Ok(Some(new)) => drop(wanted.insert(span, (text.to_owned(), new))),
            Ok(None) => {}
            Err((place, why)) => {
                let at = located(&document.text, (text, span), place);
                out.left(at, why, format!("write it anew for `templates: {}`", name(target.to)));
            }
        }
    }
    let scalars = scalars(document);
    for (span, (from, to)) in &wanted {
        match rewritten(&document.text, &scalars, *span, from, to, target) {
            Some((range, new)) => out.changes.push(Change {
                at: Span::new(range.start, range.end),
                what: format!("the template is one of `templates: {}`", name(target.to)),
                edits: vec![(Span::new(range.start, range.end), new)],
            }),
            None => out.left(*span, "this template stands in a way that cannot be edited safely", "write it on one line, in quotes"),
        }
    }
    if !out.changes.is_empty() && !holds(document, target, &wanted, &out) {
        out.changes.clear();
        out.left(Span::at(0), "the templates of this file cannot be converted safely", format!("write them for `templates: {}`", name(target.to)));
    }
    out.left.sort_by_key(|left| (left.at.start, left.at.end));
    out
}

/// A text in the other dialect, if it is another one.
///
/// # Errors
/// What has no counterpart: its bytes, and why.
fn converted(text: &str, target: Target) -> Result<Option<String>, (Range<usize>, String)> {
    let new = match (target.from, target.to) {
        (Dialect::Go, Dialect::Jinja) => template::go_to_jinja(text)?,
        (Dialect::Jinja, Dialect::Jinja) if template::is_go(text) => template::go_to_jinja(text)?,
        (Dialect::Legacy, Dialect::Jinja) => match ["{%", "{#"].iter().find_map(|mark| text.find(mark)) {
            Some(at) => return Err((at..at + 2, "this is text in `templates: legacy`, and a tag of Jinja".into())),
            None => return Ok(None),
        },
        (Dialect::Jinja, Dialect::Go) if template::is_go(text) => return Ok(None),
        (Dialect::Jinja | Dialect::Legacy, Dialect::Go) => template::with_dots(text, target.from)?,
        _ => return Ok(None),
    };
    Ok((new != text).then_some(new))
}

/// Where a part of a text stands, as near as its value shows it.
fn located(file: &str, (text, span): Hole<'_>, place: Range<usize>) -> Span {
    let start = span.start as usize;
    let is_verbatim = file.get(start..start + text.len()) == Some(text);
    if is_verbatim { Span::new(start + place.start, start + place.end) } else { Span::at(start) }
}

/// Every scalar of the YAML, sorted.
fn scalars(document: &Document) -> Vec<Range<usize>> {
    fn collect(piece: &Piece<'_>, out: &mut Vec<Range<usize>>) {
        match &piece.data {
            Data::Scalar(_) | Data::Block => out.push(piece.range.clone()),
            Data::List(items) => items.iter().for_each(|item| collect(item, out)),
            Data::Map { entries, .. } => entries.iter().for_each(|entry| collect(&entry.value, out)),
        }
    }
    let mut report = Report::new(&document.path);
    let mut out = Vec::new();
    let piece = yaml_of(&document.path, &document.text, &mut report).and_then(|(yaml, _)| layout::read(&document.text, yaml));
    piece.iter().for_each(|piece| collect(piece, &mut out));
    out
}

/// The edit that makes the value at `span`, which reads `from`, read `to`.
fn rewritten(file: &str, scalars: &[Range<usize>], span: Span, from: &str, to: &str, target: Target) -> Option<(Range<usize>, String)> {
    let at = span.range();
    let Some(scalar) = scalars.iter().find(|scalar| scalar.start <= at.start && at.end <= scalar.end) else {
        // A body is what it reads.
        return (file.get(at.clone())? == from).then(|| (at, to.to_owned()));
    };
    let written = &file[scalar.clone()];
    let reads = |candidate: &String| value(candidate).as_deref() == Some(to);
    let verbatim = converted(written, target).ok().flatten().filter(reads);
    let quoted = || Some(Value::text(to).to_json()).filter(reads);
    Some((scalar.clone(), verbatim.or_else(quoted)?))
}

/// What a scalar of YAML reads.
fn value(written: &str) -> Option<String> {
    let text = format!("k: {written}\n");
    let mut report = Report::new(&"".into());
    let root = tree::read(&text, 0..text.len(), &mut report).ok()??;
    match root.data {
        tree::Data::Map(entries) if entries.len() == 1 && report.diagnostics.is_empty() => match &entries[0].value.data {
            tree::Data::Scalar(text, _) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the changed file has the texts that it should, and all others as they were.
fn holds(document: &Document, target: Target, wanted: &BTreeMap<Span, (String, String)>, out: &Migrated) -> bool {
    let Some(after) = out.applied(&document.text) else { return false };
    let again = Document::parse(&super::super::document::Source::text(document.path.clone(), &after), target.to);
    let texts = |document: &Document, is_old: bool| {
        let mut all: Vec<String> = holes(document)
            .into_iter()
            .map(|(text, span)| match wanted.get(&span).filter(|_| is_old) {
                Some((_, to)) => to.clone(),
                None => text.to_owned(),
            })
            .filter(|text| text.contains('{'))
            .collect();
        all.sort();
        all
    };
    !out.left.is_empty() || texts(document, true) == texts(&again, false)
}
