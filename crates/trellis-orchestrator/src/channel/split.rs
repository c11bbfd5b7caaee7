//! Splits long texts into parts that a provider accepts (orchestrator 4.1).
//!
//! **Invariant:** no part exceeds the limit, counted in UTF-16; a code fence across a cut is closed before it and opened again after it; no
//! character is cut.

use unicode_segmentation::UnicodeSegmentation as _;

/// Greatest length of a line that opens a code fence; a longer line is text.
const LONGEST_OPENER: usize = 64;

/// A text in parts of at most `limit` UTF-16 units, at least 200: cut between paragraphs where that is possible, else between lines, sentences, words.
///
/// ```
/// use trellis_orchestrator::channel::parts;
///
/// assert_eq!(parts("short", 200), ["short"]);
/// let long = format!("```sh\n{}```\n", "echo\n".repeat(50));
/// assert!(parts(&long, 200).iter().all(|part| part.starts_with("```sh\n") && part.ends_with("\n```")));
/// ```
pub fn parts(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(200);
    let (mut parts, mut rest) = (Vec::new(), text.trim_end().to_owned());
    while units(&rest) > limit {
        let (mut end, mut next) = cut(&rest[..prefix(&rest, limit)], &rest);
        if open_fence(&rest[..end]).is_some() {
            // Room for the line that closes the fence.
            let room = prefix(&rest, limit - LONGEST_OPENER - 1);
            (end, next) = cut(&rest[..room], &rest);
            // Behind the line that opens it, or nothing would be gained.
            if end <= LONGEST_OPENER && open_fence(&rest[..end]).is_some() {
                end = within(room, &rest);
                next = end;
            }
        }
        let part = &rest[..end];
        let after = &rest[next..];
        (parts, rest) = match open_fence(part) {
            Some((opener, ticks)) => {
                parts.push(format!("{part}\n{ticks}"));
                let is_empty = after.trim_start().starts_with(ticks) && after.trim().trim_matches(['`', '~']).is_empty();
                (parts, if is_empty { String::new() } else { format!("{opener}\n{after}") })
            }
            None => {
                parts.push(part.to_owned());
                (parts, after.to_owned())
            }
        };
    }
    if !rest.trim().is_empty() || parts.is_empty() {
        parts.push(rest);
    }
    parts
}

/// Returns the end of the first part of a text, which lies in `window`, and the begin of the next part.
fn cut(window: &str, text: &str) -> (usize, usize) {
    // A part that is hardly begun is no part.
    let least = window.len() / 4;
    let found = |at: Option<usize>, length: usize| at.filter(|at| *at > least).map(|at| (at, at + length));
    let is_apt = |at: &usize| is_apt(&text[*at..]);
    let sentence = || {
        let ends = [". ", "! ", "? ", "。", "! ", "？", "！"];
        ends.iter().filter_map(|end| window.rfind(end).map(|at| at + end.trim_end().len())).filter(is_apt).max()
    };
    let word = || window.rmatch_indices(char::is_whitespace).map(|(at, _)| at).find(is_apt);
    let paragraph = window.rfind("\n\n").filter(|at| open_fence(&window[..*at]).is_none());
    let place = found(paragraph, 2)
        .or_else(|| found(window.rfind('\n'), 1))
        .or_else(|| found(sentence(), 0))
        .or_else(|| found(word(), 0))
        .unwrap_or_else(|| {
            let end = within(window.len(), text);
            (end, end)
        });
    let (end, next) = place;
    if open_fence(&text[..end]).is_some() {
        return place;
    }
    let blank = text[next..].len() - text[next..].trim_start_matches([' ', '\n']).len();
    (end, next + blank)
}

/// Returns whether a part may begin so: text within a line is no fence, and must not become one at the beginning of a part.
fn is_apt(text: &str) -> bool {
    text.trim_start().lines().next().and_then(fence).is_none()
}

/// The last place within a word at which it may be cut, at or before `end`; `end` where there is none.
fn within(end: usize, text: &str) -> usize {
    let starts = text[..end].grapheme_indices(true).rev().map(|(at, _)| at).filter(|at| *at > 0);
    std::iter::once(end).chain(starts).find(|at| is_apt(&text[*at..])).unwrap_or(end)
}

/// The fence that is open at the end of a text: the line that opened it, and what closes it.
fn open_fence(text: &str) -> Option<(&str, &str)> {
    let mut open = None;
    for line in text.lines() {
        let Some(ticks) = fence(line) else { continue };
        let is_closing = |(_, opened): (&str, &str)| ticks.starts_with(opened) && line.trim() == ticks;
        match open {
            Some(opened) if is_closing(opened) => open = None,
            Some(_) => {}
            None if line.len() <= LONGEST_OPENER => open = Some((line, ticks)),
            None => {}
        }
    }
    open
}

/// The ticks of a line that opens or closes a fence.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let tick = line.chars().next().filter(|char| matches!(char, '`' | '~'))?;
    let ticks = &line[..line.len() - line.trim_start_matches(tick).len()];
    (ticks.len() >= 3 && !(tick == '`' && line[ticks.len()..].contains('`'))).then_some(ticks)
}

/// The end of the longest beginning of a text that has at most so many units; it is never empty.
fn prefix(text: &str, limit: usize) -> usize {
    let (mut end, mut count) = (0, 0);
    for (at, character) in text.grapheme_indices(true) {
        count += units(character);
        if count > limit {
            break;
        }
        end = at + character.len();
    }
    if end > 0 {
        return end;
    }
    // A character of a thousand marks is cut all the same.
    text.char_indices().map(|(at, char)| at + char.len_utf8()).take(limit / 2).last().unwrap_or(text.len())
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    // orchestrator 4.1: paragraph, line, sentence, word
    #[test]
    fn a_text_is_cut_where_it_hurts_least() {
        let sentence = "All is well here. ";
        for (text, end) in [
            (format!("{}\n\n{}", sentence.repeat(8), sentence.repeat(8)), "here. "),
            (format!("{}\n{}", "word ".repeat(25), "word ".repeat(30)), "word "),
            (sentence.repeat(30), "here."),
            ("word ".repeat(100), "word"),
            ("x".repeat(500), "x"),
            ("가나다。".repeat(100), "。"),
        ] {
            let parts = parts(&text, 200);
            assert!(parts.len() > 1 && parts[0].ends_with(end), "{parts:?}");
            assert!(parts.iter().all(|part| units(part) <= 200), "{parts:?}");
            if text.contains(' ') {
                assert_eq!(words(&parts.join(" ")), words(&text));
            } else {
                assert_eq!(parts.concat(), text);
            }
        }
        assert_eq!(parts("", 200), [""]);
    }

    // orchestrator 4.1: never inside a code fence without closing and opening it again
    #[test]
    fn a_fence_is_closed_and_opened_again() {
        let code: Vec<String> = (0..100).map(|line| format!("  line {line}\n")).collect();
        for ticks in ["```", "~~~~"] {
            let text = format!("Look:\n\n{ticks}rust\n{}{ticks}\n\nThat is all.", code.concat());
            let parts = parts(&text, 300);
            assert!(parts.iter().all(|part| units(part) <= 300 && open_fence(part).is_none()), "{parts:?}");
            let inner: Vec<&str> = parts.iter().flat_map(|part| part.lines()).filter(|line| fence(line).is_none()).collect();
            let expected: Vec<&str> = text.lines().filter(|line| fence(line).is_none()).collect();
            let without_blank = |lines: Vec<&str>| lines.into_iter().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(without_blank(inner), without_blank(expected));
        }
    }

    #[test]
    fn a_fence_of_one_long_line_comes_to_its_end() {
        for opener in ["```", "```a language with a rather long name for a small window"] {
            let text = format!("{opener}\n{}\n```", "x".repeat(1000));
            let parts = parts(&text, 200);
            let all: usize = parts.iter().flat_map(|part| part.lines()).filter(|line| line.starts_with('x')).map(str::len).sum();
            assert!(all == 1000 && parts.iter().all(|part| units(part) <= 200), "{parts:?}");
        }
    }

    // orchestrator 4.1: text within a line that is no fence is none at the beginning of a part
    #[test]
    fn a_part_does_not_begin_with_a_fence_that_was_none() {
        let words = parts(&format!("{}~~~~~~~~ text\nThat is all.", "word ".repeat(39)), 200);
        assert_eq!(words[1..], ["word ~~~~~~~~ text\nThat is all."]);
        let code = parts(&format!("```\n{}```\n```", "x".repeat(192)), 200);
        assert!(code[1].starts_with("```\nx") && code.concat().contains("x```"), "{code:?}");
    }

    // orchestrator 4.1: never inside a character
    #[test]
    fn a_character_stays_whole() {
        let family = "👨‍👩‍👧‍👦";
        let parts = parts(&family.repeat(100), 200);
        assert!(parts.iter().all(|part| part.len() % family.len() == 0 && units(part) <= 200), "{parts:?}");
        let marks = format!("a{}", "\u{301}".repeat(1000));
        let cut = super::parts(&marks, 200);
        assert_eq!(cut.concat(), marks);
    }
}
