//! Globs of names: the one that was meant by a glob that matches nothing.

use std::{collections::BTreeSet, ops::Range};

use globset::{Glob, GlobMatcher};
use trellis_core::diagnostic::{near, nearest};

/// The characters that make a glob of a name.
const GLOB: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// Returns whether a name is a glob.
pub(super) fn is_glob(name: &str) -> bool {
    name.contains(GLOB)
}

/// Returns the glob that was meant by one that matches none of the names: a word of it is a slip, and with the right word it matches. Without such
/// a word it may be about names to come.
pub(super) fn meant_glob(glob: &str, names: &BTreeSet<&str>) -> Option<String> {
    let matches_any = |glob: &GlobMatcher| names.iter().any(|name| glob.is_match(name));
    if glob.contains('[') || matches_any(&matcher(glob)?) {
        return None;
    }
    words(glob).find_map(|range| {
        let (before, word, after) = (&glob[..range.start], &glob[range.clone()], &glob[range.end..]);
        let with = |other: &str| format!("{before}{other}{after}");
        let fits = |other: &&str| {
            // A word that is as near as others may be about something else.
            near(word, [*other]).is_some_and(|near| near.is_only) && matcher(&with(other)).as_ref().is_some_and(matches_any)
        };
        let known = names.iter().flat_map(|name| words(name).map(move |range| &name[range]));
        let known: BTreeSet<&str> = known.flat_map(|known| parts(known, word, before, after)).filter(fits).collect();
        nearest(word, known).map(with)
    })
}

/// Returns the matcher of a glob; `None` if it is none.
pub(super) fn matcher(glob: &str) -> Option<GlobMatcher> {
    Glob::new(glob).ok().map(|glob| glob.compile_matcher())
}

/// Returns a known word, and its beginning or its end where a `*` of the glob stands for the rest.
fn parts<'k>(known: &'k str, word: &str, before: &str, after: &str) -> impl Iterator<Item = &'k str> {
    let beginning = known.get(..word.len()).filter(|_| after.starts_with('*'));
    let end = known.len().checked_sub(word.len()).and_then(|at| known.get(at..)).filter(|_| before.ends_with('*'));
    [Some(known), beginning, end].into_iter().flatten()
}

/// The places of the words in a name or a glob.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_letter = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + text[at..].find(is_letter)?;
        at = text[from..].find(|char: char| !is_letter(char)).map_or(text.len(), |length| from + length);
        Some(from..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_word_is_found_and_names_to_come_are_not() {
        let names = BTreeSet::from(["pay", "mail.send", "payments_find", "graph:billing", "graph:billing/card"]);
        let of = |glob: &str| meant_glob(glob, &names);
        let wrong = [
            ("pya*", "pay*"),
            ("mial.*", "mail.*"),
            ("*.sned", "*.send"),
            ("graph:billng/*", "graph:billing/*"),
            ("{mial,sms}.send", "{mail,sms}.send"),
            ("paymnets_*", "payments_*"),
        ];
        for (glob, meant) in wrong {
            assert_eq!(of(glob).as_deref(), Some(meant), "{glob}");
        }
        for glob in
            ["*", "pay*", "mail.*", "shell.*", "db.*", "web.*", "sms.*", "graph:*", "graph:orders/*", "m[ai]l.*", "?ay", "{mail,sms}.*"]
        {
            assert_eq!(of(glob), None, "{glob}");
        }
    }
}
