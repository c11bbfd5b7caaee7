//! Processes as tools: `process: [cmd, …]` (language C.4).
//!
//! No shell. Arguments go as JSON into `TRELLIS_ARGS` and, with a newline behind them, to standard input. JSON or text comes from standard output;
//! a non-zero exit is an error result with the end of standard error (`stderr.rs`). A tool that must stop gets SIGTERM, and SIGKILL after its grace
//! period.
//!
//! **Invariant:** when a run is over, or dropped, its whole process group is gone, and never more than the bound of its output was held.

pub(super) mod config;
mod start;
mod stderr;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};
use trellis_core::{ToolError, Value, diagnostic::FilePath};

use self::stderr::ErrorStream;
use super::{
    Job, Progress,
    job::{after, stopped, timed_out},
    kind::{Answer, Binding, Obstacle, Pending},
    output,
    sealed::SealedTexts,
};
use crate::secrets::{Secrets, is_withheld};

/// The size from which arguments no longer fit one variable of the environment (on Linux): they go to standard input only, which
/// `TRELLIS_ARGS_ON_STDIN=1` announces.
pub const MAX_ENV_ARGS: usize = (128 << 10) - "TRELLIS_ARGS=\0".len();

/// The time for which output is awaited after the tool itself ended: a process that it left behind may hold the pipe open for ever.
const OUTPUT_DRAIN: Duration = Duration::from_millis(250);

/// A tool that is started as a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Process {
    /// The project file that binds it.
    pub(super) file: FilePath,
    /// The command as written.
    pub(super) command: String,
    /// The program: a path, or a name that `PATH` knows.
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: PathBuf,
    pub(super) grace: Duration,
    /// `output_limit`, where the bound is its own.
    pub(super) output: Option<u64>,
}

impl Binding for Process {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move { self.run_to_end(job).await.into() })
    }

    /// Returns the obstacles to its start, as far as they show without starting it.
    fn obstacles(&self) -> Vec<Obstacle> {
        let obstacle = |why: String| match why.split_once("; ") {
            Some((why, remedy)) => Obstacle::new("process.0", why).help(remedy),
            None => Obstacle::new("process.0", why),
        };
        start::foreseen(self).into_iter().map(obstacle).collect()
    }
}

/// A process with secrets in its environment, which are looked up for each call (language 9.2).
#[derive(Debug)]
struct SealedProcess {
    process: Process,
    env: SealedTexts,
    secrets: Secrets,
}

impl Binding for SealedProcess {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move {
            let (env, mask) = match self.env.fill(&self.secrets) {
                Ok(filled) => filled,
                Err(error) => return Err(error).into(),
            };
            let process = Process { env, ..self.process.clone() };
            let job = Job { mask: job.mask.clone().and(&mask), ..job };
            let result = process.run_to_end(job).await;
            result.map(|value| mask.value(value)).map_err(|error| mask.error(error)).into()
        })
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        self.process.obstacles()
    }
}

impl Process {
    pub(in crate::binding) async fn run_to_end(&self, job: Job<'_>) -> Result<Value, ToolError> {
        let (tool, progress) = (job.tool(), job.progress());
        let mut args = Value::Map(job.args.clone()).to_json();
        let mut command = self.command(&job, &args);
        args.push('\n');
        let child = command.spawn().map_err(|error| start::refused(self, tool, &error))?;
        let (limit, bound) = self.output.map_or((job.bounds.output, "limits.tool_output"), |limit| (limit, "output_limit"));
        let errors = ErrorStream::new(job.mask.clone(), job.bounds.errors);
        let mut running = RunningProcess::new(child, args.into_bytes(), (limit, bound), errors);
        // Its time is checked before its output.
        let cause = tokio::select! {
            biased;
            timeout = after(job.timeout) => Cause::TimedOut(timeout),
            () = job.context.cancel().cancelled() => Cause::Stopped,
            cause = running.pump(progress) => cause,
        };
        match cause {
            Cause::Exited(status) => {
                running.drain(progress).await;
                running.result(tool, status).map_err(|error| start::explained(self, tool, error))
            }
            Cause::TooMuch => {
                running.end(self.grace, progress).await;
                Err(running.too_much(tool))
            }
            Cause::TimedOut(timeout) => {
                running.end(self.grace, progress).await;
                Err(timed_out(tool, timeout))
            }
            // It may have done its work all the same; then that is its result (language 7.6).
            Cause::Stopped => match running.end(self.grace, progress).await {
                Some(status) if status.success() => running.result(tool, status),
                _ => Err(stopped(tool)),
            },
            Cause::Lost(error) => Err(ToolError::new(format!("`{tool}` was lost: {error}"))),
        }
    }

    /// Returns its command without the call: its environment, its folder, and a process group of its own.
    pub(super) fn bare_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_withheld)) {
            command.env_remove(name);
        }
        command.envs(&self.env);
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    /// Returns the reason why the system refused to start it, as the end of a sentence.
    #[cfg(feature = "mcp")]
    pub(super) fn refusal(&self, error: &io::Error) -> String {
        start::reason(self, error)
    }

    /// Returns the reason why the system would refuse to start it, as far as it shows without starting it.
    #[cfg(feature = "mcp")]
    pub(super) fn foreseen(&self) -> Option<String> {
        start::foreseen(self)
    }

    fn command(&self, job: &Job<'_>, args: &str) -> Command {
        let mut command = self.bare_command();
        if args.len() < MAX_ENV_ARGS {
            command.env("TRELLIS_ARGS", args).env_remove("TRELLIS_ARGS_ON_STDIN");
        } else {
            command.env_remove("TRELLIS_ARGS").env("TRELLIS_ARGS_ON_STDIN", "1");
        }
        command.env("TRELLIS_CALL_ID", job.call.id.as_str());
        command.env("TRELLIS_IDEMPOTENCY_KEY", job.call.idempotency_key.as_str());
        command.env("TRELLIS_ATTEMPT", job.call.attempt.to_string());
        command
    }
}

enum Cause {
    Exited(ExitStatus),
    TooMuch,
    TimedOut(Duration),
    Stopped,
    Lost(io::Error),
}

/// A process with its pipes; each pipe is dropped when its end is reached.
struct RunningProcess {
    #[cfg(unix)]
    group: super::process_group::Group,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    args: Vec<u8>,
    written: usize,
    printed: Vec<u8>,
    limit: usize,
    /// The name of the limit.
    bound: &'static str,
    /// True if it printed too much: the rest is read, so that it can end, and thrown away.
    overflown: bool,
    errors: ErrorStream,
}

impl RunningProcess {
    fn new(mut child: Child, args: Vec<u8>, (limit, bound): (u64, &'static str), errors: ErrorStream) -> Self {
        Self {
            #[cfg(unix)]
            group: super::process_group::Group::led_by(child.id()),
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            args,
            written: 0,
            printed: Vec::new(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            bound,
            overflown: false,
            errors,
        }
    }

    /// Feeds and reads until the process exits or printed too much on either stream. May be dropped and called again: nothing is lost.
    async fn pump(&mut self, progress: Progress<'_>) -> Cause {
        let (mut out, mut err) = ([0; 8192], [0; 2048]);
        loop {
            tokio::select! {
                status = self.child.wait() => return status.map_or_else(Cause::Lost, Cause::Exited),
                () = feed(&mut self.stdin, &self.args, &mut self.written) => {}
                length = read(&mut self.stdout, &mut out) => {
                    if !self.overflown && !keep(&mut self.printed, self.limit, &out[..length]) {
                        self.overflown = true;
                        return Cause::TooMuch;
                    }
                }
                length = read(&mut self.stderr, &mut err) => {
                    let was_over = self.errors.is_over();
                    self.errors.push(&err[..length], progress);
                    if self.errors.is_over() && !was_over {
                        return Cause::TooMuch;
                    }
                }
            }
        }
    }

    /// Reads the rest of the pipes after the exit, for a short while.
    async fn drain(&mut self, progress: Progress<'_>) {
        let (stdout, stderr) = (&mut self.stdout, &mut self.stderr);
        let (printed, limit) = (&mut self.printed, self.limit);
        let errors = &mut self.errors;
        let out = async {
            let mut chunk = [0; 8192];
            while stdout.is_some() {
                let length = read(stdout, &mut chunk).await;
                if !keep(printed, limit, &chunk[..length]) {
                    *stdout = None;
                }
            }
        };
        let err = async {
            let mut chunk = [0; 2048];
            while stderr.is_some() && !errors.is_over() {
                let length = read(stderr, &mut chunk).await;
                errors.push(&chunk[..length], progress);
            }
        };
        let _ = timeout(OUTPUT_DRAIN, async { tokio::join!(out, err) }).await;
        self.errors.finish(self.stderr.is_none(), progress);
    }

    /// Ends the process and everything it started: kindly, then by force. Returns its status if it exited.
    async fn end(&mut self, grace: Duration, progress: Progress<'_>) -> Option<ExitStatus> {
        #[cfg(unix)]
        self.group.terminate();
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
        if let Ok(Cause::Exited(status)) = timeout(grace, self.pump(progress)).await {
            self.drain(progress).await;
            return Some(status);
        }
        #[cfg(unix)]
        self.group.kill();
        let _ = self.child.kill().await;
        self.errors.finish(false, progress);
        None
    }

    fn too_much(&self, tool: &str) -> ToolError {
        let printed = if self.errors.is_over() {
            format!("wrote more than {} bytes to standard error, the bound `limits.tool_stderr`", self.errors.limit())
        } else {
            format!("printed more than {} bytes, the bound `{}`", self.limit, self.bound)
        };
        ToolError::new(format!("`{tool}` {printed}, and was stopped"))
    }

    /// Returns the result of a process that exited.
    fn result(&mut self, tool: &str, status: ExitStatus) -> Result<Value, ToolError> {
        if !status.success() {
            let message = match (self.errors.message(), status.code()) {
                (Some(said), Some(_)) => said,
                (Some(said), None) => format!("{}: {said}", how(tool, status)),
                (None, _) => how(tool, status),
            };
            return Err(ToolError { code: status.code().map(|code| Value::Int(code.into())), ..ToolError::new(message) });
        }
        if self.printed.len() > self.limit || self.errors.is_over() {
            return Err(self.too_much(tool));
        }
        output::value(tool, std::mem::take(&mut self.printed))
    }
}

/// Describes for people how a process failed.
fn how(tool: &str, status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("`{tool}` died by signal {signal} ({})", super::process_group::name(signal));
    }
    match status.code() {
        Some(code) => format!("`{tool}` exited with {code}"),
        None => format!("`{tool}` died"),
    }
}

/// Appends a chunk; false if it exceeds the limit: then one byte too many is appended so that the excess shows.
fn keep(printed: &mut Vec<u8>, limit: usize, chunk: &[u8]) -> bool {
    let room = limit.saturating_add(1) - printed.len();
    printed.extend_from_slice(&chunk[..chunk.len().min(room)]);
    printed.len() <= limit
}

/// Writes on; closes the pipe at the end, and also when the tool closed it first, which is its right.
async fn feed(stdin: &mut Option<ChildStdin>, args: &[u8], written: &mut usize) {
    let Some(pipe) = stdin else { return std::future::pending().await };
    match pipe.write(&args[*written..]).await {
        Ok(length) if length > 0 && *written + length < args.len() => *written += length,
        _ => *stdin = None,
    }
}

/// Reads some bytes; at the end of the pipe drops it and returns 0; without a pipe, waits for ever.
async fn read<P: AsyncRead + Unpin>(pipe: &mut Option<P>, chunk: &mut [u8]) -> usize {
    let Some(open) = pipe else { return std::future::pending().await };
    let length = open.read(chunk).await.unwrap_or(0);
    if length == 0 {
        *pipe = None;
    }
    length
}

#[cfg(test)]
mod tests;
