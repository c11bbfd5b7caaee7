//! The values that a comparison may have, in conditions and templates.

use trellis_core::{span::Span, value::Value};

use super::{Desk, Offer};
use crate::{requests::values::values_of, wire::CompletionItemKind};

/// Returns the values that may stand behind a comparison with a path, where a part of one may be typed already, and the span that they replace.
pub(super) fn values(desk: &mut Desk<'_>, path: &str, typed: &str, offset: usize) -> (Vec<Offer>, Span) {
    let file = desk.path.clone();
    let quote = typed.chars().next().filter(|char| matches!(char, '"' | '\''));
    let bare = typed.trim_start_matches(['"', '\'']);
    let behind = desk.graph.document(&file).and_then(|document| document.text.get(offset..)?.chars().next());
    let written = |value: Value| match (value, quote) {
        // In quotes of YAML the other quotes stand.
        (Value::Text(text), None) => Some(format!("\"{text}\"")),
        // An editor may have closed the quote that is typed.
        (Value::Text(text), Some(quote)) if behind == Some(quote) => Some(text.to_string()),
        (Value::Text(text), Some(quote)) => Some(format!("{text}{quote}")),
        (value, None) => Some(value.to_json()),
        (_, Some(_)) => None,
    };
    let offer = |(rank, value): (usize, Value)| {
        let label = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
        Some(Offer { insert: Some(written(value)?), ..Offer::new(label, CompletionItemKind::EnumMember).rank(rank) })
    };
    let values = values_of(desk.graph, &file, desk.offset, path);
    (values.into_iter().enumerate().filter_map(offer).collect(), Span::new(offset - bare.len(), offset))
}

/// Returns the path that a template compares, and what is typed of a value behind it; `None` behind anything else.
pub(super) fn compared(template: &str) -> Option<(&str, &str)> {
    let operators = ["==", "!=", " in ["].iter().filter_map(|operator| Some((template.rfind(operator)?, operator.len())));
    let (at, length) = operators.max()?;
    let behind = &template[at + length..];
    let typed = if template[at..].starts_with(" in") { behind.rsplit(',').next().unwrap_or_default() } else { behind }.trim_start();
    let is_open = match typed.chars().next() {
        Some(quote @ ('"' | '\'')) => !typed[1..].contains(quote),
        _ => typed.chars().all(|char| char.is_alphanumeric() || char == '_'),
    };
    let before = template[..at].trim_end();
    let start = before.rfind(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '.')).map_or(0, |at| at + 1);
    let path = before.get(start..).filter(|path| !path.is_empty());
    path.filter(|_| is_open).map(|path| (path, typed))
}

#[cfg(test)]
mod tests {
    use super::compared;

    #[test]
    fn a_comparison_ends_with_its_value() {
        for (template, found) in [
            (" if drink ==", Some(("drink", ""))),
            (" if a and not user.size != \"s", Some(("user.size", "\"s"))),
            (" 'x' if drink in [\"Tea\", 'Co", Some(("drink", "'Co"))),
            (" if drink == \"Tea\" ", None),
            (" if drink == \"Tea\" and ot", None),
            (" if drink", None),
            (" for one in dri", None),
            ("== ", None),
        ] {
            assert_eq!(compared(template), found, "{template}");
        }
    }
}
