//! Keys that are not stored (`redact:`): nowhere in the store, and asked for again where they are needed.

use std::{fs, path::Path, sync::Arc};

use trellis_core::{Input, Mapping, SessionId, Start, ToolOutcome, ToolResult, Value, path::KeyPath};
use trellis_host::{
    Policy, Record, Reply, SendError, Sessions, Stop,
    history::{Check, EditVerdict},
    sessions::Drive,
    store::{Append, FilesStore, Head, Keys, MemoryStore, Redacted, Sealed, SessionStatus, SessionStore, SqliteStore},
};

use crate::{
    stage::{Stage, run},
    stored::turn_of,
};

const PROJECT: (&str, &str) = ("trellis.yaml", "redact: [token, order.card, pin]\n");
const SECRET: &str = "hunter2 \"ü\"";
const CARD: i64 = 4_111_111_111_111_111;

fn id() -> SessionId {
    SessionId::from("local")
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

fn success(call: &trellis_core::state::PendingCall, value: Value) -> Input {
    Input::Result(ToolResult::new(call.id.clone(), ToolOutcome::Success(value)))
}

/// As another process opens the same store: it knows none of the values.
fn opened(stage: &Stage, inner: &Arc<MemoryStore>) -> Arc<Sessions> {
    stage.stored(inner)
}

/// Everything that the store has of the session.
async fn everything(inner: &MemoryStore) -> String {
    let stored = inner.load(&[id()]).await.unwrap().remove(0).unwrap();
    let rows = inner.records(&id(), 0, usize::MAX).await.unwrap();
    let texts = rows.into_iter().map(|row| row.text.unwrap()).chain(stored.snapshot.map(|(_, text)| text));
    let texts: Vec<_> = texts.map(|text| text.to_string()).collect();
    for text in &texts[..rows_of(&texts)] {
        serde_json::from_str::<Record>(text).unwrap();
    }
    texts.join("\n")
}

fn rows_of(texts: &[String]) -> usize {
    texts.iter().filter(|text| text.contains("\"seq\":")).count()
}

/// A graph that copies a token into a key, an argument and an undo.
fn copying() -> Stage {
    copying_under(PROJECT)
}

fn copying_under(project: (&str, &str)) -> Stage {
    Stage::new(&[
        project,
        (
            "start.md",
            "---\ntools: [{name: charge}, {name: refund}]\ninput_type: text\nsave_to: token\nto: call\nset: {header: \"Bearer {{ input }}\", body: \"{{ {'t': input} | tojson }}\"}\n---\nYour token?\n",
        ),
        (
            "call.md",
            "---\ndo: {name: charge, args: {auth: \"Bearer {{ token }}\", body: \"{{ body }}\"}}\nundo: {name: refund, args: {auth: \"{{ header }}\"}}\nto: more\n---\n",
        ),
        ("more.md", "---\ninput_type: text\nto: end\n---\nMore?\n"),
        ("end.md", "---\noutput: \"{{ header }}\"\n---\nThank you, {{ token }}.\n"),
    ])
}

#[test]
fn a_secret_is_nowhere_and_a_waiting_call_waits_for_it() {
    let (stage, inner) = (copying(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = opened(&stage, &inner);
        sessions.start(Start::default()).await.unwrap();
        let turn = sessions.send(&id(), text(SECRET)).await.unwrap();
        let Stop::Call { call: called, .. } = turn.stop else { panic!("{:?}", turn.stop) };
        assert_eq!(called.args.get("auth"), Some(&Value::from(format!("Bearer {SECRET}"))));
        let kept = everything(&inner).await;
        assert!(!kept.contains("hunter2") && kept.contains("Bearer ‹redacted:token›"), "{kept}");

        // A check before a deployment says the same as whoever resumes it.
        let (engine, hiding) = (stage.engine(), Redacted::of(&stage.program, Arc::clone(&inner)));
        let checked = Check::new(&hiding, &engine, "graph").page().await.unwrap();
        assert_eq!(checked[0].verdict, EditVerdict::Lacks { keys: vec!["token".into()] });

        let sessions = opened(&stage, &inner);
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!(turn.stop, Stop::Keys { node: "call".into(), missing: vec!["token".into()] });
        let keys = Mapping::from_iter([("token", Value::from(SECRET))]);
        let turn = sessions.send(&id(), Reply::Context(keys)).await.unwrap();
        let Stop::Call { call: again, .. } = turn.stop else { panic!("{:?}", turn.stop) };
        assert_eq!(again, called, "the same call, under the same key");

        // A tool's text about it is as secret; its undo is kept too.
        sessions.send(&id(), success(&again, Value::map([("echo", Value::from(format!("<{SECRET}>")))]))).await.unwrap();
        let kept = everything(&inner).await;
        assert!(!kept.contains("hunter2") && kept.contains("‹redacted:token›>"), "{kept}");

        // A key that holds a copy needs the token too.
        let sessions = opened(&stage, &inner);
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!(turn.stop, Stop::Keys { node: "more".into(), missing: vec!["token".into()] });
        let keys = Mapping::from_iter([("token", Value::from("another"))]);
        sessions.send(&id(), Reply::Context(keys)).await.unwrap();
        let turn = sessions.send(&id(), text("no")).await.unwrap();
        let Stop::Ended(ended) = turn.stop else { panic!("{:?}", turn.stop) };
        assert_eq!(ended.output, Some(Value::text("Bearer another")));
        let kept = everything(&inner).await;
        assert!(!kept.contains("hunter2") && !kept.contains("another"), "{kept}");
    });
}

#[test]
fn an_edit_that_redacts_less_does_not_store_what_was_given_before() {
    let (stage, inner) = (copying(), Arc::new(MemoryStore::new()));
    let openly = copying_under(("trellis.yaml", "name: copying\n"));
    run(async {
        let sessions = opened(&stage, &inner);
        sessions.start(Start::default()).await.unwrap();
        let Stop::Call { call, .. } = sessions.send(&id(), text(SECRET)).await.unwrap().stop else { panic!() };
        sessions.swap(openly.engine(), openly.bindings()).await.unwrap();
        sessions.send(&id(), success(&call, Value::from(SECRET))).await.unwrap();
        assert!(!everything(&inner).await.contains("hunter2"));
    });
}

/// Returns whether a file below a folder holds these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        // A database that is closed meanwhile takes its log away.
        fs::read(&path).is_ok_and(|read| read.windows(bytes.len()).any(|window| window == bytes))
    })
}

#[test]
fn no_file_of_a_store_holds_a_byte_of_it() {
    let stage = copying();
    let openly = copying_under(("trellis.yaml", "name: copying\n"));
    let walk = |stage: &Stage, store: Arc<dyn SessionStore>| {
        run(async {
            let sessions = stage.stored(&Arc::new(store));
            sessions.start(Start::default()).await.unwrap();
            let Stop::Call { call, .. } = sessions.send(&id(), text(SECRET)).await.unwrap().stop else { panic!() };
            sessions.send(&id(), success(&call, Value::from(SECRET))).await.unwrap();
            sessions.send(&id(), text("no")).await.unwrap();
        });
    };
    // The search finds the value where nothing hides it.
    let plain = tempfile::tempdir().unwrap();
    walk(&openly, Arc::new(FilesStore::open(plain.path()).unwrap()));
    assert!(holds(plain.path(), b"hunter2"));
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    Keys::generate(&key).unwrap();
    let [redacted, sealed, both] = ["redacted", "sealed", "both"].map(|name| folder.path().join(name));
    walk(&stage, Arc::new(Redacted::of(&stage.program, FilesStore::open(&redacted).unwrap())));
    walk(&stage, Arc::new(Sealed::new(SqliteStore::open(&sealed).unwrap(), Keys::read(&key).unwrap())));
    let inner = Sealed::new(SqliteStore::open(&both).unwrap(), Keys::read(&key).unwrap());
    walk(&stage, Arc::new(Redacted::of(&stage.program, inner)));
    assert!(holds(folder.path(), b"start") && !holds(folder.path(), b"hunter2"));
}

/// A graph that asks for a token, has it carried somewhere by its driver, and asks with it.
fn carrying() -> Stage {
    let stage = Stage::new(&[
        ("trellis.yaml", "redact: [token]\nbindings: {charge: {function: {}, effect: none}}\n"),
        ("start.md", "---\ninput_type: text\nsave_to: token\nto: charge\n---\nYour token?\n"),
        ("charge.md", "---\ndo: {name: charge, args: {token: \"{{ token }}\"}}\non_error: fail\nto: rate\n---\n"),
        ("rate.md", "---\ninput_type: int\nsave_to: stars\nto: end\n---\nHow good was {{ token }}?\n"),
        ("end.md", "---\noutput: \"{{ stars }}\"\n---\nBye.\n"),
    ]);
    stage.policy(Policy::new().detached(true)).function(|bindings| bindings.function("charge", |_, _| Ok(Value::Null)))
}

#[test]
fn the_question_behind_a_call_of_a_driver_is_the_one_that_is_asked() {
    let (stage, inner) = (carrying(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = opened(&stage, &inner);
        let asked = sessions.start(Start::default()).await.unwrap();
        let runs = sessions.send(&id(), asked.answer(text(SECRET))).await.unwrap();
        assert!(runs.stop.is_running(), "{:?}", runs.stop);
        let mut told = Vec::new();
        sessions.drive(Drive::UntilIdle, |driven| told.push(turn_of(driven))).await.unwrap();
        let [asked] = told.as_slice() else { panic!("{told:?}") };
        let seen = sessions.view(&id()).await.unwrap();
        assert!(matches!(seen.stop, Stop::Ask { .. }), "{:?}", seen.stop);
        assert_eq!((&seen.stop, seen.asked, seen.seq, &seen.said), (&asked.stop, asked.asked, asked.seq, &asked.said));
        let done = sessions.send(&id(), asked.answer(Input::Value(Value::Int(5)))).await.unwrap();
        assert!(matches!(done.stop, Stop::Ended(_)), "{:?}", done.stop);
        assert!(!everything(&inner).await.contains("hunter2"));
    });
}

#[test]
fn sessions_with_redacted_values_stay_in_memory_within_its_bound() {
    let (stage, inner) = (carrying(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = Arc::new(stage.sessions().store(Arc::clone(&inner) as Arc<dyn SessionStore>, "graph").in_memory(4));
        let ids: Vec<SessionId> = (0..20).map(|n| SessionId::new(format!("s{n}"))).collect();
        for id in &ids {
            let asked = sessions.start(Start { session: Some(id.clone()), ..Start::default() }).await.unwrap();
            sessions.send(id, asked.answer(text(SECRET))).await.unwrap();
            sessions.drive(Drive::UntilIdle, |driven| drop(turn_of(driven))).await.unwrap();
        }
        let stays = |id: &&SessionId| sessions.look(id, |_| ()).is_some();
        assert!((1..=5).contains(&ids.iter().filter(stays).count()));
        for id in &ids {
            let is_here = stays(&id);
            let seen = sessions.view(id).await.unwrap();
            assert_eq!(matches!(seen.stop, Stop::Ask { .. }), is_here, "{id}: {:?}", seen.stop);
            assert_eq!(matches!(seen.stop, Stop::Keys { .. }), !is_here, "{id}: {:?}", seen.stop);
        }
    });
}

#[test]
fn a_part_of_a_mapping_is_asked_for_by_its_path_and_the_rest_stays() {
    let stage = Stage::new(&[
        PROJECT,
        ("start.md", "---\ninput_type: int\nsave_to: order.card\nto: pin\n---\nCard?\n"),
        ("pin.md", "---\ninput_type: int\nsave_to: pin\nto: use\n---\nPIN?\n"),
        (
            "use.md",
            "---\ninput_type: int\nsave_to: count\nto: end\n---\nCard {{ order.card }} of {{ order.id | default('?') }}: how many?\n",
        ),
        ("end.md", "---\noutput: \"{{ order.id | default('?') }} {{ order.card }} {{ count }}\"\n---\nBye.\n"),
    ]);
    let inner = Arc::new(MemoryStore::new());
    run(async {
        let sessions = opened(&stage, &inner);
        let order = Value::map([("id", Value::text("A-7"))]);
        sessions.start(Start { context: Mapping::from_iter([("order", order)]), ..Start::default() }).await.unwrap();
        sessions.send(&id(), text(&CARD.to_string())).await.unwrap();
        let turn = sessions.send(&id(), text("12")).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { .. }), "{turn:?}");
        let kept = everything(&inner).await;
        assert!(!kept.contains(&CARD.to_string()) && !kept.contains(":12,") && !kept.contains("\"12\""), "{kept}");
        assert!(kept.contains("A-7"), "{kept}");

        let sessions = opened(&stage, &inner);
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!(turn.stop, Stop::Keys { node: "use".into(), missing: vec!["order.card".into()] });
        for planted in [
            Mapping::from_iter([("order", Value::map([("card", Value::Int(CARD)), ("id", Value::text("B-1"))]))]),
            Mapping::from_iter([("order.card", Value::Int(CARD)), ("order.id", Value::text("B-1"))]),
            Mapping::from_iter([("order", Value::Int(CARD))]),
        ] {
            let refused = sessions.send(&id(), Reply::Context(planted)).await;
            assert!(matches!(refused, Err(SendError::NotAwaited { .. })), "{refused:?}");
        }
        let keys = Mapping::from_iter([("order.card", Value::Int(CARD))]);
        let turn = sessions.send(&id(), Reply::Context(keys)).await.unwrap();
        assert!(turn.said.iter().any(|said| format!("{said:?}").contains(&format!("Card {CARD} of A-7"))), "{turn:?}");
        let turn = sessions.send(&id(), text("3")).await.unwrap();
        let Stop::Ended(ended) = turn.stop else { panic!("{:?}", turn.stop) };
        assert_eq!(ended.output, Some(Value::from(format!("A-7 {CARD} 3"))));
        let kept = everything(&inner).await;
        assert!(!kept.contains(&CARD.to_string()), "{kept}");
    });
}

/// Every text that a value holds, and every number.
fn leaves(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| leaves(item, into)),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            into.push(Value::from(&**key));
            leaves(value, into);
        }),
        other => into.push(other.clone()),
    }
}

#[test]
fn whatever_a_secret_is_called_records_stay_records() {
    let (stage, inner) = (copying(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&inner);
        sessions.start(Start::default()).await.unwrap();
        let Stop::Call { call, .. } = sessions.send(&id(), text("pass")).await.unwrap().stop else { panic!() };
        sessions.send(&id(), success(&call, Value::text("success"))).await.unwrap();
        sessions.send(&id(), text("no")).await.unwrap();
        let rows = inner.records(&id(), 0, usize::MAX).await.unwrap();
        let texts: Vec<_> = rows.into_iter().map(|row| row.text.unwrap()).collect();
        let mut secrets = Vec::new();
        texts.iter().for_each(|text| leaves(&Value::from_json(text).unwrap(), &mut secrets));
        secrets.sort_by_key(Value::to_json);
        secrets.dedup();
        assert!(secrets.len() > 60, "{}", secrets.len());
        for secret in secrets {
            let store = Redacted::new(MemoryStore::new(), vec![KeyPath::parse("given").unwrap()]);
            // The first record says what the secret is; those behind it hold it anywhere.
            let supplied = Value::map([("given", secret.clone())]).to_json();
            let first = format!(r#"{{"seq":0,"at":1,"kind":"context","keys":{supplied},"from":"start","to":"start","program":"p"}}"#);
            let records: Vec<Arc<str>> = std::iter::once(first.into()).chain(texts.iter().cloned()).collect();
            let next = records.len() as u64;
            let head = Head {
                session: id(),
                graph: "graph".into(),
                program: "p".into(),
                next,
                began: 0,
                at: 0,
                node: "start".into(),
                standing: SessionStatus::Active,
                due: None,
            };
            store.append(Append { session: id(), expected: 0, records, head, snapshot: None }).await.unwrap();
            for row in store.records(&id(), 0, usize::MAX).await.unwrap() {
                let text = row.text.unwrap();
                serde_json::from_str::<Record>(&text).unwrap_or_else(|error| panic!("{secret}: {error}: {text}"));
            }
        }
    });
}

#[test]
fn looking_at_a_session_writes_nothing_whatever_it_lacks() {
    let stage = Stage::new(&[
        PROJECT,
        ("start.md", "---\ninput_type: int\nsave_to: n\nto: ask\n---\nHow many?\n"),
        ("ask.md", "---\ninput_type: text\nsave_to: token\nto: more\n---\nYour token?\n"),
        ("more.md", "---\ninput_type: text\nto: end\n---\nMore?\n"),
        ("end.md", "---\noutput: \"{{ n }}\"\n---\nThank you.\n"),
    ]);
    let inner = Arc::new(MemoryStore::new());
    run(async {
        opened(&stage, &inner).start(Start::default()).await.unwrap();
        // None of the keys is set yet; then one is, which nobody needs any more; then the session has ended.
        for (answer, next) in [(Some("3"), 1), (Some("hunter2"), 2), (Some("no"), 3), (None, 5)] {
            for _ in 0..3 {
                opened(&stage, &inner).resume(&id()).await.unwrap();
            }
            assert_eq!(inner.load(&[id()]).await.unwrap().remove(0).unwrap().head.next, next);
            if let Some(answer) = answer {
                opened(&stage, &inner).send(&id(), text(answer)).await.unwrap();
            }
        }
    });
}

#[test]
fn what_is_appended_to_a_redacted_list_is_nowhere() {
    let graph = |redact| {
        let project = format!("redact: [{redact}]\n");
        let start = "---\ninput_type: text\nappend: {log: \"{{ input }}\"}\ntransitions: [{condition: input == \"stop\", to: end}, {to: start}]\n---\nWhat?\n";
        Stage::new(&[("trellis.yaml", &project), ("start.md", start), ("end.md", "Bye.\n")])
    };
    for (redact, seen, log) in
        [("log", vec![], None), ("log.1", vec!["alpha-one", "gamma-three"], Some(r#"["alpha-one",null,"gamma-three"]"#))]
    {
        let (stage, inner) = (graph(redact), Arc::new(MemoryStore::new()));
        run(async {
            let sessions = opened(&stage, &inner);
            sessions.start(Start::default()).await.unwrap();
            for said in ["alpha-one", "beta-two", "gamma-three"] {
                sessions.send(&id(), text(said)).await.unwrap();
            }
            let kept = everything(&inner).await;
            let all = ["alpha-one", "beta-two", "gamma-three"];
            let found: Vec<_> = all.into_iter().filter(|said| kept.contains(said)).collect();
            assert_eq!(found, seen, "{kept}");
            let store = Redacted::of(&stage.program, Arc::clone(&inner));
            let stored = store.load(&[id()]).await.unwrap().remove(0).unwrap();
            let state = trellis_host::store::Snapshot::of(&stored).unwrap().state;
            assert_eq!(state.context.get("log").map(Value::to_json).as_deref(), log);
        });
    }
}

/// A session that ended is over, also where its last words need a value that no store has.
#[test]
fn what_ended_is_over_without_its_values() {
    let ends = Stage::new(&[
        PROJECT,
        ("start.md", "---\ninput_type: text\nsave_to: token\nto: end\n---\nYour token?\n"),
        ("end.md", "Thanks for {{ token }}.\n"),
    ]);
    let inner = Arc::new(MemoryStore::new());
    run(async {
        let sessions = opened(&ends, &inner);
        sessions.start(Start::default()).await.unwrap();
        let turn = sessions.send(&id(), text(SECRET)).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
        drop(sessions);
        let turn = opened(&ends, &inner).view(&id()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ended(_)) && turn.said.is_empty(), "{turn:?}");
    });
}
