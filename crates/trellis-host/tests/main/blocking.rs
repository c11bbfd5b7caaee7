//! Asynchronous functions whose futures block: their timeouts count all the same, and nothing else waits for them.

use std::{
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    task::Poll,
    time::Duration,
};

use trellis_core::{Start, ToolError, Value};
use trellis_host::{SessionEvent, Stop};

use crate::stage::{Stage, run_timeless};

const WORK: &[(&str, &str)] = &[
    (
        "start.md",
        "---\ntools: [{name: work, effect: none}]\ndo: {name: work, timeout: 20ms}\non_error: late\non_timeout: late\nto: end\n---\n",
    ),
    ("end.md", "---\noutput: in time\n---\n"),
    ("late.md", "---\noutput: \"{{ sys.error.kind }}: {{ sys.error.message }}\"\n---\n"),
];
/// Only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn output(stop: &Stop) -> String {
    match stop {
        Stop::Ended(ended) => ended.output.as_ref().unwrap().as_str().unwrap().to_owned(),
        stop => panic!("{stop:?}"),
    }
}

#[test]
fn a_future_that_blocks_times_out_while_it_blocks_and_stops_no_other_worker() {
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let stage = Stage::new(WORK).function(move |bindings| {
        let released = Arc::clone(&released);
        bindings.function_async("work", move |_, _| {
            let released = Arc::clone(&released);
            async move {
                let _ = released.lock().unwrap().recv();
                Ok(Value::Null)
            }
        })
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let sessions = Arc::new(stage.sessions());
        // As many as there are workers, and one more.
        let blocked = ["one", "two", "three"].map(|name| {
            let sessions = Arc::clone(&sessions);
            tokio::spawn(async move { sessions.start(Start { session: Some(name.into()), ..Start::default() }).await })
        });
        for turn in blocked {
            let turn = tokio::time::timeout(PATIENCE, turn).await.expect("the timeout counts").unwrap().unwrap();
            assert_eq!(output(&turn.stop), "timeout: `work` took longer than 20ms");
        }
    });
    drop(release);
}

#[test]
fn a_future_that_blocks_the_only_thread_counts_as_too_late_and_a_warning_names_the_tool() {
    let stage = Stage::new(WORK).function(|bindings| {
        bindings.function_async("work", |_, _| async {
            // The clock moves within one poll, as it does while a thread is blocked.
            let mut blocked = pin!(tokio::time::advance(Duration::from_millis(150)));
            std::future::poll_fn(|context| {
                let _ = blocked.as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
            Ok::<_, ToolError>(Value::Null)
        })
    });
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sessions = stage.sessions();
    let told = Arc::clone(&lines);
    sessions.observe(move |_, event| {
        if let SessionEvent::Progress(_, line) = event {
            told.lock().unwrap().push(line.to_string());
        }
    });
    let turn = run_timeless(sessions.start(Start::default())).unwrap();
    assert_eq!(output(&turn.stop), "timeout: `work` took longer than 20ms");
    assert_eq!(
        *lines.lock().unwrap(),
        ["the future of `work` kept its thread for 150 ms without an await: register work that blocks with `function`"]
    );
}
