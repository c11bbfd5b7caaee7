//! Forms in which a secret comes back from the world: verbatim, as JSON writes it, percent-encoded, in Base64.
//!
//! A form in Base64 is the part that depends on the secret alone: the text before it shifts it by nought to two bytes, and the letters that it shares
//! with its neighbours hold at most four of its bits.

use std::fmt::Write as _;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use trellis_core::Value;
use zeroize::Zeroizing;

type Form = Zeroizing<Vec<u8>>;

/// Characters that encoders leave unchanged, beside letters, digits and `-._~`: those of RFC 3986, of `encodeURIComponent`, of paths, of `encodeURI`.
const LEFT_PLAIN: [&str; 4] = ["", "!'()*", "!'()*:@&=+$,;", "!'()*:@&=+$,;/?#"];

/// Every form of a secret, some of them more than once.
pub(super) fn of_secret(secret: &str) -> Vec<Form> {
    let mut forms = of_text(secret);
    for escaped in [ascii(secret, ""), ascii(secret, "<>&"), html_safe(secret)] {
        forms.push(with_slashes(&escaped));
        forms.push(into_form(escaped));
    }
    forms.push(with_slashes(&escaped(secret)));
    for plain in LEFT_PLAIN {
        forms.extend([true, false].map(|is_upper| percent_encoded(secret, plain, "%20", is_upper)));
    }
    forms.extend(["", "*"].map(|plain| percent_encoded(secret, plain, "+", true)));
    base64(secret.as_bytes(), &mut forms);
    forms
}

/// Returns a text verbatim, and as JSON writes it.
pub(super) fn of_text(text: &str) -> Vec<Form> {
    vec![into_form(text.to_owned()), into_form(escaped(text))]
}

fn into_form(text: String) -> Form {
    Zeroizing::new(text.into_bytes())
}

/// Returns a text as JSON writes it.
fn escaped(text: &str) -> String {
    let json = Zeroizing::new(Value::text(text).to_json());
    json[1..json.len() - 1].to_owned()
}

/// Returns the text by an encoder that writes `<`, `>` and `&` as numbers.
fn html_safe(text: &str) -> String {
    let is_number = |char: char| "<>&\u{2028}\u{2029}".contains(char);
    numbered(&escaped(text), is_number)
}

/// Returns the text by an encoder that writes ASCII only, and these characters as numbers.
fn ascii(text: &str, more: &str) -> String {
    numbered(&escaped(text), |char| !char.is_ascii() || char == '\u{7f}' || more.contains(char))
}

fn numbered(json: &str, is_number: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if is_number(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(char);
        }
    }
    out
}

/// Returns the text by an encoder that writes `\/` for `/`.
fn with_slashes(json: &str) -> Form {
    into_form(json.replace('/', "\\/"))
}

fn percent_encoded(text: &str, plain: &str, space: &str, is_upper: bool) -> Form {
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b' ' => out.push_str(space),
            _ if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || plain.as_bytes().contains(&byte) => out.push(char::from(byte)),
            _ if is_upper => drop(write!(out, "%{byte:02X}")),
            _ => drop(write!(out, "%{byte:02x}")),
        }
    }
    into_form(out)
}

/// The secret inside of a longer text in Base64, and at its end, with `=` and without.
fn base64(secret: &[u8], forms: &mut Vec<Form>) {
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3_usize {
            let bytes = Zeroizing::new([&[0; 2][..before], secret].concat());
            let text = Zeroizing::new(engine.encode(&*bytes).into_bytes());
            let begin = (before * 8).div_ceil(6);
            let whole = bytes.len() * 8 / 6;
            let unpadded = (bytes.len() * 8).div_ceil(6);
            forms.extend([whole, unpadded, text.len()].map(|end| Zeroizing::new(text[begin..end].to_vec())));
        }
    }
}
