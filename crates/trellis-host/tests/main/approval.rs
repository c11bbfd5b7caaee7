//! Calls that wait for an approval, decided about while nobody goes on with their session, or somebody else does.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use trellis_core::{Input, SessionId, Start, Value};
use trellis_host::{
    Clock, JsonLines, Policy, Reply, Runner, SendError, Stop, Turn, Unbound,
    history::{History, HistoryError, Operator, Undecided},
    sessions::Drive,
    store::{MemoryStore, StoreError},
};

use crate::{
    stage::{Stage, run, run_timeless},
    stored::turn_of,
};

const NO: (&str, &str) = ("no.md", "---\noutput: \"{{ sys.error.message | default('nothing') }}\"\n---\nNot paid.\n");
const PAID: (&str, &str) = ("paid.md", "---\noutput: \"{{ id }}\"\n---\nPaid.\n");
const CHARGE: (&str, &str) = (
    "start.md",
    "---\ntools: [{name: charge}]\ndo: {name: charge, args: {total: 7}, approve: {ask: \"Charge?\", expires: 15m}}\nsave_to: id\non_denied: no\nto: paid\n---\n",
);

fn id() -> SessionId {
    SessionId::from("local")
}

/// A charge of 7 that somebody must approve, and how often it was made.
fn charging() -> (Stage, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let stage = Stage::new(&[CHARGE, PAID, NO]).function(move |bindings| {
        let count = Arc::clone(&count);
        bindings.function("charge", move |_, args| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(args.get("total").cloned().unwrap())
        })
    });
    (stage, made)
}

fn at(moment: u64) -> Clock {
    Clock::fixed(moment)
}

fn output(turn: &Turn) -> Option<Value> {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone(),
        stop => panic!("{stop:?}"),
    }
}

// language 11.5: who shows a held call goes on when somebody decided elsewhere
#[test]
fn a_run_goes_on_when_its_held_call_is_approved_elsewhere() {
    let (stage, made) = charging();
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = Arc::into_inner(stage.stored(&store)).unwrap();
        // Nobody writes anything.
        let (_writer, reader) = tokio::io::duplex(64);
        let console = JsonLines::new(tokio::io::BufReader::new(reader), Vec::new(), 4096);
        let run = Runner::new(console, sessions).run(Start { session: Some(id()), ..Start::default() });
        let decides = async {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            let engine = stage.engine();
            Operator::new(&*store, &engine, "graph", at(2000)).approve(&id(), None).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(run, decides);
        assert_eq!(outcome.unwrap().output, Some(Value::Int(7)));
    });
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

fn undecided(error: HistoryError) -> Undecided {
    match error {
        HistoryError::Undecided(_, undecided) => undecided,
        error => panic!("{error}"),
    }
}

#[test]
fn an_approval_from_elsewhere_lets_the_one_who_wakes_sessions_make_the_call() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        // This process has the session in memory, as it was before the approval.
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Approve { .. }));
        let turns: Arc<Mutex<Vec<Turn>>> = Arc::default();
        let (told, driven) = (Arc::clone(&turns), Arc::clone(&sessions));
        let driving = tokio::spawn(async move { driven.drive(Drive::Forever, |driven| told.lock().unwrap().push(turn_of(driven))).await });
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
        assert_eq!(made.load(Ordering::Relaxed), 0);
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", at(32_000));
        let held = operator.held(&id(), None).await.unwrap();
        assert_eq!((held.asked, held.due), (1000, Some(1000 + 15 * 60 * 1000)));
        let (approved, put) = operator.approve(&id(), Some(held.call.id.as_str())).await.unwrap();
        assert_eq!((approved, put.seq), (held, 1));
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(output(turns.lock().unwrap().last().unwrap()), Some(Value::Int(7)));
        // Whoever looks sees it too.
        assert_eq!(output(&sessions.resume(&id()).await.unwrap()), Some(Value::Int(7)));
        driving.abort();
    });
    let history = run(History::open(&*store, &id())).unwrap();
    let kinds: Vec<_> = history.records.iter().map(|record| serde_json::to_value(record).unwrap()["kind"].clone()).collect();
    assert_eq!(kinds, ["start", "approve", "result", "end"]);
}

#[test]
fn another_process_takes_an_approved_session_up() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        let (one, other) = (stage.stored(&store), stage.stored(&store));
        one.start(Start::default()).await.unwrap();
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", at(2000)).approve(&id(), None).await.unwrap();
        let mut turns = Vec::new();
        other.drive(Drive::UntilIdle, |driven| turns.push(turn_of(driven))).await.unwrap();
        assert_eq!((turns.len(), output(&turns[0])), (1, Some(Value::Int(7))));
        assert_eq!(output(&one.resume(&id()).await.unwrap()), Some(Value::Int(7)));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn an_approval_of_another_call_says_which_one_is_awaited() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start::default()).await.unwrap();
        let Stop::Approve { call, .. } = turn.stop else { panic!("{:?}", turn.stop) };
        let other = Reply::Approve { call: Some("other".into()), yes: true };
        let refused = sessions.send(&id(), other).await.unwrap_err().to_string();
        assert_eq!(refused, format!("the approval of call `{}` is awaited, not the approval of call `other`", call.id));
        assert_eq!(made.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_no_that_comes_after_somebody_elses_yes_is_a_conflict() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", at(2000)).approve(&id(), None).await.unwrap();
        let refused = sessions.send(&id(), Reply::Approve { call: None, yes: false }).await.unwrap_err();
        assert!(matches!(refused, SendError::Store(StoreError::Conflict { expected: 1, found: 2, .. })), "{refused}");
        // The first decision holds.
        assert_eq!(output(&sessions.resume(&id()).await.unwrap()), Some(Value::Int(7)));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_denial_leads_where_the_graph_says_with_its_reason() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", at(2000));
        let (held, put) = operator.deny(&id(), None, Some("too much".to_owned())).await.unwrap();
        assert_eq!((&*held.call.name, put.seq, put.state.current_node_id.as_str()), ("charge", 1, "no"));
        // Nobody waits for it: it ended with its last words, which are said when somebody comes.
        let turn = stage.stored(&store).resume(&id()).await.unwrap();
        assert_eq!((turn.said.len(), output(&turn)), (1, Some(Value::text("too much"))));
        assert_eq!(made.load(Ordering::Relaxed), 0);
        let replayed = trellis_host::history::replay(&engine, &History::open(&*store, &id()).await.unwrap()).unwrap();
        assert_eq!(replayed.left_out, 0);
    });
}

#[test]
fn a_decision_is_bound_to_the_call_that_was_seen() {
    let ((stage, _), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", at(2000));
        let seen = operator.held(&id(), None).await.unwrap().call;
        // The session is put back: the same arguments, and another call.
        operator.goto(&id(), &"start".into()).await.unwrap();
        let now = operator.held(&id(), None).await.unwrap().call;
        assert_eq!(now.args, seen.args);
        for meant in [seen.id.as_str(), seen.idempotency_key.as_str()] {
            let other = Undecided::Other { meant: meant.to_owned(), now: now.id.to_string() };
            assert_eq!(undecided(operator.approve(&id(), Some(meant)).await.unwrap_err()), other);
            assert_eq!(undecided(operator.deny(&id(), Some(meant), None).await.unwrap_err()), other);
        }
        operator.approve(&id(), Some(now.idempotency_key.as_str())).await.unwrap();
        assert_eq!(undecided(operator.approve(&id(), None).await.unwrap_err()), Undecided::Approved("charge".to_owned()));
        // An approval is forgotten with its call.
        operator.goto(&id(), &"start".into()).await.unwrap();
        assert!(matches!(stage.stored(&store).resume(&id()).await.unwrap().stop, Stop::Approve { .. }));
    });
}

#[test]
fn what_expired_or_does_not_wait_is_refused_and_nothing_is_written() {
    let ((stage, _), store) = (charging(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let engine = stage.engine();
        let late = Operator::new(&*store, &engine, "graph", at(1000 + 15 * 60 * 1000));
        assert_eq!(undecided(late.approve(&id(), None).await.unwrap_err()), Undecided::Expired("charge".to_owned()));
        let mut listed = 0;
        late.all_held(None, |_| listed += 1).await.unwrap();
        assert_eq!(listed, 0);
        let operator = Operator::new(&*store, &engine, "graph", at(2000));
        let mut listed = Vec::new();
        operator.all_held(Some("graph".into()), |held| listed.push(held)).await.unwrap();
        assert_eq!((listed.len(), &listed[0].session), (1, &id()));
        operator.deny(&id(), None, None).await.unwrap();
        stage.stored(&store).resume(&id()).await.unwrap();
        let error = operator.approve(&id(), None).await.unwrap_err();
        assert_eq!(error.to_string(), "session `local`: no call waits for an approval: it has ended");
        assert!(matches!(operator.deny(&"other".into(), None, None).await, Err(HistoryError::Unknown(_))));
        let before = History::open(&*store, &id()).await.unwrap().head.next;

        let ask = Stage::new(&[("start.md", "---\ninput_type: int\nto: end\n---\nHow many?\n"), ("end.md", "Bye.\n")]);
        ask.stored(&store).start(Start { session: Some("asks".into()), ..Start::default() }).await.unwrap();
        let error = operator.approve(&"asks".into(), None).await.unwrap_err();
        assert_eq!(error.to_string(), "session `asks`: no call waits for an approval: it waits for an input at `start`");
        assert_eq!(History::open(&*store, &id()).await.unwrap().head.next, before);
    });
}

#[test]
fn a_call_without_an_approval_and_a_graph_that_was_edited_are_refused() {
    let (plain, store) = (("start.md", "---\ntools: [{name: charge}]\ndo: charge\nto: no\n---\n"), Arc::new(MemoryStore::new()));
    run(async {
        let elsewhere = Policy::new().unbound(Unbound::Elsewhere);
        let stage = Stage::new(&[plain, NO]).policy(elsewhere);
        stage.stored(&store).start(Start { session: Some("plain".into()), ..Start::default() }).await.unwrap();
        let engine = stage.engine();
        let error = Operator::new(&*store, &engine, "graph", at(2000)).approve(&"plain".into(), None).await.unwrap_err();
        assert_eq!(error.to_string(), "session `plain`: no call waits for an approval: `charge` needs none");

        // An edit of something else does not matter; one of the call does.
        charging().0.stored(&store).start(Start::default()).await.unwrap();
        let dearer = CHARGE.1.replace("total: 7", "total: 8");
        let edited = Stage::new(&[("start.md", &dearer), PAID, NO]);
        let engine = edited.engine();
        let error = Operator::new(&*store, &engine, "graph", at(2000)).deny(&id(), None, None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "session `local`: where a denial leads is not known: the graph was edited since `start` made the call"
        );
        let edited = Stage::new(&[CHARGE, PAID, ("no.md", "---\ninput_type: text\nto: paid\nset: {id: 0}\n---\nWhy not?\n")]);
        let engine = edited.engine();
        let (_, put) = Operator::new(&*store, &engine, "graph", at(2000)).deny(&id(), None, None).await.unwrap();
        assert_eq!(put.state.current_node_id.as_str(), "no");
        let turn = edited.stored(&store).send(&id(), Input::Text("dear".into())).await.unwrap();
        assert_eq!(output(&turn), Some(Value::Int(0)));
    });
}
