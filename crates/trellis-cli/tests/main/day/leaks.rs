//! The search for secrets, in everything that a day has left behind (orchestrator 3.3).

use std::{collections::BTreeSet, fs, ops::Range, path::Path};

use aho_corasick::AhoCorasick;

use super::Day;

const CORPUS: &str = include_str!("../../../../trellis-orchestrator/src/seal/corpus.tsv");

/// The lines of the corpus that have a secret.
pub(super) fn lines() -> Vec<String> {
    marked().map(|text| text.replace(['⟦', '⟧'], "")).collect()
}

/// Their secrets.
pub(super) fn corpus() -> Vec<String> {
    marked().filter_map(|text| Some(text.split_once('⟦')?.1.split_once('⟧')?.0.to_owned())).collect()
}

fn marked() -> impl Iterator<Item = String> {
    let lines = CORPUS.lines().filter_map(|line| line.split_once('\t'));
    lines.filter(|(kind, _)| *kind != "-").map(|(_, text)| text.replace("\\n", "\n"))
}

/// Finds the places of values: each place with its value. `shown` holds the pages of the dashboard.
pub(super) fn search(day: &Day, shown: &[(String, String)], values: &[String]) -> Vec<String> {
    let forms: Vec<(&String, String)> = values.iter().flat_map(|value| forms(value).map(|form| (value, form))).collect();
    let patterns = AhoCorasick::new(forms.iter().map(|(_, form)| form)).unwrap();
    let mut found = BTreeSet::new();
    let mut look = |place: &str, bytes: &[u8]| {
        for hit in patterns.find_overlapping_iter(bytes) {
            let (value, form) = &forms[hit.pattern().as_usize()];
            if is_whole(form, bytes, hit.range()) {
                found.insert(format!("{place}: {value}"));
            }
        }
    };
    // Files, databases, logs and dead letters; the graph is a copy that was there before.
    for folder in ["workspace", "log"] {
        files(&day.sandbox.path().join(folder), &mut |path, bytes| look(&path.display().to_string(), bytes));
    }
    for (path, text) in shown {
        look(path, text.as_bytes());
    }
    for (number, request) in day.model.requests().iter().enumerate() {
        look(&format!("request {number} of the model"), request.to_string().as_bytes());
    }
    for message in day.provider.sent() {
        look(&format!("message {} of the chat", message.n), message.body.to_string().as_bytes());
    }
    found.into_iter().collect()
}

/// Returns the forms of a value: as it is, as in JSON, and in Base64.
fn forms(value: &str) -> [String; 3] {
    let json = serde_json::to_string(value).unwrap_or_default();
    [value.to_owned(), json.trim_matches('"').to_owned(), base64(value.as_bytes())]
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    // Whole groups only: what follows may be another value.
    bytes
        .chunks_exact(3)
        .flat_map(|group| {
            let bits = group.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
            [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]
        })
        .collect()
}

/// Returns whether a hit is the value itself: one of digits only may be a part of a number or of an id.
fn is_whole(form: &str, bytes: &[u8], at: Range<usize>) -> bool {
    let is_part = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    !form.bytes().all(|byte| byte.is_ascii_digit()) || !(is_part(at.start.checked_sub(1)) || is_part(Some(at.end)))
}

pub(super) fn files(path: &Path, see: &mut dyn FnMut(&Path, &[u8])) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| files(&entry.path(), see));
    } else {
        see(path, &fs::read(path).unwrap());
    }
}
