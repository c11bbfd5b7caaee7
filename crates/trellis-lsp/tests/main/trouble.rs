//! Trouble: saves that nobody told of, links that take too long, edits of another text, clients that are gone.

use std::sync::{Condvar, Mutex, PoisonError};

use serde_json::{Value as Json, json};
use trellis_lsp::ServeError;

use crate::client::{Client, capabilities};

const START: &str = "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n";
const GREET: &str = "---\n---\nHello {{ name }}\n";
const CONTENT_MODIFIED: i32 = -32801;

/// Holds links back until it is opened.
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    const fn closed() -> Self {
        Self(Mutex::new(false), Condvar::new())
    }

    fn open(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let mut is_open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_open {
            is_open = self.1.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn params() -> Json {
    json!({ "capabilities": capabilities() })
}

fn rename(client: &Client, line: u32, character: u32) -> i32 {
    let position = json!({ "line": line, "character": character });
    let document = json!({ "uri": client.uri("start.md") });
    client.ask("textDocument/rename", json!({ "textDocument": document, "position": position, "newName": "given" }))
}

#[test]
fn what_a_close_finds_on_the_disk_is_linked() {
    let mut client = Client::new(&[("start.md", START), ("other.md", "---\n---\nOther.\n"), ("greet.md", GREET)]);
    client.open("other.md", "---\n---\nOther.\n");
    client.wait("other.md", |list| list.version == Some(1));
    // Nobody says that a file went.
    std::fs::remove_file(client.folder.path().join("greet.md")).expect("it is there");
    client.close("other.md");
    assert_eq!(client.wait("start.md", |list| !list.diagnostics.is_empty()).lines(), ["3:4 unknown-target there is no node `greet`"]);
    client.open("other.md", "---\n---\nOther.\n");
    std::fs::write(client.folder.path().join("greet.md"), GREET).expect("a file");
    client.close("other.md");
    client.wait("start.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

#[test]
fn a_file_that_is_opened_before_its_creation_is_told_is_served() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    std::fs::write(client.folder.path().join("new.md"), "").expect("a file");
    client.open("new.md", "---\nto: nowhere\n---\n");
    let list = client.wait("new.md", |list| !list.diagnostics.is_empty());
    assert!(list.lines()[0].contains("unknown-target"), "{list:?}");
    client.leave().expect("it ends well");
}

#[test]
fn a_copy_that_git_ignores_is_no_graph_of_its_own() {
    let broken = "---\nto: [\n---\n";
    let files = [(".gitignore", "dist/\n"), ("start.md", START), ("greet.md", GREET), ("dist/start.md", broken), ("dist/a.md", broken)];
    let mut client = Client::new(&files);
    client.open("dist/a.md", broken);
    // Two rounds: what the first one had to say was said before the second.
    for round in ["one", "two"] {
        client.save("dist/a.md", Some(broken));
        client.save("start.md", Some(&START.replace("to: greet", &format!("to: {round}"))));
        client.wait("start.md", |list| list.lines().iter().any(|line| line.contains(&format!("`{round}`"))));
    }
    assert_eq!(client.lists.keys().filter(|uri| uri.contains("dist")).count(), 0, "{:?}", client.lists);
    client.leave().expect("it ends well");
}

#[test]
fn a_rename_that_waits_is_refused_when_its_text_changes() {
    static LINKS: Gate = Gate::closed();
    let mut client = Client::started(
        &[("start.md", START), ("greet.md", GREET)],
        |_| {
            LINKS.wait();
            Vec::new().into()
        },
        params(),
    );
    client.open("start.md", START);
    let waits = rename(&client, 2, 10);
    client.replace("start.md", 2, &START.replace("input_type", "# a line more\ninput_type"));
    assert_eq!(client.answer(waits).expect_err("its place is another one").0, CONTENT_MODIFIED);
    // One that is about the text as it stays is answered once it is linked.
    let waits = rename(&client, 3, 10);
    LINKS.open();
    assert!(client.answer(waits).expect("it is linked").to_string().contains("given"));
    client.replace("start.md", 3, "---\nto: [\n---\n");
    client.wait("start.md", |list| list.version == Some(3));
    assert_eq!(client.said, ["stored sessions hold `name`: they are asked for `given` when they resume"]);
    client.leave().expect("it ends well");
}

#[test]
fn a_rename_does_not_wait_without_end() {
    static LINKS: Gate = Gate::closed();
    let mut client = Client::started(
        &[("start.md", START), ("greet.md", GREET)],
        |_| {
            LINKS.wait();
            Vec::new().into()
        },
        params(),
    );
    client.open("start.md", START);
    let waits = rename(&client, 2, 10);
    assert_eq!(client.answer(waits).expect_err("nothing is linked").0, CONTENT_MODIFIED);
    LINKS.open();
    client.leave().expect("it ends well");
}

#[test]
fn a_linking_thread_that_breaks_off_leaves_nobody_waiting() {
    let mut client = Client::started(&[("start.md", START), ("greet.md", GREET)], |_| panic!("a test breaks the linking thread"), params());
    client.open("start.md", START);
    for _ in 0..2 {
        // A request that waits for long is refused as well, with the word to ask again.
        let mut code = std::iter::repeat_with(|| {
            let waits = rename(&client, 2, 10);
            client.answer(waits).expect_err("nothing is linked").0
        });
        assert_eq!(code.find(|code| *code != -32801), Some(-32803));
    }
    assert_eq!(client.said.len(), 1, "{:?}", client.said);
    client.leave().expect("it ends well");
}

#[test]
fn edits_of_another_text_take_the_file_from_the_disk_until_it_is_opened_again() {
    let wrong = START.replace("to: greet", "to: nowhere");
    let at = |line: u32, character: u32| json!({ "line": line, "character": character });
    let backwards = json!([{ "range": { "start": at(3, 2), "end": at(1, 0) }, "text": "x" }]);
    for (version, changes) in [(1, json!([{ "text": "late" }])), (5, backwards), (6, json!([{ "range": 1 }]))] {
        let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
        client.open("start.md", &wrong);
        client.wait("start.md", |list| list.version == Some(1) && !list.diagnostics.is_empty());
        client.change("start.md", version, changes);
        client.wait("start.md", |list| list.version.is_none() && list.diagnostics.is_empty());
        assert!(client.said[0].starts_with("`start.md` is read from disk until it is opened again: "), "{:?}", client.said);
        client.replace("start.md", 9, "nobody listens");
        client.open("start.md", &wrong);
        client.wait("start.md", |list| list.version == Some(1) && !list.diagnostics.is_empty());
        assert_eq!(client.said.len(), 1);
        client.leave().expect("it ends well");
    }
}

#[test]
fn edits_that_come_in_another_order_mean_what_they_meant() {
    let mut client = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    client.open("start.md", START);
    let end = START.replace("to: greet", "to: nowhere");
    let half = START.replace("to: greet", "to: now");
    let line = half.lines().position(|line| line == "to: now").expect("it is there");
    let at = json!({ "line": line, "character": "to: now".len() });
    client.change("start.md", 3, json!([{ "range": { "start": at, "end": at }, "text": "here" }]));
    client.change("start.md", 2, json!([{ "text": half }]));
    client.wait("start.md", |list| {
        list.version == Some(3)
            && list.diagnostics.iter().any(|found| found["message"].as_str().is_some_and(|said| said.contains("`nowhere`")))
    });
    client.replace("start.md", 4, &end.replace("nowhere", "greet"));
    client.wait("start.md", |list| list.version == Some(4) && list.diagnostics.is_empty());
    assert!(client.said.is_empty(), "{:?}", client.said);
    client.leave().expect("it ends well");
}

#[cfg(unix)]
#[test]
fn a_server_ends_when_the_process_of_its_client_is_gone() {
    let mut process = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("it starts");
    let files = [("start.md", START), ("greet.md", GREET)];
    let client = Client::started(
        &files,
        |_| trellis_lsp::LateAnswer::default(),
        json!({ "capabilities": capabilities(), "processId": process.id() }),
    );
    process.kill().expect("it runs");
    process.wait().expect("it ran");
    assert!(matches!(client.into_served(), Err(ServeError::Left)));
    // One that was never there is not waited for.
    let number = json!({ "capabilities": capabilities(), "processId": process.id() });
    Client::started(&files, |_| trellis_lsp::LateAnswer::default(), number).leave().expect("it ends well");
}

#[test]
fn lists_of_a_folder_whose_name_goes_on_stay() {
    let wrong = "---\nto: nowhere\n---\n";
    let mut client = Client::new(&[("app/start.md", wrong), ("app-v2/start.md", wrong)]);
    for path in ["app/start.md", "app-v2/start.md"] {
        client.wait(path, |list| !list.diagnostics.is_empty());
    }
    let root = std::fs::canonicalize(client.folder.path()).expect("it is there");
    let named = |path: &str| json!({ "uri": format!("file://{}", root.join(path).display()), "name": "graph" });
    let event = json!({ "added": [named("app-v2")], "removed": [named("")] });
    client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    // Lists were withdrawn before the answer.
    client.request("workspace/symbol", json!({ "query": "start" })).expect("there are symbols");
    let last = |path: &str| client.lists[&client.uri(path)].last().map(|list| list.diagnostics.len());
    assert_eq!((last("app/start.md"), last("app-v2/start.md")), (Some(0), Some(1)));
    client.leave().expect("it ends well");
}
