//! A chain of providers: asked in order until one decides (language 11.3).

use std::{path::PathBuf, sync::Arc};

use trellis_core::{Mapping, ToolError, Value};

use super::{CallPattern, Decided, Decision, DecisionSource, ScoreLock, policy_error, score::cut};
use crate::environment::Environment;

/// A provider of decisions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PolicyProvider {
    /// A variable that holds a decision; passes where it is not set or empty.
    Forced(Arc<str>),
    /// Calls that are denied.
    Block(Vec<CallPattern>),
    /// Calls that need an approval.
    Ask(Vec<CallPattern>),
    /// Calls that run, and the rule for the others.
    Allow(Vec<CallPattern>, Otherwise),
    /// A tool that is asked.
    Tool(Arc<str>),
    /// A score of files.
    Score(Box<ScoreLock>),
}

/// The decision of an `allow` about calls that it does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// No decision: the next provider is asked.
    #[default]
    Pass,
    /// They are held for an approval.
    Ask,
    /// They are denied.
    Block,
}

/// The call that is decided about.
#[derive(Clone, Copy, Debug)]
pub struct PolicySubject<'s> {
    /// The tool, or `graph:PATH` of a child.
    pub tool: &'s str,
    /// The other name of a child that begins at a module's `start`: `graph:PATH` of the module.
    pub module: Option<&'s str>,
    /// Its arguments; places of secrets are empty.
    pub args: &'s Mapping,
}

impl PolicySubject<'_> {
    /// Returns whether a pattern matches one of its names, and its arguments.
    fn fits(self, pattern: &CallPattern) -> bool {
        let names = [Some(self.tool), self.module];
        names.into_iter().flatten().any(|name| pattern.matches(name, self.args))
    }
}

/// Providers in their order.
#[derive(Clone, Debug, Default)]
pub struct PolicyChain {
    providers: Vec<PolicyProvider>,
    /// The folder that files are relative to.
    folder: PathBuf,
    environment: Environment,
    /// True if it has a mistake: then it decides about nothing.
    is_faulty: bool,
}

/// The answer of a chain about a call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ChainAnswer {
    /// The decision; `None` if every provider passed.
    pub decided: Option<Decided>,
    /// The last provider that read the world, if one did.
    pub read: Option<DecisionSource>,
    /// Notes of providers that passed.
    pub notes: Vec<Arc<str>>,
}

impl ChainAnswer {
    /// Returns the decision; for a call that runs without one, a record of the evidence that was read.
    pub fn or_run(self) -> Option<Decided> {
        let passed = |source| Decided { notes: self.notes, ..Decided::new(Decision::AutoRun, source) }.note("no provider decides");
        self.decided.or_else(|| self.read.map(passed))
    }
}

impl PolicyChain {
    /// Providers in their order; files are relative to `folder`.
    pub fn new(providers: Vec<PolicyProvider>, folder: impl Into<PathBuf>, environment: Environment) -> Self {
        Self { providers, folder: folder.into(), environment, is_faulty: false }
    }

    /// Lets calls run that the first list of `ask` would hold; what stands before it decides first.
    pub(crate) fn allow_before_ask(&mut self, calls: Vec<CallPattern>) {
        let place = self.providers.iter().position(|provider| matches!(provider, PolicyProvider::Ask(_))).unwrap_or(self.providers.len());
        self.providers.insert(place, PolicyProvider::Allow(calls, Otherwise::Pass));
    }

    /// A chain with a mistake: each call fails with the code `policy`.
    pub(crate) fn faulty() -> Self {
        Self { is_faulty: true, ..Self::default() }
    }

    /// Returns whether it has no provider, so that every call runs.
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && !self.is_faulty
    }

    /// The tools that it asks.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<str>> {
        self.providers.iter().filter_map(|provider| match provider {
            PolicyProvider::Tool(name) => Some(name),
            _ => None,
        })
    }

    /// Decides about a call at `now`, in milliseconds since 1970. `ask` calls a tool of the policy; its error holds the call.
    ///
    /// # Errors
    /// Code `policy`: a provider cannot be asked, since the value of its variable is invalid.
    pub async fn decide<F, Fut>(&self, subject: PolicySubject<'_>, now: u64, ask: F) -> Result<ChainAnswer, ToolError>
    where
        F: Fn(Arc<str>) -> Fut + Sync,
        Fut: Future<Output = Result<Value, ToolError>> + Send,
    {
        if self.is_faulty {
            return Err(policy_error("`policy` has mistakes; `trellis check` lists them"));
        }
        let mut answer = ChainAnswer::default();
        for provider in &self.providers {
            answer.read = provider.reads().or(answer.read);
            let decided = match provider {
                PolicyProvider::Forced(variable) => self.forced(variable)?,
                PolicyProvider::Tool(name) => answered(name, ask(Arc::clone(name)).await, &mut answer.notes),
                PolicyProvider::Score(score) => Some(self.scored(score, subject.args, now).await?),
                listed => listed.lists(subject),
            };
            if let Some(mut decided) = decided {
                decided.notes.splice(..0, std::mem::take(&mut answer.notes));
                return Ok(ChainAnswer { decided: Some(decided), ..answer });
            }
        }
        Ok(answer)
    }

    fn forced(&self, variable: &Arc<str>) -> Result<Option<Decided>, ToolError> {
        let Some(text) = self.environment.find(variable) else { return Ok(None) };
        let text = text.trim();
        let Some(decision) = Decision::parse(text) else {
            return Err(policy_error(format!("`{variable}` holds AUTO_RUN, ASK or BLOCK, not `{}`", cut(text))));
        };
        let evidence = Mapping::from_iter([("env", Value::text(&**variable))]);
        let decided = Decided::new(decision, DecisionSource::Forced).note(format!("`{variable}` is {decision}"));
        Ok(Some(decided.evidence(Value::Map(evidence))))
    }

    async fn scored(&self, score: &ScoreLock, args: &Mapping, now: u64) -> Result<Decided, ToolError> {
        let (score, args) = (score.clone(), args.clone());
        let (folder, environment) = (self.folder.clone(), self.environment.clone());
        let read = tokio::task::spawn_blocking(move || score.decide(&folder, &args, now, &environment));
        read.await.unwrap_or_else(|gone| Err(policy_error(gone.to_string())))
    }
}

impl PolicyProvider {
    /// The source of its decisions, if it reads the world.
    fn reads(&self) -> Option<DecisionSource> {
        match self {
            Self::Forced(_) => Some(DecisionSource::Forced),
            Self::Tool(_) => Some(DecisionSource::Provider),
            Self::Score(_) => Some(DecisionSource::ScoreLock),
            Self::Block(_) | Self::Ask(_) | Self::Allow(..) => None,
        }
    }

    /// The decision of a list.
    fn lists(&self, subject: PolicySubject<'_>) -> Option<Decided> {
        let (patterns, decision, source) = match self {
            Self::Block(patterns) => (patterns, Decision::Block, DecisionSource::Block),
            Self::Ask(patterns) => (patterns, Decision::Ask, DecisionSource::Ask),
            Self::Allow(patterns, _) => (patterns, Decision::AutoRun, DecisionSource::Allow),
            Self::Forced(_) | Self::Tool(_) | Self::Score(_) => return None,
        };
        if let Some(pattern) = patterns.iter().find(|pattern| subject.fits(pattern)) {
            let list = source.as_str();
            return Some(Decided::new(decision, source).note(format!("`{}` is in `{list}`: `{}`", subject.tool, pattern.as_str())));
        }
        let decision = match self {
            Self::Allow(_, Otherwise::Ask) => Decision::Ask,
            Self::Allow(_, Otherwise::Block) => Decision::Block,
            _ => return None,
        };
        Some(Decided::new(decision, source).note(format!("`{}` is not in `allow`", subject.tool)))
    }
}

/// Returns the decision in the answer of a tool. One that names no decision passes on; one that names something else holds the call, as an error
/// does.
fn answered(tool: &str, answer: Result<Value, ToolError>, notes: &mut Vec<Arc<str>>) -> Option<Decided> {
    let evidence = Value::Map(Mapping::from_iter([("tool", Value::text(tool))]));
    let asks = |why: String| Decided::new(Decision::Ask, DecisionSource::Provider).note(why).evidence(evidence.clone());
    let value = match answer {
        Ok(value) => value,
        Err(error) => return Some(asks(format!("`{tool}` was not answered: {}", error.message))),
    };
    let given: Vec<Arc<str>> = match value.get("notes") {
        Some(Value::Text(note)) => vec![Arc::clone(note)],
        Some(Value::List(list)) => list.iter().filter_map(Value::as_str).map(Arc::from).collect(),
        _ => Vec::new(),
    };
    let named = ["decision", "mode"].into_iter().find_map(|key| value.get(key).filter(|named| !named.is_null()));
    let Some(named) = named else {
        notes.push(format!("`{tool}` names no decision").into());
        notes.extend(given);
        return None;
    };
    let Some(decision) = named.as_str().and_then(Decision::parse) else {
        let named = named.to_json();
        return Some(asks(format!("`{tool}` answers AUTO_RUN, ASK or BLOCK, not {}", cut(&named))));
    };
    let note = format!("`{tool}` decides {decision}");
    let notes = if given.is_empty() { vec![Arc::from(note)] } else { given };
    Some(Decided { notes, ..Decided::new(decision, DecisionSource::Provider).evidence(evidence) })
}
