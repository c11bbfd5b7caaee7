//! Signals that end a long-running command.

use std::{fs, process, time::Duration};

use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Exit code of a program that an interrupt ended.
const INTERRUPTED: i32 = 130;
/// The time for tasks to be dropped, and with them the processes that they run, after the second signal.
const BREAKING: Duration = Duration::from_secs(1);
/// The bit of SIGHUP in a set of signals.
const HANGUP: u64 = 1;

/// The signals that end this program, counted: the first one asks it to end, the second one breaks it off.
#[derive(Clone, Debug)]
pub(crate) struct EndSignals(watch::Receiver<u32>);

impl EndSignals {
    /// Listens from now on, within a runtime. SIGHUP is one of them if it `ends_at_hangup` and was not started so that it outlives its terminal.
    pub(crate) fn listen(ends_at_hangup: bool) -> Self {
        let (counted, count) = watch::channel(0);
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        kinds.extend((ends_at_hangup && !ignores_hangup()).then(SignalKind::hangup));
        for mut raised in kinds.into_iter().filter_map(|kind| signal(kind).ok()) {
            let counted = counted.clone();
            tokio::spawn(async move {
                while raised.recv().await.is_some() {
                    counted.send_modify(|count| *count += 1);
                }
            });
        }
        Self(count)
    }

    /// Waits for the first signal.
    pub(crate) async fn first(&self) {
        self.wait(1).await;
    }

    async fn wait(&self, wanted: u32) {
        if self.0.clone().wait_for(|count| *count >= wanted).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Does the work of a command that ends after the first signal. The second one drops it, with what it announced, and kills the processes that it runs.
pub(crate) fn run<T>(runtime: Runtime, signals: &EndSignals, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(async {
        tokio::select! {
            done = work => Some(done),
            () = signals.wait(2) => None,
        }
    });
    match done {
        Some(done) => {
            // Reading standard input cannot be given up.
            runtime.shutdown_background();
            done
        }
        None => {
            runtime.shutdown_timeout(BREAKING);
            process::exit(INTERRUPTED)
        }
    }
}

/// Returns whether this program was started with SIGHUP ignored, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & HANGUP != 0)
}
