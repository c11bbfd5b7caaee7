//! Rate limits: failures of tokens from an address, requests of a token, streams of a token.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    bounds::Bounds,
    trouble::{Code, Trouble},
};

/// The time in which failures are counted.
const MINUTE: Duration = Duration::from_secs(60);
/// Addresses and tokens that are counted at once; beyond them the oldest are forgotten.
const MAX_COUNTED: usize = 10_000;

/// Counts of a server.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    failures: Mutex<BTreeMap<IpAddr, (Instant, u32)>>,
    buckets: Mutex<BTreeMap<Arc<str>, (Instant, f64)>>,
    streams: Arc<Mutex<BTreeMap<Arc<str>, usize>>>,
}

/// A stream that is open.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    streams: Arc<Mutex<BTreeMap<Arc<str>, usize>>>,
    label: Arc<str>,
}

impl RateLimits {
    /// Counts a wrong token.
    ///
    /// # Errors
    /// The address sent the largest number of them within a minute.
    pub(super) fn fail(&self, address: IpAddr, bounds: &Bounds) -> Result<(), Trouble> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, (since, _)| since.elapsed() < MINUTE);
        if failures.len() >= MAX_COUNTED {
            failures.clear();
        }
        let (since, count) = failures.entry(address).or_insert_with(|| (Instant::now(), 0));
        if *count >= bounds.failures_a_minute {
            let left = MINUTE.saturating_sub(since.elapsed()).as_secs() + 1;
            let detail = format!("{count} wrong tokens came from this address within a minute, the limit is {}", bounds.failures_a_minute);
            return Err(Trouble::new(Code::TooMany, detail).retry_after(left));
        }
        *count += 1;
        Ok(())
    }

    /// Counts a request of a token, up to a rate per second, with bursts of twice that number.
    pub(crate) fn admit_request(&self, label: &Arc<str>, bounds: &Bounds) -> Result<(), Trouble> {
        let Some(rate) = bounds.requests_a_second else { return Ok(()) };
        let rate = f64::from(rate);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_COUNTED {
            buckets.clear();
        }
        let (then, left) = buckets.entry(Arc::clone(label)).or_insert_with(|| (Instant::now(), 2.0 * rate));
        *left = (*left + then.elapsed().as_secs_f64() * rate).min(2.0 * rate);
        *then = Instant::now();
        if *left < 1.0 {
            let detail = format!("the token sends more than {rate} requests a second");
            return Err(Trouble::new(Code::TooMany, detail).retry_after(1));
        }
        *left -= 1.0;
        Ok(())
    }

    /// A seat for one more stream of a token.
    ///
    /// # Errors
    /// It has the largest number of streams.
    pub(crate) fn stream(&self, label: &Arc<str>, bounds: &Bounds) -> Result<StreamPermit, Trouble> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let open = streams.entry(Arc::clone(label)).or_default();
        if *open >= bounds.streams {
            let detail = format!("the token has {open} streams open, the limit is {}", bounds.streams);
            return Err(Trouble::new(Code::TooMany, detail).retry_after(1));
        }
        *open += 1;
        Ok(StreamPermit { streams: Arc::clone(&self.streams), label: Arc::clone(label) })
    }

    /// Returns the number of open streams.
    pub(crate) fn streams(&self) -> usize {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = streams.get_mut(&self.label) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.label);
            }
        }
    }
}
