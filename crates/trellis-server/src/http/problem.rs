//! Problems: errors as RFC 9457 has them.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value as Json, json};

use super::integers::texts;
use crate::trouble::{Code, Trouble, TroubleParts};

/// Trouble as an answer.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) Trouble);

/// The details of an answer that only the log shows.
#[derive(Clone, Debug)]
pub(crate) struct Logged(pub(crate) Arc<str>);

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

impl Problem {
    /// The object of RFC 9457.
    pub(crate) fn json(trouble: &Trouble) -> Json {
        let TroubleParts { code, detail, errors, expected, current, more, .. } = &**trouble;
        let mut problem = Map::new();
        problem.insert("type".into(), format!("/api/explain/{}", code.as_str()).into());
        problem.insert("title".into(), code.title().into());
        problem.insert("status".into(), code.status().into());
        problem.insert("code".into(), code.as_str().into());
        problem.insert("detail".into(), detail.as_str().into());
        if !errors.is_empty() {
            let errors = errors.iter().map(|misfit| json!({ "pointer": misfit.pointer, "message": misfit.message }));
            problem.insert("errors".into(), errors.collect());
        }
        if let Some(expected) = expected {
            problem.insert("expected".into(), expected.clone());
        }
        if let Some(current) = current {
            problem.insert("current".into(), serde_json::to_value(current).unwrap_or_default());
        }
        problem.extend(more.clone());
        Json::Object(problem)
    }

    /// Returns the answer with an object that describes the trouble.
    pub(crate) fn answer(trouble: &Trouble, json: &Json) -> Response {
        let status = StatusCode::from_u16(trouble.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], json.to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = trouble.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if trouble.code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(current) = &trouble.current
            && let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", current.seq))
        {
            headers.insert(header::ETAG, tag);
        }
        if let Some(log) = &trouble.log {
            response.extensions_mut().insert(Logged(log.as_str().into()));
        }
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut json = Self::json(&self.0);
        if self.0.has_texts {
            texts(&mut json);
        }
        Self::answer(&self.0, &json)
    }
}
