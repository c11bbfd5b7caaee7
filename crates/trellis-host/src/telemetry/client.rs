//! Carries requests to a collector: one at a time, on the exporter's own thread.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::{Agent, Error};

/// More of an answer is not read.
const ANSWER: u64 = 64 * 1024;

/// The reason why the last request failed; the exporter itself only reports the failure.
#[derive(Clone, Debug, Default)]
pub(super) struct LastTrouble(Arc<Mutex<Option<String>>>);

impl LastTrouble {
    pub(super) fn set(&self, why: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    trouble: LastTrouble,
}

impl Client {
    pub(super) fn new(timeout: Duration, trouble: LastTrouble) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // A header with a key must not follow to another place.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("trellis/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), trouble }
    }

    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Error> {
        let (head, body) = request.into_parts();
        let answer = self.agent.run(Request::from_parts(head, &body[..]))?;
        let (head, mut body) = answer.into_parts();
        if !head.status.is_success() {
            self.trouble.set(format!("the collector answers {}", head.status));
        }
        let body = body.with_config().limit(ANSWER).read_to_vec()?;
        Ok(Response::from_parts(head, body.into()))
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    // Nothing else runs on this thread, so waiting here delays nothing.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.post(request).map_err(|error| {
            self.trouble.set(said(&error));
            error.into()
        })
    }
}

/// Returns the error, without the address, which may contain a password.
fn said(error: &Error) -> String {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        Error::Io(error) => error.to_string(),
        Error::Timeout(_) => "the collector does not answer in time".into(),
        Error::HostNotFound => "its host is not found".into(),
        Error::ConnectionFailed => "it cannot be reached".into(),
        Error::BadUri(_) => "its address is none".into(),
        Error::BodyExceedsLimit(_) => "the collector answers too much".into(),
        _ => "the collector does not speak HTTP".into(),
    }
}
