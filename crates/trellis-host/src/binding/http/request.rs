//! One request: templates filled in for a call.

use std::sync::Arc;

use trellis_core::{
    Mapping, ToolError, Value,
    scope::Scope,
    template::{DEFAULT_FUEL, RenderLimits, RenderedPiece, Shape, TemplateError},
};

use super::{
    Http, RequestBody,
    url::{FilledPiece, UrlTemplate, base_now, filled, pairs, plain},
};
use crate::{
    Secrets,
    binding::Job,
    http::HttpRequest,
    secrets::{SecretText, insert},
};

/// A request, and the secrets that went into it.
pub(super) struct FilledRequest {
    pub(super) request: Result<HttpRequest, ToolError>,
    pub(super) secrets: Vec<(Arc<str>, SecretText)>,
}

impl FilledRequest {
    pub(super) fn new(http: &Http, job: &Job<'_>) -> Self {
        let limits = RenderLimits { output: job.output_limit(), fuel: DEFAULT_FUEL };
        let mut filling = Filling { args: &job.args, scope: job.scope(), limits, known: &http.secrets, used: Vec::new() };
        let request = filling.request(http, job.call.idempotency_key.as_str());
        Self { request, secrets: filling.used }
    }
}

/// Fills templates in for one call.
struct Filling<'f> {
    args: &'f Mapping,
    scope: Scope,
    limits: RenderLimits,
    known: &'f Secrets,
    used: Vec<(Arc<str>, SecretText)>,
}

impl Filling<'_> {
    fn request(&mut self, http: &Http, key: &str) -> Result<HttpRequest, ToolError> {
        let base = match &http.base {
            Some(base) => Some(base_now(base)?),
            None => None,
        };
        let mut url = filled(base.as_deref(), &self.pieces(&http.url)?)?;
        if let Some(query) = &http.query {
            let query = pairs(&self.entries(query)?)?;
            if !query.is_empty() {
                url.push(if url.contains('?') { '&' } else { '?' });
                url.push_str(&query);
            }
        }
        let mut request = HttpRequest::new(http.method, &url)?.ca(http.ca.as_deref());
        let headers = http.headers.as_ref().map(|headers| self.value(headers)).transpose()?;
        for (name, value) in headers.as_ref().and_then(Value::as_map).into_iter().flat_map(Mapping::iter) {
            if matches!(value, Value::Null) {
                continue;
            }
            let value = plain(value).ok_or_else(|| ToolError::coded("header", format!("the header `{name}` takes a text")).finally())?;
            request = request.header(name, &value)?;
        }
        if let Some(name) = &http.idempotency
            && !request.has_header(name)
        {
            request = request.header(name, key)?;
        }
        self.with_body(request, &http.body)
    }

    fn with_body(&mut self, request: HttpRequest, body: &RequestBody) -> Result<HttpRequest, ToolError> {
        let (media_type, body) = match body {
            RequestBody::None => return Ok(request),
            RequestBody::Json(shape) => ("application/json", self.value(shape)?.to_json()),
            RequestBody::Form(shape) => ("application/x-www-form-urlencoded", pairs(&self.entries(shape)?)?),
            RequestBody::Text(shape) => {
                let text = plain(&self.value(shape)?).ok_or_else(|| ToolError::coded("template", "`text` takes a text").finally())?;
                ("text/plain; charset=utf-8", text)
            }
            RequestBody::ArgumentsBut(named) => {
                let rest = self.args.iter().filter(|(name, _)| !named.contains(&***name));
                let rest: Mapping = rest.map(|(name, value)| (Arc::clone(name), value.clone())).collect();
                ("application/json", Value::from(rest).to_json())
            }
        };
        let request = if request.has_header("content-type") { request } else { request.header("content-type", media_type)? };
        Ok(request.body(body))
    }

    fn pieces(&mut self, url: &UrlTemplate) -> Result<Vec<FilledPiece>, ToolError> {
        let template = match url {
            UrlTemplate::Fixed(text) => return Ok(vec![FilledPiece::Text(text.clone())]),
            UrlTemplate::Pieces(template) => template,
        };
        let rendered = template.render_pieces(&self.scope, self.limits).map_err(|error| unrendered(&error))?;
        let piece = |piece| {
            Ok(match piece {
                RenderedPiece::Text(text) => FilledPiece::Text(text.to_string()),
                RenderedPiece::Value(value) => FilledPiece::Value(value),
                RenderedPiece::Secret(name) => FilledPiece::Value(Value::text(self.secret(&name)?.as_str())),
            })
        };
        rendered.into_iter().map(piece).collect()
    }

    /// The value of a shape, null where it leaves itself out, with its secrets in place.
    fn value(&mut self, shape: &Shape) -> Result<Value, ToolError> {
        let mut places = Vec::new();
        let value = shape.evaluate(&self.scope, self.limits, &mut places).map_err(|error| unrendered(&error))?;
        let mut value = value.unwrap_or(Value::Null);
        // From the back, so that the offsets before stay true.
        for place in places.iter().rev() {
            let secret = self.secret(&place.name)?;
            insert(&mut value, &place.pointer, place.offset, &secret)
                .ok_or_else(|| ToolError::coded("secret", format!("the secret `{}` has no place in the request", place.name)).finally())?;
        }
        Ok(value)
    }

    /// The entries of a mapping, in the order of the file.
    fn entries(&mut self, shape: &Shape) -> Result<Vec<(Arc<str>, Value)>, ToolError> {
        match shape {
            Shape::Map(entries) => entries.iter().map(|(key, shape)| Ok((Arc::clone(&key.value), self.value(&shape.value)?))).collect(),
            other => match self.value(other)? {
                Value::Map(entries) => Ok(entries.iter().map(|(key, value)| (Arc::clone(key), value.clone())).collect()),
                _ => Ok(Vec::new()),
            },
        }
    }

    fn secret(&mut self, name: &str) -> Result<SecretText, ToolError> {
        let value = self.known.find(name).map_err(|error| ToolError::from(error).finally())?;
        self.used.push((name.into(), value.clone()));
        Ok(value)
    }
}

fn unrendered(error: &TemplateError) -> ToolError {
    ToolError::coded("template", format!("the request cannot be made: {}", error.message)).finally()
}
