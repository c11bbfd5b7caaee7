//! `rate`, `abreast` and `max_wait`: how often a tool is called, how many of its calls run at once, and how long it may ask to be left alone
//! (language 9.3, 11.6).
//!
//! A call enters the turnstile of its tool before it begins, then that of its server, in the order of coming; its timeout does not count meanwhile.
//! Turnstiles belong to the process, so that an edit of the graph lets no call in before its turn.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use tokio::{sync::Notify, time::Instant};
use trellis_core::{
    ToolError,
    span::Span,
    syntax::{duration, project::HostConfig},
};

use super::{
    Resource,
    config::{ConfigReader, Wait, given},
    job::span,
};

/// The default bound of the wait that a tool may ask for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Calls that a rate may let in within its time, whose times are stored.
const MAX_RATE: u64 = 1_000_000;

/// Bounds of the calls of one tool or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallLimits {
    /// Calls that may begin within a time.
    rate: Option<(usize, Duration)>,
    /// Calls that may run at once.
    abreast: Option<usize>,
    max_wait: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { rate: None, abreast: None, max_wait: MAX_WAIT }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TurnKeys {
    #[serde(deserialize_with = "given")]
    rate: Option<RateKeys>,
    #[serde(deserialize_with = "given")]
    abreast: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WaitKeys {
    #[serde(deserialize_with = "given")]
    max_wait: Option<Wait>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RateKeys {
    #[serde(deserialize_with = "given")]
    max: Option<u64>,
    #[serde(deserialize_with = "given")]
    per: Option<Wait>,
}

impl CallLimits {
    /// Reads the limits of a binding, which are beside its other keys.
    pub(super) fn read(reader: &mut ConfigReader<'_>) -> Self {
        let limits = Self::read_turns(reader);
        let WaitKeys { max_wait } = reader.read(|_, value| Some(duration::help(value)));
        // It may also be in `http` (9.10), whose reader reports its mistakes.
        let within = reader.config.get("http").and_then(|http| http.get("max_wait")?.as_str()).and_then(duration::parse);
        Self { max_wait: max_wait.map(|wait| wait.0).or(within).unwrap_or(MAX_WAIT), ..limits }
    }

    /// `rate` and `abreast`, of a binding or a server.
    pub(super) fn read_turns(reader: &mut ConfigReader<'_>) -> Self {
        const RATE: &str = "write how many calls may begin within a time: `rate: {max: 10, per: 1s}`";
        let before = reader.found.len();
        let TurnKeys { rate, abreast } = reader.read(|key, _| (key == "rate").then(|| RATE.to_owned()));
        if abreast == Some(0) {
            reader.report("abreast", "`abreast` takes a whole number from 1 on".to_owned(), None);
        }
        if let Some(RateKeys { max, per }) = rate.as_ref().filter(|_| reader.found.len() == before) {
            if max.is_none_or(|max| max == 0 || max > MAX_RATE) {
                reader.report("rate.max", format!("`rate.max` takes a whole number from 1 to {MAX_RATE}"), Some(RATE.to_owned()));
            }
            if per.as_ref().is_none_or(|per| per.0.is_zero()) {
                reader.report("rate.per", "`rate.per` takes a duration above zero".to_owned(), Some(RATE.to_owned()));
            }
        }
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rate = rate.and_then(|rate| Some((count(rate.max?), rate.per?.0))).filter(|(max, per)| *max > 0 && !per.is_zero());
        Self { rate, abreast: abreast.map(count).filter(|abreast| *abreast > 0), ..Self::default() }
    }

    /// The limits of a binding whose mistakes are reported elsewhere.
    pub(super) fn of(config: &HostConfig) -> Self {
        Self::read(&mut ConfigReader::new(config, &config.values, "", Span::at(0)))
    }

    /// Returns whether calls ever wait.
    fn holds(&self) -> bool {
        self.rate.is_some() || self.abreast.is_some()
    }

    /// An error that asks for a longer wait than is waited for is final.
    pub(super) fn bound(&self, error: ToolError) -> ToolError {
        let Some(after) = error.after.map(Duration::from_millis).filter(|after| *after > self.max_wait && !error.is_final) else {
            return error;
        };
        let (after, most) = (span(after), span(self.max_wait));
        let message = format!("{}; it asks for {after} before another attempt, more than `max_wait` allows ({most})", error.message);
        ToolError { message, ..error }.finally()
    }
}

/// The turnstiles of a process, by name.
#[derive(Debug, Default)]
pub(super) struct Turnstiles(Mutex<BTreeMap<String, Arc<Turnstile>>>);

impl Resource for Turnstiles {}

impl Turnstiles {
    /// Returns the turnstile of this name, with these limits from now on; `None` if no call ever waits.
    pub(super) fn get(&self, name: String, limits: CallLimits) -> Option<Entrance> {
        limits.holds().then(|| {
            let mut turnstiles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Entrance { turnstile: Arc::clone(turnstiles.entry(name).or_default()), limits }
        })
    }
}

/// A turnstile as one program uses it.
#[derive(Clone, Debug)]
pub(super) struct Entrance {
    turnstile: Arc<Turnstile>,
    limits: CallLimits,
}

#[derive(Debug, Default)]
struct Turnstile {
    /// The queue: first come, first served.
    order: tokio::sync::Mutex<()>,
    crowd: Mutex<Crowd>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Crowd {
    running: usize,
    /// The times at which the last calls began.
    begun: VecDeque<Instant>,
}

/// A call that was let in; dropped when it is over.
#[derive(Debug)]
pub(super) struct Admission(Arc<Turnstile>);

/// The reason why a call is not let in yet.
enum NotYet {
    Until(Instant),
    UntilFreed,
}

impl Entrance {
    /// Waits for its turn. It may be dropped.
    pub(super) async fn enter(&self) -> Admission {
        let _first = self.turnstile.order.lock().await;
        loop {
            match self.turnstile.try_enter(self.limits) {
                Ok(()) => return Admission(Arc::clone(&self.turnstile)),
                Err(NotYet::Until(time)) => tokio::time::sleep_until(time).await,
                Err(NotYet::UntilFreed) => self.turnstile.freed.notified().await,
            }
        }
    }
}

impl Turnstile {
    fn try_enter(&self, limits: CallLimits) -> Result<(), NotYet> {
        let mut crowd = self.crowd.lock().unwrap_or_else(PoisonError::into_inner);
        if limits.abreast.is_some_and(|abreast| crowd.running >= abreast) {
            return Err(NotYet::UntilFreed);
        }
        let now = Instant::now();
        if let Some((max, per)) = limits.rate {
            while crowd.begun.front().is_some_and(|begun| *begun + per <= now) {
                crowd.begun.pop_front();
            }
            if let Some(at) = crowd.begun.len().checked_sub(max) {
                return Err(NotYet::Until(crowd.begun[at] + per));
            }
            crowd.begun.push_back(now);
        }
        crowd.running += 1;
        Ok(())
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut crowd = self.0.crowd.lock().unwrap_or_else(PoisonError::into_inner);
        crowd.running = crowd.running.saturating_sub(1);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::Code;

    use super::{super::config::testing::reader, *};

    fn limits(config: &str) -> CallLimits {
        reader(config, |reader| {
            let limits = CallLimits::read(reader);
            assert!(reader.found.is_empty(), "{:?}", reader.found);
            limits
        })
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(test);
    }

    // language 11.6
    #[test]
    fn so_many_calls_begin_within_a_time() {
        run(async {
            let entrance = Turnstiles::default().get("t".to_owned(), limits(r#"{"rate":{"max":2,"per":"1s"}}"#)).unwrap();
            let began = Instant::now();
            let mut times = Vec::new();
            for _ in 0..5 {
                drop(entrance.enter().await);
                times.push((Instant::now() - began).as_secs());
            }
            assert_eq!(times, [0, 0, 1, 1, 2]);
        });
    }

    #[test]
    fn so_many_calls_run_at_once_and_who_came_first_is_next() {
        run(async {
            let turnstiles = Turnstiles::default();
            let entrance = turnstiles.get("t".to_owned(), limits(r#"{"abreast":1}"#)).unwrap();
            let first = entrance.enter().await;
            let order = Arc::new(Mutex::new(Vec::new()));
            let others = (0..3).map(|n| {
                let (entrance, order) = (entrance.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let _in = entrance.enter().await;
                    order.lock().unwrap().push(n);
                })
            });
            let others: Vec<_> = others.collect();
            tokio::task::yield_now().await;
            // A call that is dropped while waiting leaves the others their turn.
            others[1].abort();
            assert!(order.lock().unwrap().is_empty());
            // A reload takes the same turnstile.
            let again = turnstiles.get("t".to_owned(), limits(r#"{"abreast":1}"#)).unwrap();
            assert!(tokio::time::timeout(Duration::from_secs(9), again.enter()).await.is_err());
            drop(first);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(*order.lock().unwrap(), [0, 2]);
            assert!(turnstiles.get("u".to_owned(), CallLimits::default()).is_none());
        });
    }

    // language 9.3
    #[test]
    fn a_wait_above_the_bound_makes_an_error_final() {
        let after = |after| ToolError { after: Some(after), ..ToolError::new("busy") };
        let limits = limits(r#"{"max_wait":"5s"}"#);
        assert!(!limits.bound(after(5000)).is_final);
        let bound = limits.bound(after(99_999_000));
        assert!(
            bound.is_final && bound.message.ends_with("asks for 99999s before another attempt, more than `max_wait` allows (5s)"),
            "{}",
            bound.message
        );
        assert!(!CallLimits::default().bound(after(60_000)).is_final && CallLimits::default().bound(after(60_001)).is_final);
        assert_eq!(limits.bound(ToolError::new("x")), ToolError::new("x"));
    }

    #[test]
    fn each_mistake_has_its_place() {
        let found = |config: &str| {
            reader(config, |reader| {
                CallLimits::read(reader);
                assert!(reader.found.iter().all(|found| found.code == Code::WrongType));
                reader.found.iter().map(|found| found.message.clone()).collect::<Vec<_>>()
            })
        };
        assert_eq!(found(r#"{"abreast":0}"#), ["`abreast` takes a whole number from 1 on"]);
        assert_eq!(found(r#"{"rate":{"max":3,"pre":"1s"}}"#).len(), 1);
        assert_eq!(found(r#"{"rate":{"max":3}}"#), ["`rate.per` takes a duration above zero"]);
        assert_eq!(found(r#"{"rate":{"max":0,"per":"1s"}}"#), ["`rate.max` takes a whole number from 1 to 1000000"]);
        assert_eq!(found(r#"{"rate":10,"max_wait":"long"}"#), ["`rate` takes a mapping, not an integer", "`long` is no duration"]);
    }
}
