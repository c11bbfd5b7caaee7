//! From a graph that was loaded to one that can be run here.
//!
//! In: a program with what was found about it. Out: an engine and bindings, or more findings.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use trellis_core::{Diagnostic, Engine, Program, compile::apply_severities, diagnostic::Severity, program::PredicateSource};
use trellis_host::{
    Bindings, Policy, Secrets, Sessions, Unbound,
    binding::{Host, check_bindings},
    runner::deferred_predicates,
};
use trellis_project::Version;

use crate::{
    open::{Opened, Place},
    report::Checked,
    store_config::OpenStore,
    unbound_tools::unbound_tools,
};

/// Who runs graphs here, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunMode {
    /// Whether a program sits at the other end, which carries out what nothing here does.
    pub(crate) json: bool,
    /// Whether a person sits there who can type in what no tool says.
    pub(crate) can_type: bool,
    /// Whether nobody can be asked anything.
    pub(crate) no_input: bool,
    /// Whether every call is approved.
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

/// A graph that can be run.
#[derive(Clone)]
pub(crate) struct Runnable {
    pub(crate) engine: Engine,
    pub(crate) bindings: Bindings,
}

impl Runnable {
    /// Sessions of it, kept in a store if there is one.
    pub(crate) fn sessions(self, terms: RunMode, kept: Option<&OpenStore>) -> Sessions {
        let sessions = Sessions::new(self.engine, self.bindings)
            .unwrap_or_else(|error| unreachable!("nothing here is a function: {error}"))
            .policy(terms.policy());
        match kept {
            Some(OpenStore { store, graph }) => sessions.store(Arc::clone(store), graph),
            None => sessions,
        }
    }
}

impl Loaded {
    pub(crate) fn opened(opened: Opened) -> Self {
        let problems = opened.project.problems().iter().map(ToString::to_string).collect();
        Self { program: opened.compiled.program.clone(), folder: opened.folder().to_owned(), checked: opened.into_checked(), problems }
    }

    pub(crate) fn version(version: &Version, folder: &Path, place: &Place) -> Self {
        let checked = Checked {
            shown_below: place.shown_below(),
            below: place.below.clone(),
            documents: version.documents.clone(),
            diagnostics: version.diagnostics.clone(),
            nodes: version.nodes,
            unchecked: version.unchecked.clone(),
        };
        Self { program: version.program.clone(), folder: folder.to_owned(), checked, problems: version.problems.clone() }
    }
}

impl RunMode {
    /// What these terms let sessions do by themselves.
    fn policy(self) -> Policy {
        let unbound = match (self.json, self.can_type) {
            (true, _) => Unbound::Elsewhere,
            (false, true) => Unbound::TypedIn,
            (false, false) => Unbound::Fail,
        };
        Policy::new().approve_all(self.approve_all).unbound(unbound)
    }

    /// Makes a graph ready; nothing where an author has to mend something first. What this host has to say joins the findings.
    ///
    /// # Errors
    /// It asks a predicate that nobody here can answer.
    pub(crate) fn ready(self, loaded: &mut Loaded) -> anyhow::Result<Option<Runnable>> {
        let mut found = check_bindings(&loaded.checked.documents);
        let Some(program) = loaded.program.clone() else {
            apply_severities(&loaded.checked.documents, &mut found);
            loaded.checked.diagnostics.extend(found);
            return Ok(None);
        };
        let (bindings, _) = Bindings::new(&program, &loaded.folder, &Host::new().secrets(Secrets::from_env()));
        if !self.json {
            let severity = if self.can_type { Severity::Warning } else { Severity::Error };
            found.extend(unbound_tools(&program, &bindings, severity));
        }
        apply_severities(program.documents(), &mut found);
        let is_sound = !found.iter().any(Diagnostic::is_error);
        loaded.checked.diagnostics.extend(found);
        if !is_sound {
            return Ok(None);
        }
        if self.no_input {
            predicates_have_answers(&program)?;
        }
        let predicates = deferred_predicates(&program);
        let input = self.max_input.unwrap_or(program.limits().input);
        let engine = Engine::new(program, predicates)?.with_max_input(input);
        Ok(Some(Runnable { engine, bindings }))
    }
}

/// Predicates that only a host answers need somebody who can be asked (language 6.2).
fn predicates_have_answers(program: &Program) -> anyhow::Result<()> {
    let asked = program.predicates().iter().filter(|predicate| matches!(predicate.source, PredicateSource::Host(_)));
    let names = asked.map(|predicate| format!("`{}`", predicate.name)).collect::<Vec<_>>();
    if !names.is_empty() {
        bail!("nobody can be asked whether {} holds\nrun it without `--no-input`, or with `--json`", names.join(", "));
    }
    Ok(())
}
