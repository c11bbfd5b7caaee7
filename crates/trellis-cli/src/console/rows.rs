//! Renders a question or a running tool into live rows.
//!
//! In: the question or the running work, and the size of the window. Out: a frame that fits into it.
//!
//! **Invariant:** the input line is always shown; explanations fill the remaining rows.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::{frame::Frame, layout::VisibleRows, question::Question};
use crate::{
    columns::{cut, width, wrapped},
    report::printable,
    terminal::{Look, QUIET},
};

/// The window and its capabilities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Columns that may be filled: the last one stays free, where terminals differ about what follows.
    pub(super) room: usize,
    pub(super) height: usize,
    pub(super) look: Look,
}

/// Rows of an explanation.
const NOTE_ROWS: usize = 3;
/// Rows that stay reserved for the scrollback.
const SAID_ROWS: usize = 5;

impl Question {
    /// The rows of the question; `left` is the time that an answer has.
    pub(super) fn frame(&mut self, window: Window, left: Option<Duration>) -> Frame {
        let Window { room, height, look } = window;
        let lead = printable(&self.lead(look)).into_owned();
        let lead = if width(&lead) * 2 > room { cut(&lead, room / 2) } else { lead };
        let most = if self.menu.is_some() { 1 } else { (height / 3).max(1) };
        let VisibleRows { rows: mut typed, cursor: (row, column), from_top } = self.editor.rows(room, width(&lead), most, look);
        let bright = AnsiColor::Cyan.on_default();
        if let Some(first) = typed.first_mut().filter(|_| from_top) {
            *first = format!("{bright}{lead}{bright:#}{first}");
        }
        let spare = height.saturating_sub(typed.len());
        // Some of what was said stays in sight: mostly it is the question.
        let (options, place) = self.options(room, spare.saturating_sub((height / 4).min(SAID_ROWS)), look);
        let notes = self.notes(place, left, room, look);
        let notes = notes.into_iter().take(spare.saturating_sub(options.len())).collect::<Vec<_>>();
        let above = options.len();
        Frame { cursor: Some((above + row, column)), rows: [options, typed, notes].concat() }
    }

    fn options(&mut self, room: usize, spare: usize, look: Look) -> (Vec<String>, Option<String>) {
        let Some(mut menu) = self.menu.take() else { return (Vec::new(), None) };
        // An explanation takes rows only where most of the options are seen.
        let notes = if spare > 6 { NOTE_ROWS } else { usize::from(spare > 2) };
        let drawn = match self.request() {
            Some(request) if spare > 0 => menu.rows(request, room, spare - notes, look),
            _ => (Vec::new(), None),
        };
        self.menu = Some(menu);
        drawn
    }

    fn notes(&self, place: Option<String>, left: Option<Duration>, room: usize, look: Look) -> Vec<String> {
        let mut notes = Vec::new();
        let red = AnsiColor::Red.on_default();
        let yellow = AnsiColor::Yellow.on_default().dimmed();
        if let Some(refused) = self.refused() {
            notes.push((format!("{} {refused}", look.pick("✗", "x")), red));
        }
        if let Some(remark) = self.remark() {
            notes.push((remark, yellow));
        }
        let left = left.map(|left| format!("{} left", duration_text(left)));
        let hint = [left, place, self.hint().map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>();
        if !hint.is_empty() {
            notes.push((hint.join(look.pick(" · ", " - ")), QUIET));
        }
        notes.into_iter().flat_map(|(text, style)| note(&text, style, room)).collect()
    }
}

/// An explanation below the line, in few rows.
fn note(text: &str, style: Style, room: usize) -> Vec<String> {
    let text = printable(&text.replace('\n', " ")).into_owned();
    let lines = wrapped(&text, room.saturating_sub(2));
    let is_cut = lines.len() > NOTE_ROWS;
    let rows = lines.into_iter().take(NOTE_ROWS).enumerate().map(|(at, line)| {
        let line = if is_cut && at + 1 == NOTE_ROWS { cut(&format!("{line} …"), room.saturating_sub(2)) } else { line };
        let margin = if room > 2 { "  " } else { "" };
        format!("{style}{margin}{line}{style:#}")
    });
    rows.collect()
}

/// A tool that runs: what turns, its name, how long.
pub(super) fn running(calls: &[(&str, Duration)], window: Window) -> Frame {
    const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const PLAIN_TURNS: [&str; 4] = ["|", "/", "-", "\\"];
    /// Rows of calls that run side by side.
    const MOST: usize = 8;
    let row = |(name, elapsed): &(&str, Duration), hint: &str| {
        let at = usize::try_from(elapsed.as_millis() / 100).unwrap_or(0);
        let turn = if window.look.unicode { TURNS[at % TURNS.len()] } else { PLAIN_TURNS[at % PLAIN_TURNS.len()] };
        busy(turn, &format!("{} {}", printable(name), duration_text(*elapsed)), hint, window)
    };
    let hint = |at: usize| if at == 0 { "  Ctrl-C stops it" } else { "" };
    let mut frame = Frame::default();
    for (at, call) in calls.iter().take(MOST).enumerate() {
        frame.rows.append(&mut row(call, hint(at)).rows);
    }
    if calls.len() > MOST {
        frame.rows.append(&mut busy(" ", &format!("and {} more", calls.len() - MOST), "", window).rows);
    }
    frame
}

/// A model's text while it is written: the last rows of it, above those of `below`.
pub(super) fn streamed(text: &str, below: Frame, window: Window) -> Frame {
    const SHOWN: usize = 6;
    let mut rows: Vec<String> = text.lines().flat_map(|line| wrapped(&printable(line), window.room)).collect();
    rows.drain(..rows.len().saturating_sub(SHOWN));
    rows.extend(below.rows);
    Frame { rows, cursor: None }
}

/// A sleep: how long it still takes.
pub(super) fn sleeping(left: Duration, window: Window) -> Frame {
    busy(window.look.pick("◷", "."), &format!("resuming in {}", duration_text(left)), "  Ctrl-C interrupts", window)
}

fn busy(mark: &str, text: &str, hint: &str, window: Window) -> Frame {
    let bright = AnsiColor::Cyan.on_default();
    let used = width(mark) + 1 + width(text);
    let row = if used > window.room {
        cut(&format!("{mark} {text}"), window.room)
    } else {
        format!("{bright}{mark}{bright:#} {text}{QUIET}{}{QUIET:#}", cut(hint, window.room - used))
    };
    Frame { rows: vec![row], cursor: None }
}

/// A duration for people: `0.3 s`, `12 s`, `2 min 5 s`, `1 h 2 min`.
pub(super) fn duration_text(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
