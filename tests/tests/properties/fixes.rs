//! Fixes mend what they say: over the suite, over single slips of the finger in sound graphs, over damaged ones.

use std::sync::Arc;

use trellis_core::{Code, Diagnostic, Source, syntax::document::Bytes};
use trellis_tests::harness::{Loaded, mended, run::guarded};

use super::{
    bytes::{corpus, damaged, shown},
    rng::Rng,
    share::Share,
};

/// Slips in all.
const SLIPS: u64 = 6_000;
/// Damaged graphs in all.
const MUTANTS: u64 = 8_000;

fn text(file: &Source) -> Option<&str> {
    match &file.bytes {
        Bytes::Read(bytes) => std::str::from_utf8(bytes).ok(),
        Bytes::TooLarge { .. } => None,
    }
}

fn same(one: &[Source], other: &[Source]) -> bool {
    one.iter().zip(other).all(|(one, other)| text(one) == text(other))
}

#[test]
fn what_is_sound_is_not_touched_and_what_was_mended_is_mended_once() {
    let (mut sound, mut changes) = (0, 0);
    for files in corpus() {
        let found = Loaded::new(&files).compiled.diagnostics;
        let (after, made) = mended(&files);
        changes += made;
        if found.is_empty() {
            assert!(made == 0 && same(&files, &after), "a sound graph was changed:\n{}", shown(&files));
            sound += 1;
        }
        let (again, more) = mended(&after);
        assert!(more == 0 && same(&after, &again), "changed again:\n{}\n=>\n{}", shown(&files), shown(&after));
    }
    println!("sound graphs: {sound}; changes: {changes}");
    assert!(sound > 200 && changes > 50, "only {sound} graphs are sound, only {changes} changes were made");
}

#[test]
fn line_breaks_and_byte_order_marks_stay_and_change_nothing() {
    let mut changes = 0;
    for files in corpus() {
        let is_plain = |file: &Source| text(file).is_some_and(|text| !text.contains(['\r', '\u{feff}']));
        if !files.iter().all(is_plain)
            || files.iter().any(|file| text(file).is_some_and(|text| text.contains("|\n") || text.contains(">\n")))
        {
            continue;
        }
        let windows = |file: &Source| {
            Source::text(Arc::clone(&file.path), &format!("\u{feff}{}", text(file).unwrap_or_default().replace('\n', "\r\n")))
        };
        let windows: Vec<Source> = files.iter().map(windows).collect();
        let (expected, made) = mended(&files);
        let (after, _) = mended(&windows);
        if made == 0 {
            continue;
        }
        changes += made;
        for (after, expected) in after.iter().zip(&expected) {
            let text_after = text(after).unwrap_or_default();
            let plain = text_after.strip_prefix('\u{feff}').expect("the mark stays").replace("\r\n", "\n");
            assert_eq!(plain, text(expected).unwrap_or_default(), "{}", shown(&files));
            assert_eq!(text_after.matches('\n').count(), text_after.matches("\r\n").count(), "mixed line breaks:\n{text_after:?}");
        }
    }
    assert!(changes > 50, "only {changes} changes were made");
}

#[test]
fn a_slip_of_the_finger_is_mended_or_left_as_it_is() {
    let sound: Vec<Vec<Source>> = corpus().into_iter().filter(|files| Loaded::new(files).compiled.diagnostics.is_empty()).collect();
    let share = Share::of_today();
    let (mut offered, mut healed, mut restored) = (0, 0, 0);
    for turn in share.of(SLIPS) {
        let mut rng = Rng::new((31 << 32) + turn);
        let files = rng.pick(&sound);
        let Some(slipped) = slipped(files, &mut rng) else { continue };
        let found = Loaded::new(&slipped).compiled.diagnostics;
        if found.iter().all(|found| found.fix.is_none()) {
            continue;
        }
        offered += 1;
        let (after, _) = mended(&slipped);
        let left = Loaded::new(&after).compiled.diagnostics;
        let errors = |found: &[Diagnostic]| found.iter().filter(|found| found.is_error()).count();
        healed += usize::from(errors(&left) == 0);
        restored += usize::from(same(&after, files));
        assert!(
            left.iter().all(|found| found.fix.is_none()),
            "there is still something to mend:\n{left:?}\n{}\n=>\n{}",
            shown(&slipped),
            shown(&after)
        );
        let is_broken = |found: &[Diagnostic]| found.iter().any(|found| matches!(found.code, Code::YamlSyntax | Code::UnclosedFrontmatter));
        assert!(is_broken(&found) || !is_broken(&left), "a change broke a file:\n{}\n=>\n{}", shown(&slipped), shown(&after));
    }
    println!("slips with a change: {offered}; sound again: {healed}; as before: {restored}");
    assert!(offered > share.least(500), "only {offered} slips can be mended");
    assert!(healed * 100 >= offered * 97, "only {healed} of {offered} are sound again");
    assert!(restored * 100 >= offered * 90, "only {restored} of {offered} are as before");
}

/// The graph with two neighbouring letters of one word exchanged, or one left out; in frontmatter, YAML or a template.
fn slipped(files: &[Source], rng: &mut Rng) -> Option<Vec<Source>> {
    let at = rng.below(files.len());
    let text = text(&files[at])?;
    let body = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n")).map_or(0, |end| end + 4);
    let mut words: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for (offset, char) in text.char_indices().chain([(text.len(), ' ')]) {
        if char.is_ascii_alphabetic() || char == '_' {
            continue;
        }
        if offset - start >= 4 && text.is_char_boundary(start) && (start < body || text[..start].ends_with("{{ ") || body == 0) {
            words.push((start, offset));
        }
        start = offset + char.len_utf8();
    }
    if words.is_empty() {
        return None;
    }
    let (start, end) = *rng.pick(&words);
    let mut letters: Vec<char> = text[start..end].chars().collect();
    let which = 1 + rng.below(letters.len() - 2);
    if rng.chance(50) {
        letters.swap(which, which - 1);
    } else {
        letters.remove(which);
    }
    let word: String = letters.into_iter().collect();
    let mut slipped = files.to_vec();
    slipped[at] = Source::text(Arc::clone(&files[at].path), &format!("{}{word}{}", &text[..start], &text[end..]));
    Some(slipped)
}

#[test]
fn damaged_graphs_are_mended_in_few_rounds_or_left_alone() {
    let corpus = corpus();
    let share = Share::of_today();
    let mut changes = 0;
    for turn in share.of(MUTANTS) {
        let mut rng = Rng::new((47 << 32) + turn);
        let files = damaged(&corpus[rng.below(corpus.len())], &mut rng);
        let (after, made) = guarded(|| mended(&files)).unwrap_or_else(|panic| panic!("{panic}\n{}", shown(&files)));
        changes += made;
        let left = Loaded::new(&after).compiled.diagnostics;
        assert!(left.iter().all(|found| found.fix.is_none()), "it goes round: {left:?}\n{}\n=>\n{}", shown(&files), shown(&after));
    }
    assert!(changes > share.least(1_000), "only {changes} changes were made");
}
