//! Tests of the journal: its numbers, its JSON.

use trellis_core::Value;

use super::*;

fn record(seq: u64) -> Record {
    let entry = Entry::Input { input: Input::Text("hi".into()) };
    let events = vec![Event::Predicate { name: "urgent".into(), answer: true }, Event::Left("a".into()), Event::Entered("b".into())];
    Record {
        seq,
        at: 7,
        entry,
        child: None,
        from: Some("a".into()),
        to: "b".into(),
        events,
        program: "p1".into(),
        changes: Box::default(),
        still_asked: false,
        question: None,
        request: None,
        unasked: Vec::new(),
    }
}

#[test]
fn an_append_that_expects_another_seq_is_a_conflict() {
    let mut journal = MemoryJournal::new();
    journal.append(record(0)).unwrap();
    assert_eq!(journal.append(record(0)), Err(Conflict { expected: 1, offered: 0 }));
    assert_eq!(journal.append(record(2)), Err(Conflict { expected: 1, offered: 2 }));
    assert_eq!(journal.records().len(), 1);
}

#[test]
fn only_what_nobody_takes_is_forgotten_and_the_numbers_go_on() {
    let filled = |mut journal: MemoryJournal| {
        for _ in 0..20 {
            journal.append(record(journal.next_seq())).unwrap();
            journal.forget(4);
        }
        journal
    };
    let numbers = |journal: &MemoryJournal| journal.records().iter().map(|record| record.seq).collect::<Vec<_>>();
    let journal = filled(MemoryJournal::new());
    assert_eq!((numbers(&journal), journal.next_seq()), (vec![16, 17, 18, 19], 20));
    assert_eq!(filled(MemoryJournal::since(7)).records().len(), 20, "a store has those before");
    let mut journal = MemoryJournal::new();
    journal.append(record(0)).unwrap();
    assert_eq!(journal.take().len(), 1);
    assert_eq!(numbers(&filled(journal)), (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_record_is_snake_case_json_and_comes_back() {
    let json = serde_json::to_string(&record(3)).unwrap();
    let expected = r#"{"seq":3,"at":7,"kind":"input","input":{"text":"hi"},"from":"a","to":"b","events":[{"predicate":{"name":"urgent","answer":true}},{"left":"a"},{"entered":"b"}],"program":"p1"}"#;
    assert_eq!(json, expected);
    let back: Record = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    assert_eq!(back.answers(), Answers::from([("urgent".into(), true)]));
}

#[test]
fn exact_integers_survive_a_record() {
    let entry = Entry::Input { input: Input::Value(Value::UInt(u64::MAX)) };
    let json = serde_json::to_string(&Record { entry, ..record(0) }).unwrap();
    let back: Record = serde_json::from_str(&json).unwrap();
    assert!(matches!(back.entry, Entry::Input { input: Input::Value(Value::UInt(u64::MAX)) }));
}
