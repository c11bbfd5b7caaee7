//! Sheets at the edge: what nobody answers, replays of replays, sheets that an update moves, and sheets of CRLF.

use std::{fs, path::Path, time::Duration};

use tempfile::TempDir;
use trellis_trial::{Counts, Options, Update, coverage, rewritten, wire::Outcome};

use crate::{folder, folder_of, open, played};

fn options(update: Update) -> Options {
    let mut options = Options::default();
    options.update = Some(update);
    options
}

/// Plays the sheets of a folder and writes what an update makes of them; the sheet afterwards, and the outcomes.
fn update(folder: &Path, which: Update) -> (String, Vec<Outcome>) {
    let suite = open(folder);
    assert_eq!(suite.errors, []);
    let verdicts = suite.play(&options(which));
    let edits = verdicts.iter().filter(|(.., verdict, _)| verdict.outcome == Outcome::Updated);
    let text = rewritten(&suite.sheets[0], edits.flat_map(|(.., verdict, _)| verdict.edits.clone()).collect());
    fs::write(&suite.sheets[0].path, &text).unwrap();
    (text, verdicts.iter().map(|(.., verdict, _)| verdict.outcome).collect())
}

fn outcomes(folder: &Path) -> Vec<String> {
    played(&open(folder), &Options::default())
}

fn small(files: &[(&str, &str)]) -> TempDir {
    folder_of(files.iter().map(|(path, text)| ((*path).to_owned(), *text)))
}

#[test]
fn a_predicate_that_nobody_answers_ends_the_case_and_is_asked_once_by_hand() {
    let graph = [
        ("trellis.yaml", "predicates: { vip: {} }\n"),
        ("start.md", "---\ntransitions:\n  - { condition: vip, to: gold }\n  - to: plain\n---\nHello.\n"),
        ("gold.md", "---\n---\nGold.\n"),
        ("plain.md", "---\n---\nPlain.\n"),
        (
            "_tests/t.md",
            "# T\n## by hand\n```transcript\n$ by hand\n```\n## later\n```transcript\n$ by hand\n@ vip = true\n```\n## asked\n```transcript\n```\n",
        ),
    ];
    let folder = small(&graph);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Updated, Outcome::Updated, Outcome::Failed]);
    assert!(text.contains("$ by hand\n| Hello.\n- refused: the predicate `vip` must be answered first\n```"), "{text}");
    assert!(text.contains("@ vip = true\n| Hello.\n| Gold.\n* end finished\n```"), "{text}");
    assert!(text.ends_with("## asked\n```transcript\n```\n"), "what was not answered is never written: {text}");
    let asked = &played(&open(folder.path()), &options(Update::All))[2];
    assert!(asked.starts_with("T › asked: Failed") && asked.contains("not answered: vip"), "{asked}");
}

#[test]
fn a_start_that_needs_an_answer_is_not_written_as_right() {
    let graph = [
        ("trellis.yaml", "predicates: { vip: {} }\n"),
        ("start.md", "---\nassert: [vip]\n---\nHello.\n"),
        ("_tests/t.md", "# T\n```transcript\n```\n"),
    ];
    let folder = small(&graph);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!((found, &*text), (vec![Outcome::Failed], "# T\n```transcript\n```\n"));
}

#[test]
fn the_clock_is_looked_at_in_every_round() {
    let folder = small(&[("start.md", "---\n---\nHello.\n"), ("_tests/t.md", "# T\n```transcript\n| Hello.\n* end finished\n```\n")]);
    assert_eq!(outcomes(folder.path()), ["T: Passed"]);
    let mut options = Options::default();
    options.timeout = Duration::ZERO;
    let found = &played(&open(folder.path()), &options)[0];
    assert!(found.contains("Failed") && found.contains("it took longer"), "{found}");
}

const BOTH: &str = "# T\n\n```tools\nreserve {\"id\": \"t1\"} ?\nrelease null ?\n```\n\n## paid\n\n```tools\ncharge null\n```\n\n```transcript\n> 2\n```\n\n\
    ## declined\n\n```tools\ncharge ! declined\n```\n\n```transcript\n> 2\n```\n\n## below\n\n```transcript\n> 2\n> fine\n```\n\n```tools\ncharge null ?\n```\n";

#[test]
fn lines_that_name_doubles_move_with_their_block() {
    let folder = folder(&[("t.md", BOTH)]);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Updated; 3], "{text}");
    let all_pass = || outcomes(folder.path()).iter().all(|found| found.ends_with("Passed"));
    assert!(all_pass(), "{text}\n{:#?}", outcomes(folder.path()));
    // Lines of a double's block are counted, not those of the sheet.
    let moved = text.replacen("# T\n", "# T\n\nA remark.\n", 1);
    fs::write(folder.path().join("_tests/t.md"), &moved).unwrap();
    assert!(all_pass(), "{moved}\n{:#?}", outcomes(folder.path()));
    fs::write(folder.path().join("_tests/t.md"), text.replacen("| For how many?\n", "# a note\n", 1)).unwrap();
    let (text, found) = update(folder.path(), Update::All);
    assert_eq!(found, [Outcome::Updated, Outcome::Passed, Outcome::Passed], "{text}");
    assert!(all_pass(), "{text}\n{:#?}", outcomes(folder.path()));
}

#[test]
fn a_replay_takes_the_doubles_of_its_own_case_and_can_itself_come_after_another() {
    let survey = [
        ("start.md", "---\ninput_type: text\nsave_to: a\nto: one\n---\nA?\n"),
        ("one.md", "---\ndo: { name: look, args: { at: \"{{ a }}\" } }\nsave_to: found\non_error: broken\nto: two\n---\n"),
        ("two.md", "---\ninput_type: text\nsave_to: b\nto: three\n---\nB?\n"),
        ("three.md", "---\ninput_type: text\nsave_to: c\nto: four\n---\nC?\n"),
        ("four.md", "---\ndo: look\non_error: broken\nto: five\n---\n"),
        ("five.md", "---\n---\nDone.\n"),
        ("broken.md", "---\n---\nBroken.\n"),
        ("trellis.yaml", "bindings: { look: { process: [look] } }\n"),
        (
            "_tests/t.md",
            "# T\n## A\n```tools\nlook 1\n```\n```transcript\n> x\n```\n## B\n```transcript\n$ after A\n> y\n```\n\
             ## C\n```tools\nlook ! declined\n```\n```transcript\n$ after B\n> z\n```\n## D\n```transcript\n> x\n$ after A\n```\n",
        ),
    ];
    let folder = small(&survey);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Updated, Outcome::Updated, Outcome::Updated, Outcome::Failed], "{text}");
    assert!(text.contains("$ after A\n> y\n| C?\n? text\n"), "{text}");
    assert!(text.contains("> z\n! look {} (double 1)\n| Broken.\n* end finished\n"), "{text}");
    assert!(outcomes(folder.path())[..3].iter().all(|found| found.ends_with("Passed")));
}

#[test]
fn blocks_below_one_heading_are_equally_near() {
    let sheet = "# T\n```tools\nreserve {\"id\": \"any\"} ?\n```\n```tools\nreserve {\"people\": 2} {\"id\": \"two\"}\ncharge null\n```\n\
        ## A\n```transcript\n...\n! charge {\"table\":\"two\"} [..]\n...\n```\n";
    let folder =
        folder(&[("t.md", &sheet.replace("...\n! charge", "...\n> 2\n...\n! charge").replace("[..]\n...\n", "[..]\n...\n> fine\n...\n"))]);
    assert_eq!(outcomes(folder.path()), ["T › A: Passed"]);
}

#[test]
fn an_update_never_says_less_than_the_block_did() {
    let graph = [
        ("start.md", "---\nto: bye\n---\nA [..] b\n"),
        ("bye.md", "---\n---\nBye.\n"),
        (
            "_tests/t.md",
            "# T\n## clean\n```markdown bye.md\n---\nto: nowhere\n---\n```\n```diagnostics\n```\n## said\n```transcript\n```\n",
        ),
    ];
    let folder = small(&graph);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Failed, Outcome::Updated], "a block of findings that is empty says something");
    assert!(text.contains("| A \\[..] b\n"), "{text}");
    fs::write(folder.path().join("start.md"), "---\nto: bye\n---\nA x b\n").unwrap();
    assert!(outcomes(folder.path())[1].contains("Failed"), "what was written is no wildcard");
}

#[test]
fn texts_of_several_lines_stay_on_one_line_of_the_transcript() {
    let graph = [
        ("start.md", "---\ninput_type: int\non_invalid:\n  text: |\n    One.\n    > two\nto: bye\n---\nA?\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("_tests/t.md", "# T\n```transcript\n> x\n> 2\n```\n"),
    ];
    let folder = small(&graph);
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Updated], "{text}");
    assert!(text.contains("> x\n- invalid: One.␊> two\n"), "{text}");
    assert_eq!(outcomes(folder.path()), ["T: Passed"]);
}

#[test]
fn sheets_of_crlf_pass_and_stay_sheets_of_crlf() {
    let sheet = "# T\n## found\n```diff bye.md\n ---\n+to: nowhere\n ---\n```\n```finds\nbye.md:2:5 unknown-target\n```\n\
        ## said\n```transcript\n> 2\n```\n";
    let graph = [
        ("start.md", "---\r\ninput_type: int\r\nto: bye\r\n---\r\nA?\r\n".to_owned()),
        ("bye.md", "---\r\n---\r\nBye.\r\n".to_owned()),
        ("_tests/t.md", sheet.replace('\n', "\r\n")),
    ];
    let folder = folder_of(graph.iter().map(|(path, text)| ((*path).to_owned(), &**text)));
    let (text, found) = update(folder.path(), Update::New);
    assert_eq!(found, [Outcome::Passed, Outcome::Updated], "{text} {:#?}", outcomes(folder.path()));
    assert!(text.contains("? int\r\n> 2\r\n| Bye.") && text.lines().count() == text.matches("\r\n").count(), "{text:?}");
    assert!(outcomes(folder.path()).iter().all(|found| found.ends_with("Passed")));
}

#[test]
fn items_of_a_graph_inside_another_are_counted_once_with_what_both_passed() {
    let graph = [
        ("start.md", "---\ndo: { graph: inner/start }\non_error: lost\nto: bye\n---\n"),
        ("lost.md", "---\n---\nLost.\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("inner/trellis.yaml", "name: inner\n"),
        ("inner/start.md", "---\ninput_type: confirm\nto: done\n---\nSure?\n"),
        ("inner/done.md", "---\n---\nDone.\n"),
        ("_tests/t.md", "# T\n```transcript\n...\n> yes\n...\n```\n"),
    ];
    let folder = small(&graph);
    let (outer, inner) = (open(folder.path()), open(&folder.path().join("inner")));
    let mut counts = Counts::default();
    outer.play(&Options::default()).iter().for_each(|(.., verdict, _)| counts.add(&verdict.counts));
    let mut found = coverage(outer.compiled.program.as_ref().unwrap(), &counts, "");
    found.merge(coverage(inner.compiled.program.as_ref().unwrap(), &Counts::default(), "inner"));
    let of_inner: Vec<_> = found.items.iter().filter(|item| item.path.starts_with("inner/") && !item.implied).collect();
    let missed: Vec<_> = of_inner.iter().filter(|item| item.count == 0).collect();
    assert!(missed.is_empty() && of_inner.iter().any(|item| item.node == "inner/done"), "{of_inner:#?}");
    let nodes: Vec<_> = of_inner.iter().filter(|item| item.kind == "node").map(|item| &*item.what).collect();
    assert_eq!(nodes, ["inner/done", "inner/start"]);
}

#[test]
fn graphs_that_undo_are_counted_as_what_a_session_can_reach() {
    let parts = "parallel: { one: { name: a, undo: { graph: /undone/branch } }, two: b }";
    let start = format!("---\ndo: {{ {parts} }}\non_error: rollback\nto: next\n---\n");
    let graph = [
        ("trellis.yaml", "bindings: { a: { process: [a] }, b: { process: [b] } }\n"),
        ("start.md", &*start),
        ("next.md", "---\ndo: a\nundo: { graph: /undone/node }\nto: rollback\n---\n"),
        ("undone/branch.md", "---\n---\nUndone.\n"),
        ("undone/node.md", "---\n---\nUndone.\n"),
        ("_tests/t.md", "# T\n```tools\na null\nb ! no\n```\n```transcript\n...\n| Undone.\n...\n```\n"),
    ];
    let folder = small(&graph);
    let suite = open(folder.path());
    let mut counts = Counts::default();
    suite.play(&Options::default()).iter().for_each(|(.., verdict, _)| counts.add(&verdict.counts));
    let found = coverage(suite.compiled.program.as_ref().unwrap(), &counts, "");
    let nodes: Vec<_> = found.items.iter().filter(|item| item.kind == "node").map(|item| format!("{} {}", item.what, item.count)).collect();
    assert_eq!(nodes, ["next 0", "start 1", "undone/branch 1", "undone/node 0"]);
}

#[test]
fn items_stand_where_they_are_written() {
    let graph = [
        (
            "trellis.yaml",
            "bindings: { a: { process: [a] }, b: { process: [b] }, c: { process: [c] }, d: { process: [d] } }\non_rolled_back: end\n",
        ),
        (
            "start.md",
            "---\ndo:\n  parallel:\n    one: a\n    two:\n      name: b\n      undo: c\n      retry: { max: 2, base: 0s }\non_error: rollback\nto: mid\n---\n",
        ),
        ("mid.md", "---\ndo: a\non_error: rollback\nundo: d\nretry: { max: 3 }\nto: ask\n---\n"),
        (
            "ask.md",
            "---\noptions:\n  - red\n  - value: blue\n    text: Blue\nmessages:\n  pt:\n    content: Qual?\ntransitions:\n  - { condition: input == \"red\", to: rollback }\n  - to: end\n---\nWhich?\n",
        ),
        ("end.md", "---\n---\nDone.\n"),
        ("_tests/t.md", "# T\n```tools\na null\nb ! no\nb null\nc null\nd ! no\n```\n```transcript\n...\n> red\n...\n```\n"),
    ];
    let folder = small(&graph);
    assert_eq!(outcomes(folder.path()), ["T: Passed"]);
    let suite = open(folder.path());
    let mut counts = Counts::default();
    suite.play(&Options::default()).iter().for_each(|(.., verdict, _)| counts.add(&verdict.counts));
    let found = coverage(suite.compiled.program.as_ref().unwrap(), &counts, "");
    let placed = found.items.iter().filter(|item| ["locale", "option", "part", "retry", "undo"].contains(&&*item.kind));
    let placed: Vec<String> =
        placed.map(|item| format!("{}:{} {} {} {}", item.path, item.line, item.kind, item.what, item.count)).collect();
    let expected = [
        "ask.md:3 option red 1",
        "ask.md:4 option blue 0",
        "ask.md:7 locale pt 0",
        "mid.md:4 undo undone 0",
        "mid.md:4 undo undo given up 1",
        "mid.md:5 retry another attempt 0",
        "start.md:4 part one: succeeded 1",
        "start.md:4 part one: failed, denied or left 0",
        "start.md:5 part two: succeeded 1",
        "start.md:5 part two: failed, denied or left 0",
        "start.md:7 undo two: undone 1",
        "start.md:7 undo two: undo given up 0",
        "start.md:8 retry two: another attempt 1",
    ];
    assert_eq!(placed, expected);
}

#[test]
fn parts_are_counted_by_what_became_of_them() {
    let graph = [
        ("trellis.yaml", "bindings: { a: { process: [a] }, b: { process: [b] } }\n"),
        (
            "start.md",
            "---\nset: { calls: [{ name: a, args: {} }] }\ndo: { parallel: { one: a, two: b }, on_error: collect }\nsave_to: both\nto: all\n---\n",
        ),
        ("all.md", "---\ntools: [{ name: a }, { name: b }]\ndo: { each: calls }\nsave_to: done\nto: end\n---\n"),
        ("end.md", "---\n---\nDone.\n"),
        ("_tests/t.md", "# T\n```tools\na null\nb ! no\n```\n```transcript\n...\n| Done.\n...\n```\n"),
    ];
    let folder = small(&graph);
    assert_eq!(outcomes(folder.path()), ["T: Passed"]);
    let suite = open(folder.path());
    let mut counts = Counts::default();
    suite.play(&Options::default()).iter().for_each(|(.., verdict, _)| counts.add(&verdict.counts));
    let found = coverage(suite.compiled.program.as_ref().unwrap(), &counts, "");
    let parts = found.items.iter().filter(|item| item.kind == "part");
    let parts: Vec<String> = parts.map(|item| format!("{} {} {}", item.node, item.what, item.count)).collect();
    let expected = [
        "all a: succeeded 1",
        "all a: failed, denied or left 0",
        "all b: succeeded 0",
        "all b: failed, denied or left 0",
        "start one: succeeded 1",
        "start one: failed, denied or left 0",
        "start two: succeeded 0",
        "start two: failed, denied or left 1",
    ];
    assert_eq!(parts, expected);
    assert_eq!(found.summary["part"], [3, 8]);
}
