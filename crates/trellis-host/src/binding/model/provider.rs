//! A provider of a chain: what it needs, and how it is asked.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

#[cfg(feature = "processes")]
use crate::binding::process::Process;
use crate::{
    binding::kind::{Binding, Obstacle},
    secrets::{Mask, SecretText, Secrets},
};

use super::{
    openai::{Endpoint, ReadyEndpoint, Setting},
    scripted,
    sealed::SealedText,
};

/// A link of a role's chain.
#[derive(Clone, Debug)]
pub(super) struct ChainLink {
    pub(super) provider: Arc<Provider>,
    pub(super) model: Option<Setting>,
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

/// Who answers.
#[derive(Debug)]
pub(super) enum ProviderKind {
    /// An endpoint that speaks `chat/completions`.
    Endpoint(Endpoint),
    /// A command, with the variables of its environment.
    #[cfg(feature = "processes")]
    Process(Box<Process>, BTreeMap<String, SealedText>),
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

/// Who answers, with everything that it needs.
pub(super) enum ReadyKind {
    Endpoint(ReadyEndpoint),
    #[cfg(feature = "processes")]
    Process(Box<Process>),
    Scripted(PathBuf),
}

impl ChainLink {
    /// Looks up its variables and secrets.
    ///
    /// # Errors
    /// What would set it up: `set `OPENAI_BASE_URL``.
    pub(super) fn ready(&self, secrets: &Secrets) -> Result<ReadyLink<'_>, String> {
        let mut used = Vec::new();
        let kind = match &self.provider.kind {
            ProviderKind::Endpoint(endpoint) => ReadyKind::Endpoint(endpoint.ready(secrets, &mut used)?),
            #[cfg(feature = "processes")]
            ProviderKind::Process(process, env) => ReadyKind::Process(Box::new(with_env(process, env, secrets, &mut used)?)),
            ProviderKind::Scripted(file, _) => ReadyKind::Scripted(file.clone()),
        };
        let model = self.model.as_ref().map(Setting::value).transpose().map_err(|name| format!("set `{name}`"))?;
        Ok(ReadyLink { link: self, model, kind, mask: Mask::of_secrets(used.iter().map(|secret| secret.as_str())) })
    }

    /// Reasons why it could not answer although it is set up, without asking it.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let name = &self.provider.name;
        let of_provider = |why: String| Obstacle::new("model.role", format!("the provider `{name}`: {why}"));
        match &self.provider.kind {
            ProviderKind::Endpoint(_) => Vec::new(),
            #[cfg(feature = "processes")]
            ProviderKind::Process(process, _) => {
                let found = process.obstacles().into_iter();
                found.map(|found| Obstacle { help: found.help, ..of_provider(found.message) }).collect()
            }
            ProviderKind::Scripted(file, is_node) => {
                let as_node = is_node.then(|| {
                    of_provider(format!("`{}` is a file of the graph as well", file.display()))
                        .help("give it a name that begins with `_`: such files are no nodes")
                });
                scripted::problem(file).map(of_provider).into_iter().chain(as_node).collect()
            }
        }
    }
}

impl ReadyLink<'_> {
    pub(super) fn name(&self) -> &str {
        &self.link.provider.name
    }
}

#[cfg(feature = "processes")]
fn with_env(
    process: &Process,
    env: &BTreeMap<String, SealedText>,
    secrets: &Secrets,
    used: &mut Vec<SecretText>,
) -> Result<Process, String> {
    let mut process = process.clone();
    for (name, text) in env {
        process.env.insert(name.clone(), text.fill(secrets, used).map_err(|error| error.to_string())?);
    }
    Ok(process)
}
