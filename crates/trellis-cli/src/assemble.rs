//! Assembles a loaded graph into sessions for a terminal or for JSON Lines.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use trellis_core::Program;
use trellis_host::{
    Policy, Sessions, Unbound,
    assembly::{Assembly, NotRunnable, OpenStore, Runnable},
    binding::Host,
};
use trellis_project::Version;

use crate::{
    open::{Opened, Place},
    report::Checked,
    store_config::secrets,
};

/// The bound for inputs, in bytes (language A.1).
const MAX_INPUT: &str = "TRELLIS_MAX_INPUT_SIZE";

/// The one who runs graphs here, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunMode {
    /// True if a program sits at the other end, which carries out what nothing here does.
    pub(crate) json: bool,
    /// True if a person can type the results of missing tools.
    pub(crate) can_type: bool,
    /// True if no person can answer.
    pub(crate) no_input: bool,
    /// True if every call is approved.
    pub(crate) approve_all: bool,
    /// Bytes of one input, where the graph does not say.
    pub(crate) max_input: Option<u64>,
}

/// A graph that was loaded.
pub(crate) struct Loaded {
    pub(crate) program: Option<Arc<Program>>,
    /// The folder that relative paths in its project files begin at.
    pub(crate) folder: PathBuf,
    pub(crate) checked: Checked,
    /// Files and folders that could not be read, and why.
    pub(crate) problems: Vec<String>,
}

impl Loaded {
    pub(crate) fn opened(opened: Opened) -> Self {
        let problems = opened.project.problems().iter().map(ToString::to_string).collect();
        Self { program: opened.compiled.program.clone(), folder: opened.folder().to_owned(), checked: opened.into_checked(), problems }
    }

    /// Makes the graph ready; `None` if an author has to mend something first. The findings of this host join the others.
    ///
    /// # Errors
    /// It asks a predicate that this host cannot answer.
    pub(crate) fn ready(&mut self, assembly: &Assembly) -> anyhow::Result<Option<Runnable>> {
        let assembled = assembly.assemble(self.program.as_ref(), &self.checked.documents, &self.folder);
        self.checked.diagnostics.extend(assembled.findings);
        runnable(assembled.runnable)
    }
}

/// The graph, if it can be run; `None` if an author has to mend something first.
///
/// # Errors
/// It asks a predicate that this host cannot answer.
pub(crate) fn runnable(assembled: Result<Runnable, NotRunnable>) -> anyhow::Result<Option<Runnable>> {
    match assembled {
        Ok(runnable) => Ok(Some(runnable)),
        Err(NotRunnable::Mistakes) => Ok(None),
        Err(error @ NotRunnable::Unanswered(_)) => bail!("{error}\nrun it without `--no-input`, or with `--json`"),
        Err(error) => Err(error.into()),
    }
}

/// Returns the findings in a version of the graph at `place`.
pub(crate) fn checked(version: &Version, place: &Place) -> Checked {
    Checked {
        shown_below: place.shown_below(),
        below: place.below.clone(),
        documents: version.documents.clone(),
        diagnostics: version.diagnostics.clone(),
        nodes: version.nodes,
        unchecked: version.unchecked.clone(),
    }
}

impl RunMode {
    /// Returns the assembly of the graph in a folder on these terms, with its secrets.
    pub(crate) fn assembly(self, folder: &Path) -> Assembly {
        self.terms().host(Host::new().secrets(secrets(folder)))
    }

    fn terms(self) -> Assembly {
        let unbound = match (self.json, self.can_type) {
            (true, _) => Unbound::Elsewhere,
            (false, true) => Unbound::TypedIn,
            (false, false) => Unbound::Fail,
        };
        let policy = Policy::new().approve_all(self.approve_all).unbound(unbound);
        Assembly::new().policy(policy).max_input(self.max_input).asks_nobody(self.no_input)
    }

    /// Returns the sessions of a graph in this mode, with a store if there is one.
    pub(crate) fn sessions(self, ready: Runnable, store: Option<&OpenStore>) -> Sessions {
        let sessions = self.terms().sessions(ready, store);
        sessions.unwrap_or_else(|error| unreachable!("nothing here is a function: {error}"))
    }
}

/// The bound that the environment sets, if it does.
pub(crate) fn max_input() -> anyhow::Result<Option<u64>> {
    let Some(text) = env::var_os(MAX_INPUT) else { return Ok(None) };
    let bytes = text.to_str().and_then(|text| text.parse().ok()).filter(|&bytes| bytes > 0);
    let Some(bytes) = bytes else { bail!("{MAX_INPUT} is a number of bytes above 0, not `{}`", text.to_string_lossy()) };
    Ok(Some(bytes))
}
