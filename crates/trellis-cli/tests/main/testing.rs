//! `trellis test`: results, exit codes, updates and reports.

use std::{path::Path, process::Command};

use serde_json::Value;
use trellis_tests::peers::peer;

use crate::{open::Open, sandbox::Sandbox};

const GRAPH: [(&str, &str); 3] = [
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: bye\n---\nName?\n"),
    ("bye.md", "---\n---\nBye, {{ name }}\n"),
    ("_tests/bye.md", "# Bye\n\n## by name\n\n```transcript\n| Name?\n? text\n> Ada\n| Bye, Ada\n* end finished\n```\n"),
];

#[test]
fn a_case_passes_or_shows_where_it_differs() {
    let sandbox = Sandbox::new(&GRAPH);
    let ran = sandbox.trellis(&["test", "."]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "ok bye.md › Bye › by name\n1 passed\n"), "{ran:?}");
    sandbox.write("bye.md", b"---\n---\nGoodbye, {{ name }}\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for shown in ["FAILED bye.md › Bye › by name", "_tests/bye.md:9", "- | Bye, Ada", "+ | Goodbye, Ada", "at node `bye`, bye.md:1"] {
        assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
    }
}

#[test]
fn what_is_asked_for_wrongly_is_wrong_usage() {
    let sandbox = Sandbox::new(&GRAPH);
    assert_eq!(sandbox.trellis(&["test", ".", "nothing like it"]).code, Some(2));
    let ran = Sandbox::new(&GRAPH[..2]).trellis(&["test", "."]);
    assert!(ran.code == Some(2) && ran.err.contains("there are no tests"), "no sheet: {ran:?}");
    let ran = sandbox.trellis(&["test", "name"]);
    assert!(ran.code == Some(2) && ran.err.contains("a FILTER stands behind a PATH: `trellis test . name`"), "{ran:?}");
    assert_eq!(sandbox.trellis(&["test", ".", "--fail-under", "egde=1"]).code, Some(2));
    sandbox.write("_tests/twice.md", b"# A\n```transcript\n```\n# A\n```transcript\n```\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(2) && ran.out.contains("ok bye.md"), "the others are played: {ran:?}");
}

#[test]
fn a_sheet_that_holds_no_case_is_no_test() {
    let sandbox = Sandbox::new(&GRAPH[..2]);
    sandbox.write("_tests/bye.md", b"# Bye\n\nNothing yet.\n");
    let ran = sandbox.trellis(&["test", "."]);
    let said = "the sheet `_tests/bye.md` has no case";
    assert!(ran.code == Some(2) && ran.err.contains(said) && ran.err.contains("```transcript"), "{ran:?}");
    sandbox.write("_tests/bye.md", b"# Bye\n```transcript\n> Ada\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(2) && ran.out.contains("this block is never closed"), "{ran:?}");
}

#[test]
fn lcov_names_files_as_they_are_reached_from_here() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in GRAPH {
        sandbox.write(&format!("here/g/{path}"), text.as_bytes());
    }
    let named = |folder: &str, path: &str| {
        let mut command = sandbox.command(&["test", path, "--coverage=lcov:found"]);
        assert!(command.current_dir(sandbox.path().join(folder)).output().unwrap().status.success());
        let text = std::fs::read_to_string(sandbox.path().join(folder).join("found")).unwrap();
        text.lines().find_map(|line| line.strip_prefix("SF:")).unwrap().to_owned()
    };
    assert_eq!(named("here", "g"), "g/bye.md");
    assert_eq!(named("here", "./g/"), "g/bye.md");
    assert_eq!(named("here", "."), "g/bye.md");
    assert_eq!(named("here/g", "."), "bye.md");
    assert_eq!(named("here/g", "../g"), "../g/bye.md");
    assert_eq!(named("here", "g/_tests/bye.md"), "g/bye.md");
}

#[test]
fn json_has_a_line_for_each_case_and_one_for_all() {
    let sandbox = Sandbox::new(&GRAPH);
    let ran = sandbox.trellis(&["test", ".", "--format", "json", "--coverage", "--fail-under", "edge=100"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((ran.code, lines.len()), (Some(0), 2), "{ran:?}");
    assert_eq!(
        (lines[0]["type"].as_str(), lines[0]["outcome"].as_str(), &lines[0]["difference"]),
        (Some("case"), Some("passed"), &Value::Null)
    );
    assert_eq!(lines[1]["coverage"]["summary"]["node"], serde_json::json!([2, 2]));
}

#[test]
fn a_floor_that_is_missed_fails_and_one_that_is_reached_does_not() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("start.md", GRAPH[0].1.replace("to: bye", "on_interrupt: left\nto: bye").as_bytes());
    sandbox.write("left.md", b"Left.\n");
    let ran = sandbox.trellis(&["test", ".", "--fail-under", "node=100"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), "2 of 3 items of kind `node` are passed: less than 100 %\n"), "{ran:?}");
    assert!(ran.out.ends_with("1 passed\n"), "no case failed: {ran:?}");
    // Each of several floors counts.
    let ran = sandbox.trellis(&["test", ".", "--fail-under", "node=66", "--fail-under", "edge=100", "--format", "json"]);
    assert!(ran.code == Some(1) && ran.err.contains("of kind `edge`") && !ran.err.contains("of kind `node`"), "{ran:?}");
    let ran = sandbox.trellis(&["test", ".", "--fail-under", "node=66", "--fail-under", "edge=50"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{ran:?}");
}

#[test]
fn a_graph_with_errors_fails_though_the_cases_about_findings_pass() {
    let sandbox = Sandbox::new(&GRAPH);
    let cases = "# Bye\n\n## found\n\n```diagnostics\nbye.md:2:5 error[unknown-target] there is no node `nowhere`\n  help: add `nowhere.md`, or name a node that exists\n```\n";
    sandbox.write("_tests/bye.md", cases.as_bytes());
    sandbox.write("bye.md", b"---\nto: nowhere\n---\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(1) && ran.out.ends_with("1 passed\n"), "{ran:?}");
    let shown = ran.err.contains("there is no node `nowhere`") && ran.err.contains("bye.md:2:5");
    assert!(shown && ran.err.contains("the graph `.` has 1 error\n"), "{ran:?}");
}

/// `docs/reference/cli.md#test`: the errors of a graph are printed, and what is not played because of them is no further mistake.
#[test]
fn the_errors_of_a_graph_are_all_that_is_said_where_nothing_is_played() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in GRAPH {
        sandbox.write(&format!("g/{path}"), text.as_bytes());
    }
    let sheet = "# Bye\n\n```tools\nsell null\n```\n\n## by name\n\n```transcript\n> Ada\n| Bye\n```\n";
    sandbox.write("g/_tests/bye.md", sheet.as_bytes());
    sandbox.write("g/bye.md", b"---\nto: nowhere\n---\n{# a #}\n");
    let ran = sandbox.trellis(&["test", "g", "--format", "json"]);
    assert!(ran.code == Some(1) && !ran.out.contains("unused double"), "{ran:?}");
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["failed"]), (2, &serde_json::json!(1)), "{ran:?}");
    let errors: String =
        sandbox.trellis(&["check", "g"]).out.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    assert!(errors.contains("g/bye.md:2:5") && ran.err.starts_with(&errors), "as `check` prints them: {ran:?}");
    // The double is one that nothing uses, once something is played.
    sandbox.write("g/bye.md", b"---\n---\nBye\n");
    let ran = sandbox.trellis(&["test", "g"]);
    assert!(ran.code == Some(1) && ran.out.contains("unused double") && ran.err.is_empty(), "{ran:?}");
}

/// `docs/testing.md`: a circle of `$ after` is a mistake of the sheet; the other sheets are played.
#[test]
fn a_sheet_of_which_a_case_comes_after_itself_cannot_be_read() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/a.md", b"# A\n```transcript\n$ after B\n```\n# B\n```transcript\n$ after A\n```\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(2) && ran.out.contains("leads back to the case itself"), "{ran:?}");
    assert!(ran.out.contains("ok bye.md") && ran.out.contains("1 passed, 1 cannot be read"), "{ran:?}");
}

/// `docs/reference/cli.md#test`: no case for a FILTER, and a sheet that cannot be read, which may hold it: both are said.
#[test]
fn a_filter_that_finds_nothing_does_not_hide_a_sheet_that_cannot_be_read() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/z.md", b"# Zed\n\n```transcript\n> x\n");
    let ran = sandbox.trellis(&["test", ".", "Zed"]);
    assert!(ran.code == Some(2) && ran.err.contains("no case has `Zed`"), "{ran:?}");
    assert!(ran.err.contains("_tests/z.md:3: this block is never closed"), "{ran:?}");
}

/// `docs/lsp.md`, `docs/testing.md`: one verdict, that of a check: a graph inside another one is compiled with its caller, which gives the input that
/// it reads.
#[test]
fn a_graph_inside_another_is_judged_with_its_caller() {
    let call = "---\ndo: { graph: sub, args: { n: 3 } }\non_error: end\nto: end\n---\n";
    let files = [
        ("start.md", call),
        ("end.md", "End.\n"),
        ("sub/trellis.yaml", "name: sub\ninputs: { type: object, properties: { n: { type: integer } } }\n"),
        ("sub/start.md", "N {{ n }}\n"),
        ("_tests/a.md", "# A\n\n```transcript\n...\n* end finished\n```\n"),
        ("sub/_tests/b.md", "# B\n\n```transcript\n$ context {\"n\": 4}\n| N 4\n* end finished\n```\n\n# C\n\n```diagnostics\n```\n"),
    ];
    let sandbox = Sandbox::new(&files);
    let checked = sandbox.trellis(&["check", "."]);
    assert!(checked.code == Some(0), "{checked:?}");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(0) && ran.out.ends_with("3 passed\n") && ran.err.is_empty(), "{ran:?}");
    // What is wrong inside is said once, with the outer graph.
    sandbox.write("sub/start.md", b"N {{ m }}\n");
    let ran = sandbox.trellis(&["test", "."]);
    assert!(ran.code == Some(1) && ran.err.contains("the graph `.` has 1 error") && !ran.err.contains("sub` has"), "{ran:?}");
}

/// `docs/reference/cli.md#test`: 130 if somebody interrupts it; what was played until then is shown.
#[cfg(unix)]
#[test]
fn an_interrupt_shows_what_was_played() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in GRAPH {
        sandbox.write(&format!("g/a/{path}"), text.as_bytes());
    }
    sandbox.write("g/b/start.md", b"---\nmax_visits: 1000000\non_max_visits: end\nto: other\n---\n");
    sandbox.write("g/b/other.md", b"---\nto: start\n---\n");
    sandbox.write("g/b/end.md", b"End.\n");
    let case = |at: usize| format!("# Case {at}\n\n```transcript\n...\n* end finished\n```\n\n");
    sandbox.write("g/b/_tests/long.md", (0..2000).map(case).collect::<String>().as_bytes());
    let mut open = Open::start(sandbox.command(&["test", "g", "--jobs", "1", "--timeout", "10m"]));
    open.until(|line| line.starts_with("ok a/bye.md"));
    open.interrupt();
    // How many cases pass meanwhile depends on the machine.
    let lines = open.until(|line| line.contains(" passed"));
    assert!(lines.iter().any(|line| line == "skipped b/long.md › Case 1999") && lines.last().unwrap().contains("skipped"), "{lines:?}");
    assert_eq!(open.code(), Some(130));
}

/// The name of a case may be a part of another one's.
#[test]
fn an_exact_filter_is_the_whole_name_of_a_case() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/a.md", b"# A\n\n## one\n\n```transcript\n...\n```\n\n## one more\n\n```transcript\n...\n```\n");
    let listed = |args: &[&str]| sandbox.trellis(&[&["test", ".", "--list", "--format", "json"], args].concat());
    assert_eq!(listed(&["one"]).out.matches("\"case\"").count(), 2);
    let exact = listed(&["a.md › A › one", "--exact"]);
    assert!(exact.out.matches("\"case\"").count() == 1 && exact.out.contains("A › one\""), "{exact:?}");
    let none = listed(&["one", "--exact"]);
    assert!(none.code == Some(2) && none.err.contains("no case is named `one`"), "{none:?}");
    assert_eq!(listed(&["--exact"]).code, Some(2));
}

/// A sheet whose cases come out in every way, with letters that XML and LCOV may not take.
const MIXED: &str =
    "# Bye & <more>\n\n## \"right\"\n\n```transcript\n...\n> Ada\n...\n```\n\n## wrong › 틀림\n\n```transcript\n...\n> <b>\n| Bye\n```\n";

#[test]
fn what_is_printed_fits_the_schema_that_is_printed() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/mixed.md", MIXED.as_bytes());
    sandbox.write("_tests/broken.md", b"# A\n```transcript\n");
    let schema: Value = serde_json::from_str(&sandbox.trellis(&["schema", "test"]).out).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let lines = jsonschema::draft202012::new(&schema).unwrap();
    let coverage = serde_json::json!({ "$ref": "#/$defs/coverage", "$defs": schema["$defs"] });
    let coverage = jsonschema::draft202012::new(&coverage).unwrap();
    let mut outcomes = Vec::new();
    for args in [&["--coverage", "--coverage=json:_found.json"][..], &["--list"], &["--fail-fast", "--jobs", "1"], &["--update"]] {
        let ran = sandbox.trellis(&[&["test", ".", "--format", "json"], args].concat());
        for line in ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let errors: Vec<_> = lines.iter_errors(&line).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{errors:#?}\n{line:#}");
            outcomes.extend(line["outcome"].as_str().map(ToOwned::to_owned));
        }
    }
    for outcome in ["passed", "failed", "updated", "error", "listed"] {
        assert!(outcomes.iter().any(|known| known == outcome), "{outcome} is not among {outcomes:?}");
    }
    let found = std::fs::read(sandbox.path().join("_found.json")).unwrap();
    assert!(coverage.is_valid(&serde_json::from_slice(&found).unwrap()));
    for wrong in [r#"{"type":"case"}"#, r#"{"type":"summary","passed":"1"}"#, r#"{"passed":1}"#] {
        assert!(!lines.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}

/// Reads both reports as the programs do that people use, and prints what is in them.
const READER: &str = r#"
import sys, junitparser, lcov_cobertura
report = junitparser.JUnitXml.fromfile("junit.xml")
for suite in report:
    for case in suite:
        kinds = ",".join(type(result).__name__ for result in case.result)
        print("case", suite.name, "|", case.name, "|", kinds, "|", case._elem.get("line"))
print("all", report.tests, report.failures, report.errors)
xml = lcov_cobertura.LcovCobertura(open("lcov.info").read()).convert()
import xml.etree.ElementTree as tree
for entry in sorted(tree.fromstring(xml).iter("class"), key=lambda entry: entry.get("filename")):
    hits = " ".join(line.get("number") + "x" + line.get("hits") for line in entry.find("lines"))
    print("file", entry.get("filename"), entry.get("line-rate"), entry.get("branch-rate"), "|", hits)
"#;

#[test]
fn foreign_programs_read_the_reports() {
    let python = peer("reports-1/bin/python");
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/mixed.md", MIXED.as_bytes());
    sandbox.write("start.md", GRAPH[0].1.replace("to: bye", "on_interrupt: left\nto: bye").as_bytes());
    sandbox.write("left.md", b"---\n---\nLeft.\n");
    let ran = sandbox.trellis(&["test", ".", "--junit", "junit.xml", "--coverage=lcov:lcov.info"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let read = Command::new(python).args(["-c", READER]).current_dir(sandbox.path()).output().unwrap();
    let out = String::from_utf8_lossy(&read.stdout);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let expected = "case _tests/bye.md | Bye › by name |  | 3
case _tests/mixed.md | Bye & <more> › \"right\" |  | 3
case _tests/mixed.md | Bye & <more> › wrong › 틀림 | Failure | 11
all 3 1 0
file bye.md 1.0 0.0 | 1x3
file left.md 0.0 0.0 | 1x0
file start.md 0.6666666666666666 0.5 | 1x3 4x0 5x3
";
    assert_eq!(out, expected);
}

#[test]
fn the_tests_of_every_graph_here_pass() {
    let graphs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs");
    let ran = Sandbox::new(&[]).trellis(&["test", graphs.to_str().unwrap()]);
    assert!(ran.code == Some(0) && ran.err.is_empty(), "{ran:?}");
    for graph in std::fs::read_dir(graphs).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let name = graph.file_name().unwrap().to_string_lossy().into_owned();
        assert!(ran.out.contains(&format!("ok {name}/")), "no case of {name} was played");
    }
}

fn watch(sandbox: &Sandbox, args: &[&str]) -> Open {
    Open::start(sandbox.command(&[&["test", ".", "--watch"], args].concat()))
}

#[test]
fn each_save_plays_what_it_affects() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("_tests/other.md", b"# Other\n\n```transcript\n...\n> Bob\n...\n```\n");
    let mut open = watch(&sandbox, &[]);
    assert_eq!(open.until(|line| line == "2 passed"), ["ok bye.md › Bye › by name", "ok other.md › Other", "2 passed"]);
    // A sheet affects its own cases.
    sandbox.write("_tests/bye.md", GRAPH[2].1.replace("by name", "with a name").as_bytes());
    assert_eq!(open.until(|line| line == "1 passed"), ["", "_tests/bye.md changed", "ok bye.md › Bye › with a name", "1 passed"]);
    // A node affects all.
    sandbox.write("bye.md", b"---\n---\nGoodbye, {{ name }}\n");
    let lines = open.until(|line| line == "1 passed, 1 failed");
    assert!(lines[1] == "bye.md changed" && lines.iter().any(|line| line == "  + | Goodbye, Ada"), "{lines:#?}");
    // An edit without a change prints nothing.
    sandbox.write("bye.md", b"---\n---\nGoodbye, {{ name }}\n");
    sandbox.write(".bye.md.swp", b"what an editor keeps");
    open.silence();
    // A graph with an error says so, and goes on when it is mended.
    sandbox.write("start.md", b"---\nto: nowhere\n---\n");
    open.until(|line| line == "2 failed");
    sandbox.write("start.md", GRAPH[0].1.as_bytes());
    sandbox.write("bye.md", GRAPH[1].1.as_bytes());
    open.until(|line| line == "2 passed");
    open.interrupt();
    assert_eq!(open.code(), Some(0), "somebody ended it: that is how it ends");
}

#[test]
fn each_round_ends_with_a_summary_of_json() {
    let sandbox = Sandbox::new(&GRAPH);
    let mut open = watch(&sandbox, &["--format", "json"]);
    assert_eq!(open.json_until(|line| line["type"] == "summary")["passed"], 1);
    sandbox.write("bye.md", b"---\n---\nGoodbye, {{ name }}\n");
    assert_eq!(open.json_until(|line| line["type"] == "summary")["failed"], 1);
    open.interrupt();
    assert_eq!(open.code(), Some(0));
}

#[test]
fn nothing_is_written_where_nobody_watches() {
    let sandbox = Sandbox::new(&GRAPH);
    sandbox.write("bye.md", b"---\n---\nGoodbye, {{ name }}\n");
    let ran = sandbox.trellis(&["test", ".", "--review"]);
    assert!(ran.code == Some(2) && ran.err.contains("use `trellis test --update`"), "{ran:?}");
    for option in ["--review", "--update", "--update=new"] {
        let ran = sandbox.command(&["test", ".", option]).env("CI", "true").output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(2) && err.contains("`CI` is set"), "{option}: {err}");
    }
    let text = std::fs::read_to_string(sandbox.path().join("_tests/bye.md")).unwrap();
    assert_eq!(text, GRAPH[2].1);
}
