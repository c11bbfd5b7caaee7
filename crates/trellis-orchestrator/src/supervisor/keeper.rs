//! The keeper of one service: it carries orders out, checks the health of the service, and restarts it.

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

/// The time between two health checks.
const HEALTH_INTERVAL: Duration = Duration::from_secs(10);
/// The time in which the service must answer.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// Late answers in a row after which it is restarted.
const MAX_LATE_ANSWERS: u32 = 3;
/// The time in which it stops by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// An order to a service; its sender is told when it is carried out.
#[derive(Debug)]
pub(super) enum Order {
    Start(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
    Restart(oneshot::Sender<()>),
}

/// The reason why a life of a service is over.
enum End {
    /// There is nothing left to do.
    Over,
    Failed(DaemonError),
    Stopped(oneshot::Sender<()>),
    Restarted(oneshot::Sender<()>),
    /// Nobody gives orders any more.
    Abandoned,
}

/// The next state of a keeper.
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
    /// The sender of the order to start.
    starter: Option<oneshot::Sender<()>>,
}

/// Keeps a service running and carries orders out, until nobody gives orders any more.
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
                Some(order) => keeper.carry_out(order),
            },
            Next::Wait(wait) => tokio::select! {
                () = tokio::time::sleep(wait) => {
                    keeper.count_restart();
                    Next::Live
                }
                order = keeper.orders.recv() => match order {
                    None => return,
                    Some(order) => keeper.carry_out(order),
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
        // A service that loads a model starts slowly, and cannot report progress.
        let end = self.until_over(OwnedTask(tokio::spawn(async move { starting.start().await })), false).await;
        if !matches!(end, End::Over) {
            return end;
        }
        self.enter(DaemonState::Running, None);
        self.tell_starter();
        let running = Arc::clone(&self.daemon);
        self.until_over(OwnedTask(tokio::spawn(async move { running.run().await })), true).await
    }

    /// Waits until the work of a service is over; checks its health meanwhile if `is_asked`, and ends it when that is ordered.
    async fn until_over(&mut self, mut work: OwnedTask<Result<(), DaemonError>>, is_asked: bool) -> End {
        let mut ticks = interval_at(Instant::now() + HEALTH_INTERVAL, HEALTH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut late = 0;
        loop {
            tokio::select! {
                ended = &mut work.0 => return match ended {
                    Ok(Ok(())) => End::Over,
                    Ok(Err(error)) => End::Failed(error),
                    Err(error) => End::Failed(DaemonError::of(format!("it panicked: {error}"))),
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
                            return End::Failed(DaemonError::of(format!("it was started again: {why}")));
                        }
                        self.set(|status| status.error = Some(why));
                    }
                }
            }
        }
    }

    /// Returns the reason why a service is unhealthy; `None` if it is healthy.
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

    /// Lets a service finish its work for a while, then ends it.
    async fn stop(&self, mut work: OwnedTask<Result<(), DaemonError>>) {
        let daemon = Arc::clone(&self.daemon);
        let mut stopping = OwnedTask(tokio::spawn(async move { daemon.stop().await }));
        let _ = timeout(STOP_TIMEOUT, &mut stopping.0).await;
        work.0.abort();
        // A task that blocks its thread cannot be waited for.
        let _ = timeout(HEALTH_TIMEOUT, &mut work.0).await;
    }

    /// Returns the next state after a life that took `ran`.
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
                let next = self.restarts.next(Instant::now(), ran, error.is_outside);
                self.enter(if next.is_some() { DaemonState::Waiting } else { DaemonState::Down }, Some(error.to_string()));
                self.tell_starter();
                return next.map_or(Next::Rest, Next::Wait);
            }
        }
        self.tell_starter();
        Next::Rest
    }

    /// Carries out an order for a service that does not run.
    fn carry_out(&mut self, order: Order) -> Next {
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

    /// Tells the waiting starter that the start is over, whatever its result.
    fn tell_starter(&mut self) {
        self.starter.take().map(|starter| starter.send(()));
    }

    fn enter(&self, state: DaemonState, error: Option<String>) {
        self.set(|status| (status.state, status.since, status.error) = (state, now(), error));
    }

    /// Counts a restart; the change to the next state shows it.
    fn count_restart(&self) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).restarts += 1;
    }

    /// Changes the status, and reports it if that made a difference.
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

/// A task that ends when its owner is dropped.
struct OwnedTask<T>(JoinHandle<T>);

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
