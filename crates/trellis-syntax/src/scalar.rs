//! The meaning of an unquoted YAML scalar (YAML 1.2 core schema: `no`, `y` and `on` are text), and the places of the bytes of a scalar in the file.

use trellis_base::{
    span::{SourceMap, Span},
    value::Value,
};

/// The style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`; the span leaves the quotes out.
    Single,
    /// `"…"`; the span leaves the quotes out.
    Double,
    /// `|`.
    Literal,
    /// `>`.
    Folded,
}

/// The value of an unquoted scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text,
    /// An integer beyond 64 bits, or a decimal beyond a double: would be rounded silently.
    TooLarge,
    /// `.inf` and `.nan`, which JSON does not have.
    NotFinite,
}

impl Plain {
    /// Resolves an unquoted scalar.
    pub(super) fn of(text: &str) -> Self {
        match text.as_bytes().first() {
            None => Self::Null,
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => Self::number(text),
            Some(b'~' | b'n' | b'N') if Self::is_null(text) => Self::Null,
            Some(b't' | b'T') if matches!(text, "true" | "True" | "TRUE") => Self::Bool(true),
            Some(b'f' | b'F') if matches!(text, "false" | "False" | "FALSE") => Self::Bool(false),
            Some(_) => Self::Text,
        }
    }

    /// Returns whether `text` is empty, or one of the words for null.
    pub(super) fn is_null(text: &str) -> bool {
        matches!(text, "" | "~" | "null" | "Null" | "NULL")
    }

    fn number(text: &str) -> Self {
        for (prefix, radix) in [("0o", 8), ("0x", 16)] {
            if let Some(digits) = text.strip_prefix(prefix)
                && !digits.is_empty()
                && digits.chars().all(|digit| digit.is_digit(radix))
            {
                return u64::from_str_radix(digits, radix).map_or(Self::TooLarge, Self::unsigned);
            }
        }
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return match (text.parse(), digits.parse()) {
                (Ok(number), _) => Self::Int(number),
                (_, Ok(number)) if !text.starts_with('-') => Self::UInt(number),
                _ => Self::TooLarge,
            };
        }
        if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
            return Self::NotFinite;
        }
        if !is_decimal(digits) {
            return Self::Text;
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Float(number),
            _ => Self::TooLarge,
        }
    }

    fn unsigned(number: u64) -> Self {
        i64::try_from(number).map_or(Self::UInt(number), Self::Int)
    }

    /// The value, unless it is text or no JSON number.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Null => Some(Value::Null),
            Self::Bool(truth) => Some(Value::Bool(truth)),
            Self::Int(number) => Some(Value::Int(number)),
            Self::UInt(number) => Some(Value::UInt(number)),
            Self::Float(number) => Some(Value::Float(number)),
            Self::Text | Self::TooLarge | Self::NotFinite => None,
        }
    }

    /// Returns its name in messages, with its article.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) => "an integer",
            Self::Float(_) => "a decimal",
            Self::Text => "a text",
            Self::TooLarge | Self::NotFinite => "a number out of range",
        }
    }
}

/// `1.5`, `.5`, `1.`, `1e3`, without sign.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    exponent && digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// Maps the bytes of the scalar `decoded`, written at `span` of `text`, to the file.
pub(super) fn source_map(text: &str, decoded: &str, span: Span, style: Style) -> SourceMap {
    let written = &text[span.range()];
    match style {
        Style::Literal => pieces(text, decoded, span).map_or(SourceMap::Whole(span), SourceMap::Pieces),
        _ if written == decoded => SourceMap::Slice(span.start),
        _ => aligned(text, decoded, span, style).map_or(SourceMap::Whole(span), SourceMap::Pieces),
    }
}

/// The pieces of a scalar whose lines were folded, or that has escapes: both texts are compared from begin to end. `None` if they differ.
fn aligned(text: &str, decoded: &str, span: Span, style: Style) -> Option<Vec<(u32, u32)>> {
    let is_block = style == Style::Folded;
    let written = if is_block { text.get(span.start as usize..)? } else { &text[span.range()] };
    let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len();
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    let (mut at, mut of) = (0, 0);
    while of < decoded.len() {
        let (rest, wanted) = (&written[at..], &decoded[of..]);
        pieces.push((u32::try_from(of).ok()?, u32::try_from(span.start as usize + at).ok()?));
        let blank = blanks(rest);
        if rest[..blank].contains('\n') || (is_block && at == 0 && blank > 0) {
            // A line break with the blanks around it is a blank, or some line breaks.
            (at, of) = (at + blank, of + blanks(wanted));
            continue;
        }
        let escape = match style {
            Style::Double if rest.starts_with('\\') => Some(escape(rest)?),
            Style::Single if rest.starts_with("\'\'") => Some((2, true)),
            _ => None,
        };
        if let Some((length, is_char)) = escape {
            (at, of) = (at + length, of + if is_char { wanted.chars().next()?.len_utf8() } else { 0 });
            continue;
        }
        let same =
            rest.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b && !matches!(a, b'\\' | b'\'' | b' ' | b'\t' | b'\n')).count();
        let next = rest.chars().next().filter(|char| wanted.starts_with(*char))?;
        let step = if rest.is_char_boundary(same) && same > 0 { same } else { next.len_utf8() };
        (at, of) = (at + step, of + step);
    }
    pieces.dedup_by(|next, last| next.1.checked_sub(last.1) == next.0.checked_sub(last.0));
    Some(pieces)
}

/// Returns the length of an escape, and whether it represents a character: an escaped line break represents none.
fn escape(text: &str) -> Option<(usize, bool)> {
    let mut chars = text.chars();
    chars.next();
    Some(match chars.next()? {
        'x' => (4, true),
        'u' => (6, true),
        'U' => (10, true),
        '\r' | '\n' => {
            let blank = text[1..].len() - text[1..].trim_start_matches([' ', '\t', '\r', '\n']).len();
            (1 + blank, false)
        }
        other => (1 + other.len_utf8(), true),
    })
    .filter(|(length, _)| text.is_char_boundary(*length))
}

/// The lines of a literal block scalar: each decoded line is its line of the file without the indentation.
/// `span` begins at the first line that is not blank; blank lines before it are decoded as line breaks.
fn pieces(text: &str, decoded: &str, span: Span) -> Option<Vec<(u32, u32)>> {
    let body = decoded.trim_start_matches('\n');
    let mut at = decoded.len() - body.len();
    let mut pieces = Vec::new();
    if at > 0 {
        pieces.push((0, span.start));
    }
    let mut file = span.start as usize;
    for line in body.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        // Lines of blanks behind the last content need no place of their own.
        let rest = text.get(file..)?;
        let length = rest.find('\n').unwrap_or(rest.len());
        let written = rest[..length].trim_end_matches('\r');
        if !written.ends_with(content) {
            return None;
        }
        let start = file + written.len() - content.len();
        pieces.push((u32::try_from(at).ok()?, u32::try_from(start).ok()?));
        at += line.len();
        file = (file + length + 1).min(text.len());
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_scalars_resolve_by_the_core_schema() {
        for (text, plain) in [
            ("", Plain::Null),
            ("~", Plain::Null),
            ("null", Plain::Null),
            ("nul", Plain::Text),
            ("no", Plain::Text),
            ("y", Plain::Text),
            ("on", Plain::Text),
            ("True", Plain::Bool(true)),
            ("false", Plain::Bool(false)),
            ("12", Plain::Int(12)),
            ("-0", Plain::Int(0)),
            ("+7", Plain::Int(7)),
            ("0x1F", Plain::Int(31)),
            ("0o17", Plain::Int(15)),
            ("1_000", Plain::Text),
            ("18446744073709551615", Plain::UInt(u64::MAX)),
            ("18446744073709551616", Plain::TooLarge),
            ("-9223372036854775809", Plain::TooLarge),
            ("1.5", Plain::Float(1.5)),
            (".5", Plain::Float(0.5)),
            ("1e3", Plain::Float(1000.0)),
            ("1e999", Plain::TooLarge),
            (".inf", Plain::NotFinite),
            (".nan", Plain::NotFinite),
            ("1.2.3", Plain::Text),
            ("-", Plain::Text),
            (".", Plain::Text),
            ("1e", Plain::Text),
            ("10:30", Plain::Text),
            ("2026-11-20", Plain::Text),
        ] {
            assert_eq!(Plain::of(text), plain, "{text}");
        }
    }
}
