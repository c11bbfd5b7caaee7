//! Hooks see what was stored, and cannot hurt: slow ones, failing ones, and one that objects.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use trellis_core::{Input, NodeId, SignalName, Start, ToolError, ToolOutcome, ToolResult, Value, id::CallId, state::EndReason};
use trellis_host::{
    Bindings, Clock, Sessions, Stop,
    hooks::{Hooks, Moment, TakenUp},
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run};

const GRAPH: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {pay: {function: pay}}\n"),
    (
        "start.md",
        "---\noptions: [pay, wait]\ntransitions: [{condition: input == \"pay\", to: pay}, {to: rest}]\non_interrupt: rest\n---\nWhat now?\n",
    ),
    ("pay.md", "---\ndo: pay\nto: end\non_error: end\n---\n"),
    ("rest.md", "---\nwait: true\non_signal: {bell: end}\nto: end\n---\n"),
    ("end.md", "Done.\n"),
];

fn stage() -> Stage {
    Stage::new(GRAPH).function(|bindings| bindings.function("pay", |_, _| Err::<Value, _>(ToolError::new("no money"))))
}

/// Writes down everything that it sees.
struct Diary(mpsc::Sender<String>);

impl Hooks for Diary {
    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {
        self.0.send(format!("{} enters {node}", moment.seq)).unwrap();
    }

    fn on_node_leave(&self, moment: &Moment, node: &NodeId) {
        self.0.send(format!("{} leaves {node}", moment.seq)).unwrap();
    }

    fn on_tool_call(&self, moment: &Moment, _: &CallId, tool: &str) {
        self.0.send(format!("{} calls {tool}", moment.seq)).unwrap();
    }

    fn on_tool_return(&self, moment: &Moment, _: &CallId, outcome: &str, result: Option<&ToolResult>) {
        let why = match result.map(|result| &result.outcome) {
            Some(ToolOutcome::Error(error)) => &error.message,
            other => panic!("{other:?}"),
        };
        self.0.send(format!("{} returns {outcome}: {why}", moment.seq)).unwrap();
    }

    fn on_signal(&self, moment: &Moment, signal: &SignalName) {
        self.0.send(format!("{} signal {signal}", moment.seq)).unwrap();
    }

    fn on_end(&self, moment: &Moment, reason: EndReason) {
        self.0.send(format!("{} ends {} at {}", moment.seq, reason.as_str(), moment.node)).unwrap();
    }
}

fn all(diary: &mpsc::Receiver<String>) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(line) = diary.recv_timeout(Duration::from_secs(120)) {
        let is_last = line.contains(" ends ");
        all.push(line);
        if is_last {
            break;
        }
    }
    all
}

#[test]
fn a_hook_sees_what_happened_in_order() {
    let (sender, diary) = mpsc::channel();
    let sessions = stage().sessions().hooks(Diary(sender));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        sessions.send(&"local".into(), Input::Text("pay".into())).await.unwrap();
    });
    let expected = [
        "0 enters start",
        "1 leaves start",
        "1 enters pay",
        "1 calls pay",
        "2 returns error: no money",
        "2 leaves pay",
        "2 enters end",
        "2 ends finished at end",
    ];
    assert_eq!(all(&diary), expected);
}

#[test]
fn a_hook_sees_signals() {
    let (sender, diary) = mpsc::channel();
    let sessions = stage().sessions().hooks(Diary(sender));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        sessions.send(&"local".into(), Input::Text("wait".into())).await.unwrap();
        sessions.send(&"local".into(), Input::Signal("bell".into())).await.unwrap();
    });
    assert!(all(&diary).contains(&"2 signal bell".to_owned()));
}

/// Never comes back, or panics.
struct Bad(bool, Arc<Mutex<()>>);

impl Hooks for Bad {
    fn on_node_enter(&self, _: &Moment, _: &NodeId) {
        assert!(self.0, "a hook that fails");
        drop(self.1.lock());
    }
}

#[test]
fn a_hook_that_fails_or_hangs_stops_nobody() {
    let hangs = Arc::new(Mutex::new(()));
    let held = hangs.lock().unwrap();
    let sessions = stage().sessions().hooks(Bad(false, Arc::default())).hooks(Bad(true, Arc::clone(&hangs)));
    run(async {
        for n in 0..5000 {
            let turn = sessions.start(Start { session: Some(format!("s{n}").as_str().into()), ..Start::default() }).await.unwrap();
            assert!(matches!(turn.stop, Stop::Ask { .. }));
        }
    });
    assert!(sessions.dropped() > 0, "what was not told is counted");
    drop(held);
}

/// Does not like changes.
struct Keeper;

impl Hooks for Keeper {
    fn on_reload(&self, from: &str, to: &str) -> Result<(), String> {
        assert_ne!(from, to);
        Err("the shop is open".into())
    }
}

#[test]
fn a_hook_may_object_to_another_program() {
    let sessions = stage().sessions().hooks(Keeper);
    run(async {
        sessions.start(Start::default()).await.unwrap();
        let other = Stage::new(&[("start.md", "---\nwait: true\n---\nAnother.\n")]);
        let refused = sessions.swap(other.engine(), Bindings::none()).await.unwrap_err();
        assert_eq!(refused.to_string(), "the graph is not taken up: the shop is open");
        let turn = sessions.send(&"local".into(), Input::Text("wait".into())).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { .. }), "it goes on as it was");
    });
}

/// Panics over a change of the program.
struct Startled;

impl Hooks for Startled {
    fn on_reload(&self, _: &str, _: &str) -> Result<(), String> {
        panic!("another program?")
    }
}

/// Waits until so many events were not reported: a panic that is slow to print its trace is not waited for by a change of the program.
async fn until_dropped(sessions: &Sessions, count: u64) {
    let counted = async {
        while sessions.dropped() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), counted).await.expect("the hook is told");
}

#[test]
fn a_hook_that_panics_over_another_program_is_counted_and_objects_to_nothing() {
    let sessions = stage().sessions().hooks(Startled);
    run(async {
        sessions.start(Start::default()).await.unwrap();
        let other = Stage::new(&[("start.md", "---\nwait: true\nto: end\n---\nAnother.\n"), ("end.md", "Done.\n")]);
        assert_eq!(sessions.dropped(), 0);
        sessions.swap(other.engine(), Bindings::none()).await.unwrap();
        until_dropped(&sessions, 1).await;
        sessions.swap(stage().engine(), Bindings::none()).await.unwrap();
        until_dropped(&sessions, 2).await;
        let turn = sessions.resume(&"local".into()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { .. }), "{turn:?}");
    });
}

/// Writes down how sessions begin and go on.
struct Log(mpsc::Sender<String>);

impl Hooks for Log {
    fn on_start(&self, moment: &Moment) {
        self.0.send(format!("{} starts", moment.seq)).unwrap();
    }

    fn on_resume(&self, moment: &Moment, taken_up: &TakenUp) {
        let call: String = taken_up.calls.iter().map(|(_, tool, since)| format!(" with {tool} since {since}")).collect();
        self.0.send(format!("{} goes on at {} since {}{call}", moment.seq, moment.node, taken_up.entered_at)).unwrap();
    }

    fn on_step(&self, moment: &Moment) {
        self.0.send(format!("{} step", moment.seq)).unwrap();
    }

    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {
        assert_eq!(moment.began, 1000);
        self.0.send(format!("{} enters {node} by step {}", moment.seq, moment.entered)).unwrap();
    }

    fn on_node_leave(&self, _: &Moment, node: &NodeId) {
        self.0.send(format!("leaves {node}")).unwrap();
    }
}

/// Everything that was told, when all who tell are gone.
fn told(log: &mpsc::Receiver<String>) -> Vec<String> {
    std::iter::from_fn(|| log.recv().ok()).collect()
}

#[test]
fn a_hook_sees_what_is_taken_up_from_a_store() {
    let stage = Stage::new(&[
        ("start.md", "---\noptions: [pay]\nto: pay\n---\nWhat now?\n"),
        ("pay.md", "---\ntools: [{name: pay}]\ndo: pay\nto: end\non_error: end\n---\n"),
        ("end.md", "Done.\n"),
    ]);
    let store = Arc::new(MemoryStore::new());
    let sessions =
        |sender| stage.sessions().clock(Clock::fixed(1000)).store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph").hooks(Log(sender));
    let (sender, log) = mpsc::channel();
    let first = sessions(sender);
    run(async {
        first.start(Start::default()).await.unwrap();
        first.send(&"local".into(), Input::Text("pay".into())).await.unwrap();
    });
    drop(first);
    assert_eq!(told(&log), ["0 starts", "0 enters start by step 0", "1 step", "leaves start", "1 enters pay by step 1"]);

    let (sender, log) = mpsc::channel();
    let second = sessions(sender);
    run(async {
        let Stop::Call { call, .. } = second.resume(&"local".into()).await.unwrap().stop else { panic!("it waits for its call") };
        let result = ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Null));
        second.send(&"local".into(), Input::Result(result)).await.unwrap();
    });
    drop(second);
    assert_eq!(told(&log), ["1 goes on at pay since 1000 with pay since 1000", "2 step", "leaves pay", "2 enters end by step 2"]);
}

#[test]
fn a_hook_sees_where_another_program_puts_a_session() {
    let (sender, log) = mpsc::channel();
    let sessions = stage().sessions().clock(Clock::fixed(1000)).hooks(Log(sender));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        sessions.send(&"local".into(), Input::Text("wait".into())).await.unwrap();
        let other = Stage::new(&[
            ("start.md", "---\nto: pause\n---\nA.\n"),
            ("pause.md", "---\nid: pause\nwas: [rest]\nwait: true\nto: end\n---\nB.\n"),
            ("end.md", "C.\n"),
        ]);
        sessions.swap(other.engine(), Bindings::none()).await.unwrap();
        sessions.resume(&"local".into()).await.unwrap();
    });
    drop(sessions);
    let told = told(&log);
    assert_eq!(told[told.len() - 2..], ["leaves rest", "2 enters pause by step 1"], "{told:?}");
}
