//! `http:`: a call becomes a request to a service, its response the result (language 9.10–9.12).
//!
//! ```text
//! arguments ──request.rs, url.rs──▶ HttpRequest ──the host's client──▶ HttpResponse ──response.rs──▶ Answer
//! ```
//!
//! **Invariant:** filled-in values change neither scheme, host and port of a URL nor the number of its segments, and add no header.

pub(super) mod config;
mod request;
mod response;
mod url;

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use trellis_core::{ToolError, Value, template::Shape};

use self::{
    config::ResponseFormat,
    request::FilledRequest,
    url::{UrlTemplate, base_now, base_obstacle},
};
use super::{
    Job,
    kind::{Answer, Binding, Obstacle, Pending, within_reach},
    variable::TextOrVariable,
};
use crate::{
    Secrets,
    http::{HttpClient, HttpRequest, HttpResponse},
    secrets::{Mask, SHORTEST},
};

/// A tool that is a request to a service.
pub(super) struct Http {
    client: HttpClient,
    secrets: Secrets,
    /// In capitals.
    method: &'static str,
    base: Option<TextOrVariable>,
    url: UrlTemplate,
    query: Option<Shape>,
    headers: Option<Shape>,
    body: RequestBody,
    response: ResponseFormat,
    /// Statuses that are a success beside those from 200 to 299.
    accept: Vec<u16>,
    /// The number of redirects that are followed.
    redirects: u32,
    /// The header that carries the key of the call.
    idempotency: Option<String>,
    ca: Option<PathBuf>,
}

/// The body of a request.
enum RequestBody {
    None,
    Json(Shape),
    Form(Shape),
    Text(Shape),
    /// The arguments as JSON, but for those that a template names.
    ArgumentsBut(BTreeSet<Arc<str>>),
}

impl Binding for Http {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move {
            let FilledRequest { request, secrets } = FilledRequest::new(self, &job);
            for (name, _) in secrets.iter().filter(|(_, value)| value.len() < SHORTEST) {
                job.progress()(&format!("the secret `{name}` is not masked in what is shown: it has fewer than {SHORTEST} bytes"));
            }
            let mut meta = None;
            let work = async {
                let response = self.exchange(request?).await?;
                meta = Some(Value::map([("status", Value::from(i64::from(response.status())))]));
                self.result(&job, response).await
            };
            let result = job.within(work).await;
            let mask = Mask::of_secrets(secrets.iter().map(|(_, value)| value.as_str()));
            Answer { result: result.map(|value| mask.value(value)).map_err(|error| mask.error(error)), meta }
        })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(30))
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let mut found: Vec<Obstacle> = self.base.iter().filter_map(base_obstacle).collect();
        if let Some(ca) = &self.ca
            && let Err(error) = crate::http::check_ca(ca)
        {
            found.push(Obstacle::new("http.ca", error.message));
        }
        let in_environment = self.base.as_ref().and_then(TextOrVariable::in_environment);
        found.extend(in_environment.and_then(|(env, url)| Obstacle::unprotected("http.base", env, &url)));
        found
    }

    fn reach(&self) -> Pending<'_, Vec<Obstacle>> {
        Box::pin(async move {
            let place = if self.base.is_some() { "http.base" } else { "http" };
            let origin = match &self.base {
                // `obstacles` reports a mistake of the base.
                Some(base) => base_now(base).ok(),
                None => self.url.origin(),
            };
            let Some(origin) = origin else { return Vec::new() };
            let reached = within_reach(&format!("`{origin}`"), self.client.reach(&origin, self.ca.as_deref())).await;
            reached.err().map(|error| Obstacle::new(place, error.message).about(&origin)).into_iter().collect()
        })
    }
}

impl Http {
    /// Sends a request and follows its redirects.
    async fn exchange(&self, mut request: HttpRequest) -> Result<HttpResponse, ToolError> {
        let mut left = self.redirects;
        loop {
            let response = self.client.send(request.clone()).await?;
            if !matches!(response.status(), 301..=303 | 307 | 308) || self.accept.contains(&response.status()) {
                return Ok(response);
            }
            let follows = matches!(self.method, "GET" | "HEAD") && self.redirects > 0;
            let Some(location) = response.header("location").filter(|_| follows) else { return Ok(response) };
            let Some(next) = request.redirected(location) else {
                let message = format!("`{}` redirects to another origin, which is not followed", response.origin());
                return Err(ToolError::coded("redirect", message).finally());
            };
            if left == 0 {
                let message = format!("`{}` redirects more than {} times", response.origin(), self.redirects);
                return Err(ToolError::coded("redirect", message).finally());
            }
            left -= 1;
            request = next;
        }
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("method", &self.method).finish_non_exhaustive()
    }
}
