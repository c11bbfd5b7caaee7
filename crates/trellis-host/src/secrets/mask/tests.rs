//! Masks over streams in pieces, over every form of a secret, and over values.

use std::sync::Arc;

use trellis_core::Value;

use super::*;

/// Returns a masked stream that came in pieces.
fn masked(mask: &Mask, pieces: &[&[u8]], end: StreamEnd) -> String {
    let (mut masker, mut out) = (Masker::new(mask.clone()), Vec::new());
    for piece in pieces {
        masker.push(piece, &mut |part| out.extend_from_slice(part));
    }
    masker.finish(end, &mut |part| out.extend_from_slice(part));
    String::from_utf8(out).unwrap()
}

fn mask(texts: &[&str]) -> Mask {
    Mask::default().and_texts(texts.iter().map(|text| (*text).to_owned()))
}

#[test]
fn pieces_of_any_length_come_to_the_same() {
    let mask = mask(&["hunter2", "hunter2-and-more", "r2d2", "line\nbreak", "aaaa", "né\"e"]);
    for (text, expected) in [
        ("401 for hunter2!", "401 for ***!"),
        ("hunter2-and-mor hunter2-and-more", "***-and-mor ***"),
        ("hunter2d2", "***"),
        ("aaaaaaa aaa", "*** aaa"),
        ("hunterhunter2", "hunter***"),
        ("line\nbreak, line\\nbreak", "***, ***"),
        ("born né\"e or né\\\"e", "born *** or ***"),
        ("hunter2hunter2", "******"),
        ("", ""),
    ] {
        for size in 1..=text.len().max(1) {
            let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
            assert_eq!(masked(&mask, &pieces, StreamEnd::Whole), expected, "{text:?} by {size}");
        }
        assert_eq!(mask.text(text), expected);
    }
}

#[test]
fn nothing_is_held_back_that_cannot_be_the_beginning_of_a_secret() {
    let (mut masker, mut out) = (Masker::new(mask(&["hunter2"])), Vec::new());
    masker.push(b"50% of hun", &mut |part| out.extend_from_slice(part));
    assert_eq!(out, b"50% of ");
}

#[test]
fn a_stream_that_was_cut_inside_of_a_secret_shows_less_than_four_bytes_of_it() {
    let mask = mask(&["hunter2"]);
    assert_eq!(masked(&mask, &[b"x hunte"], StreamEnd::Cut), "x ***");
    assert_eq!(masked(&mask, &[b"x hun"], StreamEnd::Cut), "x hun");
    assert_eq!(masked(&mask, &[b"x hunte"], StreamEnd::Whole), "x hunte");
}

#[test]
fn what_is_shorter_than_four_bytes_is_not_masked() {
    assert_eq!(mask(&["", "a", "abc"]).text("abc abc a"), "abc abc a");
}

const SECRETS: [&str; 7] = ["r2d2", "hunter2", "a b/c?d=e&f+g", "né\"e\\ \n\t", "-----BEGIN KEY-----\nab/+==\n", "日本語🦀", "<a>&'b'"];

/// Every form, as the encoders of the world write it; independent of how the forms are computed.
fn written(secret: &str) -> Vec<String> {
    use base64::{Engine as _, engine::general_purpose as b64};
    let mut all = vec![secret.to_owned(), serde_json::to_string(secret).unwrap()];
    let hex = |upper: bool| -> String {
        let encode = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        secret.bytes().map(encode).collect()
    };
    all.extend([hex(true), hex(false), hex(true).replace("%20", "+")]);
    let json = serde_json::to_string(secret).unwrap();
    all.push(
        json.encode_utf16().map(|unit| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") }).collect(),
    );
    all.push(json.replace('/', "\\/"));
    all.push(json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"));
    for before in ["", "u", "us", "user:", "a:"] {
        for after in ["", "@", "@@", "@@@"] {
            let text = format!("{before}{secret}{after}");
            all.extend([b64::STANDARD.encode(&text), b64::STANDARD_NO_PAD.encode(&text)]);
            all.extend([b64::URL_SAFE.encode(&text), b64::URL_SAFE_NO_PAD.encode(&text)]);
        }
    }
    all
}

// language 9.9
#[test]
fn each_form_is_masked_wherever_a_stream_is_cut() {
    for secret in SECRETS {
        let mask = Mask::of_secrets([secret]);
        for form in written(secret) {
            let text = format!("it is {form}, so {form}.");
            let whole = mask.text(&text).into_owned();
            assert_eq!(whole.matches("***").count(), 2, "{form:?} of {secret:?}: {whole:?}");
            // Of Base64, letters that belong to the neighbours stay.
            assert!(whole.len() <= "it is ***, so ***.".len() + 2 * 14, "{form:?} of {secret:?}: {whole:?}");
            let bytes = text.as_bytes();
            for at in 0..=bytes.len() {
                let (one, other) = bytes.split_at(at);
                assert_eq!(masked(&mask, &[one, other], StreamEnd::Whole), whole, "{form:?} cut at {at}");
            }
            for size in [1, 2, 3, 5] {
                let pieces: Vec<_> = bytes.chunks(size).collect();
                assert_eq!(masked(&mask, &pieces, StreamEnd::Whole), whole, "{form:?} by {size}");
            }
        }
    }
}

// language 9.9: deltas
#[test]
fn pieces_of_a_text_are_told_without_any_part_of_a_secret() {
    let mask = Mask::of_secrets(SECRETS);
    for secret in SECRETS {
        let text = format!("«{secret}» und {secret}");
        for size in 1..6 {
            let mut stream = mask.stream();
            let chars: Vec<char> = text.chars().collect();
            let mut told: Vec<String> = chars.chunks(size).map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
            told.push(stream.finish());
            assert_eq!(told.concat(), "«***» und ***", "{secret:?} by {size}");
        }
        let mut stream = mask.stream();
        let mut end = secret.chars();
        end.next_back();
        let told = stream.push(&format!("x {}", end.as_str())) + &stream.cut();
        assert!(!told.contains(end.as_str()) || end.as_str().len() < SHORTEST, "{told:?}");
    }
}

// language 9.9: texts and keys
#[test]
fn values_lose_secrets_in_texts_and_keys_and_share_the_rest() {
    let mask = Mask::of_secrets(["hunter2", "12345678"]);
    let json = r#"{"a":["x",{"hunter2":1,"see hunter2":{"b":"aHVudGVyMg=="}}],"n":12345678,"m":123456789,"***":0}"#;
    let masked = mask.value(Value::from_json(json).unwrap());
    assert_eq!(masked.to_json(), r#"{"***":0,"a":["x",{"***":1,"see ***":{"b":"***"}}],"m":123456789,"n":"***"}"#);
    let twice = Value::map([("hunter2", Value::from(1)), ("aHVudGVyMg==", Value::from(2))]);
    assert_eq!(mask.value(twice).to_json(), r#"{"***":2,"*** 2":1}"#);
    let plain = Value::from_json(r#"{"a":[1,{"b":"c"}]}"#).unwrap();
    let (Value::Map(before), Value::Map(after)) = (&plain, mask.value(plain.clone())) else { panic!() };
    let (Some(Value::Text(before)), Some(Value::Text(after))) =
        (Value::Map(before.clone()).at("a.1.b").cloned(), Value::Map(after).at("a.1.b").cloned())
    else {
        panic!()
    };
    assert!(Arc::ptr_eq(&before, &after));
}

#[test]
fn a_value_of_any_depth_is_masked() {
    let deep = (0..100_000).fold(Value::text("hunter2"), |inner, _| Value::from(vec![inner]));
    let masked = Mask::of_secrets(["hunter2"]).value(deep);
    assert_eq!(masked.depth(), 100_000);
}

// a secret of 64 KiB
#[test]
fn a_long_secret_is_masked_in_long_texts() {
    let secret = format!("key {}", "ab\"c\n".repeat(11_000));
    let mask = Mask::of_secrets([&*secret]);
    assert_eq!(mask.text(&format!("<{secret}{secret}>")), "<******>");
    assert_eq!(mask.text(&Value::text(&*secret).to_json()), "\"***\"");
    let plain = &secret[..secret.len() - 1];
    assert_eq!(mask.text(plain), plain);
}
