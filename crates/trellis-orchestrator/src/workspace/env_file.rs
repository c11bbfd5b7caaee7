//! `.env`: a line is `KEY=VALUE`; quotes are optional, nothing is expanded (orchestrator 1.2).

/// A line of the file that sets nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} sets no variable: write `KEY=VALUE`")]
pub struct BadLine {
    /// Its number, from 1. Its text may be a secret.
    pub line: usize,
}

/// The variables that a file sets, in order, and the lines that set none.
pub fn variables(text: &str) -> (Vec<(String, String)>, Vec<BadLine>) {
    let (mut variables, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once('=').filter(|(key, _)| is_key(key.trim())) {
            Some((key, value)) => variables.push((key.trim().to_owned(), unquote(value.trim()).to_owned())),
            None => bad.push(BadLine { line: number + 1 }),
        }
    }
    (variables, bad)
}

fn is_key(key: &str) -> bool {
    key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && key.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

fn unquote(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}
