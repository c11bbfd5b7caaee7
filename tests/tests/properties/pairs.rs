//! A mistake in one file hides no mistake in another: mistakes are seeded into two files of sound graphs, alone and together.

use std::collections::BTreeMap;

use trellis_core::{Code, Diagnostic, Source, syntax::document::Bytes};
use trellis_tests::harness::Loaded;

use super::bytes::{corpus, shown};

/// A slip in the text of a file, and the code that is found for it; nothing where the file has no place for it.
type Slip = fn(&str) -> Option<String>;

/// One of so many graphs is taken, and one of so many pairs of mistakes in it.
const EVERY: usize = 25;
const SOME: usize = 5;

/// Slips that an author makes in a node.
const SLIPS: [(&str, Slip); 14] = [
    ("a target that is not there", misspelt),
    ("a target of an error that is not there", |text| keyed(text, "on_signal: { stop: startt }")),
    ("a key that is not there", |text| keyed(text, "frobnicate: 1")),
    ("a duration that is none", |text| keyed(text, "x-a: 1\nmax_visits: soon")),
    ("a value of the wrong type beside what is said", |text| keyed(text, "metadata: soon")),
    ("a schema that is none", |text| keyed(text, "context_schema: { zz_key: strin }")),
    // Beside `messages`, a body is shown in some locales only: with a broken entry it is not certain that it ever is.
    ("a key that nothing sets", |text| (!text.contains("messages:")).then(|| format!("{text}\n{{{{ zz_unset }}}}\n"))),
    ("a key that nothing sets, where it is asked for", |text| keyed(text, "required_context: [zz_unset]")),
    ("a filter that is not there", |text| Some(format!("{text}\n{{{{ sys.session | zzfilter }}}}\n"))),
    ("a template that does not end", |text| Some(format!("{text}\n{{{{ sys.session \n"))),
    ("a condition that is none", |text| keyed(text, "assert: [\"zz_key ==\"]")),
    ("a secret that is shown", |text| Some(format!("{text}\n{{{{secret:zz}}}}\n"))),
    ("a tool library that is not there", |text| keyed(text, "tools: [./zz_missing.yaml]")),
    ("a tool without a name", |text| keyed(text, "tools: [{ description: none }]")),
];

/// Slips that are a file of their own.
const FILES: [(&str, &str, &str); 3] = [
    ("a node that nothing leads to", "zz_lonely.md", "---\nend: finished\n---\nNobody comes here.\n"),
    ("a file that is no YAML", "zz_broken.md", "---\nto: [start\n---\n"),
    ("a node that shows what nothing sets", "zz_other.md", "---\nto: start\n---\n{{ zz_never }}\n"),
];

/// A file whose `to` has its last letter twice. A slip of `rollback` loses the only way to what comes after it, so what is there is not looked at.
fn misspelt(text: &str) -> Option<String> {
    let at = text.find("\nto: ")? + 1;
    let end = at + text[at..].find('\n')?;
    if text[at..end].ends_with(" rollback") {
        return None;
    }
    let last = text[at..end].chars().next_back().filter(|last| last.is_ascii_alphabetic())?;
    Some(format!("{}{last}{}", &text[..end], &text[end..]))
}

/// A file with one more key.
fn keyed(text: &str, line: &str) -> Option<String> {
    let key = line.split(':').next().unwrap_or_default();
    let is_free = text.starts_with("---\n") && !text.contains(&format!("\n{key}:"));
    // Behind all keys, since an `allow` is about the key that follows it.
    is_free.then(|| text.replacen("\n---\n", &format!("\n{line}\n---\n"), 1))
}

fn text(file: &Source) -> Option<&str> {
    match &file.bytes {
        Bytes::Read(bytes) => std::str::from_utf8(bytes).ok(),
        Bytes::TooLarge { .. } => None,
    }
}

/// A graph with a mistake: which, in which file, and what is found.
struct Seeded {
    what: &'static str,
    path: String,
    text: String,
    found: Vec<(Code, String)>,
}

fn with(files: &[Source], seeds: &[&Seeded]) -> Vec<Source> {
    let mut files = files.to_vec();
    for seed in seeds {
        files.retain(|file| *file.path != *seed.path);
        files.push(Source::text(seed.path.as_str(), &seed.text));
    }
    files
}

/// Returns the findings in the file of a mistake.
fn found_in(files: &[Source], path: &str) -> Vec<(Code, String)> {
    let at = |found: &Diagnostic| found.place.as_ref().is_some_and(|place| *place.path == *path);
    let found = Loaded::new(files).compiled.diagnostics;
    found.iter().filter(|found| at(found) && found.is_error()).map(|found| (found.code, found.message.clone())).collect()
}

fn seeded(files: &[Source]) -> Vec<Seeded> {
    let mut seeds = Vec::new();
    // A file without frontmatter may become a page when nothing leads to it any more.
    let is_node = |file: &&Source| file.path.ends_with(".md") && text(file).is_some_and(|text| text.starts_with("---"));
    for file in files.iter().filter(is_node) {
        for (what, slip) in SLIPS {
            if let Some(text) = text(file).and_then(slip) {
                // One name that nothing sets is one mistake, wherever it stands.
                let own = format!("zz_{}", file.path.replace(|char: char| !char.is_ascii_alphanumeric(), "_"));
                seeds.push(Seeded { what, path: file.path.to_string(), text: text.replace("zz_unset", &own), found: Vec::new() });
            }
        }
    }
    for (what, path, text) in FILES {
        seeds.push(Seeded { what, path: path.into(), text: text.into(), found: Vec::new() });
    }
    for seed in &mut seeds {
        seed.found = found_in(&with(files, &[seed]), &seed.path);
    }
    seeds.retain(|seed| !seed.found.is_empty());
    seeds
}

#[test]
fn a_mistake_in_one_file_hides_none_in_another() {
    let mut hidden: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut graphs, mut pairs) = (0, 0);
    for files in corpus() {
        let nodes = files.iter().filter(|file| file.path.ends_with(".md")).count();
        if !(2..=6).contains(&nodes) || !Loaded::new(&files).compiled.diagnostics.is_empty() {
            continue;
        }
        graphs += 1;
        if graphs % EVERY != 0 {
            continue;
        }
        let seeds = seeded(&files);
        for (at, one) in seeds.iter().enumerate() {
            for other in seeds[at + 1..].iter().filter(|other| other.path != one.path) {
                pairs += 1;
                if pairs % SOME != 0 {
                    continue;
                }
                let both = with(&files, &[one, other]);
                for (seed, by) in [(one, other), (other, one)] {
                    let found = found_in(&both, &seed.path);
                    for (code, message) in seed.found.iter().filter(|known| !found.contains(known)) {
                        let entry = hidden
                            .entry(format!("{code}: {} is hidden by {}", seed.what, by.what))
                            .or_insert_with(|| (0, format!("{message}; {} beside {}\n{}", seed.path, by.path, shown(&both))));
                        entry.0 += 1;
                    }
                }
            }
        }
    }
    println!("graphs: {graphs}; pairs: {pairs}");
    for (what, (count, _)) in &hidden {
        println!("{count:5} {what}");
    }
    for (what, (_, example)) in hidden.iter().take(8) {
        println!("---- {what}\n{example}");
    }
    assert!(pairs / SOME > 500, "only {pairs} pairs were there");
    assert!(hidden.is_empty(), "{} kinds of mistakes are hidden", hidden.len());
}
