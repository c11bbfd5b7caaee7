//! The day as people see it: the block of `docs/orchestrator.md` that tells it, and its picture.

use std::{fmt::Write as _, fs, num::NonZeroU16, path::PathBuf};

use trellis_tests::{
    providers::{Author, FakeMessage, FakeProvider},
    screen::drawn,
};

/// The text before the block.
const MARK: &str = "<!-- the day, as the tests play it -->\n\n```text\n";
/// Columns of a line.
const WIDTH: u16 = 92;

/// The messages of a day, as lines.
#[derive(Debug, Default)]
pub(super) struct Story {
    told: String,
    coloured: String,
}

impl Story {
    /// The story is over: what was said in the group until now belongs to it.
    pub(super) fn end(&mut self, provider: &FakeProvider) {
        let reacted = provider.reactions();
        for message in provider.messages().iter().filter(|message| message.chat == 1) {
            let seen = if reacted.contains(&message.n) { "  👀" } else { "" };
            self.line(message, seen);
        }
    }

    fn line(&mut self, message: &FakeMessage, seen: &str) {
        let (name, colour) = match message.author {
            Author::Person(1) => ("Ana", 36),
            Author::Person(_) => ("Ben", 35),
            Author::OtherBot => ("bot", 33),
            Author::Own => ("agent", 32),
        };
        let indent = if message.thread.is_some() { 4 } else { 0 };
        let text = steady(&message.text);
        for (number, line) in text.lines().flat_map(|line| wrapped(line, usize::from(WIDTH) - indent - 7)).enumerate() {
            let (head, mark) = if number == 0 { (name, seen) } else { ("", "") };
            let _ = writeln!(self.told, "{:indent$}{head:<7}{line}{mark}", "");
            let _ = writeln!(self.coloured, "{:indent$}\x1b[1;{colour}m{head:<7}\x1b[0m{line}{mark}", "");
        }
    }

    /// Holds the page and the picture to the story; `UPDATE=1` writes both anew.
    pub(super) fn is_told(&self) {
        let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let (page, picture) = (docs.join("orchestrator.md"), docs.join("pictures/orchestrator-day.svg"));
        let drawn = drawn(&self.coloured, "#shop", NonZeroU16::new(WIDTH + 2).unwrap());
        let text = fs::read_to_string(&page).unwrap();
        let (before, rest) = text.split_once(MARK).unwrap_or_else(|| panic!("{} has no `{MARK}`", page.display()));
        let (block, after) = rest.split_once("```").unwrap();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&page, format!("{before}{MARK}{}```{after}", self.told)).unwrap();
            fs::write(&picture, drawn).unwrap();
            return;
        }
        assert_eq!(block, self.told, "UPDATE=1 writes the day of {} anew", page.display());
        assert_eq!(fs::read_to_string(&picture).unwrap_or_default(), drawn, "UPDATE=1 draws {} anew", picture.display());
    }
}

/// A text without what differs from run to run: keys of secrets and ids.
fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.replace("<@U0099>", "@agent");
    while let Some((before, behind)) = rest.split_once("{{secret:") {
        let (key, after) = behind.split_once("}}").unwrap_or((behind, ""));
        let kind = key.split('.').nth(3).unwrap_or("secret");
        let _ = write!(out, "{before}{{{{secret:….{kind}.…}}}}");
        rest = after.to_owned();
    }
    out += &rest;
    without_ids(&out)
}

/// Writes `…` for words of six and eight hexadecimal digits in backticks, or behind `yes `.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        let word = part.strip_prefix("yes ").unwrap_or(part);
        let is_id = matches!(word.len(), 6 | 8) && word.chars().all(|char| char.is_ascii_hexdigit());
        out += if number > 0 { "`" } else { "" };
        match part.strip_suffix(word) {
            Some(before) if number % 2 == 1 && is_id => out += &format!("{before}…"),
            _ => out += part,
        }
    }
    out
}

/// A line in parts of so many characters, cut between words.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last().map_or(0, |last| last.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
