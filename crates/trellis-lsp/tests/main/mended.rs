//! Fixes, hovers and names at mistakes that newcomers make (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::{
    client::{Client, capabilities},
    offers::{actions, titled, typed},
};

fn titles(actions: &[Json]) -> Vec<&str> {
    actions.iter().filter_map(|action| action["title"].as_str()).collect()
}

/// The new texts of an action, each with the end of the address of its file.
fn edits(action: &Json) -> Vec<(String, String)> {
    let changes = action["edit"]["documentChanges"].as_array().into_iter().flatten();
    let texts = changes.flat_map(|change| {
        let file = change["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
        let edits = change["edits"].as_array().cloned().unwrap_or_default();
        edits.into_iter().map(move |edit| (file.clone(), edit["newText"].as_str().unwrap_or_default().to_owned()))
    });
    texts.collect()
}

// language 1.4: a called graph has keys of its own
#[test]
fn an_argument_of_a_graph_is_hidden_in_the_graph_that_gets_it() {
    let files = [
        ("trellis.yaml", "name: outer\n"),
        ("start.md", "---\ndo: { graph: sub, args: { code: 7 } }\nto: bye\n---\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("sub/trellis.yaml", "inputs: { type: object, properties: { code: { type: integer } } }\nredact: [one,\n  two]\n"),
        ("sub/start.md", "---\n---\n{{ code | default(1) }} {{ one | default(1) }} {{ two | default(1) }}\n"),
    ];
    let mut client = Client::with(&files, capabilities(), json!({}));
    client.open("start.md", files[1].1);
    client.wait("start.md", |list| list.version == Some(1));
    let found = actions(&mut client, "start.md", "---\ndo: { graph: sub, args: { co‸de", Some("refactor.rewrite"));
    let edits = edits(&titled(&found, "add `code` to `redact`"));
    assert_eq!(edits.len(), 1, "{edits:?}");
    assert!(edits[0].0.ends_with("/sub/trellis.yaml") && edits[0].1 == ", code", "{edits:?}");
    client.leave().expect("it ends well");
}

#[test]
fn no_file_is_offered_for_a_target_that_is_no_id() {
    let files = [("start.md", "---\nto: join\n---\n"), ("join/start.md", "---\nto: done\n---\n"), ("join/done.md", "---\n---\nDone.\n")];
    for wrong in ["/bye/", "bye.md", "../bye", "a//b", "./.x"] {
        let mut client = Client::new(&files);
        client.open("join/start.md", files[1].1);
        let found = typed(&mut client, "join/start.md", 2, &format!("---\nto: {wrong}‸\n---\n"), "unknown-target", None);
        let titles = titles(&found);
        assert!(titles.iter().all(|title| !title.starts_with("add ")), "{wrong}: {titles:?}");
        client.leave().expect("it ends well");
    }
    let mut client = Client::new(&files);
    client.open("join/start.md", files[1].1);
    let found = typed(&mut client, "join/start.md", 2, "---\nto: bye‸\n---\n", "unknown-target", None);
    titled(&found, "add node `join/bye`");
    client.leave().expect("it ends well");
}

#[test]
fn an_option_with_its_target_behind_a_colon_gets_no_other_key() {
    let files = [("start.md", "---\nto: bye\n---\n"), ("bye.md", "---\n---\nBye.\n")];
    let mut client = Client::new(&files);
    client.open("start.md", files[0].1);
    for (version, line) in [(2, "- Y‸es: bye"), (3, "- N‸o: bye"), (4, "- y‸es: bye")] {
        let found = typed(&mut client, "start.md", version, &format!("---\noptions:\n{line}\nto: bye\n---\n"), "unknown-key", None);
        let titles = titles(&found);
        assert!(titles.iter().all(|title| !title.contains("mean") && !title.contains("rename")), "{line}: {titles:?}");
    }
    let list = client.wait("start.md", |list| list.version == Some(4));
    assert!(list.diagnostics[0]["message"].as_str().is_some_and(|text| text.contains("{ text: yes, to: bye }")), "{list:?}");
    client.leave().expect("it ends well");
}

#[test]
fn tabs_become_spaces() {
    let files = [("start.md", "---\nto: bye\n---\n"), ("bye.md", "---\n---\nBye.\n")];
    let mut client = Client::new(&files);
    client.open("start.md", files[0].1);
    let text = "---\ntransitions:\n\t‸- condition: sys.step == 1\n\t  to: bye\n\t- to: bye\n---\n\tAs it is.\n";
    let found = typed(&mut client, "start.md", 2, text, "yaml-syntax", None);
    let edits = edits(&titled(&found, "indent with spaces"));
    assert_eq!(edits[0].1, "---\ntransitions:\n  - condition: sys.step == 1\n    to: bye\n  - to: bye\n---\n\tAs it is.\n");
    client.leave().expect("it ends well");
}

#[test]
fn a_target_beside_a_condition_that_cannot_be_read_has_its_name() {
    let files = [("start.md", "---\nto: bye\n---\n"), ("bye.md", "---\n---\nBye.\n")];
    let mut client = Client::new(&files);
    client.open("start.md", files[0].1);
    for (version, line) in [(2, "  - { condition: sys.step = 1, to: b‸ye }"), (4, "  - condition: sys.step and\n    to: b‸ye")] {
        let marked = format!("---\ntransitions:\n{line}\n  - to: bye\n---\n");
        let found = client.at("start.md", version, &marked, "textDocument/definition");
        assert_eq!(found[0]["uri"], client.uri("bye.md"), "{line}");
        let hover = client.at("start.md", version + 1, &marked, "textDocument/hover");
        assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.starts_with("**node** `bye`")), "{hover}");
        let place = client.place("start.md", &marked);
        let range = client.request("textDocument/prepareRename", place).expect("it has a name");
        assert!(range.is_object(), "{range}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn a_hover_says_where_a_node_ends_and_what_a_word_means() {
    let files = [
        ("start.md", "---\ninput_type: confirm\non_denied: gone\nto: bye\n---\nGo?\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("gone.md", "---\nend: failed\n---\nGone.\n"),
    ];
    let mut client = Client::new(&files);
    client.open("start.md", files[0].1);
    for (version, marked, wanted) in [
        (2, files[0].1.replace("to: bye", "to: b‸ye"), "ends the session; 1 transition in\n"),
        (3, files[0].1.replace("gone", "go‸ne"), "ends the session as failed; 1 transition in\n"),
        (4, files[0].1.replace("confirm", "con‸firm"), "**input_type** `confirm`\n\nYes or no"),
        (5, files[0].1.replace("input_type: confirm", "do: { name: x, effect: irre‸versible }"), "**effect** `irreversible`\n\nIt cannot"),
    ] {
        let place = client.place("start.md", &marked);
        client.replace("start.md", version, &marked.replace('‸', ""));
        client.linked("textDocument/hover", &place, |hover| hover["contents"]["value"].as_str().is_some_and(|text| text.contains(wanted)));
    }
    client.leave().expect("it ends well");
}
