//! Sessions and their journal.

use trellis_core::{Engine, Input, Predicates, SessionId, Start, ToolError, ToolOutcome, ToolResult, Value, engine::Answers};
use trellis_host::{
    Clock, Entry, Session, SessionError,
    journal::{Record, fold, replay},
    session::{HISTORY, Halt},
};

use crate::stage::{Stage, program};

const ORDER: &[(&str, &str)] = &[
    ("start.md", "---\nto: ask\n---\nHello.\n"),
    ("ask.md", "---\ninput_type: int\nsave_to: count\nto: order\n---\nHow many?\n"),
    (
        "order.md",
        "---\ntools: [{name: order}]\ndo: {name: order, args: {count: \"{{ count }}\"}, retry: {max: 2}}\nsave_to: receipt\non_interrupt: bye\nto: bye\n---\nOrdering.\n",
    ),
    ("bye.md", "---\ntransitions:\n  - {condition: vip, to: gift}\n  - {to: end}\n---\nBye.\n"),
    ("gift.md", "A gift.\n"),
    ("end.md", "---\noutput: \"{{ count }}\"\n---\nThe end.\n"),
    ("trellis.yaml", "predicates: [vip]\n"),
];

fn start(files: &[(&str, &str)]) -> Session {
    let engine = Stage::new(files).engine();
    let start = Start { session: Some(SessionId::from("s1")), ..Start::default() };
    Session::start(engine, start, Answers::new(), Clock::fixed(42)).unwrap()
}

/// Everything said until the next stop, and the stop.
fn advance(session: &mut Session) -> (Vec<String>, Halt) {
    let mut said = Vec::new();
    loop {
        match session.advance().unwrap() {
            Halt::Said { content, .. } => said.push(content.trim().to_owned()),
            turn => return (said, turn),
        }
    }
}

fn send_result(session: &mut Session, turn: &Halt, outcome: ToolOutcome) {
    let Halt::Call(call) = turn else { panic!("{turn:?}") };
    session.send(Input::Result(ToolResult::new(call.id.clone(), outcome))).unwrap();
}

/// A session that met a pass, an input, a retry, a success, a predicate and the end.
fn walked() -> Session {
    let mut session = start(ORDER);
    let (said, turn) = advance(&mut session);
    assert_eq!((said, matches!(turn, Halt::Ask(_))), (vec!["Hello.".to_owned(), "How many?".into()], true));
    assert!(session.send(Input::Text("many".into())).is_err());
    let (said, _) = advance(&mut session);
    assert!(said.is_empty(), "a refusal says nothing again: {said:?}");
    session.send(Input::Text("3".into())).unwrap();
    let (said, call) = advance(&mut session);
    assert_eq!(said, ["Ordering."]);
    send_result(&mut session, &call, ToolOutcome::Error(ToolError::new("busy")));
    let (said, again) = advance(&mut session);
    assert!(said.is_empty(), "a retry enters nothing: {said:?}");
    send_result(&mut session, &again, ToolOutcome::Success(Value::text("r1")));
    let (said, turn) = advance(&mut session);
    assert_eq!(said, ["Bye."]);
    assert!(matches!(turn, Halt::Predicate(asked) if &*asked.name == "vip"));
    session.answer("other", true).unwrap();
    session.answer("vip", false).unwrap();
    let (said, turn) = advance(&mut session);
    assert_eq!(said, ["The end."]);
    assert!(matches!(turn, Halt::Ended(ended) if ended.output == Some(Value::Int(3))));
    session
}

/// A loop that asks, and one that passes through so many nodes before it asks that no journal in memory would keep them all.
const LOOPS: &[(&str, &str)] = &[
    ("trellis.yaml", "limits: {pass_through: 5000}\n"),
    ("start.md", "---\ninput_type: int\nsave_to: left\ntransitions: [{condition: left == -1, to: end}, {to: count}]\n---\nHow many?\n"),
    ("count.md", "---\nset: {left: \"{{ left - 1 }}\"}\ntransitions: [{condition: left == 0, to: start}, {to: count}]\n---\n"),
    ("end.md", "Bye.\n"),
];

#[test]
fn a_session_whose_records_nobody_takes_keeps_the_newest_of_them() {
    let mut session = start(LOOPS);
    for _ in 0..5 * HISTORY {
        advance(&mut session);
        session.send(Input::Text("1".into())).unwrap();
    }
    advance(&mut session);
    let records = session.journal().records();
    assert!((HISTORY..=2 * HISTORY + 2).contains(&records.len()), "{}", records.len());
    assert_eq!(records[0].seq + records.len() as u64, session.journal().next_seq());
    assert_eq!(records.last().unwrap().to.as_str(), "start");
}

#[test]
fn a_session_whose_records_are_taken_where_it_stops_forgets_none() {
    let mut session = start(LOOPS);
    let mut taken = Vec::new();
    for left in ["3000", "1", "4000", "2"] {
        advance(&mut session);
        taken.extend(session.take_records());
        session.send(Input::Text(left.into())).unwrap();
    }
    advance(&mut session);
    taken.extend(session.take_records());
    assert!(taken.len() > 7_000 && taken.iter().zip(0..).all(|(record, seq)| record.seq == seq));
    assert_eq!(&fold(&taken).unwrap(), session.state());
    // Nobody took any before the first long way: at its end they are all there.
    let mut session = start(LOOPS);
    advance(&mut session);
    session.send(Input::Text("4000".into())).unwrap();
    advance(&mut session);
    assert_eq!(session.take_records()[0].seq, 0);
}

#[test]
fn the_journal_holds_every_step_and_no_refusal() {
    let session = walked();
    let kinds: Vec<_> = session.journal().records().iter().map(|record| json_of(record)["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["start", "input", "input", "result", "result", "input", "end"]);
    let last = session.journal().records().last().unwrap();
    assert!(matches!(&last.entry, Entry::End { ended } if ended.output == Some(Value::Int(3))));
    assert!(session.journal().records().iter().all(|record| record.at == 42));
}

fn json_of(record: &Record) -> serde_json::Value {
    serde_json::to_value(record).unwrap()
}

#[test]
fn folding_and_replaying_the_journal_give_the_state_byte_for_byte() {
    let session = walked();
    let state = serde_json::to_string(session.state()).unwrap();
    // Through JSON, as a store would have it, and without any answer of a host.
    let records: Vec<Record> =
        session.journal().records().iter().map(|record| serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()).collect();
    let folded = fold(&records).unwrap();
    assert_eq!(serde_json::to_string(&folded).unwrap(), state);
    let Entry::Start { start, .. } = &records[0].entry else { panic!() };
    let replayed = session.engine().replay((**start).clone(), records.iter().filter_map(Record::moment)).unwrap();
    assert_eq!(serde_json::to_string(&replayed).unwrap(), state);
}

#[test]
fn a_replay_on_another_program_says_where_it_diverges() {
    let session = walked();
    let mut other = ORDER.to_vec();
    other[1].1 = "---\noptions: [one, two]\nto: order\ndefault_context: {count: 1}\n---\nHow many?\n";
    let engine = Stage::new(&other).engine();
    let records = session.journal().records();
    assert_eq!(replay(session.engine(), records).unwrap(), *session.state());
    let divergence = replay(&engine, records).unwrap_err();
    // Entering `ask` brings `count` now, which is a change of the step before it.
    assert_eq!((divergence.moment, divergence.node.unwrap().as_str()), (Some(1), "start"));
    assert_eq!((divergence.at.unwrap().0.as_ref(), divergence.message.as_str()), ("start.md", "`count` becomes 1, not nothing"));
    // The records hold, whatever the graph says now.
    assert_eq!(fold(records).unwrap(), *session.state());
}

#[test]
fn a_late_result_is_a_record_of_its_own_and_moves_nothing() {
    let mut session = start(ORDER);
    advance(&mut session);
    session.send(Input::Text("3".into())).unwrap();
    let (_, call) = advance(&mut session);
    session.signal(&"interrupt".into()).unwrap();
    let (_, turn) = advance(&mut session);
    assert!(matches!(turn, Halt::Predicate(_)));
    send_result(&mut session, &call, ToolOutcome::Success(Value::Null));
    let (_, turn) = advance(&mut session);
    assert!(matches!(turn, Halt::Predicate(_)), "{turn:?}");
    let kinds: Vec<_> = session.journal().records().iter().map(|record| json_of(record)["kind"].clone()).collect();
    assert_eq!(kinds[3..], ["signal", "late"]);
    session.answer("vip", true).unwrap();
    assert_eq!(advance(&mut session).0, ["A gift."]);
    let folded = fold(session.journal().records()).unwrap();
    assert_eq!(serde_json::to_string(&folded).unwrap(), serde_json::to_string(session.state()).unwrap());
}

#[test]
fn a_loop_of_pass_through_nodes_stops_at_the_ceiling_and_may_go_on() {
    let files = [
        ("start.md", "---\nto: b\n---\n"),
        ("b.md", "---\nset: {n: 1}\ntransitions: [{condition: tired, to: end}]\nto: start\n---\n"),
        ("end.md", "Over.\n"),
        ("trellis.yaml", "limits: {pass_through: 100}\npredicates: [tired]\n"),
    ];
    let engine = Engine::new(program(&files), Predicates::new().with("tired", |_| false)).unwrap();
    let mut session = Session::start(engine, Start::default(), Answers::new(), Clock::fixed(0)).unwrap();
    let error = session.advance().unwrap_err();
    assert_eq!(error, SessionError::PassThrough { node: "start".into(), limit: 100 });
    assert_eq!(error.to_string(), "100 steps in a row passed through without a stop, last at `start`");
    assert_eq!(session.state().step, 100);
    assert!(session.advance().is_err());
    assert_eq!(session.state().step, 200);
}
