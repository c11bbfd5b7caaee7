//! The quick reader against the whole parser: what both read is the same, to the byte.

use super::read;
use crate::tree::{MAX_YAML_DEPTH, build};
use trellis_base::diagnostic::Report;

/// Marsaglia's xorshift: the same documents on every run.
struct Junk(u64);

impl Junk {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn one_of<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[self.below(of.len())]
    }
}

/// Returns whether the quick reader takes `text`; its result must then be that of the whole parser.
fn is_quick(text: &str) -> bool {
    // A place before and behind, as the fences of a Markdown file.
    let whole = format!("---\n{text}---\nx: y\n");
    let range = 4..4 + text.len();
    let Some(quick) = read(&whole, range.clone()) else { return false };
    let mut report = Report::new(&"a.md".into());
    let slow = build::build(&whole, range, &mut report);
    assert!(report.diagnostics.is_empty(), "{text}\n{:?}", report.diagnostics);
    assert_eq!(format!("{quick:#?}"), format!("{:#?}", slow.unwrap().unwrap()), "{text}");
    true
}

#[test]
fn what_graphs_are_written_in_is_read_quickly() {
    for text in [
        "to: a\n",
        "to: a",
        "# c\n\ninput_type: int # c\ninput_schema: { minimum: 0, maximum: 9 }\n\nsave_to: x\n",
        "transitions:\n  - { condition: a == 0, to: /b/c }\n  - condition: x\n    to: y\n\n  # c\n  - to: c\n",
        "transitions:\n- to: a # c\n- to: b\nset: { a: [1, -2.5, 'c d', \"e, {{ f }}\"], b: {}, c: [] }\n",
        "options: [caf\u{e9} \u{1f600}, { value: b == \"c\", text: d's }]\n",
        "do:\n  tool: x\n  args:\n    a: \"{{ b }}\"\n    c: it's [so]\non_error: d\n",
    ] {
        assert!(is_quick(text), "{text}");
    }
}

#[test]
fn what_is_not_certain_is_left_to_the_whole_parser() {
    for text in [
        "",
        "# c\n",
        "a\n",
        "a:\n",
        "a:\nb: c\n",
        "a: b\n  c\n",
        "a: b\na: c\n",
        "true: b\n",
        "a: |\n  b\n",
        "a: &b c\n",
        "a: {{ b }}\n",
        "a: { b, c: d }\n",
        "a: [b: c]\n",
        "a: \"b\\n\"\n",
        "a: 'it''s'\n",
        "a: b: c\n",
        "a:\tb\n",
        "a: b\u{a0}\n",
        "a: b\u{2028}\n",
        "  a: b\nc: d\n",
        "---\na: b\n",
        "- - a\n",
    ] {
        assert!(!is_quick(text), "{text}");
    }
    assert!(!is_quick(&format!("a: {}{}\n", "[".repeat(MAX_YAML_DEPTH), "]".repeat(MAX_YAML_DEPTH))));
}

#[test]
fn random_documents_read_the_same() {
    let parts = [
        "a: ",
        "b: ",
        "to:",
        "c",
        "d e",
        "- ",
        "- ",
        "\n",
        "\n",
        "\n  ",
        "\n  ",
        "\n    ",
        "\n- ",
        "\n  - ",
        "\n\n",
        " # c",
        "#",
        "# c\n",
        "{ ",
        " }",
        "[",
        "]",
        ", ",
        "a: b",
        "x == 1",
        "\"q\"",
        "'r s'",
        "\"",
        "'",
        "{{ x }}",
        "null",
        "~",
        "-1",
        "-",
        "--",
        "---",
        "...",
        ".5",
        "/p",
        ":",
        " ",
        "  ",
        "|",
        ">",
        "&a",
        "*a",
        "!t",
        "?",
        "? ",
        "%",
        "@",
        "`",
        "\\",
        "\t",
        "\r\n",
        "\u{e9}",
        "true",
        "0x1F",
        "$",
        "(a)",
        "+",
        "=",
        "\u{65e5}: ",
        "\u{65e5}",
        "\u{1f600}",
        "\u{a0}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{3000}",
        "\u{1680}",
        "<<: ",
        "~:",
        "a:b",
        "http://x",
        "k_1-z: ",
    ];
    let mut junk = Junk(0x9e37_79b9_7f4a_7c15);
    let mut quick = 0;
    for _ in 0..200_000 {
        let text: String = (0..1 + junk.below(12)).map(|_| junk.one_of(&parts)).collect();
        quick += usize::from(is_quick(&text));
    }
    // Broken nodes: lines of real ones, one byte changed.
    let lines = [
        "to: a\n",
        "a:\n",
        "  - to: b\n",
        "    x: y # c\n",
        "- c: { d: 1, e: [f, 'g'] }\n",
        "  h: i\n",
        "# j\n",
        "\n",
        "k: \"l {{ m }}\"\n",
        "  n:\n",
        "    o: p\n",
        "- q\n",
        "- 'r'\n",
        "  - s\n",
    ];
    for round in 0..200_000 {
        let mut text: String = (0..1 + junk.below(8)).map(|_| junk.one_of(&lines)).collect();
        if round % 2 == 0 {
            let at = junk.below(text.len());
            text.replace_range(at..=at, junk.one_of(&parts));
        }
        quick += usize::from(is_quick(&text));
    }
    assert!(quick > 20_000, "{quick} of the documents are as simple as that");
}
