//! `trellis session approve` and `deny`: a call that waits is decided about while nobody runs its session.

use std::time::Duration;

use trellis_core::Start;
use trellis_host::{
    Verdict,
    assembly::{Assembly, LiveGraph, StoreSettings},
    interceptor::Intercepted,
};

use crate::{
    sandbox::Sandbox,
    session::{fine, json, refused, session},
};

/// A charge that somebody must approve, made by a script that writes it down.
const CHARGE: &[(&str, &str)] = &[
    ("trellis.yaml", "name: shop\nbindings:\n  charge: { process: [sh, ./charge.sh] }\n"),
    ("charge.sh", "printf '%s\\n' \"$TRELLIS_ARGS\" >> made\necho '{\"id\": 7}'\n"),
    (
        "start.md",
        "---\ndo:\n  name: charge\n  args: { total: 12, key: \"{{secret:shop}}\" }\n  approve: { ask: \"Charge 12?\", expires: 15m }\nsave_to: paid\non_denied: no\nto: end\n---\nOne moment.\n",
    ),
    ("end.md", "---\noutput: \"{{ paid.id }}\"\n---\nThank you.\n"),
    ("no.md", "---\noutput: \"{{ sys.error.message | default('no') }}\"\n---\nNot paid.\n"),
];

/// A sandbox whose sessions wait for an approval.
fn waiting(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(CHARGE);
    for name in names {
        let ran = sandbox.trellis_with(&["run", ".", "--session", name], "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
    }
    sandbox
}

/// Begins to wake sessions.
fn waking(sandbox: &Sandbox) -> std::process::Child {
    sandbox.command(&["run", ".", "--all"]).env("TRELLIS_SECRET_SHOP", "hunter2").spawn().unwrap()
}

#[test]
fn an_approved_call_is_made_once_when_sessions_are_woken() {
    let sandbox = waiting(&["ana"]);
    let listed = fine(&sandbox, &["approve"]);
    assert!(
        listed.starts_with("ana  `charge` {\"key\":\"{{secret:shop}}\",\"total\":12} at `start`\n    Charge 12?\n    asked 2"),
        "{listed}"
    );
    assert_eq!(fine(&sandbox, &["approve", "ana", "--dry-run"]), listed);
    assert!(!sandbox.path().join("made").exists());
    let ran = session(&sandbox, &["approve", "a"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "approved: `charge` {\"key\":\"{{secret:shop}}\",\"total\":12} of ana (record 1)\n")
    );
    assert_eq!(ran.err, "`trellis run --all`, or `trellis run --session ana`, makes the call\n");
    let woken = crate::sandbox::finish(waking(&sandbox));
    assert_eq!(woken.code, Some(0), "{woken:?}");
    assert_eq!(woken.out, "ana: finished at `end`\n1 resumed, 1 of them ended\n");
    let made = std::fs::read_to_string(sandbox.path().join("made")).unwrap();
    assert_eq!(made, "{\"key\":\"hunter2\",\"total\":12}\n");
    let shown = fine(&sandbox, &["show", "ana"]);
    assert!(shown.contains("`charge` was approved") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(
        refused(&sandbox, &["deny", "ana"]),
        "error: session `ana`: no call waits for an approval: it has ended\n  `trellis session approve` lists the calls that wait\n"
    );
}

#[test]
fn a_denial_leads_on_at_once_and_says_why() {
    let sandbox = waiting(&["ana", "bob"]);
    let out = fine(&sandbox, &["deny", "ana", "--because", "too dear"]);
    assert_eq!(out, "denied: `charge` {\"key\":\"{{secret:shop}}\",\"total\":12} of ana; it ended, finished (record 1)\n");
    let shown = fine(&sandbox, &["show", "ana"]);
    assert!(shown.contains("`charge` was denied: too dear → `no`") && shown.contains("finished, output \"too dear\""), "{shown}");
    assert!(fine(&sandbox, &["replay", "ana"]).ends_with("the same\n"));
    let wire = json(&fine(&sandbox, &["deny", "bob", "--json"]));
    assert_eq!((&wire["decision"], &wire["record"], &wire["node"]), (&"denied".into(), &1.into(), &"no".into()));
    assert_eq!(
        (&wire["call"]["tool"], &wire["call"]["args"]["total"], &wire["status"]),
        (&"charge".into(), &12.into(), &"finished".into())
    );
    assert!(!sandbox.path().join("made").exists());
}

#[test]
fn a_decision_can_name_the_call_that_was_seen() {
    let sandbox = waiting(&["ana"]);
    let seen = json(&fine(&sandbox, &["approve", "ana", "--dry-run", "--json"]));
    let (call, key) = (seen["call"]["id"].as_str().unwrap(), seen["call"]["key"].as_str().unwrap());
    assert_eq!(json(&fine(&sandbox, &["approve", "--json"]))["held"], serde_json::json!([seen]));
    fine(&sandbox, &["goto", "ana", "start"]);
    let now = json(&fine(&sandbox, &["approve", "ana", "--dry-run", "--json"]))["call"]["id"].clone();
    for meant in [call, key] {
        let error = refused(&sandbox, &["approve", "ana", "--call", meant]);
        let now = now.as_str().unwrap();
        let expected = format!(
            "error: session `ana`: call `{meant}` does not wait any more; `{now}` does\n  `trellis session approve ana --dry-run` shows it\n"
        );
        assert_eq!(error, expected);
    }
    assert_eq!(fine(&sandbox, &["approve"]).lines().count(), 3);
    let wire = json(&fine(&sandbox, &["approve", "ana", "--call", now.as_str().unwrap(), "--json"]));
    assert_eq!(
        (&wire["decision"], &wire["call"]["ask"], &wire["status"]),
        (&"approved".into(), &"Charge 12?".into(), &"waiting_for_tool".into())
    );
    assert!(wire["call"]["expires"].as_u64() > wire["call"]["asked"].as_u64());
    assert_eq!(
        refused(&sandbox, &["approve", "ana"]),
        "error: session `ana`: the call of `charge` was approved already\n  `trellis run --all`, or `trellis run --session ana`, resumes it\n"
    );
    assert_eq!(fine(&sandbox, &["approve"]), "no call waits for an approval\n");
}

/// Begins a session as a program that embeds the graph, and whose interceptor holds its call.
async fn begin_held(sandbox: &Sandbox) {
    let graph = LiveGraph::open(sandbox.path(), Assembly::new()).unwrap();
    let kept = StoreSettings::of(sandbox.path(), &graph.live().version().documents).open().await.unwrap();
    let sessions = graph.assembly().sessions(graph.assemble().runnable.unwrap(), Some(&kept)).unwrap();
    let hold = Verdict::Hold { ask: Some("More than usual?".to_owned()), expires: Some(Duration::from_secs(900)) };
    let sessions = sessions.interceptor(move |_: Intercepted<'_>| hold.clone());
    let turn = sessions.start(Start { session: Some("ana".into()), ..Start::default() }).await.unwrap();
    assert!(turn.stop.held().is_some(), "{turn:?}");
}

#[test]
fn a_call_that_the_interceptor_of_an_embedder_holds_is_shown_and_approved() {
    let mut files = CHARGE.to_vec();
    files[2].1 = "---\ndo: { name: charge, args: { total: 12 } }\nsave_to: paid\non_denied: no\nto: end\n---\nOne moment.\n";
    let sandbox = Sandbox::new(&files);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(begin_held(&sandbox));
    let listed = fine(&sandbox, &["approve"]);
    assert!(listed.starts_with("ana  `charge` {\"total\":12} at `start`\n    More than usual?\n"), "{listed}");
    let held = json(&fine(&sandbox, &["approve", "--json"]))["held"][0].clone();
    assert!(held["call"]["expires"].as_u64() > held["call"]["asked"].as_u64(), "{held}");
    // Nobody runs it before, here either.
    assert_eq!(sandbox.trellis(&["run", ".", "--session", "ana"]).code, Some(1));
    assert!(!sandbox.path().join("made").exists());
    fine(&sandbox, &["approve", "ana"]);
    let woken = crate::sandbox::finish(waking(&sandbox));
    assert_eq!(woken.out, "ana: finished at `end`\n1 resumed, 1 of them ended\n", "{woken:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path().join("made")).unwrap(), "{\"total\":12}\n");
}

// C.8
#[test]
fn a_call_is_settled_by_hand_at_the_terminal() {
    let sandbox = waiting(&["ana", "bob"]);
    let call = |name: &str| json(&fine(&sandbox, &["approve", name, "--dry-run", "--json"]))["call"]["id"].as_str().unwrap().to_owned();
    let (ana, bob) = (call("ana"), call("bob"));
    assert_eq!(
        refused(&sandbox, &["settle", "ana", "nothing", "--denied"]),
        format!("error: session `ana`: it has no open call `nothing`; these are open: `{ana}` (charge)\n")
    );
    let out = fine(&sandbox, &["settle", "ana", &ana, "--result", r#"{"id": 9}"#, "--because", "paid in cash"]);
    assert_eq!(out, "settled: `charge` of ana; it ended, finished (record 1)\n");
    let shown = fine(&sandbox, &["show", "ana"]);
    assert!(shown.contains("`charge` was settled by hand by "), "{shown}");
    assert!(shown.contains(", without the approval that it waited for, as if it returned {\"id\":9}: paid in cash"), "{shown}");
    assert!(!sandbox.path().join("made").exists(), "nothing was called");
    assert!(fine(&sandbox, &["replay", "ana"]).ends_with("the same\n"));
    let wire = json(&fine(&sandbox, &["settle", "bob", &bob, "--denied", "--because", "too dear", "--json"]));
    assert_eq!((&wire["record"], &wire["node"], &wire["because"]), (&1.into(), &"no".into(), &"too dear".into()));
}

// what somebody decides about is read as it runs: nothing is hidden in it, and an edit is shown beside it
#[test]
fn nothing_in_a_call_is_hidden() {
    let edit = "---\ndo:\n  name: charge\n  args: { old: \"one\\ntwo\", new: \"t\\u202ewo\\u200b\\u00a0👩\\u200d💻\" }\n  approve: true\nto: end\n---\nOne moment.\n";
    let sandbox = Sandbox::new(&[CHARGE[0], CHARGE[1], ("start.md", edit), ("end.md", "---\noutput: 1\n---\n")]);
    let ran = sandbox.trellis_with(&["run", ".", "--session", "ana"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let hidden = ['\u{202e}', '\u{200b}', '\u{a0}', '\u{fffd}'];
    for shown in [fine(&sandbox, &["approve"]), fine(&sandbox, &["show", "ana"]), fine(&sandbox, &["show", "ana", "--at", "0"])] {
        assert!(!shown.contains(hidden) && shown.contains("t\\u202ewo\\u200b\\u00a0👩\u{200d}💻"), "{shown}");
    }
    let listed = fine(&sandbox, &["approve"]);
    assert!(listed.contains("\n    - one\n    - two\n    + t\\u202ewo"), "{listed}");
}
