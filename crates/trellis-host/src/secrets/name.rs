//! Names of secrets, and the variables that may hold their values (language 11.1).

/// The beginning of the variables that hold secrets.
pub(super) const PREFIX: &str = "TRELLIS_SECRET_";

/// Returns whether a secret can have this name: `[a-z0-9][a-z0-9._-]{0,63}`.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=64).contains(&name.len())
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().all(|byte| is_plain(byte) || b"._-".contains(&byte))
}

/// The variable of the environment for a secret: `TRELLIS_SECRET_API_KEY` for `api-key`. Names that differ in `.`, `_` and `-` only have one
/// variable.
pub fn variable(name: &str) -> String {
    let upper = name.chars().map(|char| if char.is_alphanumeric() { char.to_ascii_uppercase() } else { '_' });
    PREFIX.chars().chain(upper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // language 11.1
    #[test]
    fn names_are_short_and_plain() {
        let longest = "a".repeat(64);
        for name in ["a", "0", "crm", "api-key", "a.b_c-d", &longest] {
            assert!(is_name(name), "{name}");
        }
        let too_long = "a".repeat(65);
        for name in ["", "-a", ".a", "_a", "A", "api/key", "é", "a b", "a\n", &too_long] {
            assert!(!is_name(name), "{name}");
        }
        assert_eq!(variable("api-key.2"), "TRELLIS_SECRET_API_KEY_2");
    }
}
