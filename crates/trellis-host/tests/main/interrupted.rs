//! Signals that come while a session begins, or is loaded: none is lost (language 7.5).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncBufRead, BufReader},
    sync::mpsc,
};
use trellis_core::{SessionId, SignalName, Start};
use trellis_host::{JsonLines, Outcome, Reason, Runner, store::SessionStore};

use crate::{
    stage::{Stage, run},
    troubled::Troubled,
};

/// A graph that takes an interrupt where it begins, and ends by it.
const HANDLED: &[(&str, &str)] =
    &[("start.md", "---\nwait: true\non_interrupt: left\nto: end\n---\nReady?\n"), ("left.md", "You left.\n"), ("end.md", "Over.\n")];
/// One that does not.
const UNHANDLED: &[(&str, &str)] = &[("start.md", "---\nwait: true\nto: end\n---\nReady?\n"), ("end.md", "Over.\n")];
/// One that takes it behind nodes that nothing waits at.
const BEHIND: &[(&str, &str)] = &[
    ("start.md", "---\nset: {a: 1}\nto: second\n---\nOne.\n"),
    ("second.md", "---\nto: third\n---\nTwo.\n"),
    ("third.md", "---\nwait: true\non_interrupt: left\nto: end\n---\nReady?\n"),
    ("left.md", "You left.\n"),
    ("end.md", "Over.\n"),
];

/// The places between beginning and waiting at which a signal is tried.
const MOMENTS: usize = 12;

/// A session that may be in the store already, whose store takes its time.
struct Slow {
    stage: Stage,
    store: Arc<Troubled>,
}

impl Slow {
    fn new(files: &[(&str, &str)], delay: usize, is_there: bool) -> Self {
        let slow = Self { stage: Stage::new(files), store: Troubled::with(&[]) };
        if is_there {
            run(slow.stage.stored(&slow.store).start(start())).unwrap();
        }
        slow.store.delay.store(delay, Ordering::Relaxed);
        slow
    }

    /// A run over lines of JSON that is interrupted after it was looked at `moment` times.
    fn walked(&self, input: impl AsyncBufRead + Unpin, moment: Option<usize>) -> (Outcome, String) {
        let (sender, signals) = mpsc::channel(4);
        let mut output = Vec::new();
        let store = Arc::clone(&self.store) as Arc<dyn SessionStore>;
        let sessions = self.stage.sessions().store(store, "graph");
        let outcome = run(async {
            let walk = Runner::new(JsonLines::new(input, &mut output, 4096), sessions).signals(signals).run(start());
            let interrupt = async {
                for _ in 0..moment.unwrap_or_default() {
                    tokio::task::yield_now().await;
                }
                if moment.is_some() {
                    let _ = sender.send(SignalName::new(SignalName::INTERRUPT)).await;
                }
                sender
            };
            let walked = async { tokio::join!(walk, interrupt).0 };
            tokio::time::timeout(Duration::from_secs(120), walked).await.expect("the interrupt was forgotten").unwrap()
        });
        (outcome, String::from_utf8(output).unwrap())
    }
}

fn start() -> Start {
    Start { session: Some(SessionId::from("ana")), ..Start::default() }
}

/// Every graph, with a store that is quick or slow, for a session that is there or not.
fn each(try_it: impl Fn(&Slow, bool)) {
    for (files, is_handled) in [(HANDLED, true), (UNHANDLED, false), (BEHIND, true)] {
        for delay in [0, 1, 3] {
            for is_there in [false, true] {
                try_it(&Slow::new(files, delay, is_there), is_handled);
            }
        }
    }
}

#[test]
fn a_signal_in_the_first_line_is_taken_where_the_session_waits_also_when_the_input_is_over() {
    each(|slow, is_handled| {
        let (outcome, lines) = slow.walked(&b"{\"signal\":\"interrupt\"}\n"[..], None);
        let expected = if is_handled { Reason::Finished } else { Reason::Interrupted };
        assert_eq!((outcome.reason, lines.contains("You left.")), (expected, is_handled), "{lines}");
        assert!(!lines.contains("ERROR"), "{lines}");
    });
}

#[test]
fn an_interrupt_counts_at_every_moment_of_the_beginning() {
    for moment in 0..MOMENTS {
        each(|slow, is_handled| {
            // The input stays open: only the interrupt ends the run.
            let (_open, input) = tokio::io::duplex(64);
            let (outcome, lines) = slow.walked(BufReader::new(input), Some(moment));
            let expected = if is_handled { Reason::Finished } else { Reason::Interrupted };
            assert_eq!(outcome.reason, expected, "after {moment} looks: {lines}");
        });
    }
}
