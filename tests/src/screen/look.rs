//! A screen as lines of a sheet: `| text`, and below it what is styled and where the cursor stands.
//!
//! Parts that differ between any two runs are written as their kinds: `hh:mm:ss` for a clock, `# s` and `# ms` for a time that was taken, `run-#` for
//! a session, `⠿` for a spinner.

use vt100::{Cell, Color, Screen};

/// The details by which screens are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Detail {
    /// True if styles and cursor count.
    pub(super) plain: bool,
}

/// A stretch of a row in one style.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// The column where it begins, from 0.
    pub(super) column: u16,
    /// Columns that it takes.
    pub(super) width: u16,
    pub(super) text: String,
    pub(super) style: Style,
}

/// The style of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Style {
    pub(super) foreground: Color,
    pub(super) background: Color,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) inverse: bool,
}

impl Style {
    fn of(cell: &Cell) -> Self {
        Self {
            foreground: cell.fgcolor(),
            background: cell.bgcolor(),
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
            inverse: cell.inverse(),
        }
    }

    /// `bold cyan`; nothing for plain text.
    fn words(&self) -> String {
        let flags =
            [(self.bold, "bold"), (self.dim, "dim"), (self.italic, "italic"), (self.underline, "underline"), (self.inverse, "inverse")];
        let flags = flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_owned());
        let colours = color(self.foreground).into_iter().chain(color(self.background).map(|color| format!("on {color}")));
        flags.chain(colours).collect::<Vec<_>>().join(" ")
    }
}

const COLOURS: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

fn color(color: Color) -> Option<String> {
    match color {
        Color::Default => None,
        Color::Idx(at @ 0..8) => Some(COLOURS[usize::from(at)].to_owned()),
        Color::Idx(at @ 8..16) => Some(format!("bright-{}", COLOURS[usize::from(at - 8)])),
        Color::Idx(at) => Some(format!("colour-{at}")),
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

/// The rows of a screen as runs of one style, up to the last row that holds something.
pub(super) fn rows(screen: &Screen) -> Vec<Vec<Run>> {
    let (rows, columns) = screen.size();
    let mut all: Vec<Vec<Run>> = (0..rows.get()).map(|row| runs(screen, row, columns.get())).collect();
    let is_blank = |row: &Vec<Run>| row.iter().all(|run| run.text.trim().is_empty() && run.style.words().is_empty());
    all.truncate(all.iter().rposition(|row| !is_blank(row)).map_or(0, |last| last + 1));
    all
}

fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else { continue };
        let (style, width) = (Style::of(cell), if cell.is_wide() { 2 } else { 1 });
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut().filter(|run| run.style == style) {
            Some(run) => {
                run.text.push_str(text);
                run.width += width;
            }
            None => runs.push(Run { column, width, text: text.to_owned(), style }),
        }
    }
    runs
}

/// The screen as lines of a sheet, each with its line break.
pub(super) fn lines(screen: &Screen, detail: Detail, folder: &str) -> String {
    let cursor = (!screen.hide_cursor()).then(|| screen.cursor_position());
    let mut rows = rows(screen);
    if let Some((row, _)) = cursor.filter(|_| !detail.plain) {
        rows.resize(rows.len().max(usize::from(row) + 1), Vec::new());
    }
    let mut lines = String::new();
    for (at, runs) in rows.iter().enumerate() {
        let text: String = runs.iter().map(|run| &*run.text).collect();
        lines.push_str(format!("| {}", steady(text.trim_end(), &text, folder)).trim_end());
        lines.push('\n');
        let styled = runs.iter().filter(|run| !run.style.words().is_empty());
        let shown = styled.map(|run| (run, steady(run.text.trim_end(), &text, folder)));
        // The time of a result is not always there.
        let shown = shown.filter(|(run, shown)| !shown.is_empty() || run.text.trim().is_empty());
        let mut notes: Vec<_> = shown.map(|(run, shown)| format!("{shown:?} {}", run.style.words())).collect();
        notes.extend(cursor.filter(|(row, _)| usize::from(*row) == at).map(|(_, column)| format!("cursor {}", column + 1)));
        if !detail.plain && !notes.is_empty() {
            lines.push_str(&format!(": {}\n", notes.join(", ")));
        }
    }
    lines
}

/// The frames of spinners that are in use.
const FRAMES: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏⠈⠐⠠⢀⡀⠄⠂⠁⣾⣽⣻⢿⡿⣟⣯⣷◐◓◑◒";

/// A part of a line with what varies from run to run replaced by what it is.
pub(super) fn steady(text: &str, line: &str, folder: &str) -> String {
    let line = line.trim();
    let text = if folder.is_empty() { text.to_owned() } else { text.replace(folder, "FOLDER") };
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let before = out.chars().next_back();
        let begins = !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '.' | ':' | '-' | '_'));
        // A result has a time only if it took long enough.
        let is_result = line.starts_with(['✓', '✗']) || line.starts_with("ok ");
        let (taken, shown) = match () {
            () if is_result && rest.starts_with(' ') && running(&rest[1..]) > 0 => (1 + running(&rest[1..]), ""),
            () if is_result && begins && running(rest) > 0 => (running(rest), ""),
            () if FRAMES.contains(first) => (first.len_utf8(), "⠿"),
            () if begins && clock(rest) => (8, "hh:mm:ss"),
            () if begins && session(rest) > 0 => (session(rest), "run-#"),
            () if begins && tells_time(line) && running(rest) > 0 => (running(rest), "# s"),
            () if begins && line.ends_with(" ms)") && millis(rest) > 0 => (millis(rest), "# ms"),
            () => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        out.push_str(shown);
        rest = &rest[taken..];
    }
    out
}

/// `14:02:10`.
fn clock(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes[..8].iter().enumerate().all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
        && !bytes.get(8).is_some_and(u8::is_ascii_digit)
}

/// The length of `run-19aa7b7b7c1-01ef`.
fn session(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("run-") else { return 0 };
    let length = rest.bytes().take_while(|byte| byte.is_ascii_hexdigit() || *byte == b'-').count();
    if length >= 16 { length + 4 } else { 0 }
}

/// Returns whether times on a line run: those of tools and sleeps, and remaining times.
fn tells_time(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(|mark| FRAMES.contains(mark) || "◷■".contains(mark)) || line.contains(" left")
}

/// The length of `2 ms`.
fn millis(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && &text[digits..] == " ms)" { digits + 3 } else { 0 }
}

/// The length of a time that runs: `0.4 s`, `2 min 5 s`.
fn running(text: &str) -> usize {
    let number = |text: &str| text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let minutes = Some(number(text)).filter(|digits| *digits > 0 && text[*digits..].starts_with(" min ")).map_or(0, |digits| digits + 5);
    let digits = number(&text[minutes..]);
    let rest = &text[minutes + digits..];
    let is_time = digits > 0 && rest.starts_with(" s") && !rest[2..].starts_with(char::is_alphanumeric);
    if is_time { minutes + digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_written_as_what_it_is() {
        let steady = |text: &str| steady(text, text, "/tmp/x1");
        assert_eq!(steady("⠙ pay 12.3 s  Ctrl-C stops it"), "⠿ pay # s  Ctrl-C stops it");
        assert_eq!(steady("✗ pay 0.0 s: took longer than 5s"), "✗ pay: took longer than 5s");
        assert_eq!(steady("✓ pay 1 min 2 s"), "✓ pay");
        assert_eq!(steady("■ pay stopped after 0.2 s"), "■ pay stopped after # s");
        assert_eq!(steady("still running the version of 14:02:10"), "still running the version of hh:mm:ss");
        assert_eq!(steady("  2 min 28 s left · a text"), "  # s left · a text");
        assert_eq!(steady("1 error in 3 nodes (2 ms)"), "1 error in 3 nodes (# ms)");
        assert_eq!(steady("it took 5 s"), "it took 5 s");
        assert_eq!(steady("run-19aa7b7b7c1-01ef and run-time"), "run-# and run-time");
        assert_eq!(steady("/tmp/x1/start.md"), "FOLDER/start.md");
        assert_eq!(steady("✓ at 4:12:30:1 and v1.2 s"), "✓ at 4:12:30:1 and v1.2 s");
    }

    #[test]
    fn styles_and_the_cursor_stand_below_their_row() {
        let (rows, columns) = (std::num::NonZeroU16::new(4).unwrap(), std::num::NonZeroU16::new(20).unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(b"plain \x1b[1;36mAda\x1b[0m\r\n\r\n> \xe4\xbd\xa0");
        let look = |plain| lines(parser.screen(), Detail { plain }, "");
        assert_eq!(look(false), "| plain Ada\n: \"Ada\" bold cyan\n|\n| > 你\n: cursor 5\n");
        assert_eq!(look(true), "| plain Ada\n|\n| > 你\n");
    }
}
