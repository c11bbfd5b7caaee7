//! Log lines of requests: never with a body, an argument, a token or a query.

use std::{fmt, sync::Arc, time::Duration};

/// One request, when it was answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogLine {
    /// Its id, which an answer of 500 has too.
    pub id: Arc<str>,
    /// The method, if it is a known one.
    pub method: &'static str,
    /// The template of the route, such as `/api/sessions/{id}`.
    pub route: Arc<str>,
    /// The status of the answer.
    pub status: u16,
    /// The time that it took.
    pub took: Duration,
    /// The label of its token.
    pub label: Option<Arc<str>>,
    /// The details of an error that only the log may show.
    pub trouble: Option<Arc<str>>,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, method, route, status, took, .. } = self;
        write!(f, "{method} {route} {status} {}ms {id} {}", took.as_millis(), self.label.as_deref().unwrap_or("-"))?;
        match &self.trouble {
            Some(trouble) => write!(f, " {}", trouble.escape_debug()),
            None => Ok(()),
        }
    }
}
