//! Endpoints that speak `POST {base}/chat/completions` (language 9.20).

use std::{error::Error, fmt, io::Cursor, path::PathBuf};

use futures_util::{StreamExt, stream};
use sse_stream::SseStream;
use trellis_core::{Mapping, ToolError, Value};

use super::{
    assembly::{self, AnswerAssembly},
    completion::Completion,
    lost,
    request::{LimitKey, SchemaSupport},
};
use crate::{
    binding::{kind::Obstacle, sealed::SealedTexts, variable::TextOrVariable},
    http::{HttpClient, HttpRequest, HttpResponse, status_error},
    secrets::{Mask, Secrets},
};

/// Bytes of the answer to a refused request that are read: its message is in there.
const MAX_REFUSAL: u64 = 64 << 10;

/// Bytes of a stream for each byte that a result may have: a chunk carries little in many bytes.
const STREAM_FACTOR: u64 = 64;

/// An endpoint, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Endpoint {
    pub(super) base: TextOrVariable,
    pub(super) key: Option<SealedTexts>,
    pub(super) headers: SealedTexts,
    pub(super) ca: Option<PathBuf>,
    pub(super) schema: SchemaSupport,
    pub(super) limit_key: LimitKey,
    pub(super) extra: Mapping,
}

/// An endpoint with everything that a request needs.
#[derive(Clone)]
pub(super) struct ReadyEndpoint {
    base: String,
    headers: Vec<(String, String)>,
    ca: Option<PathBuf>,
}

impl Endpoint {
    /// Looks up its variable and its secrets; also the mask of these.
    ///
    /// # Errors
    /// The setting that is missing.
    pub(super) fn ready(&self, secrets: &Secrets) -> Result<(ReadyEndpoint, Mask), String> {
        let base = self.base.value().map_err(|name| format!("set `{name}`"))?;
        let (headers, mut mask) = self.headers.fill(secrets).map_err(|error| error.message)?;
        let mut headers: Vec<_> = headers.into_iter().collect();
        if let Some(key) = &self.key {
            let (key, of_key) = key.fill_one(secrets).map_err(|error| error.message)?;
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
            mask = mask.and(&of_key);
        }
        Ok((ReadyEndpoint { base: base.trim_end_matches('/').to_owned(), headers, ca: self.ca.clone() }, mask))
    }
}

impl ReadyEndpoint {
    /// Asks, and hands on text as it comes.
    ///
    /// # Errors
    /// The codes of 9.4.
    pub(super) async fn ask(
        &self,
        client: &HttpClient,
        body: &Value,
        asking: &RequestOptions<'_>,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Completion, ToolError> {
        let request = self
            .request("POST", "chat/completions")?
            .header("content-type", "application/json")?
            .header("accept", if asking.streams { "text/event-stream" } else { "application/json" })?
            .header("idempotency-key", asking.key)?
            .body(body.to_json());
        let response = client.send(request).await?;
        if !(200..300).contains(&response.status()) {
            return Err(refused(response).await);
        }
        let media_type = response.media_type().unwrap_or_default();
        match media_type.as_str() {
            "text/event-stream" => streamed(response, asking.limit.saturating_mul(STREAM_FACTOR), on_text).await,
            "application/json" => whole(response, asking.limit.saturating_mul(2), on_text).await,
            json if json.ends_with("+json") => whole(response, asking.limit.saturating_mul(2), on_text).await,
            other => Err(lost("content-type", format!("`{}` answered with `{other}`, not with JSON", response.origin()))),
        }
    }

    /// Requests the list of models, which needs the same key and discloses nothing.
    pub(super) async fn reach(&self, client: &HttpClient) -> Result<(), ToolError> {
        let response = client.send(self.request("GET", "models")?.header("accept", "application/json")?).await?;
        match response.status() {
            // An endpoint without a list of models is reachable too.
            200..300 | 404 | 405 | 501 => Ok(()),
            _ => Err(refused(response).await),
        }
    }

    fn request(&self, method: &str, path: &str) -> Result<HttpRequest, ToolError> {
        let mut request = HttpRequest::new(method, &format!("{}/{path}", self.base))?.ca(self.ca.as_deref());
        for (name, value) in &self.headers {
            request = request.header(name, value)?;
        }
        Ok(request)
    }
}

/// The options of a request.
#[derive(Debug)]
pub(super) struct RequestOptions<'a> {
    pub(super) streams: bool,
    /// The idempotency key of the call.
    pub(super) key: &'a str,
    /// Bytes that the result may have.
    pub(super) limit: u64,
}

async fn whole(response: HttpResponse, limit: u64, on_text: &mut (dyn FnMut(&str) + Send)) -> Result<Completion, ToolError> {
    let completion = assembly::whole(&response.body(limit).await?)?;
    if !completion.content.is_empty() {
        on_text(&completion.content);
    }
    Ok(completion)
}

async fn streamed(response: HttpResponse, limit: u64, on_text: &mut (dyn FnMut(&str) + Send)) -> Result<Completion, ToolError> {
    let origin = response.origin().to_owned();
    let bytes = stream::unfold((Some(response), 0_u64), move |(response, read)| async move {
        let mut response = response?;
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let read = read + chunk.len() as u64;
                if read > limit {
                    let why = format!("`{}` answered with more than {limit} bytes", response.origin());
                    return Some((Err(BrokenBody(lost("too-large", why))), (None, read)));
                }
                Some((Ok(Cursor::new(chunk)), (Some(response), read)))
            }
            Ok(None) => None,
            Err(error) => Some((Err(BrokenBody(error)), (None, read))),
        }
    });
    let mut events = std::pin::pin!(SseStream::from_bytes_stream(bytes));
    let mut assembly = AnswerAssembly::default();
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| broken(&origin, error))?;
        if let Some(data) = event.data.filter(|data| !data.is_empty())
            && !assembly.push(&data, on_text)?
        {
            break;
        }
    }
    assembly.finish()
}

/// The error of a body, passed through the stream of events.
#[derive(Debug)]
struct BrokenBody(ToolError);

impl fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for BrokenBody {}

fn broken(origin: &str, error: sse_stream::Error) -> ToolError {
    match error {
        sse_stream::Error::Body(error) => match error.downcast::<BrokenBody>() {
            Ok(body) => body.0,
            Err(error) => ToolError::coded("cut", format!("the answer of `{origin}` broke off: {error}")),
        },
        error => ToolError::coded("malformed_json", format!("the answer of `{origin}` is no stream of events: {error}")),
    }
}

/// Returns the error of a status that is no success, with the endpoint's message about it.
async fn refused(response: HttpResponse) -> ToolError {
    let (status, media_type) = (response.status(), response.media_type());
    let error = status_error(&response);
    let body = response.body(MAX_REFUSAL).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).into_owned();
    let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let said = json.as_ref().and_then(assembly::said);
    let shown = Value::from_json(&text).unwrap_or_else(|_| text.chars().take(1000).collect::<String>().into());
    let data = Value::map([("status", Value::from(u64::from(status))), ("type", media_type.into()), ("body", shown)]);
    let message = said.map_or_else(|| error.message.clone(), |said| format!("{}: {said}", error.message));
    ToolError { message, data: Some(data), ..error }
}

/// An endpoint that cannot be reached, as a finding.
pub(super) fn obstacle(place: &str, name: &str, error: &ToolError) -> Obstacle {
    Obstacle::new(place, format!("the provider `{name}` does not answer as it should: {}", error.message)).about(name)
}
