//! Compiling never panics on any bytes: random ones, and the suite's own graphs with damage done to them.

use std::collections::{BTreeMap, HashSet};

use trellis_core::{Code, Source, syntax::document::Bytes};
use trellis_tests::harness::{
    Loaded,
    case::read_sheet,
    fuzz,
    run::{guarded, markdown_files},
};

use super::{coverage::Coverage, rng::Rng, share::Share};
use crate::{HOST_ONLY, repository};

/// Damaged graphs in all.
const MUTANTS: u64 = 62_500;
/// Random texts in all.
const TEXTS: u64 = 20_000;

/// The pieces of damage.
const PIECES: [&str; 60] = [
    "",
    "\n",
    "---\n",
    "...\n",
    ": ",
    "- ",
    "{{ ",
    " }}",
    "{% ",
    " %}",
    "{{ x }}",
    "\t",
    "  ",
    "#",
    "'",
    "\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    "|\n",
    ">\n",
    "&a ",
    "*a",
    "!!str ",
    "? ",
    "é",
    "\u{feff}",
    "\r\n",
    "\0",
    "\u{2028}",
    "to: ",
    "wait: true\n",
    "do: t\n",
    "options: [a, a]\n",
    "start",
    "nowhere",
    "rollback",
    "sys.x",
    "input",
    "on_error: x\n",
    "30s",
    "-1",
    "99999999999999999999",
    "1e999",
    "true",
    "null",
    "~",
    "{{secret:a}}",
    "| upper",
    " and ",
    " == ",
    "save_to: ",
    "id: start\n",
    "tools: [./a.yaml]\n",
    "type: tool\n",
    "context_schema: { a: x }\n",
    "transitions:\n",
    "\\",
];

#[test]
fn damaged_graphs_compile_or_say_why() {
    let corpus = corpus();
    assert!(corpus.len() > 100, "the corpus has only {} graphs", corpus.len());
    let mut coverage = Coverage::default();
    let share = Share::of_today();
    // The graphs that show each code: every other turn picks a code first, so that rare ones are damaged as often as common ones.
    let mut by_code: BTreeMap<Code, Vec<usize>> = BTreeMap::new();
    for (at, files) in corpus.iter().enumerate() {
        let loaded = guarded(|| Loaded::new(files)).unwrap_or_else(|panic| panic!("{panic}\n{}", shown(files)));
        for diagnostic in &loaded.compiled.diagnostics {
            by_code.entry(diagnostic.code).or_default().push(at);
        }
    }
    for turn in share.of(MUTANTS) {
        let mut rng = Rng::new((7 << 32) + turn);
        let of_a_code = by_code.values().nth(rng.below(by_code.len())).filter(|_| turn % 2 == 0);
        let at = match of_a_code {
            Some(graphs) => *rng.pick(graphs),
            None => rng.below(corpus.len()),
        };
        let files = damaged(&corpus[at], &mut rng);
        let loaded = guarded(|| Loaded::new(&files)).unwrap_or_else(|panic| panic!("{panic}\n{}", shown(&files)));
        for diagnostic in &loaded.compiled.diagnostics {
            coverage.hit("code", diagnostic.code.as_str());
        }
        if turn % 16 == 0 {
            let flaws = guarded(|| loaded.flaws(&files)).unwrap_or_else(|panic| panic!("{panic}\n{}", shown(&files)));
            assert!(flaws.is_empty(), "{}\n{}", flaws.join("\n"), shown(&files));
        }
    }
    let codes: Vec<&str> = Code::ALL.iter().filter(|code| !HOST_ONLY.contains(code)).map(|code| code.as_str()).collect();
    coverage.assert("code", &codes, share.least(100));
}

#[test]
fn random_bytes_are_no_reason_to_panic() {
    for turn in Share::of_today().of(TEXTS) {
        let mut rng = Rng::new((11 << 32) + turn);
        let mut bytes = Vec::new();
        for _ in 0..rng.below(40) {
            if rng.chance(10) {
                bytes.push(u8::try_from(rng.below(256)).expect("a byte"));
            } else {
                bytes.extend(rng.pick(&PIECES).bytes());
            }
            if rng.chance(5) {
                bytes.extend(b"\n=====\n");
            }
        }
        guarded(|| fuzz::run(&bytes)).unwrap_or_else(|panic| panic!("{panic}\n{:?}", String::from_utf8_lossy(&bytes)));
    }
}

/// Every graph of the suite and the docs, once: many cases share theirs.
pub(super) fn corpus() -> Vec<Vec<Source>> {
    let mut files = markdown_files(&repository().join("tests/suite"));
    files.extend(markdown_files(&repository().join("docs")));
    let sheets = files.iter().map(|path| read_sheet(path).unwrap_or_else(|error| panic!("{error}")));
    let mut seen = HashSet::new();
    sheets.flat_map(|sheet| sheet.cases).map(|case| case.files).filter(|files| !files.is_empty() && seen.insert(files.clone())).collect()
}

/// A graph with a little damage in one of its files.
pub(super) fn damaged(files: &[Source], rng: &mut Rng) -> Vec<Source> {
    let mut files = files.to_vec();
    let at = rng.below(files.len());
    if rng.chance(5) {
        files.remove(at);
        return files;
    }
    let Bytes::Read(bytes) = &files[at].bytes else { return files };
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + usize::from(rng.chance(25)) {
        let from = rng.below(bytes.len() + 1);
        let to = (from + rng.below(12)).min(bytes.len());
        match rng.below(5) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => drop(bytes.splice(from..from, rng.pick(&PIECES).bytes())),
            3 => drop(bytes.splice(from..to, rng.pick(&PIECES).bytes())),
            _ => {
                let copied = bytes[from..to].to_vec();
                let target = rng.below(bytes.len() + 1);
                bytes.splice(target..target, copied);
            }
        }
    }
    files[at].bytes = Bytes::Read(bytes.into());
    files
}

pub(super) fn shown(files: &[Source]) -> String {
    let text = |file: &Source| match &file.bytes {
        Bytes::Read(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Bytes::TooLarge { .. } => "too large".into(),
    };
    files.iter().map(|file| format!("--- {}\n{}\n{:?}\n", file.path, text(file), text(file))).collect()
}
