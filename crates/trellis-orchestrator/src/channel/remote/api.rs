//! Requests to the interface of a provider: JSON in, JSON out.

use std::{fmt, time::Duration};

use serde_json::Value as Json;
use trellis_core::ToolError;
use trellis_host::http::{HttpClient, HttpRequest, status_error};

use super::multipart::Content;
use crate::channel::{ChannelError, Reach};

/// Bytes of an answer at most.
const LARGEST: u64 = 8 << 20;
/// The time that an answer may take.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The status of a provider that takes nothing now.
const UNAVAILABLE: u16 = 503;

/// The interface of a provider.
pub(super) struct Api {
    client: HttpClient,
    /// The URL before the path, which may hold the token.
    base: String,
    /// The value of the header that names the token.
    authorization: Option<String>,
}

/// An answer, whatever its status.
pub(super) struct ApiAnswer {
    pub(super) status: u16,
    /// The wait that the headers ask for.
    pub(super) after: Option<Duration>,
    /// The time until the rate limit of this path ends, if it is exhausted.
    pub(super) empty: Option<Duration>,
    pub(super) body: Json,
}

impl Api {
    pub(super) fn new(base: String, authorization: Option<String>) -> Self {
        Self { client: HttpClient::new(), base, authorization }
    }

    /// Asks with `GET`.
    pub(super) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<ApiAnswer, ChannelError> {
        let query: Vec<String> = query.iter().map(|(key, value)| format!("{key}={}", percent_encode(value))).collect();
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) };
        self.ask("GET", &path, None, ANSWER_TIMEOUT).await
    }

    /// Asks with a body, or without one.
    pub(super) async fn ask(&self, method: &str, path: &str, body: Option<Json>, patience: Duration) -> Result<ApiAnswer, ChannelError> {
        self.ask_with(method, path, body.as_ref().map(Content::json), patience).await
    }

    /// Asks with a body of any form, or without one.
    pub(super) async fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: Option<Content>,
        patience: Duration,
    ) -> Result<ApiAnswer, ChannelError> {
        let asking = self.answer(method, path, body);
        let late = || ChannelError::new("timeout", "the provider does not answer").reaching(Reach::Unknown);
        tokio::time::timeout(patience, asking).await.unwrap_or_else(|_| Err(late()))
    }

    async fn answer(&self, method: &str, path: &str, body: Option<Content>) -> Result<ApiAnswer, ChannelError> {
        let mut request = HttpRequest::new(method, &format!("{}/{path}", self.base)).map_err(failure)?;
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization).map_err(failure)?;
        }
        if let Some(Content { kind, bytes }) = body {
            request = request.header("content-type", &kind).map_err(failure)?.body(bytes);
        }
        let response = self.client.send(request).await.map_err(failure)?;
        let status = response.status();
        let asked = status_error(&response);
        let seconds = |name: &str| response.header(name).and_then(|value| value.trim().parse().ok()).and_then(seconds);
        let after =
            asked.after.map(Duration::from_millis).filter(|_| status == 429).or_else(|| seconds("retry-after").filter(|_| status == 429));
        let is_empty = response.header("x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
        let empty = seconds("x-ratelimit-reset-after").filter(|_| is_empty);
        let body = response.body(LARGEST).await.map_err(failure)?;
        match serde_json::from_slice(&body) {
            Ok(body) => Ok(ApiAnswer { status, after, empty, body }),
            Err(_) if status == 204 => Ok(ApiAnswer { status, after, empty, body: Json::Null }),
            // A page of a proxy, or half an answer: only the status counts.
            Err(_) if !(200..300).contains(&status) => Ok(ApiAnswer { status, after, empty, body: Json::Null }),
            Err(_) => Err(ChannelError::new("unreadable", "the answer of the provider is no JSON").reaching(Reach::Unknown)),
        }
    }
}

impl ApiAnswer {
    /// The error of an unsuccessful answer, from the code and the words that the provider gives.
    pub(super) fn error(&self, method: &str, code: &str, why: &str, is_final: bool) -> ChannelError {
        let mut error = ChannelError::new(code, format!("`{method}`: {why}"));
        error.is_final = is_final && self.status != 429;
        error.after = self.after;
        // What was unavailable did nothing.
        if self.status >= 500 && self.status != UNAVAILABLE {
            error.reach = Reach::Unknown;
        }
        error
    }
}

impl fmt::Debug for Api {
    /// Shows neither the token nor anything that may contain it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Api")
    }
}

/// Seconds with a fraction, as a time of at most a day.
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 86_400.0)).ok()
}

/// The errors of the client: they have no more of a URL than its host. Without a connection nothing arrived.
pub(super) fn failure(error: ToolError) -> ChannelError {
    let code = error.code.as_ref().map_or_else(|| "http".to_owned(), ToString::to_string);
    let reach = if matches!(&*code, "connect" | "tls" | "url" | "header") { Reach::Refused } else { Reach::Unknown };
    ChannelError::new(&code, error.message).reaching(reach)
}

/// A value in a query.
pub(super) fn percent_encode(value: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    value.bytes().map(|byte| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
