//! Budgets over the calls of sessions: attempts, children, parts, and sessions that go on elsewhere (language 11.6).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, ToolError, Value};
use trellis_host::{Clock, Stop, Turn, history::Operator, store::MemoryStore};

use crate::stage::{Stage, run, run_timeless};

const END: (&str, &str) = ("end.md", "---\noutput: \"{{ done }}\"\n---\n");
const FAILED: (&str, &str) = ("failed.md", "---\noutput: \"{{ sys.error.code | default('none') }}: {{ sys.error.message }}\"\n---\n");

fn id() -> SessionId {
    SessionId::from("local")
}

/// A stage with this budget, and how often its `pay` was called. It takes a moment, so that calls run side by side.
fn stage(budget: &str, files: &[(&str, &str)], is_paid: bool) -> (Stage, Arc<AtomicUsize>) {
    let project = format!("name: shop\nbindings: {{pay: {{function: {{}}, effect: none}}}}\nbudget: {budget}\n");
    let paid = Arc::new(AtomicUsize::new(0));
    let pays = Arc::clone(&paid);
    let mut all = vec![("trellis.yaml", project.as_str()), FAILED];
    all.extend(files);
    let stage = Stage::new(&all).function(move |bindings| {
        let pays = Arc::clone(&pays);
        bindings.function_async("pay", move |_, _| {
            pays.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if is_paid { Ok(Value::text("paid")) } else { Err(ToolError::new("no")) }
            }
        })
    });
    (stage, paid)
}

fn start() -> Start {
    Start { session: Some(id()), ..Start::default() }
}

fn output(turn: &Turn) -> String {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone().unwrap_or_default().to_json(),
        stop => panic!("{stop:?}"),
    }
}

/// The error of the call after a bound of so many calls.
fn spent(bound: usize) -> String {
    format!("budget: `budget.calls` is spent: it allows {bound} in a session, and {bound} were taken")
}

#[test]
fn every_attempt_counts_and_the_call_after_the_bound_fails() {
    let pay = ("start.md", "---\ndo: {name: pay, retry: {max: 5, base: 1ms}}\nsave_to: done\non_error: failed\nto: end\n---\n");
    let (stage, paid) = stage("{calls: 3}", &[pay, END], false);
    let turn = run_timeless(stage.sessions().start(start())).unwrap();
    assert_eq!(output(&turn), Value::text(spent(3)).to_json());
    assert_eq!(paid.load(Ordering::Relaxed), 3);
}

#[test]
fn calls_of_children_are_calls_of_their_session_and_a_graph_is_none() {
    let start_at = ("start.md", "---\ndo: pay\non_error: failed\nto: call\n---\n");
    let call = ("call.md", "---\ndo: {graph: work}\non_error: failed\nto: last\n---\n");
    let work = ("work.md", "---\ndo: pay\nto: end_work\n---\n");
    let end_work = ("end_work.md", "---\noutput: done\n---\n");
    let last = ("last.md", "---\ndo: pay\nsave_to: done\non_error: failed\nto: end\n---\n");
    for (bound, expected, calls) in [(2, spent(2), 2), (3, "paid".to_owned(), 3)] {
        let (stage, paid) = stage(&format!("{{calls: {bound}}}"), &[start_at, call, work, end_work, last, END], true);
        let turn = run_timeless(stage.sessions().start(start())).unwrap();
        assert_eq!(output(&turn), Value::text(expected).to_json());
        assert_eq!((paid.load(Ordering::Relaxed), turn.spent.calls), (calls, calls as u64));
    }
}

#[test]
fn calls_side_by_side_are_reserved_before_any_of_them_returns() {
    let tools = "{parallel: {a: pay, b: pay, c: pay}, on_error: collect}";
    let graphs = "{parallel: {a: {graph: work}, b: {graph: work}, c: {graph: work}}, on_error: collect}";
    let work = ("work.md", "---\ndo: pay\nsave_to: done\nto: end\n---\n");
    for (call, also) in [(tools, None), (graphs, Some(work))] {
        let start_at = format!("---\ndo: {call}\nsave_to: done\non_error: failed\nto: end\n---\n");
        let files: Vec<_> = [("start.md", start_at.as_str()), END].into_iter().chain(also).collect();
        let (stage, paid) = stage("{calls: 2}", &files, true);
        let turn = run_timeless(stage.sessions().start(start())).unwrap();
        let output = output(&turn);
        assert_eq!((output.matches("paid").count(), output.matches("budget.calls").count()), (2, 1), "{output}");
        assert_eq!((paid.load(Ordering::Relaxed), turn.spent.calls), (2, 2));
    }
}

#[test]
fn what_was_spent_is_stored_and_a_fork_begins_at_nothing() {
    let start_at = ("start.md", "---\ndo: pay\nto: ask\n---\n");
    let ask = ("ask.md", "---\ninput_type: text\nto: last\n---\nAgain?\n");
    let last = ("last.md", "---\ndo: pay\nsave_to: done\non_error: failed\nto: end\n---\n");
    let (stage, _) = stage("{calls: 1}", &[start_at, ask, last, END], true);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let asked = stage.stored(&store).start(start()).await.unwrap();
        assert_eq!(asked.spent.calls, 1);
        let engine = stage.engine();
        let copy = SessionId::from("copy");
        Operator::new(&*store, &engine, "graph", Clock::fixed(2000)).fork(&id(), None, &copy).await.unwrap();

        // Another process counts on from what is stored, for each session.
        let sessions = stage.stored(&store);
        let forked = sessions.resume(&copy).await.unwrap();
        assert_eq!((forked.node.as_str(), forked.spent.calls), ("ask", 0));
        let done = sessions.send(&copy, Input::Text("yes".into())).await.unwrap();
        assert_eq!((output(&done).as_str(), done.spent.calls), ("\"paid\"", 1));
        assert_eq!(sessions.resume(&id()).await.unwrap().spent.calls, 1);
        let refused = sessions.send(&id(), Input::Text("yes".into())).await.unwrap();
        assert_eq!((output(&refused), refused.spent.calls), (Value::text(spent(1)).to_json(), 1));
    });
}
