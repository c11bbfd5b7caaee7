//! Redacts values of the vault in outgoing messages (orchestrator 7.1).

use std::{fmt, sync::Arc};

use trellis_host::secrets::Vault;

use crate::seal::VaultValues;

/// Bytes of the shortest value that is redacted.
const MIN_SECRET_LENGTH: usize = 4;

/// The mark in the place of a value.
const MASK: &str = "***";
/// Bytes of the shortest value that is looked for in its encodings.
const MIN_ENCODED_LENGTH: usize = 6;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Redacts the values of a vault. Clones share the values that were read.
#[derive(Clone)]
pub struct SecretMask(VaultValues);

impl SecretMask {
    /// Redacts the values of this vault, also those that are added later.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self(VaultValues::new(vault))
    }

    /// Returns the text with `***` for each value, also in hexadecimal, in Base64, backwards, and over several lines. If the vault cannot be read, the values that were read before are redacted. It waits for a disk.
    pub fn masked(&self, text: &str) -> String {
        let values = self.0.all();
        let values = || values.iter().map(|secret| secret.value.as_str()).filter(|value| value.len() >= MIN_SECRET_LENGTH);
        let masked = |text: String, value| if text.contains(value) { text.replace(value, MASK) } else { text };
        let text = values().fold(text.to_owned(), masked);
        // A short value has encodings that stand in other words.
        let long = || values().filter(|value| value.len() >= MIN_ENCODED_LENGTH);
        let text = replace_forms(&text, long().flat_map(encodings), |char| matches!(char, '\n' | '\r'));
        let is_sign = |char: char| char.is_ascii_whitespace() || matches!(char, ':' | ',' | '-');
        replace_forms(&text, long().flat_map(hexadecimal), is_sign)
    }
}

/// Replaces each of these forms, also where such characters stand within it.
fn replace_forms(text: &str, forms: impl Iterator<Item = String>, is_between: impl Fn(char) -> bool) -> String {
    let (mut compact, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, char) in text.char_indices().filter(|(_, char)| !is_between(*char)) {
        compact.push(char);
        places.extend((at..).take(char.len_utf8()));
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for form in forms.filter(|form| !form.is_empty()) {
        found.extend(compact.match_indices(&*form).map(|(at, _)| (places[at], places[at + form.len() - 1] + 1)));
    }
    found.sort_unstable();
    let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
    for (from, to) in found {
        if from >= end {
            masked += &text[end..from];
            masked += MASK;
        }
        end = end.max(to);
    }
    masked += &text[end..];
    masked
}

/// A value in hexadecimal, in either case, also with a sign before each byte.
fn hexadecimal(value: &str) -> Vec<String> {
    let with = |sign: &str| value.bytes().map(|byte| format!("{sign}{byte:02x}")).collect::<String>();
    let lower = ["", "\\x", "0x"].map(with);
    let upper = value.bytes().map(|byte| format!("{byte:02X}")).collect();
    let backwards = lower[0].chars().rev().collect();
    lower.into_iter().chain([upper, backwards]).collect()
}

/// The forms in which a value is found again: itself, backwards, and what Base64 makes of both at each place of three bytes.
fn encodings(value: &str) -> Vec<String> {
    let backwards: String = value.chars().rev().collect();
    let encoded: Vec<String> = [value, &*backwards].into_iter().flat_map(in_base64).collect();
    let reversed: Vec<String> = encoded.iter().map(|form| form.chars().rev().collect()).collect();
    let whole = value.replace(['\n', '\r'], "");
    [whole, backwards].into_iter().chain(encoded).chain(reversed).collect()
}

/// The forms of a value in Base64, at each place of three bytes.
fn in_base64(value: &str) -> Vec<String> {
    let mut encodings = Vec::new();
    for shift in 0..3_usize {
        let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(value.bytes()).collect();
        // Characters that share bits with bytes around the value are left out.
        let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        let sextet = |at: usize| {
            let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
            (0..6).fold(0_u8, |sextet, offset| sextet << 1 | bit(at * 6 + offset))
        };
        for alphabet in [BASE64, BASE64_URL] {
            encodings.push((from..to).map(|at| char::from(alphabet[usize::from(sextet(at))])).collect());
        }
    }
    encodings
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMask").field("vault", &self.0.vault().file()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 7.1: what a command makes of a value is redacted, too
    #[test]
    fn encoded_values_are_redacted() {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open_with_key_file(&folder.path().join("s.json"), &folder.path().join("m.key")).expect("a vault");
        vault.set("door", "Tulip-Harbour").expect("set");
        let mask = SecretMask::new(Arc::new(vault));
        for (text, rest) in [
            ("Tulip-Harbour", ""),
            ("ruobraH-piluT", ""),
            ("54756c69702d486172626f7572", ""),
            ("54756C69702D486172626F7572", ""),
            ("VHVsaXAtSGFyYm91cg==", "g=="),
            ("eFR1bGlwLUhhcmJvdXIK", ""),
            ("eHhUdWxpcC1IYXJib3Vy", ""),
            ("VHVsaXAt\nSGFyYm91\ncg==", "g=="),
            ("Tulip-\nHarbour", ""),
            ("54 75 6c 69 70 2d 48 61 72 62 6f 75 72", ""),
            ("54:75:6C:69:70:2D:48:61:72:62:6F:75:72", ""),
            ("5475 6c69 702d\n4861 7262 6f75 72", ""),
            (r"\x54\x75\x6c\x69\x70\x2d\x48\x61\x72\x62\x6f\x75\x72", ""),
            ("cnVvYnJhSC1waWx1VA==", "A=="),
        ] {
            let masked = mask.masked(text);
            assert!(masked.contains("***") && masked.len() <= rest.len() + 7, "{text}: {masked}");
        }
        assert_eq!(mask.masked("Tulip and Harbour"), "Tulip and Harbour");
    }
}
