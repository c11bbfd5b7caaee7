//! Completion where a newcomer types: what is offered can be accepted, and names come where they may stand (`docs/lsp.md`).

use serde_json::Value as Json;

use crate::{
    client::Client,
    offers::{items, labels},
};

const PROJECT: &str = "inputs: { type: object, properties: { days: { type: integer } } }\npredicates: [vip]\nbindings:\n  charge: { function: true }\n  look: { function: true }\n";
const FILES: [(&str, &str); 6] = [
    ("trellis.yaml", PROJECT),
    ("lib/more.yaml", "tools:\n  - { name: find }\n"),
    ("start.md", "---\noptions: [Join, Leave]\nsave_to: wish\nto: next\n---\nWhich?\n"),
    ("next.md", "---\nto: bye\n---\nNext.\n"),
    ("bye.md", "---\n---\nBye {{ nmae }}.\n"),
    ("sub/start.md", "---\n---\nBelow.\n"),
];

/// A client that types into files, each time a newer version.
pub(crate) struct Typist {
    pub(crate) client: Client,
    version: i32,
}

impl Typist {
    pub(crate) fn new() -> Self {
        let client = Client::new(&FILES);
        for (path, text) in FILES {
            client.open(path, text);
        }
        Self { client, version: 1 }
    }

    fn answer(&mut self, path: &str, marked: &str) -> Json {
        self.version += 1;
        self.client.at(path, self.version, marked, "textDocument/completion")
    }

    /// The labels that are offered at the cursor.
    pub(crate) fn offered(&mut self, path: &str, marked: &str) -> Vec<String> {
        labels(&self.answer(path, marked))
    }

    /// The text of the line after an offer was accepted.
    pub(crate) fn accepted(&mut self, path: &str, marked: &str, label: &str) -> String {
        let found = items(&self.answer(path, marked));
        let item = found.iter().find(|item| item["label"] == label).unwrap_or_else(|| panic!("no {label} at {marked}: {found:?}"));
        let (range, new) = (&item["textEdit"]["range"], item["textEdit"]["newText"].as_str().unwrap_or_default());
        let text = marked.replace('‸', "");
        let line = text.lines().nth(range["start"]["line"].as_u64().unwrap_or_default() as usize).unwrap_or_default();
        let at = |end: &str| range[end]["character"].as_u64().unwrap_or_default() as usize;
        format!("{}{new}{}", &line[..at("start")], &line[at("end")..])
    }

    pub(crate) fn leave(self) {
        self.client.leave().expect("it ends well");
    }
}

pub(crate) fn has(labels: &[String], wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| labels.iter().any(|label| label == wanted))
}

#[test]
fn on_error_of_several_calls_takes_its_words_and_no_targets() {
    let mut typist = Typist::new();
    assert_eq!(typist.offered("next.md", "---\ndo: { parallel: { a: look }, on_error: ‸ }\nto: bye\n---\n"), ["fail", "collect"]);
    assert_eq!(typist.offered("next.md", "---\ndo:\n  parallel: { a: look }\n  on_error: ‸\nto: bye\n---\n"), ["fail", "collect"]);
    assert!(has(&typist.offered("next.md", "---\ndo: look\non_error: ‸\nto: bye\n---\n"), &["bye", "fail", "rollback"]));
    // An argument of that name is the tool's.
    assert!(typist.offered("next.md", "---\ndo: { name: look, args: { to: ‸ } }\nto: bye\n---\n").is_empty());
    typist.leave();
}

#[test]
fn a_key_before_its_old_value_brings_no_second_colon() {
    let mut typist = Typist::new();
    let mut typed = |line: &str, label: &str| typist.accepted("next.md", &format!("---\n{line}\nto: bye\n---\n"), label);
    assert_eq!(typed("inpu‸: text", "input_type"), "input_type: text");
    assert_eq!(typed("sav‸e_to: name", "save_to"), "save_to: name");
    assert_eq!(typed("opt‸ions: [a]", "options"), "options: [a]");
    assert_eq!(typed("do: { na‸: look }", "name"), "do: { name: look }");
    assert_eq!(typed("set: { wi‸: 1 }", "wish"), "set: { wish: 1 }");
    assert_eq!(typed("inpu‸", "input_type"), "input_type: ");
    typist.leave();
}

#[test]
fn a_key_in_braces_begins_its_value_in_braces() {
    let mut typist = Typist::new();
    let mut typed = |line: &str, label: &str| typist.accepted("next.md", &format!("---\n{line}\nto: bye\n---\n"), label);
    assert_eq!(typed("do: { graph: sub, ‸ }", "args"), "do: { graph: sub, args: { $0 } }");
    assert_eq!(typed("do: { name: look, re‸ }", "retry"), "do: { name: look, retry: { $0 } }");
    assert_eq!(typed("do: {\n  name: look,\n  ar‸\n}", "args"), "  args: { $0 }");
    assert_eq!(typed("do: { name: look, retry: { max: 3, ‸ } }", "on"), "do: { name: look, retry: { max: 3, on: [$0] } }");
    assert_eq!(typed("do:\n  name: look\n  ar‸", "args"), "  args:\n  $0");
    typist.leave();
}

// language 4.1: what nobody writes or declares is no key
#[test]
fn what_is_being_typed_and_what_nothing_sets_is_no_name() {
    let mut typist = Typist::new();
    for marked in
        ["---\n---\n{{ wi‸", "---\n---\n{{ nm‸ }}", "---\ncontent: \"{{ ‸\n---\nHello {{ you }}\n", "---\nset: { a: 1 }\n---\n{{ wi‸ }}"]
    {
        let found = typist.offered("next.md", marked);
        assert!(has(&found, &["wish", "days"]), "{marked}: {found:?}");
        assert!(!found.iter().any(|label| ["wi", "nm", "nmae", "you", "Hello"].contains(&label.as_str())), "{marked}: {found:?}");
    }
    let found = typist.offered("next.md", "---\nto: bye\ntransitions:\n  - { condition: wi‸ }\n---\n");
    assert!(has(&found, &["wish", "vip"]) && !has(&found, &["wi"]), "{found:?}");
    // A key may be written that others read already.
    let found = typist.offered("next.md", "---\nsave_to: nm‸\nto: bye\n---\n");
    assert!(has(&found, &["nmae", "wish"]) && !has(&found, &["nm"]), "{found:?}");
    assert!(!has(&typist.offered("next.md", "---\ndo: lo‸\nto: bye\n---\n"), &["lo"]));
    typist.leave();
}

#[test]
fn tools_are_offered_wherever_one_may_be_named() {
    let mut typist = Typist::new();
    let tools = ["charge", "find", "look"];
    for marked in [
        "---\ntools:\n  - ‸\n---\n",
        "---\ntools:\n  - charge\n  - lo‸\n---\n",
        "---\ndo: { parallel: { a: { name: ‸ } } }\n---\n",
        "---\ndo:\n  parallel:\n    a:\n      name: ‸\n---\n",
        "---\ndo:\n  parallel:\n    a: ‸\n---\n",
        "---\nbefore_each: ‸\n---\n",
        "---\nbefore_each: { name: ‸ }\n---\n",
        "---\ndo: look\nundo: ‸\n---\n",
    ] {
        let found = typist.offered("next.md", marked);
        assert!(has(&found, &tools), "{marked}: {found:?}");
    }
    let found = typist.offered("next.md", "---\ntools:\n  - ‸\n---\n");
    assert!(has(&found, &["lib/more.yaml", "name", "parameters"]), "{found:?}");
    for marked in ["policy:\n  - ask: [‸]\n", "policy:\n  - ask:\n      - ‸\n", "policy:\n  - tool: ‸\n"] {
        let found = typist.offered("trellis.yaml", &format!("{PROJECT}{marked}"));
        assert!(has(&found, &["charge", "look"]), "{marked}: {found:?}");
    }
    typist.leave();
}

#[test]
fn conditions_are_completed_in_a_list_over_several_lines() {
    let mut typist = Typist::new();
    assert!(has(&typist.offered("next.md", "---\nassert:\n  - ‸\nto: bye\n---\n"), &["wish", "vip", "days"]));
    assert_eq!(typist.offered("next.md", "---\nassert:\n  - wish == ‸\nto: bye\n---\n"), ["Join", "Leave"]);
    assert!(has(&typist.offered("next.md", "---\nrequired_context:\n  - ‸\nto: bye\n---\n"), &["wish", "nmae"]));
    typist.leave();
}

#[test]
fn values_are_known_before_the_frontmatter_is_closed() {
    let mut typist = Typist::new();
    let above = "---\noptions: [Red, Blue]\nsave_to: colour\ntransitions:\n";
    for below in ["  - condition: colour == ‸", "  - { condition: colour == ‸", "  - { condition: 'colour in [‸"] {
        let found = typist.offered("next.md", &format!("{above}{below}"));
        assert!(has(&found, &["Red", "Blue"]), "{below}: {found:?}");
    }
    // Below the line stands more of it.
    let found = typist.offered("next.md", &format!("{above}  - {{ condition: colour == ‸\n  - to: bye\n---\nWhich?\n"));
    assert_eq!(found, ["Red", "Blue"]);
    typist.leave();
}

#[test]
fn the_words_of_the_project_file_are_offered() {
    let mut typist = Typist::new();
    for (marked, wanted) in [
        ("policy:\n  - ‸\n", &["ask", "block", "allow", "tool", "score"][..]),
        ("policy: [{ ‸ }]\n", &["ask", "block"]),
        ("policy:\n  - allow: [look]\n    else: ‸\n", &["ask", "block", "pass"]),
        ("policy:\n  - score: { ‸ }\n", &["files", "field", "block_below"]),
        ("budget: { ‸ }\n", &["calls", "tokens"]),
        ("budget:\n  ‸\n", &["calls", "tokens"]),
        ("severity:\n  ‸\n", &["never-true", "broken-link"]),
        ("severity: { never-true: ‸ }\n", &["error", "warning", "info", "off"]),
        ("servers:\n  files:\n    ‸\n", &["process", "url", "idle"]),
        ("models:\n  ‸\n", &["providers", "roles"]),
        ("models: { providers: { cloud: { ‸ } } }\n", &["openai", "key", "scripted"]),
        ("models:\n  roles:\n    plan:\n      - ‸\n", &["provider", "model"]),
        ("context:\n  size: ‸\n", &["string", "int", "bool", "any"]),
        ("context:\n  size:\n    ‸\n", &["type", "enum", "properties"]),
        ("context: { size: { type: ‸ } }\n", &["string", "integer", "object", "array"]),
        ("context: { size: { properties: { of: ‸ } } }\n", &["string", "int"]),
    ] {
        let found = typist.offered("trellis.yaml", &format!("{PROJECT}{marked}"));
        assert!(has(&found, wanted), "{marked}: {found:?}");
    }
    let bound = |below: &str| format!("bindings:\n  get:\n{below}");
    for (below, wanted) in [
        ("    http: { ‸ }\n", &["get", "post", "base", "query"][..]),
        ("    http:\n      ‸\n", &["get", "headers"]),
        ("    parameters: { ‸ }\n", &["type", "properties", "required"]),
        ("    returns: ‸\n", &["string", "int"]),
        ("    model: { format: ‸ }\n", &["text", "json"]),
        ("    rate: { ‸ }\n", &["max", "per"]),
        ("    retry: { max: 3, on: [‸] }\n", &["error", "timeout"]),
    ] {
        let found = typist.offered("trellis.yaml", &bound(below));
        assert!(has(&found, wanted), "{below}: {found:?}");
    }
    typist.leave();
}

#[test]
fn the_words_of_a_node_are_offered() {
    let mut typist = Typist::new();
    for (marked, wanted) in [
        ("---\non_signal: { ‸ }\n---\n", &["interrupt", "timeout"][..]),
        ("---\non_signal: { interrupt: ‸ }\n---\n", &["bye", "fail"]),
        ("---\ncontext_schema:\n  wish: ‸\n---\n", &["string", "int"]),
        ("---\ndo: { name: look, returns: ‸ }\n---\n", &["string", "any"]),
        ("---\ninput_schema: { ‸ }\n---\n", &["type", "minimum"]),
        ("---\noptions: [Yes, No]\nmessages: { de: { options: { ‸ } } }\n---\n", &["Yes", "No"]),
        ("---\nretry:\n  on:\n    - ‸\n---\n", &["error", "timeout"]),
        ("---\n---\n{% for item in days %}{{ ‸ }}{% endfor %}", &["item", "loop", "days"]),
        ("---\n---\n{% for key, item in days %}{% if ‸ %}", &["key", "item"]),
    ] {
        let found = typist.offered("next.md", marked);
        assert!(has(&found, wanted), "{marked}: {found:?}");
    }
    let found = typist.offered("next.md", "---\n---\n{% for item in days %}{% endfor %}{{ ‸ }}");
    assert!(!has(&found, &["item"]) && !has(&found, &["loop"]), "{found:?}");
    typist.leave();
}

#[test]
fn keys_come_by_use_and_without_those_that_one_excludes() {
    let mut typist = Typist::new();
    let found = typist.offered("next.md", "---\n‸\n---\n");
    assert_eq!(found[..6], ["to", "input_type", "options", "save_to", "do", "transitions"]);
    assert!(has(&found, &["id", "was", "type", "jump_to"]), "{found:?}");
    let found = typist.offered("next.md", "---\nto: bye\n‸\n---\n");
    assert!(!has(&found, &["jump_to"]), "{found:?}");
    let found = typist.offered("next.md", "---\ndo: { graph: sub, ‸ }\nto: bye\n---\n");
    assert!(has(&found, &["args"]) && !found.iter().any(|key| ["name", "parallel", "each"].contains(&key.as_str())), "{found:?}");
    typist.leave();
}
