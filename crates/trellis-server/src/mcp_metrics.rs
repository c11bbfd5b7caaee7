//! The counts of MCP.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

/// Counts of requests: by method, and by whether it was done, refused by a tool, or no request.
#[derive(Debug, Default)]
pub(crate) struct McpMetrics(Mutex<BTreeMap<(&'static str, &'static str), u64>>);

impl McpMetrics {
    pub(crate) fn count(&self, method: &'static str, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((method, outcome)).or_default() += 1;
    }

    /// All of it in the text format of Prometheus.
    pub(crate) fn render(&self) -> String {
        let mut out = String::from("# HELP trellis_mcp_requests_total Requests over MCP.\n# TYPE trellis_mcp_requests_total counter\n");
        for ((method, outcome), count) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "trellis_mcp_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}");
        }
        out
    }
}
