//! Session ids as names of files: for any id, its file is in the folder of the store, and no two ids share one.

use std::fmt::Write;

use trellis_core::SessionId;

/// Longer names are cut, and told apart by a hash: a file system takes 255 bytes, and endings come behind.
const MAX_FILE_NAME_BYTES: usize = 200;

/// Returns the name of a session's files, without an ending. Upper case is encoded, because some file systems do not distinguish it from lower case.
pub(super) fn of(session: &SessionId) -> String {
    let mut name = String::with_capacity(session.as_str().len());
    for (place, byte) in session.as_str().bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'@' | b'+' => name.push(char::from(byte)),
            b'.' if place > 0 => name.push('.'),
            // Writing to a text cannot fail.
            _ => drop(write!(name, "%{byte:02x}")),
        }
    }
    if name.is_empty() {
        name.push('%');
    }
    if name.len() > MAX_FILE_NAME_BYTES {
        name.truncate(MAX_FILE_NAME_BYTES - 33);
        let _ = write!(name, "~{:032x}", hash(session.as_str()));
    }
    name
}

/// The session of a name, where that was not cut.
pub(super) fn session(name: &str) -> Option<SessionId> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' && name != "%" {
            let (code, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?);
            rest = after;
        } else if byte != b'%' {
            bytes.push(byte);
        }
    }
    let session = SessionId::from(std::str::from_utf8(&bytes).ok()?);
    (of(&session) == name).then_some(session)
}

/// FNV-1a: the same in every version of this program.
fn hash(text: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder_and_come_back() {
        for (id, name) in [
            ("run-1", "run-1"),
            ("Ada@home:2", "%41da@home%3a2"),
            ("../../x", "%2e.%2f..%2fx"),
            ("..", "%2e."),
            (".hidden", "%2ehidden"),
            ("a\0\n\u{1b}", "a%00%0a%1b"),
            ("ß", "%c3%9f"),
            ("%41", "%2541"),
            ("a~b", "a%7eb"),
            ("", "%"),
        ] {
            assert_eq!(of(&id.into()), name);
            assert_eq!(session(name), Some(id.into()));
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "x".repeat(10_240);
        let other = format!("{}y", &long[1..]);
        assert!(of(&long.as_str().into()).len() <= MAX_FILE_NAME_BYTES);
        assert_ne!(of(&long.as_str().into()), of(&other.as_str().into()));
        assert_eq!(session(&of(&long.as_str().into())), None);
    }

    #[test]
    fn names_that_no_session_has_are_of_none() {
        for name in ["A", "%4", "%zz", "%61", "a%", "ß", "%ff", "a/b"] {
            assert_eq!(session(name), None, "{name}");
        }
    }
}
