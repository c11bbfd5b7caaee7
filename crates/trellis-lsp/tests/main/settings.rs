//! Settings, progress and requests that are taken back (`docs/lsp.md`).

use serde_json::json;

use crate::client::{Client, capabilities};

const START: &str = "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n";
const GREET: &str = "---\n---\nHello {{ given }}\n";

#[test]
fn settings_are_asked_for_and_a_change_of_them_is_judged_anew() {
    let mut capabilities = capabilities();
    capabilities["workspace"]["configuration"] = true.into();
    capabilities["workspace"]["didChangeConfiguration"] = json!({ "dynamicRegistration": true });
    let unchecked = "---\ndo: look\nto: greet\nsave_to: found\n---\n";
    let files = [
        ("trellis.yaml", "bindings: { look: { function: true } }\n"),
        ("start.md", unchecked),
        ("greet.md", "---\n---\nHello {{ found.name }}\n"),
    ];
    let mut client = Client::with(&files, capabilities, json!({}));
    client.open("greet.md", files[2].1);
    client.until("a question for settings", |client| client.asked.contains(&"workspace/configuration".to_owned()));
    let strict = |line: &String| line.contains("unchecked-read");
    client.wait("greet.md", |list| !list.lines().iter().any(strict));
    client.settings = json!({ "strict": true });
    client.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    client.wait("greet.md", |list| list.lines().iter().any(strict));
    client.settings = json!({ "strict": false });
    client.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    client.wait("greet.md", |list| !list.lines().iter().any(strict));
    client.leave().expect("it ends well");
}

#[test]
fn a_client_that_cannot_be_asked_sends_its_settings_and_roots_may_change() {
    let files = [("a/start.md", "---\nto: nowhere\n---\n"), ("b/start.md", "---\nto: nowhere\n---\n")];
    let mut client = Client::with(&files, capabilities(), json!({ "trellis": { "roots": ["a"] } }));
    client.wait("a/start.md", |list| !list.diagnostics.is_empty());
    client.notify("workspace/didChangeConfiguration", json!({ "settings": { "trellis": { "roots": ["b"] } } }));
    client.wait("b/start.md", |list| !list.diagnostics.is_empty());
    client.wait("a/start.md", |list| list.diagnostics.is_empty());
    assert!(!client.asked.contains(&"workspace/configuration".to_owned()));
    client.leave().expect("it ends well");
}

#[test]
fn the_first_link_has_a_progress_where_the_client_shows_one() {
    let mut capabilities = capabilities();
    capabilities["window"] = json!({ "workDoneProgress": true });
    static HELD: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let held = HELD.lock().expect("nobody broke it");
    let late = |_: &trellis_lsp::LateQuestion<'_>| {
        drop(HELD.lock());
        trellis_lsp::LateAnswer::default()
    };
    let mut client = Client::started(&[("start.md", START), ("greet.md", GREET)], late, json!({ "capabilities": capabilities }));
    let kind =
        |client: &Client, kind: &str| client.noted.iter().any(|(method, params)| method == "$/progress" && params["value"]["kind"] == kind);
    client.until("the begin", |client| kind(client, "begin"));
    drop(held);
    client.until("the end", |client| kind(client, "end"));
    client.leave().expect("it ends well");
    let mut plain = Client::new(&[("start.md", START), ("greet.md", GREET)]);
    plain.wait("greet.md", |list| !list.diagnostics.is_empty());
    assert!(plain.asked.iter().all(|method| !method.contains("workDoneProgress")));
    plain.leave().expect("it ends well");
}

#[test]
fn a_request_that_is_taken_back_before_it_was_begun_is_cancelled() {
    static HELD: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let held = HELD.lock().expect("nobody broke it");
    let late = |_: &trellis_lsp::LateQuestion<'_>| {
        drop(HELD.lock());
        trellis_lsp::LateAnswer::default()
    };
    let mut client = Client::started(&[("start.md", START), ("greet.md", GREET)], late, json!({ "capabilities": capabilities() }));
    client.open("start.md", START);
    // It waits for a link that is held back.
    let mut params = client.place("start.md", "---\ninput_type: text\nsave_to: na‸me");
    params["newName"] = "given".into();
    let id = client.ask("textDocument/rename", params);
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id).expect_err("it is cancelled").0, -32800);
    drop(held);
    client.leave().expect("it ends well");
}
