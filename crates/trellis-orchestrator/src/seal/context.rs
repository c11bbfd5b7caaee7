//! Values that the text around them declares secret: "my password is …", "api_key: …", "비밀번호는 …".

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::SecretKind;

/// Words that a password follows.
const PASSWORD: &str =
    r"(?:pass\s?word|pass\s?wort|passwd|pass\s?phrase|pass\s?code|pwd|pin(?:\s?code)?|비밀\s?번호|비번|패스\s?워드|암호(?:문)?|핀\s?번호)";
/// Words that another secret follows.
const SECRET: &str = r"(?:(?:api|access|secret|private|encryption|signing|master|license|auth|account|app)[\s_-]?(?:key|token|secret)|client[\s_-]?secret|secret|credentials?|token|(?:api|인증|접근|액세스|비밀|시크릿)\s?키|시크릿|(?:인증\s?|접근\s?|액세스\s?)?토큰|인증\s?번호)";
/// Words that the number of an account follows.
const ACCOUNT: &str = r"(?:bank\s?account|account\s?(?:number|no\.?)|routing\s?number|계좌(?:\s?번호)?|통장(?:\s?번호)?)";
/// The text between such a word and its value: a sign, or words that are a weaker hint.
const SIGN: &str = r#"["'`*]{0,2}\s*(?P<sign>[:=：]|=>|->)\s*"#;
const IS: &str = r#"["'`]?\s*(?:[^\s:=]{1,24}\s){0,3}?(?P<is>is|was|becomes|은|는|이|가)\s+(?:now\s|still\s|currently\s|이제\s|지금\s)?"#;
const KO: &str = r#"["'`]?(?:은|는|이|가)\s+"#;

static RULES: LazyLock<Vec<(SecretKind, Surety, Regex)>> = LazyLock::new(|| {
    let value = r#"(?P<v>[^\s]{3,256})"#;
    let rule = |kind, surety, words: &str, link: &str| {
        let edge = r"(?:^|[^A-Za-z0-9가-힣])(?:[A-Za-z0-9]{1,24}[_-]){0,4}";
        let regex = Regex::new(&format!("(?i){edge}{words}(?:[_-][A-Za-z0-9]{{1,16}}){{0,2}}{link}{value}"));
        (kind, surety, regex.unwrap_or_else(|error| unreachable!("the rules are tested: {error}")))
    };
    let mut rules = Vec::new();
    for (kind, words) in [(SecretKind::Password, PASSWORD), (SecretKind::Secret, SECRET)] {
        rules.push(rule(kind, Surety::Sign, words, SIGN));
        rules.push(rule(kind, Surety::Words, words, IS));
        rules.push(rule(kind, Surety::Words, words, KO));
    }
    rules.push(rule(SecretKind::Password, Surety::Words, PASSWORD, r"\s+"));
    rules
});

static ACCOUNTS: LazyLock<Regex> = LazyLock::new(|| {
    let digits = r"(?P<v>[0-9](?:[ -]?[0-9]){7,19})";
    Regex::new(&format!("(?i){ACCOUNT}[^0-9\\n]{{0,24}}{digits}")).unwrap_or_else(|error| unreachable!("the rule is tested: {error}"))
});

/// The end of a message after which the next one is a secret.
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    let end = r#"["'`]?\s*(?:(?:[^\s:=]{1,24}\s){0,3}?(?:is|was)|은|는|이|가|이에요|입니다)?\s*[:=：…-]*\s*(?:\.\.\.)?\s*$"#;
    Regex::new(&format!("(?i)(?:{PASSWORD}|{SECRET}){end}")).unwrap_or_else(|error| unreachable!("the rule is tested: {error}"))
});

/// A word that a password follows.
static IS_PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?i){PASSWORD}")).unwrap_or_else(|error| unreachable!("the rule is tested: {error}")));

/// The certainty that the following word is the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surety {
    /// Behind `:` or `=`.
    Sign,
    /// Behind words: the value must look like one.
    Words,
}

/// The secrets that a text announces itself.
pub(super) fn announced(text: &str) -> Vec<(SecretKind, Range<usize>)> {
    let mut found = Vec::new();
    for (kind, surety, regex) in RULES.iter() {
        let mut at = 0;
        while let Some(captures) = regex.captures_at(text, at) {
            let (Some(whole), Some(value)) = (captures.get(0), captures.name("v")) else { break };
            let range = trimmed(text, value.range());
            if is_value(&text[range.clone()], *kind, *surety) {
                found.push((*kind, range));
            }
            // The value of one rule may be the word of the next.
            at = value.start().max(whole.start() + 1);
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
    }
    found.extend(ACCOUNTS.captures_iter(text).filter_map(|captures| Some((SecretKind::Account, captures.name("v")?.range()))));
    found
}

/// The value of a message whose predecessor announced it.
pub(super) fn expected(text: &str, before: &str) -> Option<(SecretKind, Range<usize>)> {
    let captures = ANNOUNCED.captures(before.trim_end())?;
    let kind = if IS_PASSWORD.is_match(captures.get(0)?.as_str()) { SecretKind::Password } else { SecretKind::Secret };
    let word = text.split_whitespace().next()?;
    let start = text.find(word)?;
    let range = trimmed(text, start..start + word.len());
    let is_alone = text.trim() == word;
    let value = &text[range.clone()];
    let fits = if is_alone { value.len() >= 3 && !is_ordinary(value) } else { is_value(value, kind, Surety::Words) };
    fits.then_some((kind, range))
}

/// Returns the range without enclosing quotes and trailing punctuation.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let front = value.trim_start_matches(['"', '\'', '`', '(', '<', '“', '‘', '*']);
    let quote = value.chars().next().filter(|char| matches!(char, '"' | '\'' | '`'));
    // Within quotes everything up to the other one belongs to it.
    let inner = match quote.and_then(|quote| front.find(quote)) {
        Some(end) => &front[..end],
        None => front.trim_end_matches(['"', '\'', '`', ')', '>', '”', '’', ',', '.', ';', '…', '}', ']']),
    };
    let without = |ending: &&str| inner.strip_suffix(*ending);
    // A short ending may belong to a value that has such letters itself.
    let long = ["입니다", "이에요", "예요"].iter().filter_map(without).find(|rest| rest.ends_with(|last: char| last.is_ascii()));
    let short = ["이야", "야", "임", "이고", "로", "으로"].iter().filter_map(without).find(|rest| rest.is_ascii());
    let inner = long.or(short).unwrap_or(inner);
    let start = range.start + (value.len() - front.len());
    start..start + inner.len()
}

/// Returns whether a word can be the value of a secret.
fn is_value(value: &str, kind: SecretKind, surety: Surety) -> bool {
    if value.len() < 3 || value.contains("{{") || value.starts_with("[redacted") || is_ordinary(value) {
        return false;
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let signs = value.chars().filter(|char| char.is_ascii_punctuation() && !matches!(char, '-' | '_' | '\'')).count();
    let letters = value.chars().filter(|char| char.is_alphabetic()).count();
    let is_mixed = digits > 0 && letters > 0 || signs > 0 && (letters > 0 || digits > 0) && !value.contains("://");
    let has_inner_case = value.chars().skip(1).any(char::is_uppercase) && value.chars().any(char::is_lowercase);
    // Words about a password have no digits behind letters; one of ten letters or more is `10자이상`.
    let is_worded = !value.is_ascii() && digits > 0 && letters > 0 && value.chars().count() >= 4;
    match (kind, surety) {
        (SecretKind::Password, Surety::Sign) if is_worded => signs > 0 || !value.starts_with(|first: char| first.is_ascii_digit()),
        (SecretKind::Password, Surety::Words) if is_worded => signs > 0,
        (SecretKind::Password, Surety::Sign) => value.is_ascii() && (is_mixed || digits >= 4 || value.len() >= 4),
        (SecretKind::Password, Surety::Words) => value.is_ascii() && (is_mixed || digits >= 4 || has_inner_case || is_phrase(value)),
        (_, Surety::Sign) => value.is_ascii() && value.len() >= 6 && (is_mixed || has_inner_case || digits >= 6),
        (_, Surety::Words) => value.is_ascii() && value.len() >= 6 && (is_mixed || has_inner_case && value.len() >= 10 || digits >= 6),
    }
}

/// Returns whether it consists of joined words: `correct-horse-battery`.
fn is_phrase(value: &str) -> bool {
    value.len() >= 12 && value.split(['-', '_']).count() >= 3
}

/// Returns whether it is a word that people say about secrets, a placeholder, or a place that holds one.
fn is_ordinary(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "required",
        "optional",
        "string",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "empty",
        "missing",
        "hidden",
        "redacted",
        "secret",
        "password",
        "token",
        "expired",
        "wrong",
        "invalid",
        "correct",
        "incorrect",
        "weak",
        "strong",
        "reset",
        "changed",
        "safe",
        "text",
        "value",
        "yours",
        "mine",
        "here",
        "below",
        "above",
        "todo",
        "tbd",
        "changeme",
        "example",
        "the",
        "not",
        "too",
        "your",
        "env",
        "protected",
        "manager",
        "policy",
        "field",
        "yes",
        "unknown",
        "n/a",
        "same",
        "different",
        "public",
        "hashed",
        "encrypted",
        "needed",
        "stored",
        "sha256",
        "bcrypt",
        "argon2",
        "utf-8",
        "base64",
        "oauth2",
        "sha-256",
        "aes-256",
        "argon2id",
        "1password",
        "2fa",
        "i18n",
        "k8s",
        "sha512",
    ];
    let lower = value.to_lowercase();
    let is_masked = value.chars().all(|char| matches!(char, '*' | 'x' | 'X' | '•' | '.' | '-' | '_' | '?' | '#' | '…'));
    let is_place =
        value.starts_with(['$', '<', '{', '%', '[', '/', '@']) || lower.starts_with("process.env") || lower.starts_with("os.environ");
    let is_call = value.ends_with("()")
        || value.contains("(\"")
        || lower.starts_with("your_")
        || lower.starts_with("your-")
        || lower.starts_with("my-");
    let is_address = lower.starts_with("http") || lower.starts_with("www.") || lower.contains(".md") || lower.ends_with(".com");
    WORDS.contains(&&*lower) || is_masked || is_place || is_call || is_address
}
