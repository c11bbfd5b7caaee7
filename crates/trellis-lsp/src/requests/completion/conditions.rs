//! Completion in conditions: keys and predicates, then operators, then the values that a key can have.

use trellis_core::{query::Symbol, span::Span, value::Value};

use super::{Desk, Offer, names, paths};
use crate::{requests::values::values_of, wire::CompletionItemKind};

/// The texts that may follow a path.
const ASKED: [(&str, &str); 6] = [
    ("== ", "is this value"),
    ("!= ", "is another value"),
    ("in [", "is one of these values"),
    ("is set", "is there"),
    ("is not set", "is not there"),
    ("is empty", "is nothing, or holds nothing"),
];

/// Returns the completions in a condition, and the span that they replace.
pub(super) fn condition(desk: &mut Desk<'_>, offset: usize) -> (Vec<Offer>, Span) {
    let typed = desk.context.prefix.clone();
    let operator = ["==", "!=", " in "].iter().filter_map(|operator| Some((typed.rfind(operator)?, operator.len()))).max();
    if let Some((at, length)) = operator {
        let path = typed[..at].trim().trim_start_matches("not ").trim();
        let value = typed[at + length..].rsplit(['[', ',']).next().unwrap_or_default().trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        return (values(desk, path), Span::new(offset - value.len(), offset));
    }
    let start = typed.strip_prefix("not ").unwrap_or(&typed);
    if let Some((path, part)) = start.rsplit_once('.').filter(|(path, part)| !path.is_empty() && !part.contains(' ') && !path.contains(' '))
    {
        return (paths::parts(desk, path), Span::new(offset - part.len(), offset));
    }
    if let Some((path, asked)) = start.split_once(' ').filter(|(path, _)| !path.is_empty()) {
        let known = path != "not";
        let offers =
            ASKED.iter().enumerate().map(|(rank, (word, about))| Offer::new(*word, CompletionItemKind::Operator).detail(*about).rank(rank));
        return (if known { offers.collect() } else { Vec::new() }, Span::new(offset - asked.len(), offset));
    }
    let graph = desk.graph.index().graph_of(&desk.path);
    let mut offers = names::keys(desk);
    for symbol in desk.graph.index().symbols() {
        if let Symbol::Predicate(of, name) = symbol
            && of == graph
        {
            offers.push(Offer::new(&*name, CompletionItemKind::Event).detail("predicate"));
        }
    }
    (offers, Span::new(offset - start.len(), offset))
}

/// Returns the values that may stand behind a comparison with a path.
fn values(desk: &mut Desk<'_>, path: &str) -> Vec<Offer> {
    let (file, offset) = (desk.path.clone(), desk.offset);
    let values = values_of(desk.graph, &file, offset, path);
    let written = |value: Value| match value {
        // In quotes of YAML the other quotes stand.
        Value::Text(text) => format!("\"{text}\""),
        value => value.to_json(),
    };
    let offer = |(rank, value): (usize, Value)| {
        let text = written(value);
        Offer { insert: Some(text.clone()), ..Offer::new(text.trim_matches('"'), CompletionItemKind::EnumMember).rank(rank) }
    };
    values.into_iter().enumerate().map(offer).collect()
}
