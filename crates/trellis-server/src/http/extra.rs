//! Routes of an application that are mounted beside those of the server, behind the same gates.

use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc};

use axum::{
    Router,
    extract::{FromRequestParts as _, Query, RawPathParams, Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, on},
};
use serde_json::Value as Json;

use super::{App, Problem, ask, fields::unknown};
use crate::{
    gate::{Caller, Right, Rights},
    trouble::{Code, Trouble},
};

/// The answer of a route.
pub type ExtraAnswer = Pin<Box<dyn Future<Output = Result<ExtraReply, Trouble>> + Send>>;

type RunExtra = dyn Fn(ExtraRequest) -> ExtraAnswer + Send + Sync;

/// The calls of sessions that need somebody, without secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallsInNeed {
    /// Those that wait for an approval, as `/api/approvals` lists them.
    pub held: Vec<Json>,
    /// Those that were given up, as `/api/dead-letters` lists them.
    pub dead: Vec<Json>,
}

impl CallsInNeed {
    /// Those of all graphs.
    ///
    /// # Errors
    /// A store fails.
    pub(crate) async fn of(app: &App) -> Result<Self, Trouble> {
        let served = &app.served;
        Ok(Self { held: super::held(served, None).await?, dead: super::dead_letters(served, None).await? })
    }
}

/// A request that passed the gates and has the right of its route.
#[derive(Clone, Debug)]
pub struct ExtraRequest {
    app: Arc<App>,
    /// The token, as people call it.
    pub label: Arc<str>,
    /// The rights of the token.
    pub rights: Rights,
    /// The parts of the path that have names.
    pub path: BTreeMap<String, String>,
    /// The parameters of the query.
    pub query: BTreeMap<String, String>,
    /// The name that the client gave to the request.
    pub key: Option<String>,
    /// The body; null where the route takes none.
    pub body: Json,
}

impl ExtraRequest {
    /// The calls of sessions that need somebody.
    ///
    /// # Errors
    /// A store fails.
    pub async fn calls(&self) -> Result<CallsInNeed, Trouble> {
        CallsInNeed::of(&self.app).await
    }

    /// A part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The text of a key of the body, which has these keys and no others.
    ///
    /// # Errors
    /// The body is no object, has another key, or something else under this one.
    pub fn text(&self, key: &str, known: &[&str]) -> Result<Option<&str>, Trouble> {
        let body = self.body.as_object().ok_or_else(|| Trouble::request("", "the body is an object"))?;
        if let Some(other) = body.keys().find(|key| !known.contains(&&***key)) {
            return Err(unknown("key", other, known).at(format!("/{other}")));
        }
        match body.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(Trouble::request(format!("/{key}"), format!("`{key}` is a text"))),
        }
    }
}

/// The answer of a route: its status and its body; null is none.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtraReply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Json,
}

impl From<Json> for ExtraReply {
    fn from(body: Json) -> Self {
        Self { status: 200, body }
    }
}

/// A route. Its problems are reported as those of the server.
#[derive(Clone)]
pub struct ExtraRoute {
    method: &'static str,
    path: &'static str,
    right: Right,
    /// Rights that are enough, too.
    or: Vec<Right>,
    query: &'static [&'static str],
    run: Arc<RunExtra>,
}

impl ExtraRoute {
    /// A route that needs a right. `path` has parts such as `{name}`; a method other than GET takes a body of JSON.
    pub fn new<F>(method: &'static str, path: &'static str, right: Right, run: impl Fn(ExtraRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ExtraReply, Trouble>> + Send + 'static,
    {
        Self { method, path, right, or: Vec::new(), query: &[], run: Arc::new(move |request| Box::pin(run(request))) }
    }

    /// Adds another right that is enough.
    #[must_use]
    pub fn or(mut self, right: Right) -> Self {
        self.or.push(right);
        self
    }

    /// Sets the parameters of its query.
    #[must_use]
    pub fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    pub(super) fn path(&self) -> &'static str {
        self.path
    }

    /// The request as the route gets it.
    async fn read(&self, app: &Arc<App>, request: Request) -> Result<ExtraRequest, Problem> {
        let (mut parts, body) = request.into_parts();
        let internal = || Trouble::new(Code::Internal, Code::Internal.title()).logged("a route without gates");
        let Caller { rights, label } = parts.extensions.get::<Caller>().cloned().ok_or_else(internal)?;
        if !self.or.iter().any(|or| rights.has(*or)) {
            ask::admit(&Caller { rights, label: Arc::clone(&label) }, self.right)?;
        }
        let bad = |why: String| Problem(Trouble::new(Code::BadRequest, why));
        let path = RawPathParams::from_request_parts(&mut parts, app).await.map_err(|error| bad(error.to_string()))?;
        let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let query = Query::<BTreeMap<String, String>>::try_from_uri(&parts.uri).map_err(|error| bad(error.to_string()))?.0;
        if let Some(other) = query.keys().find(|name| !self.query.contains(&&***name)) {
            return Err(unknown("parameter", other, self.query).into());
        }
        let key = ask::key(&parts.headers)?.map(str::to_owned);
        let body = match self.method {
            "GET" => Json::Null,
            _ => {
                let bytes = ask::read(app, &parts.headers, body).await?;
                match &bytes[..] {
                    [] => Json::Object(serde_json::Map::new()),
                    bytes => serde_json::from_slice(bytes).map_err(|error| Trouble::new(Code::BadJson, error.to_string()))?,
                }
            }
        };
        Ok(ExtraRequest { app: Arc::clone(app), label, rights, path, query, key, body })
    }

    async fn answer(&self, app: &Arc<App>, request: Request) -> Result<Response, Problem> {
        let request = self.read(app, request).await?;
        let ExtraReply { status, body } = (self.run)(request).await?;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        Ok(match body {
            Json::Null => status.into_response(),
            body => (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response(),
        })
    }
}

impl fmt::Debug for ExtraRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtraRoute").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// The router with these routes besides.
pub(super) fn add(router: Router<Arc<App>>, routes: &[ExtraRoute]) -> Router<Arc<App>> {
    routes.iter().cloned().fold(router, |router, route| {
        let method = match route.method {
            "POST" => MethodFilter::POST,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        router.route(route.path, on(method, async move |State(app): State<Arc<App>>, request: Request| route.answer(&app, request).await))
    })
}
