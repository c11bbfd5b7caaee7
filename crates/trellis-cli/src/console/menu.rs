//! A choice: options in a scrolling window, filtered by the input line.
//!
//! In: navigation keys and the input line. Out: the selected option, and rows.
//!
//! **Invariant:** a typed line means what it means on a pipe ([`choose`]); the marked option counts only if nothing is typed, or if
//! it was moved to since.

use anstyle::{AnsiColor, Style};
use trellis_core::engine::{OptionView, Request, RequestType};
use trellis_host::runner::choose;

use super::keys::Key;
use crate::{
    columns::{cut, width, wrapped},
    report::printable,
    terminal::Look,
};

#[derive(Debug)]
pub(super) struct Menu {
    /// The options that are shown, by their place in the request.
    shown: Vec<usize>,
    /// The marked one, by its place among those.
    marked: Option<usize>,
    /// True if it was marked by hand since the line last changed.
    moved: bool,
    /// The first row that is shown.
    top: usize,
    /// Number of rows that were shown last: the size of a page.
    page: usize,
    /// The searchable texts of the options.
    names: Vec<String>,
}

impl Menu {
    /// A menu, marked at the default.
    pub(super) fn new(request: &Request) -> Self {
        let names = request.options.iter().map(|option| format!("{}\n{}", option.text, option.value).to_lowercase()).collect();
        let mut menu = Self { shown: Vec::new(), marked: None, moved: false, top: 0, page: 1, names };
        menu.narrow(request, "");
        menu
    }

    /// Filters the options by the typed line; shows all if it matches none.
    pub(super) fn narrow(&mut self, request: &Request, line: &str) {
        let typed = line.trim().to_lowercase();
        let is_number = choose::is_numbered(request) && !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
        let may_mean = |at: &usize| self.names[*at].contains(&typed) || (is_number && (at + 1).to_string().starts_with(&typed));
        self.shown = (0..request.options.len()).filter(may_mean).collect();
        if self.shown.is_empty() {
            self.shown = (0..request.options.len()).collect();
        }
        (self.moved, self.top) = (false, 0);
        let meant = if typed.is_empty() { self.preset(request) } else { choose::option(request, line) };
        let place = meant.and_then(|meant| self.shown.iter().position(|&at| std::ptr::eq(&raw const request.options[at], meant)));
        self.marked = place;
    }

    /// Returns the option that Enter means at once: the default, else the first, unless nothing is an answer too.
    fn preset<'r>(&self, request: &'r Request) -> Option<&'r OptionView> {
        match &request.default {
            Some(default) => request.options.iter().find(|option| option.value == *default),
            None if request.open && matches!(request.input_type, RequestType::Any(_)) => None,
            None => request.options.first(),
        }
    }

    /// Moves the mark; false where the key does not.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        let last = self.shown.len().saturating_sub(1);
        let to = match (key, self.marked) {
            (Key::Down | Key::Tab, None) | (Key::Home, _) => 0,
            (Key::Up, None) | (Key::End, _) => last,
            (Key::Down | Key::Tab, Some(at)) => {
                if at >= last {
                    0
                } else {
                    at + 1
                }
            }
            (Key::Up, Some(at)) => at.checked_sub(1).unwrap_or(last),
            (Key::PageDown, at) => (at.unwrap_or(0) + self.page).min(last),
            (Key::PageUp, at) => at.unwrap_or(0).saturating_sub(self.page),
            _ => return false,
        };
        (self.marked, self.moved) = (Some(to), true);
        true
    }

    /// The option that Enter takes, whatever is typed; `None` if the typed line itself is the answer.
    pub(super) fn chosen<'r>(&self, request: &'r Request, line: &str) -> Option<&'r OptionView> {
        let marked = self.marked.and_then(|at| self.shown.get(at)).and_then(|&at| request.options.get(at));
        marked.filter(|_| self.moved || line.trim().is_empty())
    }

    /// Renders at most `most` rows of `room` columns, and the position of the window if it does not show all options.
    pub(super) fn rows(&mut self, request: &Request, room: usize, most: usize, look: Look) -> (Vec<String>, Option<String>) {
        let marked = self.marked.and_then(|row| self.shown.get(row)).and_then(|&at| request.options.get(at));
        let digits = if choose::is_numbered(request) { request.options.len().to_string().len() } else { 0 };
        let margin = 2 + if digits == 0 { 0 } else { digits + 2 };
        // The rest of a marked text that is longer than its row stands below it.
        let rest = marked.map_or_else(Vec::new, |option| rest_of(&option.text, margin, room));
        let rest = &rest[..rest.len().min(MOST_FURTHER_ROWS).min(most.saturating_sub(1))];
        let most = most.saturating_sub(rest.len()).clamp(1, self.shown.len().max(1));
        self.page = most.saturating_sub(1).max(1);
        if let Some(marked) = self.marked {
            self.top = self.top.clamp((marked + 1).saturating_sub(most), marked);
        }
        self.top = self.top.min(self.shown.len().saturating_sub(most));
        let window = self.shown.iter().enumerate().skip(self.top).take(most);
        let rows = window.flat_map(|(row, &at)| {
            let is_marked = self.marked == Some(row);
            let further = if is_marked { rest } else { &[] };
            let first =
                request.options.get(at).map(|option| row_text(&option.text, at + 1, digits, is_marked, further.is_empty(), room, look));
            let bright = AnsiColor::Cyan.on_default().bold();
            first.into_iter().chain(further.iter().map(move |line| format!("{:margin$}{bright}{line}{bright:#}", "")))
        });
        let rows = rows.collect();
        let place = (most < self.shown.len()).then(|| format!("{}-{} of {}", self.top + 1, self.top + most, self.shown.len()));
        (rows, place)
    }
}

/// Rows that a marked text may take below its first one.
const MOST_FURTHER_ROWS: usize = 4;

/// The rows of an option's text after the first one.
fn rest_of(text: &str, margin: usize, room: usize) -> Vec<String> {
    let text = printable(&text.replace('\n', " ")).into_owned();
    let width_of_rows = room.saturating_sub(margin);
    if width_of_rows < 8 || width(&text) <= width_of_rows {
        Vec::new()
    } else {
        wrapped(&text, width_of_rows).into_iter().skip(1).collect()
    }
}

fn row_text(text: &str, number: usize, digits: usize, is_marked: bool, is_alone: bool, room: usize, look: Look) -> String {
    let mark = if is_marked { look.pick("❯ ", "> ") } else { "  " };
    let number = if digits == 0 { String::new() } else { format!("{number:digits$}  ") };
    let (whole, left) = (printable(&text.replace('\n', " ")).into_owned(), room.saturating_sub(width(mark) + number.len()));
    let text = if is_alone { cut(&whole, left) } else { wrapped(&whole, left).into_iter().next().unwrap_or_default() };
    let (quiet, plain) = (Style::new().dimmed(), Style::new());
    let bright = AnsiColor::Cyan.on_default().bold();
    let (first, second) = if is_marked { (bright, bright) } else { (quiet, plain) };
    cut_row(format!("{first}{mark}{number}{first:#}{second}{text}{second:#}"), room, width(mark) + number.len())
}

/// Returns the row; `None` if not even its prefix fits.
fn cut_row(row: String, room: usize, before: usize) -> String {
    if before <= room { row } else { cut(&anstream::adapter::strip_str(&row).to_string(), room) }
}

#[cfg(test)]
mod tests {
    use trellis_core::engine::AnyInput;

    use super::*;

    const LOOK: Look = Look { styled: true, unicode: true };

    fn request(count: usize) -> Request {
        let option = |at: usize| OptionView::new(format!("value-{at}"), format!("Option {at}"));
        Request::choice((1..=count).map(option).collect())
    }

    fn drawn(menu: &mut Menu, request: &Request, most: usize) -> Vec<String> {
        let (rows, place) = menu.rows(request, 30, most, LOOK);
        rows.into_iter().map(|row| anstream::adapter::strip_str(&row).to_string()).chain(place).collect()
    }

    #[test]
    fn a_long_list_moves_in_its_window() {
        let request = request(500);
        let mut menu = Menu::new(&request);
        assert_eq!(drawn(&mut menu, &request, 3), ["❯   1  Option 1", "    2  Option 2", "    3  Option 3", "1-3 of 500"]);
        menu.press(&Key::PageDown);
        menu.press(&Key::Down);
        assert_eq!(drawn(&mut menu, &request, 3), ["    2  Option 2", "    3  Option 3", "❯   4  Option 4", "2-4 of 500"]);
        menu.press(&Key::End);
        assert_eq!(drawn(&mut menu, &request, 2), ["  499  Option 499", "❯ 500  Option 500", "499-500 of 500"]);
        menu.press(&Key::Down);
        assert_eq!(drawn(&mut menu, &request, 1), ["❯   1  Option 1", "1-1 of 500"]);
    }

    #[test]
    fn typing_narrows_and_marks_what_is_meant() {
        let request = request(20);
        let mut menu = Menu::new(&request);
        menu.narrow(&request, "19");
        assert_eq!(drawn(&mut menu, &request, 9), ["❯ 19  Option 19"]);
        assert!(menu.chosen(&request, "19").is_none(), "the line itself says it");
        menu.narrow(&request, "opt");
        assert_eq!((menu.marked, menu.shown.len()), (None, 20), "many begin so");
        menu.press(&Key::Down);
        assert_eq!(menu.chosen(&request, "opt").map(|option| &*option.text), Some("Option 1"), "it was moved to");
        menu.narrow(&request, "nothing like it");
        assert_eq!((menu.marked, menu.shown.len()), (None, 20));
    }

    #[test]
    fn the_mark_begins_at_the_default_and_nowhere_where_nothing_is_an_answer() {
        let defaulted = request(3).with_default("value-2");
        assert_eq!(Menu::new(&defaulted).chosen(&defaulted, "").map(|option| &*option.text), Some("Option 2"));
        let open = request(3).open_to(RequestType::Any(AnyInput::Any));
        let mut menu = Menu::new(&open);
        assert!(menu.chosen(&open, "").is_none());
        menu.press(&Key::Up);
        assert_eq!(menu.chosen(&open, "").map(|option| &*option.text), Some("Option 3"));
    }

    #[test]
    fn every_size_of_window_is_drawn() {
        let request = request(12);
        let mut menu = Menu::new(&request);
        for (room, most) in (0..40).flat_map(|room| (0..14).map(move |most| (room, most))) {
            menu.press(&Key::Up);
            let (rows, _) = menu.rows(&request, room, most, LOOK);
            assert!(rows.iter().all(|row| width(&anstream::adapter::strip_str(row).to_string()) <= room), "{room}: {rows:?}");
        }
        let none = self::request(0);
        let mut empty = Menu::new(&none);
        empty.press(&Key::Down);
        assert!(empty.rows(&none, 10, 3, LOOK).0.is_empty() && empty.chosen(&none, "").is_none());
    }
}
