//! The dialect of a text, and plain paths from one dialect to another.

use std::ops::Range;

use super::{
    Dialect,
    builtins::Vocabulary,
    explain, go, jinja, secret,
    segments::{self, SegmentPiece},
};

/// Returns whether a text is a Go template, and no Jinja template.
pub fn is_go(text: &str) -> bool {
    let is_plain = || segments::split(text, false, &secret::find(text, Dialect::Jinja)).is_some();
    text.contains("{{")
        && !is_plain()
        && reads_as_go(text)
        && (go_word(text).is_some() || jinja::checked(text, Vocabulary::Template).is_err())
}

/// Returns true if a text that is no Jinja template is a Go template.
pub(super) fn reads_as_go(source: &str) -> bool {
    let has_jinja = source.contains("{%") || source.contains("{#");
    !has_jinja && source.contains("{{") && (explain::go_like(source) || go::parse(source).is_ok())
}

/// Finds the first word of an action of Go that Jinja would read as a path: in `toJson .order`, white space may precede the dot.
pub(super) fn go_word(source: &str) -> Option<Range<usize>> {
    let word = |(at, _): (usize, &str)| {
        let inside = source[at + 2..].trim_start_matches('-').trim_start();
        let length = inside.find(|char: char| !char.is_ascii_alphabetic())?;
        let (word, rest) = inside.split_at(length);
        let is_field = rest.starts_with(char::is_whitespace) && rest.trim_start().starts_with('.');
        let start = source.len() - inside.len();
        (is_field && go::is_word(word)).then_some(start..start + length)
    };
    source.match_indices("{{").find_map(word).filter(|_| reads_as_go(source))
}

/// A text of plain paths, in Jinja or the legacy dialect, as a Go template.
///
/// # Errors
/// It has more than that.
pub fn with_dots(text: &str, from: Dialect) -> Result<String, (Range<usize>, String)> {
    let secrets = secret::find(text, from);
    let pieces = match from {
        Dialect::Legacy => segments::split_legacy(text, &secrets).ok(),
        _ => segments::split(text, false, &secrets),
    };
    let new = pieces.map(|pieces| rewritten(text, &pieces, |path| format!(".{path}")));
    // A key with a hyphen is a path here and none there.
    let new = new.filter(|new| segments::split(new, true, &secret::find(new, Dialect::Go)).is_some());
    new.ok_or_else(|| (0..text.len(), "this is no Go template".to_owned()))
}

/// Returns whether a text of the legacy dialect has the same meaning in Jinja.
pub fn is_legacy_jinja(text: &str) -> bool {
    segments::split(text, false, &secret::find(text, Dialect::Legacy)).is_some()
}

/// The text with its paths written otherwise.
fn rewritten(text: &str, pieces: &[SegmentPiece], path: impl Fn(&str) -> String) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for piece in pieces {
        if let SegmentPiece::Path(_, range) = piece {
            out.push_str(&text[at..range.start]);
            out.push_str(&path(&text[range.clone()]));
            at = range.end;
        }
    }
    out.push_str(&text[at..]);
    out
}

/// A path as messages show it: without the dot of the Go dialect and without line breaks.
pub(super) fn path_text(written: &str) -> String {
    let written = written.trim();
    let written = written.strip_prefix('.').filter(|rest| !rest.is_empty()).unwrap_or(written);
    written.split_whitespace().collect::<Vec<_>>().join(" ")
}
