//! A response becomes a result or an error (language 9.4, 9.10, 9.12).

use trellis_core::{ToolError, Value};

use super::{Http, config::ResponseFormat};
use crate::{
    binding::Job,
    http::{HttpResponse, status_error},
};

/// Bytes of a text that an error shows.
const MAX_SHOWN_BODY: usize = 4096;

impl Http {
    /// The value of a response, or its error.
    pub(super) async fn result(&self, job: &Job<'_>, response: HttpResponse) -> Result<Value, ToolError> {
        let (status, media_type) = (response.status(), response.media_type());
        let head = ResponseHead { status, media_type: media_type.as_deref(), origin: response.origin().to_owned() };
        if !(200..300).contains(&status) && !self.accept.contains(&status) {
            let error = status_error(&response);
            let limit = usize::try_from(job.output_limit()).unwrap_or(usize::MAX);
            let body = response.beginning(if head.is_json() { limit } else { MAX_SHOWN_BODY }).await;
            return Err(head.with_body(error, &body));
        }
        if let Some(encoding) = response.header("content-encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let message = format!("`{}` answered in the encoding `{encoding}`, which nobody asked for", head.origin);
            return Err(ToolError::coded("content-type", message).finally());
        }
        let body = response.body(job.output_limit()).await?;
        let body = head.value(self.response, &body)?;
        let value = if self.accept.is_empty() { body } else { Value::map([("status", i64::from(status).into()), ("body", body)]) };
        job.bounded(value)
    }
}

/// The head of a response.
struct ResponseHead<'r> {
    status: u16,
    media_type: Option<&'r str>,
    origin: String,
}

impl ResponseHead<'_> {
    fn is_json(&self) -> bool {
        self.media_type.is_some_and(|media_type| media_type == "application/json" || media_type.ends_with("+json"))
    }

    /// The value of a body.
    fn value(&self, format: ResponseFormat, body: &[u8]) -> Result<Value, ToolError> {
        let unfit = |code: &str, message: String| Err(self.with_body(ToolError::coded(code, message).finally(), body));
        let as_json = match format {
            _ if body.is_empty() => return Ok(if format == ResponseFormat::Text { Value::text("") } else { Value::Null }),
            ResponseFormat::Json => true,
            ResponseFormat::Text => false,
            ResponseFormat::Auto => self.is_json(),
        };
        if as_json {
            let text = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
            let value = std::str::from_utf8(text).map_err(|error| error.to_string());
            return value
                .and_then(|text| Value::from_json(text).map_err(|error| error.to_string()))
                .or_else(|why| unfit("malformed_json", format!("`{}` answered with JSON that cannot be read: {why}", self.origin)));
        }
        let is_text = format == ResponseFormat::Text || self.media_type.is_some_and(|media_type| media_type.starts_with("text/"));
        match (is_text, std::str::from_utf8(body)) {
            (true, Ok(text)) => Ok(Value::text(text)),
            (true, Err(_)) => unfit("content-type", format!("`{}` answered with a text that is not UTF-8", self.origin)),
            (false, _) => {
                let media_type = self.media_type.map_or_else(|| "no content type".to_owned(), |media_type| format!("`{media_type}`"));
                let message =
                    format!("`{}` answered with {media_type}, neither JSON nor text; `response` says how to take it", self.origin);
                unfit("content-type", message)
            }
        }
    }

    /// Adds the body of the response to an error: JSON, or the beginning of a text.
    fn with_body(&self, error: ToolError, body: &[u8]) -> ToolError {
        let json = || Value::from_json(std::str::from_utf8(body).ok()?).ok();
        let shown = match self.is_json().then(json).flatten() {
            Some(value) => value,
            None if body.is_empty() => Value::Null,
            None => Value::text(String::from_utf8_lossy(&body[..body.len().min(MAX_SHOWN_BODY)]).trim_end_matches('\u{fffd}')),
        };
        let media_type = self.media_type.map_or(Value::Null, Value::text);
        let data = Value::map([("status", i64::from(self.status).into()), ("type", media_type), ("body", shown)]);
        ToolError { data: Some(data), ..error }
    }
}
