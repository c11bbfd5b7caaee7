//! `{{secret:name}}`: found in the author's text before any dialect sees it (language 3.6).
//!
//! **Invariant:** only the author's own text is searched, so nothing that a person or tool supplied can become a secret.

use std::ops::Range;

use memchr::memchr;
use minijinja::machinery::{Token, tokenize};

use super::{Dialect, delimiters::syntax};

/// One use of a secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedSecret {
    /// The bytes from `{{` to `}}`.
    pub(super) place: Range<usize>,
    /// The bytes of the name.
    pub(super) name: Range<usize>,
}

/// Returns every use in `text`, in order; text in comments and `raw` blocks of a jinja template is none.
pub(super) fn find(text: &str, dialect: Dialect) -> Vec<UsedSecret> {
    let mut found: Vec<_> = openings(text).filter_map(|start| at(text, start)).collect();
    if dialect == Dialect::Jinja && !found.is_empty() {
        let tags = tags(text);
        found.retain(|found| tags.iter().any(|tag| tag.contains(&found.place.start)));
    }
    found
}

/// Returns the begin of each `{{`, from left to right.
fn openings(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + memchr(b'{', &bytes[from..])?;
            let is_double = bytes.get(at + 1) == Some(&b'{');
            from = at + 1 + usize::from(is_double);
            if is_double {
                return Some(at);
            }
        }
    })
}

/// The bytes of every tag; an unreadable part counts as one, so that no secret is missed.
fn tags(text: &str) -> Vec<Range<usize>> {
    let mut tags = Vec::new();
    let mut open = None;
    for token in tokenize(text, false, syntax()) {
        match token {
            Ok((Token::VariableStart | Token::BlockStart, span)) => open = Some(span.start_offset as usize),
            Ok((Token::VariableEnd | Token::BlockEnd, span)) => tags.extend(open.take().map(|start| start..span.end_offset as usize)),
            Ok(_) => {}
            Err(error) => {
                let start = open.or(error.range().map(|range| range.start)).unwrap_or_default();
                tags.push(start..text.len());
                return tags;
            }
        }
    }
    tags.extend(open.map(|start| start..text.len()));
    tags
}

fn at(text: &str, start: usize) -> Option<UsedSecret> {
    let rest = text[start + 2..].trim_start();
    let rest = rest.strip_prefix("secret:")?;
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(byte)).count();
    let after = rest[length..].trim_start().strip_prefix("}}")?;
    let name = text.len() - rest.len();
    (length > 0).then(|| UsedSecret { place: start..text.len() - after.len(), name: name..name + length })
}

/// The letter that replaces `t:` in a masked text; it has the same number of bytes.
const SEAL: char = 'ǃ';

/// `text` with each secret as a variable of the same length that no author can mean, for the dialects that parse it.
pub(super) fn mask(text: &str, found: &[UsedSecret]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for secret in found {
        let start = secret.name.start - "secret:".len();
        masked.push_str(&text[from..start]);
        masked.push_str("secre");
        masked.push(SEAL);
        masked.extend(text[secret.name.clone()].chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }));
        from = secret.name.end;
    }
    masked.push_str(&text[from..]);
    masked
}

/// Returns whether a variable is a masked secret.
pub(super) fn is_masked(name: &str) -> bool {
    name.strip_prefix("secre").is_some_and(|rest| rest.starts_with(SEAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        let text = "Bearer {{secret:api/key}} and {{ secret:b }}{{secret:}}{{ secret }}";
        let names: Vec<_> = find(text, Dialect::Jinja).into_iter().map(|found| (&text[found.place], &text[found.name])).collect();
        assert_eq!(names, [("{{secret:api/key}}", "api/key"), ("{{ secret:b }}", "b")]);
        let masked = mask(text, &find(text, Dialect::Jinja));
        assert_eq!(masked, "Bearer {{secreǃapi_key}} and {{ secreǃb }}{{secret:}}{{ secret }}");
        assert_eq!(masked.len(), text.len());
        assert_eq!(find("{% raw %}{{secret:a}}{% endraw %}{# {{secret:a}} #}", Dialect::Jinja), []);
        assert_eq!(find("{{ ' {{secret:a}}", Dialect::Jinja).len(), 1);
    }
}
