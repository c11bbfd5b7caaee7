//! Assembly: from a graph that was loaded to sessions that run it.
//!
//! ```text
//! path ─▶ LiveGraph ─▶ program ─▶ Assembly::assemble ─▶ Runnable ─▶ Sessions ─▶ Observers
//!            └─ each save, a new program ──┘                          └─ StoreSettings: sealed, redacted
//! ```
//!
//! A program, a server and an editor take the same path: they differ in their [`Policy`], their functions and their output.
//!
//! **Invariant:** a program is handed on only if this host can run it.

#[cfg(feature = "reload")]
mod live_graph;
#[cfg(any(feature = "metrics", feature = "telemetry"))]
mod observers;
mod store_settings;

use std::{fmt, path::Path, sync::Arc};

use trellis_core::{
    Diagnostic, Document, Engine, Predicates, Program, compile::apply_severities, diagnostic::Severity, engine::MissingPredicate,
    program::PredicateSource,
};

#[cfg(feature = "reload")]
pub use self::live_graph::{LiveGraph, Reload};
#[cfg(any(feature = "metrics", feature = "telemetry"))]
pub use self::observers::Observers;
pub use self::store_settings::{OpenStore, StoreSettings};
use crate::{
    Bindings, Policy, Secrets, Sessions, Unbound,
    binding::{Host, check_bindings, check_files, check_names},
    sessions::UnknownFunctions,
};

type Register = dyn Fn(Bindings) -> Bindings + Send + Sync;

/// The terms on which graphs are run here.
///
/// ```
/// use trellis_core::Value;
/// use trellis_host::assembly::Assembly;
///
/// let assembly = Assembly::new().functions(|bindings| bindings.function("now", |_, _| Ok(Value::text("noon"))));
/// # drop(assembly);
/// ```
#[derive(Clone)]
pub struct Assembly {
    host: Host,
    policy: Policy,
    max_input: Option<u64>,
    asks_nobody: bool,
    predicates: Predicates,
    register: Arc<Register>,
}

/// A graph that can be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Runnable {
    /// The engine over its program.
    pub engine: Engine,
    /// The carriers of its calls.
    pub bindings: Bindings,
    /// The things that its bindings share; to be closed when nothing is called any more.
    pub host: Host,
}

/// The outcome of assembling.
#[derive(Debug)]
#[non_exhaustive]
pub struct Assembled {
    /// The findings of this host about the graph, beside those of the compiler, with the severities that its files set.
    pub findings: Vec<Diagnostic>,
    /// The graph, if it can be run here.
    pub runnable: Result<Runnable, NotRunnable>,
}

/// The reason why a graph cannot be run here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRunnable {
    /// It has mistakes: the compiler's findings or those of the host say which.
    #[error("the graph has mistakes")]
    Mistakes,
    /// It asks predicates that only a person or a program at the other end answers, and there is none (language 6.2).
    #[error("nobody can be asked whether {} holds", .0.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    Unanswered(Vec<Arc<str>>),
    /// A predicate has no answer here.
    #[error(transparent)]
    Predicate(#[from] MissingPredicate),
    /// A function is registered that the graph does not call.
    #[error(transparent)]
    Functions(#[from] UnknownFunctions),
}

impl Default for Assembly {
    fn default() -> Self {
        Self::new()
    }
}

impl Assembly {
    /// Creates an assembly that runs graphs with the bindings of their files, and asks the client for all other results.
    pub fn new() -> Self {
        Self {
            host: Host::new(),
            policy: Policy::new(),
            max_input: None,
            asks_nobody: false,
            predicates: Predicates::new(),
            register: Arc::new(|bindings| bindings),
        }
    }

    /// Sets the host, whose resources bindings share.
    #[must_use]
    pub fn host(self, host: Host) -> Self {
        Self { host, ..self }
    }

    /// Returns the secrets that bindings are filled with.
    pub fn secrets(&self) -> &Secrets {
        &self.host.secrets
    }

    /// Sets the policy of its sessions: the calls that they may make without approval, and the meaning of a tool without a binding, for each program
    /// at the start and at every reload. Such a tool is no finding where a client carries it out ([`Unbound::Elsewhere`]), a warning where a person
    /// types its result in, else an error, by which the program is refused. [`Sessions::policy`] afterwards changes neither check.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets a bound in bytes for one input; the default is the graph's `limits.input`.
    #[must_use]
    pub fn max_input(self, bytes: Option<u64>) -> Self {
        Self { max_input: bytes, ..self }
    }

    /// Adds answers to predicates of the host, for each program that asks for them; all others are answered step by step, by a binding or by the
    /// client.
    #[must_use]
    pub fn predicates(self, predicates: Predicates) -> Self {
        Self { predicates: self.predicates.and(predicates), ..self }
    }

    /// Sets whether the host can ask nobody: then a graph is refused that asks a predicate of its host.
    #[must_use]
    pub fn asks_nobody(self, asks_nobody: bool) -> Self {
        Self { asks_nobody, ..self }
    }

    /// Adds functions of the embedder: `register` adds them to the bindings of each program.
    #[must_use]
    pub fn functions(self, register: impl Fn(Bindings) -> Bindings + Send + Sync + 'static) -> Self {
        Self { register: Arc::new(register), ..self }
    }

    /// Makes a graph ready whose relative paths begin at `folder`; `program` is present if it compiles.
    pub fn assemble(&self, program: Option<&Arc<Program>>, documents: &[Arc<Document>], folder: &Path) -> Assembled {
        let mut findings = check_bindings(documents);
        findings.extend(check_names(documents));
        findings.extend(check_files(documents, folder).diagnostics);
        let Some(program) = program else {
            apply_severities(documents, &mut findings);
            return Assembled { findings, runnable: Err(NotRunnable::Mistakes) };
        };
        let (bindings, _) = Bindings::new(program, folder, &self.host);
        let bindings = (self.register)(bindings);
        let severity = match self.policy.unbound {
            Unbound::Elsewhere => None,
            Unbound::TypedIn => Some(Severity::Warning),
            Unbound::Fail => Some(Severity::Error),
        };
        findings.extend(severity.into_iter().flat_map(|severity| bindings.unbound_tools(program, severity)));
        findings.extend(bindings.unbound_policy_tools(program));
        findings.extend(bindings.refusals(program));
        apply_severities(program.documents(), &mut findings);
        let is_sound = !findings.iter().any(Diagnostic::is_error);
        let runnable = if is_sound { self.runnable(program, bindings) } else { Err(NotRunnable::Mistakes) };
        Assembled { findings, runnable }
    }

    fn runnable(&self, program: &Arc<Program>, bindings: Bindings) -> Result<Runnable, NotRunnable> {
        bindings.check_functions(program)?;
        let asked = program.predicates().iter().filter(|predicate| matches!(predicate.source, PredicateSource::Host(_)));
        let asked: Vec<_> = asked.map(|predicate| Arc::clone(&predicate.name)).filter(|name| !self.predicates.answers(name)).collect();
        if self.asks_nobody && !asked.is_empty() {
            return Err(NotRunnable::Unanswered(asked));
        }
        let input = self.max_input.unwrap_or(program.limits().input);
        let engine = Engine::new(Arc::clone(program), deferred_predicates(program).and(self.predicates.clone()))?.with_max_input(input);
        Ok(Runnable { engine, bindings, host: self.host.clone() })
    }

    /// Returns the sessions of a graph, stored if there is a store.
    ///
    /// # Errors
    /// A function is registered that the graph does not call.
    pub fn sessions(&self, runnable: Runnable, store: Option<&OpenStore>) -> Result<Sessions, UnknownFunctions> {
        let sessions = Sessions::new(runnable.engine, runnable.bindings)?.policy(self.policy);
        Ok(match store {
            Some(OpenStore { store, graph }) => sessions.store(Arc::clone(store), graph),
            None => sessions,
        })
    }

    /// Rules that sessions are made under.
    pub fn terms(&self) -> Policy {
        self.policy
    }
}

/// Predicates for an engine whose sessions answer them step by step: a binding does, or the client (language 6.2).
pub fn deferred_predicates(program: &Program) -> Predicates {
    let asked = program.predicates().iter().filter(|predicate| !matches!(predicate.source, PredicateSource::Schema(_)));
    asked.fold(Predicates::new(), |known, predicate| known.deferred(&predicate.name))
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly").field("host", &self.host).field("policy", &self.policy).finish_non_exhaustive()
    }
}
