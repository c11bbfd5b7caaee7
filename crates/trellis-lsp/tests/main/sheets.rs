//! Sheets while they are written (`docs/lsp.md`, `docs/testing.md`): what is offered in them, and mistakes in single lines.

use serde_json::{Value as Json, json};

use crate::{
    client::{Client, capabilities},
    offers::{items, labels},
};

const FILES: [(&str, &str); 5] = [
    ("trellis.yaml", "predicates: { vip: {} }\nbindings: { pay: { process: [./pay] } }\n"),
    (
        "start.md",
        "---\noptions: [Tea, Black coffee]\nsave_to: drink\ntransitions:\n  - { condition: vip, to: bye }\n  - to: buy\n---\nWhich?\n",
    ),
    ("buy.md", "---\ndo: pay\non_error: bye\nto: bye\n---\n"),
    ("bye.md", "---\n---\nBye.\n"),
    ("_tests/data.json", "{\"drink\": \"Tea\"}\n"),
];

/// A client with a sheet that is open and empty.
fn opened() -> Client {
    let client = Client::new(&FILES);
    client.open("_tests/a.md", "");
    client
}

/// Types texts into the sheet and asks what may stand at the cursor of each.
struct Typing {
    client: Client,
    version: i32,
}

impl Typing {
    fn offered(&mut self, marked: &str) -> Json {
        self.version += 1;
        self.client.at("_tests/a.md", self.version, marked, "textDocument/completion")
    }

    /// Of a line in a transcript.
    fn in_transcript(&mut self, lines: &str) -> Json {
        self.offered(&format!("# A\n\n```transcript\n{lines}\n```\n"))
    }
}

fn inserted(answer: &Json, label: &str) -> String {
    let found = items(answer).into_iter().find(|item| item["label"] == label).unwrap_or_else(|| panic!("{label}: {answer}"));
    found["textEdit"]["newText"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_empty_sheet_is_completed_with_a_case_and_not_with_a_node() {
    let mut typing = Typing { client: opened(), version: 1 };
    let answer = typing.offered("‸");
    assert_eq!(labels(&answer), ["# sheet"]);
    assert_eq!(inserted(&answer, "# sheet"), "# ${1:Title}\n\n## ${2:case}\n\n```transcript\n> $0\n```\n");
    assert_eq!(labels(&typing.offered("#‸")), ["# sheet"]);
    assert_eq!(labels(&typing.offered("# A\n\n##‸")), ["## case"]);
    assert!(labels(&typing.offered("# A\n\nSome words‸")).is_empty(), "prose is nobody's");
    assert!(labels(&typing.offered("---‸")).is_empty(), "it is no node");
    typing.client.leave().expect("it ends well");
}

#[test]
fn kinds_of_blocks_are_offered_behind_their_fence() {
    let mut typing = Typing { client: opened(), version: 1 };
    let answer = typing.offered("# A\n\n```‸\n");
    let kinds = ["transcript", "tools", "diagnostics", "finds", "markdown FILE.md", "yaml FILE.yaml", "diff FILE", "gone FILE"];
    assert_eq!(labels(&answer), kinds);
    assert_eq!(inserted(&answer, "transcript"), "transcript\n> $0\n```");
    // Where the block is closed, there is no second fence.
    let answer = typing.offered("# A\n\n```tr‸\n> x\n```\n");
    assert_eq!(inserted(&answer, "transcript"), "transcript");
    assert_eq!(items(&answer)[0]["textEdit"]["range"]["start"], json!({ "line": 2, "character": 3 }));
    let files = labels(&typing.offered("# A\n\n```diff b‸\n```\n"));
    assert_eq!(files, ["buy.md", "bye.md", "start.md", "trellis.yaml"]);
    // The fence that closes a block begins none.
    assert!(labels(&typing.offered("# A\n\n```transcript\n> x\n```‸\n")).is_empty());
    typing.client.leave().expect("it ends well");
}

#[test]
fn lines_of_a_transcript_are_offered_by_their_marks() {
    let mut typing = Typing { client: opened(), version: 1 };
    assert_eq!(labels(&typing.in_transcript("‸"))[..3], ["> text", ">= JSON", "< JSON"]);
    let answer = typing.in_transcript("| Which?\n? any [\"Tea\", \"Black coffee\"]\n> Black c‸");
    assert_eq!(labels(&answer), ["Tea", "Black coffee"]);
    assert_eq!(items(&answer)[1]["textEdit"]["range"]["start"], json!({ "line": 5, "character": 2 }));
    // Of a child, its own question.
    let children = "? any [\"Tea\"]\n?[3] any [\"Milk\", 2: \"two\"]\n?[4] bool\n>[3] ‸";
    assert_eq!(labels(&typing.in_transcript(children)), ["Milk", "2"]);
    assert_eq!(labels(&typing.in_transcript("?[4] bool\n>[4] ‸")), ["true", "false"]);
    assert!(labels(&typing.in_transcript("> ‸")).is_empty(), "no question is known");
    let results = typing.in_transcript("! pay {}\n< ‸");
    assert_eq!(labels(&results), ["< null", "< {…}", "<! message", "<~ message", "<x reason", "<2 JSON"]);
    assert_eq!(inserted(&results, "<! message"), "<! ${0:message}");
    assert_eq!(labels(&typing.in_transcript("@ vip = ‸")), ["true", "false"]);
    assert_eq!(labels(&typing.in_transcript("= ‸")), ["drink", "state "]);
    assert_eq!(labels(&typing.offered("# A\n\n```tools\npay ‸\n```\n"))[..3], ["null", "{…}", "! message"]);
    typing.client.leave().expect("it ends well");
}

#[test]
fn a_client_without_snippets_gets_what_stands_before_the_first_place() {
    let mut plain = capabilities();
    plain["textDocument"]["completion"]["completionItem"]["snippetSupport"] = json!(false);
    let client = Client::with(&FILES, plain, json!({}));
    client.open("_tests/a.md", "");
    let mut typing = Typing { client, version: 1 };
    assert_eq!(inserted(&typing.offered("# A\n\n```‸\n"), "tools"), "tools");
    assert_eq!(inserted(&typing.in_transcript("! pay {}\n<‸"), "<! message"), "<! ");
    typing.client.leave().expect("it ends well");
}

// `docs/lsp.md`, `docs/testing.md`: what nobody can play is a finding of its own line, as `trellis test` reports it
#[test]
fn mistakes_in_single_lines_show_where_they_stand() {
    let mut client = opened();
    let sheet = "# A\n\n```tools\npay {\n```\n\n## one\n\n```transcript\n$ foo\n$ after nosuch\n$ context {\n< {\n@ nosuch = true\n```\n\n\
        ## two\n\n```transcript\n$ at nowhere\n$ context data.json\n$ context other.json\n@ vip = true\n> x\n```\n";
    client.replace("_tests/a.md", 2, sheet);
    let list = client.wait("_tests/a.md", |list| list.version == Some(2) && !list.diagnostics.is_empty());
    let lines: Vec<u64> = list.diagnostics.iter().filter_map(|found| found["range"]["start"]["line"].as_u64()).collect();
    assert_eq!(lines, [3, 9, 10, 11, 12, 13, 19, 21], "{:#?}", list.lines());
    assert!(list.lines()[6].contains("there is no node `nowhere` to begin at"), "{:#?}", list.lines());
    // A node that comes makes it right, in another file or in the case itself.
    client.replace("_tests/a.md", 3, "# A\n```transcript\n$ at nowhere\n```\n");
    client.wait("_tests/a.md", |list| list.version == Some(3) && list.diagnostics.len() == 1);
    client.open("nowhere.md", "---\nto: bye\n---\n");
    client.wait("_tests/a.md", |list| list.version == Some(3) && list.diagnostics.is_empty());
    client.replace(
        "_tests/a.md",
        4,
        "# A\n```markdown here.md\nHere.\n```\n```transcript\n$ at here\n```\n## B\n```transcript\n$ at her\n```\n",
    );
    let list = client.wait("_tests/a.md", |list| list.version == Some(4) && !list.diagnostics.is_empty());
    assert_eq!((list.diagnostics.len(), &list.diagnostics[0]["range"]["start"]["line"]), (1, &json!(9)), "{:#?}", list.lines());
    client.leave().expect("it ends well");
}
