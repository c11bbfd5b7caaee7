//! `run --all`: resumes every stored session of a graph that waits for no person.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use anyhow::Context as _;
use tokio::signal::unix::SignalKind;
use trellis_core::state::Ended;
use trellis_host::{
    Policy, Stop, Unbound,
    assembly::{Assembly, Runnable, StoreSettings},
    history::Redactor,
    sessions::{Drive, Driven},
};

use crate::{Exit, observability::Observers, run_session::interrupts, store_config::warn, terminal};

/// Goes on with all sessions, a line for each turn.
///
/// # Errors
/// The store fails.
pub(crate) fn wake(ready: Runnable, keep: &StoreSettings, seeing: &Observers, approve_all: bool, how: Drive) -> anyhow::Result<Exit> {
    // Calls that nothing here carries out are left to other hosts.
    let policy = Policy::new().approve_all(approve_all).unbound(Unbound::Elsewhere);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
    // The reason of a failure may quote secrets.
    let has_secrets = Redactor::new(Some(ready.engine.inspect().documents())).is_needed();
    let host = ready.host.clone();
    let mut tally = Tally { has_secrets, ..Tally::default() };
    let exit = runtime.block_on(async {
        let store = seeing.observe_store(keep.open().await?);
        warn(keep).await;
        let sessions = Assembly::new().policy(policy).sessions(ready, Some(&store))?;
        let sessions = Arc::new(seeing.over(sessions));
        // A tool that runs must not stay behind.
        let mut signals = interrupts(&[SignalKind::terminate(), SignalKind::hangup()]);
        tokio::select! {
            driven = sessions.drive(how, |driven| tally.take(driven)) => Ok(driven.map(|()| Exit::Fine)?),
            error = seeing.stay() => Err(error),
            Some(_) = signals.recv() => anyhow::Ok(Exit::Interrupted),
        }
    });
    runtime.block_on(host.close());
    runtime.shutdown_background();
    let seen = seeing.finish();
    let exit = exit?;
    seen?;
    terminal::print(&tally.line())?;
    Ok(if exit == Exit::Fine && tally.stuck > 0 { Exit::Failed } else { exit })
}

/// The outcomes of the sessions.
#[derive(Default)]
struct Tally {
    turns: usize,
    ended: usize,
    stuck: usize,
    has_secrets: bool,
}

impl Tally {
    fn take(&mut self, driven: Driven<'_>) {
        let line = match driven {
            Driven::Away(error) => return terminal::print_error(&format!("{error}; it is asked again until it is back\n")),
            Driven::Turn(id, Ok(turn)) => {
                self.turns += 1;
                self.ended += usize::from(matches!(turn.stop, Stop::Ended(_)));
                format!("{id}: {}", stands(&turn.stop, self.has_secrets))
            }
            Driven::Turn(id, Err(error)) => {
                self.stuck += 1;
                format!("{id}: {error}")
            }
        };
        // A reader that is gone does not stop the sessions.
        let _ = terminal::print(&format!("{line}\n"));
    }

    fn line(&self) -> String {
        if self.turns + self.stuck == 0 {
            let hint = if io::stdout().is_terminal() { "; `trellis session ls` shows what waits for somebody" } else { "" };
            return format!("no session can resume by itself now{hint}\n");
        }
        let stuck = if self.stuck == 0 { String::new() } else { format!(", {} could not resume", self.stuck) };
        format!("{} resumed, {} of them ended{stuck}\n", self.turns, self.ended)
    }
}

/// Describes the state of a session, in one line.
fn stands(stop: &Stop, has_secrets: bool) -> String {
    match stop {
        Stop::Ask { .. } => "waits for an input".to_owned(),
        Stop::Call { call, .. } => format!("waits for the result of `{}`", call.name),
        Stop::Approve { call, .. } => format!("waits for the approval of `{}`", call.name),
        Stop::Predicate { name, .. } => format!("waits to hear whether `{name}` holds"),
        Stop::Keys { missing, .. } => format!("lacks {}", missing.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")),
        Stop::Changed { call, now } => format!("waits to hear whether `{}` stays, which is `{now}` now", call.name),
        Stop::Running { node, .. } => format!("works at `{node}`"),
        Stop::Sleeping { node, .. } => format!("sleeps at `{node}`"),
        Stop::Ended(ended) => {
            let Ended { reason, node, message, .. } = &**ended;
            let why = message.as_ref().filter(|_| !has_secrets).map(|message| format!(": {message}")).unwrap_or_default();
            format!("{} at `{node}`{why}", reason.as_str())
        }
    }
}
