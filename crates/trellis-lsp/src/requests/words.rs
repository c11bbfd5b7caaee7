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
    let words: &[Word] = match open_tags(before).last().map(|(word, _)| *word) {
        Some("if") => IF,
        Some("for") => FOR,
        Some("set") => OTHERS[0],
        Some("with") => OTHERS[1],
        Some(_) => OTHERS[2],
        None => &[],
    };
    words.to_vec()
}

/// Returns the tags that are open at the end of a text, each with what stands behind its word.
fn open_tags(before: &str) -> Vec<(&str, &str)> {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for tag in before.split("{%").skip(1) {
        let Some((tag, _)) = tag.split_once("%}") else { continue };
        let tag = tag.trim_matches(['-', '+', ' ', '\n']);
        let (word, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        match word {
            // A value behind `=` needs no end.
            "set" if tag.contains('=') => {}
            "if" | "for" | "set" | "with" | "filter" => open.push((word, rest)),
            _ => {
                if word.strip_prefix("end").is_some_and(|ended| open.last().is_some_and(|(word, _)| *word == ended)) {
                    open.pop();
                }
            }
        }
    }
    open
}

/// Returns the names that loops and blocks have given at the end of a text: `item` and `loop` in `{% for item in items %}`.
pub(super) fn open_names(before: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (word, rest) in open_tags(before) {
        match word {
            "for" => {
                names.extend(rest.split(" in ").next().unwrap_or_default().split(','));
                names.push("loop");
            }
            "with" => names.extend(rest.split(',').filter_map(|given| Some(given.split_once('=')?.0))),
            _ => {}
        }
    }
    let names = names.into_iter().map(|name| name.trim_matches(['(', ')', ' ']));
    names.filter(|name| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_')).collect()
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

    #[test]
    fn a_loop_gives_its_names_up_to_its_end() {
        assert_eq!(open_names("{% for key, (a) in b %}{% with c = 1, d=2 %}"), ["key", "a", "loop", "c", "d"]);
        assert_eq!(open_names("{%- for a in b -%}{% if c %}"), ["a", "loop"]);
        assert!(open_names("{% for a in b %}{{ a }}{% endfor %} {% for a in b").is_empty());
    }
}
