//! References to secrets in the arguments of tools (orchestrator 6.1): `{{secret:KEY}}` of this chat, or one that the settings name for the tool, is
//! filled in when the tool runs.
//!
//! **Invariant:** another key opens nothing, and no value that the vault knows is in a result.

use trellis_core::ToolError;
use trellis_host::secrets::SecretText;

use super::Hands;
use crate::{
    message::ChatPlace,
    seal::{chat_prefix, references},
};

/// The beginning of the variables that hold the values of a command.
const VARIABLE: &str = "SEALED_";

/// A command of the shell, with variables in the places of its references.
pub(super) struct FilledCommand {
    pub(super) line: String,
    pub(super) variables: Vec<(String, SecretText)>,
}

impl Hands {
    /// The values that a text refers to, by name. It waits for a disk.
    fn values(&self, place: &ChatPlace, tool: &str, text: &str) -> Result<Vec<(String, SecretText)>, ToolError> {
        let prefix = chat_prefix(&place.provider, &place.chat);
        let may_open = |name: &String| name.starts_with(&prefix) || self.settings.may_open(tool, name);
        let (mut values, mut missing) = (Vec::new(), Vec::new());
        for name in references(text) {
            let value = Some(&name).filter(|name| may_open(name)).and_then(|name| self.vault.get(name).ok().flatten());
            match value {
                Some(value) => values.push((name, value)),
                None => missing.push(format!("`{name}`")),
            }
        }
        if missing.is_empty() {
            return Ok(values);
        }
        let message = format!("{} cannot be opened in this chat", missing.join(", "));
        Err(ToolError::coded("secret_resolution_required", message).finally())
    }

    /// A text with the values that it refers to.
    pub(super) fn fill_references(&self, place: &ChatPlace, tool: &str, text: &str) -> Result<String, ToolError> {
        let values = self.values(place, tool, text)?;
        Ok(values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&reference(name), value.as_str())))
    }

    /// A command whose references are variables: a value is never read as a part of the command, and other programs do not see it.
    pub(super) fn filled_command(&self, place: &ChatPlace, text: &str) -> Result<FilledCommand, ToolError> {
        let values = self.values(place, "shell", text)?;
        let mut line = text.to_owned();
        for (at, (name, _)) in values.iter().enumerate() {
            line = with_variable(&line, &reference(name), &format!("{VARIABLE}{at}"));
        }
        let named = values.into_iter().enumerate().map(|(at, (_, value))| (format!("{VARIABLE}{at}"), value));
        Ok(FilledCommand { line, variables: named.collect() })
    }
}

/// Refuses references in the arguments of a tool that opens no secrets.
pub(super) fn refuse_references(tool: &str, text: &str) -> Result<(), ToolError> {
    let names: Vec<String> = references(text).iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let message = format!("`{tool}` opens no secrets: remove {}", names.join(", "));
    Err(ToolError::coded("secret_resolution_required", message).finally())
}

fn reference(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

/// Replaces each reference by a variable, as one word inside any quotes around it.
fn with_variable(line: &str, reference: &str, variable: &str) -> String {
    let (mut out, mut rest, mut quote) = (String::with_capacity(line.len()), line, None);
    while let Some(char) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(reference) {
            out += &match quote {
                None => format!("\"${{{variable}}}\""),
                Some('"') => format!("${{{variable}}}"),
                Some(_) => format!("'\"${{{variable}}}\"'"),
            };
            rest = after;
            continue;
        }
        let mut length = char.len_utf8();
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), char) if open == char => quote = None,
            (None | Some('"'), '\\') => length += rest[length..].chars().next().map_or(0, char::len_utf8),
            _ => {}
        }
        out += &rest[..length];
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_one_word_in_any_quotes() {
        let put = |line: &str| with_variable(line, "{{secret:k}}", "V");
        assert_eq!(put("echo {{secret:k}}"), r#"echo "${V}""#);
        assert_eq!(put(r#"echo "a {{secret:k}} b""#), r#"echo "a ${V} b""#);
        assert_eq!(put("echo 'a {{secret:k}} b'"), r#"echo 'a '"${V}"' b'"#);
        assert_eq!(put(r#"echo \' {{secret:k}} "\"{{secret:k}}""#), r#"echo \' "${V}" "\"${V}""#);
        assert_eq!(put("echo {{secret:other}}"), "echo {{secret:other}}");
    }
}
