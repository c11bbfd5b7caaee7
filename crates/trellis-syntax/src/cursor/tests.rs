//! Cursors in texts that are being written.

use super::*;

/// The path of the cursor `‸`, its place, what is typed, and the form.
fn at(path: &str, marked: &str) -> String {
    let offset = marked.find('‸').expect("a cursor");
    let text = marked.replace('‸', "");
    let context = cursor_context(path, &text, offset);
    let steps: Vec<String> = context
        .path
        .iter()
        .map(|step| match step {
            CursorStep::Key(key) => key.clone(),
            CursorStep::Item => "-".into(),
        })
        .collect();
    let form = context.form.map_or("nothing", |form| form.name);
    let template = context.template.map_or_else(String::new, |template| format!(" in `{template}`"));
    format!("{} {:?} `{}` of {form}{template}", steps.join("/"), context.place, context.prefix)
}

#[test]
fn a_cursor_stands_in_a_key_or_a_value() {
    for (marked, expected) in [
        ("---\nto‸\n---\n", " Key `to` of a node"),
        ("---\nto: gr‸\n---\n", "to Value `gr` of a node"),
        ("---\nto: ‸", "to Value `` of a node"),
        ("---\ntransitions:\n  - condition: na‸\n    to: x\n---\n", "transitions/-/condition Value `na` of a transition"),
        ("---\ntransitions:\n  - co‸\n---\n", "transitions/- Key `co` of a transition"),
        ("---\ntransitions:\n- { condition: a == \"b\", to: ‸\n---\n", "transitions/-/to Value `` of a transition"),
        ("---\ntransitions:\n  - { ‸ }\n---\n", "transitions/- Key `` of a transition"),
        ("---\ndo:\n  name: se‸\n---\n", "do/name Value `se` of a call"),
        ("---\ndo:\n  ‸\n---\n", "do Key `` of a call"),
        ("---\nset: { a: \"{{ na‸\n---\n", "set/a Value `{{ na` of nothing in ` na`"),
        ("---\ncontent: |\n  Hello {{ na‸\n---\n", "content Value `Hello {{ na` of a node in ` na`"),
        ("---\n---\nHello {{ name | def‸ }}\n", " Body `def` of nothing in ` name | def`"),
        ("---\n---\nHello {{ name }} and‸\n", " Body `and` of nothing"),
    ] {
        assert_eq!(at("a.md", marked), expected, "{marked}");
    }
    assert_eq!(at("trellis.yaml", "name: x\nretry:\n  ‸"), "retry Key `` of `retry`");
    assert_eq!(at("flow.yaml", "nodes:\n  start:\n    to‸"), "nodes/start Key `to` of a node");
}

#[test]
fn keys_beside_the_cursor_are_known() {
    for (marked, expected) in [
        ("---\nid: x\ndo:\n  name: a\n  ‸\n  args: {}\nto: y\n---\n", &["name", "args"][..]),
        ("---\nsave_to: a\ninput_type: text\n\nto: b\n‸\n---\n", &["to", "input_type", "save_to"]),
        ("---\nset:\n  a: 1\ntransitions:\n- to: b\n# why\n\nt‸\n\nend: failed\n---\n", &["transitions", "set", "end"]),
        ("---\ndo:\n  name: a\n  args:\n  - name: b\n  ‸\n---\n", &["args", "name"]),
        ("---\ntransitions:\n  - condition: a\n    to: b\n  - t‸\n---\n", &[]),
        ("---\ntransitions:\n  - condition: a\n    to: b\n  - ‸\n    to: c\n---\n", &["to"]),
        ("---\ntransitions:\n  - condition: a\n    to: b\n  - condition: c\n    t‸\n---\n", &["condition"]),
        ("---\ntransitions:\n- condition: a\n  to: b\n- ‸\n- condition: c\n---\n", &[]),
    ] {
        let offset = marked.find('‸').expect("a cursor");
        let context = cursor_context("a.md", &marked.replace('‸', ""), offset);
        assert_eq!(context.present, expected, "{marked}");
    }
}

#[test]
fn it_never_fails() {
    for text in ["", "---", "---\n- - -\n", "\u{feff}---\r\nto:\r\n---\r\n", "a: [{b: {\n}}]\n{{", "😀: 😀\n- 😀"] {
        for path in ["a.md", "a.yaml", "trellis.yaml", "a.json"] {
            for offset in 0..=text.len() + 2 {
                let context = cursor_context(path, text, offset);
                assert!(context.prefix_span.end as usize <= text.len());
            }
        }
    }
}
