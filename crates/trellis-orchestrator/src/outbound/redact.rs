//! Redacts values of the vault in outgoing messages (orchestrator 7.1).

use std::{fmt, sync::Arc};

use trellis_host::secrets::Vault;

use crate::seal::VaultValues;

/// Bytes of the shortest value that is redacted.
const MIN_SECRET_LENGTH: usize = 4;

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

    /// Returns the text with `***` for each value, also in hexadecimal, in Base64, and from its end to its beginning. If the vault cannot be read, the values that were read before are redacted. It waits for a disk.
    pub fn masked(&self, text: &str) -> String {
        let values = self.0.all();
        let values = values.iter().map(|secret| secret.value.as_str()).filter(|value| value.len() >= MIN_SECRET_LENGTH);
        values.fold(text.to_owned(), |text, value| {
            let text = if text.contains(value) { text.replace(value, "***") } else { text };
            // A short value has encodings that stand in other words.
            let encodings = if value.len() >= MIN_ENCODED_LENGTH { encodings(value) } else { Vec::new() };
            encodings.iter().fold(text, |text, encoded| if text.contains(encoded) { text.replace(encoded, "***") } else { text })
        })
    }
}

/// The forms in which a value is found again: reversed, hexadecimal, and what Base64 makes of it at each place of three bytes.
fn encodings(value: &str) -> Vec<String> {
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut encodings = vec![value.chars().rev().collect(), hex.to_uppercase(), hex];
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
        ] {
            let masked = mask.masked(text);
            assert!(masked.contains("***") && masked.len() <= rest.len() + 7, "{text}: {masked}");
        }
        assert_eq!(mask.masked("Tulip and Harbour"), "Tulip and Harbour");
    }
}
