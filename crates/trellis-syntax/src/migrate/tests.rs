//! Files before and after: what changes, what stays, and what is left with its reason.

use super::*;
use crate::document::Source;
use trellis_base::{
    template::Dialect,
    value::{Mapping, Value},
};

fn parsed(path: &str, text: &str) -> Arc<Document> {
    Arc::new(Document::parse(&Source::text(path, text), Dialect::Jinja))
}

/// The file with its keys rewritten, in a graph that also has the nodes `choice` and `end`, and no tool `get_os`.
fn migrated(path: &str, text: &str) -> (String, Migrated, Commands) {
    let documents = [parsed(path, text), parsed("choice.json", "{}"), parsed("end.md", "---\n---\n")];
    let mut commands = Commands { unknown: ["get_os".to_owned()].into(), ..Commands::default() };
    let out = forms(&documents[0], &GraphNames::of(&documents, true), &mut commands);
    let after = out.applied(text).expect("no two changes touch");
    (after, out, commands)
}

#[track_caller]
fn becomes(path: &str, before: &str, after: &str) {
    let (once, out, _) = migrated(path, before);
    assert_eq!(once, after);
    assert_eq!(out.left, [], "{before}");
    let (twice, out, _) = migrated(path, &once);
    assert_eq!((twice, out.changes), (once, vec![]), "a second time changes nothing");
}

#[track_caller]
fn node(before: &str, after: &str) {
    becomes("a.md", &format!("---\n{before}---\n"), &format!("---\n{after}---\n"));
    let crlf = |yaml: &str| format!("---\n{yaml}---\n").replace('\n', "\r\n");
    becomes("a.md", &crlf(before), &crlf(after));
}

/// The file stays as it is, and this is why.
#[track_caller]
fn stays(path: &str, text: &str, why: &[&str]) {
    let (after, out, _) = migrated(path, text);
    assert_eq!(after, text);
    assert_eq!(out.left.iter().map(|left| &*left.why).collect::<Vec<_>>(), why);
}

#[test]
fn keys_get_their_present_names_and_others_keep_theirs() {
    node("transitions:\n  - to_node_id: end # out\n", "transitions:\n  - to: end # out\n");
    node("next: end\ntext: Hi\n", "to: end\ntext: Hi\n");
    node("tool: get_it\ninput_options: [a]\n", "do: get_it\ninput_options: [a]\n");
    node("next: end\nto: choice\n", "next: end\nto: choice\n");
    becomes("a.json", "{\"transitions\":[{\"to_node_id\":\"end\"}]}", "{\"transitions\":[{\"to\":\"end\"}]}");
}

#[test]
fn an_empty_condition_goes_wherever_it_stands() {
    node("transitions:\n  - to: end\n    condition: \"\"\n", "transitions:\n  - to: end\n");
    node("transitions:\n  - condition: ''\n    to: end\n", "transitions:\n  - to: end\n");
    node("transitions:\n  - condition: \"\" # always\n    to: end\n", "transitions:\n  - # always\n    to: end\n");
    node("transitions:\n  - to: end\n    condition: \"\"  # always\n", "transitions:\n  - to: end\n    # always\n");
    node("transitions:\n  - to: end\n    condition:\n", "transitions:\n  - to: end\n");
    node("transitions: [{ condition: \"\", to: end }, { to: end, condition: \"\" }]\n", "transitions: [{ to: end }, { to: end }]\n");
    node("messages:\n  pt:\n    - text: Oi\n      condition: ''\n", "messages:\n  pt:\n    - text: Oi\n");
    becomes(
        "a.json",
        "{\n  \"transitions\": [{\n    \"to\": \"end\",\n    \"condition\": \"\"\n  }]\n}\n",
        "{\n  \"transitions\": [{\n    \"to\": \"end\"\n  }]\n}\n",
    );
}

#[test]
fn what_says_where_a_transition_leaves_goes_if_it_is_here() {
    node(
        "transitions:\n  - from: a\n    to: end\n  - from_node_id: a.md\n    condition: \"\"\n    to: end\n",
        "transitions:\n  - to: end\n  - to: end\n",
    );
    node("transitions: [{ to: end, from: a, condition: \"\" }]\n", "transitions: [{ to: end }]\n");
    stays("a.md", "---\ntransitions:\n  - from: elsewhere\n    to: end\n---\n", &[]);
}

#[test]
fn a_sink_has_no_type_and_an_id_no_extension() {
    node("# the end\ntype: sink # out\nid: a\n", "# the end\n# out\nid: a\n");
    becomes("a.json", "{\"id\": \"a.json\", \"type\": \"sink\"}", "{\"id\": \"a\"}");
    becomes("a.json", "{\"type\": \"sink\"}", "{}");
    node(
        "id: 'a.md'\nto: end.md\non_error: \"choice.json\"\non_signal: { quit: end.md }\n",
        "id: 'a'\nto: end\non_error: \"choice\"\non_signal: { quit: end }\n",
    );
    node("transitions:\n  - to: end\n    condition: 'null'\n", "transitions:\n  - to: end\n    condition: 'null'\n");
    // No node has that name, with or without.
    node("to: report.json\n", "to: report.json\n");
    becomes("flow.yaml", "nodes:\n  a: { to: end.md }\n", "nodes:\n  a: { to: end }\n");
}

#[test]
fn a_text_alone_is_an_answer_where_it_would_hide_another_way() {
    let texts = "input_type: text\ntransitions:\n  - text: Yes\n    to: end\n  - text: 'It''s: no'\n    to: choice\n";
    node(
        texts,
        "input_type: text\ntransitions:\n  - condition: input == 'Yes'\n    to: end\n  - condition: \"input == 'It\\\\'s: no'\"\n    to: choice\n",
    );
    node("wait: true\ntransitions:\n  - { text: Yes, to: end }\n", "wait: true\ntransitions:\n  - { text: Yes, to: end }\n");
    node(
        "transitions:\n  - { text: Yes, to: end }\n  - { to: choice }\n",
        "transitions:\n  - { text: Yes, to: end }\n  - { to: choice }\n",
    );
}

#[test]
fn a_program_of_a_call_is_bound() {
    let bound = |yaml: &str, after: &str| {
        let (text, out, commands) = migrated("a.md", &format!("---\n{yaml}---\n"));
        assert_eq!((text, out.left), (format!("---\n{after}---\n"), vec![]));
        commands.bound.iter().map(|(tool, binding)| format!("{tool}: {}", commands::flowing(binding))).collect::<String>()
    };
    let of_call = "do:\n  name: get_os\n  metadata:\n    x-exec:\n      command: uname\n      args: [\"-s\", \"a b\"]\nto: end\n";
    assert_eq!(bound(of_call, "do:\n  name: get_os\nto: end\n"), "get_os: { process: [uname, -s, \"a b\"] }");
    let beside = "do:\n  name: get_os\n  id: c1\n  x-exec: { command: [go, env], env: { A: 1 } }\n  metadata: { x-exec: { command: go, args: env, env: { A: 1 } }, why: so }\n";
    assert_eq!(bound(beside, "do:\n  name: get_os\n  metadata: { why: so }\n"), "get_os: { env: { A: \"1\" }, process: [go, env] }");
}

#[test]
fn a_program_that_cannot_be_bound_is_left() {
    let call = |tool: &str, exec: &str| format!("---\ndo: {{ name: {tool}, x-exec: {exec} }}\n---\n");
    stays("a.md", &call("other", "{ command: x }"), &["`x-exec` is not read: `other` is declared elsewhere"]);
    stays("a.md", &call("get_os", "{ command: x, shell: y }"), &["`x-exec` has `shell`, which a binding does not"]);
    stays("a.md", &call("get_os", "{ command: x, args: \"{{ .y }}\" }"), &["`args` of `x-exec` is a template, and a program is fixed"]);
    stays("a.md", &call("get_os", "{}"), &["`x-exec` has no `command`"]);
    stays("a.md", "---\ndo: { graph: end, x-exec: { command: x } }\n---\n", &["`x-exec` belongs to no named tool"]);
}

#[test]
fn content_beside_a_body_becomes_a_comment() {
    let file = |yaml: &str| format!("---\n{yaml}to: end\n---\nThe body.\n");
    becomes("a.md", &file("content: |\n  Hi\n\n  there # no comment\n"), &file("# content: |\n#   Hi\n#\n#   there # no comment\n"));
    becomes("a.md", &file("content: \"\"\n"), &file(""));
    node("content: Hi\n", "content: Hi\n");
    stays("a.md", "---\n{ content: Hi, to: end }\n---\nBody.\n", &["the node has a body too, which is what Go Trellis says"]);
}

#[test]
fn an_empty_answer_to_confirm_is_left_to_decide() {
    let why = "Go Trellis takes an empty answer for yes, and here it is asked again";
    stays("a.md", "---\ninput_type: confirm\nto: end\n---\n", &[why]);
    stays("a.md", "---\ninput_type: confirm\ninput_default: yes\nto: end\n---\n", &[]);
}

#[test]
fn anchors_comments_and_files_of_others_stay() {
    stays("a.md", "---\non_error: &x end.md\nto: *x\n---\n", &[]);
    stays("compose.yaml", "version: 3\nnext: x\n", &[]);
    stays("a.md", "---\nto: [\n---\n", &[]);
    stays("_draft.md", "---\nnext: end\n---\n", &[]);
    let why = "remove this: an empty `condition` is none";
    stays("a.md", "---\ntransitions: [{ condition: \"\", # why\n  to: end }]\n---\n", &[why]);
}

#[test]
fn places_are_told_of_the_text_as_it_was() {
    let text = "---\ntype: sink\ntransitions: [{ to_node_id: end }]\n---\n";
    let (after, out, _) = migrated("a.md", text);
    let (now, before) = (after.find("end").unwrap(), text.find("end").unwrap());
    assert_eq!(place_before(&out.changes, u32::try_from(now).unwrap()) as usize, before);
}

fn wanted(templates: Option<Dialect>, tools: &[&str]) -> Settings {
    Settings { templates, bindings: tools.iter().map(|tool| ((*tool).to_owned(), Value::Map(Mapping::new()))).collect() }
}

#[track_caller]
fn set(path: &str, before: &str, after: &str) {
    let wanted = wanted(Some(Dialect::Go), &["a b", "reserve"]);
    let changes = settings(path, before, &wanted).expect("it can be written");
    assert_eq!(Migrated { changes, left: Vec::new() }.applied(before).as_deref(), Some(after));
}

#[test]
fn settings_are_put_in_and_nothing_else_is_written() {
    let bindings = "bindings:\n  \"a b\": {}\n  reserve: {}\n";
    assert_eq!(wanted(Some(Dialect::Go), &["a b", "reserve"]).file(), format!("templates: go\n{bindings}"));
    set("trellis.yaml", "", &format!("templates: go\n{bindings}"));
    set("trellis.yaml", "# a note", &format!("# a note\ntemplates: go\n{bindings}"));
    set("trellis.yaml", "name: x # why\n", &format!("name: x # why\ntemplates: go\n{bindings}"));
    set("trellis.yaml", "name: x\r\n", &format!("name: x\ntemplates: go\n{bindings}").replace('\n', "\r\n"));
    set("trellis.yaml", "locale: lang", &format!("templates: go\nlocale: lang\n{}", bindings.trim_end()));
    set(
        "trellis.yaml",
        "templates: 'jinja'\nbindings:\n    x: { function: {} }\n\n# more\n",
        "templates: 'go'\nbindings:\n    x: { function: {} }\n    \"a b\": {}\n    reserve: {}\n\n# more\n",
    );
    set("trellis.yaml", "bindings: { x: {} }\n", "templates: go\nbindings: { x: {}, \"a b\": {}, reserve: {} }\n");
    set("trellis.yaml", "bindings: {}\n", "templates: go\nbindings: { \"a b\": {}, reserve: {} }\n");
    set("trellis.yaml", "bindings:\nname: x\n", "bindings:\n  \"a b\": {}\n  reserve: {}\nname: x\ntemplates: go\n");
    set(
        "flow.json",
        "{\n  \"nodes\": {}\n}\n",
        "{\n  \"templates\": \"go\",\n  \"bindings\": { \"a b\": {}, \"reserve\": {} },\n  \"nodes\": {}\n}\n",
    );
    for odd in ["[x]\n", "name: [\n", "x\n"] {
        assert_eq!(settings("trellis.yaml", odd, &wanted(Some(Dialect::Go), &[])), None, "{odd}");
    }
}

/// The file with its templates converted.
fn converted(path: &str, text: &str, from: Dialect, to: Dialect) -> (String, Vec<LeftToDecide>) {
    let document = Document::parse(&Source::text(path, text), from);
    let out = dialect(&document, DialectChange { from, to });
    (out.applied(text).expect("no two changes touch"), out.left)
}

#[test]
fn templates_are_converted_where_they_stand() {
    let text = "---\ndo:\n  name: t\n  args:\n    plain: a {{ .a }}\n    single: 'b ''{{ .b }}'''\n    double: \"c \\\"{{ .c }}\\\"\"\n    list: [\"{{ .d }}\"]\n    block: |\n      e\n\n      {{ .e.f }}\n    folded: >-\n      g\n      {{ .g }}\n---\nBody {{ .h }}, {{secret:k}}.\n";
    let (after, left) = converted("a.md", text, Dialect::Go, Dialect::Jinja);
    assert_eq!((after, left), (text.replace("{{ .", "{{ "), vec![]));
}

#[test]
fn legacy_and_plain_paths_become_go() {
    let (after, left) = converted("a.md", "Hello {{name}} { x }\n", Dialect::Legacy, Dialect::Go);
    assert_eq!((after.as_str(), left), ("Hello {{.name}} { x }\n", vec![]));
    let (after, left) = converted("a.md", "Hello {{ name | upper }}\n", Dialect::Jinja, Dialect::Go);
    assert_eq!((after.as_str(), left.len()), ("Hello {{ name | upper }}\n", 1));
}

#[test]
fn junk_is_left_alone() {
    for text in ["\0", "---\n", "---\n{{{\n---\n{{ .x", "{\"id\":", "---\ncontent: &a [*a]\n---\n", "---\n? [a]\n: b\n---\n"] {
        for path in ["a.md", "a.json", "trellis.yaml", "tools.yaml", "flow.yaml"] {
            let document = parsed(path, text);
            let out = forms(&document, &GraphNames::of(std::slice::from_ref(&document), true), &mut Commands::default());
            assert_eq!(out.applied(&document.text).as_deref(), Some(&*document.text), "{path} {text:?}");
            dialect(&document, DialectChange { from: Dialect::Go, to: Dialect::Jinja });
            let _ = settings(path, text, &wanted(Some(Dialect::Go), &["x"]));
        }
    }
}
