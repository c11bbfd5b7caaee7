//! A request that passed the gates: its sender, its parameters and its body.

use std::{collections::BTreeMap, str::FromStr, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts as _, Query, RawPathParams, Request},
    http::{HeaderMap, Method, header},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use trellis_core::Value;
use trellis_host::{history::SecretPlaces, journal::RequestKey};

use super::{
    App, Problem,
    fields::{Fields, unknown},
    route::Route,
};
use crate::{
    act::Target,
    digest::digest,
    gate::{Caller, Right},
    trouble::{Code, Trouble},
};

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) app: Arc<App>,
    pub(super) route: &'static Route,
    pub(super) caller: Caller,
    pub(super) headers: HeaderMap,
    method: Method,
    /// The path as it was sent.
    path: String,
    params: Vec<(String, String)>,
    query: BTreeMap<String, String>,
    body: Bytes,
}

/// The longest time that a request waits.
const MAX_WAIT: u64 = 60;
/// The time that a request waits that changes something.
const USUAL_WAIT: u64 = 20;
/// The longest name of a request.
const MAX_KEY: usize = 64;

impl FromRequest<Arc<App>> for Ask {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let internal = || Trouble::new(Code::Internal, Code::Internal.title()).logged("a route without gates");
        let route = *parts.extensions.get::<&'static Route>().ok_or_else(internal)?;
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = match (caller, route.right) {
            (Some(caller), _) => caller,
            (None, None) => Caller { rights: crate::Rights::default(), label: "anyone".into() },
            (None, Some(_)) => return Err(internal().into()),
        };
        if let Some(right) = route.right {
            let right = if route.has_chats && caller.rights.has(Right::Chat) { Right::Chat } else { right };
            admit(&caller, right)?;
        }
        let bad = |why: String| Problem(Trouble::new(Code::BadRequest, why));
        let params = match RawPathParams::from_request_parts(&mut parts, app).await {
            Ok(params) => params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            Err(error) => return Err(bad(ToString::to_string(&error))),
        };
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(|error| bad(error.to_string()))?.0;
        let mut query = BTreeMap::new();
        for (name, value) in pairs {
            let parameter = route.query.iter().find(|known| known.name == name);
            if parameter.is_none() && name != "integers" {
                let known: Vec<_> = route.query.iter().map(|known| known.name).collect();
                return Err(unknown("parameter", &name, &known).into());
            }
            // Before anything is done: what an answer looks like is asked for only then.
            if parameter.is_some_and(|known| known.kind == "boolean") && !["", "true", "false"].contains(&&*value) {
                return Err(bad(format!("`{name}` is true or false, not `{value}`")));
            }
            if query.insert(name.clone(), value).is_some() {
                return Err(bad(format!("`{name}` is given twice")));
            }
        }
        let body = if route.takes.is_some() { read(app, &parts.headers, body).await? } else { Bytes::new() };
        Ok(Self {
            app: Arc::clone(app),
            route,
            caller,
            headers: parts.headers,
            method: parts.method,
            path: parts.uri.path().to_owned(),
            params,
            query,
            body,
        })
    }
}

/// Reads a body of JSON within its bounds.
pub(super) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let bounds = &app.settings.bounds;
    let bytes = collected(body, bounds.body, bounds.body_time).await?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_nothing = bytes.is_empty() && kind.is_empty();
    if !is_nothing && !kind.eq_ignore_ascii_case("application/json") {
        return Err(Trouble::new(Code::MediaType, "send the body with `Content-Type: application/json`").into());
    }
    Ok(bytes)
}

/// Reads a body of at most `limit` bytes, within a time.
///
/// # Errors
/// It is larger, too slow, or broke off.
pub(crate) async fn collected(body: Body, limit: usize, time: Duration) -> Result<Bytes, Trouble> {
    let too_large = || Trouble::new(Code::TooLarge, format!("the body is larger than {limit} bytes")).with("limit", limit);
    // One that says so is not waited for.
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let too_slow = |_| Trouble::new(Code::TooSlow, format!("the body was not there within {} s", time.as_secs()));
    match tokio::time::timeout(time, Limited::new(body, limit).collect()).await.map_err(too_slow)? {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Trouble::new(Code::BadRequest, "the body broke off")),
    }
}

/// Checks that a sender has a right.
///
/// # Errors
/// The token does not have it.
pub(super) fn admit(caller: &Caller, right: Right) -> Result<(), Trouble> {
    if caller.rights.has(right) {
        return Ok(());
    }
    Err(Trouble::new(Code::Forbidden, format!("the token `{}` does not have the right `{right}`", caller.label))
        .with("right", right.as_str()))
}

/// Returns the name of a request, if its client gave it one.
///
/// # Errors
/// The name is none.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<&str>, Trouble> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()));
    key.map(Some).ok_or_else(|| Trouble::new(Code::BadRequest, "`Idempotency-Key` has 1 to 64 visible characters of ASCII"))
}

impl Ask {
    /// Checks that the sender has this right, too.
    ///
    /// # Errors
    /// The token does not have it.
    pub(super) fn admit(&self, right: Right) -> Result<(), Trouble> {
        admit(&self.caller, right)
    }

    /// A part of the path.
    pub(super) fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A number in the path.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn param_number(&self, name: &str) -> Result<u64, Trouble> {
        let text = self.param(name);
        text.parse().map_err(|_| Trouble::new(Code::UnknownRecord, format!("`{text}` is no number of a record")))
    }

    /// A parameter of the query; one that is empty is none.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the items of a parameter, separated by commas; `None` if it is absent, no item if it is empty.
    pub(super) fn query_list(&self, name: &str) -> Option<impl Iterator<Item = &str>> {
        self.query.get(name).map(|value| value.split(',').filter(|item| !item.is_empty()))
    }

    /// A parameter that is a number, `true` or `false`, or something else that can be read.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn query_as<T: FromStr>(&self, name: &str, wanted: &str) -> Result<Option<T>, Trouble> {
        let read = |text: &str| text.parse().map_err(|_| Trouble::new(Code::BadRequest, format!("`{name}` is {wanted}, not `{text}`")));
        self.query(name).map(read).transpose()
    }

    /// Returns whether a parameter is `true`.
    ///
    /// # Errors
    /// It is neither that nor `false`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Trouble> {
        Ok(self.query_as(name, "true or false")?.unwrap_or(false))
    }

    /// Returns the number of items of a page.
    ///
    /// # Errors
    /// It is no number from 1 to 500.
    pub(super) fn limit(&self) -> Result<usize, Trouble> {
        let limit: usize = self.query_as("limit", "a number from 1 to 500")?.unwrap_or(50);
        if (1..=500).contains(&limit) {
            Ok(limit)
        } else {
            Err(Trouble::new(Code::BadRequest, format!("`limit` is a number from 1 to 500, not {limit}")))
        }
    }

    /// Returns whether integers beyond the range of JavaScript are sent as texts.
    pub(super) fn wants_texts(&self) -> bool {
        self.query("integers") == Some("text")
    }

    /// The body.
    ///
    /// # Errors
    /// It is no JSON.
    pub(super) fn body(&self) -> Result<Value, Trouble> {
        Fields::read(&self.body)
    }

    /// The keys of the body.
    ///
    /// # Errors
    /// It is no object, or has other keys.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields, Trouble> {
        Fields::of(self.body()?, known)
    }

    /// The session that the path names.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn target(&self) -> Result<Target, Trouble> {
        Target::find(&self.app.served, self.param("id"), self.query("graph")).await
    }

    /// The number in `If-Match`.
    ///
    /// # Errors
    /// It is no tag of a session.
    pub(super) fn if_match(&self) -> Result<Option<u64>, Trouble> {
        self.tag(header::IF_MATCH)
    }

    /// Returns the number in `If-Match`, which is required.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn if_match_needed(&self) -> Result<u64, Trouble> {
        let detail = "send `If-Match: \"SEQ\"` with the number of the turn that you have seen, so that nothing is done to another one";
        self.if_match()?.ok_or_else(|| Trouble::new(Code::IfMatchRequired, detail))
    }

    /// The number in `If-None-Match`.
    ///
    /// # Errors
    /// It is no tag of a session.
    pub(super) fn if_none_match(&self) -> Result<Option<u64>, Trouble> {
        self.tag(header::IF_NONE_MATCH)
    }

    fn tag(&self, name: header::HeaderName) -> Result<Option<u64>, Trouble> {
        let Some(value) = self.headers.get(&name) else { return Ok(None) };
        // Proxies that compress make a tag weak; the number is the same.
        let strong = |value: &str| value.trim().trim_start_matches("W/").strip_prefix('"')?.strip_suffix('"')?.parse().ok();
        let number = value.to_str().ok().and_then(strong);
        number.map(Some).ok_or_else(|| Trouble::new(Code::BadRequest, format!("`{name}` is the `ETag` of a turn, such as \"3\"")))
    }

    /// Returns how long the request waits, and whether it says so.
    ///
    /// # Errors
    /// It is no number of seconds.
    pub(super) fn wait(&self) -> Result<(Duration, bool), Trouble> {
        let usual = if self.method == Method::GET { 0 } else { USUAL_WAIT };
        let values = self.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let mut preferences = values.flat_map(|value| value.split([',', ';'])).map(str::trim);
        let Some(wait) = preferences.find_map(|preference| preference.strip_prefix("wait=")) else {
            return Ok((Duration::from_secs(usual), false));
        };
        let seconds: u64 = wait
            .parse()
            .map_err(|_| Trouble::new(Code::BadRequest, format!("`Prefer: wait=S` has seconds from 0 to {MAX_WAIT}, not `{wait}`")))?;
        Ok((Duration::from_secs(seconds.min(MAX_WAIT)), true))
    }

    /// Returns the sender and the name of the request. A record that holds a secret at one of these places keeps no digest of the body.
    ///
    /// # Errors
    /// The name is none.
    pub(super) fn request(&self, places: Option<Arc<SecretPlaces>>) -> Result<RequestKey, Trouble> {
        let by = RequestKey::by(Arc::clone(&self.caller.label));
        let Some(key) = key(&self.headers)? else { return Ok(by) };
        let digest = |body: &[u8]| digest(&[self.method.as_str().as_bytes(), self.path.as_bytes(), body]);
        let request = by.with_key(key, Some(digest(&self.body).into()));
        Ok(match places {
            Some(places) => request.veiled(digest(&[]), move |record| places.is_touched_by(record)),
            None => request,
        })
    }

    /// Holds the name of a request while it is being done.
    ///
    /// # Errors
    /// It is being done already.
    pub(super) fn fly(&self, request: &RequestKey) -> Result<Option<Flight>, Trouble> {
        let Some(key) = &request.key else { return Ok(None) };
        let name = format!("{}\n{}\n{key}", self.caller.label, self.path);
        let mut flying = self.app.flying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !flying.insert(name.clone()) {
            return Err(Trouble::new(Code::InProgress, "the request with this key is being done").retry_after(1));
        }
        Ok(Some(Flight { app: Arc::clone(&self.app), name }))
    }
}

/// A named request that is being done.
#[derive(Debug)]
pub(super) struct Flight {
    app: Arc<App>,
    name: String,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.app.flying.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&self.name);
    }
}
