//! Broken files of all kinds: cut off at any byte, random bytes, random characters of YAML.

use super::{
    super::document::{Document, Source},
    parse,
};
use trellis_base::template::Dialect;

/// Marsaglia's xorshift: the same junk on every run.
struct Junk(u64);

impl Junk {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

const SAMPLES: [(&str, &str); 6] = [
    ("all.md", include_str!("all.md")),
    ("mistakes.md", include_str!("mistakes.md")),
    ("calls.yaml", include_str!("calls.yaml")),
    ("trellis.yaml", include_str!("project.yaml")),
    ("a.md", "\u{feff}---\r\ncontent: |\r\n  Olá {{ x }}\r\nto: b\r\n---\r\nSee [b](b.md), {{ y }}\r\n"),
    ("a.json", "{\"content\": \"caf\\u00e9 \\ud83d\\ude00\", \"to\": \"b\", \"set\": {\"a\": [1, {\"b\": null}]}}"),
];

#[test]
fn files_cut_off_at_any_byte_are_parsed() {
    for (path, text) in SAMPLES {
        for end in 0..=text.len() {
            let document = Document::parse(&Source::new(path, &text.as_bytes()[..end]), Dialect::Jinja);
            let well_formed = document
                .diagnostics
                .iter()
                .flat_map(|found| &found.place)
                .all(|place| place.span.end as usize <= end && place.span.start <= place.span.end);
            assert!(well_formed, "{path} cut at {end}: {:?}", document.diagnostics);
        }
    }
}

#[test]
fn junk_is_parsed() {
    let mut junk = Junk(0x9e37_79b9_7f4a_7c15);
    let alphabet: Vec<char> = "{}[]:,-\"'|>&*!%@`#?~ \t\n\r\\.abtoéß😀01\u{feff}".chars().collect();
    for round in 0..3_000 {
        let bytes: Vec<u8> = (0..junk.below(60)).map(|_| u8::try_from(junk.below(256)).unwrap()).collect();
        Document::parse(&Source::new(if round % 2 == 0 { "a.md" } else { "a.yaml" }, bytes), Dialect::Jinja);
        let text: String = (0..junk.below(60)).map(|_| alphabet[junk.below(alphabet.len())]).collect();
        parse("a.yaml", &text);
        parse("a.md", &format!("---\n{text}\n---\n{text}"));
        let (path, sample) = SAMPLES[junk.below(SAMPLES.len())];
        let mut broken: Vec<char> = sample.chars().collect();
        for _ in 0..=junk.below(3) {
            let at = junk.below(broken.len());
            broken[at] = alphabet[junk.below(alphabet.len())];
        }
        parse(path, &broken.into_iter().collect::<String>());
    }
}
