//! Language models: `model: { role, system, format, … }`, and the providers that answer (language 9.17–9.23).
//!
//! ```text
//! arguments ──args:──▶ conversation ──▶ ChatRequest ──▶ chain of the role ──▶ Completion ──▶ result of 9.18
//!                                                        │ endpoint (SSE ─▶ deltas), process, scripted replies
//!                                                        └ the next one after what passes
//! ```
//!
//! A model only names the tools that it would call; `each` makes the calls. Text is reported while it is written, and never stored.
//!
//! **Invariant:** a text of a person, a prompt file or a model is never a template.

mod ask;
mod assembly;
mod chain;
mod completion;
mod config;
mod deltas;
#[cfg(feature = "processes")]
mod headless;
mod messages;
mod models;
mod names;
mod openai;
mod prompt;
mod provider;
mod provider_keys;
mod request;
mod scripted;
mod strict;

use std::{path::PathBuf, time::Duration};

use futures_util::future::join_all;
use serde::Deserialize;
use trellis_core::{ToolError, Value, diagnostic::Severity, span::Spanned, template::Shape};

use self::{
    completion::AnswerFormat,
    provider::{ChainLink, ReadyKind},
};
pub(super) use self::{config::read, models::check_models, scripted::mistakes as script_mistakes};
use super::{
    Job,
    kind::{Answer, Binding, Notice, Obstacle, Pending, within_reach},
};
use crate::{Secrets, http::HttpClient};

/// The default timeout of a call (9.5).
const MODEL_TIMEOUT: Duration = Duration::from_secs(60);

/// A binding to the role of a model.
#[derive(Debug)]
struct Model {
    tool: String,
    role: String,
    /// The prompt file, and whether it is a node of the graph as well.
    system: Option<PathBuf>,
    is_system_a_node: bool,
    format: AnswerFormat,
    stream: Streaming,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    args: Option<Spanned<Shape>>,
    chain: Vec<ChainLink>,
    secrets: Secrets,
    client: HttpClient,
}

/// The cases in which an answer is asked for as a stream (language 9.21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Streaming {
    /// As a stream if there is a watcher of the text.
    #[default]
    Auto,
    Always,
    Never,
}

impl Binding for Model {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move { self.answer(&job).await })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(MODEL_TIMEOUT)
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let mut found = self.prompt_obstacles();
        // One that is not set up is no harm while a later one is.
        let last_ready = self.chain.iter().rposition(|link| link.ready(&self.secrets).is_ok());
        for (place, link) in self.chain.iter().enumerate() {
            match link.ready(&self.secrets) {
                Ok(_) => found.extend(link.obstacles()),
                Err(missing) => {
                    let name = &link.provider.name;
                    let why = format!("the provider `{name}` is not set up");
                    let is_replaced = last_ready.is_some_and(|last| last > place) && self.unanswered_variable(place).is_none();
                    let severity = if is_replaced { Severity::Info } else { Severity::Error };
                    found.push(Obstacle { severity, ..Obstacle::new("model.role", why).help(missing).about(name) });
                }
            }
        }
        found
    }

    fn reach(&self) -> Pending<'_, Vec<Obstacle>> {
        Box::pin(async move {
            let chain = self.chain();
            let asked = chain.ready.iter().map(|link| async move {
                let ReadyKind::Endpoint(endpoint) = &link.kind else { return None };
                let peer = format!("the provider `{}`", link.name());
                let error = within_reach(&peer, endpoint.reach(&self.client)).await.err()?;
                let error = ToolError { message: link.mask.text(&error.message).into_owned(), ..error };
                Some(openai::obstacle("model.role", link.name(), &error))
            });
            join_all(asked).await.into_iter().flatten().collect()
        })
    }

    fn notice(&self) -> Option<Notice> {
        self.half_set_up().map(Notice::Refusal).or_else(|| self.stand_in())
    }
}

impl Model {
    fn prompt_obstacles(&self) -> Vec<Obstacle> {
        let Some(file) = &self.system else { return Vec::new() };
        let unreadable = prompt::text(file).err().map(|error| Obstacle::new("model.system", error.message).of_file(file));
        let as_node = self.is_system_a_node.then(|| {
            Obstacle::new("model.system", format!("`{}` is a file of the graph as well", file.display()))
                .help("give it, or its folder, a name that begins with `_`: such files are no nodes")
        });
        unreadable.into_iter().chain(as_node).collect()
    }
}

/// An error that no policy tries again.
fn lost(code: &str, message: impl Into<String>) -> ToolError {
    ToolError::coded(code, message).finally()
}

/// The code of an error, where it is a text.
fn code(error: &ToolError) -> Option<&str> {
    error.code.as_ref().and_then(Value::as_str)
}
