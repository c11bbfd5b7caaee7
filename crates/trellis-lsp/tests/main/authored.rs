//! Offers and fixes as authors of whole graphs meet them in an editor: at the places where they are accepted (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::{
    client::Client,
    completed::{Typist, has},
    offers::{labels, titled, typed},
};

#[test]
fn an_offer_behind_a_colon_brings_its_space() {
    let mut typist = Typist::new();
    for (line, label, wanted) in [
        ("to:‸", "bye", "to: bye"),
        ("do:‸", "look", "do: look"),
        ("input_type:‸", "text", "input_type: text"),
        ("do: { name:‸ }", "look", "do: { name: look }"),
        ("to: ‸", "bye", "to: bye"),
    ] {
        assert_eq!(typist.accepted("next.md", &format!("---\n{line}\n---\n"), label), wanted);
    }
    // Who goes on with a line break behind a colon gets that, and no tool.
    let mut asked = |version: i32, marked: &str, trigger: &str| {
        typist.client.replace("next.md", version, &marked.replace('‸', ""));
        let mut params = typist.client.place("next.md", marked);
        params["context"] = json!({ "triggerKind": 2, "triggerCharacter": trigger });
        labels(&typist.client.request("textDocument/completion", params).expect("it answers"))
    };
    assert_eq!(asked(100, "---\ndo:‸\n---\n", ":"), Vec::<String>::new());
    assert!(has(&asked(101, "---\ndo: ‸\n---\n", " "), &["look"]));
    typist.leave();
}

#[test]
fn keys_that_stand_anywhere_in_the_mapping_are_not_offered_again() {
    let mut typist = Typist::new();
    for marked in [
        "---\nsave_to: answer\ninput_type: text\nto: next\n‸\n---\n",
        "---\nsave_to: answer\n\ninput_type: text\nset:\n  a: 1\n\ntr‸\n\nto: next\n---\n",
        "---\n‸\nset:\n- a\ninput_type: text\n\nsave_to: answer\nto: next\n---\n",
    ] {
        let found = typist.offered("next.md", marked);
        assert!(has(&found, &["transitions", "do"]), "{marked}: {found:?}");
        let again = ["save_to", "input_type", "to", "options"].into_iter().filter(|key| has(&found, &[*key])).collect::<Vec<_>>();
        // `options` is absent, and not excluded.
        assert_eq!(again, ["options"], "{marked}");
    }
    typist.leave();
}

#[test]
fn keys_of_an_item_are_offered_right_below_its_dash() {
    let mut typist = Typist::new();
    let marked = "---\noptions:\n  - text: Yes\n  ‸\n---\n";
    let found = typist.offered("next.md", marked);
    assert!(has(&found, &["value", "to", "set", "- "]) && !has(&found, &["text"]), "{found:?}");
    assert_eq!(typist.accepted("next.md", marked, "to"), "    to: ");
    assert_eq!(typist.accepted("next.md", marked, "set"), "    set:\n    $0");
    assert_eq!(typist.accepted("next.md", marked, "- "), "  - ");
    assert_eq!(typist.accepted("next.md", "---\noptions:\n  - text: Yes\n    t‸\n---\n", "to"), "    to: ");
    typist.leave();
}

fn titles(actions: &[Json]) -> Vec<&str> {
    actions.iter().filter_map(|action| action["title"].as_str()).collect()
}

fn edit(action: &Json) -> &Json {
    &action["edit"]["documentChanges"][0]["edits"][0]
}

const SHOP: [(&str, &str); 5] = [
    ("trellis.yaml", "name: shop\n"),
    (
        "start.md",
        "---\noptions:\n  - { text: Order, to: order }\n  - { text: Leave, set: { note: late }, to: bye }\nsave_to: wish\n---\nWhat?\n",
    ),
    ("order.md", "---\ninput_type: text\nsave_to: item\nto: again\n---\nWhich, {{ wish }}?\n"),
    ("again.md", "---\ninput_type: confirm\nsave_to: again\nto: bye\n---\nAnother one than {{ item }}?\n"),
    ("bye.md", "---\n---\nBye {{ wish }}, {{ item | default(\"\") }}, {{ note | default(\"\") }}.\n"),
];

fn shop() -> Client {
    let client = Client::new(&SHOP);
    for (path, text) in SHOP {
        client.open(path, text);
    }
    client
}

// language 1.6
#[test]
fn a_node_that_is_yet_to_be_written_is_no_ending() {
    let mut client = shop();
    let found = typed(&mut client, "order.md", 2, "---\nto: pa‸id\n---\n", "unknown-target", None);
    assert_eq!(titles(&found)[0], "add node `paid`", "{found:?}");
    assert!(!titles(&found).iter().any(|title| title.contains("mean")), "{found:?}");
    let found = typed(&mut client, "order.md", 3, "---\nto: ma‸il\n---\n", "unknown-target", None);
    assert_eq!((titles(&found)[0], titles(&found)[2]), ("add node `mail`", "did you mean `fail`?"), "{found:?}");
    let message = found[0]["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("did you mean `fail`? if not, add `mail.md`"), "{message}");
    let found = typed(&mut client, "order.md", 4, "---\nto: rol‸back\n---\n", "unknown-target", None);
    assert_eq!(titles(&found)[0], "did you mean `rollback`?", "{found:?}");
    client.leave().expect("it ends well");
}

// language 7.7: an `undo` stands beside the `do`
#[test]
fn an_undo_is_said_to_stand_beside_the_do() {
    let mut client = shop();
    let hover = |client: &mut Client, version, path: &str, marked: &str| {
        let found = client.at(path, version, marked, "textDocument/hover");
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let text = hover(&mut client, 2, "order.md", "---\ntools: [{ name: reserve, effect: undo‸able }]\ndo: reserve\nto: bye\n---\n");
    assert!(text.contains("`undo`, a key of the node beside `do`"), "{text}");
    let text = hover(&mut client, 3, "order.md", "---\ndo: reserve\nun‸do: release\nto: bye\n---\n");
    assert!(text.starts_with("**undo**"), "{text}");
    for (path, version, text) in [
        ("trellis.yaml", 2, "bindings:\n  reserve: { process: [cat], undo: [cat] }\n"),
        ("order.md", 4, "---\ntools: [{ name: reserve, undo: release }]\ndo: reserve\nto: bye\n---\n"),
    ] {
        client.replace(path, version, text);
        let list = client.wait(path, |list| list.lines().iter().any(|line| line.contains("`undo` is no key")));
        let is_said = |found: &Json| found["message"].as_str().is_some_and(|text| text.contains("beside the `do` that calls the tool"));
        assert!(list.diagnostics.iter().any(is_said), "{list:?}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn a_schema_of_a_mapping_begins_as_one() {
    let mut typist = Typist::new();
    let schema = "{ type: object, properties: … }";
    let inserted = "{ type: object, properties: { ${1:name}: { type: ${2:string} } }, required: [${1:name}] }";
    for (path, above) in [("next.md", "---\ntools:\n  - name: pay\n    parameters: "), ("trellis.yaml", "inputs: ")] {
        assert_eq!(typist.offered(path, &format!("{above}‸\n")), [schema], "{above}");
        let line = above.lines().last().unwrap_or_default();
        assert_eq!(typist.accepted(path, &format!("{above}‸\n"), schema), format!("{line}{inserted}"));
    }
    // A result may be of any type.
    assert!(has(&typist.offered("next.md", "---\ndo: { name: look, returns: ‸ }\n---\n"), &["string", schema]));
    let line = typist.accepted("next.md", "---\ntools:\n  - name: pay\n    para‸\n---\n", "parameters");
    assert!(line.starts_with("    parameters:\n  type: object\n  properties:\n"), "{line}");
    let found = typist.offered("next.md", "---\ntools:\n  - name: pay\n    parameters:\n      ‸\n---\n");
    assert_eq!(found[..3], ["type", "properties", "required"]);
    typist.leave();
}

#[test]
fn each_form_of_approve_is_offered() {
    let mut typist = Typist::new();
    let marked = "---\ndo: { name: look, approve: ‸ }\nto: bye\n---\n";
    assert_eq!(typist.offered("next.md", marked), ["true", "false", "\"…\"", "{ ask: …, expires: … }"]);
    let line = typist.accepted("next.md", marked, "{ ask: …, expires: … }");
    assert_eq!(line, "do: { name: look, approve: { ask: \"${1:Go on?}\", expires: ${2:1h} } }");
    let hover = typist.client.at("next.md", 90, "---\ndo: { name: look, app‸rove: true }\nto: bye\n---\n", "textDocument/hover");
    let text = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("{ask, expires}") && !text.contains("one of"), "{text}");
    typist.leave();
}

#[test]
fn tools_that_nothing_binds_are_offered_below_bindings_with_the_ways_to_carry_them_out() {
    let mut typist = Typist::new();
    let found = typist.offered("trellis.yaml", "bindings:\n  look: { function: true }\n  ‸\n");
    assert!(has(&found, &["find"]) && !has(&found, &["look"]), "{found:?}");
    assert_eq!(typist.accepted("trellis.yaml", "bindings:\n  fi‸\n", "find"), "  find: ");
    let found = typist.offered("trellis.yaml", "bindings:\n  find: ‸\n");
    assert_eq!(found[..3], ["{ process: […] }", "{ http: … }", "{ mcp: … }"]);
    assert_eq!(typist.accepted("trellis.yaml", "bindings:\n  find: ‸\n", found[0].as_str()), "  find: { process: [${1:./bin/tool.sh}] }");
    assert_eq!(typist.offered("trellis.yaml", "bindings:\n  find:\n    ‸\n")[..3], ["process", "function", "http"]);
    typist.leave();
}

// language 5.1
#[test]
fn an_unknown_tool_is_declared_where_it_is_called() {
    let mut client = shop();
    let found = typed(&mut client, "order.md", 2, "---\ndo: { name: re‸serve }\nto: bye\n---\n", "unknown-tool", None);
    let edit = edit(&titled(&found, "declare `reserve` here")).clone();
    client.change("order.md", 3, json!([{ "range": edit["range"], "text": edit["newText"] }]));
    client.wait("order.md", |list| list.version == Some(3) && !list.lines().iter().any(|line| line.contains("unknown-tool")));
    client.leave().expect("it ends well");
}

#[test]
fn a_help_that_is_the_whole_change_can_be_accepted() {
    let mut client = shop();
    for (path, version, marked, code, wanted) in [
        ("bye.md", 2, "---\n---\nBye {{ it‸em }}.\n", "maybe-undefined", " | default(\"\")"),
        ("bye.md", 4, "---\ncontent: \"Bye {{ it‸em }}.\"\nwait: true\n---\n", "maybe-undefined", " | default('')"),
        (
            "again.md",
            2,
            "---\ninput_type: confirm\nsave_to: again\ntransitions:\n  - condition: ag‸ain\n    to: order\n  - to: bye\n---\n",
            "never-true",
            "again == \"yes\"",
        ),
    ] {
        let found = typed(&mut client, path, version, marked, code, None);
        let action = found.iter().find(|action| action["title"].as_str().is_some_and(|title| title.starts_with("write `")));
        let action = action.unwrap_or_else(|| panic!("{marked}: {found:?}"));
        assert_eq!(edit(action)["newText"], wanted, "{marked}");
        client.change(path, version + 1, json!([{ "range": edit(action)["range"], "text": wanted }]));
        client.wait(path, |list| list.version == Some(i64::from(version) + 1) && !list.lines().iter().any(|line| line.contains(code)));
    }
    // An argument that is no text would become one.
    let found = typed(&mut client, "bye.md", 10, "---\ndo: { name: pay, args: { of: \"{{ it‸em }}\" } }\n---\n", "maybe-undefined", None);
    assert!(titles(&found).iter().all(|title| !title.starts_with("write")), "{found:?}");
    client.leave().expect("it ends well");
}

#[test]
fn a_template_is_offered_what_some_path_sets() {
    let mut client = shop();
    client.wait("order.md", |list| list.version == Some(1));
    let offered =
        |client: &mut Client, version, path: &str, marked: &str| labels(&client.at(path, version, marked, "textDocument/completion"));
    // Until the first link every key is offered.
    let place = client.place("order.md", "---\ninput_type: text\nsave_to: item\nto: bye\n---\nWhich, {{ ‸");
    client.linked("textDocument/completion", &place, |found| {
        let found = labels(found);
        // What is read with a default alone is not told apart.
        has(&found, &["wish", "note"]) && !has(&found, &["item"])
    });
    // `set` reads what the node saves.
    let found =
        offered(&mut client, 2, "order.md", "---\ninput_type: text\nsave_to: item\nset: { a: \"{{ ‸ }}\" }\nto: bye\n---\nWhich?\n");
    assert!(has(&found, &["item", "wish"]), "{found:?}");
    let found = offered(&mut client, 2, "bye.md", "---\n---\nBye {{ ‸ }}.\n");
    assert!(has(&found, &["wish", "item", "note"]), "{found:?}");
    client.leave().expect("it ends well");
}
