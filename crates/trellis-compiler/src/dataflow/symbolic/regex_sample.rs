//! Sample texts of regular expressions, built from the syntax tree.
//!
//! **Example.** `^[0-9]{4}$` gives `0000`.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Length beyond which no text is built, in bytes.
const MAX_SAMPLE_BYTES: usize = 1_000;

/// Returns a text that a `pattern` may match; `None` if the pattern is invalid, or the text would be too long. The caller validates it.
pub(crate) fn matching(pattern: &str) -> Option<String> {
    let tree = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(&tree, &mut text).then_some(text)
}

fn write(tree: &Hir, text: &mut String) -> bool {
    if text.len() > MAX_SAMPLE_BYTES {
        return false;
    }
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).map(|literal| text.push_str(literal)).is_ok(),
        HirKind::Class(class) => plain(class).map(|char| text.push(char)).is_some(),
        HirKind::Repetition(repetition) => {
            (0..repetition.min.max(1).min(repetition.max.unwrap_or(u32::MAX))).all(|_| write(&repetition.sub, text))
        }
        HirKind::Capture(capture) => write(&capture.sub, text),
        HirKind::Concat(parts) => parts.iter().all(|part| write(part, text)),
        HirKind::Alternation(parts) => parts.first().is_some_and(|part| write(part, text)),
    }
}

/// Returns a letter or digit of a class if it has one, else its first character.
fn plain(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |char: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char));
    ('a'..='z').chain('0'..='9').chain('A'..='Z').find(|char| has(*char)).or_else(|| class.ranges().first().map(|range| range.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_matches() {
        let made = |pattern: &str| matching(pattern).unwrap();
        assert_eq!(made("^[0-9]{4}$"), "0000");
        assert_eq!(made("^(DE|AT)-[A-Z]+ ?x*$"), "DE-A x");
        assert_eq!(made(r"^\d{2}:\d{2}$"), "00:00");
        assert_eq!(made("."), "a");
        assert_eq!(matching("("), None);
    }
}
