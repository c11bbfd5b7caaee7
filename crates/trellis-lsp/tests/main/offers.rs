//! Completion of more than names, and code actions beyond fixes (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const PROJECT: &str = "predicates: [vip]\ncontext: { user: { type: object, properties: { name: string, age: integer } }, size: { enum: [s, m] } }\nbindings:\n  charge:\n    parameters: { type: object, properties: { amount: { type: integer } }, required: [amount] }\n    function: true\n  release: { function: true }\n";
pub(crate) const FILES: [(&str, &str); 5] = [
    ("trellis.yaml", PROJECT),
    ("lib/tools.yaml", "tools:\n  - { name: look }\n"),
    (
        "start.md",
        "---\noptions: [red, blue]\nsave_to: colour\nset: { user: { name: Ada, age: 3 }, size: s }\nmessages: { pt: { content: Qual? } }\non_signal: { stop: bye }\nto: pay\n---\nWhich?\n",
    ),
    ("pay.md", "---\ndo: { name: charge, args: { amount: 3 } }\nto: bye\n---\n"),
    ("bye.md", "---\n---\nBye.\n"),
];

pub(crate) fn opened() -> Client {
    let client = Client::new(&FILES);
    for (path, text) in FILES {
        client.open(path, text);
    }
    client
}

pub(crate) fn items(answer: &Json) -> Vec<Json> {
    answer["items"].as_array().cloned().unwrap_or_default()
}

pub(crate) fn labels(answer: &Json) -> Vec<String> {
    items(answer).iter().map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn parts_of_values_paths_and_builtins_are_completed() {
    let mut client = opened();
    let mut version = 1;
    let mut at = |path: &str, marked: &str| {
        version += 1;
        labels(&client.at(path, version, marked, "textDocument/completion"))
    };
    assert_eq!(at("bye.md", "---\n---\n{{ user.‸ }}"), ["age", "name"]);
    assert!(at("bye.md", "---\n---\n{{ sys.‸").contains(&"error".to_owned()));
    assert_eq!(at("bye.md", "---\ntransitions:\n  - condition: user.n‸\n---\n"), ["age", "name"]);
    assert_eq!(at("bye.md", "---\ntransitions:\n  - condition: size == ‸\n---\n"), ["s", "m"]);
    assert_eq!(at("bye.md", "---\nmessages:\n  ‸\n---\n"), ["pt"]);
    assert_eq!(at("bye.md", "---\non_signal:\n  ‸\n---\n"), ["interrupt", "stop", "timeout"]);
    let second = at("bye.md", "---\ntransitions:\n  - condition: vip\n    to: pay\n  - t‸\n---\n");
    assert!(second.contains(&"to".to_owned()) && second.contains(&"condition".to_owned()), "{second:?}");
    assert_eq!(at("bye.md", "---\n---\nSee [pay](‸"), ["pay.md", "start.md"]);
    assert!(at("bye.md", "---\ntools: [‸]\n---\n").contains(&"lib/tools.yaml".to_owned()));
    assert!(at("trellis.yaml", "bindings:\n  now: { builtin: ‸ }\n").len() > 5);
    assert_eq!(at("start.md", "---\noptions: [red, blue]\ninput_default: ‸\n---\n"), ["red", "blue"]);
    client.leave().expect("it ends well");
}

#[test]
fn a_tool_is_completed_with_the_arguments_that_it_requires() {
    let mut client = opened();
    let answer = client.at("pay.md", 2, "---\ndo: ‸\nto: bye\n---\n", "textDocument/completion");
    let item = items(&answer).into_iter().find(|item| item["label"] == "charge").expect("it is a tool");
    assert_eq!(item["textEdit"]["newText"], "{ name: charge, args: { amount: ${1} } }");
    assert_eq!(item["insertTextFormat"], 2);
    let answer = client.at("pay.md", 3, "---\ndo: { name: ch‸ }\nto: bye\n---\n", "textDocument/completion");
    let item = items(&answer).into_iter().find(|item| item["label"] == "charge").expect("it is a tool");
    assert_eq!(item["textEdit"]["newText"], "charge, args: { amount: ${1} }");
    client.leave().expect("it ends well");
}

#[test]
fn a_chosen_target_says_what_its_node_says() {
    let mut client = opened();
    let answer = client.at("pay.md", 2, "---\nto: by‸\n---\n", "textDocument/completion");
    let item = items(&answer).into_iter().find(|item| item["label"] == "bye").expect("it is a node");
    let resolved = client.request("completionItem/resolve", item).expect("it answers");
    assert!(resolved["documentation"]["value"].as_str().is_some_and(|text| text.contains("> Bye.")), "{resolved}");
    client.leave().expect("it ends well");
}

#[test]
fn names_in_sheets_are_completed_and_followed_and_mistakes_of_sheets_show() {
    let mut client = opened();
    let sheet = "# A\n\n```transcript\n$ at pay\n! charge {\"amount\":3}\n```\n";
    client.open("_tests/a.md", sheet);
    let at = |client: &mut Client, version, marked: &str, method: &str| client.at("_tests/a.md", version, marked, method);
    assert_eq!(labels(&at(&mut client, 2, "# A\n\n```transcript\n$ at ‸\n```\n", "textDocument/completion")), ["bye", "pay", "start"]);
    assert_eq!(labels(&at(&mut client, 3, "# A\n\n```tools\nch‸\n```\n", "textDocument/completion")), ["charge", "look", "release"]);
    let found = at(&mut client, 4, &sheet.replace("at pay", "at p‸ay"), "textDocument/definition");
    assert_eq!(found[0]["uri"], client.uri("pay.md"));
    let hover = at(&mut client, 5, &sheet.replace("! charge", "! ch‸arge"), "textDocument/hover");
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.starts_with("**tool** `charge`")), "{hover}");
    client.replace("_tests/a.md", 6, "# A\n\n```transcript\n> red\n");
    let list = client.wait("_tests/a.md", |list| list.version == Some(6));
    assert_eq!(list.diagnostics[0]["range"]["start"]["line"], 2, "{list:?}");
    client.replace("_tests/a.md", 7, sheet);
    client.wait("_tests/a.md", |list| list.version == Some(7) && list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

// `docs/lsp.md`: a list is pushed for every file, open or not; a closed file is what the disk says, and a deleted one loses its findings
#[test]
fn mistakes_of_sheets_show_also_while_they_are_closed() {
    let broken = "# A\n\n```transcript\n> red\n";
    let mut client = Client::new(&[("start.md", "Hello.\n"), ("_tests/deep/a.md", broken), ("_tests/b.md", "# B\n")]);
    let list = client.wait("_tests/deep/a.md", |list| !list.diagnostics.is_empty());
    assert_eq!((list.version, list.diagnostics.len(), &list.diagnostics[0]["range"]["start"]["line"]), (None, 1, &json!(2)), "{list:?}");
    client.open("_tests/deep/a.md", "# A\n");
    client.wait("_tests/deep/a.md", |list| list.version == Some(1) && list.diagnostics.is_empty());
    client.close("_tests/deep/a.md");
    client.wait("_tests/deep/a.md", |list| list.version.is_none() && list.diagnostics.len() == 1);
    client.save("_tests/deep/a.md", Some("# A\n"));
    client.wait("_tests/deep/a.md", |list| list.diagnostics.is_empty());
    client.save("_tests/b.md", Some(broken));
    client.wait("_tests/b.md", |list| list.diagnostics.len() == 1);
    client.save("_tests/b.md", None);
    client.wait("_tests/b.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

// `docs/lsp.md`, `docs/testing.md`: a case that changes a file of the graph is read again when that file is another one
#[test]
fn a_change_in_a_sheet_is_judged_by_the_graph_as_it_is() {
    let mut client = Client::new(&[("start.md", "---\nto: end\n---\nHello.\n"), ("end.md", "Bye.\n")]);
    client.open("_tests/a.md", "# A\n\n```diff start.md\n-Hello.\n+Good day.\n```\n\n```transcript\n| Good day.\n```\n");
    client.wait("_tests/a.md", |list| list.diagnostics.is_empty());
    client.open("start.md", "---\nto: end\n---\nHello.\n");
    client.replace("start.md", 2, "---\nto: end\n---\nWelcome.\n");
    client.wait("_tests/a.md", |list| list.diagnostics.len() == 1);
    client.replace("start.md", 3, "---\nto: end\n---\nHello.\n");
    client.wait("_tests/a.md", |list| list.diagnostics.is_empty());
    client.leave().expect("it ends well");
}

/// The actions of a range of one place.
pub(crate) fn actions(client: &mut Client, path: &str, marked: &str, only: Option<&str>) -> Vec<Json> {
    let place = client.place(path, marked);
    let range = json!({ "start": place["position"], "end": place["position"] });
    let mut params = json!({ "textDocument": place["textDocument"], "range": range, "context": { "diagnostics": [] } });
    if let Some(only) = only {
        params["context"]["only"] = json!([only]);
    }
    client.request("textDocument/codeAction", params).expect("it answers").as_array().cloned().unwrap_or_default()
}

pub(crate) fn titled(actions: &[Json], title: &str) -> Json {
    let found = actions.iter().find(|action| action["title"] == title).cloned();
    found.unwrap_or_else(|| panic!("no {title:?} in {:?}", actions.iter().map(|action| &action["title"]).collect::<Vec<_>>()))
}

/// Types a text, waits for its findings, and asks for actions at the cursor.
pub(crate) fn typed(client: &mut Client, path: &str, version: i32, marked: &str, code: &str, only: Option<&str>) -> Vec<Json> {
    client.replace(path, version, &marked.replace('‸', ""));
    client.wait(path, |list| list.version == Some(i64::from(version)) && list.lines().iter().any(|line| line.contains(code)));
    actions(client, path, marked, only)
}

#[test]
fn what_a_finding_asks_for_can_be_added() {
    let mut client = opened();
    let found = typed(&mut client, "pay.md", 2, "---\nto: good‸bye\n---\n", "unknown-target", None);
    let action = titled(&found, "add node `goodbye`");
    let changes = &action["edit"]["documentChanges"];
    assert_eq!(
        (&changes[0]["kind"], &changes[0]["uri"]),
        (&json!("create"), &json!(client.uri("").trim_end_matches('/').to_owned() + "/goodbye.md"))
    );
    assert_eq!(changes[1]["edits"][0]["newText"], "---\n---\nGoodbye.\n");
    titled(&found, "add `goodbye/start.md`, a module");
    let found =
        typed(&mut client, "pay.md", 3, "---\ntransitions:\n  - { condition: is_n‸ew, to: bye }\n  - to: bye\n---\n", "is_new", None);
    if found.iter().any(|action| action["title"] == "declare predicate `is_new`") {
        let action = titled(&found, "declare predicate `is_new`");
        assert_eq!(action["edit"]["documentChanges"][0]["edits"][0]["newText"], ", is_new");
    } else {
        panic!("{found:?}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn a_misspelt_predicate_is_one_while_another_file_cannot_be_read() {
    let files = [
        ("trellis.yaml", "predicates: [vip]\n"),
        ("start.md", "---\nto: pay\n---\nHello.\n"),
        ("pay.md", "---\nto: bye\n---\nPay.\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("new.md", "---\n"),
    ];
    let mut client = Client::with(&files, capabilities(), json!({}));
    client.open("pay.md", files[2].1);
    let asked = "---\ntransitions:\n  - condition: v‸pi\n    to: bye\n  - to: bye\n---\n";
    let found = typed(&mut client, "pay.md", 2, asked, "`vpi`", None);
    let near = &titled(&found, "did you mean `vip`?")["edit"]["documentChanges"][0]["edits"][0];
    let place = json!({ "start": { "line": 2, "character": 15 }, "end": { "line": 2, "character": 18 } });
    assert_eq!((&near["newText"], &near["range"]), (&json!("vip"), &place));
    assert_eq!(titled(&found, "declare predicate `vpi`")["edit"]["documentChanges"][0]["edits"][0]["newText"], ", vpi");
    let found = typed(&mut client, "pay.md", 3, "---\nto: bye\n---\n{{ v‸pi }}\n", "`vpi`", None);
    assert!(found.iter().all(|action| !action["title"].as_str().is_some_and(|title| title.contains("predicate"))), "{found:?}");
    client.leave().expect("it ends well");
}

#[test]
fn a_finding_is_allowed_where_it_stands() {
    let mut client = opened();
    let found = typed(&mut client, "bye.md", 2, "---\n---\nSee [it](gone‸.md).\n", "broken-link", None);
    let action = titled(&found, "allow `broken-link` here");
    let edit = &action["edit"]["documentChanges"][0]["edits"][0];
    assert!(edit["newText"].as_str().is_some_and(|text| text.contains("# trellis: allow(broken-link)")), "{action}");
    client.leave().expect("it ends well");
}

#[test]
fn everything_with_a_safe_fix_is_fixed_at_once() {
    let mut client = opened();
    let wrong = "---\nt‸o: pya\non_error: by\ndo: { name: charge, args: { amount: 3 } }\n---\n";
    client.replace("pay.md", 2, &wrong.replace('‸', ""));
    client
        .wait("pay.md", |list| list.version == Some(2) && list.lines().iter().filter(|line| line.contains("unknown-target")).count() == 2);
    let found = actions(&mut client, "pay.md", wrong, Some("source.fixAll"));
    assert_eq!(found.len(), 1, "{found:?}");
    let edits = found[0]["edit"]["documentChanges"][0]["edits"].as_array().cloned().unwrap_or_default();
    assert_eq!(edits.iter().map(|edit| edit["newText"].as_str().unwrap_or_default()).collect::<Vec<_>>(), ["pay", "bye"]);
    assert!(actions(&mut client, "pay.md", wrong, None).iter().all(|action| action["kind"] != "source.fixAll.trellis"));
    client.leave().expect("it ends well");
}

#[test]
fn a_graph_that_stays_the_same_can_be_rewritten() {
    let files = [
        ("trellis.yaml", "name: shop\n"),
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: ask\n---\nName?\n"),
        ("ask.md", "---\ntools:\n  - { name: look, description: Looks. }\ndo: look\nto: more\n---\n"),
        ("more.md", "---\nto: bye\n---\nMore of {{ name }}.\n"),
        ("bye.md", "---\n---\nBye.\n"),
    ];
    let mut client = Client::with(&files, capabilities(), json!({}));
    client.open("start.md", files[1].1);
    client.open("ask.md", files[2].1);
    client.wait("start.md", |list| list.version == Some(1));
    let found = actions(&mut client, "start.md", "---\ninput_type: text\nsave_to: name\nto: as‸k", Some("refactor"));
    titled(&found, "turn `to` into `jump_to`");
    let found = actions(&mut client, "start.md", "---\ninput_type: text\nsave_to: na‸me", Some("refactor.rewrite"));
    assert_eq!(titled(&found, "add `name` to `redact`")["edit"]["documentChanges"][0]["edits"][0]["newText"], "redact: [name]\n");
    let found = actions(&mut client, "ask.md", "---\ntools:\n  - ‸", Some("refactor.extract"));
    let action = titled(&found, "move these tools to the library `ask.tools.yaml`");
    assert!(action["edit"].to_string().contains("tools: [./ask.tools.yaml]"), "{action}");
    let module = titled(&found, "move 3 nodes to the module `ask`");
    let moves = module["edit"]["documentChanges"].as_array().into_iter().flatten().filter(|change| change["kind"] == "rename").count();
    assert_eq!(moves, 3, "{module}");
    client.leave().expect("it ends well");
}

#[test]
fn nothing_is_offered_that_a_client_cannot_take() {
    let mut bare = Client::with(
        &FILES,
        json!({ "textDocument": { "codeAction": { "codeActionLiteralSupport": {} }, "publishDiagnostics": { "versionSupport": true } } }),
        json!({}),
    );
    bare.open("pay.md", FILES[3].1);
    let found = typed(&mut bare, "pay.md", 2, "---\nto: good‸bye\n---\n", "unknown-target", None);
    assert!(found.iter().all(|action| !action.to_string().contains("documentChanges")), "{found:?}");
    bare.leave().expect("it ends well");
}
