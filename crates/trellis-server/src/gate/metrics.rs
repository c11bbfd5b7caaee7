//! Counts and times of requests, in the format of Prometheus. Labels are templates of routes and known methods, never text of a client.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Upper bounds of the time buckets, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The route, the method and the status of a request.
type RequestLabels = (Arc<str>, &'static str, u16);

/// Counts of a server.
#[derive(Debug, Default)]
pub(crate) struct HttpMetrics {
    requests: Mutex<BTreeMap<RequestLabels, u64>>,
    times: Mutex<BTreeMap<Arc<str>, TimeHistogram>>,
    pub(crate) connections: AtomicUsize,
}

#[derive(Debug, Default)]
struct TimeHistogram {
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl HttpMetrics {
    /// Counts a request that was answered.
    pub(crate) fn count(&self, route: &Arc<str>, method: &'static str, status: u16, took: Duration) {
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry((Arc::clone(route), method, status)).or_default() += 1;
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = times.entry(Arc::clone(route)).or_default();
        let seconds = took.as_secs_f64();
        for (count, bound) in histogram.counts.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= bound);
        }
        (histogram.count, histogram.sum) = (histogram.count + 1, histogram.sum + seconds);
    }

    /// All of it in the text format, with how many streams are open.
    pub(crate) fn render(&self, streams: usize) -> String {
        let mut out =
            String::from("# HELP trellis_http_requests_total Requests that were answered.\n# TYPE trellis_http_requests_total counter\n");
        for ((route, method, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "trellis_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}} {count}");
        }
        out += "# HELP trellis_http_seconds Time to an answer.\n# TYPE trellis_http_seconds histogram\n";
        for (route, histogram) in &*self.times.lock().unwrap_or_else(PoisonError::into_inner) {
            for (count, bound) in histogram.counts.iter().zip(BUCKETS) {
                let _ = writeln!(out, "trellis_http_seconds_bucket{{route=\"{route}\",le=\"{bound}\"}} {count}");
            }
            let TimeHistogram { count, sum, .. } = histogram;
            let _ = writeln!(out, "trellis_http_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(
                out,
                "trellis_http_seconds_sum{{route=\"{route}\"}} {sum}\ntrellis_http_seconds_count{{route=\"{route}\"}} {count}"
            );
        }
        let connections = self.connections.load(Ordering::Relaxed);
        let _ = writeln!(
            out,
            "# HELP trellis_http_connections Open connections.\n# TYPE trellis_http_connections gauge\ntrellis_http_connections {connections}"
        );
        let _ = writeln!(out, "# HELP trellis_streams Open streams of events.\n# TYPE trellis_streams gauge\ntrellis_streams {streams}");
        out
    }
}
