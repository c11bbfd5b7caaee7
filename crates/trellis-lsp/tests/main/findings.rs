//! Lists of findings: whole, in order, and those of `trellis check`.

use std::sync::Arc;

use serde_json::json;
use trellis_core::{Code, Diagnostic, Document, diagnostic::FilePath, span::Span};
use trellis_lsp::{LateAnswer, LateQuestion};
use trellis_project::{Memory, Project};

use crate::client::{Client, List, capabilities};

const START: &str = "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n";
const GREET: &str = "---\n---\nHello {{ name }}\n";

/// The findings of a check of these files, by file, as lines.
fn checked(files: &[(&str, &str)], path: &str) -> Vec<String> {
    let project = Project::with_loader(files.iter().copied().collect::<Memory>()).expect("memory is always there");
    let compiled = project.compile();
    let path = FilePath::from(path);
    let text = &project.documents().iter().find(|document| document.path == path).expect("it is there").text;
    let lines = compiled.diagnostics.iter().filter(|found| found.place.as_ref().is_some_and(|place| place.path == path)).map(|found| {
        let at = trellis_core::span::LineIndex::new(text).locate(found.place.as_ref().map_or(0, |place| place.span.start));
        format!("{}:{} {} {}", at.line - 1, at.column - 1, found.code, found.message)
    });
    lines.collect()
}

#[test]
fn what_is_wrong_shows_while_it_is_typed_and_goes_when_it_is_right() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    client.open("start.md", START);
    assert!(client.wait("start.md", |list| list.version == Some(1)).diagnostics.is_empty());
    let wrong = START.replace("to: greet", "to: gret");
    client.replace("start.md", 2, &wrong);
    let list = client.wait("start.md", |list| list.version == Some(2) && !list.diagnostics.is_empty());
    assert_eq!(list.lines(), ["3:4 unknown-target there is no node `gret`"]);
    assert_eq!(list.lines(), checked(&[("start.md", &wrong), ("greet.md", GREET)], "start.md"));
    // A keystroke of the frontmatter that no YAML has.
    let half = START.replace("to: greet", "to: [gre");
    client.replace("start.md", 3, &half);
    let list = client.wait("start.md", |list| list.version == Some(3));
    assert_eq!(list.lines()[0], "3:4 yaml-syntax `[` is never closed");
    client.replace("start.md", 4, START);
    assert!(client.wait("start.md", |list| list.version == Some(4)).diagnostics.is_empty());
    client.leave().expect("it ends well");
}

#[test]
fn an_edit_changes_the_findings_of_files_that_nobody_has_open() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    client.open("start.md", START);
    let without = START.replace("save_to: name\n", "");
    client.replace("start.md", 2, &without);
    let list = client.wait("greet.md", |list| !list.diagnostics.is_empty());
    assert_eq!(list.lines(), ["2:9 undefined-variable `name` is not set on any path to `greet`"]);
    assert_eq!(list.version, None);
    // Unsaved text is not on the disk: closed, the file is right again.
    client.close("start.md");
    assert!(client.wait("greet.md", |list| list.diagnostics.is_empty()).diagnostics.is_empty());
    // Neither is what another program saves.
    client.save("greet.md", Some("---\nto: nowhere\n---\n"));
    assert_eq!(client.wait("greet.md", |list| !list.diagnostics.is_empty()).lines(), ["1:4 unknown-target there is no node `nowhere`"]);
    client.save("greet.md", None);
    client.wait("greet.md", |list| list.diagnostics.is_empty());
    assert_eq!(client.wait("start.md", |list| !list.diagnostics.is_empty()).lines(), ["3:4 unknown-target there is no node `greet`"]);
    client.leave().expect("it ends well");
}

#[test]
fn findings_of_the_last_link_move_with_the_text_and_those_that_are_touched_go() {
    let text = "---\nto: gret\nmax_visits: 2\non_max_visits: nowhere\n---\n";
    let mut client = Client::new(&[("start.md", text), ("greet.md", GREET)]);
    client.open("start.md", text);
    let before = client.wait("start.md", |list| list.diagnostics.len() >= 2);
    let line = |lines: &[String], code: &str| lines.iter().find(|line| line.contains(code)).cloned();
    assert!(line(&before.lines(), "`nowhere`").is_some_and(|line| line.starts_with("3:")), "{before:?}");
    // A line above moves the findings; the list that goes out at once says so already.
    client.change(
        "start.md",
        2,
        json!([{ "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 0 } }, "text": "# a note\n" }]),
    );
    client.wait("start.md", |list| list.version == Some(2));
    let uri = client.uri("start.md");
    for list in client.lists[&uri].iter().filter(|list| list.version == Some(2)) {
        let lines = list.lines();
        assert!(lines.iter().all(|line| !line.contains("`nowhere`") || line.starts_with("4:")), "{lines:?}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn a_folder_without_a_start_is_no_graph_until_it_has_one() {
    let mut client = Client::new(&[("README.md", "Read me.\n")]);
    client.open("README.md", "Read me.\n");
    client.open("start.md", "---\nto: nowhere\n---\n");
    assert_eq!(client.wait("start.md", |list| !list.diagnostics.is_empty()).lines(), ["1:4 unknown-target there is no node `nowhere`"]);
    client.leave().expect("it ends well");
}

#[test]
fn a_file_outside_any_graph_gets_nothing() {
    let mut client = Client::new(&[("graph/start.md", "---\nto: nowhere\n---\n"), ("notes/README.md", "Read me.\n")]);
    client.open("notes/README.md", "Read me.\n");
    client.open("graph/start.md", "---\nto: nowhere\n---\n");
    client.wait("graph/start.md", |list| !list.diagnostics.is_empty());
    let uri = client.uri("notes/README.md");
    assert!(!client.lists.contains_key(&uri));
    client.leave().expect("it ends well");
}

#[test]
fn a_readme_is_no_graph_where_it_is_alone() {
    let readme = "---\ntitle: Read me\nto: [\n---\n";
    let files = [("notes/README.md", readme), ("graph/start.md", "---\nto: nowhere\n---\n")];
    let mut client = Client::in_workspaces(&files, &["notes", "graph"], capabilities());
    client.open("notes/README.md", readme);
    client.open("graph/start.md", files[1].1);
    client.wait("graph/start.md", |list| !list.diagnostics.is_empty());
    std::thread::sleep(std::time::Duration::from_millis(300));
    client.at("graph/start.md", 2, "---\nto: ‸nowhere\n---\n", "textDocument/hover");
    let uri = client.uri("notes/README.md");
    assert!(!client.lists.contains_key(&uri));
    client.leave().expect("it ends well");
}

#[test]
fn positions_are_counted_as_the_client_asks() {
    for (encodings, column) in [(json!(["utf-16"]), 13), (json!(["utf-32", "utf-8", "utf-16"]), 15), (json!(null), 13)] {
        let mut capabilities = capabilities();
        capabilities["general"] = json!({ "positionEncodings": encodings });
        let files = [("start.md", "---\n---\nHi 😀 you {{ name }}\n")];
        let mut client = Client::with(&files, capabilities, json!({}));
        let list = client.wait("start.md", |list| !list.diagnostics.is_empty());
        assert_eq!(list.lines()[0].split(' ').next(), Some(&*format!("2:{column}")), "{encodings}");
        client.leave().expect("it ends well");
    }
}

#[test]
fn findings_about_the_whole_graph_stand_on_the_first_line() {
    let mut client = Client::new(&[("trellis.yaml", "name: shop\n"), ("other.md", "---\n---\nHi\n")]);
    let list = client.wait("trellis.yaml", |list| !list.diagnostics.is_empty());
    assert_eq!(list.lines(), ["0:0 missing-start the graph has no node `start`"]);
    client.leave().expect("it ends well");
}

#[test]
fn a_client_that_says_exit_without_shutdown_left() {
    let client = Client::new(&[("start.md", START)]);
    client.notify("exit", json!(null));
    assert!(client.into_served().is_err());
}

#[test]
fn after_shutdown_nothing_is_answered_and_unknown_requests_are_refused() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    assert_eq!(client.request("textDocument/nothing", json!({})).expect_err("it is unknown").0, -32601);
    assert_eq!(client.request("textDocument/formatting", json!([1])).expect_err("no such parameters").0, -32602);
    client.request("shutdown", json!(null)).expect("the server shuts down");
    assert_eq!(client.request("textDocument/formatting", json!({})).expect_err("it is shut down").0, -32600);
    client.notify("exit", json!(null));
    assert!(client.into_served().is_ok());
}

#[test]
fn a_change_that_comes_to_the_same_text_keeps_the_list() {
    let wrong = START.replace("to: greet", "to: gret");
    let mut client = Client::new(&[("start.md", &wrong), ("greet.md", GREET)]);
    client.open("start.md", &wrong);
    let before = client.wait("start.md", |list| list.version == Some(1) && !list.diagnostics.is_empty());
    let at = |character: u32| json!({ "line": 3, "character": character });
    let there = json!({ "range": { "start": at(8), "end": at(8) }, "text": "x" });
    let back = json!({ "range": { "start": at(8), "end": at(9) }, "text": "" });
    client.change("start.md", 2, json!([there, back]));
    let after = client.wait("start.md", |list| list.version == Some(2));
    assert_eq!(after.lines(), before.lines());
    client.leave().expect("it ends well");
}

#[test]
fn odd_texts_places_and_addresses_break_nothing() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    let far = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    client.change("start.md", 7, json!([{ "text": "nobody has it open" }]));
    client.close("greet.md");
    client.open("start.md", "\u{feff}---\r\nto: grüet 😀\r\n---\r\n");
    client.wait("start.md", |list| list.version == Some(1) && !list.diagnostics.is_empty());
    client.change(
        "start.md",
        2,
        json!([{ "range": { "start": { "line": 1, "character": 900 }, "end": far }, "text": "\r\n{{ \u{1f600}" }]),
    );
    client.wait("start.md", |list| list.version == Some(2));
    for uri in ["untitled:1", "file:///nowhere/at/all.md", "http://x/start.md", "file:///%zz", ""] {
        let params = json!({ "textDocument": { "uri": uri }, "position": far });
        assert_eq!(client.request("textDocument/hover", params.clone()), Ok(json!(null)), "{uri}");
        let item = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": "---\nto: [\n" });
        client.notify("textDocument/didOpen", json!({ "textDocument": item }));
        assert!(client.request("textDocument/completion", params).is_ok());
        assert!(!client.lists.contains_key(uri));
    }
    client.notify("textDocument/didChange", json!({ "no": "such parameters" }));
    client.notify("$/cancelRequest", json!({ "id": 99 }));
    let own = json!({ "textDocument": { "uri": client.uri("start.md") }, "position": far });
    for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition", "textDocument/documentHighlight"] {
        assert!(client.request(method, own.clone()).is_ok(), "{method}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn strict_settings_make_unchecked_reads_findings() {
    let files = [
        ("trellis.yaml", "bindings:\n  look:\n    parameters: { type: object }\n    function: true\n"),
        ("start.md", "---\ndo: look\nsave_to: found\nto: show\n---\n"),
        ("show.md", "---\n---\n{{ found.name }}\n"),
    ];
    let mut strict = Client::with(&files, capabilities(), json!({ "trellis": { "strict": true } }));
    let list = strict.wait("show.md", |list| !list.diagnostics.is_empty());
    assert!(list.lines()[0].contains("unchecked-read"), "{list:?}");
    strict.leave().expect("it ends well");
}

/// Finds a word in `v.jinja`, as it is open or on the disk.
fn find_word(question: &LateQuestion<'_>) -> LateAnswer {
    let path = FilePath::from("v.jinja");
    let on_disk = || std::fs::read_to_string(question.root.join("v.jinja")).ok().map(Into::into);
    let text: Option<Arc<str>> = question.unsaved.get(&path).cloned().or_else(on_disk);
    let at = text.as_ref().and_then(|text| text.find("wrong"));
    let found = at.map(|at| Diagnostic::new(Code::TypeMismatch, &path, Span::new(at, at + 5), "it is wrong"));
    let sources = text.filter(|_| found.is_some()).map(|text| Arc::new(Document::broken(path.clone(), text)));
    LateAnswer { diagnostics: found.into_iter().collect(), sources: sources.into_iter().collect(), looked: [path].into() }
}

#[test]
fn a_file_that_a_binding_reads_has_a_list_of_its_own_also_unsaved() {
    let files = [("start.md", "Hi.\n"), ("v.jinja", "all\nis wrong\n")];
    let mut client = Client::started(&files, find_word, json!({ "capabilities": capabilities() }));
    let line = |list: &List| list.diagnostics[0]["range"]["start"]["line"].clone();
    let list = client.wait("v.jinja", |list| !list.diagnostics.is_empty());
    assert_eq!(line(&list), 1);
    client.open("v.jinja", files[1].1);
    client.replace("v.jinja", 2, "fine\n");
    client.wait("v.jinja", |list| list.diagnostics.is_empty());
    client.replace("v.jinja", 3, "\n\nwrong\n");
    let list = client.wait("v.jinja", |list| !list.diagnostics.is_empty());
    assert_eq!(line(&list), 2);
    // It is closed without being saved: the disk counts.
    client.save("v.jinja", Some("wrong\n"));
    client.close("v.jinja");
    client.wait("v.jinja", |list| list.diagnostics.first().is_some_and(|found| found["range"]["start"]["line"] == 0));
    client.save("v.jinja", None);
    client.wait("v.jinja", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}
