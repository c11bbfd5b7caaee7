//! HTTP: requests become acts, and their results become turns and problems.
//!
//! ```text
//! Route ──▶ Ask { caller, path, query, headers, body } ──▶ act ──▶ Turn, list or Problem
//!    └────▶ openapi.json
//! ```
//!
//! **Invariant:** no route knows a kind of node, an order of storing, a timeout or an edge; each is listed in [`routes::routes`] with its right and
//! its codes.

mod answer;
mod approvals;
mod ask;
mod dead;
mod drawing;
mod engine;
mod event_sink;
mod events;
mod extra;
mod fields;
mod follow;
mod graphs;
mod health;
mod html;
mod integers;
mod listen;
mod openapi;
mod pass;
mod problem;
mod route;
mod routes;
mod schemas;
mod secrets;
mod server_events;
mod sessions;
mod studio;
mod time;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Extension, Router, middleware};
use tower_http::compression::{
    CompressionLayer, Predicate as _,
    predicate::{NotForContentType, SizeAbove},
};

use self::routes::routes;
pub(crate) use self::{
    answer::{add_html, refused, turn_json},
    approvals::held,
    ask::collected,
    dead::dead_letters,
    fields::{Fields, unknown},
    graphs::report,
    listen::accept,
    problem::Problem,
    sessions::{cursor, cursor_text},
    studio::is_page,
};
pub use self::{
    extra::{CallsInNeed, ExtraAnswer, ExtraReply, ExtraRequest, ExtraRoute},
    html::html,
    openapi::openapi,
};
use crate::{
    gate::{HttpMetrics, RateLimits},
    served::Served,
    settings::Settings,
    trouble::{Code, Trouble},
};

/// The route of the API that needs no token.
const OPEN: &str = "/healthz";

/// Returns whether a route needs no token.
pub(crate) fn is_open(path: &str) -> bool {
    path == OPEN || is_page(path)
}

/// Bytes of an answer that is not worth compressing.
const SMALL: u16 = 1024;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) served: Arc<Served>,
    pub(crate) settings: Settings,
    pub(crate) rates: RateLimits,
    pub(crate) metrics: HttpMetrics,
    /// Describes the routes of a server that serves one graph alone, or several.
    document: fn(bool) -> serde_json::Value,
    /// Routes of the application.
    pub(crate) extra: Vec<ExtraRoute>,
    /// Named requests that are being done.
    flying: Mutex<BTreeSet<String>>,
    requests: AtomicU64,
}

impl App {
    pub(crate) fn new(served: Served, settings: Settings, extra: Vec<ExtraRoute>) -> Self {
        Self {
            served: Arc::new(served),
            settings,
            rates: RateLimits::default(),
            metrics: HttpMetrics::default(),
            document: openapi::document,
            extra,
            flying: Mutex::default(),
            requests: AtomicU64::new(0),
        }
    }

    /// Returns the counts and times of the server, in the format of Prometheus.
    pub(crate) fn measured(&self) -> String {
        format!("{}{}", self.metrics.render(self.rates.streams()), self.served.metrics())
    }

    /// A name for one request.
    pub(crate) fn request_id(&self) -> String {
        format!("{}-{}", self.served.hub.boot, self.requests.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("served", &self.served).field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The routes, and those of other doors, behind all gates.
pub(crate) fn router(app: &Arc<App>, others: Router<Arc<App>>) -> Router {
    let router = routes(app.served.only().is_some())
        .fold(Router::new(), |router, route| router.route(route.path, (route.handler)().layer(Extension(route))));
    extra::add(studio::add(router), &app.extra)
        .merge(others)
        .fallback(async || Problem(Trouble::new(Code::UnknownRoute, "there is no such route; `/api/openapi.json` lists them")))
        .method_not_allowed_fallback(async || Problem(Trouble::new(Code::Method, "the route does not take this method")))
        .layer(middleware::from_fn_with_state(Arc::clone(app), pass::pass))
        // Streams are not compressed: an event must not wait for the next one.
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(SMALL).and(NotForContentType::SSE)))
        .with_state(Arc::clone(app))
}
