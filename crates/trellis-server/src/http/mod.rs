//! HTTP: requests become acts, what comes of them becomes turns and problems.
//!
//! ```text
//! Route ──▶ Ask { caller, path, query, headers, body } ──▶ act ──▶ Turn, list or Problem
//!    └────▶ openapi.json
//! ```
//!
//! **Invariant:** no route knows a kind of node, an order of storing, a timeout or a way; each stands in [`routes::routes`] with its right and its codes.

mod answer;
mod approvals;
mod ask;
mod engine;
mod events;
mod fields;
mod follow;
mod graphs;
mod health;
mod html;
mod openapi;
mod problem;
mod routes;
mod server_events;
mod sessions;
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

pub use self::openapi::openapi;
pub(crate) use self::problem::{Logged, Problem};
use self::routes::routes;
use crate::{
    gate::{self, HttpMetrics, RateLimits},
    served::Served,
    settings::Settings,
    trouble::{Code, Trouble},
};

/// The route that needs no token.
pub(crate) const OPEN: &str = "/healthz";

/// What all requests share.
pub(crate) struct App {
    pub(crate) served: Served,
    pub(crate) settings: Settings,
    pub(crate) rates: RateLimits,
    pub(crate) metrics: HttpMetrics,
    /// Named requests that are being done.
    flying: Mutex<BTreeSet<String>>,
    requests: AtomicU64,
}

impl App {
    pub(crate) fn new(served: Served, settings: Settings) -> Self {
        Self {
            served,
            settings,
            rates: RateLimits::default(),
            metrics: HttpMetrics::default(),
            flying: Mutex::default(),
            requests: AtomicU64::new(0),
        }
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

/// The routes, behind all gates.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let is_alone = app.served.only().is_some();
    let routes = routes().filter(|route| is_alone || !route.is_alias);
    let router = routes.fold(Router::new(), |router, route| router.route(route.path, (route.handler)().layer(Extension(route))));
    router
        .fallback(async || Problem(Trouble::new(Code::UnknownRoute, "there is no such route; `/api/openapi.json` lists them")))
        .method_not_allowed_fallback(async || Problem(Trouble::new(Code::Method, "the route does not take this method")))
        .layer(middleware::from_fn_with_state(Arc::clone(app), gate::pass))
        .with_state(Arc::clone(app))
}
