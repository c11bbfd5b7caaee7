//! A route: its right, its parameters, its answers, its codes, and who handles it.

use axum::routing::MethodRouter;

use super::App;
use crate::{gate::Right, trouble::Code};

type Methods = MethodRouter<std::sync::Arc<App>>;

/// A route.
pub(super) struct Route {
    /// The name of the operation.
    pub(super) id: &'static str,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The right that it requires; `None` for a public one.
    pub(super) right: Option<Right>,
    /// True if the right `chat` is enough: its handler tells of one's own chat only then.
    pub(super) has_chats: bool,
    pub(super) summary: &'static str,
    pub(super) query: &'static [Parameter],
    /// The headers that it reads.
    pub(super) headers: &'static [&'static str],
    /// The schema of the body, by name; `None` if it has none.
    pub(super) takes: Option<&'static str>,
    /// A body that can be sent.
    pub(super) example: &'static str,
    /// Statuses of success, each with the schema of its body.
    pub(super) answers: &'static [(u16, &'static str)],
    /// The codes of problems that are its own.
    pub(super) codes: &'static [&'static [Code]],
    /// True if it exists only where one graph is served.
    pub(super) is_alias: bool,
    pub(super) handler: fn() -> Methods,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) about: &'static str,
}

pub(super) const fn parameter(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter { name, kind, about }
}
