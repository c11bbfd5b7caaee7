//! `trellis session`: kept sessions listed, shown, moved, exported and held against an edited graph.

use serde_json::Value as Json;
use trellis_tests::harness::{Findings, Mode, run_file};

use crate::sandbox::{Ran, Sandbox};

/// A stay: asked for, booked with an undo, kept or cancelled.
const STAY: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: stay\nbindings:\n  book: { process: [echo, '{\"id\": 7}'] }\n  cancel: { process: [echo, 'null'] }\ncontext: { days: int }\n",
    ),
    ("start.md", "---\ninput_type: int\nsave_to: days\nto: book\n---\nHow many days?\n"),
    (
        "book.md",
        "---\ndo: { name: book, args: { days: \"{{ days }}\" }, returns: {type: object, required: [id]} }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: keep\n---\nLooking.\n",
    ),
    ("keep.md", "---\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep room {{ room.id }} for {{ days }} days?\n"),
    ("end.md", "---\noutput: \"{{ room.id }}\"\n---\nSee you.\n"),
];

/// A sandbox with session `ana` waiting at `keep`, and `bob` ended.
fn kept() -> Sandbox {
    let sandbox = Sandbox::new(STAY);
    let ran = sandbox.trellis_with(&["run", ".", "--session", "ana"], "3\n");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let ran = sandbox.trellis_with(&["run", ".", "--session", "bob"], "5\nyes\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    sandbox
}

pub(crate) fn session(sandbox: &Sandbox, args: &[&str]) -> Ran {
    sandbox.trellis(&[&["session"], args].concat())
}

pub(crate) fn fine(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = session(sandbox, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.out
}

pub(crate) fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = session(sandbox, args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
    ran.err
}

pub(crate) fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn sessions_are_listed_newest_first_a_page_at_a_time() {
    let sandbox = kept();
    let listed = fine(&sandbox, &["ls"]);
    let lines: Vec<_> = listed.lines().collect();
    assert!(lines[0].starts_with("session  status             node  moved"), "{listed}");
    assert!(lines[1].starts_with("bob      finished           end   2"), "{listed}");
    assert!(lines[2].starts_with("ana      waiting for input  keep  2"), "{listed}");
    let page = json(&fine(&sandbox, &["ls", "--limit", "1", "--json"]));
    assert_eq!((&page["sessions"][0]["id"], &page["next"]), (&Json::from("bob"), &Json::from("bob")));
    let rest = json(&fine(&sandbox, &["ls", "--after", "bob", "--format", "json"]));
    assert_eq!((&rest["sessions"][0]["id"], &rest["next"], &rest["sessions"][1]), (&Json::from("ana"), &Json::Null, &Json::Null));
    let waiting = json(&fine(&sandbox, &["ls", "--status", "open", "--json"]));
    assert_eq!((waiting["sessions"].as_array().unwrap().len(), &waiting["sessions"][0]["status"]), (1, &Json::from("waiting_for_input")));
    assert_eq!(fine(&Sandbox::new(STAY), &["ls"]), "no sessions\n");
    let (named, unknown) = (refused(&sandbox, &["ls", "start.md"]), refused(&sandbox, &["ls", "nowhere"]));
    assert!(named.contains("tip: a graph is named with '--graph start.md'") && !unknown.contains("a graph"), "{named}{unknown}");
    assert!(!Sandbox::new(STAY).path().join(".trellis").exists());
}

#[test]
fn a_timeline_tells_who_said_what_and_what_changed() {
    let sandbox = kept();
    let shown = fine(&sandbox, &["show", "bob"]);
    let bare: String = shown
        .lines()
        .map(|line| {
            // The time stands between the number and what happened.
            let words: Vec<_> = line.splitn(4, ' ').collect();
            if line.starts_with('#') { format!("{} {}\n", words[0], line.split("  ").last().unwrap()) } else { format!("{line}\n") }
        })
        .skip(2)
        .collect();
    let expected = "#0 began at `start`\n    │ How many days?\n#1 answer: 5 → `book`\n    days: 5\n    calls `book` {\"days\":5}\n    │ Looking.\n#2 `book` returned {\"id\":7} → `keep`\n    room: {\"id\":7}\n    │ Keep room 7 for 5 days?\n#3 answer: yes → `end`\n    │ See you.\n#4 finished, output 7\n";
    assert_eq!(bare, expected);
    let records = fine(&sandbox, &["show", "bob", "--json"]);
    assert_eq!(
        records.lines().map(|line| json(line)["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
        ["start", "input", "result", "input", "end"]
    );
    let state = fine(&sandbox, &["show", "bob", "--at", "2"]);
    assert_eq!(state, "waiting for input at `keep`, step 2\ncan undo `book` of `book`: cancel {\"id\":7}\ndays: 5\nroom: {\"id\":7}\n");
    assert_eq!(json(&fine(&sandbox, &["show", "bob", "--at", "0", "--json"]))["current_node_id"], "start");
    let last = fine(&sandbox, &["show", "bob", "--last", "1", "--follow"]);
    assert!(last.contains("#4") && !last.contains("#3"), "{last}");
    assert_eq!(refused(&sandbox, &["show", "bob", "--at", "9"]), "error: session `bob` has records 0 to 4, there is no 9\n");
}

#[test]
fn following_shows_what_happens_until_the_end() {
    let sandbox = kept();
    let follower = sandbox.command(&["session", "show", "ana", "--follow"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(sandbox.trellis_with(&["run", ".", "--session", "ana"], "yes\n").code, Some(0));
    let ran = crate::sandbox::finish(follower);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.ends_with("finished, output 7\n"), "{}", ran.out);
}

#[test]
fn names_may_be_begun_and_are_never_paths() {
    let sandbox = kept();
    assert!(fine(&sandbox, &["show", "b"]).starts_with("bob  finished at `end`\n"));
    assert_eq!(refused(&sandbox, &["show", "bbo"]), "error: there is no session `bbo`\n  did you mean `bob`?\n");
    assert_eq!(refused(&sandbox, &["show", "zzzzzz"]), "error: there is no session `zzzzzz`\n  `trellis session ls` lists them\n");
    fine(&sandbox, &["fork", "ana", "--as", "anabel"]);
    assert_eq!(refused(&sandbox, &["rm", "an"]), "error: 2 sessions begin with `an`: `ana`, `anabel`\n");
    let long = "x".repeat(10_240);
    for command in ["show", "replay", "fork", "export", "rm"] {
        for name in ["../../x", "a\u{1b}[31mb", long.as_str(), ""] {
            let error = refused(&sandbox, &[command, name]);
            assert!(error.contains("is no name for a session") && error.len() < 300 && !error.contains('\u{1b}'), "{error}");
        }
    }
}

#[test]
fn a_fork_goes_on_by_itself_and_the_original_stays() {
    let sandbox = kept();
    let before = fine(&sandbox, &["show", "bob", "--json"]);
    assert_eq!(
        refused(&sandbox, &["fork", "bob"]),
        "error: the session had ended there\n  name a record before its end: `trellis session show bob` lists them\n"
    );
    let name = fine(&sandbox, &["fork", "bob", "--at", "2"]);
    assert_eq!(name, "bob@2\n");
    assert_eq!(fine(&sandbox, &["fork", "bob", "--at", "2"]), "bob@2.2\n");
    let ran = sandbox.trellis_with(&["run", ".", "--session", "bob@2"], "no\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(fine(&sandbox, &["show", "bob@2"]).contains("rolls back, 0 to undo"), "it has nothing to undo");
    assert_eq!(fine(&sandbox, &["show", "bob", "--json"]), before);
    assert_eq!(
        refused(&sandbox, &["fork", "bob", "--at", "2", "--as", "ana"]),
        "error: there is a session `ana` already\n  `--as NAME` names the new session otherwise\n"
    );
}

#[test]
fn back_goto_and_set_are_records() {
    let sandbox = kept();
    let out = fine(&sandbox, &["back", "bob", "--to", "0"]);
    assert_eq!(out, "bob stands at `start`, it was at `end` (record 5)\n");
    assert_eq!(refused(&sandbox, &["goto", "bob", "kep"]), "error: there is no node `kep`\n  did you mean `keep`?\n");
    let lacks = refused(&sandbox, &["goto", "bob", "keep"]);
    assert_eq!(lacks, "error: `keep` needs `room.id`, `days`, not set\n  `trellis session set bob KEY=VALUE` sets keys\n");
    let wrong = refused(&sandbox, &["set", "bob", "days=many"]);
    assert!(
        wrong.starts_with("error: `days` cannot be \"many\": it must be") && wrong.contains("(`context` of `trellis.yaml`)"),
        "{wrong}"
    );
    assert_eq!(refused(&sandbox, &["set", "bob", "sys.x=1"]), "error: the context cannot hold `sys`: it is a reserved name\n");
    for (pair, told) in [
        (["a.b.c=1", "a=2"], "`a.b.c` and `a` set the same key"),
        (["a=2", "a.b.c=1"], "`a` and `a.b.c` set the same key"),
        (["a.b=1", "a.b=2"], "`a.b` is set twice"),
    ] {
        let error = refused(&sandbox, &[&["set", "bob"][..], &pair].concat());
        assert_eq!(error, format!("error: {told}: only one of them can hold\n"));
    }
    assert_eq!(refused(&sandbox, &["set", "bob", "days"]), "error: `days` is no KEY=VALUE\n");
    assert_eq!(fine(&sandbox, &["set", "bob", "days=2", "room.id=9"]), "bob has `days`, `room.id` now (record 6)\n");
    let put = json(&fine(&sandbox, &["goto", "bob", "keep", "--json"]));
    assert_eq!((&put["node"], &put["record"], &put["from"]), (&Json::from("keep"), &Json::from(7), &Json::from("start")));
    let ran = sandbox.trellis_with(&["run", ".", "--session", "bob"], "yes\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Keep room 9 for 2 days?"), "{}", ran.out);
    let shown = fine(&sandbox, &["show", "bob"]);
    for line in ["put back to where it was after record 0, at `start`", "set by hand", "put at `keep`", "finished, output 9"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(fine(&sandbox, &["replay", "bob"]).starts_with("bob: 10 records, the same\n"));
}

#[test]
fn a_replay_on_an_edited_graph_names_node_file_and_line() {
    let sandbox = kept();
    assert_eq!(fine(&sandbox, &["replay", "bob"]), "bob: 5 records, the same\n");
    sandbox.write("keep.md", b"---\ninput_type: confirm\non_denied: end\nto: start\n---\nKeep room {{ room.id }}?\n");
    let ran = session(&sandbox, &["replay", "bob"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "bob: record 3: `keep` leads to `start`, not to `end`\n  keep.md:1\n"));
    let ran = session(&sandbox, &["replay", "bob", "--json"]);
    let wire = json(&ran.out);
    assert_eq!((&wire["same"], &wire["record"], &wire["path"], &wire["line"]), (&false.into(), &3.into(), &"keep.md".into(), &1.into()));
    sandbox.write("keep.md", b"---\nto: nowhere\n---\n");
    let error = refused(&sandbox, &["replay", "bob"]);
    assert!(error.contains("no session can continue on it\n  `trellis check` shows "), "{error}");
}

#[test]
fn an_edited_graph_says_what_it_means_for_each_session() {
    let sandbox = kept();
    assert_eq!(fine(&sandbox, &["check"]), "2 sessions: 1 continue, 1 have ended\n");
    std::fs::remove_file(sandbox.path().join("keep.md")).unwrap();
    sandbox.write("confirm.md", b"---\nwas: [keep]\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep it?\n");
    sandbox.write("book.md", STAY[2].1.replace("to: keep", "to: confirm").as_bytes());
    let out = fine(&sandbox, &["check"]);
    assert_eq!(out, "ana  continues at `confirm`, as `keep` is called now\n2 sessions: 1 continue elsewhere, 1 have ended\n");
    let wire = json(&fine(&sandbox, &["check", "--apply", "--format", "json"]));
    let ana = wire["sessions"].as_array().unwrap().iter().find(|session| session["id"] == "ana").unwrap();
    assert_eq!(
        (&ana["verdict"], &ana["to"], &ana["why"], &ana["applied"]),
        (&"elsewhere".into(), &"confirm".into(), &"renamed".into(), &true.into())
    );
    assert_eq!((&wire["summary"]["applied"], &wire["summary"]["stopped"]), (&1.into(), &0.into()));
    assert_eq!(fine(&sandbox, &["check"]), "2 sessions: 1 continue, 1 have ended\n");

    sandbox.write("start.md", b"---\ninput_type: int\nsave_to: days\nset: { who: Ann }\nto: book\n---\nHow many days?\n");
    sandbox.write("confirm.md", b"---\nwas: [keep]\ninput_type: confirm\non_denied: end\nto: end\n---\nKeep it?\n");
    sandbox.write("end.md", b"See you, {{ who }}.\n");
    let ran = session(&sandbox, &["check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.starts_with("ana  lacks `who` at `confirm`, since an edit after 2"), "{}", ran.out);
    let line = ran.out.lines().next().unwrap();
    assert!(["`start.md` 2", "`confirm.md` 2", "`end.md` 2"].iter().all(|file| line.contains(file)), "{line}");
    assert!(ran.out.contains("\n  trellis session set ana who=…\n"), "{}", ran.out);
    fine(&sandbox, &["set", "ana", "who=Ana"]);
    assert_eq!(fine(&sandbox, &["check"]), "2 sessions: 1 continue, 1 have ended\n");
}

#[test]
fn a_check_that_checked_nothing_does_not_pass() {
    let sandbox = Sandbox::new(STAY);
    let store = ["--store", "files:kept"];
    let run = |name: &str| sandbox.trellis_with(&[&["run", ".", "--session", name][..], &store].concat(), "3\n");
    assert_eq!((run("ana").code, run("bob").code), (Some(1), Some(1)));
    let check = |args: &[&str]| session(&sandbox, &[&["check"], args, &store[..]].concat());
    assert_eq!(check(&[]).out, "2 sessions: 2 continue\n");

    // A graph under another name does not find its sessions.
    sandbox.write("trellis.yaml", STAY[0].1.replace("name: stay", "name: hotel").as_bytes());
    let ran = check(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "2 sessions: 2 are of another graph (`stay` 2)\n"));
    assert!(ran.err.starts_with("none of these sessions is of `hotel`: "), "{}", ran.err);
    let ran = check(&["--json"]);
    assert_eq!((ran.code, &json(&ran.out)["summary"]["other_graphs"]), (Some(1), &serde_json::json!({ "stay": 2 })));
    assert_eq!(run("carl").code, Some(1));
    assert_eq!(check(&[]).code, Some(0), "a store may have sessions of several graphs");
    sandbox.write("trellis.yaml", STAY[0].1.as_bytes());

    // An unreadable session is counted too.
    let newer = "{\"trellis\":7,\"something\":\"else\"}\n";
    sandbox.write("kept/bob.jsonl", newer.as_bytes());
    let ran = check(&[]);
    assert_eq!(ran.code, Some(1));
    let line = "bob  `kept/bob.jsonl` was written by a newer version of trellis (format 7; this one reads up to 1)\n";
    assert_eq!(ran.out, format!("{line}3 sessions: 1 continue, 1 cannot be read, 1 are of another graph (`hotel` 1)\n"));
    let wire = json(&check(&["--json"]).out);
    let bob = wire["sessions"].as_array().unwrap().iter().find(|session| session["id"] == "bob").unwrap();
    assert_eq!((&bob["verdict"], &bob["status"], &bob["fine"]), (&"unreadable".into(), &"unreadable".into(), &false.into()));
    assert!(fine(&sandbox, &[&["ls"], &store[..]].concat()).contains("bob      "), "it is listed");

    // A lost session can be taken out, on demand.
    sandbox.write("kept/bob.jsonl", b"{\"trellis\":1,\"sum\":\"00000000\",\"session\":\"bob\",\"first\":0}\n{\"seq\":0\n");
    let ran = check(&[]);
    assert!(ran.out.contains("\n  trellis session rm bob --force\n"), "{}", ran.out);
    let ran = session(&sandbox, &[&["rm", "bob"], &store[..]].concat());
    assert!(ran.code == Some(2) && ran.err.contains("`--force` takes it out all the same"), "{}", ran.err);
    let ran = session(&sandbox, &[&["rm", "bob", "--force"], &store[..]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "bob was taken out\n"), "{}", ran.err);
    assert_eq!(check(&[]).out, "2 sessions: 1 continue, 1 are of another graph (`hotel` 1)\n");
}

#[test]
fn a_path_is_drawn_under_the_names_of_now() {
    let sandbox = kept();
    std::fs::remove_file(sandbox.path().join("keep.md")).unwrap();
    sandbox.write("confirm.md", b"---\nwas: [keep]\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep it?\n");
    sandbox.write("book.md", STAY[2].1.replace("to: keep", "to: confirm").as_bytes());
    let drawn = |session: &str| sandbox.trellis(&["graph", ".", "--session", session, "--format", "json"]);
    let ran = drawn("bob");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let wire = json(&ran.out);
    let confirm = wire["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "confirm").unwrap();
    assert!(!confirm["walked"].is_null() && wire["hops"].as_array().is_none_or(Vec::is_empty), "{wire:#}");
    fine(&sandbox, &["back", "ana", "--to", "0"]);
    fine(&sandbox, &["prune", "--keep-records", "1"]);
    let ran = drawn("ana");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), "records before 3 were taken out: the path is drawn and numbered from there\n"));
}

#[test]
fn an_exported_session_is_a_test() {
    let sandbox = kept();
    let sheet = fine(&sandbox, &["export", "bob"]);
    assert!(sheet.starts_with("# Session bob\n") && sheet.contains("$ session bob\n| How many days?\n? int\n> 5\n"), "{sheet}");
    fine(&sandbox, &["back", "bob", "--to", "2"]);
    let ran = session(&sandbox, &["export", "bob", "--output", "moved.md"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), "it begins after record 5: what came before cannot be typed\n"));
    sandbox.write("exported.md", sheet.as_bytes());
    for file in ["exported.md", "moved.md"] {
        let mut findings = Findings::default();
        run_file(&sandbox.path().join(file), Mode::Suite, &mut findings);
        findings.assert_none();
    }
    assert!(fine(&sandbox, &["export", "bob", "--until", "2", "--transcript"]).ends_with("? confirm\n"));
}

#[test]
fn sessions_are_taken_out_when_they_have_ended() {
    let sandbox = kept();
    let error = refused(&sandbox, &["rm", "bob", "ana"]);
    assert_eq!(error, "error: session `ana` has not ended: it stands at `keep`\n  `--force` takes it out all the same\n");
    assert!(fine(&sandbox, &["ls"]).contains("bob"), "all of them, or none");
    assert_eq!(refused(&sandbox, &["prune"]), "error: what is old? `--older-than DURATION`, `--keep N` or `--keep-records N` says it\n");
    assert_eq!(fine(&sandbox, &["prune", "--older-than", "1d"]), "0 sessions taken out, 0 shortened\n");
    assert_eq!(fine(&sandbox, &["prune", "--older-than", "0s", "--keep", "1"]), "0 sessions taken out, 0 shortened\n");
    let dry = fine(&sandbox, &["prune", "--keep", "0", "--dry-run"]);
    assert!(
        dry.starts_with("bob  would be taken out, it moved last 2")
            && dry.ends_with("\n1 session would be taken out, 0 would be shortened\n"),
        "{dry}"
    );
    fine(&sandbox, &["prune", "--keep", "0"]);
    let left = json(&fine(&sandbox, &["ls", "--json"]));
    assert_eq!((left["sessions"].as_array().unwrap().len(), &left["sessions"][0]["id"]), (1, &"ana".into()));
    assert_eq!(fine(&sandbox, &["rm", "ana", "--force"]), "ana was taken out\n");
}

#[test]
fn a_drawing_shows_the_path_of_a_session() {
    let sandbox = kept();
    fine(&sandbox, &["back", "ana", "--to", "0"]);
    let drawn = |format: &str| sandbox.trellis(&["graph", ".", "--session", "ana", "--format", format]);
    let mermaid = drawn("mermaid");
    assert_eq!(mermaid.code, Some(0), "{mermaid:?}");
    for line in ["\"start · 1, 4\"", "\"keep · 3\"", "==>|\"2\"| ", "==>|\"4 (put there)\"| ", "classDef walked"] {
        assert!(mermaid.out.contains(line), "{line}: {}", mermaid.out);
    }
    let wire = json(&drawn("json").out);
    let walked: Vec<_> = wire["edges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|edge| !edge["walked"].is_null())
        .map(|edge| format!("{}{}", edge["outcome"], edge["walked"]))
        .collect();
    assert_eq!(walked, ["\"success\"[3]", "\"answer\"[2]"]);
    assert_eq!(wire["hops"][0]["put"], true);
    assert!(drawn("dot").out.contains("penwidth=3"));
    std::fs::remove_file(sandbox.path().join("keep.md")).unwrap();
    sandbox.write("book.md", STAY[2].1.replace("to: keep", "to: end").as_bytes());
    assert_eq!(drawn("dot").err, "the graph does not have any more what the session passed: `keep`\n");
}

#[test]
fn a_store_of_several_graphs_needs_no_graph_to_be_listed() {
    let sandbox = Sandbox::new(&[("a/start.md", "---\nwait: true\n---\nHi.\n"), ("b/start.md", "---\nwait: true\n---\nHo.\n")]);
    for graph in ["a", "b"] {
        sandbox.trellis_with(&["run", graph, "--session", graph, "--store", "files:kept"], "");
    }
    let listed = fine(&sandbox, &["ls", "--store", "files:kept"]);
    assert!(listed.starts_with("session  graph  status"), "{listed}");
    let one = fine(&sandbox, &["ls", "--store", "files:kept", "--graph", "b"]);
    assert!(one.contains("\nb ") && !one.contains("\na "), "{one}");
    assert_eq!(
        fine(&sandbox, &["check", "--store", "files:kept", "--graph", "b"]),
        "2 sessions: 1 continue, 1 are of another graph (`a` 1)\n"
    );
    assert!(fine(&sandbox, &["show", "a", "--store", "files:kept"]).contains("began at `start`"));
    assert_eq!(refused(&sandbox, &["back", "a", "--to", "0", "--store", "files:kept"]), "error: which graph? `--graph PATH` names it\n");
}
