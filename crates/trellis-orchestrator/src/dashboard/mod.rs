//! The dashboard: the view of a running orchestrator for a browser, and the chat there (orchestrator 4, 8.5).
//!
//! ```text
//! Hands, queue ──look──▶ State ──▶ GET /api/state
//!                          └─changes─▶ events: service channel task outbox cron dead
//! POST /api/channels/web/messages ─▶ Receiver ─▶ queue          Web ─▶ events: message typing
//! ```
//!
//! **Invariant:** a request that changes something reports it after it was stored; every text is masked before it is shown.

mod changes;
mod chat;
mod look;
mod routes;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tokio::net::TcpListener;
use trellis_server::{Served, Server, Settings, extra::News};

pub use self::chat::ChatMessage;
use crate::{
    channel::{Channel, Web},
    inbound::Receiver,
    state::Services,
    tools::Hands,
};

/// The view of an orchestrator for a browser.
#[derive(Clone)]
pub struct Dashboard {
    server: Server,
    view: Arc<View>,
    web: Option<Arc<Web>>,
}

/// The data of routes and events.
struct View {
    hands: Arc<Hands>,
    receiver: Receiver,
    news: News,
    /// The names of the channels that run.
    channels: OnceLock<Vec<String>>,
    services: OnceLock<Arc<dyn Services>>,
}

impl Dashboard {
    /// The dashboard of an orchestrator whose graph is served; with a chat if people may write there.
    pub fn new(served: Served, settings: Settings, hands: Arc<Hands>, receiver: Receiver, has_chat: bool) -> Self {
        let news = served.news();
        let web = has_chat.then(|| Arc::new(Web::new(chat::telling(news.clone()))));
        let view = Arc::new(View { hands, receiver, news, channels: OnceLock::new(), services: OnceLock::new() });
        let mut routes = routes::state(&view);
        routes.extend(has_chat.then(|| routes::chat(&view)).into_iter().flatten());
        let server = Server::with(served, settings, routes);
        Self { server, view, web }
    }

    /// The chat in the browser, as a channel; `None` if nobody may write there.
    pub fn channel(&self) -> Option<Arc<dyn Channel>> {
        self.web.clone().map(|web| web as Arc<dyn Channel>)
    }

    /// The server of the page.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Shows these channels, beside those that the queue knows.
    pub fn show_channels(&self, names: Vec<String>) {
        drop(self.view.channels.set(names));
    }

    /// Shows these services, and starts them on request.
    pub fn show_services(&self, services: Arc<dyn Services>) {
        drop(self.view.services.set(services));
    }

    /// Serves the page until `stop`.
    pub async fn serve(&self, listeners: Vec<TcpListener>, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = self.server.serve_all(listeners, stop) => {}
            () = changes::tell(&self.view, &self.server) => {}
        }
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").field("server", &self.server).finish_non_exhaustive()
    }
}
