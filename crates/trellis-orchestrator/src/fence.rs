//! Code fences around foreign text, so that a model reads it as data.

/// A text in a fence that no line of it closes.
pub(crate) fn in_fence(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|char| *char == '`').count()).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
