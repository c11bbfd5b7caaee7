//! A secret is shown by no door, whatever becomes of its graph and its records.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::Notify;
use trellis_core::{SessionId, ToolError};
use trellis_host::{
    Bindings, Sessions, Verdict,
    hooks::Hooks,
    interceptor::Intercepted,
    store::{Append, Head, Pending, Query, Removal, Row, SessionStore, Stored},
};

use crate::{
    events::Stream,
    mcp::{call, message},
    stand::{Answer, Stand, Terms, write},
};

const PIN: &str = "hunter2000";
const CARD: &str = "4111-1111-1111";

/// Asks for a secret, and for a key that is redacted.
const SAFE: &[(&str, &str)] = &[
    ("safe/trellis.yaml", "redact: [card]\n"),
    ("safe/start.md", "---\ninput_type: secret\nsave_to: pin\nto: card\n---\nYour PIN?\n"),
    ("safe/card.md", "---\ninput_type: text\nsave_to: card\nto: word\n---\nYour card?\n"),
    ("safe/word.md", "---\ninput_type: text\nsave_to: word\nto: end\n---\nThe PIN is {{ pin }}, the card {{ card }}. A word?\n"),
    ("safe/end.md", "Bye.\n"),
];

/// Asks for a secret, and redacts nothing.
const PINNED: &[(&str, &str)] = &[
    ("safe/start.md", "---\ninput_type: secret\nsave_to: pin\nto: word\n---\nYour PIN?\n"),
    ("safe/word.md", "---\ninput_type: text\nsave_to: word\nto: end\n---\nThe PIN is {{ pin }}. A word?\n"),
    ("safe/end.md", "Bye.\n"),
];

/// A session that was told both secrets.
async fn told(stand: &Stand, id: &str) {
    assert_eq!(stand.post("/api/sessions", json!({ "id": id })).await.status, 201);
    for input in [PIN, CARD] {
        assert_eq!(stand.post(&format!("/api/sessions/{id}/turns"), json!({ "input": input })).await.status, 200);
    }
}

async fn resource(stand: &Stand, uri: &str) -> Answer {
    call(stand, &[], "resources/read", json!({ "uri": uri }), json!({})).await
}

async fn tool(stand: &Stand, name: &str, arguments: Value) -> Answer {
    call(stand, &[], "tools/call", json!({ "name": name, "arguments": arguments }), json!({})).await
}

/// Everything that both doors tell of a session.
async fn seen(stand: &Stand, id: &str, at: u64) -> Vec<Answer> {
    let mut seen = Vec::new();
    for path in [String::new(), "/records".into(), format!("/at/{at}"), "/replay".into(), "/export".into()] {
        seen.push(stand.get(&format!("/api/sessions/{id}{path}")).await);
    }
    seen.push(resource(stand, &format!("trellis://sessions/{id}")).await);
    seen.push(resource(stand, &format!("trellis://sessions/{id}/records")).await);
    seen.push(tool(stand, "render_state", json!({ "session": id })).await);
    seen
}

/// None of these answers has a secret, and the first of them says something.
#[track_caller]
fn assert_hidden(answers: &[Answer]) {
    for answer in answers {
        assert!(answer.status < 300 && !answer.text.contains(PIN) && !answer.text.contains(CARD), "{answer:?}");
    }
    assert!(answers[0].text.contains("The PIN is ***"), "{:?}", answers[0]);
}

#[tokio::test]
async fn a_version_that_cannot_be_read_or_does_not_run_shows_no_secret() {
    for file in ["safe/start.md", "safe/trellis.yaml", "safe/end.md"] {
        let stand = Stand::new(SAFE).await;
        told(&stand, "ana").await;
        // A fence that is never closed, a mapping that is none, a target that is nowhere.
        let broken = if file.ends_with("end.md") { "---\nto: nowhere\n---\n" } else { "---\nredact: [card\n" };
        let unasked = "---\ninput_type: text\nsave_to: pin\nto: card\n---\nYour PIN?\n";
        let edits = [(file, broken), ("safe/start.md", unasked)];
        write(stand.folder.path(), &edits[..1 + usize::from(file.ends_with("end.md"))]);
        assert_eq!(stand.post("/api/graphs/safe/reload", json!({})).await.json()["status"], "broken", "{file}");
        assert_hidden(&seen(&stand, "ana", 2).await);
    }
}

/// A hook that objects to every version but the first.
struct Objector;

impl Hooks for Objector {
    fn on_reload(&self, _: &str, _: &str) -> Result<(), String> {
        Err("not on a Friday".to_owned())
    }
}

#[tokio::test]
async fn a_version_that_a_hook_objects_to_shows_no_secret() {
    let stand = Stand::on(SAFE, Terms { over: |sessions| sessions.hooks(Objector), ..Terms::default() }).await;
    told(&stand, "ana").await;
    write(
        stand.folder.path(),
        &[("safe/trellis.yaml", "name: safe\n"), ("safe/start.md", "---\ninput_type: text\nsave_to: pin\nto: card\n---\nYour PIN?\n")],
    );
    assert_eq!(stand.post("/api/graphs/safe/reload", json!({})).await.code(), "vetoed");
    assert_hidden(&seen(&stand, "ana", 2).await);
}

/// A fork holds what was typed before it, and its records have no answer.
#[tokio::test]
async fn a_fork_shows_no_secret_of_its_origin() {
    let stand = Stand::new(SAFE).await;
    told(&stand, "ana").await;
    let forked = stand.post("/api/sessions/ana/fork", json!({ "id": "bea", "at": 1 })).await;
    assert_eq!((forked.status, forked.stop()), (201, "REQUEST_INPUT".to_owned()));
    stand.post("/api/sessions/bea/turns", json!({ "input": CARD })).await;
    assert_hidden(&seen(&stand, "bea", 0).await);
    // Neither does a fork of the fork, when the others are gone.
    assert_eq!(stand.post("/api/sessions/bea/fork", json!({ "id": "cleo", "at": 0 })).await.status, 201);
    for (id, seq) in [("ana", "\"3\""), ("bea", "\"2\"")] {
        let path = format!("/api/sessions/{id}?open=true");
        assert_eq!(stand.with("DELETE", &path, &[("if-match", seq)], None).await.status, 204);
    }
    stand.post("/api/sessions/cleo/turns", json!({ "input": CARD })).await;
    assert_hidden(&seen(&stand, "cleo", 0).await);
}

/// A session whose oldest records are gone holds what was typed there.
#[tokio::test]
async fn a_session_without_its_oldest_records_shows_no_secret() {
    let stand = Stand::new(PINNED).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    stand.post("/api/sessions/ana/turns", json!({ "input": PIN })).await;
    // Whoever puts it elsewhere makes a snapshot.
    let moved = stand.with("POST", "/api/sessions/ana/goto", &[("if-match", "\"2\"")], Some(&json!({ "node": "word" }))).await;
    assert_eq!(moved.status, 200, "{moved:?}");
    stand.post("/api/sessions/ana/turns", json!({ "input": PIN })).await;
    let folder = stand.stop().await;
    let kept = trellis_host::store::FilesStore::open(folder.path().join("kept")).unwrap();
    kept.remove(&SessionId::from("ana"), Removal::Before(2)).await.unwrap();
    let stand = Stand::again(folder, Terms::default()).await;
    let records = stand.get("/api/sessions/ana/records").await;
    assert_eq!((&records.json()["first"], &records.json()["items"][0]["kind"]), (&json!(2), &json!("move")));
    for answer in [records, stand.get("/api/sessions/ana/at/2").await, resource(&stand, "trellis://sessions/ana/records").await] {
        assert!(answer.status < 300 && !answer.text.contains(PIN), "{answer:?}");
    }
    let at = stand.get("/api/sessions/ana/at/3").await;
    assert!(at.text.contains("\"word\":\"***\"") && !at.text.contains(PIN), "{at:?}");
}

/// A value that a graph redacts is in no store, and so in no record: doors know it from the session in memory.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_redacted_is_shown_by_no_door_while_its_session_lives() {
    let files = [
        ("safe/trellis.yaml", "redact: [card]\n"),
        ("safe/start.md", "---\ninput_type: text\nsave_to: card\nto: copy\n---\nYour card?\n"),
        ("safe/copy.md", "---\nset: {copy: \"<{{ card }}>\", card: null}\nto: end\n---\nThanks for {{ card }}.\n"),
        ("safe/end.md", "---\noutput: \"{{ copy }}\"\n---\nBye.\n"),
    ];
    let stand = Stand::new(&files).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    stream.until("turn").await;
    // It ends in the same step, and holds the key no more.
    let ended = stand.post("/api/sessions/ana/turns", json!({ "input": CARD })).await;
    assert_eq!(
        (&ended.json()["said"][0]["text"], &ended.json()["stop"]["payload"]["output"]),
        (&json!("Thanks for ***.\n"), &json!("<***>"))
    );
    let events = format!("{:?}", stream.until("turn").await);
    assert!(events.contains("Thanks for ***.") && !events.contains(CARD), "{events}");
    let begun = message(&tool(&stand, "safe", json!({})).await)["result"]["structuredContent"]["session"].clone();
    let ended = tool(&stand, "navigate", json!({ "session": begun, "input": CARD })).await;
    assert!(ended.text.contains("Thanks for ***.") && ended.text.contains("<***>") && !ended.text.contains(CARD), "{ended:?}");
}

/// A listener from before a graph begins to ask for a secret does not hear it either.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_learns_what_an_edit_makes_secret() {
    let open = [
        ("safe/start.md", "---\ninput_type: text\nsave_to: name\nto: pin\n---\nWho?\n"),
        ("safe/pin.md", "---\ninput_type: text\nsave_to: pin\nto: end\n---\nYour PIN?\n"),
        ("safe/end.md", "---\ninput_type: text\n---\nThe PIN is {{ pin }}.\n"),
    ];
    let stand = Stand::new(&open).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    stream.until("turn").await;
    write(stand.folder.path(), &[("safe/pin.md", "---\ninput_type: secret\nsave_to: pin\nto: end\n---\nYour PIN?\n")]);
    assert_eq!(stand.post("/api/graphs/safe/reload", json!({})).await.json()["status"], "sound");
    // It takes the edit up while it waits.
    stream.until("turn").await;
    stand.post("/api/sessions/ana/turns", json!({ "input": "Ada" })).await;
    stream.until("turn").await;
    stand.post("/api/sessions/ana/turns", json!({ "input": PIN })).await;
    let events = stream.until("turn").await;
    let told = format!("{events:?}");
    assert!(told.contains("record") && told.contains("The PIN is ***.") && !told.contains(PIN), "{told}");
}

/// A store whose next reading of a session waits.
struct Gated(Arc<dyn SessionStore>);

static IS_SHUT: AtomicBool = AtomicBool::new(false);
static REACHED: Notify = Notify::const_new();
static OPENED: Notify = Notify::const_new();

impl SessionStore for Gated {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        self.0.append(append)
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        Box::pin(async move {
            let stored = self.0.load(sessions).await;
            if IS_SHUT.swap(false, Ordering::SeqCst) {
                REACHED.notify_one();
                OPENED.notified().await;
            }
            stored
        })
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.0.records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.0.list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.0.remove(session, removal)
    }
}

/// An edit that comes while a door reads a session counts for the next answer.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_while_a_session_is_read_is_not_lost() {
    let mut files = SAFE.to_vec();
    files[0].1 = "name: safe\n";
    let stand = Stand::on(&files, Terms { store: |store| Arc::new(Gated(store)), ..Terms::default() }).await;
    told(&stand, "ana").await;
    IS_SHUT.store(true, Ordering::SeqCst);
    let (_, ()) = tokio::join!(stand.get("/api/sessions/ana"), async {
        REACHED.notified().await;
        write(stand.folder.path(), &SAFE[..1]);
        assert_eq!(stand.post("/api/graphs/safe/reload", json!({})).await.json()["status"], "sound");
        OPENED.notify_one();
    });
    let turn = stand.get("/api/sessions/ana").await;
    assert!(turn.text.contains("the card ***") && !turn.text.contains(CARD), "{turn:?}");
}

/// Another session under the name of one that is gone has secrets of its own.
#[tokio::test]
async fn a_name_that_begins_anew_elsewhere_is_learned_anew() {
    let stand = Stand::new(PINNED).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    for input in [PIN, "a word"] {
        stand.post("/api/sessions/ana/turns", json!({ "input": input })).await;
    }
    assert_eq!(stand.get("/api/sessions/ana").await.stop(), "END");
    let other = Stand::again(Arc::clone(&stand.folder), Terms::default()).await;
    let seq = other.get("/api/sessions/ana").await.seq();
    assert_eq!(other.with("DELETE", "/api/sessions/ana", &[("if-match", &format!("\"{seq}\""))], None).await.status, 204);
    assert_eq!(other.post("/api/sessions", json!({ "id": "ana" })).await.status, 201);
    other.post("/api/sessions/ana/turns", json!({ "input": "another-pin" })).await;
    let seen = stand.get("/api/sessions/ana").await;
    assert!(seen.text.contains("The PIN is ***") && !seen.text.contains("another-pin"), "{seen:?}");
}

/// The question about a call, and the offers of a question, may hold values of the session.
#[tokio::test]
async fn questions_are_told_without_secrets() {
    let files = [
        ("pay/trellis.yaml", "redact: [card]\n"),
        ("pay/start.md", "---\ninput_type: text\nsave_to: card\nto: pin\n---\nYour card?\n"),
        ("pay/pin.md", "---\ninput_type: secret\nsave_to: pin\nto: pick\n---\nYour PIN?\n"),
        (
            "pay/pick.md",
            "---\noptions: [{value: one, text: \"Card {{ card }} {{ pin }}\"}, {value: none, text: None}]\nsave_to: picked\nto: pay\n---\nWhich?\n",
        ),
        (
            "pay/pay.md",
            "---\ntools: [{name: pay, effect: irreversible}]\ndo: {name: pay, args: {n: 1}, approve: {ask: \"Pay with {{ card }} {{ pin }}?\"}}\nto: end\n---\n",
        ),
        ("pay/end.md", "Paid.\n"),
    ];
    let stand = Stand::new(&files).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    for input in [CARD, PIN] {
        stand.post("/api/sessions/ana/turns", json!({ "input": input })).await;
    }
    let refused = stand.post("/api/sessions/ana/turns", json!({ "input": "neither" })).await;
    assert_eq!(refused.json()["expected"]["payload"]["options"][0]["text"], "Card *** ***", "{refused:?}");
    let refused = tool(&stand, "navigate", json!({ "session": "ana", "input": "neither" })).await;
    let told = &message(&refused)["result"]["structuredContent"];
    assert_eq!(told["expected"]["payload"]["options"][0]["text"], "Card *** ***", "{refused:?}");
    assert!(!refused.text.contains(CARD) && !refused.text.contains(PIN), "{refused:?}");
    assert_eq!(stand.post("/api/sessions/ana/turns", json!({ "input": "one" })).await.stop(), "APPROVAL");
    let held = stand.get("/api/approvals").await;
    assert_eq!(held.json()["items"][0]["ask"], "Pay with *** ***?");
    let listed = tool(&stand, "list_approvals", json!({})).await;
    assert!(listed.text.contains("Pay with *** ***?") && !listed.text.contains(PIN) && !held.text.contains(PIN), "{listed:?}");
}

/// Fails at first; whoever asks again hears why not, with the arguments.
fn picky(sessions: Sessions) -> Sessions {
    sessions.interceptor(|about: Intercepted<'_>| match about.call.attempt {
        1 => Verdict::Allow,
        _ => Verdict::Deny(Some(format!("{} is not to be tried again", about.call.args.get("pin").unwrap()))),
    })
}

fn failing(bindings: Bindings) -> Bindings {
    bindings.function("open", |_, _| Err(ToolError::new("the door is stuck")))
}

#[tokio::test]
async fn why_a_dead_letter_is_not_made_again_is_told_without_secrets() {
    let files = [
        ("door/start.md", "---\ninput_type: secret\nsave_to: pin\nto: open\n---\nYour PIN?\n"),
        ("door/open.md", "---\ntools: [{name: open}]\ndo: {name: open, args: {pin: \"{{ pin }}\"}}\nto: end\n---\n"),
        ("door/end.md", "Open.\n"),
    ];
    let stand = Stand::on(&files, Terms { over: picky, functions: failing, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    assert_eq!(stand.post("/api/sessions/ana/turns", json!({ "input": PIN })).await.stop(), "END");
    let letter = stand.get("/api/dead-letters").await.json()["items"][0].clone();
    let retried = stand.post(&format!("/api/dead-letters/{}/retry", letter["key"].as_str().unwrap()), json!({})).await;
    assert_eq!((retried.status, retried.code()), (409, "refused".to_owned()));
    assert!(retried.text.contains("*** is not to be tried again") && !retried.text.contains(PIN), "{retried:?}");
}
