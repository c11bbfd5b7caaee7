//! Finds the value in a command that sets a secret, also if the command is mistyped (orchestrator 3.7).
//!
//! The value is in no file in clear text, even if the command is mistyped and cannot be carried out: then it is sealed in vain.

use super::{Command, CommandTable, command};

/// The name of the command that sets a secret.
const SETTER: &str = "secret";

/// Returns the text before the value, and the value, of a command that sets a secret or is mistyped for one. Several words are one value.
pub(super) fn value_to_seal(text: &str, commands: &CommandTable) -> Option<(String, String)> {
    let names = commands.names(SETTER);
    let typed = match command(text) {
        Some(typed) => typed,
        // Without its sign, or with something in front of it.
        None => command(&format!("/{}", text.trim_start_matches(|char: char| !char.is_alphanumeric())))
            .filter(|typed| names.contains(&typed.name) && typed.args.len() > 2 && typed.args[0].to_lowercase() == "set")?,
    };
    let is_setter =
        names.contains(&typed.name) || commands.find(&typed.name).is_none() && names.iter().any(|name| is_near(&typed.name, name));
    if !is_setter {
        return None;
    }
    let Command { name, mut args } = typed;
    args.first_mut()?.make_ascii_lowercase();
    let head = match (&*args[0], args.len()) {
        ("ls" | "rm", _) | (_, 1) => return None,
        // Without a verb, or without the name.
        (verb, 2) if verb != "set" => 1,
        (_, 2) => return None,
        _ => 2,
    };
    let value = args.split_off(head).join(" ");
    Some((format!("/{name} {}", args.join(" ")), value))
}

/// Returns whether a word is typed for another: one begins with the other, or two characters (one in a short word) are wrong, missing or too many.
fn is_near(typed: &str, name: &str) -> bool {
    let (typed, name): (Vec<char>, Vec<char>) = (typed.chars().collect(), name.chars().collect());
    let allowed = if name.len() < 5 { 1 } else { 2 };
    if typed.starts_with(&name) || typed.len() > 2 && name.starts_with(&typed) {
        return true;
    }
    if typed.len().abs_diff(name.len()) > allowed {
        return false;
    }
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (at, char) in typed.iter().enumerate() {
        let mut next = vec![at + 1];
        for (place, other) in name.iter().enumerate() {
            let changed = row[place] + usize::from(char != other);
            next.push(changed.min(row[place + 1] + 1).min(next[place] + 1));
        }
        row = next;
    }
    row[name.len()] <= allowed
}
