//! A provider of a chain: the settings that it needs, and its requests.

#[cfg(feature = "processes")]
use std::collections::BTreeMap;
use std::{path::PathBuf, sync::Arc, time::Duration};

#[cfg(feature = "processes")]
use super::headless::Headless;
use super::{
    openai::{Endpoint, ReadyEndpoint},
    scripted,
};
#[cfg(feature = "processes")]
use crate::binding::{process::Process, sealed::SealedTexts};
use crate::{
    binding::{
        kind::{Binding, Obstacle},
        variable::TextOrVariable,
    },
    secrets::{Mask, Secrets},
};

/// A link of a role's chain.
#[derive(Clone, Debug)]
pub(super) struct ChainLink {
    pub(super) provider: Arc<Provider>,
    pub(super) model: Option<TextOrVariable>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
}

/// A provider of `models.providers`.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) kind: ProviderKind,
    /// Time that it has, where it is its own.
    pub(super) timeout: Option<Duration>,
}

/// The kind of a provider.
#[derive(Debug)]
pub(super) enum ProviderKind {
    /// An endpoint that speaks `chat/completions`.
    Endpoint(Endpoint),
    /// A command, with the variables of its environment.
    #[cfg(feature = "processes")]
    Process(Box<Process>, SealedTexts),
    /// A program with a model of its own, with the variables of its environment.
    #[cfg(feature = "processes")]
    Headless(Headless, SealedTexts),
    /// A file of replies; and whether that is a node of the graph as well.
    Scripted(PathBuf, bool),
}

/// A link that is set up.
pub(super) struct ReadyLink<'l> {
    pub(super) link: &'l ChainLink,
    pub(super) model: Option<String>,
    pub(super) kind: ReadyKind,
    /// The secrets that were filled in.
    pub(super) mask: Mask,
}

/// A provider that is set up, with everything that it needs.
pub(super) enum ReadyKind {
    Endpoint(ReadyEndpoint),
    #[cfg(feature = "processes")]
    Process(Box<Process>),
    #[cfg(feature = "processes")]
    Headless(Headless, BTreeMap<String, String>),
    Scripted(PathBuf),
}

impl ChainLink {
    /// Looks up its variables and secrets.
    ///
    /// # Errors
    /// The setting that is missing: `set `OPENAI_BASE_URL``.
    pub(super) fn ready(&self, secrets: &Secrets) -> Result<ReadyLink<'_>, String> {
        let (kind, mask) = match &self.provider.kind {
            ProviderKind::Endpoint(endpoint) => {
                let (endpoint, mask) = endpoint.ready(secrets)?;
                (ReadyKind::Endpoint(endpoint), mask)
            }
            #[cfg(feature = "processes")]
            ProviderKind::Process(process, env) => {
                let (env, mask) = env.fill(secrets).map_err(|error| error.message)?;
                (ReadyKind::Process(Box::new(Process { env, ..Process::clone(process) })), mask)
            }
            #[cfg(feature = "processes")]
            ProviderKind::Headless(headless, env) => {
                let (env, mask) = env.fill(secrets).map_err(|error| error.message)?;
                (ReadyKind::Headless(headless.clone(), env), mask)
            }
            ProviderKind::Scripted(file, _) => (ReadyKind::Scripted(file.clone()), Mask::default()),
        };
        let model = self.model.as_ref().map(TextOrVariable::value).transpose().map_err(|name| format!("set `{name}`"))?;
        Ok(ReadyLink { link: self, model, kind, mask })
    }

    /// The variable of the environment that has its address, if that is set.
    pub(super) fn variable(&self) -> Option<&str> {
        let ProviderKind::Endpoint(endpoint) = &self.provider.kind else { return None };
        endpoint.base.in_environment().map(|(name, _)| name)
    }

    /// Reasons why it could not answer although it is set up, without asking it.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let name = &self.provider.name;
        let of_provider = |why: String| Obstacle::new("model.role", format!("the provider `{name}`: {why}")).about(name);
        match &self.provider.kind {
            ProviderKind::Endpoint(endpoint) => {
                let base = endpoint.base.in_environment();
                base.and_then(|(env, url)| Obstacle::unprotected("model.role", env, &url)).into_iter().collect()
            }
            #[cfg(feature = "processes")]
            ProviderKind::Process(process, _) => {
                let found = process.obstacles().into_iter();
                found.map(|found| Obstacle { help: found.help, ..of_provider(found.message) }).collect()
            }
            #[cfg(feature = "processes")]
            ProviderKind::Headless(headless, _) => headless.problem().map(of_provider).into_iter().collect(),
            ProviderKind::Scripted(file, is_node) => {
                let as_node = is_node.then(|| {
                    of_provider(format!("`{}` is a file of the graph as well", file.display()))
                        .help("give it a name that begins with `_`: such files are no nodes")
                });
                let problem = scripted::problem(file).map(|why| of_provider(why).of_file(file));
                problem.into_iter().chain(as_node).collect()
            }
        }
    }
}

impl ReadyLink<'_> {
    pub(super) fn name(&self) -> &str {
        &self.link.provider.name
    }
}
