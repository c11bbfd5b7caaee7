//! The delimiters of the jinja dialect as minijinja takes them, and ranges of a text that can be sliced.

use std::{ops::Range, sync::LazyLock};

use minijinja::syntax::SyntaxConfig;

/// The syntax: a trailing newline stays, and so does every other byte around a tag unless a `-` takes it away.
pub(super) fn syntax() -> SyntaxConfig {
    static SYNTAX: LazyLock<SyntaxConfig> =
        LazyLock::new(|| SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default());
    SYNTAX.clone()
}

/// A range that can be sliced out of `source`.
pub(super) fn clamp(source: &str, range: Range<usize>) -> Range<usize> {
    let inside = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = inside(range.start);
    start..inside(range.end).max(start)
}
