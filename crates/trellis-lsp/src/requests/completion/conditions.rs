//! Completion in conditions: keys and predicates, then operators, then the values that a key can have.

use trellis_core::{query::Symbol, span::Span};

use super::{Desk, Offer, compared::values, names, paths};
use crate::wire::CompletionItemKind;

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
        return values(desk, path, value, offset);
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
    for symbol in desk.graph.index().symbols_beside(&desk.path, desk.offset) {
        if let Symbol::Predicate(of, name) = symbol
            && of == graph
        {
            offers.push(Offer::new(&*name, CompletionItemKind::Event).detail("predicate"));
        }
    }
    (offers, Span::new(offset - start.len(), offset))
}
