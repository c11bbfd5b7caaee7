//! A response: its head, and a body that comes in pieces.

use std::fmt;

use trellis_core::ToolError;

use super::error;

/// A response whose head has come. Dropping it closes its connection, if the body was not read to its end.
pub struct HttpResponse {
    inner: reqwest::Response,
    origin: String,
}

impl HttpResponse {
    pub(super) fn new(inner: reqwest::Response, origin: String) -> Self {
        Self { inner, origin }
    }

    /// Its status, such as 200.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Scheme, host and port that it came from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// A header, the first of its name; `None` also where it is not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Media type of the body in lower case and without parameters, such as `application/json`.
    pub fn media_type(&self) -> Option<String> {
        let media_type = self.header("content-type")?.split(';').next()?.trim();
        (!media_type.is_empty()).then(|| media_type.to_ascii_lowercase())
    }

    /// Waits for the next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// `cut`: the connection broke off.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
        let chunk = self.inner.chunk().await.map_err(|error| error::receiving(&self.origin, &error.without_url()))?;
        Ok(chunk.map(Vec::from))
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    /// `cut`; `too-large` where it is longer than `limit` bytes: no more than these, and the piece that goes beyond them, are read.
    pub async fn body(mut self, limit: u64) -> Result<Vec<u8>, ToolError> {
        let too_large = || ToolError::coded("too-large", format!("`{}` answered with more than {limit} bytes", self.origin)).finally();
        if self.inner.content_length().is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.inner.chunk().await.map_err(|error| error::receiving(&self.origin, &error.without_url()))? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads the beginning of the body, of an error for instance: at most `limit` bytes, less where the connection breaks off.
    pub async fn beginning(mut self, limit: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < limit {
            let Ok(Some(chunk)) = self.inner.chunk().await else { break };
            body.extend_from_slice(&chunk);
        }
        body.truncate(limit);
        body
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpResponse({} {})", self.status(), self.origin)
    }
}
