//! The history of stored sessions: read with what is missing, moved, forked, replayed, exported, and held against an edited graph.

use std::sync::Arc;

use trellis_core::{
    Engine, Input, NodeId, SessionId, Start, State, ToolError, ToolOutcome, ToolResult, Value, engine::Moved, path::KeyPath,
};
use trellis_host::{
    Clock, Entry, Policy, Reply, Stop, Turn, Unbound,
    history::{Check, Checked, EditVerdict, History, HistoryError, Operator, RecordWalk, hops, replay, state_at},
    journal::{Destination, Origin, TypedSecrets},
    store::{Append, MemoryStore, Removal, SessionStore, Stored},
};

use crate::{
    stage::{Stage, run},
    troubled::Troubled,
};

/// A stay: asked for, booked with an undo, kept or cancelled.
pub(crate) const STAY: [(&str, &str); 5] = [
    ("trellis.yaml", "name: stay\nbindings: { book: {}, cancel: {} }\ncontext: { days: int }\n"),
    ("start.md", "---\ninput_type: int\nsave_to: days\nto: book\n---\nHow many days?\n"),
    (
        "book.md",
        "---\ndo: { name: book, args: { days: \"{{ days }}\" }, retry: { max: 2, base: 1ms } }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: keep\n---\nLooking.\n",
    ),
    ("keep.md", "---\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep room {{ room.id }} for {{ days }} days?\n"),
    ("end.md", "---\noutput: \"{{ room.id }}\"\n---\nSee you.\n"),
];

/// A yes begins anew.
pub(crate) const ANEW: &str = "---\ninput_type: confirm\non_denied: end\nto: start\n---\nKeep room {{ room.id }}?\n";

pub(crate) fn stage(files: &[(&str, &str)]) -> Stage {
    Stage::new(files).policy(Policy::new().unbound(Unbound::Elsewhere))
}

/// The stay with one file instead of another.
pub(crate) fn edited(path: &str, text: &'static str) -> Stage {
    let mut files = STAY.to_vec();
    files.iter_mut().filter(|file| file.0 == path).for_each(|file| file.1 = text);
    stage(&files)
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::from(name)
}

pub(crate) fn say(value: impl Into<Value>) -> Input {
    Input::Value(value.into())
}

fn result(turn: &Turn, outcome: ToolOutcome) -> Reply {
    let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
    Reply::Input(Input::Result(ToolResult::new(call.id.clone(), outcome)))
}

fn room(number: i64) -> ToolOutcome {
    ToolOutcome::Success(Value::map([("id", Value::Int(number))]))
}

/// Session `s`, asked whether to keep room 7: records 0 start, 1 days, 2 the first attempt, 3 the second.
async fn booked(stage: &Stage, store: &Arc<MemoryStore>) {
    let sessions = stage.stored(store);
    sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
    let turn = sessions.send(&id("s"), say(3_i64)).await.unwrap();
    let turn = sessions.send(&id("s"), result(&turn, ToolOutcome::Error(ToolError::new("busy")))).await.unwrap();
    sessions.send(&id("s"), result(&turn, room(7))).await.unwrap();
}

/// The same, kept and ended.
pub(crate) async fn ended(stage: &Stage, store: &Arc<MemoryStore>) {
    booked(stage, store).await;
    stage.stored(store).send(&id("s"), say("yes")).await.unwrap();
}

pub(crate) async fn history(store: &MemoryStore, name: &str) -> History {
    History::open(store, &id(name)).await.unwrap()
}

async fn stored(store: &MemoryStore, name: &str) -> Stored {
    store.load(&[id(name)]).await.unwrap().pop().unwrap().unwrap()
}

fn json(state: &State) -> String {
    serde_json::to_string(state).unwrap()
}

pub(crate) fn clock() -> Clock {
    Clock::fixed(1_000_000)
}

/// A store that holds what another one holds of a session, with some records otherwise.
pub(crate) async fn copied(store: &MemoryStore, change: impl Fn(u64, Arc<str>) -> Arc<str>) -> MemoryStore {
    let (copy, head) = (MemoryStore::new(), stored(store, "s").await.head);
    let rows = store.records(&id("s"), 0, 1000).await.unwrap();
    let records = rows.into_iter().map(|row| change(row.seq, row.text.unwrap())).collect();
    copy.append(Append { session: id("s"), expected: 0, records, head, snapshot: None }).await.unwrap();
    copy
}

#[test]
fn every_state_is_known_and_the_last_one_is_where_the_session_is() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let history = history(&store, "s").await;
        assert_eq!((history.records.len(), history.flaws.len()), (6, 0));
        let nodes: Vec<_> = (0..6).map(|seq| history.at(seq).unwrap().current_node_id.to_string()).collect();
        assert_eq!(nodes, ["start", "book", "book", "keep", "end", "end"]);
        let stored = stored(&store, "s").await;
        for seq in 0..6 {
            let state = state_at(&*store, &stored, seq).await.unwrap();
            assert_eq!(json(&state), json(&history.at(seq).unwrap()), "{seq}");
        }
        let error = history.at(6).unwrap_err();
        assert_eq!(error.to_string(), "session `s` has records 0 to 5, there is no 6");
        let unknown = History::open(&*store, &id("t")).await.unwrap_err();
        assert_eq!(unknown, HistoryError::Unknown(id("t")));
        assert!(matches!(History::open(&*store, &id("../../x")).await, Err(HistoryError::Name(_))));
    });
}

#[test]
fn an_unreadable_record_costs_itself_and_what_cannot_be_known_without_it() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let torn = copied(&store, |seq, text| if seq == 2 { "{\"seq\":2,".into() } else { text }).await;
        let history = History::open(&torn, &id("s")).await.unwrap();
        assert_eq!((history.records.len(), history.flaws.len()), (5, 1));
        assert_eq!((history.flaws[0].seq, history.flaws[0].until, history.flaws[0].is_pruned), (2, 3, false));
        assert!(history.at(1).is_ok());
        let lost = history.at(3).unwrap_err().to_string();
        assert!(
            lost.starts_with("where session `s` was after record 3 is not known any more: record 2 of session `s` cannot be read"),
            "{lost}"
        );
        // The session can go on from before it.
        let engine = stage.engine();
        let put = Operator::new(&torn, &engine, "graph", clock()).fork(&id("s"), Some(1), &id("f")).await.unwrap();
        assert_eq!(put.state.current_node_id.as_str(), "book");
        let replayed = replay(&engine, &history).unwrap();
        assert_eq!((replayed.records, replayed.left_out), (2, 3));
    });
}

#[test]
fn what_was_taken_out_is_no_defect_and_the_snapshot_stands_for_it() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        booked(&stage, &store).await;
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", clock()).goto(&id("s"), &NodeId::from("start")).await.unwrap();
        stage.stored(&store).send(&id("s"), say(5_i64)).await.unwrap();
        store.remove(&id("s"), Removal::Before(5)).await.unwrap();
        let history = history(&store, "s").await;
        assert_eq!(history.records[0].seq, 5);
        assert!(history.flaws[0].is_pruned);
        assert_eq!(history.at(4).unwrap().current_node_id.as_str(), "start", "as the snapshot has it");
        assert_eq!(history.at(5).unwrap().context.get("days"), Some(&Value::Int(5)));
        assert!(history.at(3).unwrap_err().to_string().ends_with("records before 5 were taken out"));
        let replayed = replay(&engine, &history).unwrap();
        assert_eq!((replayed.records, replayed.left_out), (1, 0));
        assert_eq!(json(&replayed.state.unwrap()), json(&history.at(5).unwrap()));
    });
}

#[test]
fn going_back_is_a_record_and_the_session_goes_on_from_there() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", clock());
        let put = operator.back(&id("s"), 0).await.unwrap();
        assert_eq!((put.seq, put.from.unwrap().as_str(), put.state.current_node_id.as_str()), (6, "end", "start"));
        let history = history(&store, "s").await;
        assert!(matches!(&history.records[6].entry, Entry::Move { to: Destination::Back(0), .. }));
        assert_eq!(history.at(4).unwrap().current_node_id.as_str(), "end", "what happened stays");
        // The first room is still booked; cancelling the second cancels both.
        let sessions = stage.stored(&store);
        let turn = sessions.resume(&id("s")).await.unwrap();
        assert_eq!(turn.said.last().unwrap().text.trim(), "How many days?");
        let turn = sessions.send(&id("s"), say(1_i64)).await.unwrap();
        sessions.send(&id("s"), result(&turn, room(8))).await.unwrap();
        let turn = sessions.send(&id("s"), say("no")).await.unwrap();
        let turn = sessions.send(&id("s"), result(&turn, ToolOutcome::Success(Value::Null))).await.unwrap();
        let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
        assert_eq!((&*call.name, call.args.get("id")), ("cancel", Some(&Value::Int(7))));
    });
}

#[test]
fn a_session_is_put_into_a_node_or_told_what_it_lacks() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", clock());
        let other = Operator::new(&*store, &engine, "other", clock());
        let refused = other.goto(&id("s"), &NodeId::from("keep")).await.unwrap_err();
        assert_eq!(refused.to_string(), "session `s` walks the graph `graph`, not `other`");
        let refused = other.fork(&id("s"), None, &id("f")).await.unwrap_err();
        assert!(matches!(refused, HistoryError::OtherGraph { .. }), "{refused}");
        let refused = operator.goto(&id("s"), &NodeId::from("keep")).await.unwrap_err();
        assert_eq!(refused.to_string(), "`keep` needs `room.id`, `days`, not set");
        let set = |key: &str, value: Value| (KeyPath::parse(key).unwrap(), value);
        let wrong = operator.set(&id("s"), &[set("days", "many".into())]).await.unwrap_err();
        assert!(wrong.to_string().starts_with("`days` cannot be \"many\": it must be"), "{wrong}");
        let reserved = operator.set(&id("s"), &[set("sys.step", Value::Int(1))]).await.unwrap_err();
        assert_eq!(reserved.to_string(), "the context cannot hold `sys`: it is a reserved name");
        assert!(operator.set(&id("s"), &[set("days", Value::Int(2)), set("days.x", Value::Int(2))]).await.is_err());
        assert_eq!(stored(&store, "s").await.head.next, 1, "what was refused is no record");
        operator.set(&id("s"), &[set("days", Value::Int(2)), set("room.id", Value::Int(9))]).await.unwrap();
        let put = operator.goto(&id("s"), &NodeId::from("keep")).await.unwrap();
        assert_eq!((put.seq, put.state.current_node_id.as_str()), (2, "keep"));
        let turn = stage.stored(&store).resume(&id("s")).await.unwrap();
        assert_eq!(turn.said.last().unwrap().text.trim(), "Keep room 9 for 2 days?");
        let kinds: Vec<_> = history(&store, "s").await.records.iter().map(|record| std::mem::discriminant(&record.entry)).collect();
        assert_eq!(kinds.len(), 3);
    });
}

#[test]
fn a_fork_has_its_own_keys_and_no_effects_of_the_original() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let before = stored(&store, "s").await;
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", clock());
        assert_eq!(operator.fork(&id("s"), None, &id("f")).await.unwrap_err().to_string(), "the session had ended there");
        operator.fork(&id("s"), Some(3), &id("f")).await.unwrap();
        assert_eq!(operator.fork(&id("s"), Some(3), &id("f")).await.unwrap_err(), HistoryError::Exists(id("f")));
        assert!(matches!(operator.fork(&id("s"), Some(3), &id("a/b")).await, Err(HistoryError::Name(_))));
        let fork = history(&store, "f").await;
        let Entry::Start { origin: Some(origin), state, .. } = &fork.records[0].entry else { panic!() };
        assert_eq!(*origin, Origin { session: id("s"), seq: 3, typed: TypedSecrets::default() });
        assert_eq!((state.session_id.as_str(), state.effects.len(), fork.head.graph.as_ref()), ("f", 0, "graph"));
        // Its no has nothing to undo.
        let turn = stage.stored(&store).send(&id("f"), say("no")).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
        assert_eq!(stored(&store, "s").await, before, "the original stays as it was");

        let pending = operator.fork(&id("s"), Some(1), &id("g")).await.unwrap().state.pending_tool_call.unwrap();
        let original = history(&store, "s").await.at(1).unwrap().pending_tool_call.unwrap();
        assert_eq!((&pending.name, &pending.args), (&original.name, &original.args));
        assert_ne!(pending.idempotency_key, original.idempotency_key);
    });
}

#[test]
fn a_replay_is_identical_or_names_the_first_step_that_is_not() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let history = history(&store, "s").await;
        let replayed = replay(&stage.engine(), &history).unwrap();
        assert_eq!((replayed.records, replayed.left_out), (6, 0));
        assert_eq!(json(&replayed.state.unwrap()), json(&history.at(5).unwrap()));
        // Words do not matter to a step; where it leads does.
        let reworded = edited("end.md", "---\noutput: \"{{ room.id }}\"\n---\nFarewell.\n");
        assert!(replay(&reworded.engine(), &history).is_ok());
        let other = edited("keep.md", ANEW);
        let divergence = replay(&other.engine(), &history).unwrap_err();
        assert_eq!((divergence.moment, divergence.message.as_str()), (Some(4), "leads to `start`, not to `end`"));
        let (path, at) = divergence.at.unwrap();
        assert_eq!((path.as_ref(), at.line), ("keep.md", 1));
    });
}

async fn checked(store: &MemoryStore, engine: &Engine) -> Vec<Checked> {
    let mut check = Check::new(store, engine, "graph");
    let mut all = Vec::new();
    loop {
        match check.page().await.unwrap() {
            page if page.is_empty() => return all,
            page => all.extend(page),
        }
    }
}

async fn verdict(store: &MemoryStore, stage: &Stage) -> EditVerdict {
    checked(store, &stage.engine()).await.pop().unwrap().verdict
}

#[test]
fn each_session_is_held_against_the_graph_as_it_is_now() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        booked(&stage, &store).await;
        assert_eq!(verdict(&store, &stage).await, EditVerdict::GoesOn);
        let mut renamed = STAY.to_vec();
        renamed[3] = ("confirm.md", "---\nwas: [keep]\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep?\n");
        renamed[2].1 = "---\ndo: { name: book, args: { days: \"{{ days }}\" } }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: confirm\n---\n";
        let renamed = self::stage(&renamed);
        assert_eq!(verdict(&store, &renamed).await, EditVerdict::Elsewhere { to: "confirm".into(), why: Moved::Renamed });
        let needy = edited("start.md", "---\ninput_type: int\nsave_to: days\nset: { who: Ann }\nto: book\n---\nHow many days?\n");
        assert_eq!(verdict(&store, &needy).await, EditVerdict::GoesOn);
        let mut lacks = STAY.to_vec();
        lacks[1].1 = "---\ninput_type: int\nsave_to: days\nset: { who: Ann }\nto: book\n---\nHow many days?\n";
        lacks[4].1 = "See you, {{ who }}.\n";
        lacks[3].1 = "---\ninput_type: confirm\non_denied: end\nto: end\n---\nKeep?\n";
        let lacks = self::stage(&lacks);
        assert_eq!(verdict(&store, &lacks).await, EditVerdict::Lacks { keys: vec!["who".into()] });
        let [checked] = &checked(&store, &lacks.engine()).await[..] else { panic!() };
        assert!(checked.is_edited(&lacks.engine()) && !checked.verdict.is_fine());
        let other = Check::new(&*store, &stage.engine(), "another").page().await.unwrap();
        assert_eq!(other[0].verdict, EditVerdict::OtherGraph);
        // At the call.
        Operator::new(&*store, &stage.engine(), "graph", clock()).back(&id("s"), 1).await.unwrap();
        let dearer = edited(
            "book.md",
            "---\ndo: { name: book, args: { nights: \"{{ days }}\" } }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: keep\n---\n",
        );
        assert_eq!(verdict(&store, &dearer).await, EditVerdict::CallChanged { pending: "book".into(), now: "book".into() });
        let mut asserting = STAY.to_vec();
        asserting[1].1 = "---\ninput_type: int\ninput_schema: { enum: [1, 2] }\nsave_to: days\nto: book\n---\nHow many days?\n";
        asserting[2].1 = "---\nassert: [\"days in [1, 2]\"]\ninput_type: text\nsave_to: room.id\nto: keep\n---\nWhich room?\n";
        let asserting = self::stage(&asserting);
        let stuck = verdict(&store, &asserting).await;
        assert!(matches!(&stuck, EditVerdict::Stuck { node: Some(node), .. } if node.as_str() == "book"), "{stuck:?}");
        let torn = copied(&store, |_, _| "{".into()).await;
        assert!(matches!(verdict(&torn, &stage).await, EditVerdict::Unreadable { .. }));
    });
}

#[test]
fn a_session_that_cannot_be_loaded_keeps_no_other_from_being_checked() {
    let (stage, store) = (stage(&STAY), Arc::new(Troubled::default()));
    run(async {
        for name in ["s", "t"] {
            stage.stored(&store).start(Start { session: Some(id(name)), ..Start::default() }).await.unwrap();
        }
        *store.damaged.lock().unwrap() = Some(id("s"));
        let checked = Check::new(&*store, &stage.engine(), "graph").page().await.unwrap();
        let of = |name: &str| checked.iter().find(|checked| checked.head.session == id(name)).map(|checked| &checked.verdict);
        assert!(matches!(of("s"), Some(EditVerdict::Unreadable { .. })) && of("t") == Some(&EditVerdict::GoesOn), "{checked:?}");
    });
}

#[test]
fn what_can_be_moved_is_moved_by_a_record_unless_somebody_was_faster() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        booked(&stage, &store).await;
        let mut files = STAY.to_vec();
        files[3] = ("confirm.md", "---\nwas: [keep]\ninput_type: confirm\nto: end\n---\nKeep?\n");
        files[2].1 = "---\ndo: { name: book, args: { days: \"{{ days }}\" } }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: confirm\n---\n";
        let renamed = self::stage(&files);
        let engine = renamed.engine();
        let mut check = Check::new(&*store, &engine, "graph");
        let (one, other) = (check.page().await.unwrap().remove(0), checked(&store, &engine).await.remove(0));
        let put = check.apply(one, clock()).await.unwrap().unwrap();
        assert_eq!((put.from.unwrap().as_str(), put.state.current_node_id.as_str()), ("keep", "confirm"));
        assert_eq!(check.apply(other, clock()).await.unwrap_err(), HistoryError::Conflict(id("s")));
        assert!(matches!(history(&store, "s").await.records.last().unwrap().entry, Entry::Reload { .. }));
        assert_eq!(verdict(&store, &renamed).await, EditVerdict::GoesOn);
        let again = checked(&store, &engine).await.remove(0);
        assert!(check.apply(again, clock()).await.unwrap().is_none());
    });
}

#[test]
fn a_walk_tells_what_was_said_and_a_path_where_it_went() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let engine = stage.engine();
        let history = history(&store, "s").await;
        let mut walk = RecordWalk::new(Some(&engine), None);
        let said: Vec<_> = history.records.iter().filter_map(|record| walk.take(record).said).map(|said| said.trim().to_owned()).collect();
        assert_eq!(said, ["How many days?", "Looking.", "Keep room 7 for 3 days?", "See you."]);
        let walked = |engine: &Engine| -> Vec<_> {
            let hops = hops(engine.inspect(), &history).into_iter();
            hops.map(|hop| format!("{}→{} {}", hop.from.unwrap_or_default(), hop.to, hop.on.unwrap_or("-"))).collect()
        };
        let path = ["→start -", "start→book answer", "book→keep success", "keep→end answer", "end→end:finished pass"];
        assert_eq!(walked(&engine), path);
        let mut files = STAY.to_vec();
        files[3] = ("confirm.md", "---\nwas: [keep]\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep?\n");
        files[2].1 = "---\ndo: { name: book }\nsave_to: room\nto: confirm\n---\n";
        assert_eq!(walked(&self::stage(&files).engine()), path.map(|hop| hop.replace("keep", "confirm")));
    });
}
