//! Texts of findings: short, whatever an author's text in them is.

/// The largest number of characters of a message; an author's text in it may be much longer.
const MAX_MESSAGE_CHARS: usize = 240;

/// Characters of a word in a text that is longer than that.
pub(super) const WORD: usize = 60;

/// A text in which no word is so long that it hides the others.
pub(super) fn shortened(text: String) -> String {
    if text.len() <= MAX_MESSAGE_CHARS {
        return text;
    }
    let cut = |word: &str| match word.char_indices().nth(WORD) {
        Some((at, _)) => {
            let (begin, rest) = word.split_at(at);
            format!("{begin}…{}", rest.rfind('`').map_or("", |tick| &rest[tick..]))
        }
        None => word.to_owned(),
    };
    text.split(' ').map(cut).collect::<Vec<_>>().join(" ")
}

/// Returns a message in one line that can be shown anywhere, for any bytes of the author in it.
pub(super) fn one_line(message: String) -> String {
    let message = shortened(message);
    if message.len() <= MAX_MESSAGE_CHARS && !message.chars().any(char::is_control) {
        return message;
    }
    let mut line: String = message.chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_MESSAGE_CHARS).collect();
    if line.chars().count() < message.chars().count() {
        line.push('…');
    }
    line
}
