//! Answers to requests, also on text that is half typed.

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const PROJECT: &str = "name: shop\npredicates: [vip]\nbindings:\n  charge:\n    description: Takes the money.\n    parameters: { type: object, properties: { amount: { type: integer }, note: { type: string } }, required: [amount] }\n    function: true\n";
const START: &str = "---\noptions: [red, blue]\nsave_to: colour\nto: orders\n---\nWhich colour?\n";
const ORDERS: &str = "---\ntransitions:\n  - { condition: colour == \"red\", to: find }\n  - to: pay\n---\nYou like {{ colour }}.\n";
const FIND: &str = "---\nto: pay\n---\n# Finding\n\nWe look.\n\n## More\n";
const PAY: &str = "---\ndo: { name: charge, args: { amount: 3 } }\nto: bye\n---\n";
const BYE: &str = "---\n---\nBye, {{ colour | upper }}. See [us](orders/find.md).\n";

fn shop() -> Client {
    shop_with(capabilities())
}

fn shop_with(capabilities: Json) -> Client {
    let files = [
        ("trellis.yaml", PROJECT),
        ("start.md", START),
        ("orders/start.md", ORDERS),
        ("orders/find.md", FIND),
        ("pay.md", PAY),
        ("bye.md", BYE),
    ];
    let mut client = Client::with(&files, capabilities, json!({}));
    for (path, text) in [("start.md", START), ("orders/start.md", ORDERS), ("pay.md", PAY), ("bye.md", BYE)] {
        client.open(path, text);
        client.wait(path, |_| true);
    }
    client
}

fn labels(answer: &Json) -> Vec<String> {
    answer["items"].as_array().into_iter().flatten().map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn completion_offers_what_may_stand_at_the_cursor() {
    let mut client = shop();
    let mut version = 1;
    let mut at = |path: &str, marked: &str| {
        version += 1;
        client.at(path, version, marked, "textDocument/completion")
    };
    // Targets as they would be written from here, the nearest first.
    let targets = labels(&at("orders/start.md", "---\ntransitions:\n  - to: ‸\n---\n"));
    assert_eq!(targets, ["find", "start", "bye", "pay", "/start", "fail", "rollback"]);
    assert!(labels(&at("start.md", "---\nto: ‸")).contains(&"orders/find".to_owned()), "an open frontmatter");
    assert!(labels(&at("start.md", "---\non_error: [\nto: p‸\n---\n")).contains(&"pay".to_owned()), "YAML that does not parse");
    // Keys that are absent.
    let keys = labels(&at("start.md", "---\nto: pay\n‸\n---\n"));
    assert!(keys.contains(&"save_to".to_owned()) && !keys.contains(&"to".to_owned()), "{keys:?}");
    assert_eq!(labels(&at("orders/start.md", "---\ntransitions:\n  - { to: pay, ‸ }\n---\n")), ["condition", "text"]);
    assert!(labels(&at("pay.md", "---\ndo:\n  name: charge\n  ‸\n---\n")).contains(&"args".to_owned()));
    // Words of a key.
    assert!(labels(&at("start.md", "---\ninput_type: ‸\n---\n")).contains(&"int".to_owned()));
    // Tools and their arguments.
    assert_eq!(labels(&at("pay.md", "---\ndo: { name: ‸ }\nto: bye\n---\n")), ["charge"]);
    assert_eq!(labels(&at("pay.md", "---\ndo: { name: charge, args: { ‸ } }\nto: bye\n---\n")), ["amount", "note"]);
    // Conditions, and the values of options behind `==`.
    at("start.md", &format!("{START}‸"));
    let condition = labels(&at("orders/start.md", "---\ntransitions:\n  - { condition: ‸, to: find }\n  - to: pay\n---\n"));
    assert!(condition.contains(&"colour".to_owned()) && condition.contains(&"vip".to_owned()), "{condition:?}");
    assert_eq!(labels(&at("orders/start.md", "---\ntransitions:\n  - { condition: colour == ‸, to: find }\n---\n")), ["red", "blue"]);
    assert!(labels(&at("orders/start.md", "---\ntransitions:\n  - condition: colour ‸\n---\n")).contains(&"is set".to_owned()));
    // Templates: keys, filters, tests.
    assert!(labels(&at("bye.md", "---\n---\nBye {{ co‸")).contains(&"colour".to_owned()));
    assert!(labels(&at("bye.md", "---\n---\nBye {{ colour | ‸ }}")).contains(&"upper".to_owned()));
    assert!(labels(&at("bye.md", "---\n---\n{% if colour is ‸ %}")).contains(&"defined".to_owned()));
    // Codes of comments.
    assert!(labels(&at("bye.md", "---\n# trellis: allow(‸\n---\n")).contains(&"unreachable-node".to_owned()));
    client.leave().expect("it ends well");
}

#[test]
fn a_completion_replaces_what_is_typed_and_sends_nothing_that_is_not_offered() {
    let mut bare = shop_with(json!({}));
    let answer = bare.at("start.md", 2, "---\ndo‸\n---\n", "textDocument/completion");
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    let item = items.iter().find(|item| item["label"] == "do").expect("it is a key");
    assert_eq!(
        item["textEdit"],
        json!({ "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 2 } }, "newText": "do: " })
    );
    assert!(items.iter().all(|item| item["insertTextFormat"] == 1 && item.get("labelDetails").is_none()));
    bare.leave().expect("it ends well");
}

#[test]
fn hover_says_what_stands_there() {
    let mut client = shop();
    let mut version = 1;
    // Facts about the whole graph are known once it is linked, some time after the last edit.
    let before = &ORDERS[..ORDERS.find("to: find").unwrap() + 5];
    let (line, character) = (before.matches('\n').count(), before.rsplit('\n').next().unwrap().len());
    let place = json!({ "textDocument": { "uri": client.uri("orders/start.md") }, "position": { "line": line, "character": character } });
    let target = loop {
        let hover = client.request("textDocument/hover", place.clone()).unwrap();
        let text = hover["contents"]["value"].as_str().unwrap_or_default().to_owned();
        if text.contains(" in, ") {
            break text;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert!(target.contains("`orders/find`") && target.contains("> # Finding"), "{target}");
    let mut at = |path: &str, marked: &str| {
        version += 1;
        let hover = client.at(path, version, marked, "textDocument/hover");
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let key = at("start.md", &START.replace("save_to:", "save‸_to:"));
    assert!(key.starts_with("**save_to**"), "{key}");
    let path = at("bye.md", &BYE.replace("colour", "col‸our"));
    assert!(path.contains("**key** `colour`") && path.contains("set in `start.md`"), "{path}");
    let tool = at("pay.md", &PAY.replace("charge", "ch‸arge"));
    assert!(tool.contains("Takes the money.") && tool.contains("amount"), "{tool}");
    let half = at("pay.md", "---\ndo: [\nto: by‸e\n---\n");
    assert!(half.contains("`bye`"), "{half}");
    assert_eq!(at("bye.md", &BYE.replace("Bye,", "B‸ye,")), "");
    client.leave().expect("it ends well");
}

/// The places of an answer, as `path:line`.
fn places(client: &Client, answer: &Json) -> Vec<String> {
    let root = client.uri("");
    let place = |at: &Json| {
        let uri = at["uri"].as_str().unwrap_or_default().trim_start_matches(&root).to_owned();
        format!("{uri}:{}", at["range"]["start"]["line"])
    };
    answer.as_array().into_iter().flatten().map(place).collect()
}

#[test]
fn every_name_can_be_followed() {
    let mut client = shop();
    let answer = client.at("start.md", 2, &START.replace("orders", "ord‸ers"), "textDocument/definition");
    assert_eq!(places(&client, &answer), ["orders/start.md:0"]);
    let answer = client.at("bye.md", 2, &BYE.replace("colour", "co‸lour"), "textDocument/definition");
    assert_eq!(places(&client, &answer), ["start.md:2"]);
    let answer = client.at("pay.md", 2, &PAY.replace("charge", "char‸ge"), "textDocument/definition");
    assert_eq!(places(&client, &answer), ["trellis.yaml:3"]);
    let answer = client.at("bye.md", 3, &BYE.replace("colour", "co‸lour"), "textDocument/references");
    assert_eq!(places(&client, &answer), ["bye.md:2", "orders/start.md:2", "orders/start.md:5", "start.md:2"]);
    let answer = client.at("orders/start.md", 2, &ORDERS.replace("to: pay", "to: p‸ay"), "textDocument/references");
    assert_eq!(places(&client, &answer), ["orders/find.md:1", "orders/start.md:3", "pay.md:0"]);
    let answer = client.at("orders/start.md", 3, &ORDERS.replace("{{ colour", "{{ co‸lour"), "textDocument/documentHighlight");
    assert_eq!(answer.as_array().map(Vec::len), Some(2));
    client.leave().expect("it ends well");
}

#[test]
fn symbols_and_foldings_need_no_yaml_that_parses() {
    let mut client = shop();
    let half = "---\ntransitions:\n  - to: x\n    text: [\nsave_to: a\n---\n# One\n\n## Two\n\ntext\n";
    let answer = client.at("orders/start.md", 2, &format!("{half}‸"), "textDocument/documentSymbol");
    let names: Vec<&str> = answer.as_array().into_iter().flatten().filter_map(|symbol| symbol["name"].as_str()).collect();
    assert_eq!(names, ["transitions", "save_to", "One"]);
    let ends = [&answer[0], &answer[0]["children"][0], &answer[1]].map(|symbol| symbol["range"]["end"]["line"].as_u64());
    assert_eq!(ends, [Some(3), Some(2), Some(4)], "a key ends before the next one: {answer}");
    assert_eq!(answer[2]["children"][0]["name"], "Two");
    let answer = client.at("orders/start.md", 3, &format!("{half}‸"), "textDocument/foldingRange");
    assert!(
        answer.as_array().is_some_and(|ranges| ranges.iter().any(|range| range["startLine"] == 0 && range["endLine"] == 5)),
        "{answer}"
    );
    let answer = client.request("workspace/symbol", json!({ "query": "ofd" })).expect("it answers");
    assert_eq!(answer[0]["name"], "orders/find");
    client.leave().expect("it ends well");
}

/// The rename of what stands at the cursor.
fn rename(client: &mut Client, path: &str, version: i32, marked: &str, new: &str) -> Result<Json, (i32, String)> {
    let before = marked.split('‸').next().unwrap_or_default();
    client.replace(path, version, &marked.replace('‸', ""));
    let position = json!({ "line": before.matches('\n').count(), "character": before.rsplit('\n').next().unwrap_or_default().len() });
    client.request("textDocument/rename", json!({ "textDocument": { "uri": client.uri(path) }, "position": position, "newName": new }))
}

#[test]
fn a_node_is_renamed_with_its_file() {
    let mut client = shop();
    let marked = ORDERS.replace("to: find", "to: fi‸nd");
    let prepared = client.at("orders/start.md", 2, &marked, "textDocument/prepareRename");
    assert_eq!(prepared["placeholder"], "find");
    let edit = rename(&mut client, "orders/start.md", 3, &marked, "search").expect("it can be");
    let changes = edit["documentChanges"].as_array().cloned().unwrap_or_default();
    let moved = changes.iter().find(|change| change["kind"] == "rename").expect("the file moves");
    assert_eq!(moved["newUri"], client.uri("orders/search.md"));
    let own = changes.iter().find(|change| change["textDocument"]["uri"] == client.uri("orders/start.md")).expect("the target changes");
    assert_eq!((&own["textDocument"]["version"], &own["edits"][0]["newText"]), (&json!(3), &json!("search")));
    assert!(changes.iter().any(|change| change["textDocument"]["uri"] == client.uri("bye.md")), "the link changes: {changes:?}");
    // A rename that would change the graph is refused, with the reason.
    let (code, reason) = rename(&mut client, "orders/start.md", 4, &ORDERS.replace("to: pay", "to: p‸ay"), "find").expect_err("captured");
    assert_eq!(code, -32803);
    assert!(reason.contains("orders/find"), "{reason}");
    let (_, reason) =
        rename(&mut client, "orders/start.md", 5, &ORDERS.replace("to: find", "to: fi‸nd"), "rollback").expect_err("reserved");
    assert!(reason.contains("meaning of its own"), "{reason}");
    client.leave().expect("it ends well");
}

#[test]
fn a_rename_changes_sheets_as_they_stand_in_the_editor() {
    let mut client = shop();
    let sheet = client.folder.path().join("_tests/t.md");
    std::fs::create_dir_all(sheet.parent().expect("it has one")).expect("it can be made");
    std::fs::write(&sheet, "```transcript\n$ at orders/find\n```\n").expect("it can be written");
    let marked = ORDERS.replace("to: find", "to: fi‸nd");
    let of_sheet = |client: &mut Client, version| {
        let edit = rename(client, "orders/start.md", version, &marked, "search").expect("it can be");
        let changes = edit["documentChanges"].as_array().cloned().unwrap_or_default();
        changes.into_iter().find(|change| change["textDocument"]["uri"] == client.uri("_tests/t.md")).expect("the sheet changes")
    };
    let change = of_sheet(&mut client, 2);
    let edits =
        json!([{ "range": { "start": { "line": 1, "character": 5 }, "end": { "line": 1, "character": 16 } }, "newText": "orders/search" }]);
    assert_eq!((&change["edits"], &change["textDocument"]["version"]), (&edits, &Json::Null));
    // The text that nobody saved counts.
    client.open("_tests/t.md", "# T\n\n```transcript\n$ at orders/find\n```\n");
    let change = of_sheet(&mut client, 3);
    assert_eq!((&change["edits"][0]["range"]["start"]["line"], change["textDocument"]["version"].is_i64()), (&json!(3), true));
    client.leave().expect("it ends well");
}

#[test]
fn a_key_is_renamed_everywhere() {
    let mut client = shop();
    let edit = rename(&mut client, "bye.md", 2, &BYE.replace("colour", "co‸lour"), "paint").expect("it can be");
    let changes = edit["documentChanges"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&Json> = changes.iter().flat_map(|change| change["edits"].as_array()).flatten().map(|edit| &edit["newText"]).collect();
    assert_eq!(texts, ["paint"; 4]);
    let mut plain = shop_with(json!({}));
    let edit = rename(&mut plain, "bye.md", 2, &BYE.replace("colour", "co‸lour"), "paint").expect("it can be");
    assert_eq!(edit["changes"].as_object().map(serde_json::Map::len), Some(3));
    let (_, reason) = rename(&mut plain, "start.md", 2, &START.replace("to: orders", "to: ord‸ers"), "x").expect_err("a folder would move");
    assert!(reason.contains("cannot move files"), "{reason}");
    plain.leave().expect("it ends well");
    client.leave().expect("it ends well");
}

#[test]
fn fixes_of_findings_are_offered() {
    let mut client = shop();
    let wrong = START.replace("to: orders", "to: order");
    client.replace("start.md", 2, &wrong);
    client.wait("start.md", |list| list.version == Some(2) && !list.diagnostics.is_empty());
    let range = json!({ "start": { "line": 3, "character": 4 }, "end": { "line": 3, "character": 4 } });
    let params = json!({ "textDocument": { "uri": client.uri("start.md") }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.request("textDocument/codeAction", params).expect("it answers");
    assert_eq!(actions[0]["kind"], "quickfix");
    assert_eq!(actions[0]["edit"]["documentChanges"][0]["edits"][0]["newText"], "orders");
    client.leave().expect("it ends well");
}

#[test]
fn formatting_is_that_of_fmt_and_leaves_broken_text_alone() {
    let mut client = shop();
    client.replace("start.md", 2, "---\nto:   orders\noptions: [red,blue]\nsave_to: colour\n---\nWhich?\n");
    let params = json!({ "textDocument": { "uri": client.uri("start.md") }, "options": { "tabSize": 2, "insertSpaces": true } });
    let edits = client.request("textDocument/formatting", params.clone()).expect("it answers");
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{edits}");
    client.replace("start.md", 3, "---\nto: [\n---\n");
    assert_eq!(client.request("textDocument/formatting", params), Ok(json!([])));
    client.leave().expect("it ends well");
}
