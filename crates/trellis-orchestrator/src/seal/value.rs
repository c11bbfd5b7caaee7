//! Values that a text declares secret: where they end, and whether a word can be one at all.

use std::ops::Range;

use serde::Deserialize;

use super::{SecretKind, patterns::PATTERNS};

/// The degree to which a value must look like one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Likeness {
    /// Not at all: the form around it is enough.
    #[default]
    Form,
    /// As behind `:` or `=`.
    Sign,
    /// As behind words.
    Words,
    /// It has letters and digits.
    Strong,
    /// Only a machine makes it.
    Long,
}

/// Quotes that open a value, with those that close it.
const QUOTES: [(char, &[char]); 8] =
    [('"', &['"']), ('\'', &['\'']), ('`', &['`']), ('“', &['”']), ('‘', &['’']), ('„', &['“', '”']), ('«', &['»']), ('「', &['」'])];
/// Signs of a sentence, after a value.
const CLOSING: [char; 22] =
    ['"', '\'', '`', ')', '>', '”', '’', ',', '.', ';', '…', '}', ']', '。', '，', '、', '！', '）', '」', '»', '*', '\\'];
/// Words of which a sentence in quotes has one.
const SENTENCE: &[&str] = &[
    "a",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "been",
    "by",
    "can",
    "cannot",
    "characters",
    "chars",
    "digits",
    "do",
    "enter",
    "expired",
    "for",
    "forgotten",
    "has",
    "in",
    "invalid",
    "is",
    "it",
    "its",
    "least",
    "letters",
    "long",
    "more",
    "must",
    "new",
    "no",
    "not",
    "of",
    "on",
    "or",
    "page",
    "please",
    "repeat",
    "required",
    "short",
    "than",
    "the",
    "this",
    "to",
    "token",
    "too",
    "use",
    "what",
    "when",
    "with",
    "word",
    "words",
    "wrong",
    "your",
];
/// Bytes of the longest value.
const MAX_VALUE: usize = 4096;
/// Endings of names of files.
const FILES: &[&str] = &[
    "conf", "csv", "doc", "docx", "env", "html", "ini", "js", "json", "kdbx", "key", "log", "md", "pdf", "pem", "png", "py", "rs", "sh",
    "toml", "ts", "txt", "xls", "xlsx", "yaml", "yml", "zip",
];

/// Returns the range of a value without quotes, the punctuation of its sentence, and what an address or a list has behind it.
pub(super) fn value_in(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let front = value.trim_start_matches(['"', '\'', '`', '(', '<', '“', '‘', '„', '«', '「', '*']);
    let opening = value[..value.len() - front.len()].chars().last();
    let closing = opening.and_then(|quote| QUOTES.iter().find(|(open, _)| *open == quote)).and_then(|(_, close)| front.find(*close));
    // Within quotes everything up to the other one belongs to it.
    let inner = match closing {
        Some(end) => &front[..end],
        None => until_next(front).trim_end_matches(CLOSING),
    };
    let without = |ending: &&str| inner.strip_suffix(*ending);
    // A short ending may belong to a value that has such letters itself.
    let long = ["입니다", "이에요", "예요", "です"].iter().filter_map(without).find(|rest| rest.ends_with(|last: char| last.is_ascii()));
    let short = ["이야", "야", "임", "이고", "으로", "로", "가", "이", "을", "를"].iter().filter_map(without).find(|rest| rest.is_ascii());
    let inner = if closing.is_some() { inner } else { long.or(short).unwrap_or(inner) };
    let start = range.start + (value.len() - front.len());
    start..start + inner.len()
}

/// A value without the next one of its list: `x&user=ana`, `x;Server=db`, `x","user":"ana"`.
fn until_next(value: &str) -> &str {
    let is_name = |rest: &str| {
        let name = rest.split(['=', ':']).next().unwrap_or_default();
        name.len() < rest.len() && !name.is_empty() && name.chars().all(|char| char.is_ascii_alphabetic() || matches!(char, '_' | ' '))
    };
    let next = value.match_indices(['&', ';']).find(|(at, _)| *at > 0 && is_name(&value[at + 1..]));
    let last = value.match_indices(['&', ';']).find(|(at, sign)| *sign == ";" && *at + 1 == value.len());
    let quote = ["\",", "',", "\"}", "'}"].iter().filter_map(|end| value.find(end)).min();
    let end = next.or(last).map(|(at, _)| at).into_iter().chain(quote).min();
    end.map_or(value, |end| &value[..end])
}

/// Returns whether a word or a text in quotes can be the value of a secret.
pub(super) fn is_value(text: &str, range: &Range<usize>, kind: SecretKind, likeness: Likeness) -> bool {
    let value = &text[range.clone()];
    if !(3..=MAX_VALUE).contains(&value.len()) || value.contains("{{") || value.starts_with("[redacted") || PATTERNS.is_ordinary(value) {
        return false;
    }
    if value.contains(char::is_whitespace) {
        return is_phrase(value, likeness);
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let signs = value.chars().filter(|char| char.is_ascii_punctuation() && !matches!(char, '-' | '_' | '\'' | '.' | ',' | '/')).count();
    let letters = value.chars().filter(|char| char.is_alphabetic()).count();
    let is_mixed = digits > 0 && letters > 0 || signs > 0 && (letters > 0 || digits > 0) && !value.contains("://");
    let has_inner_case = value.chars().skip(1).any(char::is_uppercase) && value.chars().any(char::is_lowercase);
    if likeness != Likeness::Sign && is_something_else(value) {
        return false;
    }
    // Words about a password have no digits behind letters; one of ten letters or more is `10자이상`.
    let is_worded = !value.is_ascii() && digits > 0 && letters > 0 && value.chars().count() >= 4;
    let ends_in_digit = value.ends_with(|last: char| last.is_ascii_digit()) && !value.starts_with(|first: char| first.is_ascii_digit());
    match (kind, likeness) {
        (_, Likeness::Form) => true,
        (_, Likeness::Long) => {
            let is_long = value.len() >= 16 && digits >= 2 || value.len() >= 12 && is_scrambled(value);
            value.is_ascii() && is_long && letters >= 4 && !value.contains("://")
        }
        (_, Likeness::Strong) => value.chars().count() >= 6 && digits > 0 && letters + signs > 0,
        (SecretKind::Password, Likeness::Sign) if is_worded => signs > 0 || !value.starts_with(|first: char| first.is_ascii_digit()),
        (SecretKind::Password, Likeness::Words) if is_worded => signs > 0 || ends_in_digit,
        (SecretKind::Password, Likeness::Sign) => {
            value.is_ascii() && (is_mixed || digits >= 4 || value.len() >= 4 && (has_inner_case || ends_line(text, range)))
        }
        (SecretKind::Password, Likeness::Words) => value.is_ascii() && (is_mixed || digits >= 4 || has_inner_case || is_joined(value)),
        (_, Likeness::Sign) => value.is_ascii() && value.len() >= 6 && (is_mixed || has_inner_case && value.len() >= 10 || digits >= 6),
        (_, Likeness::Words) => value.is_ascii() && value.len() >= 6 && (is_mixed || has_inner_case && value.len() >= 10 || digits >= 6),
    }
}

/// Returns whether nothing but signs follows in the line of a value: a plain word within a sentence is no password.
fn ends_line(text: &str, range: &Range<usize>) -> bool {
    let rest = text[range.end..].split('\n').next().unwrap_or_default();
    !rest.trim_start_matches(CLOSING).trim_start().starts_with(char::is_alphabetic) || !rest.starts_with(char::is_whitespace)
}

/// Returns whether a text with blanks can be a value: it is no sentence about one.
fn is_phrase(value: &str, likeness: Likeness) -> bool {
    let words: Vec<String> = value.split_whitespace().map(str::to_lowercase).collect();
    let is_about = |word: &String| SENTENCE.contains(&&**word) || PATTERNS.is_about_passwords(word);
    let has_digit = value.chars().any(char::is_numeric);
    let is_like = match likeness {
        Likeness::Form => true,
        Likeness::Sign | Likeness::Words => has_digit || words.len() >= 3,
        Likeness::Strong => has_digit,
        Likeness::Long => false,
    };
    is_like && words.len() <= 12 && (!words.iter().any(is_about) || value.split_whitespace().any(is_scrambled))
}

/// Returns whether letters and digits alternate in a word as in none that is spoken: `Wd9-wx34y`.
fn is_scrambled(word: &str) -> bool {
    let is_digit: Vec<bool> = word.chars().filter(char::is_ascii_alphanumeric).map(|char| char.is_ascii_digit()).collect();
    word.len() >= 8 && is_digit.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 3
}

/// Returns whether it consists of joined words: `correct-horse-battery`.
fn is_joined(value: &str) -> bool {
    value.len() >= 12 && value.split(['-', '_']).count() >= 3
}

/// Returns whether it is an address, a file, a date, a time or a version.
fn is_something_else(value: &str) -> bool {
    let is_mail = value.split_once('@').is_some_and(|(name, host)| {
        let end = host.rsplit_once('.').map_or("", |(_, end)| end);
        !name.is_empty() && !host.contains('@') && end.len() >= 2 && end.chars().all(|char| char.is_ascii_alphabetic())
    });
    let ending = value.rsplit_once('.').map_or("", |(_, end)| end);
    let is_file = FILES.contains(&&*ending.to_ascii_lowercase());
    let is_moment = value.chars().all(|char| char.is_ascii_digit() || matches!(char, '-' | ':' | '.' | '/' | 'T' | 'Z' | '+' | ','))
        && value.contains(['-', ':', '.', '/'])
        && !value.contains("--");
    let version = value.trim_start_matches(['v', 'V']);
    let is_version = version.contains('.') && version.chars().all(|char| char.is_ascii_digit() || char == '.');
    let is_measure = value.trim_end_matches(['%', '+']).chars().all(|char| char.is_ascii_digit()) && value.ends_with(['%', '+']);
    is_mail || is_file || is_moment || is_version || is_measure
}

/// Returns whether it stands in the place of a value, or says where one is.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let is_masked = value.chars().all(|char| matches!(char, '*' | 'x' | 'X' | '•' | '.' | '-' | '_' | '?' | '#' | '…'));
    let is_place =
        value.starts_with(['$', '<', '{', '%', '[', '/', '@', '=']) || lower.starts_with("process.env") || lower.starts_with("os.environ");
    let is_name = |name: &str| name.len() >= 3 && name.chars().all(|char| char.is_ascii_alphabetic() || matches!(char, '_' | '.' | ':'));
    let is_call = value.split_once('(').is_some_and(|(name, rest)| is_name(name) && rest.trim_start_matches(')').is_empty())
        || value.contains("(\"")
        || lower.starts_with("your_")
        || lower.starts_with("your-")
        || lower.starts_with("my-");
    let is_address = lower.starts_with("http") || lower.starts_with("www.") || lower.contains(".md") || lower.ends_with(".com");
    // `tokens[0]`
    let is_element = value.split_once('[').is_some_and(|(name, at)| is_name(name) && at.trim_end_matches(']').len() <= 3 || name == "ENC");
    is_masked || is_place || is_call || lower.starts_with("&gt") || lower.starts_with("&lt") || is_address || is_element
}
