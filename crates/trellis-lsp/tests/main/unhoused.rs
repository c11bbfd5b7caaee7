//! Files that are open before their folder is a graph, and graphs that come and go (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::client::{Client, List, capabilities};

/// The capabilities of a client that cannot watch files.
fn unwatching() -> Json {
    let mut without = capabilities();
    without["workspace"]["didChangeWatchedFiles"] = json!({ "dynamicRegistration": false });
    without
}

fn names(list: &List, node: &str) -> bool {
    list.lines().iter().any(|line| line.contains(&format!("there is no node `{node}`")))
}

// A folder becomes a graph with the first `start`; unsaved files count, also those that are open already.
#[test]
fn a_file_that_is_open_before_its_folder_is_a_graph_is_served_with_it() {
    let mut client = Client::new(&[]);
    client.open("hello.md", "---\n---\n");
    client.replace("hello.md", 2, "---\nto: nowhere\n---\n");
    client.open("start.md", "---\nto: hello\n---\n");
    client.wait("hello.md", |list| list.version == Some(2) && names(list, "nowhere"));
    let start = client.wait("start.md", |list| list.version == Some(1));
    assert!(!names(&start, "hello"), "{start:?}");
    let uri = client.uri("start.md");
    assert!(client.lists[&uri].iter().all(|list| !names(list, "hello")), "{:?}", client.lists[&uri]);
    let offered = client.at("hello.md", 3, "---\nto: st‸\n---\n", "textDocument/completion");
    assert!(offered["items"].as_array().is_some_and(|items| items.iter().any(|item| item["label"] == "start")), "{offered}");
    client.replace("hello.md", 4, "---\nto: elsewhere\n---\n");
    client.wait("hello.md", |list| list.version == Some(4) && names(list, "elsewhere"));
    client.leave().expect("it ends well");
}

#[test]
fn a_file_is_served_once_its_folder_is_a_graph_by_what_somebody_saves_or_opens() {
    let mut client = Client::new(&[("README.md", "Read me.\n")]);
    client.open("README.md", "---\nto: gone\n---\n");
    client.save("trellis.yaml", Some("name: a\n"));
    client.wait("README.md", |list| list.version == Some(1) && names(list, "gone"));
    // Nobody says what was saved, but an edit looks again.
    let mut other = Client::new(&[("README.md", "Read me.\n")]);
    other.open("README.md", "Read me.\n");
    other.replace("README.md", 2, "---\nto: gone\n---\n");
    std::fs::write(other.folder.path().join("start.md"), "Hello.\n").expect("it can be written");
    other.replace("README.md", 3, "---\nto: away\n---\n");
    other.wait("README.md", |list| list.version == Some(3) && names(list, "away"));
    // One that is closed meanwhile is what the disk says.
    let mut third = Client::new(&[("a.md", "---\nto: disk\n---\n")]);
    third.open("a.md", "---\nto: editor\n---\n");
    third.close("a.md");
    third.open("start.md", "---\nto: a\n---\n");
    third.wait("a.md", |list| list.version.is_none() && names(list, "disk"));
    for client in [client, other, third] {
        client.leave().expect("it ends well");
    }
}

#[test]
fn a_folder_that_is_added_takes_the_files_that_are_open() {
    let files = [("one/start.md", "Hello.\n"), ("two/trellis.yaml", "name: two\n"), ("two/deep/a.md", "A\n")];
    let mut client = Client::in_workspaces(&files, &["one"], capabilities());
    client.open("two/deep/a.md", "---\nto: lost\n---\n");
    let folder = json!({ "uri": client.uri("two"), "name": "two" });
    client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [folder], "removed": [] } }));
    client.wait("two/deep/a.md", |list| list.version == Some(1) && names(list, "lost"));
    client.leave().expect("it ends well");
}

// A folder without a `start` is no graph: as for a server that is started then.
#[test]
fn a_graph_that_loses_its_start_is_served_no_more_until_it_has_one() {
    let mut client = Client::new(&[("start.md", "Hello.\n"), ("README.md", "---\nto: gone\n---\n")]);
    client.open("README.md", "---\nto: gone\n---\n");
    client.wait("README.md", |list| names(list, "gone"));
    client.save("start.md", None);
    client.wait("README.md", |list| list.diagnostics.is_empty());
    client.replace("README.md", 2, "---\nto: away\n---\n");
    client.save("start.md", Some("Hello.\n"));
    let list = client.wait("README.md", |list| list.version == Some(2) && names(list, "away"));
    assert!(!list.lines().iter().any(|line| line.contains("missing-start")), "{list:?}");
    client.leave().expect("it ends well");
}

#[test]
fn an_outer_graph_takes_over_the_files_of_one_inside_it_and_gives_them_back() {
    let mut client = Client::new(&[("in/start.md", "---\nto: a\n---\n"), ("in/a.md", "A\n")]);
    client.open("in/a.md", "A\n");
    client.replace("in/a.md", 2, "---\nto: gone\n---\n");
    client.wait("in/a.md", |list| list.version == Some(2) && names(list, "gone"));
    client.save("start.md", Some("---\nto: in\n---\n"));
    client.save("other.md", Some("---\nto: lost\n---\n"));
    client.wait("other.md", |list| names(list, "lost"));
    client.wait("in/a.md", |list| list.version == Some(2) && names(list, "gone"));
    // A target of the outer graph is one now.
    client.replace("in/a.md", 3, "---\nto: /other\n---\n");
    client.wait("in/a.md", |list| list.version == Some(3) && list.diagnostics.is_empty());
    client.save("start.md", None);
    client.wait("in/a.md", |list| list.version == Some(3) && !list.diagnostics.is_empty());
    client.wait("other.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

// The server watches itself where the client cannot: new files and new graphs are seen, also where each file of a graph is open.
#[test]
fn what_others_make_is_seen_where_every_file_is_open_or_none_is_there() {
    let mut client = Client::with(&[("start.md", "---\nto: a\n---\n")], unwatching(), json!({}));
    client.open("start.md", "---\nto: a\n---\n");
    client.wait("start.md", |list| names(list, "a"));
    std::fs::write(client.folder.path().join("a.md"), "A\n").expect("it can be written");
    client.wait("start.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");

    let mut client = Client::with(&[("README.md", "Read me.\n")], unwatching(), json!({}));
    client.open("README.md", "---\nto: gone\n---\n");
    std::fs::write(client.folder.path().join("start.md"), "Hello.\n").expect("it can be written");
    client.wait("README.md", |list| list.version == Some(1) && names(list, "gone"));
    client.leave().expect("it ends well");
}
