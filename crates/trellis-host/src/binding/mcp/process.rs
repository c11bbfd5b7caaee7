//! A server that runs as a process here, from its start to its end.
//!
//! **Invariant:** when a `ServerProcess` is gone, so is its whole process group.

use std::{
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::super::output::OutputTail;
#[cfg(unix)]
use super::super::process_group::Group;

/// Time to exit once its standard input is closed.
const GOODBYE: Duration = Duration::from_millis(500);

/// Time that its last words are awaited.
const LAST_WORDS_TIME: Duration = Duration::from_millis(250);

/// A running server.
pub(super) struct ServerProcess {
    #[cfg(unix)]
    group: Group,
    child: Child,
    grace: Duration,
    words: LastWords,
}

/// The facts about a server's end: shared by the errors that explain it.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Ending>>);

#[derive(Default)]
struct Ending {
    errors: OutputTail,
    how: Option<String>,
    too_long: Option<usize>,
}

impl LastWords {
    /// Describes its end, as the end of a sentence, with the end of its standard error.
    pub(super) fn last_words(&self) -> String {
        let ending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let how = ending.how.as_deref().unwrap_or("closed the connection");
        match ending.errors.message() {
            Some(said) => format!("{how}: {said}"),
            None => how.to_owned(),
        }
    }

    /// The bound that a line of its was longer than.
    pub(super) fn too_long(&self) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).too_long
    }

    pub(super) fn sent_too_much(&self, limit: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).too_long = Some(limit);
    }

    fn ended(&self, how: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).how = Some(how);
    }

    async fn listen(self, mut errors: ChildStderr) {
        let mut chunk = [0; 2048];
        while let Ok(length @ 1..) = errors.read(&mut chunk).await {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).errors.push(&chunk[..length]);
        }
    }
}

impl ServerProcess {
    /// Starts it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(mut command: Command, grace: Duration, words: LastWords) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(words.clone().listen(errors));
        }
        let process = Self {
            #[cfg(unix)]
            group: Group::led_by(child.id()),
            child,
            grace,
            words,
        };
        Ok((process, stdin, stdout))
    }

    /// Waits a moment for its end after that of its standard output, so that the end can be reported.
    pub(super) async fn note_end(&mut self) {
        if let Ok(Ok(status)) = timeout(LAST_WORDS_TIME, self.child.wait()).await {
            self.words.ended(how(status));
            // Its last words may still be in the pipe.
            tokio::task::yield_now().await;
        }
    }

    /// Ends it, when its standard input is closed: waits a moment, asks it to end, and ends it by force after its grace period.
    pub(super) async fn end(&mut self) {
        if timeout(GOODBYE.min(self.grace), self.child.wait()).await.is_err() {
            #[cfg(unix)]
            self.group.terminate();
            if timeout(self.grace, self.child.wait()).await.is_err() {
                let _ = self.child.kill().await;
            }
        }
        #[cfg(unix)]
        self.group.kill();
    }
}

/// Describes the end of a process, as the end of a sentence.
fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("died by signal {signal} ({})", super::super::process_group::name(signal));
    }
    match status.code() {
        Some(code) => format!("exited with {code}"),
        None => "died".to_owned(),
    }
}
