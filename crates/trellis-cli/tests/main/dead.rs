//! `trellis session dead`: calls that were given up (language 11.7).

use crate::{
    sandbox::Sandbox,
    session::{fine, refused, session},
};

/// A charge that fails while the file `down` is there, and writes the keys down under which it is made.
const CHARGE: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: shop\nredact: [card]\ninputs: {properties: {card: {type: string}}, required: [card]}\nbindings:\n  charge: { process: [sh, ./charge.sh] }\n",
    ),
    (
        "charge.sh",
        "echo \"$TRELLIS_IDEMPOTENCY_KEY\" >> keys\nif [ -e down ]; then echo 'the line is down' >&2; exit 1; fi\necho '{\"id\": 7}'\n",
    ),
    ("down", ""),
    ("start.md", "---\ndo:\n  name: charge\n  args: { total: 12 }\nsave_to: paid\nto: end\n---\nOne moment.\n"),
    ("end.md", "---\noutput: \"{{ paid.id }}\"\n---\nThank you.\n"),
];

#[test]
fn a_call_that_ended_its_session_is_made_again() {
    let sandbox = Sandbox::new(CHARGE);
    let ran = sandbox.trellis_with(&["run", ".", "--session", "ana", "--context", "card=visa-4111111111111111"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let listed = fine(&sandbox, &["dead", "ls"]);
    assert!(listed.starts_with("ana  `charge` at `start`\n    it failed: ") && listed.contains("the line is down"), "{listed}");
    let key = listed.rsplit_once("letter ").unwrap().1.trim().to_owned();

    let shown = fine(&sandbox, &["dead", "show", &key[..6]]);
    assert!(shown.starts_with(&listed) && shown.contains("\"total\":12") && !shown.contains("4111"), "{shown}");
    let again = session(&sandbox, &["dead", "retry", &key[..6]]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.out.starts_with("`charge` of ana failed: "), "{again:?}");
    assert_eq!(fine(&sandbox, &["dead", "ls"]), listed, "it stays as it is");

    std::fs::remove_file(sandbox.path().join("down")).unwrap();
    assert_eq!(fine(&sandbox, &["dead", "retry", &key]), "`charge` of ana returned {\"id\":7}\n");
    assert_eq!(fine(&sandbox, &["dead", "ls"]), "there are no dead letters\n");
    let keys = std::fs::read_to_string(sandbox.path().join("keys")).unwrap();
    assert!(keys.lines().count() == 3 && keys.lines().all(|made| made == key), "{keys}");
    let told = fine(&sandbox, &["show", "ana"]);
    assert!(told.contains("`charge` is a dead letter: it failed") && told.contains("was made again and succeeded"), "{told}");
    assert!(refused(&sandbox, &["dead", "drop", &key]).contains("there is no dead letter"));
}

/// The same charge, which sends the card along.
const CARD: (&str, &str) =
    ("start.md", "---\ndo:\n  name: charge\n  args: { total: 12, card: \"{{ card }}\" }\nsave_to: paid\nto: end\n---\nOne moment.\n");

// 11.7, 4.9: what stands in the place of a secret is sent to nobody
#[test]
fn a_call_whose_secret_is_not_kept_is_not_made_again() {
    let sandbox = Sandbox::new(&[CHARGE, &[CARD]].concat());
    sandbox.trellis_with(&["run", ".", "--session", "ana", "--context", "card=visa-4111111111111111"], "");
    std::fs::remove_file(sandbox.path().join("down")).unwrap();
    let listed = fine(&sandbox, &["dead", "ls"]);
    let key = listed.rsplit_once("letter ").unwrap().1.trim();
    let shown = fine(&sandbox, &["dead", "show", key]);
    assert!(shown.contains("\"total\":12") && !shown.contains("4111"), "{shown}");
    let said = refused(&sandbox, &["dead", "retry", key]);
    assert!(said.contains("`charge` cannot be made again: what was redacted is not kept, and `card` held it; it can be dropped"), "{said}");
    let keys = std::fs::read_to_string(sandbox.path().join("keys")).unwrap();
    assert_eq!(keys.lines().count(), 1, "it was not called");
    fine(&sandbox, &["dead", "drop", key]);
    assert_eq!(fine(&sandbox, &["dead", "ls"]), "there are no dead letters\n");
}

#[test]
fn a_dead_letter_is_dropped_and_told_to_programs() {
    let sandbox = Sandbox::new(CHARGE);
    sandbox.trellis_with(&["run", ".", "--session", "ana", "--context", "card=visa-4111111111111111"], "");
    let listed: serde_json::Value = serde_json::from_str(&fine(&sandbox, &["dead", "ls", "--json"])).unwrap();
    let letter = &listed["items"][0];
    assert_eq!((&letter["session"], &letter["tool"], &letter["cause"]), (&"ana".into(), &"charge".into(), &"ended".into()));
    assert_eq!(letter["error"]["kind"], "error");
    assert!(!letter.to_string().contains("4111"), "{letter}");
    let key = letter["key"].as_str().unwrap();
    let dropped: serde_json::Value = serde_json::from_str(&fine(&sandbox, &["dead", "drop", key, "--json"])).unwrap();
    assert_eq!(dropped, serde_json::json!({ "key": key, "session": "ana", "settled": true }));
    assert!(fine(&sandbox, &["show", "ana"]).contains("was dropped"));
}
