//! Citations of rules: `language 6.5`, `(7.3, 7.4)`, and the numbers that headings of the suite begin with.

use std::fmt;

/// The chapter that the appendices follow.
const LAST_CHAPTER: u32 = 11;

/// The number of a chapter, such as `5`, or of a rule, such as `5.1` or `A.2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    chapter: String,
    rule: Option<u32>,
}

impl Number {
    /// The number that a heading of the specification begins with: `6.5 Inputs`, `6 Conditions` or `Appendix A: Bounds`.
    pub(super) fn of_heading(title: &str) -> Option<Self> {
        let appendix = title.strip_prefix("Appendix ").and_then(|rest| rest.split_once(": "));
        match appendix {
            Some((letter, _)) => Some(Self { chapter: letter.to_owned(), rule: None }),
            None => number(title).filter(|(_, rest)| rest.starts_with(' ')).map(|(number, _)| number),
        }
    }

    /// A chapter's number that is the whole text.
    pub(super) fn of_chapter(text: &str) -> Option<Self> {
        number(text).filter(|(number, rest)| rest.is_empty() && number.rule.is_none()).map(|(number, _)| number)
    }

    /// Returns whether this number may stand behind the last one: in a chapter, rules may be missing.
    pub(super) fn follows(&self, last: Option<&Self>) -> bool {
        let Some(last) = last else { return self.chapter == "1" && self.rule.is_none() };
        match self.rule {
            Some(rule) => self.chapter == last.chapter && rule > last.rule.unwrap_or(0),
            None => self.rank() == last.rank() + 1,
        }
    }

    /// The place of its chapter: the appendices follow the chapters.
    fn rank(&self) -> u32 {
        let letter = |char: char| char.is_ascii_uppercase().then(|| LAST_CHAPTER + 1 + u32::from(char) - u32::from('A'));
        self.chapter.parse().ok().or_else(|| self.chapter.chars().next().and_then(letter)).unwrap_or(0)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.chapter)?;
        self.rule.map_or(Ok(()), |rule| write!(out, ".{rule}"))
    }
}

/// The numbers that stand behind the words "language" and "rule".
pub(super) fn cited(line: &str) -> Vec<Number> {
    cited_by(line, &["language ", "Language ", "rule ", "Rule ", "rules ", "Rules "])
}

/// The numbers that stand behind one of these words.
pub(super) fn cited_by(line: &str, words: &[&str]) -> Vec<Number> {
    let places = words.iter().flat_map(|word| line.match_indices(word).map(|(at, word)| (at, at + word.len())));
    let is_word = |at: usize| !line[..at].ends_with(char::is_alphanumeric);
    places.filter(|(at, _)| is_word(*at)).flat_map(|(_, end)| list(&line[end..]).0).collect()
}

/// Rules that stand in brackets, or alone in the first cell of a table's row.
pub(super) fn in_brackets(line: &str) -> Vec<Number> {
    let brackets = line.match_indices('(').map(|(at, _)| (&line[at + 1..], ")"));
    let row = line.strip_prefix("| ").map(|rest| (rest, " |"));
    let numbers = brackets.chain(row).flat_map(|(text, close)| {
        let (numbers, rest) = list(text);
        if rest.starts_with(close) && numbers.iter().all(|number| number.rule.is_some()) { numbers } else { Vec::new() }
    });
    numbers.collect()
}

/// The numbers that a heading begins with.
pub(super) fn headed(line: &str) -> Vec<Number> {
    let title = line.trim_start_matches('#');
    let Some(title) = title.strip_prefix(' ').filter(|title| title.len() + 1 < line.len()) else { return Vec::new() };
    let (numbers, rest) = list(title);
    if rest.starts_with(' ') { numbers } else { Vec::new() }
}

/// The numbers at the beginning of a text, and what stands behind them. Of a range these are its ends.
fn list(mut text: &str) -> (Vec<Number>, &str) {
    let mut numbers = Vec::new();
    let mut next = text;
    while let Some((number, rest)) = number(next) {
        numbers.push(number);
        text = rest;
        let separators = [", and ", " and ", ", ", "–"];
        let Some(behind) = separators.iter().find_map(|separator| rest.strip_prefix(separator)) else { break };
        next = behind;
    }
    (numbers, text)
}

/// The number at the beginning of a text, and what stands behind it.
fn number(text: &str) -> Option<(Number, &str)> {
    let first = text.chars().next().filter(|char| matches!(char, '1'..='9' | 'A'..='Z'))?;
    let digits = |text: &str| text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let length = if first.is_ascii_digit() { digits(text) } else { 1 };
    let (chapter, behind) = text.split_at(length);
    let chapter = chapter.to_owned();
    let rule = behind.strip_prefix('.').map(|rest| rest.split_at(digits(rest))).filter(|(rule, _)| !rule.is_empty());
    let goes_on = |rest: &str| rest.starts_with(char::is_alphanumeric) || rest.strip_prefix('.').is_some_and(|rest| digits(rest) > 0);
    match rule {
        Some((rule, rest)) if !goes_on(rest) => Some((Number { chapter, rule: Some(rule.parse().ok()?) }, rest)),
        None if first.is_ascii_digit() && !goes_on(behind) => Some((Number { chapter, rule: None }, behind)),
        _ => None,
    }
}

#[test]
fn citations_are_found_in_every_form() {
    let said = |numbers: Vec<Number>| numbers.iter().map(Number::to_string).collect::<Vec<_>>().join(" ");
    for (line, expected) in [
        ("/// As declared (language 6.5).", "6.5"),
        ("//! Calls (language 5, 7.4, 7.8), and language A.1", "5 7.4 7.8 A.1"),
        ("Rules 1.2–1.6 and 7.10 say so, version 1.2.3 does not", "1.2 1.6 7.10"),
        ("the language 002 and languages 3.1, or language A", ""),
        ("language 1.2.3, language 5th", ""),
    ] {
        assert_eq!(said(cited(line)), expected, "{line}");
    }
    assert_eq!(said(in_brackets("| 1.1 | So it is (2.4, B.2), (since 3.1), (2.6 ×), (9). |")), "2.4 B.2 1.1");
    assert_eq!(said(headed("## 6.2, 8.3 a case")), "6.2 8.3");
    assert_eq!(said(headed("## 64 options, 5x")), "64");
    assert_eq!(said(headed("6.2 no heading")), "");
}
