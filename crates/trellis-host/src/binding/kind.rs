//! A kind of binding: the trait that carries out calls, and how one is read from a project file.
//!
//! A kind reads its own keys of a binding and becomes something that runs. [`super::Bindings`] finds it by graph and tool, fills in secrets, masks
//! and bounds; a kind sees one [`Job`] at a time and decides nothing about the graph.

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use trellis_core::{Code, Document, ToolError, Value, diagnostic::Severity, program::Graph, syntax::project::HostConfig};

use super::{Host, Job, config::ConfigReader, limits::Entrance};

/// A future that a [`Binding`] gives.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One kind of execution for the calls of a tool: a process, a function, a service.
///
/// ```
/// use trellis_core::Value;
/// use trellis_host::{
///     Bindings,
///     binding::{Answer, Binding, Job, Pending},
/// };
///
/// /// Answers each call with its own arguments.
/// #[derive(Debug)]
/// struct Echo;
///
/// impl Binding for Echo {
///     fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
///         Box::pin(async move { Answer::from(Ok(Value::from(job.args))) })
///     }
/// }
///
/// let bindings = Bindings::none().bind("echo", Echo);
/// assert!(bindings.binds("", "echo"));
/// ```
pub trait Binding: fmt::Debug + Send + Sync {
    /// Carries a call out. It is dropped where the host goes away; a stop and the end of its time are for it to notice ([`Job::within`]), so that it
    /// can end in good order.
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer>;

    /// Returns the default timeout of a call, if neither the call nor its tool has one (9.5).
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Reasons why a call could not be carried out, found without starting or connecting anything.
    fn obstacles(&self) -> Vec<Obstacle> {
        Vec::new()
    }

    /// A fact to be known before the first call.
    fn notice(&self) -> Option<Notice> {
        None
    }

    /// Reasons that show only when it connects (`check --host --reach`).
    fn reach(&self) -> Pending<'_, Vec<Obstacle>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Returns the JSON Schema by which the other side checks arguments, after [`Binding::reach`]; `None` if it has none, or if its arguments are
    /// not those of the call.
    fn takes(&self) -> Pending<'_, Option<Value>> {
        Box::pin(std::future::ready(None))
    }
}

/// The outcome of one attempt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The tool's value, or its error.
    pub result: Result<Value, ToolError>,
    /// Facts about the attempt, such as the status of a response: recorded and shown, never in the context (9.7).
    pub meta: Option<Value>,
}

impl Answer {
    /// Adds facts about the attempt.
    #[must_use]
    pub fn with_meta(self, meta: Option<Value>) -> Self {
        Self { meta, ..self }
    }
}

impl From<Result<Value, ToolError>> for Answer {
    fn from(result: Result<Value, ToolError>) -> Self {
        Self { result, meta: None }
    }
}

/// A fact about a binding that a person must know before the first call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Another one answers a role than the author named first.
    StandIn {
        /// The role.
        role: String,
        /// The one that answers, and the reason, as words behind "is".
        answered: String,
    },
    /// A reason to start nothing here: the binding would not do what somebody set it up for.
    Refusal(Obstacle),
}

/// A reason why a binding could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The key of the binding that it is about, such as `process.0`; the nearest one around it that is written takes the finding.
    pub place: String,
    /// Its kind.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The reason, as the end of a sentence.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The server, host or provider that it is about, where other bindings may call it too: the same message about it is reported once.
    pub peer: Option<Arc<str>>,
    /// The file that it is about, where it is one that the binding reads.
    pub file: Option<PathBuf>,
}

impl Obstacle {
    /// Creates an obstacle that prevents every success.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        let (place, message) = (place.into(), message.into());
        Self { place, code: Code::UnboundTool, severity: Severity::Error, message, help: None, peer: None, file: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// A warning about a variable that has calls go unencrypted to another machine, if its URL does (language 9.11).
    #[cfg(feature = "http")]
    pub(super) fn unprotected(place: &str, variable: &str, url: &str) -> Option<Self> {
        let host = crate::http::unprotected(url)?;
        let found = Self::new(place, format!("the variable `{variable}` has everything go unencrypted to `{host}`"));
        Some(Self { severity: Severity::Warning, ..found.help("set it to a URL of `https:`").about(&host) })
    }

    /// Names the file that it is about.
    #[must_use]
    pub fn of_file(self, file: &Path) -> Self {
        Self { file: Some(file.to_owned()), ..self }
    }

    /// Names the server, host or provider that it is about.
    #[must_use]
    pub fn about(self, peer: &str) -> Self {
        Self { peer: Some(peer.into()), ..self }
    }
}

/// Time that one server, host or provider has to answer when it is looked for (language 9.8).
pub(super) const REACH: Duration = Duration::from_secs(10);

/// Looks for a server, host or provider, for as long as [`REACH`].
///
/// # Errors
/// The work's own; that nothing answered in time.
#[cfg(feature = "http")]
pub(super) async fn within_reach<T>(peer: &str, work: impl Future<Output = Result<T, ToolError>> + Send) -> Result<T, ToolError> {
    let late = || ToolError::new(format!("{peer} did not answer within {} s", REACH.as_secs()));
    tokio::time::timeout(REACH, work).await.unwrap_or_else(|_| Err(late()))
}

/// The place of a binding in its project, and the host's shared resources.
pub(super) struct Site<'s> {
    pub(super) tool: &'s str,
    /// The folder of the project file, absolute: relative paths start there.
    pub(super) folder: &'s Path,
    /// The root of its graph in the program, empty for the outermost.
    pub(super) root: &'s str,
    /// Its keys, with the holes that are filled when they are used.
    pub(super) config: &'s HostConfig,
    /// The files of the program, to which bindings refer.
    pub(super) documents: &'s [Arc<Document>],
    /// The graph that the binding belongs to, where there is a program.
    pub(super) graph: Option<&'s Graph>,
    pub(super) host: &'s Host,
}

/// A kind of binding.
pub(super) struct Kind {
    /// The key of a binding of this kind.
    pub(super) key: &'static str,
    /// Reads its keys; `None` if a mistake was reported.
    pub(super) read: fn(&mut ConfigReader<'_>, &Site<'_>) -> Option<Carrier>,
}

/// The executor of the calls of a bound tool.
#[derive(Clone, Debug)]
pub(super) enum Carrier {
    /// The binding itself, and where its calls wait for the turn of their server.
    Binding(Arc<dyn Binding>, Option<Entrance>),
    /// The function that is registered under a name.
    Function(Arc<str>),
}

impl Carrier {
    pub(super) fn new(binding: impl Binding + 'static) -> Self {
        Self::Binding(Arc::new(binding), None)
    }

    /// A binding whose calls go through the entrance of their server.
    #[cfg(feature = "mcp")]
    pub(super) fn through(binding: impl Binding + 'static, entrance: Option<Entrance>) -> Self {
        Self::Binding(Arc::new(binding), entrance)
    }
}
