//! Renames of folders, options, predicates and signals, and moves that a client makes itself (`docs/lsp.md#renames`).

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const FILES: [(&str, &str); 7] = [
    ("trellis.yaml", "predicates: [vip]\n"),
    ("start.md", "---\noptions: [red, blue]\nsave_to: colour\nto: orders\non_signal: { stop: bye }\n---\nWhich?\n"),
    (
        "orders/start.md",
        "---\ntransitions:\n  - { condition: colour == \"red\", to: find }\n  - { condition: vip, to: /bye }\n  - to: bye\n---\n",
    ),
    ("orders/find.md", "---\nto: bye\n---\nSee [the end](../bye.md).\n"),
    ("bye.md", "---\n---\nBye, {{ colour | default(1) }}. See [orders](orders/find.md).\n"),
    ("orders/notes.txt", "no node\n"),
    ("_tests/t.md", "# A\n\n```transcript\n...\n> red\n...\n```\n\n# B\n\n```transcript\n$ at orders/find\n@ vip = true\n...\n```\n"),
];

fn opened() -> Client {
    let mut capabilities = capabilities();
    capabilities["workspace"]["fileOperations"] = json!({ "willRename": true });
    capabilities["workspace"]["workspaceEdit"]["changeAnnotationSupport"] = json!({});
    Client::with(&FILES, capabilities, json!({}))
}

fn text(path: &str) -> &'static str {
    FILES.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text)
}

/// The rename of what stands at the cursor of a file on disk.
fn rename(client: &mut Client, path: &str, at: (&str, &str), new: &str) -> Result<Json, (i32, String)> {
    let mut params = client.place(path, &text(path).replace(at.0, at.1));
    params["newName"] = new.into();
    client.request("textDocument/rename", params)
}

/// The new texts of a file, in the order of their places.
fn new_texts(client: &Client, edit: &Json, path: &str) -> Vec<String> {
    let uri = client.uri(path);
    let changes = edit["documentChanges"].as_array().cloned().unwrap_or_default();
    let own = changes
        .iter()
        .filter(|change| change["textDocument"]["uri"] == uri)
        .flat_map(|change| change["edits"].as_array().cloned().unwrap_or_default());
    own.map(|edit| edit["newText"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_module_is_renamed_with_its_folder() {
    let mut client = opened();
    let prepared =
        client.request("textDocument/prepareRename", client.place("start.md", &text("start.md").replace("to: orders", "to: or‸ders")));
    assert_eq!(prepared.expect("it can be")["placeholder"], "orders");
    let edit = rename(&mut client, "start.md", ("to: orders", "to: or‸ders"), "shop").expect("it can be");
    let moves: Vec<&Json> = edit["documentChanges"].as_array().into_iter().flatten().filter(|change| change["kind"] == "rename").collect();
    assert_eq!(moves.len(), 1, "the folder moves as a whole: {edit}");
    assert_eq!(moves[0]["newUri"], client.uri("").trim_end_matches('/').to_owned() + "/shop");
    assert_eq!(new_texts(&client, &edit, "start.md"), ["shop"]);
    assert_eq!(new_texts(&client, &edit, "bye.md"), ["shop/find.md"]);
    assert_eq!(new_texts(&client, &edit, "orders/find.md"), ["was: [orders/find]\n"]);
    assert_eq!(new_texts(&client, &edit, "_tests/t.md"), ["shop/find"]);
    assert_eq!(edit["changeAnnotations"]["was"]["needsConfirmation"], false);
    // The entry keeps its name.
    let refused = client.request("textDocument/prepareRename", client.place("start.md", &format!("‸{}", text("start.md"))));
    assert!(refused.is_ok_and(|answer| answer.is_null()));
    client.leave().expect("it ends well");
}

#[test]
fn a_part_of_a_path_is_not_renamed_as_its_key() {
    let mut client = opened();
    let body = "---\n---\nBye, {{ colour.shade | default(1) }}.\n";
    client.open("bye.md", body);
    for method in ["textDocument/prepareRename", "textDocument/rename"] {
        let mut at = |marked: &str| {
            let mut params = client.place("bye.md", &body.replace("colour.shade", marked));
            params["newName"] = "tint".into();
            client.request(method, params)
        };
        for marked in ["colour.‸shade", "colour.sha‸de"] {
            let (_, reason) = at(marked).expect_err(marked);
            assert!(reason.contains("a part of `colour`"), "{method} {marked}: {reason}");
        }
    }
    let found = client.request("textDocument/prepareRename", client.place("bye.md", &body.replace("colour.", "colour‸.")));
    assert_eq!(found.expect("it can be")["placeholder"], "colour");
    client.leave().expect("it ends well");
}

#[test]
fn an_option_is_renamed_with_what_compares_it_and_the_answers_of_sheets() {
    let mut client = opened();
    let edit = rename(&mut client, "start.md", ("[red", "[r‸ed"), "dark red").expect("it can be");
    assert_eq!(new_texts(&client, &edit, "start.md"), ["dark red"]);
    assert_eq!(new_texts(&client, &edit, "orders/start.md"), ["dark red"]);
    assert_eq!(new_texts(&client, &edit, "_tests/t.md"), [" dark red"]);
    let (_, reason) = rename(&mut client, "start.md", ("[red", "[r‸ed"), "blue").expect_err("it is there");
    assert!(reason.contains("already"), "{reason}");
    client.leave().expect("it ends well");
}

#[test]
fn a_key_is_renamed_in_the_file_that_a_sheet_begins_with_as_it_stands_in_the_editor() {
    let mut client = opened();
    let write = |path: &str, text: &str| std::fs::write(client.folder.path().join(path), text).expect("it can be written");
    write("_tests/c.md", "# A\n\n```transcript\n$ context begin.json\n...\n```\n\n# B\n\n```transcript\n$ context gone.json\n...\n```\n");
    write("_tests/begin.json", "{ \"colour\": \"red\" }\n");
    let edits = |client: &mut Client| {
        let edit = rename(client, "bye.md", ("{{ colour", "{{ col‸our"), "paint").expect("it can be");
        let changes = edit["documentChanges"].as_array().cloned().unwrap_or_default();
        let mut own = changes.into_iter().filter(|change| change["textDocument"]["uri"] == client.uri("_tests/begin.json"));
        (own.next().unwrap_or_default(), own.next())
    };
    let (change, more) = edits(&mut client);
    let place =
        |line: u32, from: u32, to: u32| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
    assert_eq!(change["edits"], json!([{ "range": place(0, 3, 9), "newText": "paint" }]));
    assert_eq!((&change["textDocument"]["version"], more), (&Json::Null, None));
    client.until("what stays", |client| client.said.iter().any(|said| said.contains("begins with `gone.json`, which cannot be read")));
    // The text that nobody saved counts.
    client.open("_tests/begin.json", "{\n  \"x\": {},\n  \"colour\": 1\n}\n");
    client.replace("_tests/begin.json", 2, "{\n  \"é\": {},\n\n  \"colour\": 1\n}\n");
    let (change, _) = edits(&mut client);
    assert_eq!(change["edits"], json!([{ "range": place(3, 3, 9), "newText": "paint" }]));
    assert_eq!(change["textDocument"]["version"], 2);
    client.close("_tests/begin.json");
    assert_eq!(edits(&mut client).0["edits"][0]["range"], place(0, 3, 9));
    client.leave().expect("it ends well");
}

#[test]
fn predicates_and_signals_are_renamed_after_somebody_confirms_it() {
    let mut client = opened();
    let edit = rename(&mut client, "orders/start.md", ("condition: vip", "condition: v‸ip"), "gold").expect("it can be");
    assert_eq!(new_texts(&client, &edit, "trellis.yaml"), ["gold"]);
    assert_eq!(new_texts(&client, &edit, "_tests/t.md"), ["gold"]);
    assert_eq!(edit["changeAnnotations"]["outside"]["needsConfirmation"], true);
    assert!(edit.to_string().contains("\"annotationId\":\"outside\""), "{edit}");
    let edit = rename(&mut client, "start.md", ("stop:", "st‸op:"), "halt").expect("it can be");
    assert_eq!(new_texts(&client, &edit, "start.md"), ["halt"]);
    client.until("what is left to do", |client| client.said.iter().any(|said| said.contains("what sends `stop`")));
    client.leave().expect("it ends well");
}

#[test]
fn a_move_that_the_client_makes_takes_what_leads_there_along() {
    let mut client = opened();
    let moved = |client: &mut Client, from: &str, to: &str| {
        let root = client.uri("").trim_end_matches('/').to_owned();
        let file = json!({ "oldUri": format!("{root}/{from}"), "newUri": format!("{root}/{to}") });
        client.request("workspace/willRenameFiles", json!({ "files": [file] })).expect("it answers")
    };
    let edit = moved(&mut client, "orders/find.md", "found.md");
    assert_eq!(new_texts(&client, &edit, "orders/start.md"), ["found"]);
    assert_eq!(new_texts(&client, &edit, "bye.md"), ["found.md"]);
    assert_eq!(new_texts(&client, &edit, "orders/find.md"), ["was: [orders/find]\n", "bye.md"]);
    assert!(!edit.to_string().contains("\"rename\""), "the client moves the file itself: {edit}");
    let edit = moved(&mut client, "orders", "shop");
    assert_eq!(new_texts(&client, &edit, "start.md"), ["shop"]);
    // A move that would change the graph is not stopped, and the user is told.
    let nothing = moved(&mut client, "bye.md", "orders/rollback.md");
    assert!(nothing.is_null(), "{nothing}");
    client.until("the reason", |client| client.said.iter().any(|said| said.starts_with("nothing else was changed")));
    // VS Code holds a filter to a folder only if that says so.
    let filters = &client.initialized["capabilities"]["workspace"]["fileOperations"]["willRename"]["filters"];
    let kinds: Vec<&Json> = filters.as_array().into_iter().flatten().map(|filter| &filter["pattern"]["matches"]).collect();
    assert_eq!(kinds, ["file", "folder"]);
    assert_eq!(filters[1]["pattern"]["glob"], "**/*");
    client.leave().expect("it ends well");
}

// a node under `nodes:` begins at its key
#[test]
fn the_key_of_a_node_under_nodes_is_that_node() {
    let text = "nodes:\n  start:\n    to: pay\n  pay:\n    to: bye\n  bye: {}\n";
    let mut client = Client::new(&[("start.yaml", text)]);
    client.open("start.yaml", text);
    client.wait("start.yaml", |list| list.diagnostics.is_empty());
    for (marked, name) in
        [("  st‸art:", "start"), ("  ‸pay:", "pay"), ("  bye‸:", "bye"), ("    to: pay‸\n", "pay"), ("    t‸o: bye", "pay")]
    {
        let params = client.place("start.yaml", &text.replacen(&marked.replace('‸', ""), marked, 1));
        let items = client.request("textDocument/prepareCallHierarchy", params).expect("it answers");
        assert_eq!(items[0]["name"], name, "{marked}");
    }
    client.leave().expect("it ends well");
}
