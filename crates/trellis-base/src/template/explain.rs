//! Errors of the parser of the jinja dialect and of the engine, in our words and at the place to change.

use std::ops::Range;

use minijinja::{
    Error,
    machinery::{Token, tokenize},
};

use super::{
    Mistake,
    delimiters::{clamp, syntax},
};
use crate::diagnostic::near;

/// The help where a text may be a Go template.
const SET_GO: &str = "set `templates: go` in trellis.yaml if this is a Go template, or run `trellis migrate`";

/// Statements of other template languages that authors may look for.
const REFUSED: &[&str] = &["macro", "include", "import", "from", "extends", "block", "call", "do", "autoescape", "continue", "break"];

/// Statements of this one.
const STATEMENTS: [&str; 6] = ["for", "if", "with", "set", "filter", "raw"];

/// The mistake behind an error of the parser.
pub(super) fn explain(source: &str, error: &Error) -> Mistake {
    let place = clamp(source, error.range().unwrap_or(0..source.len()));
    let message = error.detail().unwrap_or("bad escape");
    if let Some(name) = message.strip_prefix("unknown statement ") {
        return statement(source, name, place);
    }
    match message {
        "unexpected end of comment" => open_mark(source, "{#", "#}", place),
        "unexpected end of raw block" => open_mark(source, "{% raw %}", "{% endraw %}", place),
        "unexpected end of string" => Mistake::syntax(open_quote(source, place), "this text has no closing quote"),
        "unexpected character" => character(source, place),
        "bad escape" => {
            let start = source[place.start..].find('\\').map_or(place.start, |found| place.start + found);
            Mistake::syntax(clamp(source, start..start + 2), "this escape is not known")
        }
        _ if message.starts_with("invalid integer") => {
            let end = source[..place.start].trim_end().len();
            let digits = source[..end].bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
            Mistake::syntax(end - digits..end, "this number is too large")
        }
        _ => match message.strip_prefix("unexpected ") {
            Some(unexpected) => not_expected(source, unexpected, place),
            None => Mistake::syntax(place, message.to_owned()),
        },
    }
}

/// A failure of the engine in our words, kinds of values by our names.
pub(super) fn in_our_words(detail: &str) -> String {
    let kind = |name: &str| match name {
        "undefined" => "nothing",
        "none" => "null",
        "bool" => "boolean",
        "string" => "text",
        "sequence" | "iterable" | "tuple" => "list",
        "map" | "plain object" => "mapping",
        _ => "number",
    };
    if let Some((operator, kinds)) =
        detail.strip_prefix("tried to use ").and_then(|rest| rest.split_once(" operator on unsupported types "))
        && let Some((left, right)) = kinds.split_once(" and ")
    {
        return format!("`{operator}` does not work on {} and {}", kind(left), kind(right));
    }
    if let Some(name) = detail.strip_prefix("cannot calculate length of value of type ") {
        return format!("{} has no length", kind(name));
    }
    match detail.strip_suffix(" is not iterable") {
        Some(name) => format!("{} cannot be looped over", kind(name)),
        None => detail.trim_end_matches('.').to_owned(),
    }
}

/// Returns the mistake of an unknown statement, or of one that closes nothing.
fn statement(source: &str, name: &str, place: Range<usize>) -> Mistake {
    let place = source[..place.end].rfind(name).map_or(place.clone(), |start| start..start + name.len());
    if REFUSED.contains(&name) {
        return Mistake::syntax(place, format!("`{name}` is not part of the language"));
    }
    let closes = match name {
        "elif" => Some("if"),
        "else" => Some("if` or `for"),
        _ => name.strip_prefix("end").filter(|opened| STATEMENTS.contains(opened)),
    };
    match (closes, open_blocks(&source[..place.start]).pop()) {
        (Some(_), Some((open, _))) => Mistake::syntax(place, format!("`{name}` stands where `end{open}` belongs")),
        (Some(opened), None) => Mistake::syntax(place, format!("`{name}` belongs to no `{opened}`")),
        (None, _) => Mistake::syntax(place, format!("there is no statement `{name}`")).meant(near(name, STATEMENTS)),
    }
}

/// Returns the mistake of an unexpected token: the token, or the missing one.
fn not_expected(source: &str, unexpected: &str, place: Range<usize>) -> Mistake {
    let (met, expected) = unexpected.split_once(", expected ").map_or((unexpected, None), |(met, expected)| (met, Some(expected)));
    if met == "end of input" {
        return unclosed(source, place);
    }
    let before = source[..place.start].trim_end();
    if met.starts_with("end of ") {
        let what = match expected {
            Some("identifier") if before.ends_with('|') => "the name of a filter",
            Some("identifier") if before.ends_with(" is") || before.ends_with(" not") => "the name of a test",
            Some("identifier" | "identifier or integer") => "a name",
            Some("in") => "`in`",
            _ => "a value",
        };
        return Mistake::syntax(place, format!("{what} is missing here"));
    }
    let text = &source[place.clone()];
    let mistake = match expected {
        None => Mistake::syntax(place.clone(), format!("`{text}` has no meaning here")),
        Some(expected) => Mistake::syntax(place.clone(), format!("{} belongs here, not `{text}`", wanted(expected))),
    };
    match text {
        "." if begins_expression(before) => mistake.help(SET_GO),
        "=" => mistake.help("compare with `==`"),
        "|" if before.ends_with('|') => mistake.help("write `or`"),
        _ if go_like(source) => mistake.help(SET_GO),
        _ => mistake,
    }
}

fn wanted(expected: &str) -> String {
    match expected {
        "end of variable block" => "`}}`".into(),
        "end of block" => "`%}`".into(),
        "identifier" => "a name".into(),
        "identifier or integer" => "a name or a number".into(),
        "in" => "`in`".into(),
        other => other.to_owned(),
    }
}

fn character(source: &str, place: Range<usize>) -> Mistake {
    let char = source[place.start..].chars().next().unwrap_or(' ');
    let place = place.start..(place.start + char.len_utf8()).min(source.len());
    let mistake = Mistake::syntax(place.clone(), format!("`{char}` has no meaning here"));
    match char {
        '&' => mistake.help("write `and`"),
        '!' => mistake.help("write `not`"),
        '?' => mistake.help("write `a if condition else b`"),
        '$' if go_like(source) => mistake.help(SET_GO),
        _ => mistake,
    }
}

/// The text ended inside something: a tag, or a statement that wants its end.
fn unclosed(source: &str, place: Range<usize>) -> Mistake {
    for (open, close) in [("{{", "}}"), ("{%", "%}")] {
        if let Some(start) = source.rfind(open).filter(|&start| !source[start..].contains(close)) {
            return Mistake::syntax(start..start + 2, format!("this `{open}` has no `{close}`"));
        }
    }
    match open_blocks(source).pop() {
        Some((open, place)) => Mistake::syntax(place, format!("this `{open}` has no `{{% end{open} %}}`")),
        None => Mistake::syntax(place, "the template ends too early"),
    }
}

fn open_mark(source: &str, open: &str, close: &str, place: Range<usize>) -> Mistake {
    let start = source.rfind(&open[..2]).unwrap_or(place.start);
    Mistake::syntax(start..start + 2, format!("this `{open}` has no `{close}`"))
}

/// The quote that opens the text which never ends.
fn open_quote(source: &str, place: Range<usize>) -> Range<usize> {
    let tag = source[..place.start].rfind("{{").max(source[..place.start].rfind("{%")).unwrap_or(0);
    let mut open = None;
    let mut escaped = false;
    for (at, char) in source[tag..].char_indices() {
        match (open, char) {
            (Some(_), '\\') => escaped = !escaped,
            (Some((quote, _)), char) if char == quote && !escaped => open = None,
            (None, '"' | '\'') => open = Some((char, tag + at)),
            _ => escaped = false,
        }
    }
    open.map_or(place, |(_, at)| at..at + 1)
}

/// Statements of `source` that are not closed, outermost first, with the bytes of their names.
fn open_blocks(source: &str) -> Vec<(&str, Range<usize>)> {
    let mut open = Vec::new();
    let mut tokens = tokenize(source, false, syntax()).map_while(Result::ok).peekable();
    while let Some((token, _)) = tokens.next() {
        if !matches!(token, Token::BlockStart) {
            continue;
        }
        let Some((Token::Ident(name), span)) = tokens.next() else { continue };
        let place = span.start_offset as usize..span.end_offset as usize;
        match name {
            "for" | "if" | "with" | "filter" => open.push((name, place)),
            "set" => {
                let mut captures = true;
                while let Some((token, _)) = tokens.next_if(|(token, _)| !matches!(token, Token::BlockEnd)) {
                    captures &= !matches!(token, Token::Assign);
                }
                if captures {
                    open.push((name, place));
                }
            }
            _ if name.starts_with("end") => drop(open.pop()),
            _ => {}
        }
    }
    open
}

/// Returns whether an expression begins after `before`.
fn begins_expression(before: &str) -> bool {
    let before = before.strip_suffix('-').map_or(before, str::trim_end);
    before.ends_with("{{") || before.ends_with("{%") || before.ends_with(|char: char| char.is_ascii_alphanumeric() || char == '(')
}

/// Returns whether the text has actions that only Go's templates have.
pub(super) fn go_like(source: &str) -> bool {
    let actions = source.match_indices("{{").map(|(at, _)| source[at + 2..].trim_start_matches('-').trim_start());
    actions.into_iter().any(|rest| {
        rest.starts_with('.') || ["if ", "range ", "with ", "end}", "end }", "else}", "else }"].iter().any(|word| rest.starts_with(word))
    })
}
