//! Texts before and after: what moves, what stays, and what is left alone.

use super::*;

/// The formatted text; the text itself where nothing changes.
fn formatted(path: &str, text: &str) -> String {
    match format(&Source::text(path, text)) {
        Formatted::Same => text.to_owned(),
        Formatted::Changed { from, to } => {
            assert_eq!(&*from, text);
            assert_ne!(to, text);
            to
        }
        Formatted::Broken { diagnostics, .. } => panic!("{text}: {diagnostics:?}"),
    }
}

/// Formats frontmatter or a whole file, twice.
#[track_caller]
fn becomes(path: &str, before: &str, after: &str) {
    let once = formatted(path, before);
    assert_eq!(once, after);
    assert_eq!(formatted(path, &once), once, "formatting again changes nothing");
}

#[track_caller]
fn node(before: &str, after: &str) {
    let file = |yaml: &str| format!("---\n{yaml}---\nto: {{{{ body }}}}  \n");
    becomes("a.md", &file(before), &file(after));
}

#[test]
fn keys_come_in_order_and_under_their_present_names() {
    node("to: b\ninput_type: text\nid: a\n", "id: a\ninput_type: text\nto: b\n");
    node("next: b\ninput_options: [x]\n", "options: [x]\nto: b\n");
    node("tool_call: { arguments: { z: 1, a: 2 }, tool: t }\n", "do: { name: t, args: { z: 1, a: 2 } }\n");
    node("\"to_node_id\": 'b'\n", "\"to\": 'b'\n");
    node("transitions:\n  - to: b\n    when: x\n  - { to_node_id: c }\n", "transitions:\n  - condition: x\n    to: b\n  - { to: c }\n");
}

#[test]
fn a_successor_that_is_there_too_keeps_the_old_name() {
    node("next: b\nto: c\n", "next: b\nto: c\n");
    node("text: b\nmessage: c\n", "text: b\nmessage: c\n");
}

#[test]
fn values_are_not_touched() {
    let set = "set: { z: 1, a: { to: x, id: y } }\n";
    node(&format!("to: b\n{set}"), &format!("{set}to: b\n"));
    node("to: b\nmetadata:\n  to: 1\n  id: 2\n", "metadata:\n  to: 1\n  id: 2\nto: b\n");
    node("to:   \"b\"   # why\noptions: [ 'x' ,y]\n", "options: [ 'x' ,y]\nto:   \"b\"   # why\n");
}

#[test]
fn comments_stay_with_what_they_stand_at() {
    node(
        "# the way out\n# goes home\nto: home  # always\n# what is heard\ninput_type: text\n",
        "# what is heard\ninput_type: text\n# the way out\n# goes home\nto: home  # always\n",
    );
    node("# the file\n\nto: b\nid: a\n", "# the file\n\nid: a\nto: b\n");
    node("to: b\n\n# heard\nid: a\n\n# the end\n", "# heard\nid: a\nto: b\n\n# the end\n");
    node(
        "to: b\ndo:\n  args: {}\n  # all of them\n  name: t\n    # deeper\n  # below\n# out\n",
        "do:\n  # all of them\n  name: t\n    # deeper\n  args: {}\n  # below\nto: b\n# out\n",
    );
    node(
        "# yaml-language-server: $schema=node.json\n# out\nto: b\nid: a\n",
        "# yaml-language-server: $schema=node.json\nid: a\n# out\nto: b\n",
    );
}

#[test]
fn comments_that_allow_findings_hold_for_what_they_held() {
    node("# trellis: allow(x)\n# out\nto: b\nid: a\n", "# trellis: allow(x)\nid: a\n# out\nto: b\n");
    node("# why\n#trellis: allow(x)\nto: b\nid: a\n", "# why\n#trellis: allow(x)\nid: a\nto: b\n");
    node("id: a\nto: b\n# trellis: allow(x)\nset: { c: d }\n", "id: a\n# trellis: allow(x)\nset: { c: d }\nto: b\n");
    node("do:\n  # trellis: allow(x)\n  args: {}\n  name: t\n", "do:\n  name: t\n  # trellis: allow(x)\n  args: {}\n");
    let text = "to: b\n# trellis: allow(x)\nid: a\n";
    node(text, text);
}

#[test]
fn comments_in_items_stay_with_their_key() {
    node(
        "transitions:\n  # first\n  - to: b\n    # only then\n    condition: x\n  # second\n  - to: c\n",
        "transitions:\n  # first\n  # only then\n  - condition: x\n    to: b\n  # second\n  - to: c\n",
    );
    node("options:\n-   to: b\n    text: B\n", "options:\n-   text: B\n    to: b\n");
    node("options:\n  - # one\n    to: b\n    text: B\n", "options:\n  - # one\n    text: B\n    to: b\n");
}

#[test]
fn parts_of_what_is_said_and_keys_of_options_are_put_in_order() {
    node("content:\n  - condition: a is set\n    text: A\n", "content:\n  - text: A\n    condition: a is set\n");
    node(
        "messages:\n  ko:\n    - condition: a is set\n      text: A\n  de:\n    content: [{ condition: b is set, text: B }]\n",
        "messages:\n  ko:\n    - text: A\n      condition: a is set\n  de:\n    content: [{ text: B, condition: b is set }]\n",
    );
    node(
        "options:\n  - to: b\n    append: { c: 1 }\n    set: { d: 2 }\n    save_to: e\n    text: B\n    value: f\n",
        "options:\n  - value: f\n    text: B\n    save_to: e\n    set: { d: 2 }\n    append: { c: 1 }\n    to: b\n",
    );
    node("output: 1\nreason: why\nend: failed\n", "end: failed\nreason: why\noutput: 1\n");
}

#[test]
fn block_scalars_move_with_every_line_of_theirs() {
    node(
        "to: b\non_invalid:\n  to: c\n  text: |+\n    one\n      # two\n\n\n  max: 3\n",
        "on_invalid:\n  text: |+\n    one\n      # two\n\n\n  max: 3\n  to: c\nto: b\n",
    );
    node("to: b\n\nid: a\non_invalid:\n  text: >-\n    x\n\n", "id: a\non_invalid:\n  text: >-\n    x\n\nto: b\n");
}

#[test]
fn unknown_keys_stay_behind_the_key_before_them() {
    node("x-note: top\nto: b\nx-why: because\nsavto: x\nid: a\n", "x-note: top\nid: a\nto: b\nx-why: because\nsavto: x\n");
}

#[test]
fn line_breaks_and_marks_stay() {
    becomes("a.md", "\u{feff}---\r\nto: b\r\nid: a\r\n---\r\nHi\r\n", "\u{feff}---\r\nid: a\r\nto: b\r\n---\r\nHi\r\n");
    becomes("a.yaml", "\u{feff}to: b\r\nid: a", "\u{feff}id: a\r\nto: b");
    becomes("a.yaml", "to: b\nid: a", "id: a\nto: b");
    becomes("a.yaml", "%YAML 1.2\n---\n# home\nto: b\nid: a\n...\n", "%YAML 1.2\n---\nid: a\n# home\nto: b\n...\n");
    becomes("a.md", "---\nto: b\nid: a\n---", "---\nid: a\nto: b\n---");
}

#[test]
fn json_keeps_its_layout() {
    becomes(
        "a.json",
        "{\n  \"to\": \"b\",\n  \"message\": \"Hi\",\n\t\"options\": [{\"to\":\"c\",\"text\":\"C\"}]\n}\n",
        "{\n  \"content\": \"Hi\",\n  \"options\": [{\"text\":\"C\",\"to\":\"c\"}],\n\t\"to\": \"b\"\n}\n",
    );
}

#[test]
fn every_kind_of_file_is_known() {
    becomes(
        "trellis.yaml",
        "bindings:\n  t:\n    effect: none\n    process: [t]\nname: x\n",
        "name: x\nbindings:\n  t:\n    process: [t]\n    effect: none\n",
    );
    becomes("flow.yaml", "nodes:\n  start: { to: b, wait: true }\nname: x\n", "name: x\nnodes:\n  start: { wait: true, to: b }\n");
    becomes("lib/shop.yaml", "tools:\n  - output_schema: {}\n    name: t\n", "tools:\n  - name: t\n    returns: {}\n");
    becomes("tools.yaml", "tools:\n  - args: [x]\n    command: t\n    name: t\n", "tools:\n  - name: t\n    command: t\n    args: [x]\n");
    for (path, text) in
        [("compose.yaml", "version: 3\ntext: x\nid: y\n"), ("page.md", "to: b\nid: a\n"), ("empty.yaml", ""), ("a.yaml", "- a\n")]
    {
        becomes(path, text, text);
    }
}

#[test]
fn anchors_keep_their_place_and_what_they_hold() {
    for yaml in ["to: &x b\nid: *x\n", "metadata: &m { message: a, id: b }\ntext: x\n"] {
        let renamed = yaml.replace("\ntext:", "\ncontent:");
        node(yaml, &renamed);
    }
    node(
        "to: b\noptions: [{ to: a, text: &t T }, { to: b, text: *t }]\n",
        "to: b\noptions: [{ to: a, text: &t T }, { to: b, text: *t }]\n",
    );
}

#[test]
fn what_stands_in_an_unusual_way_is_renamed_and_not_moved() {
    node("? to\n: b\nid: a\n", "? to\n: b\nid: a\n");
    node("options: [{ to: b, # c\n  text: B, }]\n", "options: [{ to: b, # c\n  text: B, }]\n");
    node("options: [{ next: b, text: }]\n", "options: [{ to: b, text: }]\n");
}

#[test]
fn files_that_cannot_be_read_are_left_alone() {
    for text in ["---\nto: [\n---\n", "---\nto: b\n", "---\nto: b\nto: c\n---\n", "---\nto: {{ x }}\n---\n", "---\nto: !x b\n---\n", "\0"] {
        let Formatted::Broken { diagnostics, .. } = format(&Source::text("a.md", text)) else { panic!("{text}") };
        assert!(!diagnostics.is_empty(), "{text}");
    }
}
