//! The program `trellis`: turns arguments into calls of the other crates, and their results into text and an exit code.
//!
//! **Invariant:** this crate has no rule of the language; no other crate uses the terminal, exit codes or `anyhow`.

mod args;
mod assemble;
mod atomic_write;
mod author;
mod browser;
mod check_policy;
mod columns;
mod commands;
#[cfg(unix)]
mod console;
#[cfg(not(unix))]
#[path = "console/unsupported.rs"]
mod console;
mod context;
mod diff;
mod ending;
mod fix;
mod listen_values;
mod listening;
mod markdown;
mod missing_inputs;
mod observability;
mod open;
mod output;
mod pick_graph;
mod progress;
mod recording;
mod report;
mod run_all;
mod run_session;
mod secret_input;
mod serving;
mod store_config;
mod terminal;
mod unknown_secrets;
mod watch;

use std::{env, io::Write, path::Path, process::ExitCode};

use clap::{
    Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{args::Args, terminal::Closed};

/// Documents are created on several threads and live to the end: with the system's allocator, a check takes 1.5 times as long.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The end of the program, as its exit status (`docs/reference/cli.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well; `run`: finished.
    Fine,
    /// The graph or the flow failed.
    Failed,
    /// Wrong usage, or the host failed.
    Usage,
    /// Ctrl-C, and nothing handled it.
    Interrupted,
    /// Nobody reads standard output any more: the status that a shell gives a program which SIGPIPE ended.
    Unread,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
            Exit::Unread => 141,
        })
    }
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(said) => return tell(&hinted(said)),
    };
    match args.run() {
        Ok(exit) => exit.into(),
        Err(error) if error.is::<Closed>() => Exit::Unread.into(),
        Err(error) => {
            terminal::print_error(&report::failure(&error));
            Exit::Usage.into()
        }
    }
}

/// Explains how to name a graph, if the command takes none here.
fn hinted(mut said: clap::Error) -> clap::Error {
    let is_of_sessions = env::args().nth(1).is_some_and(|command| command == "session");
    if let Some(ContextValue::String(word)) = said.get(ContextKind::InvalidArg)
        && said.kind() == ErrorKind::UnknownArgument
        && is_of_sessions
        && Path::new(word).exists()
    {
        let hint = format!("a graph is named with '--graph {word}'");
        said.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    said
}

/// Prints a help text, the version, or an error in the arguments.
fn tell(said: &clap::Error) -> ExitCode {
    match said.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe && !said.use_stderr() => {
            terminal::print_error(&report::failure(&terminal::unwritten(error)));
            Exit::Usage.into()
        }
        Err(_) if !said.use_stderr() => Exit::Unread.into(),
        _ => u8::try_from(said.exit_code()).unwrap_or(2).into(),
    }
}
