//! Tests of snapshots: folds from any of them, and what cannot be read.

use trellis_core::{Dialect, Document, Engine, Input, Predicates, Source, Start, Value};

use super::*;
use crate::{
    journal::Clock,
    session::Session,
    store::{Head, Row, SessionStatus},
};

fn session(clock: Clock) -> Session {
    let start = "---\ninput_type: int\nsave_to: n\ntransitions: [{condition: n == 9, to: end}, {to: start}]\n---\nHow many?\n";
    let parse = |path, text| Document::parse(&Source::text(path, text), Dialect::default()).into();
    let compiled = trellis_core::compile(&[parse("start.md", start), parse("end.md", "Bye.\n")]);
    let engine = Engine::new(compiled.program.unwrap(), Predicates::new()).unwrap();
    Session::start(engine, Start::default(), [].into(), clock).unwrap()
}

fn stored(session: &Session, from: usize) -> Stored {
    let state = session.state();
    let records = session.journal().records();
    let row = |record: &Record| Row { seq: record.seq, text: Ok(serde_json::to_string(record).unwrap().into()) };
    Stored {
        head: Head {
            session: state.session_id.clone(),
            graph: "g".into(),
            program: state.program.clone(),
            next: records.len() as u64,
            began: 0,
            at: 0,
            node: state.current_node_id.clone(),
            standing: SessionStatus::of(state),
            due: None,
        },
        snapshot: None,
        records: records[from..].iter().map(row).collect(),
    }
}

#[test]
fn a_fold_has_the_state_and_its_times_from_any_snapshot_on() {
    let now = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(100));
    let clock = std::sync::Arc::clone(&now);
    let mut session = session(Clock::new(move || clock.fetch_add(10, std::sync::atomic::Ordering::Relaxed)));
    for n in 0..3 {
        session.advance().unwrap();
        session.send(Input::Value(Value::Int(n))).unwrap();
    }
    let whole = Snapshot::of(&stored(&session, 0)).unwrap();
    assert_eq!(whole, *session.here());
    assert_eq!((whole.began, whole.at, whole.entered_at, whole.stepped_at), (100, 130, 130, 130));
    let half = Snapshot::of(&Stored { records: stored(&session, 0).records[..2].to_vec(), ..stored(&session, 0) }).unwrap();
    let text = serde_json::to_string(&half).unwrap();
    let since = Stored { snapshot: Some((2, text.into())), ..stored(&session, 2) };
    assert_eq!(Snapshot::of(&since).unwrap(), whole);
}

#[test]
fn a_missing_an_unreadable_and_a_newer_record_say_so() {
    let mut session = session(Clock::fixed(7));
    session.advance().unwrap();
    session.send(Input::Value(Value::Int(1))).unwrap();
    let sound = stored(&session, 0);
    let says = |records: Vec<Row>| Snapshot::of(&Stored { records, ..sound.clone() }).unwrap_err().to_string();
    let id = session.state().session_id.clone();
    assert!(says(sound.records[1..].to_vec()).contains("record 0 is missing"));
    let torn = Row { seq: 1, text: Ok("{\"seq\":1,".into()) };
    assert!(says(vec![sound.records[0].clone(), torn]).starts_with(&format!("record 1 of session `{id}` cannot be read")));
    let secret = sound.records[0].text.clone().unwrap().replacen("\"at\":7", "\"at\":\"hunter2\"", 1);
    let secret = says(vec![Row { seq: 0, text: Ok(secret.into()) }]);
    assert!(secret.contains("at column ") && !secret.contains("hunter2"), "{secret}");
    let swapped = Row { seq: 1, text: sound.records[0].text.clone() };
    assert!(says(vec![sound.records[0].clone(), swapped]).contains("record 0 stands in its place"));
    let newer = sound.records[0].text.clone().unwrap().replace(&format!("\"version\":{VERSION}"), "\"version\":9");
    assert!(says(vec![Row { seq: 0, text: Ok(newer.into()) }]).contains("newer version"));
    assert!(says(Vec::new()).contains("holds no start"));

    // A whole state behind a damaged record stands for everything before it.
    let mut state = session.state().clone();
    state.context.insert("n".into(), Value::Int(7));
    let entry = Entry::Move { to: crate::journal::Destination::Back(0), state: Box::new(state) };
    let moved = Record { seq: 2, entry, ..session.journal().records()[1].clone() };
    let whole = Row { seq: 2, text: Ok(serde_json::to_string(&moved).unwrap().into()) };
    let damaged = Row { seq: 1, text: Err("line 2 is damaged".into()) };
    let records = vec![sound.records[0].clone(), damaged, whole];
    let snapshot = Snapshot::of(&Stored { records: records.clone(), ..sound.clone() }).unwrap();
    assert_eq!(snapshot.state.context.get("n"), Some(&Value::Int(7)));
    assert!(Snapshot::of(&Stored { records: records[1..].to_vec(), ..sound.clone() }).is_ok());
    assert!(says(records[..2].to_vec()).contains("line 2 is damaged"));
}
