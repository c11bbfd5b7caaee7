//! Whole files: what they are, and what is found in them.

mod junk;
mod places;

use super::{
    condition::Condition,
    document::{Bytes, Content, Document, Source},
    node::NodeSyntax,
};
use trellis_base::template::{Dialect, Shape};

fn parse(path: &str, text: &str) -> Document {
    let document = Document::parse(&Source::text(path, text), Dialect::Jinja);
    for found in &document.diagnostics {
        let labels = found.labels.iter().map(|label| &label.place);
        let edits = found.fix.iter().flat_map(|fix| &fix.edits).map(|edit| &edit.place);
        for place in found.place.iter().chain(labels).chain(edits) {
            assert!(document.text.get(place.span.range()).is_some(), "{path}: {found:?}");
        }
        assert!(!found.message.ends_with('.') && !found.message.contains('\n'), "{found:?}");
    }
    document
}

/// The findings as `code <bytes>: message`.
fn findings(path: &str, text: &str) -> Vec<String> {
    let document = parse(path, text);
    let found = document.diagnostics.iter().map(|found| {
        let written = found.place.as_ref().map(|place| &document.text[place.span.range()]).unwrap_or_default();
        format!("{} <{written}>: {}", found.code, found.message)
    });
    found.collect()
}

fn node(path: &str, text: &str) -> NodeSyntax {
    let document = parse(path, text);
    assert_eq!(document.diagnostics, [], "{text}");
    match document.content {
        Content::Node(node) => *node,
        other => panic!("{other:?}"),
    }
}

/// Findings in a node file with this frontmatter.
fn in_node(yaml: &str) -> Vec<String> {
    findings("a.md", &format!("---\n{yaml}\n---\n"))
}

#[test]
fn what_a_file_is_follows_from_its_name_and_keys() {
    let kind = |path: &str, text: &str| match parse(path, text).content {
        Content::Node(node) => format!("node {}", node.has_matter),
        Content::Nodes(nodes, _) => format!("nodes {}", nodes.len()),
        Content::Library(tools) => format!("library {}", tools.len()),
        Content::Project(project) => format!("project {}", project.bindings.len()),
        Content::Broken => "broken".into(),
    };
    for (path, text, expected) in [
        ("a.md", "", "node false"),
        ("a.md", "# A page\n", "node false"),
        ("a.MD", "---\n---\n", "node true"),
        ("a.md", "---\n# nothing\n---\nHi", "node true"),
        ("a.md", "---\ntools: [a]\n---\n \n", "library 1"),
        ("a.md", "---\ntools: [a]\n---\nHi {{ x\n", "library 1"),
        ("a.md", "---\n- a\n---\n", "broken"),
        ("a.md", "---\na: [\n---\n", "broken"),
        ("a.md", "---\nto: b\n", "broken"),
        ("a.yaml", "to: b\n", "node true"),
        ("a.json", "{\"to\": \"b\"}", "node true"),
        ("a.yml", "nodes: { start: {}, b: { to: start } }\nname: x\n", "nodes 2"),
        ("lib/a.yaml", "tools: [{ name: a }, b]\nx-note: c\n", "library 2"),
        ("a.yaml", "", "broken"),
        ("a.yaml", "just text\n", "broken"),
        ("trellis.yaml", "", "project 0"),
        ("sub/trellis.yaml", "bindings: { a: { function: {} } }\n", "project 1"),
        ("tools.yaml", "tools: [{ name: a, command: b }]\n", "project 1"),
        ("sub/tools.yaml", "tools: [{ name: a, command: b }]\n", "project 1"),
        ("sub/tools.yaml", "tools: [{ name: a }]\n", "library 1"),
    ] {
        assert_eq!(kind(path, text), expected, "{path}: {text}");
    }
}

#[test]
fn bodies_and_content() {
    let content = |path: &str, text: &str| node(path, text).content.map(|content| text[content.span.range()].to_owned());
    assert_eq!(content("a.md", "---\nto: b\n---\n\nHi {{ x }}\r\n").as_deref(), Some("\nHi {{ x }}\r\n"));
    assert_eq!(content("a.md", "\u{feff}---\nto: b\n---\nHi").as_deref(), Some("Hi"));
    assert_eq!(content("a.md", "---\nto: b\n---\n \n\t\n"), None);
    assert_eq!(content("a.md", "---\ntext: Hello\n---\n").as_deref(), Some("Hello"));
    assert_eq!(content("a.yaml", "message: |\n  Hello\n  you\n").as_deref(), Some("Hello\n  you"));
    assert_eq!(content("a.yaml", "content: \" \"\n"), None);
    assert_eq!(findings("a.md", "---\ncontent: a\n---\n\n  b\nc\n"), ["duplicate-key <b>: the node has a body and `content`"]);
    assert_eq!(node("a.md", "---\n---\nSee [b](b.md).").links[0].value.as_ref(), "b.md");
}

#[test]
fn every_mistake_of_a_node_is_found_at_once() {
    let text = include_str!("mistakes.md");
    let found = findings("a.md", text);
    let expected = include_str!("mistakes.txt");
    assert_eq!(found.join("\n"), expected.trim_end(), "\n{}", found.join("\n"));
}

#[test]
fn one_mistake_is_one_finding() {
    for (yaml, expected) in [
        ("transitions:\n  - { condition: a, too: x }", "unknown-key <too>: `too` is no key of a transition"),
        ("transitions:\n  - { condition: a, whither: x }", "unknown-key <whither>: `whither` is no key of a transition"),
        (
            "transitions:\n  - { condition: a, to: {{ x }} }",
            "wrong-type <{{ x }}>: a template needs quotes: YAML takes `{` for the beginning of a mapping",
        ),
        ("do: { nmae: x }", "unknown-key <nmae>: `nmae` is no key of a call"),
        ("do: { name: }", "missing-value <name>: `name` has no value"),
        ("do: { args: {} }", "missing-value <{ args: {} }>: `do` names nothing to call"),
        ("tpye: qestion", "unknown-key <tpye>: `tpye` is no key of a node"),
        ("to: &a x\non_error: *a\nto: z", "duplicate-key <to>: `to` stands here twice"),
        ("retry: { mx: 3 }", "unknown-key <mx>: `mx` is no key of `retry`"),
        ("options: [{ lable: x }]", "unknown-key <lable>: `lable` is no key of an option"),
    ] {
        assert_eq!(in_node(yaml), [expected], "{yaml}");
    }
}

#[test]
fn names_are_single_lines() {
    assert_eq!(in_node("to: a\n\n  b"), ["wrong-type <a>: `to` takes a single line"]);
    assert_eq!(
        in_node("options: [\"a\\nb\", { value: \"\", text: c }]"),
        ["wrong-type <a\\nb>: `options` takes a single line", "missing-value <>: `value` is empty"]
    );
    let text = "---\noptions:\n  - >\n    No,\n    thanks\n---\n";
    assert_eq!(node("a.md", text).options.unwrap().value[0].value.value.as_str(), Some("No, thanks"));
}

#[test]
fn keys_of_other_systems_are_accepted_or_name_their_successor() {
    let text = "---\ntool_call: { name: charge, output_schema: { type: object } }\nmetadata: { confirm_msg: \"Sure, {{ name }}?\", icon: x }\n---\n";
    let call = node("a.md", text);
    let approve = call.call.as_ref().unwrap().approve.as_ref().unwrap();
    assert_eq!(&text[approve.value.ask.as_ref().unwrap().span.range()], "Sure, {{ name }}?");
    assert!(call.call.as_ref().unwrap().returns.is_some());
    assert!(matches!(&call.metadata.as_ref().unwrap().value, Shape::Map(entries) if entries.len() == 1));
    assert!(call.key("do").is_some());
    let metadata = node("a.md", "---\nmetadata: { confirm_msg: a }\n---\n").metadata.unwrap();
    assert!(matches!(metadata.value, Shape::Map(entries) if entries.len() == 1));
    assert_eq!(node("a.md", "---\ninput_options: [a, b]\n---\n").options.unwrap().value.len(), 2);
    assert!(node("a.md", "---\nx-anything: { at: all }\n---\n").keys.is_empty());
    let document = parse("a.md", "---\nnext: b\ntransitions: [{ from: a, to_node_id: b }]\n---\n");
    let fixes: Vec<_> =
        document.diagnostics.iter().map(|found| (found.help.as_deref(), found.fix.as_ref().map(|fix| fix.title.as_str()))).collect();
    let leaves = "a transition leaves the node that holds it: remove `from`";
    assert_eq!(fixes, [(Some("write `to`"), Some("rename to `to`")), (Some(leaves), None), (Some("write `to`"), Some("rename to `to`"))]);
}

#[test]
fn types_become_schemas() {
    let text = "---\ncontext_schema: { a: string, b: [int], c: \"[[bool]]\", d: any, e: { enum: [A, 1] }, f: float }\n---\n";
    let schemas: Vec<_> =
        node("a.md", text).context_schema.iter().map(|(key, schema)| format!("{}: {}", key.value, schema.value.to_json())).collect();
    assert_eq!(
        schemas,
        [
            r#"a: {"type":"string"}"#,
            r#"b: {"items":{"type":"integer"},"type":"array"}"#,
            r#"c: {"items":{"items":{"type":"boolean"},"type":"array"},"type":"array"}"#,
            "d: {}",
            r#"e: {"enum":["A",1]}"#,
            r#"f: {"type":"number"}"#,
        ]
    );
}

#[test]
fn a_project_is_decoded_with_all_its_mistakes() {
    let found = findings("trellis.yaml", include_str!("project.yaml"));
    let expected = include_str!("project.txt");
    assert_eq!(found.join("\n"), expected.trim_end(), "\n{}", found.join("\n"));
}

#[test]
fn tools_in_the_form_of_go_trellis_become_bindings() {
    let text = "tools:\n  - name: greet\n    command: python\n    args: [\"./x.py\", 1]\n    env: { A: b }\n    timeout: 3s\n  - { name: mock, command: [sh, -c, echo] }\n  - command: lost\n";
    let document = parse("tools.yaml", text);
    let Content::Project(project) = &document.content else { panic!() };
    let bindings: Vec<_> = project
        .bindings
        .iter()
        .map(|binding| {
            format!(
                "{} {}",
                binding.tool.name.as_ref().unwrap().value,
                trellis_base::value::Value::Map(binding.config.values.clone()).to_json()
            )
        })
        .collect();
    assert_eq!(bindings, [r#"greet {"env":{"A":"b"},"process":["python","./x.py","1"]}"#, r#"mock {"process":["sh","-c","echo"]}"#]);
    assert_eq!(&text[project.bindings[0].config.spans["process.2"].range()], "1");
    assert_eq!(findings("tools.yaml", text), ["nameless-tool <command: lost>: the tool has no name"]);
}

#[test]
fn files_that_are_no_text_or_too_large_are_broken() {
    let broken = |bytes: Bytes| {
        let document = Document::parse(&Source { path: "a.md".into(), bytes }, Dialect::Jinja);
        assert!(matches!(document.content, Content::Broken));
        document.diagnostics.iter().map(|found| found.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(broken(Bytes::Read(b"---\nto: \xff\n---\n".as_slice().into())), ["not-utf8"]);
    assert_eq!(broken(Bytes::Read(b"---\nto: a\0\n---\n".as_slice().into())), ["not-utf8"]);
    assert_eq!(broken(Bytes::TooLarge { size: 2, limit: 1 }), ["file-too-large"]);
}

#[test]
fn a_condition_says_what_its_author_wrote() {
    for written in [
        "name == \"Bo\"",
        " name == \"Bo\" ",
        "'name == \"Bo\"'",
        r#""name == \"Bo\"""#,
        ">\n      name ==\n      \"Bo\"",
        "|\n      name == \"Bo\"\n",
    ] {
        let text = format!("---\ntransitions:\n  - condition: {written}\n    to: end\n  - to: end\n---\n");
        let node = node("a.md", &text);
        let condition = node.transitions[0].condition.as_ref().unwrap();
        assert_eq!(Condition::text_of(condition, &text), "name == \"Bo\"", "{written}");
    }
}
