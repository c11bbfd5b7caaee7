//! Names of sessions: people type them, stores make keys and file names of them.

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// A name that no session can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is no name for a session: {why}")]
#[non_exhaustive]
pub struct BadName {
    /// The name, cut and without control characters.
    shown: String,
    /// The mistake in it.
    why: &'static str,
}

/// Checks a given name.
///
/// # Errors
/// It is empty, longer than 128 bytes, begins with a dot, or holds anything but letters, digits and `-_.:@+`.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.:@+".contains(c);
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it is longer than 128 bytes"
    } else if name.starts_with('.') {
        "it begins with a dot"
    } else if !name.chars().all(is_fit) {
        "it may hold letters of ASCII, digits and `-_.:@+` only"
    } else {
        return Ok(());
    };
    let cut: String = name.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let shown = if name.chars().nth(40).is_some() { format!("{cut}…") } else { cut };
    Err(BadName { shown, why })
}

/// Names for people: `` `a`, `b` ``.
pub(crate) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_people_and_programs_are_fit_and_paths_are_not() {
        for name in ["local", "run-19a3-00ff", "ana@example.org", "order:17", "a.b_c+d"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "../../x", ".hidden", "a/b", "a b", "tab\there", "ünï", &"x".repeat(10_240)] {
            let message = check_name(name).unwrap_err().to_string();
            assert!(message.len() < 200 && !message.chars().any(char::is_control), "{message}");
        }
    }
}
