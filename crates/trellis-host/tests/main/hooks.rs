//! Hooks see what was stored, and cannot hurt: slow ones, failing ones, and one that objects.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use trellis_core::{Input, NodeId, SignalName, Start, ToolError, Value, id::CallId, state::EndReason};
use trellis_host::{
    Bindings, Stop,
    hooks::{Hooks, Moment},
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
    Stage::new(GRAPH).function(|bindings| bindings.function("pay", |_| Err::<Value, _>(ToolError::new("no money"))))
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

    fn on_tool_return(&self, moment: &Moment, _: &CallId, outcome: &str) {
        self.0.send(format!("{} returns {outcome}", moment.seq)).unwrap();
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
    while let Ok(line) = diary.recv_timeout(Duration::from_secs(5)) {
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
        "2 returns error",
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
    assert!(sessions.untold() > 0, "what was not told is counted");
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
