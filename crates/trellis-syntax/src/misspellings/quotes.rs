//! Quotes inside quotes.

use super::line_end;
use trellis_base::span::Span;

/// Returns a value in double quotes with a template that has double quotes itself, and what it should be: `"{{ name | default("you") }}"`.
pub(super) fn inner_quotes(text: &str, open: usize) -> Option<(Span, String)> {
    let line = &text[open..line_end(text, open)];
    let inner = line.strip_prefix('"')?;
    let inner = &inner[..inner.rfind('"')?];
    let mut rest = inner;
    let mut singled = String::new();
    while let Some(start) = rest.find("{{").or_else(|| rest.find("{%")) {
        let end = start + rest[start..].find("}}").or_else(|| rest[start..].find("%}"))? + 2;
        singled.push_str(&rest[..start]);
        singled.push_str(&rest[start..end].replace('"', "'"));
        rest = &rest[end..];
    }
    singled.push_str(rest);
    let is_sure = singled != inner && !singled.contains('"') && !inner.contains(['\'', '\\']);
    is_sure.then(|| (Span::new(open + 1, open + 1 + inner.len()), singled))
}
