//! Runs one session on its console, and turns its end into an exit code.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use anyhow::Context as _;
use tokio::{
    io::{AsyncBufRead, BufReader},
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use trellis_core::{Engine, SessionId, SignalName, Start, diagnostic::did_you_mean, engine::StartError};
use trellis_host::{
    JsonLines, Outcome, Reason, Runner, TextConsole,
    assembly::{OpenStore, Runnable, StoreSettings},
    runner::{Console, RunError},
    store::{Query, Which, check_name},
};

use crate::{
    Exit,
    assemble::RunMode,
    console::{Interactive, Tty},
    markdown, missing_inputs,
    output::OutputFile,
    recording::Taped,
    store_config::open_if_it_can_be,
    terminal::{self, Look, clock_time},
    watch::{Player, Reload},
};

/// Nodes that are named where none is like the one to begin at.
const NODES_NAMED: usize = 8;
/// Of so many sessions that moved last the names are compared with a new one.
const NEAR: usize = 1000;

/// A session that is about to begin.
pub(crate) struct SessionRun {
    pub(crate) ready: Runnable,
    /// The command that runs its graph: `trellis run PATH`.
    pub(crate) command: String,
    /// The store that keeps it.
    pub(crate) keep: StoreSettings,
    /// Edits of its graph, if it is watched.
    pub(crate) news: Option<mpsc::Receiver<Reload>>,
    pub(crate) start: Start,
    /// True if the user named the session.
    pub(crate) is_named: bool,
    pub(crate) terms: RunMode,
    pub(crate) taped: Taped,
    /// The terminal that a person sits at, if one does.
    pub(crate) tty: Option<Tty>,
    /// Bytes of an input, and of a result.
    pub(crate) input: u64,
    pub(crate) result: u64,
}

impl SessionRun {
    /// Runs it to its end over standard input and output; with `--watch`, further sessions follow until the user leaves.
    pub(crate) fn walk(mut self, output: Option<OutputFile>) -> anyhow::Result<Exit> {
        let RunMode { json, no_input, .. } = self.terms;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let host = self.ready.host.clone();
        let (recorder, seeing) = (self.taped.recorder.clone(), self.taped.seeing.clone());
        let outcome = runtime.block_on(async {
            if let Some(tty) = self.tty.take() {
                let console = Interactive::new(tty, Look::of_stdout(), self.input, self.result).context("the terminal cannot be used")?;
                return self.with(console, &[]).await;
            }
            if no_input { self.over(tokio::io::empty(), json).await } else { self.over(BufReader::new(tokio::io::stdin()), json).await }
        });
        runtime.block_on(host.close());
        // A thread may still wait for a line that nobody will type.
        runtime.shutdown_background();
        let seen = seeing.finish();
        if let Some(recorder) = recorder {
            recorder.finish()?;
        }
        let outcome = outcome?;
        seen?;
        if let (Some(file), Reason::Finished) = (output, outcome.reason) {
            file.write(outcome.output.as_ref())?;
        }
        Ok(exit(outcome.reason))
    }

    async fn over(self, reader: impl AsyncBufRead + Unpin, json: bool) -> anyhow::Result<Outcome> {
        let writer = tokio::io::stdout();
        let asked_to_end = [SignalKind::terminate(), SignalKind::hangup()];
        if json {
            // A character may take six bytes in JSON, and something stands around it.
            let line = self.input.max(self.result).saturating_mul(6).saturating_add(4096);
            return self.with(JsonLines::new(reader, writer, line), &asked_to_end).await;
        }
        let console = TextConsole::new(reader, writer, self.input, self.result)
            .echo(!io::stdin().is_terminal())
            .time_of_day(clock_time)
            .notes(tokio::io::stderr());
        let console = if io::stdin().is_terminal() { console.hide(terminal::hide_typing) } else { console };
        if terminal::is_styled() {
            let console = console.format(|text| terminal::adapted(markdown::drawn(text, terminal::width(), Look::of_stdout())));
            self.with(console, &asked_to_end).await
        } else {
            self.with(console, &asked_to_end).await
        }
    }

    async fn with(self, mut console: impl Console, ends: &[SignalKind]) -> anyhow::Result<Outcome> {
        let Self { ready, command, keep, news, start, is_named, terms, taped, .. } = self;
        let store = open_if_it_can_be(&keep).await?;
        let is_resumed = match &store {
            Some(store) if is_named => is_stored(store, &start, terms).await?,
            _ => false,
        };
        let start = if is_resumed || !terms.can_type || terms.json {
            start
        } else {
            match missing_inputs::ask(&mut console, &ready.engine, start).await.map_err(terminal::unwritten)? {
                Ok(start) => start,
                Err(reason) => return Ok(Outcome { reason, output: None, session: None }),
            }
        };
        let store = store.map(|store| taped.seeing.observe_store(store));
        let waiting = start.session.clone().filter(|_| store.is_some() && keep.lasts() && !terms.json && news.is_none());
        let program = ready.engine.clone();
        let signals = || interrupts(ends);
        let over = match news {
            Some(news) => Player { console, terms, taped, ready, store, start, news, broken: false, played: 0 }.play(signals).await,
            None => Runner::new(console, taped.over(terms.sessions(ready, store.as_ref()))).signals(signals()).run(start).await,
        };
        match over {
            Ok(outcome) => {
                if let (Some(id), Reason::EndOfInput | Reason::Interrupted) = (waiting, outcome.reason) {
                    let gap = if id.as_str().starts_with('-') { '=' } else { ' ' };
                    terminal::print_error(&format!("resume with `{command} --session{gap}{id}`\n"));
                }
                Ok(outcome)
            }
            Err(RunError::Console(error)) => Err(terminal::unwritten(error)),
            Err(RunError::Start(refused)) => Err(refusal(&refused, &program)),
            Err(RunError::Exists(id)) => Err(exists(&id)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether a session that somebody named is there: it cannot begin otherwise then. Of one that is not, says whose name it may have been meant
/// to be: to go on with one that only begins so could be wrong.
async fn is_stored(store: &OpenStore, start: &Start, terms: RunMode) -> anyhow::Result<bool> {
    let Some(id) = start.session.as_ref().filter(|id| check_name(id.as_str()).is_ok()) else { return Ok(false) };
    // A store that fails says so when the session begins.
    let Ok(found) = store.store.load(std::slice::from_ref(id)).await else { return Ok(false) };
    if found.iter().any(Option::is_some) {
        return if start.locale.is_some() { Err(exists(id)) } else { Ok(true) };
    }
    if terms.json {
        return Ok(false);
    }
    let query = Query { graph: Some(Arc::clone(&store.graph)), which: Which::Newest, after: None, limit: NEAR };
    let heads = store.store.list(query).await.unwrap_or_default();
    let names: Vec<_> = heads.iter().filter(|head| head.session.as_str().starts_with(id.as_str())).collect();
    if !names.is_empty() {
        let shown = names.iter().take(3).map(|head| format!("`{}`", head.session)).collect::<Vec<_>>().join(", ");
        let more = if names.len() > 3 { ", …" } else { "" };
        terminal::print_note(&format!("`{id}` is a new session: there is {shown}{more}, but `--session` takes whole names"));
    }
    Ok(false)
}

fn exists(id: &SessionId) -> anyhow::Error {
    anyhow::anyhow!(
        "there is a session `{id}` already\nleave out `--context`, `--at` and `--locale` to resume it, or see `trellis session set` and `trellis session goto`"
    )
}

/// Explains why a session cannot begin, and how to fix that.
fn refusal(refused: &StartError, engine: &Engine) -> anyhow::Error {
    let help = match refused {
        StartError::Inputs { .. } => {
            Some("the context of the start is given by `--context KEY=VALUE`, or `--context FILE` with JSON".to_owned())
        }
        StartError::UnknownNode(id) => {
            let ids = || engine.inspect().nodes().iter().map(|node| node.id.as_str());
            let first = || ids().take(NODES_NAMED).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
            let more = if ids().count() > NODES_NAMED { ", …" } else { "" };
            let module = format!("{id}/start");
            let begins = ids().find(|known| *known == module).map(|start| format!("the module `{id}` begins at `{start}`"));
            begins.or_else(|| did_you_mean(id.as_str(), ids())).or_else(|| Some(format!("there are {}{more}", first())))
        }
        _ => None,
    };
    match help {
        Some(help) => anyhow::anyhow!("{refused}\n{help}"),
        None => anyhow::anyhow!("{refused}"),
    }
}

fn exit(reason: Reason) -> Exit {
    match reason {
        Reason::Finished => Exit::Fine,
        Reason::Failed | Reason::Denied | Reason::RolledBack | Reason::EndOfInput => Exit::Failed,
        Reason::Interrupted => Exit::Interrupted,
    }
}

/// Ctrl-C as a signal, and the others of `kinds` likewise. What cannot be heard acts as the system has it.
///
/// A console of a terminal looks after being told to end by itself. Elsewhere it must come this way: a tool that runs must not stay behind.
pub(crate) fn interrupts(kinds: &[SignalKind]) -> mpsc::Receiver<SignalName> {
    let (sender, signals) = mpsc::channel(4);
    for kind in [&[SignalKind::interrupt()], kinds].concat() {
        let Ok(mut raised) = signal(kind) else { continue };
        let sender = sender.clone();
        tokio::spawn(
            async move { while raised.recv().await.is_some() && sender.send(SignalName::new(SignalName::INTERRUPT)).await.is_ok() {} },
        );
    }
    signals
}
