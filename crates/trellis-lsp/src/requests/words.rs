//! The words that the language itself gives a meaning: where transitions can end, what is below `sys`, the tags of templates.

/// A word with its meaning.
pub(super) type Word = (&'static str, &'static str);

/// Targets that are no nodes (language 5.3).
pub(super) const ENDINGS: [Word; 2] = [("rollback", "undo what was done, newest first, then end"), ("fail", "end the session as failed")];

/// Names that are no keys of the context (language 4.1).
pub(super) const ROOTS: [Word; 3] = [
    ("sys", "the session: `sys.ans`, `sys.error`, `sys.node`"),
    ("input", "what was just answered"),
    ("tool_result", "what the call returned"),
];

/// The names below `sys` (language 4.1).
pub(super) const SYSTEM: [Word; 7] = [
    ("ans", "the last answer"),
    ("error", "the error that is handled here"),
    ("node", "the current node"),
    ("step", "the number of accepted moves"),
    ("visits", "how often this node was entered, if it has `max_visits`"),
    ("session", "the id of the session"),
    ("rollback", "what was undone"),
];

/// Tags that begin something.
pub(super) const TAGS: [Word; 6] = [
    ("if", "shows what follows if this holds"),
    ("for", "shows what follows for each item"),
    ("set", "gives a name to a value"),
    ("with", "gives names to values, up to its end"),
    ("filter", "sends what follows through a filter"),
    ("raw", "shows what follows as it is written"),
];

/// Tags that divide or end what another one began, innermost first: those that may stand at the end of a text.
pub(super) fn closing_tags(before: &str) -> Vec<Word> {
    const IF: &[Word] =
        &[("endif", "ends `if`"), ("else", "shows what follows otherwise"), ("elif", "shows what follows if this holds instead")];
    const FOR: &[Word] = &[("endfor", "ends `for`"), ("else", "shows what follows where there is no item")];
    const OTHERS: [&[Word]; 3] = [&[("endset", "ends `set`")], &[("endwith", "ends `with`")], &[("endfilter", "ends `filter`")]];
    let mut open: Vec<&str> = Vec::new();
    for tag in before.split("{%").skip(1) {
        let Some((tag, _)) = tag.split_once("%}") else { continue };
        let tag = tag.trim_start_matches(['-', '+']).trim();
        match tag.split_whitespace().next().unwrap_or_default() {
            // A value behind `=` needs no end.
            "set" if tag.contains('=') => {}
            word @ ("if" | "for" | "set" | "with" | "filter") => open.push(word),
            word => {
                if word.strip_prefix("end").is_some_and(|ended| open.last() == Some(&ended)) {
                    open.pop();
                }
            }
        }
    }
    let words: &[Word] = match open.last() {
        Some(&"if") => IF,
        Some(&"for") => FOR,
        Some(&"set") => OTHERS[0],
        Some(&"with") => OTHERS[1],
        Some(_) => OTHERS[2],
        None => &[],
    };
    words.to_vec()
}

/// Returns the meaning of one of some words.
pub(super) fn meaning(words: &[Word], word: &str) -> Option<&'static str> {
    words.iter().find(|(name, _)| *name == word).map(|(_, about)| *about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_can_be_ended() {
        let names = |text| closing_tags(text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("{% if a %}"), ["endif", "else", "elif"]);
        assert_eq!(names("{% if a %}{% for b in c %}"), ["endfor", "else"]);
        assert_eq!(names("{%- if a -%}{% for b in c %}x{% endfor %}{% set d = 1 %}"), ["endif", "else", "elif"]);
        assert_eq!(names("{% set d %}"), ["endset"]);
        assert!(names("{% if a %}{% endif %}").is_empty() && names("").is_empty());
    }
}
