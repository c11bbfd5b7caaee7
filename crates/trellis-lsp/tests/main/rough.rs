//! Bad input of size and place: large files, many files, folders that move, roots inside roots, odd addresses (`docs/lsp.md`).

use std::fs;

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const START: &str = "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n";
const GREET: &str = "---\n---\nHello {{ name }}\n";

fn has_code(list: &crate::client::List, code: &str) -> bool {
    list.lines().iter().any(|line| line.contains(code))
}

#[test]
fn a_file_of_a_mebibyte_is_typed_into() {
    let long = format!("{GREET}{}", "A line that says nothing more than that.\n".repeat(25_000));
    assert!(long.len() > 1_000_000);
    let mut client = Client::new(&[("start.md", START), ("greet.md", &long)]);
    client.open("greet.md", &long);
    let end = json!({ "line": 25_003, "character": 0 });
    for (version, letter) in (2..).zip("see you so".chars()) {
        client.change("greet.md", version, json!([{ "range": { "start": end, "end": end }, "text": letter.to_string() }]));
    }
    let begin = json!({ "line": 2, "character": 0 });
    client.change("greet.md", 12, json!([{ "range": { "start": begin, "end": begin }, "text": "{{ nobody }} " }]));
    client.wait("greet.md", |list| list.version == Some(12) && has_code(list, "undefined-variable"));
    let params = json!({ "textDocument": { "uri": client.uri("greet.md") }, "position": { "line": 25_003, "character": 10 } });
    for method in ["textDocument/completion", "textDocument/hover"] {
        assert!(client.request(method, params.clone()).is_ok(), "{method}");
    }
    // Beyond the limit of a file it is a finding, and no end.
    client.replace("greet.md", 13, &long.repeat(12));
    client.wait("greet.md", |list| list.version == Some(13) && has_code(list, "file-too-large"));
    client.replace("greet.md", 14, GREET);
    client.wait("greet.md", |list| list.version == Some(14) && list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

#[test]
fn ten_thousand_files_may_be_open() {
    let name = |at: usize| format!("n{at}.md");
    let text = |at: usize| if at == 9_999 { "---\n---\nEnd.\n".to_owned() } else { format!("---\nto: n{}\n---\n", at + 1) };
    let files: Vec<(String, String)> = (0..10_000).map(|at| (name(at), text(at))).collect();
    let mut borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    borrowed.push(("start.md", "---\nto: n0\n---\n"));
    let mut client = Client::new(&borrowed);
    files.iter().for_each(|(path, text)| client.open(path, text));
    client.replace("n5000.md", 2, "---\nto: n5O01\n---\n");
    client.wait("n5000.md", |list| list.version == Some(2) && has_code(list, "unknown-target"));
    files.iter().for_each(|(path, _)| client.close(path));
    client.wait("n5000.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

#[test]
fn a_folder_that_is_renamed_under_the_server_is_found_again() {
    let files = [("start.md", "---\nto: a\n---\n"), ("a/start.md", "---\nto: next\n---\n"), ("a/next.md", "---\n---\nNext.\n")];
    let mut client = Client::new(&files);
    client.open("start.md", files[0].1);
    client.wait("start.md", |list| list.version == Some(1));
    fs::rename(client.folder.path().join("a"), client.folder.path().join("b")).expect("it moves");
    let changes = json!([{ "uri": client.uri("a"), "type": 3 }, { "uri": client.uri("b"), "type": 1 }]);
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    client.wait("start.md", |list| has_code(list, "unknown-target"));
    client.replace("start.md", 2, "---\nto: b\n---\n");
    client.wait("start.md", |list| list.version == Some(2) && list.diagnostics.is_empty());
    // The whole graph goes.
    fs::rename(client.folder.path().join("b"), client.folder.path().join("c")).expect("it moves");
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": client.uri(""), "type": 2 }] }));
    client.wait("start.md", |list| has_code(list, "unknown-target"));
    client.leave().expect("it ends well");
}

#[test]
fn of_two_roots_one_inside_the_other_the_outer_one_counts() {
    let inner = "---\ndo: { graph: /gone }\nto: nowhere\n---\n";
    let files = [
        ("start.md", "---\ndo: { graph: inner }\nto: end\n---\n"),
        ("end.md", "---\n---\n"),
        ("inner/trellis.yaml", "name: inner\n"),
        ("inner/start.md", inner),
    ];
    let mut client = Client::in_workspaces(&files, &["", "inner"], capabilities());
    client.open("inner/start.md", inner);
    let list = client.wait("inner/start.md", |list| list.version == Some(1) && has_code(list, "`nowhere`"));
    assert_eq!(list.lines().iter().filter(|line| line.contains("`nowhere`")).count(), 1, "each finding once: {list:?}");
    client.leave().expect("it ends well");
    // Opened by itself, a graph of its own is one.
    let mut alone = Client::in_workspaces(&files, &["inner"], capabilities());
    alone.open("inner/start.md", inner);
    alone.wait("inner/start.md", |list| list.version == Some(1) && has_code(list, "`nowhere`"));
    assert!(!alone.lists.keys().any(|uri| *uri == alone.uri("start.md")));
    alone.leave().expect("it ends well");
}

#[test]
fn addresses_with_blanks_percent_signs_and_letters_in_two_forms_are_those_of_their_files() {
    let (composed, decomposed) = ("gr\u{fc}n.md", "gru\u{308}n.md");
    let files = [
        ("start.md", "---\nto: a b\n---\n"),
        ("a b.md", "---\nto: 100%\n---\n"),
        ("100%.md", "---\nto: grün\n---\n"),
        (composed, "---\n---\n"),
        (decomposed, "---\nto: gone\n---\n"),
    ];
    let mut client = Client::new(&files);
    let root = client.uri("");
    let root = root.trim_end_matches('/').to_owned();
    for (address, text) in
        [("a%20b.md", files[1].1), ("100%25.md", files[2].1), ("gr%C3%BCn.md", files[3].1), ("gru%CC%88n.md", files[4].1)]
    {
        let item = json!({ "uri": format!("{root}/{address}"), "languageId": "markdown", "version": 1, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": item }));
        let own = format!("{root}/{address}");
        client.until(address, |client| client.lists.contains_key(&own));
    }
    let own = format!("{root}/gru%CC%88n.md");
    client.until("the finding of the other form", |client| client.lists[&own].last().is_some_and(|list| has_code(list, "`gone`")));
    assert!(client.lists[&format!("{root}/a%20b.md")].last().is_some_and(|list| list.diagnostics.is_empty()));
    client.leave().expect("it ends well");
}

#[test]
fn a_file_that_another_program_saves_is_what_the_editor_says_while_it_is_open() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    client.open("greet.md", GREET);
    client.wait("greet.md", |list| list.version == Some(1));
    client.save("greet.md", Some("---\nto: nowhere\n---\n"));
    client.replace("greet.md", 2, "---\nto: elsewhere\n---\n");
    let list = client.wait("greet.md", |list| list.version == Some(2) && !list.diagnostics.is_empty());
    assert!(has_code(&list, "`elsewhere`") && !has_code(&list, "`nowhere`"), "{list:?}");
    client.close("greet.md");
    client.wait("greet.md", |list| has_code(list, "`nowhere`"));
    client.leave().expect("it ends well");
}

#[test]
fn a_rename_onto_a_file_that_is_there_or_to_what_no_name_can_be_is_refused() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET), ("bye.md", "---\n---\n")]);
    client.open("start.md", START);
    client.wait("start.md", |list| list.version == Some(1));
    let mut refused = |name: &str| {
        let mut params = client.place("start.md", &START.replace("to: greet", "to: gr‸eet"));
        params["newName"] = name.into();
        client.request("textDocument/rename", params).expect_err(name).1
    };
    for (name, why) in [
        ("bye", "already"),
        ("a: b", "no name"),
        ("yes", "no name"),
        ("1_000", "no name"),
        ("fail", "meaning"),
        ("_x", "no name"),
        ("", "no name"),
    ] {
        assert!(refused(name).contains(why), "{name}: {}", refused(name));
    }
    client.leave().expect("it ends well");
}

#[test]
fn a_root_that_is_no_folder_serves_nothing_and_says_nothing() {
    let mut client = Client::in_workspaces(&[("start.md", START)], &["nowhere"], capabilities());
    client.open("start.md", START);
    assert_eq!(client.request("workspace/symbol", json!({ "query": "" })), Ok(Json::Array(Vec::new())));
    client.leave().expect("it ends well");
}
