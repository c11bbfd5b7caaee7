//! Where a command about sessions stands: the store, and the graph as it is now.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueEnum;
use trellis_core::{Engine, SessionId, engine::NotEntered};
use trellis_host::{
    Clock,
    history::{HistoryError, Operator, Undecided},
    runner::deferred_predicates,
    store::SessionStore,
};

use crate::{
    kept::{Keep, StoreArgs},
    open::{self, DEFAULT_PATH, Opened},
};

/// Which sessions are meant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Where {
    #[arg(long, value_name = "PATH", help = DEFAULT_PATH)]
    graph: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// How something is printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Form {
    /// How to print it
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

impl Form {
    pub(super) fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }
}

/// A store, and the graph as it is now where there is one.
pub(crate) struct Stand {
    pub(crate) store: Arc<dyn SessionStore>,
    /// The name that the graph has in the store.
    pub(crate) graph: Arc<str>,
    /// Whether somebody named the graph.
    pub(crate) is_named: bool,
    opened: Option<Opened>,
    engine: Option<Engine>,
}

impl Where {
    /// Opens graph and store, and does something with them that changes nothing.
    ///
    /// # Errors
    /// The graph cannot be found or loaded, or the store cannot be opened; or what `act` says.
    pub(crate) fn with<T>(&self, act: impl AsyncFnOnce(&Stand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.opened(false, act)
    }

    /// The same, for one who writes.
    ///
    /// # Errors
    /// As [`Where::with`].
    pub(crate) fn writing<T>(&self, act: impl AsyncFnOnce(&Stand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.opened(true, act)
    }

    /// The store alone, as [`Where::with`] finds it.
    ///
    /// # Errors
    /// The graph cannot be found or loaded.
    pub(super) fn keep(&self) -> anyhow::Result<Keep> {
        Ok(self.graph()?.1)
    }

    /// Either of the two.
    ///
    /// # Errors
    /// As [`Where::with`].
    pub(super) fn opened<T>(&self, writes: bool, act: impl AsyncFnOnce(&Stand) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let (opened, keep) = self.graph()?;
        let program = opened.as_ref().and_then(|opened| opened.compiled.program.clone());
        let engine = program.map(|program| Engine::new(Arc::clone(&program), deferred_predicates(&program))).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let done = runtime.block_on(async {
            let kept = keep.open_to_look().await?;
            if writes {
                keep.warn().await;
            }
            let stand = Stand { store: kept.store, graph: kept.graph, is_named: self.graph.is_some(), opened, engine };
            act(&stand).await
        });
        runtime.shutdown_background();
        done
    }

    /// The graph and its store; of a store that was named, also without any graph.
    fn graph(&self) -> anyhow::Result<(Option<Opened>, Keep)> {
        let place = match (open::only(self.graph.as_deref(), "session … --graph"), self.store.alone()) {
            (Err(_), Some(keep)) if self.graph.is_none() => return Ok((None, keep)),
            (place, _) => place?,
        };
        let opened = place.open()?;
        let keep = self.store.of(&place, opened.project.documents());
        Ok((Some(opened), keep))
    }
}

impl Stand {
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
                bail!("the graph has {what}: nothing can go on with it\n`trellis check` shows {them}")
            }
            (None, None) => bail!("which graph? `--graph PATH` names it"),
        }
    }

    /// The graph, where it can be used.
    pub(super) fn usable_engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Keys of the context that the graph wants hidden (`redact`).
    pub(super) fn hidden(&self) -> Vec<String> {
        let graphs = self.engine.iter().flat_map(|engine| engine.inspect().graphs());
        graphs.flat_map(|graph| &graph.redact).map(|path| path.root().to_string()).collect()
    }

    pub(super) fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// Puts sessions elsewhere.
    ///
    /// # Errors
    /// As [`Stand::engine`].
    pub(super) fn operator(&self) -> anyhow::Result<Operator<'_>> {
        Ok(Operator::new(&*self.store, self.engine()?, Clock::system()))
    }
}

/// Why nothing was done with a session, and what to do.
pub(crate) fn told(error: HistoryError, id: &SessionId) -> anyhow::Error {
    let help = match &error {
        HistoryError::Conflict(_) => "somebody else works with it: try again".to_owned(),
        HistoryError::Exists(_) => "`--as NAME` names the new session otherwise".to_owned(),
        HistoryError::Refused(NotEntered::Lacks { .. }) => format!("`trellis session set {id} KEY=VALUE` sets keys"),
        HistoryError::Refused(NotEntered::Ended) => format!("name a record before its end: `trellis session show {id}` lists them"),
        HistoryError::Refused(NotEntered::RollingBack) => "let it finish, or name a record before the rollback".to_owned(),
        HistoryError::Undecided(_, Undecided::Approved(_)) => {
            format!("`trellis run --all`, or `trellis run --session {id}`, goes on with it")
        }
        HistoryError::Undecided(_, Undecided::Expired(_)) => "`trellis run --all` goes on with it: the call is denied".to_owned(),
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
