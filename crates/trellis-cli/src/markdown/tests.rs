//! The cases under `cases/`, which an author can read: a heading, the Markdown, and its drawing in so many columns.
//!
//! A block's info string is a width, and `ascii` for a terminal without other characters, `styles` for the drawing with marks in place of styles.
//! `UPDATE=1` rewrites the blocks; the difference is read like code.

use std::{env, fs, path::Path};

use super::drawn;
use crate::{columns, terminal::Look};

const STYLED: Look = Look { styled: true, unicode: true };

fn plain(source: &str, width: usize) -> String {
    anstream::adapter::strip_str(&drawn(source, width, STYLED)).to_string()
}

/// Returns the content of the block with this info string.
fn expected(source: &str, info: &str) -> String {
    let mut words = info.split(' ');
    let width = words.next().and_then(|width| width.parse().ok()).unwrap_or_else(|| panic!("`{info}` does not begin with a width"));
    let rest = words.collect::<Vec<_>>();
    let look = Look { styled: !rest.contains(&"marks"), unicode: !rest.contains(&"ascii") };
    let text = drawn(source, width, look);
    for line in anstream::adapter::strip_str(&text).to_string().lines().filter(|line| !line.starts_with("    ")) {
        assert!(columns::width(line) <= width, "{width} columns: {line}");
    }
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn every_case_looks_as_it_is_drawn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/markdown/cases");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (mut out, mut source, mut fences) = (String::new(), String::new(), 0);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            out.push_str(line);
            out.push('\n');
            let Some(info) = line.strip_prefix("````").filter(|info| !info.is_empty()) else { continue };
            let body = lines.by_ref().take_while(|line| *line != "````").fold(String::new(), |body, line| body + line + "\n");
            if info == "markdown" {
                source.clone_from(&body);
                out.push_str(&body);
            } else {
                fences += 1;
                out.push_str(&expected(&source, info));
            }
            out.push_str("````\n");
        }
        assert!(fences > 0, "{} shows nothing", path.display());
        if out != text {
            if env::var_os("UPDATE").is_some() {
                fs::write(&path, &out).unwrap();
            }
            let differs = out.lines().zip(text.lines()).find(|(is, should)| is != should);
            wrong.push(format!("{}: {differs:?}", path.display()));
        }
    }
    assert!(wrong.is_empty() || env::var_os("UPDATE").is_some(), "{}", wrong.join("\n"));
}

#[test]
fn headings_and_emphasis_are_styled() {
    let text = drawn("## Head up\n\nan *odd* `key` ~~gone~~", 80, STYLED);
    assert!(text.contains("\u{1b}[1mHead up\u{1b}[0m"), "{text:?}");
    assert!(text.contains("\u{1b}[3modd") && text.contains("\u{1b}[36mkey") && text.contains("\u{1b}[9mgone"), "{text:?}");
}

#[test]
fn control_characters_and_deep_nesting_do_no_harm() {
    let hostile = format!("{}deep\u{1b}[2J\n", "> - ".repeat(3000));
    let text = plain(&hostile, 80);
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()));
    assert_eq!(plain("", 80), "");
    let link = plain("[see](https://a.b/\u{1b}]8;;evil) | `\u{9b}2J` <b\u{7}>\n\n```x \u{1b}[1m\n\u{8}\n```", 80);
    assert!(link.chars().all(|char| char == '\n' || !char.is_control()), "{link:?}");
}

#[test]
fn every_width_ends_and_keeps_every_letter() {
    let source = "# Überschrift 日本語のとても長い見出し\n\n| a | long heading |\n|--:|---|\n| 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧 | שלום עולם |\n\n1. e\u{301}e\u{301}e\u{301} donaudampfschifffahrtsgesellschaftskapitän\n   > quoted\n";
    for width in (0..200).chain([usize::MAX / 4]) {
        let text = plain(source, width);
        let letters = |text: &str| text.chars().filter(|char| char.is_alphabetic()).count();
        assert!(
            letters(&text)
                >= letters("Überschrift日本語のとても長い見出しalongheadingשלוםעולםeeedonaudampfschifffahrtsgesellschaftskapitänquoted"),
            "{width}: {text}"
        );
        assert!(width < 20 || text.lines().all(|line| columns::width(line) <= width), "{width}: {text}");
    }
}
