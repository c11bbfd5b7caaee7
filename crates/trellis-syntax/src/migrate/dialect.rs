//! Templates in another dialect, written back in place: bodies verbatim, values of YAML in their own style, or else in double quotes.
//!
//! **Invariant:** after the changes each text reads as it was converted, byte for byte; where that cannot be shown there are no changes.

use std::{collections::BTreeMap, ops::Range};

use super::{
    super::{
        document::Document,
        format::{
            layout::{self, Block, BlockData},
            yaml_of,
        },
        tree,
    },
    Change, Migrated,
    holes::{TemplateHole, holes},
    settings::name,
};
use trellis_base::{
    diagnostic::Report,
    span::Span,
    template::{self, Dialect, go_to_jinja},
    value::Value,
};

/// A conversion from one dialect to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectChange {
    /// The dialect that the graph names, or has without naming one.
    pub from: Dialect,
    /// The one that it is to have.
    pub to: Dialect,
}

/// Returns whether some text of a file is a Go template in a place for Jinja.
pub fn has_go(document: &Document) -> bool {
    holes(document).into_iter().any(|(text, _)| template::is_go(text))
}

/// Returns whether every template of a file is a Go template.
pub fn is_all_go(document: &Document) -> bool {
    holes(document).into_iter().all(|(text, _)| template::is_go(text) || !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)))
}

/// Converts the templates of one file. A template that cannot be converted is left, with its reason; then the dialect of the graph cannot
/// change. Pure.
pub fn dialect(document: &Document, target: DialectChange) -> Migrated {
    let mut out = Migrated::default();
    let mut wanted: BTreeMap<Span, (String, String)> = BTreeMap::new();
    for (text, span) in holes(document) {
        match converted(text, target) {
            Ok(Some(new)) => drop(wanted.insert(span, (text.to_owned(), new))),
            Ok(None) => {}
            Err(problems) => {
                for (place, why) in problems {
                    let at = located(&document.text, (text, span), place);
                    out.left(at, why, format!("write it anew for `templates: {}`", name(target.to)));
                }
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
        out.left(
            Span::at(0),
            "the templates of this file cannot be converted safely",
            format!("write them for `templates: {}`", name(target.to)),
        );
    }
    out.left.sort_by_key(|left| (left.at.start, left.at.end));
    out
}

/// A text in the other dialect, if it is another one.
///
/// # Errors
/// The parts without a counterpart: their bytes, and why.
fn converted(text: &str, target: DialectChange) -> Result<Option<String>, Vec<(Range<usize>, String)>> {
    let to_jinja =
        || go_to_jinja(text).map_err(|problems| problems.into_iter().map(|problem| (problem.place, problem.reason)).collect::<Vec<_>>());
    let new = match (target.from, target.to) {
        (Dialect::Go, Dialect::Jinja) => to_jinja()?,
        (Dialect::Jinja, Dialect::Jinja) if template::is_go(text) => to_jinja()?,
        (Dialect::Legacy, Dialect::Jinja) if template::is_legacy_jinja(text) => return Ok(None),
        (Dialect::Legacy, Dialect::Jinja) => return Err(vec![(0..text.len(), "Jinja reads this as something else".into())]),
        (Dialect::Jinja, Dialect::Go) if template::is_go(text) => return Ok(None),
        (Dialect::Jinja | Dialect::Legacy, Dialect::Go) => template::with_dots(text, target.from).map_err(|problem| vec![problem])?,
        _ => return Ok(None),
    };
    Ok((new != text).then_some(new))
}

/// Locates a part of a text, as near as its value shows it.
fn located(file: &str, (text, span): TemplateHole<'_>, place: Range<usize>) -> Span {
    let start = span.start as usize;
    let is_verbatim = file.get(start..start + text.len()) == Some(text);
    if is_verbatim { Span::new(start + place.start, start + place.end) } else { Span::at(start) }
}

/// A value of the YAML.
struct Scalar {
    /// All of it, the header of a block included.
    whole: Range<usize>,
    /// The range of its text, quotes included.
    text: Range<usize>,
    /// The end, with the line breaks that a block may keep.
    end: usize,
}

impl Scalar {
    fn of(file: &str, piece: &Block<'_>) -> Option<Self> {
        let text = piece.range.clone();
        if !matches!(piece.data, BlockData::Block) {
            return Some(Self { whole: text.clone(), end: text.end, text });
        }
        let header = file[..text.start].rfind(['|', '>'])?;
        let rest = &file[text.end..];
        let blank = rest.len() - rest.trim_start().len();
        let blank_lines = if blank == rest.len() { blank } else { rest[..blank].rfind('\n').map_or(0, |last| last + 1) };
        Some(Self { whole: header..text.end, end: text.end + blank_lines, text })
    }
}

/// Every scalar of the YAML, sorted.
fn scalars(document: &Document) -> Vec<Scalar> {
    fn collect(file: &str, piece: &Block<'_>, out: &mut Vec<Scalar>) {
        match &piece.data {
            BlockData::Scalar(_) | BlockData::Block => out.extend(Scalar::of(file, piece)),
            BlockData::List(items) => items.iter().for_each(|item| collect(file, item, out)),
            BlockData::Map { entries, .. } => entries.iter().for_each(|entry| collect(file, &entry.value, out)),
        }
    }
    let mut report = Report::new(&document.path);
    let mut out = Vec::new();
    let piece = yaml_of(&document.path, &document.text, &mut report).and_then(|(yaml, _)| layout::read(&document.text, yaml));
    piece.iter().for_each(|piece| collect(&document.text, piece, &mut out));
    out
}

/// The edit that makes the value at `span`, which reads `from`, read `to`.
fn rewritten(file: &str, scalars: &[Scalar], span: Span, from: &str, to: &str, target: DialectChange) -> Option<(Range<usize>, String)> {
    let at = span.range();
    let Some(scalar) = scalars.iter().find(|scalar| scalar.whole.start <= at.start && at.start <= scalar.whole.end && at.end <= scalar.end)
    else {
        // A body needs no decoding.
        return (file.get(at.clone())? == from).then(|| (at, to.to_owned()));
    };
    let (before, after) = (&file[scalar.whole.start..scalar.text.start], &file[scalar.text.end..scalar.end]);
    let is_block = !before.is_empty();
    let reads = |candidate: &String| {
        value(&if is_block { format!("{before}{candidate}{after}") } else { format!("{candidate}\n") }).as_deref() == Some(to)
    };
    if let Some(verbatim) = converted(&file[scalar.text.clone()], target).ok().flatten().filter(reads) {
        return Some((scalar.text.clone(), verbatim));
    }
    let quoted = Value::text(to).to_json();
    (value(&format!("{quoted}\n")).as_deref() == Some(to)).then(|| (scalar.whole.clone(), quoted))
}

/// Returns the text of a YAML scalar.
fn value(written: &str) -> Option<String> {
    let text = format!("k: {written}");
    let mut report = Report::new(&"".into());
    let root = tree::read(&text, 0..text.len(), &mut report).ok()??;
    match root.data {
        tree::YamlData::Map(entries) if entries.len() == 1 && report.diagnostics.is_empty() => match &entries[0].value.data {
            tree::YamlData::Scalar(text, _) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the changed file has the intended texts, and all others unchanged.
fn holds(document: &Document, target: DialectChange, wanted: &BTreeMap<Span, (String, String)>, out: &Migrated) -> bool {
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
