//! Whole files: what is found in them, and that every decoded value knows its bytes.

use std::fmt::Write as _;

use super::{
    document::{Bytes, Content, Document, Source},
    node::{CallSyntax, CalleeSyntax, NodeSyntax, TargetSyntax, ToolRef, ToolSyntax},
    project::ProjectSyntax,
};
use crate::{
    span::{Span, Spanned},
    template::{Dialect, Shape},
};

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
        ("a.md", "---\ntools: [a]\n---\nHi\n", "node true"),
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
    let text = include_str!("tests/mistakes.md");
    let found = findings("a.md", text);
    let expected = include_str!("tests/mistakes.txt");
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
    assert_eq!(node("a.md", "---\nx-anything: { at: all }\n---\n").keys, []);
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
    let found = findings("trellis.yaml", include_str!("tests/project.yaml"));
    let expected = include_str!("tests/project.txt");
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
        .map(|binding| format!("{} {}", binding.tool.name.as_ref().unwrap().value, crate::Value::Map(binding.config.clone()).to_json()))
        .collect();
    assert_eq!(bindings, [r#"greet {"env":{"A":"b"},"process":["python","./x.py","1"]}"#, r#"mock {"process":["sh","-c","echo"]}"#]);
    assert_eq!(&text[project.bindings[0].spans["process.2"].range()], "1");
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

/// Lines of `name: bytes` for every value of a document that has a place.
struct Places<'t> {
    text: &'t str,
    out: String,
}

impl Places<'_> {
    fn at(&mut self, name: &str, span: Span) {
        let _ = writeln!(self.out, "{name}: {}", self.text[span.range()].replace('\n', "⏎"));
    }

    fn maybe<T>(&mut self, name: &str, value: Option<&Spanned<T>>) {
        if let Some(value) = value {
            self.at(name, value.span);
        }
    }

    fn target(&mut self, target: Option<&TargetSyntax>) {
        if let Some(target) = target {
            self.at(&format!("{}{} key", target.key.value, if target.jump { "!" } else { "" }), target.key.span);
            self.at(target.key.value, target.name.span);
        }
    }

    fn shape(&mut self, name: &str, shape: Option<&Spanned<Shape>>) {
        let Some(shape) = shape else { return };
        self.at(name, shape.span);
        match &shape.value {
            Shape::Map(entries) => {
                for (key, value) in entries {
                    self.at(&format!("{name} key"), key.span);
                    self.shape(&format!("{name}.{}", key.value), Some(value));
                }
            }
            Shape::List(items) => items.iter().for_each(|item| self.shape(&format!("{name}[]"), Some(item))),
            _ => {}
        }
    }

    fn call(&mut self, name: &str, call: Option<&CallSyntax>) {
        let Some(call) = call else { return };
        self.at(&format!("{name} key"), call.key);
        self.at(name, call.span);
        match &call.callee {
            CalleeSyntax::Tool(tool) => self.at("name", tool.span),
            CalleeSyntax::Graph(target) => self.target(Some(target)),
            CalleeSyntax::Each(path, composite) => self.at(&format!("each {composite:?}"), path.span),
            CalleeSyntax::Parallel(branches, composite) => {
                for (branch, call) in branches {
                    self.at(&format!("branch {composite:?}"), branch.span);
                    self.call(&branch.value, Some(call));
                }
            }
        }
        self.shape("args", call.args.as_ref());
        self.maybe("body", call.body.as_ref());
        self.maybe("timeout", call.timeout.as_ref());
        self.maybe("retry", call.retry.as_ref());
        self.maybe("approve", call.approve.as_ref());
        self.maybe("ask", call.approve.as_ref().and_then(|approve| approve.value.ask.as_ref()));
        self.maybe("expires", call.approve.as_ref().and_then(|approve| approve.value.expires.as_ref()));
        self.maybe("effect", call.effect.as_ref());
        self.maybe("returns", call.returns.as_ref());
        self.maybe("save_to", call.save_to.as_ref());
        self.shape("metadata", call.metadata.as_ref());
    }

    fn tool(&mut self, tool: &ToolSyntax) {
        self.at("tool", tool.span);
        self.maybe("name", tool.name.as_ref());
        self.maybe("parameters", tool.parameters.as_ref());
        self.maybe("returns", tool.returns.as_ref());
        self.maybe("effect", tool.effect.as_ref());
        self.maybe("timeout", tool.timeout.as_ref());
        self.maybe("retry", tool.retry.as_ref());
    }

    fn node(&mut self, node: &NodeSyntax) {
        self.at("node", node.span);
        self.maybe("id", node.id.as_ref());
        node.was.iter().for_each(|was| self.at("was", was.span));
        self.maybe("type", node.kind.as_ref());
        self.maybe("content", node.content.as_ref());
        for message in &node.messages {
            self.at("locale", message.locale.span);
            self.maybe("message", message.content.as_ref());
            for (value, text) in &message.options {
                self.at("option value", value.span);
                self.at("option text", text.span);
            }
        }
        self.maybe("input_type", node.input_type.as_ref());
        self.maybe("options", node.options.as_ref());
        for option in node.options.iter().flat_map(|options| &options.value) {
            self.at("option", option.span);
            self.at("value", option.value.span);
            self.at("text", option.text.span);
            self.target(option.target.as_ref());
        }
        self.maybe("input_default", node.input_default.as_ref());
        self.maybe("input_schema", node.input_schema.as_ref());
        if let Some(on_invalid) = &node.on_invalid {
            self.at("on_invalid", on_invalid.span);
            self.maybe("text", on_invalid.value.text.as_ref());
            self.maybe("max", on_invalid.value.max.as_ref());
            self.target(on_invalid.value.to.as_ref());
        }
        self.maybe("wait", node.wait.as_ref());
        self.maybe("timeout", node.timeout.as_ref());
        self.shape("metadata", node.metadata.as_ref());
        self.call("do", node.call.as_ref());
        self.call("undo", node.undo.as_ref());
        self.maybe("retry", node.retry.as_ref());
        for tool in &node.tools {
            match tool {
                ToolRef::Inline(tool) => self.tool(tool),
                ToolRef::Name(name) => self.at("tool name", name.span),
                ToolRef::Library(path) => self.at("library", path.span),
            }
        }
        self.maybe("save_to", node.save_to.as_ref());
        for (name, assignments) in [("set", &node.set), ("append", &node.append), ("default_context", &node.default_context)] {
            for assignment in assignments {
                self.at(&format!("{name} key"), assignment.key.span);
                self.shape(name, Some(&assignment.value));
            }
        }
        node.required_context.iter().for_each(|path| self.at("required_context", path.span));
        for (key, schema) in &node.context_schema {
            self.at("context_schema key", key.span);
            self.at("context_schema", schema.span);
        }
        node.asserts.iter().for_each(|condition| self.at("assert", condition.span));
        self.target(node.to.as_ref());
        for transition in &node.transitions {
            self.at("transition", transition.span);
            self.maybe("condition", transition.condition.as_ref());
            self.target(transition.target.as_ref());
            self.maybe("text", transition.text.as_ref());
        }
        self.target(node.on_error.as_ref());
        self.target(node.on_denied.as_ref());
        for (signal, target) in &node.on_signal {
            self.at("signal", signal.span);
            self.target(Some(target));
        }
        self.maybe("max_visits", node.max_visits.as_ref());
        self.target(node.on_max_visits.as_ref());
        self.shape("output", node.output.as_ref());
        self.maybe("end", node.end.as_ref());
        self.defaults(&node.defaults);
        node.links.iter().for_each(|link| self.at("link", link.span));
        node.keys.iter().for_each(|(key, span)| self.at(&format!("key {key}"), *span));
    }

    fn defaults(&mut self, defaults: &super::node::DefaultsSyntax) {
        self.target(defaults.on_error.as_ref());
        self.maybe("retry", defaults.retry.as_ref());
        for (signal, target) in &defaults.on_signal_default {
            self.maybe("signal", signal.as_ref());
            self.target(Some(target));
        }
        self.call("before_each", defaults.before_each.as_ref());
        self.target(defaults.on_rolled_back.as_ref());
    }

    fn project(&mut self, project: &ProjectSyntax) {
        self.maybe("name", project.name.as_ref());
        self.maybe("templates", project.templates.as_ref());
        self.maybe("inputs", project.inputs.as_ref());
        for (key, schema) in &project.context {
            self.at("context key", key.span);
            self.at("context", schema.span);
        }
        for predicate in &project.predicates {
            self.at("predicate", predicate.name.span);
        }
        for binding in &project.bindings {
            self.tool(&binding.tool);
            for (path, span) in &binding.spans {
                self.at(path, *span);
            }
        }
        project.redact.iter().for_each(|path| self.at("redact", path.span));
        self.maybe("locale", project.locale.as_ref());
        for (code, severity) in &project.severity {
            self.at(&format!("severity {severity:?}"), code.span);
        }
        self.defaults(&project.defaults);
    }
}

#[test]
fn every_value_of_every_key_knows_its_bytes() {
    for (path, text, expected) in [
        ("all.md", include_str!("tests/all.md"), include_str!("tests/all.txt")),
        ("calls.yaml", include_str!("tests/calls.yaml"), include_str!("tests/calls.txt")),
    ] {
        let document = parse(path, text);
        assert_eq!(document.diagnostics, []);
        let mut places = Places { text, out: String::new() };
        match &document.content {
            Content::Node(node) => places.node(node),
            Content::Nodes(nodes, project) => {
                places.project(project);
                nodes.iter().for_each(|node| places.node(node));
            }
            other => panic!("{other:?}"),
        }
        if places.out != expected {
            panic!("{path}:\n{}", places.out);
        }
    }
}

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
    ("all.md", include_str!("tests/all.md")),
    ("mistakes.md", include_str!("tests/mistakes.md")),
    ("calls.yaml", include_str!("tests/calls.yaml")),
    ("trellis.yaml", include_str!("tests/project.yaml")),
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
