//! Recorded results of tools: written while a session runs, answered from later, so that an author can iterate without effects (language C.4).
//!
//! A recording is JSON Lines, a [`RecordedResult`] each.
//!
//! **Invariant:** a call that a [`Recording`] sees never runs: it is answered, or its result is asked for.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{Mapping, ToolOutcome, Value, state::PendingCall, transcript::RecordedResult};

use crate::{
    interceptor::{Deciding, Intercepted, Interceptor, Verdict},
    sessions::SessionEvent,
};

/// A recording that cannot be written or read; names its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be opened, read or written.
    #[error("the recording `{}` cannot be {what}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `opened`, `read`, `written`.
        what: &'static str,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// A line is no recorded result.
    #[error("line {line} of the recording `{}` is no result of a tool: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The mistake.
        why: String,
    },
}

/// Writes the results of calls, in the order in which they become known.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Tape>);

#[derive(Debug)]
struct Tape {
    path: PathBuf,
    /// The file, or why it was given up.
    file: Mutex<Result<File, Option<io::Error>>>,
}

impl Recorder {
    /// A recorder that writes a new file, or over an old one.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, RecordingError> {
        let path = path.into();
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        // Output of tools is private.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => Ok(Self(Arc::new(Tape { path, file: Mutex::new(Ok(file)) }))),
            Err(error) => Err(RecordingError::File { path, what: "opened", error }),
        }
    }

    /// Takes an event: for [`crate::Sessions::observe`]. A line that cannot be written ends the recording, not the session.
    pub fn take(&self, event: &SessionEvent) {
        let (_, event) = event.split();
        let (SessionEvent::Returned(call, result) | SessionEvent::Given(call, result)) = event else { return };
        // The outcome of a call made of calls follows from those.
        if !call.kind.is_tool() {
            return;
        }
        let recorded =
            RecordedResult { tool: Arc::clone(&call.name), args: asked(call), outcome: result.outcome.clone(), meta: result.meta.clone() };
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(open) = &mut *file {
            let line = serde_json::to_string(&recorded).map_err(io::Error::other);
            if let Err(error) = line.and_then(|line| open.write_all(format!("{line}\n").as_bytes())) {
                *file = Err(Some(error));
            }
        }
    }

    /// Checks that everything was written.
    ///
    /// # Errors
    /// A result could not be written; those in the file are complete.
    pub fn finish(&self) -> Result<(), RecordingError> {
        match &mut *self.0.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Err(error) => {
                error.take().map_or(Ok(()), |error| Err(RecordingError::File { path: self.0.path.clone(), what: "written", error }))
            }
            Ok(_) => Ok(()),
        }
    }
}

/// Answers calls with the recorded results of the same tool and arguments: in order, the last one for good.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    results: Mutex<BTreeMap<Asked, Results>>,
}

/// A tool and its arguments, as JSON.
type Asked = (Arc<str>, String);

/// The results that were recorded for one call.
#[derive(Debug, Default)]
struct Results {
    outcomes: Vec<(ToolOutcome, Option<Value>)>,
    /// The index of the next one.
    next: usize,
}

impl Recording {
    /// Reads a recording. A last line without its line break is one that was not finished, and is passed over.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no result.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref().to_owned();
        let fail = |what, error| RecordingError::File { path: path.clone(), what, error };
        let mut lines = BufReader::new(File::open(&path).map_err(|error| fail("opened", error))?);
        let mut results = BTreeMap::<Asked, Results>::new();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            lines.read_line(&mut text).map_err(|error| fail("read", error))?;
            if !text.ends_with('\n') {
                break;
            }
            if text.trim().is_empty() {
                continue;
            }
            let read = RecordedResult::read(&text).map_err(|why| RecordingError::Line { path: path.clone(), line, why });
            let RecordedResult { tool, args, outcome, meta } = read?;
            results.entry((tool, Value::Map(args).to_json())).or_default().outcomes.push((outcome, meta));
        }
        Ok(Self { path, results: Mutex::new(results) })
    }

    /// Returns the recording from its beginning, for another session.
    #[must_use]
    pub fn rewound(&self) -> Self {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let rewound = |known: &Results| Results { outcomes: known.outcomes.clone(), next: 0 };
        let results = results.iter().map(|(asked, known)| (asked.clone(), rewound(known))).collect();
        Self { path: self.path.clone(), results: Mutex::new(results) }
    }
}

/// The arguments by which a call is known in another session: a tool that a policy asks is told the name of the session (language 11.3).
fn asked(call: &PendingCall) -> Mapping {
    let is_policy = call.id.as_str().contains("@policy:");
    call.args.iter().filter(|(key, _)| !is_policy || ***key != *"session").map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Interceptor for Recording {
    fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a> {
        Box::pin(std::future::ready(self.verdict(about.call)))
    }
}

impl Recording {
    fn verdict(&self, call: &PendingCall) -> Verdict {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(&call.name), Value::Map(asked(call)).to_json());
        if let Some(Results { outcomes, next }) = results.get_mut(&key)
            && let Some((outcome, meta)) = outcomes.get(*next).or(outcomes.last()).cloned()
        {
            *next += 1;
            return Verdict::Answer { outcome, meta };
        }
        // The results of its parts, or of its child, are recorded instead.
        if !call.kind.is_tool() {
            return Verdict::Allow;
        }
        let is_known = results.keys().any(|(tool, _)| *tool == call.name);
        let with = if is_known { " with these arguments" } else { "" };
        Verdict::Elsewhere(format!("`{}` has no result of `{}`{with}; record it with `--record`", self.path.display(), call.name))
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::ToolError;

    use super::*;

    fn call(tool: &str, args: &str) -> Arc<PendingCall> {
        let json = format!(r#"{{"id":"c","name":"{tool}","role":"do","node":"n","args":{args},"idempotency_key":"k","attempt":1}}"#);
        Arc::new(serde_json::from_str(&json).unwrap())
    }

    fn returned(tool: &str, args: &str, outcome: ToolOutcome, meta: Option<Value>) -> SessionEvent {
        let call = call(tool, args);
        let result = trellis_core::ToolResult::new(call.id.clone(), outcome).with_meta(meta);
        SessionEvent::Returned(call, result)
    }

    fn recorded(results: &[(&str, &str, ToolOutcome)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        for (tool, args, outcome) in results {
            recorder.take(&returned(tool, args, outcome.clone(), None));
        }
        recorder.finish().unwrap();
        (folder, path)
    }

    #[test]
    fn what_an_error_says_about_another_attempt_and_meta_come_back() {
        let (_folder, path) = recorded(&[]);
        let recorder = Recorder::create(&path).unwrap();
        let busy = ToolOutcome::Error(ToolError { after: Some(300), ..ToolError::new("busy").finally() });
        recorder.take(&returned("pay", "{}", busy.clone(), Some(Value::Null)));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#""final":true,"after":300"#) && text.contains(r#""meta":null"#), "{text}");
        let answered = Recording::open(&path).unwrap().verdict(&call("pay", "{}"));
        assert_eq!(answered, Verdict::Answer { outcome: busy, meta: Some(Value::Null) });
    }

    #[test]
    fn calls_are_answered_in_order_by_tool_and_arguments() {
        let [one, two, down] =
            [ToolOutcome::Success(Value::Int(1)), ToolOutcome::Success(Value::Int(2)), ToolOutcome::Error(ToolError::new("down"))];
        let (_folder, path) = recorded(&[("pay", "{}", down.clone()), ("pay", "{\"n\":1}", one.clone()), ("pay", "{}", two.clone())]);
        let recording = Recording::open(&path).unwrap();
        assert_eq!(recording.verdict(&call("pay", "{}")), Verdict::answer(down));
        assert_eq!(recording.verdict(&call("pay", "{\"n\":1}")), Verdict::answer(one));
        assert_eq!(recording.verdict(&call("pay", "{}")), Verdict::answer(two.clone()));
        assert_eq!(recording.verdict(&call("pay", "{}")), Verdict::answer(two), "the last one for good");
        let Verdict::Elsewhere(why) = recording.verdict(&call("pay", "{\"n\":2}")) else { panic!() };
        assert!(why.contains("no result of `pay` with these arguments"), "{why}");
    }

    #[test]
    fn a_torn_last_line_is_passed_over_and_any_other_is_named() {
        let (_folder, path) = recorded(&[("pay", "{}", ToolOutcome::Denied(None))]);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"tool\":")).unwrap();
        assert!(Recording::open(&path).is_ok());
        std::fs::write(&path, format!("{whole}junk\n")).unwrap();
        let error = Recording::open(&path).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the recording") && error.ends_with("expected value"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_at_the_end_with_the_file() {
        let recorder = Recorder::create("/dev/full").unwrap();
        recorder.take(&returned("pay", "{}", ToolOutcome::Denied(None), None));
        let error = recorder.finish().unwrap_err().to_string();
        assert!(error.starts_with("the recording `/dev/full` cannot be written: No space left"), "{error}");
    }
}
