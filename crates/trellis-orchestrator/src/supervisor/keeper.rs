//! What keeps one service running: it carries orders out, asks how the service is, and starts it again.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{broadcast, mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use super::{
    daemon::{Daemon, DaemonError, DaemonState, DaemonStatus},
    restarts::Restarts,
};
use crate::message::now;

/// The time between two questions how a service is.
const HEALTH_INTERVAL: Duration = Duration::from_secs(10);
/// The time in which it answers.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// Late answers in a row after which it is started again.
const MAX_LATE_ANSWERS: u32 = 3;
/// The time in which it stops by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// What a service is told; who tells it hears when that is done.
#[derive(Debug)]
pub(super) enum Order {
    Start(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
    Restart(oneshot::Sender<()>),
}

/// Why a life of a service is over.
enum End {
    /// There is nothing left to do.
    Over,
    Failed(DaemonError),
    Stopped(oneshot::Sender<()>),
    Restarted(oneshot::Sender<()>),
    /// Nobody gives orders any more.
    Abandoned,
}

/// What a keeper does next.
enum Next {
    Live,
    Rest,
    /// Waits, then lives.
    Wait(Duration),
}

struct Keeper {
    daemon: Arc<dyn Daemon>,
    orders: mpsc::UnboundedReceiver<Order>,
    status: Arc<Mutex<DaemonStatus>>,
    changes: broadcast::Sender<DaemonStatus>,
    restarts: Restarts,
    /// Who waits for the start.
    starter: Option<oneshot::Sender<()>>,
}

/// Keeps a service running as it is told, until nobody gives orders any more.
pub(super) async fn keep(
    daemon: Arc<dyn Daemon>,
    orders: mpsc::UnboundedReceiver<Order>,
    status: Arc<Mutex<DaemonStatus>>,
    changes: broadcast::Sender<DaemonStatus>,
) {
    let mut keeper = Keeper { daemon, orders, status, changes, restarts: Restarts::default(), starter: None };
    let mut next = Next::Rest;
    loop {
        next = match next {
            Next::Live => {
                let began = Instant::now();
                match keeper.live().await {
                    End::Abandoned => return,
                    end => keeper.after(end, began.elapsed()),
                }
            }
            Next::Rest => match keeper.orders.recv().await {
                None => return,
                Some(order) => keeper.rested(order),
            },
            Next::Wait(wait) => tokio::select! {
                () = tokio::time::sleep(wait) => {
                    keeper.count_restart();
                    Next::Live
                }
                order = keeper.orders.recv() => match order {
                    None => return,
                    Some(order) => keeper.rested(order),
                }
            },
        };
    }
}

impl Keeper {
    /// One life: from its start to its end.
    async fn live(&mut self) -> End {
        self.enter(DaemonState::Starting, None);
        let starting = Arc::clone(&self.daemon);
        // What loads a model takes its time, and cannot say so.
        let end = self.until_over(OwnedTask(tokio::spawn(async move { starting.start().await })), false).await;
        if !matches!(end, End::Over) {
            return end;
        }
        self.enter(DaemonState::Running, None);
        self.started();
        let running = Arc::clone(&self.daemon);
        self.until_over(OwnedTask(tokio::spawn(async move { running.run().await })), true).await
    }

    /// Waits until what a service does is over, asks meanwhile how it is if `is_asked`, and ends it when that is ordered.
    async fn until_over(&mut self, mut work: OwnedTask<Result<(), DaemonError>>, is_asked: bool) -> End {
        let mut ticks = interval_at(Instant::now() + HEALTH_INTERVAL, HEALTH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut late = 0;
        loop {
            tokio::select! {
                ended = &mut work.0 => return match ended {
                    Ok(Ok(())) => End::Over,
                    Ok(Err(error)) => End::Failed(error),
                    Err(error) => End::Failed(DaemonError(format!("it panicked: {error}"))),
                },
                order = self.orders.recv() => match order {
                    None => return End::Abandoned,
                    Some(Order::Start(done)) => {
                        let _ = done.send(());
                    }
                    Some(Order::Stop(done)) => {
                        self.stop(work).await;
                        return End::Stopped(done);
                    }
                    Some(Order::Restart(done)) => {
                        self.stop(work).await;
                        return End::Restarted(done);
                    }
                },
                _ = ticks.tick(), if is_asked => match self.unwell().await {
                    None => late = 0,
                    Some(why) => {
                        late += 1;
                        if late >= MAX_LATE_ANSWERS {
                            return End::Failed(DaemonError(format!("it was started again: {why}")));
                        }
                        self.set(|status| status.error = Some(why));
                    }
                }
            }
        }
    }

    /// Why a service is not well; nothing where it is.
    async fn unwell(&self) -> Option<String> {
        let daemon = Arc::clone(&self.daemon);
        // In a task of its own, since it may panic too.
        let mut asking = OwnedTask(tokio::spawn(async move { daemon.health().await }));
        let why = match timeout(HEALTH_TIMEOUT, &mut asking.0).await {
            Err(_) => "it does not say within a second how it is".to_owned(),
            Ok(Err(error)) => format!("it panicked: {error}"),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Ok(Ok(()))) => {
                self.set(|status| status.error = None);
                return None;
            }
        };
        Some(why)
    }

    /// Lets a service bring to an end what is under way, for a while, then ends it.
    async fn stop(&self, mut work: OwnedTask<Result<(), DaemonError>>) {
        let daemon = Arc::clone(&self.daemon);
        let mut stopping = OwnedTask(tokio::spawn(async move { daemon.stop().await }));
        let _ = timeout(STOP_TIMEOUT, &mut stopping.0).await;
        work.0.abort();
        // What blocks its thread cannot be waited for.
        let _ = timeout(HEALTH_TIMEOUT, &mut work.0).await;
    }

    /// What comes after the end of a life that took `ran`.
    fn after(&mut self, end: End, ran: Duration) -> Next {
        match end {
            End::Over | End::Abandoned => self.enter(DaemonState::Ended, None),
            End::Stopped(done) => {
                self.enter(DaemonState::Stopped, None);
                let _ = done.send(());
            }
            End::Restarted(done) => {
                self.starter = Some(done);
                return Next::Live;
            }
            End::Failed(error) => {
                let next = self.restarts.next(Instant::now(), ran);
                self.enter(if next.is_some() { DaemonState::Waiting } else { DaemonState::Down }, Some(error.to_string()));
                self.started();
                return next.map_or(Next::Rest, Next::Wait);
            }
        }
        self.started();
        Next::Rest
    }

    /// An order for a service that does not run.
    fn rested(&mut self, order: Order) -> Next {
        match order {
            Order::Start(done) | Order::Restart(done) => {
                self.starter = Some(done);
                self.restarts = Restarts::default();
                Next::Live
            }
            Order::Stop(done) => {
                self.enter(DaemonState::Stopped, None);
                let _ = done.send(());
                Next::Rest
            }
        }
    }

    /// Tells who waits for the start that it is over, whatever came of it.
    fn started(&mut self) {
        self.starter.take().map(|starter| starter.send(()));
    }

    fn enter(&self, state: DaemonState, error: Option<String>) {
        self.set(|status| (status.state, status.since, status.error) = (state, now(), error));
    }

    /// Counts a restart; the change to the next state shows it.
    fn count_restart(&self) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).restarts += 1;
    }

    /// Changes the status, and says so if it is another one then.
    fn set(&self, change: impl FnOnce(&mut DaemonStatus)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let before = status.clone();
        change(&mut status);
        if *status != before {
            // Perhaps nobody listens.
            let _ = self.changes.send(status.clone());
        }
    }
}

/// A task that ends with whoever waits for it.
struct OwnedTask<T>(JoinHandle<T>);

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
