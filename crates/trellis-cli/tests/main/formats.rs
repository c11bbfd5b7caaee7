//! `trellis check --format graphical`, `sarif` and `github`, and what counts as an error.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::sandbox::{SOUND, Sandbox, THREE_MISTAKES};

/// The official schema, as it was published with the standard.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    // As published, the pattern of language names has a bracket too many, which is no pattern for every engine.
    let text = include_str!("sarif-2.1.0.json").replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::validator_for(&schema).unwrap()
});

fn sarif(sandbox: &Sandbox, args: &[&str]) -> Value {
    let ran = sandbox.trellis(&[&["check", "--format", "sarif"], args].concat());
    assert!(matches!(ran.code, Some(0 | 1)) && ran.err.is_empty(), "{ran:?}");
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let errors: Vec<String> = SCHEMA.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    log
}

fn collection() -> Sandbox {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in THREE_MISTAKES {
        sandbox.write(&format!("graphs/a shop/{path}"), text.as_bytes());
    }
    sandbox.write("graphs/empty/trellis.yaml", b"name: empty\n");
    sandbox.write("graphs/empty/other.md", b"---\nto: other\n---\n");
    for (path, text) in SOUND {
        sandbox.write(&format!("graphs/tour/{path}"), text.as_bytes());
    }
    sandbox
}

#[test]
fn a_drawing_has_every_finding_of_a_collection_and_its_count() {
    let sandbox = collection();
    let ran = sandbox.trellis(&["check", "--format", "graphical"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    for part in [
        "unknown-key\n\n  \u{d7} `savto` is no key of a node\n",
        "[graphs/a shop/help.md:2:1]\n 1 \u{2502} ---\n 2 \u{2502} savto: topic\n",
        "  help: did you mean `save_to`?\n\n",
        "missing-start\n\n  \u{d7} graphs/empty/: the graph has no node `start`\n",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert!(ran.out.ends_with("4 errors in 7 nodes\n"), "{}", ran.out);
    assert_eq!(sandbox.trellis(&["check", "--format", "graphical"]).out, ran.out, "the same on every run");

    let refused = sandbox.trellis(&["check", "--format", "graphical", "--watch"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert!(refused.err.contains("leave `--format` out"), "{}", refused.err);
    let mended = sandbox.trellis(&["check", "--format", "graphical", "--fix"]);
    assert!(mended.out.starts_with("fixed ") && mended.out.contains("missing-start\n"), "{mended:?}");
}

#[test]
fn the_schema_refuses_what_is_no_log() {
    assert!(!SCHEMA.is_valid(&json!({ "version": "2.1.0" })));
    assert!(
        !SCHEMA
            .is_valid(&json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "x" } }, "results": [{ "ruleId": "x" }] }] }))
    );
}

#[test]
fn a_log_of_a_collection_is_valid_and_says_what_a_person_would_read() {
    let sandbox = collection();
    let log = sarif(&sandbox, &[]);
    let run = &log["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let results = run["results"].as_array().unwrap();
    let rules: Vec<&str> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(rules, ["unknown-key", "unknown-filter", "unknown-target", "missing-start"]);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().unwrap().contains("## Right"));
    }
    let target = &results[2];
    assert_eq!(target["message"]["text"], "there is no node `recipt`\nhelp: did you mean `receipt`?");
    let place = json!({
        "artifactLocation": { "uri": "graphs/a%20shop/start.md", "uriBaseId": "SRCROOT" },
        "region": { "startLine": 3, "startColumn": 22, "endLine": 3, "endColumn": 28 },
    });
    assert_eq!(target["locations"], json!([{ "physicalLocation": place }]));
    let change = &target["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["replacements"], json!([{ "deletedRegion": place["region"], "insertedContent": { "text": "receipt" } }]));
    let whole = &results[3]["locations"][0]["physicalLocation"];
    assert_eq!(*whole, json!({ "artifactLocation": { "uri": "graphs/empty/trellis.yaml", "uriBaseId": "SRCROOT" } }));
    assert_eq!(sarif(&sandbox, &[]), log, "the same on every run");
}

#[test]
fn a_way_is_told_in_related_locations_and_columns_are_characters() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\noptions:\n  - { text: Pay, to: pay }\n  - { text: 日本, to: show }\n---\nWhat?\n"),
        ("pay.md", "---\ninput_type: int\nsave_to: sum\nto: show\n---\nHow much?\n"),
        ("show.md", "日本 {{ sum }}\n"),
    ]);
    let log = sarif(&sandbox, &[]);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "maybe-undefined");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startColumn"], 7);
    let related = result["relatedLocations"].as_array().unwrap();
    assert!(related[0]["message"]["text"].as_str().unwrap().contains("→ show"), "{related:?}");
    let print = result["partialFingerprints"]["trellisFinding/v1"].clone();
    sandbox.write("show.md", "\n\n日本 {{ sum }}\n".as_bytes());
    assert_eq!(sarif(&sandbox, &[])["runs"][0]["results"][0]["partialFingerprints"]["trellisFinding/v1"], print, "lines that move keep it");
}

#[test]
fn a_sound_graph_and_one_elsewhere_give_valid_logs() {
    let sandbox = Sandbox::new(SOUND);
    assert_eq!(sarif(&sandbox, &[])["runs"][0]["results"], json!([]));
    let other = Sandbox::new(&[("start.md", "---\nto: nowhere\n---\n")]);
    let log = sarif(&sandbox, &[other.path().to_str().unwrap()]);
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert!(place["uri"].as_str().unwrap().starts_with("file:///") && place.get("uriBaseId").is_none(), "{place}");
    let none = Sandbox::new(&[("other.md", "---\nto: other\n---\n")]);
    sarif(&none, &["."]);
}

#[test]
fn annotations_are_one_line_each_with_everything_escaped() {
    let sandbox = collection();
    sandbox.write("graphs/a shop/100%,x.md", b"---\nto: [a]\n---\n");
    let ran = sandbox.trellis(&["check", "--format", "github"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(ran.code, Some(1));
    assert!(
        lines[0].starts_with("::error file=graphs/a shop/100%25%2Cx.md,line=2,endLine=2,col=5,endColumn=8,title=wrong-type::"),
        "{}",
        ran.out
    );
    assert!(
        lines.contains(&"::error file=graphs/a shop/start.md,line=3,endLine=3,col=22,endColumn=28,title=unknown-target::there is no node `recipt`%0Ahelp: did you mean `receipt`?"),
        "{}",
        ran.out
    );
    assert!(lines.iter().any(|line| line.starts_with("::error title=missing-start::graphs/empty/: ")), "{}", ran.out);
    assert_eq!(*lines.last().unwrap(), "5 errors in 8 nodes");
}

const LINKED: &[(&str, &str)] = &[("start.md", "---\nto: bye\n---\nSee [this](gone.md).\n"), ("bye.md", "Bye.\n")];

#[test]
fn what_is_denied_is_an_error() {
    let sandbox = Sandbox::new(LINKED);
    assert_eq!(sandbox.trellis(&["check"]).code, Some(0));
    for deny in ["warnings", "broken-link", "never-true,broken-link"] {
        let ran = sandbox.trellis(&["check", "--deny", deny]);
        assert!(ran.code == Some(1) && ran.out.starts_with("error[broken-link]"), "{deny}: {ran:?}");
    }
    assert_eq!(sandbox.trellis(&["check", "--deny", "never-true", "--deny", "not-decided"]).code, Some(0));
    let ran = sandbox.trellis(&["check", "--deny", "brokn-link"]);
    assert!(ran.code == Some(2) && ran.err.contains("did you mean `broken-link`?"), "{ran:?}");
}

#[test]
fn what_a_graph_says_about_its_findings_holds_for_it_alone() {
    let sandbox = Sandbox::new(LINKED);
    sandbox.write("trellis.yaml", b"severity: { broken-link: \"off\" }\n");
    let ran = sandbox.trellis(&["check", "--deny", "warnings"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "2 nodes, no problems\n"));
    sandbox.write("inner/trellis.yaml", b"severity: { broken-link: info }\n");
    sandbox.write("inner/start.md", b"See [this](gone.md).\n");
    let ran = sandbox.trellis(&["check"]);
    assert!(ran.out.starts_with("info[broken-link]") && ran.out.contains("inner/start.md:1:"), "{}", ran.out);
    sandbox.write("inner/trellis.yaml", b"name: inner\n");
    let ran = sandbox.trellis(&["check"]);
    assert!(ran.out.starts_with("warning[broken-link]"), "a graph of its own is not spoken for: {}", ran.out);
}

const UNCHECKED: &[(&str, &str)] = &[
    ("start.md", "---\ndo: look_up\ntools: [{ name: look_up }]\nsave_to: order\nto: show\n---\n"),
    ("show.md", "---\noutput: { total: \"{{ order.total }}\" }\n---\n"),
];

#[test]
fn a_strict_check_wants_every_read_proved() {
    let sandbox = Sandbox::new(UNCHECKED);
    assert_eq!(sandbox.trellis(&["check"]).code, Some(0));
    let ran = sandbox.trellis(&["check", "--strict"]);
    let expected = "\
error[unchecked-read]: whether `order.total` is there is not known before it is read
  show.md:2:22
 2 | output: { total: \"{{ order.total }}\" }
   |                      ^^^^^^^^^^^
help: say what `order` holds (`returns` of a call, `input_schema`, `context_schema`), or guard the read

1 error in 2 nodes
";
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), expected));
    sandbox.write("show.md", b"---\n# trellis: allow(unchecked-read)\noutput: { total: \"{{ order.total }}\" }\n---\n");
    assert_eq!(sandbox.trellis(&["check", "--strict"]).code, Some(0));
    sandbox.write("show.md", UNCHECKED[1].1.as_bytes());
    sandbox.write("trellis.yaml", b"severity: { unchecked-read: warning }\n");
    assert!(sandbox.trellis(&["check", "--strict"]).out.starts_with("warning[unchecked-read]: "));
    assert_eq!(sandbox.trellis(&["check", "--strict", "--deny", "unchecked-read"]).code, Some(1));
}

#[test]
fn what_only_a_host_finds_can_be_allowed_too() {
    let sandbox = Sandbox::new(&[("start.md", "---\n# trellis: allow(unbound-tool)\ndo: charge\ntools: [{ name: charge }]\n---\n")]);
    for args in [&["check"][..], &["check", "--host"]] {
        let ran = sandbox.trellis(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1 node, no problems\n"), "{args:?}");
    }
}
