//! `trellis mcp --author`: a small program mends graphs with what its tools return, and these are the bytes of the command line (doors 3.13).

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use trellis_tests::peers::peer;

use crate::{
    mcp::{Talk, here, scenes},
    sandbox::Sandbox,
};

/// Graphs with mistakes of different kinds.
const BROKEN: &[(&str, &str)] = &[
    // Wrong targets, and a tool that nobody knows by this name.
    ("targets/trellis.yaml", "bindings: {reserve: {effect: none}}\n"),
    ("targets/start.md", "---\ninput_type: text\nsave_to: name\nto: bok\n---\nWho are you?\n"),
    (
        "targets/book.md",
        "---\ndo: {name: reserv, args: {name: \"{{ name }}\"}}\nsave_to: booked\non_error: sory\nto: done\n---\nBooking.\n",
    ),
    ("targets/done.md", "---\noutput: \"{{ name }}\"\n---\nDone.\n"),
    ("targets/sorry.md", "---\nend: failed\n---\nThere is no room.\n"),
    // Keys, words and values that are misspelt, former keys, a list that is none.
    ("keys/start.md", "---\ninput_typ: texte\nsave_too: name\ntimeout: 5 minutes\non_timout: bye\nnext: hello\n---\nWho are you?\n"),
    ("keys/hello.md", "---\nrequired_context: name\noutput: \"{{ name | uper }}\"\n---\nHello.\n"),
    ("keys/bye.md", "Bye.\n"),
    // A variable that one path does not set, and one by a near name.
    ("variables/start.md", "---\noptions: [{ text: Order, to: town }, { text: Look, to: bye }]\n---\nWhat now?\n"),
    ("variables/town.md", "---\ninput_type: text\nsave_to: town\nto: thanks\n---\nWhere to?\n"),
    ("variables/thanks.md", "---\nset: { parcel: \"to {{ twon }}\" }\nto: bye\n---\n"),
    ("variables/bye.md", "---\noutput: { town: \"{{ town }}\" }\n---\nBye{% if parcel is defined %}: {{ parcel }}{% endif %}.\n"),
    // YAML that is broken in four ways, one after the other.
    (
        "yaml/start.md",
        "---\noptions: [Tea, Coffee, Juice]\nsave_to: drink\ntransitions:\n  - { condition: drink in [\"Tea\", \"Coffee\"], to: sugar }\nto: served\n---\nWhat would you like?\n",
    ),
    ("yaml/sugar.md", "---\ninput_type: confirm\n   save_to: sugar\nto: served\n---\nSugar?\n"),
    ("yaml/served.md", "---\nto:end\n---\nHere you are.\n"),
    ("yaml/end.md", "---\noutput: { drink: {{ drink }} }\n---\n"),
    // An argument that a tool needs, an answer without a transition, and no line that closes the condition.
    (
        "needs/trellis.yaml",
        "inputs: {type: object, properties: {amount: {type: integer}}}\nbindings: {charge: {effect: none, parameters: {type: object, required: [amount], properties: {amount: {type: integer}}}}}\n",
    ),
    ("needs/start.md", "---\ninput_type: int\nsave_to: amount\nto: sure\n---\nHow much?\n"),
    ("needs/sure.md", "---\noptions: [Pay, Leave]\ntransitions:\n  - { condition: input = \"Pay\", to: pay }\n---\nPay {{ amount }}?\n"),
    ("needs/pay.md", "---\ndo: charge\nsave_to: paid\non_error: fail\nto: done\n---\n"),
    ("needs/done.md", "---\noutput: { paid: \"{{ amount }}\" }\n---\nPaid.\n"),
];

const GRAPHS: [&str; 5] = ["targets", "keys", "variables", "yaml", "needs"];

/// The findings of `trellis check`, in the folder.
fn findings(sandbox: &Sandbox, graph: &str) -> String {
    sandbox.trellis(&["check", "--strict", "--format", "json", graph]).out
}

/// The official client calls the tools, and the script edits by what they say: it knows no graph and no rule of the language.
#[test]
fn a_small_program_mends_five_graphs() {
    let sandbox = Sandbox::new(BROKEN);
    for graph in GRAPHS {
        assert!(findings(&sandbox, graph).contains("\"error\""), "{graph} is broken");
    }
    let mut command = Command::new(peer("mcp-2.3.0/bin/python"));
    let told = scenes(command.arg(here("mend.py")).arg(env!("CARGO_BIN_EXE_trellis")).arg(sandbox.path()).args(GRAPHS));
    let ended: Vec<_> =
        told.iter().map(|told| (told["graph"].as_str().unwrap(), told["reason"].as_str().unwrap(), told["output"].clone())).collect();
    let expected = [
        ("targets", "finished", json!("Ada")),
        ("keys", "finished", json!("ADA")),
        ("variables", "finished", json!({ "town": "Ada" })),
        ("yaml", "finished", json!({ "drink": "Tea" })),
        ("needs", "finished", json!({ "paid": 3 })),
    ];
    assert_eq!(ended, expected, "{told:#?}");
    let codes = |graph: usize| told[graph]["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!([codes(0), codes(2)], [vec!["unknown-tool", "unknown-target"], vec!["maybe-undefined", "undefined-variable"]]);
    assert!(codes(1).contains(&"unknown-key") && codes(3).contains(&"yaml-syntax") && codes(4).contains(&"bad-tool-args"), "{told:#?}");
    // Only the variable without a value and the argument took more than an edit that `check` returned.
    assert!(told.iter().all(|told| told["edits"].as_u64() >= Some(1)), "{told:#?}");
    for graph in GRAPHS {
        let found: Value = serde_json::from_str(&findings(&sandbox, graph)).unwrap();
        assert_eq!(found["diagnostics"], json!([]), "{graph}");
    }
}

/// Broken and sound graphs, and the graphs of this repository: `check` over MCP returns what `trellis check --format json` prints.
#[test]
fn check_over_mcp_has_the_bytes_of_the_command_line() {
    let sandbox = Sandbox::new(BROKEN);
    let copied = Command::new("cp").arg("-r").arg(repository().join("graphs")).arg(sandbox.path().join("sound")).status();
    assert!(copied.unwrap().success());
    let mut talk = Talk::with(&sandbox, &["mcp", "--author"], json!({}));
    for graph in GRAPHS.into_iter().chain(["sound/tour", "sound/toolflow", "."]) {
        let whole = sandbox.path().canonicalize().unwrap().join(graph);
        for strict in [false, true] {
            let called = talk.ask("tools/call", json!({ "name": "check", "arguments": { "path": graph, "strict": strict } }));
            let flags: &[&str] = if strict { &["--strict"] } else { &[] };
            let prints = |path: &str| sandbox.trellis(&[&["check", "--format", "json", path], flags].concat()).out;
            let printed = prints(whole.to_str().unwrap());
            assert_eq!(called["result"]["content"][0]["text"], printed, "{graph}, strict: {strict}");
            assert_eq!(printed, prints(graph), "{graph}: however the path is written");
        }
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}
