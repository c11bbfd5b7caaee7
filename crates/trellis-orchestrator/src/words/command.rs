//! Commands of a chat: `("/" or "!") NAME {ARG}` (orchestrator 3.7).

use unicode_normalization::UnicodeNormalization as _;

/// A command as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name or an alias, in lower case.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Parses a command; `None` if the text is none.
pub fn command(text: &str) -> Option<Command> {
    let text: String = text.trim().nfkc().collect();
    let rest = text.strip_prefix(['/', '!'])?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // Telegram names the bot that is meant.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '_'));
    is_name.then(|| Command { name: name.to_lowercase(), args: split(args) })
}

/// Splits arguments as a shell does, with quotes and backslashes, and without expanding anything. A quote that is not closed ends with the text.
fn split(text: &str) -> Vec<String> {
    let (mut args, mut current, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                current.get_or_insert_default();
            }
            (None | Some('"'), '\\') => current.get_or_insert_default().extend(chars.next()),
            (None, char) if char.is_whitespace() => args.extend(current.take()),
            (_, char) => current.get_or_insert_default().push(char),
        }
    }
    args.extend(current);
    args
}
