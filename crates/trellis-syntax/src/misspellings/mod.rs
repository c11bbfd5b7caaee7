//! Common slips in YAML, reported in the author's terms: the place where the parser stops is seldom that of the mistake.
//!
//! **Invariant:** a broken document gets exactly one diagnostic, at the place of the cause.

mod quotes;

use std::{borrow::Cow, ops::Range};

use granit_parser::ErrorKind;

use self::quotes::inner_quotes;
use super::{
    scalar::Style,
    text::shown,
    tree::{LastToken, YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Report},
    path::is_name,
    span::Span,
};

/// The place and the reason at which the parser gave up.
pub(super) struct ParserStop<'t, 'k> {
    pub(super) text: &'t str,
    /// The YAML.
    pub(super) range: Range<usize>,
    /// The place that the parser noticed.
    pub(super) at: usize,
    /// The place of the outermost `{` or `[` that is still open.
    pub(super) outer: Option<usize>,
    /// The place of the innermost one.
    pub(super) open: Option<usize>,
    pub(super) last: LastToken,
    pub(super) kind: &'k ErrorKind,
}

/// The slip of the author.
pub(super) struct Slip {
    span: Span,
    message: String,
    help: Option<String>,
    fix: Option<(&'static str, Span, String)>,
}

impl Slip {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, fix: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests quotes around `range` of `text`.
    fn quote(mut self, text: &str, range: Span) -> Self {
        let quoted = quoted(&text[range.range()]);
        self.help = Some(format!("put it in quotes: {quoted}"));
        self.fix = Some(("put it in quotes", range, quoted));
        self
    }

    /// Offers to indent a line, whose `blanks` are given, like the key whose value begins at `value`.
    fn indented(mut self, text: &str, blanks: Span, value: usize) -> Self {
        let above = &text[line_start(text, value)..value];
        let beside = &above[..above.len() - above.trim_start_matches(' ').len()];
        // The key of a list item does not stand at the beginning of its line, and in flow style indentation means nothing.
        if !above[beside.len()..].starts_with("- ") && !above.contains(['{', '[']) {
            self.fix = Some(("indent it like the keys beside it", blanks, beside.to_owned()));
        }
        self
    }

    /// Reports it.
    pub(super) fn report(self, code: Code, report: &mut Report) {
        let mut found = Diagnostic::new(code, &report.path, self.span, self.message);
        found.help = self.help;
        if let Some((title, span, text)) = self.fix {
            found = found.fix(title, span, text);
        }
        report.push(found);
    }
}

/// Reports why a document is broken.
pub(super) fn explain(broken: &ParserStop<'_, '_>, report: &mut Report) {
    let slip = template(broken).or_else(|| spaceless_item(broken)).or_else(|| open_quote(broken)).or_else(|| bracket(broken));
    let slip = slip.unwrap_or_else(|| other(broken));
    slip.report(Code::YamlSyntax, report);
}

/// Reports `{{ … }}` without quotes that happens to be YAML: a mapping with a mapping as its key.
pub(super) fn unquoted_template(text: &str, span: Span, report: &mut Report) {
    template_at(text, span).report(Code::WrongType, report);
}

fn template_at(text: &str, span: Span) -> Slip {
    Slip::new(span, "a template needs quotes: YAML takes `{` for the beginning of a mapping").quote(text, span)
}

/// Reports keys of `{ … }` that YAML takes for a text, since no space follows their `:`, and reads them as intended: `{ to:start }`.
pub(super) fn spaceless_keys(text: &str, entries: &mut [YamlEntry<'_>], report: &mut Report) {
    for entry in entries.iter_mut().filter(|entry| entry.bare) {
        let (start, end) = (entry.span.start as usize, entry.span.end as usize);
        let Some(slip) = text[start..end].starts_with(|first| first != '-').then(|| missing_space(&text[start..end], start)).flatten()
        else {
            continue;
        };
        let colon = slip.span;
        slip.report(Code::YamlSyntax, report);
        let value = Cow::Owned(text[colon.end as usize..end].to_owned());
        entry.key = Cow::Owned(text[start..colon.start as usize].to_owned());
        entry.span = Span::new(start, colon.start as usize);
        entry.value = YamlNode { data: YamlData::Scalar(value, Style::Plain), span: Span::new(colon.end as usize, end) };
        entry.bare = false;
    }
}

/// Reports the parts of a text that an unquoted comma cut off, and drops them: `{ text: Yes, please }`.
pub(super) fn split_by_comma(text: &str, entries: &mut Vec<YamlEntry<'_>>, report: &mut Report) {
    if !entries.iter().any(|entry| entry.bare) {
        return;
    }
    let mut parts = vec![false; entries.len()];
    let mut at = 1;
    while at < entries.len() {
        let run = entries[at..].iter().take_while(|entry| entry.bare).count();
        let before = &entries[at - 1];
        let cut = matches!(&before.value.data, YamlData::Scalar(text, Style::Plain) if !text.is_empty());
        if run == 0 || !cut {
            at += 1;
            continue;
        }
        let whole = before.value.span.to(entries[at + run - 1].span);
        let message = format!("the comma ends the text of `{}`: inside `{{ … }}` it separates entries", shown(&before.key));
        Slip::new(whole, message).quote(text, whole).report(Code::WrongType, report);
        parts[at..at + run].fill(true);
        entries[at - 1].value.data = YamlData::Reported;
        at += run;
    }
    let mut part = parts.into_iter();
    entries.retain(|_| !part.next().unwrap_or_default());
}

/// A template without quotes on the line where the parser gave up, or on the one it came from.
fn template(broken: &ParserStop<'_, '_>) -> Option<Slip> {
    let text = broken.text;
    let from = line_start(text, broken.last.end.min(broken.at)).max(broken.range.start);
    let to = line_end(text, broken.at).min(broken.range.end);
    let lines = text.get(from..to)?;
    let (start, _) = ["{{", "{%", "{#"].iter().flat_map(|mark| lines.match_indices(mark)).find(|(at, _)| begins_a_value(&lines[..*at]))?;
    let line = line_end(lines, start);
    let rest = &lines[start..line];
    let in_flow = broken.outer.is_some_and(|open| open < from + start);
    let length = match rest.find("}}").or_else(|| rest.find("%}")) {
        Some(close) if in_flow => close + 2,
        _ => rest.split(" #").next().unwrap_or(rest).trim_end().len(),
    };
    Some(template_at(text, Span::new(from + start, from + start + length)))
}

/// Returns whether a value may begin after `before`.
fn begins_a_value(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let quotes = line.bytes().filter(|byte| matches!(byte, b'"' | b'\'')).count();
    let line = line.trim_end();
    quotes % 2 == 0 && (line.ends_with([':', '-', ',', '[']) || line.is_empty() || line.ends_with('{') && !line.ends_with("{{"))
}

/// Returns the slip of a list item whose `-` has no space, `-{ to: start }`: the parser continues with it as with a text.
fn spaceless_item(broken: &ParserStop<'_, '_>) -> Option<Slip> {
    let start = line_start(broken.text, broken.at);
    let line = broken.text[start..line_end(broken.text, broken.at)].trim_end();
    let item = line.trim_start_matches(' ');
    ["-{", "-["].iter().any(|mark| item.starts_with(mark)).then(|| missing_space(item, start + line.len() - item.len()))?
}

/// A quote that is never closed, or not where it should be.
fn open_quote(broken: &ParserStop<'_, '_>) -> Option<Slip> {
    use ErrorKind as Kind;
    let text = broken.text;
    let unclosed =
        matches!(broken.kind, Kind::UnclosedQuotedScalar | Kind::InvalidQuotedScalarIndent | Kind::DocumentIndicatorInQuotedScalar);
    let trailing = matches!(broken.kind, Kind::InvalidTrailingSingleQuotedScalar | Kind::InvalidTrailingDoubleQuotedScalar);
    if !unclosed && !trailing {
        return None;
    }
    let between = text.get(broken.last.end.max(broken.range.start)..broken.at.max(broken.last.end))?;
    let open = broken.last.end.max(broken.range.start) + between.find(['"', '\''])?;
    let quote = &text[open..=open];
    if trailing {
        let rest = Span::new(broken.at, line_end(text, broken.at).max(broken.at));
        // `{ text: "Tea" to: a }`.
        let is_inside = text[line_start(text, broken.at)..broken.at].contains(['{', '[']);
        // `{ "text": "Tea" "to": "a" }`, `["a" "b"]`.
        let is_apart = text[..broken.at].ends_with(char::is_whitespace) && text[broken.at..].starts_with(['"', '\'']);
        if is_apart
            && (is_inside || broken.open.is_some() || text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']))
            && let Some(slip) = comma_after(text, broken.at)
        {
            return Some(slip);
        }
        if let Some((key, _)) = text[rest.range()].split_once(':').filter(|(key, _)| is_inside && is_name(key)) {
            return Some(missing_comma(broken, Span::new(broken.at, broken.at + key.len())));
        }
        let help = match quote {
            "'" => "inside '…' a quote is written twice: ''",
            _ => "put the whole value into one pair of quotes, '…' if it holds \"",
        };
        let mut slip = Slip::new(rest, "there is text after the closing quote").help(help);
        if let Some((whole, singled)) = inner_quotes(text, open) {
            slip.help = Some("inside double quotes a template quotes with '…'".into());
            slip.fix = Some(("write the inner quotes as '…'", whole, singled));
        }
        return Some(slip);
    }
    let rest = text[open..line_end(text, open)].trim_end();
    Some(Slip::new(Span::new(open, open + rest.len()), format!("the quote {quote} is never closed")).help(format!("close it with {quote}")))
}

/// A bracket that is never closed, or one in the middle of unquoted text: `{ condition: a in [1, 2] }`.
fn bracket(broken: &ParserStop<'_, '_>) -> Option<Slip> {
    use ErrorKind as Kind;
    let (text, at) = (broken.text, broken.at);
    if let Kind::UnclosedFlowCollection { open } = broken.kind {
        return Some(Slip::new(Span::new(at, at + 1), format!("`{open}` is never closed")));
    }
    let open = broken.open?;
    let next = text[at..].chars().next();
    if let (Some(plain), Some('[' | '{' | '"' | '\'')) = (broken.last.plain, next)
        && matches!(broken.kind, Kind::ExpectedFlowMappingSeparator | Kind::ExpectedFlowSequenceSeparator)
    {
        let bracket = &text[at..=at];
        let whole = Span::new(plain.start as usize, closing(text, at));
        let message = match text[plain.range()].ends_with(" in") {
            true => "a condition with `[` needs quotes inside `{ … }`".to_owned(),
            false => format!("unquoted text ends at `{bracket}` inside `{{ … }}` and `[ … ]`"),
        };
        return Some(Slip::new(Span::new(at, at + 1), message).quote(text, whole));
    }
    if text.get(open..at).is_some_and(|between| between.contains('\n')) {
        if let Some(slip) = comma_above(text, at).filter(|_| is_closed(&text[..broken.range.end], open)) {
            return Some(slip);
        }
        let opened = text.get(open..=open).filter(|opened| matches!(*opened, "[" | "{"))?;
        let slip = Slip::new(Span::new(open, open + 1), format!("`{opened}` is never closed"));
        return Some(slip.help(format!("close it with `{}`", if opened == "{" { '}' } else { ']' })));
    }
    None
}

/// Returns the end of the text that a bracket at `at` cut off: after the matching bracket, or before the next separator of its line.
fn closing(text: &str, at: usize) -> usize {
    let line = &text[at..line_end(text, at)];
    let mut depth = 0_usize;
    for (offset, char) in line.char_indices() {
        match char {
            '[' | '{' => depth += 1,
            ']' | '}' if depth == 0 => return at + line[..offset].trim_end().len(),
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => return at + offset,
            _ => {}
        }
    }
    at + line.trim_end().len()
}

/// Returns the slip for all other cases, by the kind of the parser's error.
fn other(broken: &ParserStop<'_, '_>) -> Slip {
    use ErrorKind as Kind;
    let (text, at) = (broken.text, broken.at);
    let end = line_end(text, at);
    let one = Span::new(at, at + text[at..end].chars().next().map_or(0, char::len_utf8));
    let rest = Span::new(at, at + text[at..end].trim_end().len());
    match broken.kind {
        Kind::MappingValueNotAllowed | Kind::InvalidColonPlacement => match broken.last.plain {
            Some(plain) if text[plain.range()].contains('\n') => {
                let start = plain.start as usize;
                if text[line_start(text, start)..start].trim().is_empty() {
                    return no_key(text, start);
                }
                let line = line_start(text, plain.end as usize);
                let key = Span::new(at - text[line..at].trim_start().len(), at);
                Slip::new(key, "this line is indented deeper than the one above, so it continues that line's text")
                    .help("indent the key like the keys beside it")
                    .indented(text, Span::new(line, key.start as usize), start)
            }
            Some(plain) => {
                let whole = Span::new(plain.start as usize, at + text[at..end].split(" #").next().unwrap_or_default().trim_end().len());
                Slip::new(one, "unquoted text cannot hold `: `").quote(text, whole)
            }
            None => Slip::new(one, "there is no key before this `:`"),
        },
        Kind::SimpleKeyExpected | Kind::InvalidSimpleKey => no_key(text, at),
        Kind::ExpectedBlockMappingKey if text[line_start(text, at)..at].trim_end().ends_with([']', '}', '"', '\'']) => {
            Slip::new(rest, "the value ended before this").help("put the whole value in quotes")
        }
        Kind::ExpectedBlockMappingKey if text[at..].starts_with("- ") => {
            Slip::new(rest, "a list item stands where a key belongs").help("indent it below the key that holds the list")
        }
        Kind::ExpectedBlockMappingKey
        | Kind::ExpectedBlockSequenceEntry
        | Kind::InvalidIndentation
        | Kind::InvalidFlowScalarIndent
        | Kind::InvalidBlockScalarIndent => Slip::new(rest, "this line does not fit the indentation of those above")
            .help("keys of one mapping, and items of one list, begin in the same column"),
        Kind::BlockSequenceEntryNotAllowed if let Some(value) = value_before(text, at) => {
            Slip::new(rest, "the value ended before this").quote(text, Span::new(value, rest.end as usize))
        }
        Kind::BlockSequenceEntryNotAllowed => {
            Slip::new(rest, "a list cannot begin on the line of its key").help("begin it on the next line")
        }
        Kind::UnexpectedCharacter { character } => {
            let slip = Slip::new(one, format!("unquoted text cannot begin with `{character}`"));
            if broken.open.is_some() {
                slip.help("put it in quotes")
            } else {
                slip.quote(text, Span::new(at, at + text[at..end].split(" #").next().unwrap_or_default().trim_end().len()))
            }
        }
        Kind::TabNotAllowed
        | Kind::TabInBlockIndentation
        | Kind::TabInIndentation
        | Kind::TabAtBlockScalarStart
        | Kind::TabInPlainScalar => {
            let from = line_start(text, at);
            let tab = text[from..].find('\t').map_or(at, |tab| from + tab);
            Slip::new(Span::new(tab, tab + 1), "a tab cannot indent YAML").help("indent with spaces")
        }
        Kind::MisplacedFlowCollectionEnd => Slip::new(one, format!("`{}` closes nothing", &text[one.range()])),
        Kind::MismatchedFlowCollectionEnd { open, close } => Slip::new(one, format!("`{open}` is closed by `{close}`")),
        Kind::UnknownQuotedScalarEscape | Kind::InvalidQuotedScalarHexEscape | Kind::InvalidUnicodeEscape => {
            Slip::new(rest, "an escape in this text is unknown").help(r"in double quotes write `\\` for a backslash, or use single quotes")
        }
        Kind::MissingLowSurrogate | Kind::InvalidLowSurrogate | Kind::InvalidLowSurrogateHexEscape | Kind::UnpairedLowSurrogate => {
            Slip::new(rest, "half of a surrogate pair is no character").help(r"write both halves, or the character itself")
        }
        Kind::RecursionLimitExceeded => Slip::new(one, "lists and mappings nest too deep"),
        Kind::ExpectedFlowMappingSeparator | Kind::ExpectedFlowSequenceSeparator => missing_comma(broken, one),
        Kind::MissingAnchorOrAliasName => Slip::new(one, "unquoted text cannot begin with `*` or `&`").help("put it in quotes"),
        kind => Slip::new(rest, format!("no YAML: {}", kind.to_string().trim_end_matches('.'))),
    }
}

/// Returns the beginning of the value that stands between a key, or the `-` of an item, and `at` on the same line: `x: [a] - b`, `- [a] - b`.
fn value_before(text: &str, at: usize) -> Option<usize> {
    let start = line_start(text, at);
    let before = &text[start..at];
    let item = before.trim_start_matches(['-', ' ']);
    let value = match item.split_once(": ") {
        Some((key, value)) if is_name(key) => value,
        _ if item.len() < before.trim_start().len() => item,
        _ => return None,
    };
    (!value.trim().is_empty()).then(|| at - value.trim_start().len())
}

/// Two entries of `{ … }` or `[ … ]` with no comma between them.
fn missing_comma(broken: &ParserStop<'_, '_>, at: Span) -> Slip {
    let (text, begin) = (broken.text, at.start as usize);
    if let Some(slip) = comma_above(text, begin) {
        return slip;
    }
    if !text[begin..].starts_with(':') {
        return Slip::new(at, "a comma is missing before this").help(COMMAS);
    }
    // `{ condition: n > 3 to: a }`: YAML takes all up to the second `:` for one text.
    let before = text[..begin].trim_end();
    let word = before.rsplit(|char: char| char.is_whitespace() || matches!(char, ',' | '{' | '[' | ':')).next().unwrap_or_default();
    let is_key = broken.last.plain.is_some_and(|plain| (plain.start as usize) < before.len() - word.len()) && is_name(word);
    let next = if is_key { format!("`{word}`") } else { "the next key".into() };
    Slip::new(at, "a second `:` in one entry").help(format!("a comma is missing before {next}, or the text needs quotes"))
}

const COMMAS: &str = "inside `{ … }` and `[ … ]` commas separate entries";

/// Returns the slip of a missing comma at the end of a line above the entry that begins at `at`, or whose key ends there.
fn comma_above(text: &str, at: usize) -> Option<Slip> {
    // `{"a": 1 "b": 2}`: the key stands before the colon.
    let key = || text[..at].trim_end().strip_suffix('"').and_then(|before| before.rfind('"'));
    let next = if text[at..].starts_with(':') { key()? } else { at };
    let value = text[..next].trim_end();
    text[value.len()..next].contains('\n').then(|| comma_after(text, next)).flatten()
}

/// Returns the slip of a missing comma between the entry that begins at `next` and the one before it.
fn comma_after(text: &str, next: usize) -> Option<Slip> {
    let value = text[..next].trim_end();
    let last = value.chars().next_back().filter(|last| !matches!(last, ',' | '{' | '[' | ':'))?;
    let slip = Slip::new(Span::new(value.len() - last.len_utf8(), value.len()), "a comma is missing after this").help(COMMAS);
    Some(Slip { fix: Some(("add the comma", Span::at(value.len()), ",".to_owned())), ..slip })
}

/// Returns whether the bracket at `open` is closed, as far as brackets outside of double quotes show.
fn is_closed(text: &str, open: usize) -> bool {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for char in text[open..].chars() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 1 => return true,
            // Of what is no bracket itself, a part may begin with a closing one.
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// A line that should be `key: value` and is not.
fn no_key(text: &str, at: usize) -> Slip {
    let line = text[at..line_end(text, at)].trim_end();
    let span = Span::new(at, at + line.len());
    if let Some(slip) = missing_space(line, at) {
        return slip;
    }
    Slip::new(span, "this line is no `key: value`").help("a key is followed by `: ` and its value")
}

/// `to:start` or `-start`, which YAML takes for a text.
pub(super) fn missing_space(line: &str, at: usize) -> Option<Slip> {
    let (mark, offset) = match line.split_once(':') {
        Some((key, value)) if is_name(key) && !value.is_empty() && !value.starts_with([' ', ':', '/']) => (':', key.len()),
        _ if line.starts_with('-') && !line.starts_with("--") && !line.starts_with("- ") && line.len() > 1 => ('-', 0),
        _ => return None,
    };
    let span = Span::new(at + offset, at + offset + 1);
    let mut slip = Slip::new(span, format!("a space is missing after `{mark}`"));
    slip.fix = Some(("add the space", span, format!("{mark} ")));
    Some(slip)
}

/// `text` as a YAML scalar in quotes.
pub(super) fn quoted(text: &str) -> String {
    if !text.contains(['"', '\\', '\n']) {
        format!("\"{text}\"")
    } else if !text.contains(['\'', '\n']) {
        format!("'{text}'")
    } else {
        format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', " "))
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |before| before + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}

#[cfg(test)]
mod tests;
