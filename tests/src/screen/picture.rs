//! A screen as a picture: SVG, monospace text in the colours of the terminal.
//!
//! **Invariant:** the same screen gives the same bytes.

use std::{fmt::Write as _, num::NonZeroU16};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use vt100::{Color, Parser, Screen};

use super::look::{Run, rows, steady};

/// Pixels of a cell, of the edge around the text, and of the bar above it.
const CELL: (f64, f64) = (8.4, 18.0);
const EDGE: f64 = 14.0;
const BAR: f64 = 28.0;

const FOREGROUND: &str = "#d8dee9";
const BACKGROUND: &str = "#1f242e";
/// The sixteen named colours, legible on the background.
const PALETTE: [&str; 16] = [
    "#4c566a", "#e06c75", "#98c379", "#e5c07b", "#6ca9ef", "#c678dd", "#56b6c2", "#d8dee9", "#7b8798", "#ff8791", "#b5e39a", "#ffd78f",
    "#8fc2ff", "#e29bf5", "#7fdbe6", "#ffffff",
];

/// Draws a screen below a bar that says what was called.
pub(super) fn picture(screen: &Screen, title: &str, folder: &str) -> String {
    let rows = rows(screen);
    let columns = f64::from(screen.size().1.get());
    let (width, height) = (columns * CELL.0 + 2.0 * EDGE, BAR + rows.len() as f64 * CELL.1 + 1.5 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"{0}\" font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <text x=\"{EDGE}\" y=\"19\" fill=\"#7b8798\">$ {0}</text>\n",
        escaped(title)
    );
    if let (row, column) = screen.cursor_position()
        && !screen.hide_cursor()
        && usize::from(row) < rows.len()
    {
        let (left, top) = (EDGE + f64::from(column) * CELL.0, BAR + f64::from(row) * CELL.1);
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.0}\" width=\"{}\" height=\"{:.0}\" fill=\"{FOREGROUND}\" opacity=\"0.8\"/>",
            CELL.0, CELL.1
        );
    }
    for (at, runs) in rows.iter().enumerate() {
        let top = BAR + at as f64 * CELL.1;
        let line: String = runs.iter().map(|run| &*run.text).collect();
        runs.iter().for_each(|run| draw(&mut svg, run, top, &timed(&steady(run.text.trim_end(), &line, folder))));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws a text with the colours of a terminal, as a screen is drawn.
pub fn drawn(text: &str, title: &str, columns: NonZeroU16) -> String {
    let rows = u16::try_from(text.lines().count()).ok().and_then(NonZeroU16::new).unwrap_or(NonZeroU16::MIN);
    let mut parser = Parser::new(rows, columns, 0);
    parser.process(format!("\x1b[?25l{}", text.trim_end().replace('\n', "\r\n")).as_bytes());
    picture(parser.screen(), title, "")
}

/// Times as they might be: a picture is for people.
fn timed(text: &str) -> String {
    text.replace("# s", "1.2 s").replace("# ms", "2 ms").replace("hh:mm:ss", "14:02:10").replace('⠿', "⠹")
}

fn draw(svg: &mut String, run: &Run, top: f64, text: &str) {
    let style = run.style;
    let (mut ink, mut paper) = (color(style.foreground), color(style.background));
    if style.inverse {
        (ink, paper) = (Some(paper.unwrap_or_else(|| BACKGROUND.into())), Some(ink.unwrap_or_else(|| FOREGROUND.into())));
    }
    let (left, width) = (EDGE + f64::from(run.column) * CELL.0, f64::from(run.width) * CELL.0);
    if let Some(paper) = paper {
        let _ = writeln!(svg, "<rect x=\"{left:.1}\" y=\"{top:.0}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{paper}\"/>", CELL.1);
    }
    if run.text.trim().is_empty() {
        return;
    }
    let ink = ink.unwrap_or_else(|| FOREGROUND.into());
    let mut attributes = format!("fill=\"{ink}\"");
    for (on, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.dim, " opacity=\"0.6\""),
        (style.italic, " font-style=\"italic\""),
        (style.underline, " text-decoration=\"underline\""),
    ] {
        attributes.push_str(if on { attribute } else { "" });
    }
    let mut left = left;
    for part in parts(text) {
        let width = part.width() as f64 * CELL.0;
        if !part.trim().is_empty() {
            let lead = part.len() - part.trim_start().len();
            let (left, shown) = (left + lead as f64 * CELL.0, part.trim());
            // The width is given so that no font can push columns apart.
            let _ = writeln!(
                svg,
                "<text x=\"{left:.1}\" y=\"{:.0}\" {attributes} textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{}</text>",
                top + 13.0,
                shown.width() as f64 * CELL.0,
                escaped(shown)
            );
        }
        left += width;
    }
}

/// The text in parts of letters of one width.
fn parts(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut last = None;
    for (at, char) in text.char_indices() {
        let width = char.width().filter(|width| *width > 0);
        if width.is_some() && width != last {
            starts.push(at);
            last = width;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]).collect::<Vec<_>>();
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

fn color(color: Color) -> Option<String> {
    let rgb = |red: u8, green: u8, blue: u8| format!("#{red:02x}{green:02x}{blue:02x}");
    match color {
        Color::Default => None,
        Color::Idx(at @ 0..16) => Some(PALETTE[usize::from(at)].to_owned()),
        Color::Idx(at @ 16..232) => {
            let step = |at: u8| if at == 0 { 0 } else { 55 + 40 * at };
            let at = at - 16;
            Some(rgb(step(at / 36), step(at / 6 % 6), step(at % 6)))
        }
        Color::Idx(at) => Some(rgb(8 + 10 * (at - 232), 8 + 10 * (at - 232), 8 + 10 * (at - 232))),
        Color::Rgb(red, green, blue) => Some(rgb(red, green, blue)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_where_it_stands_in_its_colour() {
        let (rows, columns) = (std::num::NonZeroU16::new(2).unwrap(), std::num::NonZeroU16::new(10).unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(b"a\r\n  \x1b[1;32m<b>\x1b[7mc");
        let svg = picture(parser.screen(), "trellis run", "");
        assert!(svg.contains("<text x=\"30.8\" y=\"59\" fill=\"#98c379\" font-weight=\"bold\" textLength=\"25.2\""), "{svg}");
        assert!(
            svg.contains(">&lt;b&gt;</text>") && svg.contains("<rect x=\"56.0\" y=\"46\" width=\"8.4\" height=\"18\" fill=\"#98c379\"/>"),
            "{svg}"
        );
    }
}
