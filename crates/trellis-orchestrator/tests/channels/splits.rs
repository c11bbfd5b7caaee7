//! Properties of long texts in parts (orchestrator 4.1).

use proptest::{collection::vec, prelude::*, sample::select};
use trellis_orchestrator::channel::parts;
use unicode_segmentation::UnicodeSegmentation as _;

/// Pieces that texts are made of: words, marks, and what is easily cut in half.
const PIECES: [&str; 24] = [
    "word ",
    "a",
    "longer-word-without-a-space",
    ". ",
    "! ",
    "。",
    "\n",
    "\n\n",
    "```\n",
    "```rust\n",
    "~~~\n",
    "~~~~ text\n",
    "`code` ",
    "    indented\n",
    "👨‍👩‍👧‍👦",
    "🇰🇷",
    "e\u{301}",
    "한국어 ",
    "👍🏽",
    "\u{200d}",
    "> quoted\n",
    "- item\n",
    "| a | b |\n",
    "\t",
];

fn text() -> impl Strategy<Value = String> {
    vec((select(PIECES.to_vec()), 1..40_usize), 0..60)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, times)| piece.repeat(times)).collect())
}

/// Returns whether a line opens or closes a fence.
fn is_fence(line: &str) -> bool {
    ["```", "~~~"].iter().any(|ticks| line.trim_start().starts_with(ticks))
}

/// Returns the text without fences and spaces.
fn content(text: &str) -> String {
    text.lines().filter(|line| !is_fence(line)).flat_map(str::chars).filter(|char| !char.is_whitespace()).collect()
}

/// Returns whether a fence is open at the end of a text.
fn is_open(text: &str) -> bool {
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim_start).filter(|line| is_fence(line)) {
        let tick = &line[..1];
        let ticks = &line[..line.len() - line.trim_start_matches(tick).len()];
        match &open {
            Some(opened) if ticks.starts_with(&**opened) && line.trim() == ticks => open = None,
            Some(_) => {}
            None if !(tick == "`" && line[ticks.len()..].contains('`')) => open = Some(ticks.to_owned()),
            None => {}
        }
    }
    open.is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // orchestrator 4.1: no part is longer than the limit, nothing is lost, no character is cut, and each fence is closed
    #[test]
    fn parts_are_whole(text in text(), limit in 200..900_usize) {
        let parts = parts(&text, limit);
        for part in &parts {
            prop_assert!(part.encode_utf16().count() <= limit, "{part:?}");
        }
        let together = parts.join("\n");
        prop_assert_eq!(content(&together), content(&text));
        let last = parts.len() - 1;
        prop_assert!(parts[..last].iter().all(|part| !is_open(part)), "{parts:?}");
        // A character is cut only where it is longer than a part.
        let whole: Vec<&str> = text.graphemes(true).filter(|part| part.encode_utf16().count() < 100).collect();
        let longest = text.graphemes(true).map(|part| part.encode_utf16().count()).max().unwrap_or_default();
        if longest < 100 {
            let of = |text: &str, piece: &str| text.graphemes(true).filter(|part| *part == piece).count();
            for piece in ["👨‍👩‍👧‍👦", "🇰🇷", "e\u{301}", "👍🏽"] {
                prop_assert_eq!(of(&together, piece), whole.iter().filter(|part| **part == piece).count(), "{}", piece);
            }
        }
    }

    // a text that fits is one part, as it is
    #[test]
    fn what_fits_stays_whole(text in "[a-z `~\n]{0,180}") {
        prop_assert_eq!(parts(&text, 200), vec![text.trim_end().to_owned()]);
    }
}
