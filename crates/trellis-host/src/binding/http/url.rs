//! URLs with holes (language 9.11): an author's text fixes scheme, host and port, and each value stays within its segment.

use std::{fmt, sync::Arc};

use trellis_core::{
    ToolError, Value,
    span::Span,
    template::{Template, TemplatePiece},
};

use super::super::{kind::Obstacle, variable::TextOrVariable};
use crate::http::HttpRequest;

/// A URL as it is written: absolute, or from `/` on.
pub(super) enum UrlTemplate {
    /// It has no holes.
    Fixed(String),
    /// It is rendered in pieces.
    Pieces(Template),
}

/// A piece of a URL for one call.
pub(super) enum FilledPiece {
    /// The author's own.
    Text(String),
    /// A value, to be encoded.
    Value(Value),
}

/// A mistake in a URL: its place if it is a hole, the message, and help.
pub(super) type UrlMistake = (Option<Span>, String, &'static str);

impl UrlTemplate {
    /// Returns whether it begins with `/`, and is appended to a base.
    pub(super) fn is_relative(&self) -> bool {
        match self {
            Self::Fixed(text) => text.starts_with('/'),
            Self::Pieces(template) => template.text().starts_with('/'),
        }
    }

    /// Scheme, host and port of an absolute URL, with a slash behind them.
    pub(super) fn origin(&self) -> Option<String> {
        let text = match self {
            Self::Fixed(text) => text,
            Self::Pieces(template) => template.text(),
        };
        let (scheme, rest) = text.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Some(format!("{scheme}://{}/", &rest[..end]))
    }

    /// Returns its mistake, if it has one before values are filled in.
    pub(super) fn mistake(&self) -> Option<UrlMistake> {
        let pieces = match self {
            Self::Fixed(text) => vec![TemplatePiece::Text(text)],
            Self::Pieces(template) => template.pieces(),
        };
        let first = match pieces.first() {
            Some(TemplatePiece::Text(text)) => *text,
            _ => "",
        };
        let filled_after = |at: usize| match pieces.get(at) {
            Some(TemplatePiece::Hole(span)) => Some(*span),
            _ => None,
        };
        let host = "a host is never filled in: write it out, or set `base: { env: … }`";
        if !first.starts_with('/') {
            let Some(rest) = first.strip_prefix("https://").or_else(|| first.strip_prefix("http://")) else {
                let at = usize::from(!first.is_empty());
                return Some(match filled_after(at) {
                    Some(span) => (Some(span), "a hole stands where the host of the URL begins".to_owned(), host),
                    None => {
                        (None, "the URL begins with neither `/` nor `https://`".to_owned(), "write `/path` and a `base`, or the whole URL")
                    }
                });
            };
            if !rest.contains('/') && pieces.len() > 1 {
                return Some((filled_after(1), "a hole stands before the first `/` after the host".to_owned(), host));
            }
            if let Some(Err(error)) = self.origin().map(|origin| HttpRequest::new("GET", &origin)) {
                return Some((None, error.message, "write `https://host/path`"));
            }
        }
        let mut in_fragment = false;
        for piece in &pieces {
            match piece {
                TemplatePiece::Text(text) => {
                    if let Some(odd) = text.chars().find(|char| char.is_control() || *char == ' ' || *char == '\\') {
                        return Some((None, format!("{odd:?} may not stand in a URL"), "encode it, such as `%20` for a space"));
                    }
                    in_fragment |= text.contains('#');
                }
                TemplatePiece::Hole(_) | TemplatePiece::Secret(_) if in_fragment => {
                    let span = if let TemplatePiece::Hole(span) = piece { Some(*span) } else { None };
                    return Some((span, "a hole stands after `#`, which is never sent".to_owned(), "leave the fragment out"));
                }
                TemplatePiece::Hole(_) | TemplatePiece::Secret(_) => {}
            }
        }
        None
    }
}

/// Assembles a URL. A filled segment is neither empty nor `.` nor `..`, in any spelling.
///
/// # Errors
/// `url`.
pub(super) fn filled(base: Option<&str>, pieces: &[FilledPiece]) -> Result<String, ToolError> {
    let mut url = base.unwrap_or_default().trim_end_matches('/').to_owned();
    let (mut segment, mut is_filled, mut in_path) = (url.len(), false, true);
    'pieces: for piece in pieces {
        match piece {
            FilledPiece::Text(text) => {
                for char in text.chars() {
                    if in_path && matches!(char, '/' | '?' | '#') {
                        check_segment(&url[segment..], is_filled)?;
                        (segment, is_filled, in_path) = (url.len() + 1, false, char == '/');
                    }
                    if char == '#' {
                        break 'pieces;
                    }
                    url.push(char);
                }
            }
            FilledPiece::Value(value) => {
                let text =
                    plain(value).ok_or_else(|| ToolError::coded("url", "a list or mapping may not be filled into a URL").finally())?;
                url.push_str(&encoded(&text));
                is_filled = true;
            }
        }
    }
    if in_path {
        check_segment(&url[segment.min(url.len())..], is_filled)?;
    }
    Ok(url)
}

fn check_segment(segment: &str, is_filled: bool) -> Result<(), ToolError> {
    if is_filled && matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "" | "." | "..") {
        return Err(
            ToolError::coded("url", format!("a filled segment of the URL is {segment:?}: it may not be empty, `.` or `..`")).finally()
        );
    }
    Ok(())
}

/// Pairs of names and values, percent-encoded: null leaves a pair out, a list repeats it.
///
/// # Errors
/// `url`: a value is a mapping, or a list in a list.
pub(super) fn pairs(of: &[(Arc<str>, Value)]) -> Result<String, ToolError> {
    let mut text = String::new();
    let mut push = |key: &str, value: &Value| {
        if matches!(value, Value::Null) {
            return Ok(());
        }
        let value =
            plain(value).ok_or_else(|| ToolError::coded("url", format!("`{key}` takes a text, a number or a list of them")).finally())?;
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&encoded(key));
        text.push('=');
        text.push_str(&encoded(&value));
        Ok::<(), ToolError>(())
    };
    for (key, value) in of {
        match value {
            Value::List(items) => items.iter().try_for_each(|item| push(key, item))?,
            value => push(key, value)?,
        }
    }
    Ok(text)
}

/// A value in the words of a URL or a header; `None` for lists and mappings. Null is the empty text.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::List(_) | Value::Map(_) => None,
        Value::Text(text) => Some(text.to_string()),
        other => Some(other.to_json()),
    }
}

/// Encodes everything but the unreserved characters of RFC 3986.
fn encoded(text: &str) -> String {
    use fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The beginning of URLs now.
///
/// # Errors
/// `url`: its variable is not set and has no default, or holds no URL.
pub(super) fn base_now(base: &TextOrVariable) -> Result<String, ToolError> {
    if let Some((env, why)) = base.in_environment().and_then(|(env, url)| Some((env, no_base(&url)?))) {
        return Err(ToolError::coded("url", format!("`{env}` is no base of URLs: {why}")).finally());
    }
    base.value().map_err(|env| ToolError::coded("url", format!("the variable `{env}` is not set")).finally())
}

/// Returns the reason why the beginning of URLs is missing now.
pub(super) fn base_obstacle(base: &TextOrVariable) -> Option<Obstacle> {
    let error = base_now(base).err()?;
    let TextOrVariable::Variable { env, .. } = base else { return None };
    Some(Obstacle::new("http.base.env", error.message).help(format!("set `{env}` to a URL, or give it a `default`")))
}

/// Returns the reason why a text cannot be the beginning of URLs.
pub(super) fn no_base(text: &str) -> Option<String> {
    match HttpRequest::new("GET", text) {
        Err(error) => Some(error.message),
        Ok(_) if text.contains(['?', '#']) => Some("it has a query or a fragment".to_owned()),
        Ok(_) if text.contains(['\\', ' ']) || text.chars().any(char::is_control) => Some("it has a character that no URL has".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(pieces: &[(&str, bool)]) -> Result<String, ToolError> {
        let piece = |(text, is_value): &(&str, bool)| match is_value {
            true => FilledPiece::Value(Value::text(*text)),
            false => FilledPiece::Text((*text).to_owned()),
        };
        filled(Some("https://h/v1/"), &pieces.iter().map(piece).collect::<Vec<_>>())
    }

    // language 9.11
    #[test]
    fn what_is_filled_in_stays_within_its_segment() {
        assert_eq!(url(&[("/people/", false), ("a/b%2e?#\\ é", true)]).unwrap(), "https://h/v1/people/a%2Fb%252e%3F%23%5C%20%C3%A9");
        assert_eq!(
            url(&[("/", false), ("a\r\nx: y\0", true), ("?q=", false), ("..", true)]).unwrap(),
            "https://h/v1/a%0D%0Ax%3A%20y%00?q=.."
        );
        assert_eq!(url(&[("/..x", false), ("", true)]).unwrap(), "https://h/v1/..x");
        assert_eq!(url(&[("/a?b#c", false)]).unwrap(), "https://h/v1/a?b");
        for segment in
            [&[("..", true)][..], &[(".", true), (".", true)], &[("", true)], &[(".", false), (".", true)], &[("%2E", false), (".", true)]]
        {
            for behind in ["", "/x", "?x", "#x"] {
                let pieces: Vec<_> = [("/p/", false)].iter().chain(segment).chain(&[(behind, false)]).copied().collect();
                let error = url(&pieces).unwrap_err();
                assert!(error.is_final && error.code == Some(Value::text("url")), "{pieces:?}: {error:?}");
            }
        }
        assert!(filled(None, &[FilledPiece::Value(Value::list([]))]).is_err());
    }

    // language 9.11
    #[test]
    fn null_leaves_a_pair_out_and_a_list_repeats_it() {
        let query = |entries: &[(&str, &str)]| {
            let entries = entries.iter().map(|(name, json)| (Arc::from(*name), Value::from_json(json).unwrap()));
            pairs(&entries.collect::<Vec<_>>())
        };
        let entries = [("d", "\"\""), ("a", r#"[1,"x y",null]"#), ("b", "null"), ("c&", "true")];
        assert_eq!(query(&entries).unwrap(), "d=&a=1&a=x%20y&c%26=true");
        assert!(query(&[("a", r#"{"b":1}"#)]).is_err() && query(&[("a", "[[1]]")]).is_err());
    }
}
