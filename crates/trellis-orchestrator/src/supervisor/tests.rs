//! Services that fail in every way, by a clock that the tests move.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::*;

type Log = Arc<Mutex<Vec<String>>>;

/// A service that does as its name says.
struct Fake {
    name: &'static str,
    log: Log,
    pulse: Pulse,
    /// Ends `run`.
    over: Notify,
    is_deaf: AtomicBool,
    runs: AtomicU32,
}

impl Fake {
    fn new(name: &'static str, log: &Log) -> Arc<Self> {
        let (pulse, over) = (Pulse::default(), Notify::new());
        Arc::new(Self { name, log: Arc::clone(log), pulse, over, is_deaf: AtomicBool::new(false), runs: AtomicU32::new(0) })
    }

    fn note(&self, what: &str) {
        self.log.lock().expect("no panic").push(format!("{what} {}", self.name));
    }
}

#[async_trait]
impl Daemon for Fake {
    fn name(&self) -> &str {
        self.name
    }

    async fn start(&self) -> Result<(), DaemonError> {
        self.note("start");
        match self.name {
            "refuses" => Err(DaemonError::of("not today")),
            "slow" => {
                sleep(Duration::from_secs(100)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn run(&self) -> Result<(), DaemonError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.note("run");
        match self.name {
            "fails" => return Err(DaemonError::of("out of paper")),
            "waits" => return Err(DaemonError::outside("no space left")),
            "panics" => panic!("what now"),
            _ => {}
        }
        loop {
            tokio::select! {
                () = self.over.notified() => return Ok(()),
                () = self.pulse.asked(), if !self.is_deaf.load(Ordering::SeqCst) => self.pulse.beat(),
            }
        }
    }

    async fn health(&self) -> Result<(), DaemonError> {
        match self.name {
            "ill" => return Err(DaemonError::of("it has a fever")),
            _ => self.pulse.ask().await,
        }
        Ok(())
    }

    async fn stop(&self) {
        self.note("stop");
        match self.name {
            "lasts" => self.over.notify_one(),
            "never stops" => std::future::pending().await,
            _ => {}
        }
        sleep(Duration::from_millis(10)).await;
        self.note("stopped");
    }
}

fn lines(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().expect("no panic"))
}

fn state(supervisor: &Supervisor, name: &str) -> DaemonState {
    supervisor.status(name).expect("it is known").state
}

// orchestrator 1.3, source 003.3.6: started in order, stopped in reverse, each once; a service that refuses to start holds up none
#[tokio::test(start_paused = true)]
async fn services_start_in_order_and_stop_in_reverse() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    for name in ["a", "refuses", "b"] {
        supervisor.add(Fake::new(name, &log)).await;
    }
    tokio::task::yield_now().await;
    assert_eq!(lines(&log), ["start a", "run a", "start refuses", "start b", "run b"]);
    let states: Vec<_> = supervisor.statuses().into_iter().map(|status| (status.name, status.state.as_str())).collect();
    assert_eq!(states, [("a".to_owned(), "running"), ("refuses".to_owned(), "waiting"), ("b".to_owned(), "running")]);
    assert_eq!(supervisor.status("refuses").and_then(|status| status.error).as_deref(), Some("not today"));
    supervisor.stop_all().await;
    supervisor.stop_all().await;
    assert_eq!(lines(&log), ["stop b", "stopped b", "stop a", "stopped a"]);
    assert!(supervisor.statuses().iter().all(|status| status.state == DaemonState::Stopped));
}

// orchestrator 8.3: backoff of 1 to 60 s, and after 10 restarts in an hour it stays down until somebody presses start
#[tokio::test(start_paused = true)]
async fn what_fails_again_and_again_stays_down() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    let (began, mut changes) = (Instant::now(), supervisor.subscribe());
    let fails = Fake::new("fails", &log);
    supervisor.add(Arc::clone(&fails) as Arc<dyn Daemon>).await;
    let (mut waited, mut at) = (Vec::new(), began);
    loop {
        let status = changes.recv().await.expect("it changes");
        match status.state {
            DaemonState::Starting => waited.push(at.elapsed().as_secs()),
            DaemonState::Waiting => at = Instant::now(),
            DaemonState::Down => break,
            _ => {}
        }
    }
    assert_eq!(waited, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    let status = supervisor.status("fails").expect("known");
    assert_eq!((status.restarts, status.error.as_deref()), (10, Some("out of paper")));
    sleep(Duration::from_secs(7200)).await;
    assert_eq!(fails.runs.load(Ordering::SeqCst), 11, "it stays down");
    supervisor.start("fails").await.expect("known");
    assert!(fails.runs.load(Ordering::SeqCst) >= 12);
}

// orchestrator 8.3: an error in one is isolated, also a panic
#[tokio::test(start_paused = true)]
async fn a_panic_ends_nobody_else() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    for name in ["panics", "fails", "a"] {
        supervisor.add(Fake::new(name, &log)).await;
    }
    sleep(Duration::from_secs(600)).await;
    let status = supervisor.status("panics").expect("known");
    assert!(status.state == DaemonState::Down && status.error.is_some_and(|error| error.contains("panicked")));
    assert_eq!((state(&supervisor, "a"), supervisor.status("a").expect("known").restarts), (DaemonState::Running, 0));
}

// orchestrator 8.3: asked every 10 s; three late answers, and it is started again; two are no harm
#[tokio::test(start_paused = true)]
async fn what_does_not_answer_is_started_again() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    let fake = Fake::new("a", &log);
    supervisor.add(Arc::clone(&fake) as Arc<dyn Daemon>).await;
    sleep(Duration::from_secs(300)).await;
    assert_eq!((state(&supervisor, "a"), fake.runs.load(Ordering::SeqCst)), (DaemonState::Running, 1));
    fake.is_deaf.store(true, Ordering::SeqCst);
    // It still waits for an earlier health check, which it answers, and gets no other.
    sleep(Duration::from_secs(24)).await;
    let error = supervisor.status("a").expect("known").error;
    assert!(error.is_some_and(|error| error.contains("within a second")), "it is shown");
    fake.is_deaf.store(false, Ordering::SeqCst);
    fake.over.notify_waiters();
    let ended = Fake::new("ill", &log);
    supervisor.add(Arc::clone(&ended) as Arc<dyn Daemon>).await;
    sleep(Duration::from_secs(29)).await;
    assert_eq!(ended.runs.load(Ordering::SeqCst), 1);
    sleep(Duration::from_secs(3)).await;
    assert_eq!((ended.runs.load(Ordering::SeqCst), supervisor.status("ill").expect("known").restarts), (2, 1));
}

// orchestrator 8.3, 8.5: start, stop and restart of one
#[tokio::test(start_paused = true)]
async fn one_service_is_stopped_and_started() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    supervisor.add(Fake::new("a", &log)).await;
    supervisor.add(Fake::new("slow", &log)).await;
    assert_eq!(state(&supervisor, "slow"), DaemonState::Starting, "it holds up the next one for a while only");
    supervisor.start("a").await.expect("known");
    supervisor.restart("a").await.expect("known");
    assert_eq!((state(&supervisor, "a"), supervisor.status("a").expect("known").restarts), (DaemonState::Running, 0));
    supervisor.stop("a").await.expect("known");
    assert_eq!(state(&supervisor, "a"), DaemonState::Stopped);
    sleep(Duration::from_secs(600)).await;
    assert_eq!((state(&supervisor, "a"), state(&supervisor, "slow")), (DaemonState::Stopped, DaemonState::Running));
    supervisor.start("a").await.expect("known");
    tokio::task::yield_now().await;
    let log: Vec<String> = lines(&log).into_iter().filter(|line| line.ends_with(" a")).collect();
    assert_eq!(log, ["start a", "run a", "stop a", "stopped a", "start a", "run a", "stop a", "stopped a", "start a", "run a"]);
    assert_eq!(supervisor.stop("b").await, Err(UnknownDaemon { name: "b".to_owned() }));
}

// orchestrator 8.4: current work gets its time, and no more
#[tokio::test(start_paused = true)]
async fn a_service_ends_in_its_time() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    for name in ["lasts", "never stops"] {
        supervisor.add(Fake::new(name, &log)).await;
    }
    let began = Instant::now();
    supervisor.stop_all().await;
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert!(lines(&log).ends_with(&["stop lasts".to_owned(), "stopped lasts".to_owned()]));
}

// an ended service stays so, until it is started
#[tokio::test(start_paused = true)]
async fn what_is_over_has_ended() {
    let (supervisor, log) = (Supervisor::default(), Log::default());
    let fake = Fake::new("a", &log);
    supervisor.add(Arc::clone(&fake) as Arc<dyn Daemon>).await;
    fake.over.notify_one();
    sleep(Duration::from_secs(600)).await;
    assert_eq!((state(&supervisor, "a"), fake.runs.load(Ordering::SeqCst)), (DaemonState::Ended, 1));
}

// orchestrator 8.3: a cause outside of the program never counts towards giving up
#[tokio::test(start_paused = true)]
async fn a_full_disk_leaves_no_service_down() {
    let supervisor = Supervisor::default();
    let fake = Fake::new("waits", &Log::default());
    supervisor.add(Arc::clone(&fake) as Arc<dyn Daemon>).await;
    while fake.runs.load(Ordering::SeqCst) < 40 {
        sleep(Duration::from_secs(1)).await;
        assert_ne!(supervisor.status("waits").expect("it is there").state, DaemonState::Down);
    }
}
