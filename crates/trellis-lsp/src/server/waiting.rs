//! Requests that wait for the link of the newest text, for a bounded time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, at, never};
use lsp_server::{Request, RequestId};

use crate::{state::ServerState, wire::Uri};

/// The longest wait for a link.
const PATIENCE: Duration = Duration::from_secs(2);

/// A request that waits.
struct Waiting {
    request: Request,
    /// The text that its positions are about.
    text: Option<Arc<str>>,
    until: Instant,
}

/// The requests that wait, in order.
#[derive(Default)]
pub(super) struct Queue(Vec<Waiting>);

impl Queue {
    /// Lets a request wait, from now on.
    pub(super) fn add(&mut self, state: &mut ServerState, request: Request) {
        let text = text(state, &request);
        self.0.push(Waiting { request, text, until: Instant::now() + PATIENCE });
    }

    /// Takes out those that have waited too long, or whose text is another one now: their positions are those of the old one.
    pub(super) fn outdated(&mut self, state: &mut ServerState) -> Vec<RequestId> {
        let now = Instant::now();
        let is_outdated = |waiting: &mut Waiting| waiting.until <= now || text(state, &waiting.request) != waiting.text;
        self.0.extract_if(.., is_outdated).map(|waiting| waiting.request.id).collect()
    }

    /// Removes a request that is tried again: `is_over` returns whether it was answered; otherwise it keeps waiting.
    pub(super) fn ask_again(&mut self, mut is_over: impl FnMut(&Request) -> bool) {
        self.0.retain(|waiting| !is_over(&waiting.request));
    }

    /// Takes out a request, if it waits.
    pub(super) fn take(&mut self, id: &RequestId) -> Option<RequestId> {
        let at = self.0.iter().position(|waiting| waiting.request.id == *id)?;
        Some(self.0.remove(at).request.id)
    }

    /// Takes out all of them.
    pub(super) fn take_all(&mut self) -> Vec<RequestId> {
        std::mem::take(&mut self.0).into_iter().map(|waiting| waiting.request.id).collect()
    }

    /// Returns what rings when the first of them has waited too long.
    pub(super) fn timer(&self) -> Receiver<Instant> {
        self.0.iter().map(|waiting| waiting.until).min().map_or_else(never, at)
    }
}

/// Returns the newest text of the file that a request is about.
fn text(state: &mut ServerState, request: &Request) -> Option<Arc<str>> {
    let uri = Uri(request.params.pointer("/textDocument/uri")?.as_str()?.to_owned());
    let (graph, path) = state.graph(&uri)?;
    graph.document(&path).map(|document| Arc::clone(&document.text))
}
