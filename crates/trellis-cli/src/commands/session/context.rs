//! The store and the current graph, which every `session` command needs.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueEnum;
use trellis_core::{Engine, SessionId, engine::NotEntered};
use trellis_host::{
    Clock,
    assembly::{StoreSettings, deferred_predicates},
    history::{HistoryError, Operator, Redactor, Undecided},
    store::{Head, SessionStore},
};
use trellis_orchestrator::visible::visible_line;
use trellis_project::default_path;

use crate::{
    open::{self, DEFAULT_PATH, Opened},
    store_config::{StoreArgs, warn},
};

/// The sessions that are meant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetArgs {
    #[arg(long, value_name = "PATH", help = DEFAULT_PATH)]
    graph: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// The use for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Look,
    Write,
    Replay,
    /// To look at heads only, which needs no graph.
    List,
}

impl Use {
    /// A dry run writes nothing.
    pub(super) fn unless(dry_run: bool) -> Self {
        if dry_run { Self::Look } else { Self::Write }
    }
}

/// The output format.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl OutputArgs {
    pub(super) fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }
}

/// A store, and the current graph if there is one.
pub(crate) struct SessionCommand {
    pub(crate) store: Arc<dyn SessionStore>,
    /// The name that the graph has in the store.
    pub(crate) graph: Arc<str>,
    /// True if the user named the graph.
    pub(crate) is_named: bool,
    opened: Option<Opened>,
    engine: Option<Engine>,
}

impl TargetArgs {
    /// Opens graph and store, and does something with them that changes nothing.
    ///
    /// # Errors
    /// The graph cannot be found or loaded, the store cannot be opened, or `act` fails.
    pub(crate) fn with<T>(&self, act: impl AsyncFnOnce(&SessionCommand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.opened(Use::Look, act)
    }

    /// Opens graph and store as [`TargetArgs::with`], and does something that writes.
    ///
    /// # Errors
    /// As [`TargetArgs::with`].
    pub(crate) fn writing<T>(&self, act: impl AsyncFnOnce(&SessionCommand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.opened(Use::Write, act)
    }

    /// The store alone, as [`TargetArgs::with`] finds it.
    ///
    /// # Errors
    /// The graph cannot be found or loaded.
    pub(super) fn keep(&self) -> anyhow::Result<StoreSettings> {
        Ok(self.graph()?.1)
    }

    /// Opens graph and store for a use, and does something with them.
    ///
    /// # Errors
    /// As [`TargetArgs::with`].
    pub(super) fn opened<T>(&self, what: Use, act: impl AsyncFnOnce(&SessionCommand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let (opened, keep) = match &self.graph {
            None if what == Use::List => self.store.to_list(&default_path()).map_or_else(|| self.graph(), |keep| Ok((None, keep)))?,
            _ => self.graph()?,
        };
        let keep = if what == Use::Replay { keep.with_marks() } else { keep };
        let program = opened.as_ref().and_then(|opened| opened.compiled.program.clone());
        let engine = program.map(|program| Engine::new(Arc::clone(&program), deferred_predicates(&program))).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let done = runtime.block_on(async {
            let open_store = keep.open_to_look().await?;
            if what == Use::Write {
                warn(&keep).await;
            }
            let stand = SessionCommand { store: open_store.store, graph: open_store.graph, is_named: self.graph.is_some(), opened, engine };
            act(&stand).await
        });
        runtime.shutdown_background();
        done
    }

    /// The graph and its store; of a store that was named, also without any graph.
    fn graph(&self) -> anyhow::Result<(Option<Opened>, StoreSettings)> {
        let place = match (open::only(self.graph.as_deref(), "session … --graph"), self.store.alone()) {
            (Err(_), Some(keep)) if self.graph.is_none() => return Ok((None, keep)),
            (place, _) => place?,
        };
        let opened = place.open()?;
        let keep = self.store.of(&place, opened.project.documents());
        Ok((Some(opened), keep))
    }
}

impl SessionCommand {
    /// The graph as it is now.
    ///
    /// # Errors
    /// There is none, or it has errors.
    pub(crate) fn engine(&self) -> anyhow::Result<&Engine> {
        match (&self.engine, &self.opened) {
            (Some(engine), _) => Ok(engine),
            (None, Some(opened)) => {
                let errors = opened.compiled.diagnostics.iter().filter(|found| found.is_error()).count();
                let (what, them) = if errors == 1 { ("an error", "it") } else { ("errors", "them") };
                bail!("the graph has {what}: no session can continue on it\n`trellis check` shows {them}")
            }
            (None, None) => bail!("which graph? `--graph PATH` names it"),
        }
    }

    /// The graph, if it is usable.
    pub(super) fn usable_engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Returns the veil over a session of this graph: without the graph, no value.
    pub(super) fn redactor(&self, graph: &str) -> Redactor {
        let opened = self.opened.as_ref().filter(|_| *graph == *self.graph);
        Redactor::new(opened.map(|opened| opened.project.documents()))
    }

    /// The graph, if it is the one that a session walks.
    ///
    /// # Errors
    /// It is another one; or as [`SessionCommand::engine`].
    pub(super) fn engine_of(&self, head: &Head) -> anyhow::Result<&Engine> {
        let engine = self.engine()?;
        if head.graph != self.graph {
            let (id, graph, here) = (&head.session, visible_line(&head.graph), visible_line(&self.graph));
            bail!("session `{id}` walks the graph `{graph}`, not `{here}`\n`--graph PATH` names it");
        }
        Ok(engine)
    }

    pub(super) fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// Does something to sessions of this graph.
    ///
    /// # Errors
    /// As [`SessionCommand::engine`].
    pub(super) fn operator(&self) -> anyhow::Result<Operator<'_>> {
        Ok(Operator::new(&*self.store, self.engine()?, &self.graph, Clock::system()))
    }
}

/// Explains why a session was not changed, and what to do.
pub(crate) fn explain_error(error: HistoryError, id: &SessionId) -> anyhow::Error {
    let help = match &error {
        HistoryError::Conflict(_) => "somebody else works with it: try again".to_owned(),
        HistoryError::OtherGraph { .. } => "`--graph PATH` names its graph".to_owned(),
        HistoryError::Exists(_) => "`--as NAME` names the new session otherwise".to_owned(),
        HistoryError::Refused(NotEntered::Lacks { .. }) => format!("`trellis session set {id} KEY=VALUE` sets keys"),
        HistoryError::Refused(NotEntered::Ended) => format!("name a record before its end: `trellis session show {id}` lists them"),
        HistoryError::Refused(NotEntered::RollingBack) => "let it finish, or name a record before the rollback".to_owned(),
        HistoryError::Undecided(_, Undecided::Approved(_)) => {
            format!("`trellis run --all`, or `trellis run --session {id}`, resumes it")
        }
        HistoryError::Undecided(_, Undecided::Expired(_)) => "`trellis run --all` resumes it: the call is denied".to_owned(),
        HistoryError::Undecided(_, Undecided::NotHeld(_)) => "`trellis session approve` lists the calls that wait".to_owned(),
        HistoryError::Undecided(_, Undecided::Other { .. }) => format!("`trellis session approve {id} --dry-run` shows it"),
        HistoryError::Undecided(_, Undecided::Unknown(_)) => {
            format!("deny it in `trellis run --session {id}`, which asks for what is missing")
        }
        HistoryError::Unknown(_) => "`trellis session ls` lists them".to_owned(),
        _ => return anyhow!(error),
    };
    anyhow!("{error}\n{help}")
}
