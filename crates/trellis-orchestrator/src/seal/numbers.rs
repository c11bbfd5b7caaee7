//! Numbers with check digits: payment cards and international bank accounts.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::SecretKind;

/// Groups of digits, as people write numbers.
static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9]+(?:[ -][0-9]+)*"));
/// The beginning of an account number, and the whole number with everything after it that may belong to it.
static COUNTRY: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[A-Z]{2}[0-9]{2}"));
static IBAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"));
/// Digits of a card at most.
const MAX_CARD: usize = 19;

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("the pattern is tested: {error}"))
}

/// Finds the cards and accounts of a text. Text after a number, such as its expiry, is not part of it; overlapping ones are one find.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = (SecretKind, Range<usize>)> {
    let cards = DIGITS.find_iter(text).flat_map(move |found| cards(text, found.range()));
    let accounts = COUNTRY.find_iter(text).filter_map(move |found| account(text, found.start()));
    cards.map(|range| (SecretKind::Card, range)).chain(accounts.map(|range| (SecretKind::Account, range)))
}

/// The cards among groups of digits: from each group on, the most groups that are one.
fn cards(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut start = run.start;
    for part in text[run.clone()].split([' ', '-']) {
        groups.push(start..start + part.len());
        start += part.len() + 1;
    }
    let mut cards = Vec::new();
    for (at, first) in groups.iter().enumerate() {
        let mut digits = 0;
        let windows = groups[at..].iter().map_while(|last| {
            digits += last.len();
            (digits <= MAX_CARD).then_some(first.start..last.end)
        });
        let windows: Vec<Range<usize>> = windows.collect();
        cards.extend(windows.into_iter().rev().find(|window| stands_alone(text, &run, window) && is_card(&text[window.clone()])));
    }
    cards
}

/// The account that begins at a place: the longest one that passes its check.
fn account(text: &str, start: usize) -> Option<Range<usize>> {
    let longest = IBAN.find(&text[start..])?.as_str();
    let shorter = longest.rmatch_indices(' ').map(|(end, _)| &longest[..end]);
    std::iter::once(longest).chain(shorter).find(|text| is_iban(text)).map(|account| start..start + account.len())
}

/// Returns whether no letter or digit touches a window of a run of digits: digits within a longer word are part of it. Separators between the groups
/// of the run do not count, and neither does the slash before an expiry.
fn stands_alone(text: &str, run: &Range<usize>, window: &Range<usize>) -> bool {
    let before = text[..window.start].chars().next_back().filter(|_| window.start == run.start);
    let after = text[window.end..].chars().next().filter(|_| window.end == run.end);
    let char_after = |length: usize| text[window.end + length..].chars().next();
    let touches =
        |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-' | '/' | '#' | '+'));
    let ends_sentence = after == Some('.') && !char_after(1).is_some_and(|char| char.is_ascii_alphanumeric());
    let is_dated = after == Some('/') && char_after(1).is_some_and(|char| char.is_ascii_digit());
    !touches(before) && (!touches(after) || ends_sentence || is_dated)
}

/// Returns whether digits are the number of a card: the check digit is right, and an issuer uses their beginning and length.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let begins = |length: usize| digits.iter().take(length).fold(0, |number, digit| number * 10 + digit);
    let is_issued = match digits.len() {
        13 | 19 => begins(1) == 4,
        14 => matches!(begins(3), 300..=305 | 309) || matches!(begins(2), 36 | 38 | 39),
        15 => matches!(begins(2), 34 | 37),
        16 => {
            begins(1) == 4
                || matches!(begins(2), 51..=55 | 62 | 64 | 65)
                || matches!(begins(4), 2221..=2720 | 3528..=3589 | 6011 | 9400..=9499)
        }
        _ => false,
    };
    is_issued && digits.iter().any(|digit| *digit != digits[0]) && passes_luhn(&digits)
}

fn passes_luhn(digits: &[u32]) -> bool {
    let doubled = |(place, digit): (usize, &u32)| match place % 2 {
        0 => *digit,
        _ if *digit > 4 => digit * 2 - 9,
        _ => digit * 2,
    };
    digits.iter().rev().enumerate().map(doubled).sum::<u32>().is_multiple_of(10)
}

/// Returns whether it is an IBAN: modulo 97 of its rearranged digits is 1.
fn is_iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|char| *char != ' ').collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let (head, body) = plain.split_at(4);
    let rest = body.iter().chain(head).try_fold(0_u32, |rest, char| {
        let digit = char.to_digit(36)?;
        Some(if digit < 10 { (rest * 10 + digit) % 97 } else { (rest * 100 + digit) % 97 })
    });
    rest == Some(1)
}
