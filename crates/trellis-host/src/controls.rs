//! Characters that turn or rewrite the text around them where a person reads it: bidirectional controls, and the control characters U+0080 to U+009F,
//! which some terminals obey.
//!
//! Texts of people and tools may contain them. All output shows their presence, and obeys none of them.

use std::borrow::Cow;

/// Returns whether this is U+0080 to U+009F, or one of U+202A to U+202E and U+2066 to U+2069.
pub fn is_steering(char: char) -> bool {
    matches!(char, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text with such characters as `\u202e`. In JSON this is the same text: they occur in strings only.
///
/// ```
/// assert_eq!(trellis_host::controls::escaped("\"a\u{202e}b\""), "\"a\\u202eb\"");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_steering(char) {
            out += &format!("\\u{:04x}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}
