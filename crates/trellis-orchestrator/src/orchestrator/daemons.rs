//! The services of an orchestrator, in the order in which they start (orchestrator 1.3): events, outbox, agent, sessions, schedules, channels, ops.
//!
//! They stop in reverse: first no message comes any more, then running calls get their grace, then waiting messages are sent (orchestrator 8.4).

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::{
    Mutex as AsyncMutex,
    broadcast::{self, error::TryRecvError},
    mpsc, oneshot,
};
use trellis_core::SessionId;
use trellis_host::{
    SendError, Sessions,
    sessions::{Drive, Driven, Turn},
    store::SessionStore,
};

use super::{Log, alarm::watch, reading::read, schedules::keep_time, upkeep::keep_order};
use crate::{
    channel::{Channel, Inbox},
    dispatch::Dispatcher,
    events::Recorder,
    inbound::Receiver,
    outbound::Channels,
    supervisor::{Daemon, DaemonError, DaemonState, DaemonStatus, Pulse, Supervisor},
    tools::Hands,
};

/// The time that sessions have to come to their stops.
pub(super) const SESSION_GRACE: Duration = Duration::from_secs(1);
/// The time in which waiting messages are still sent, at the end.
const OUTBOX_FLUSH: Duration = Duration::from_millis(500);
/// The time in which chats are told the stops of sessions, at the end.
const TURN_FLUSH: Duration = Duration::from_millis(500);
/// The time for which events are collected before they are written down.
const RECORD_DELAY: Duration = Duration::from_millis(500);
/// The longest time between two reads of the events.
const MAX_RECORD_INTERVAL: Duration = Duration::from_secs(10);
/// The time between two checks whether everything was sent.
const FLUSH_INTERVAL: Duration = Duration::from_millis(10);

type Ran = Result<(), DaemonError>;

/// Writes down the events.
pub(super) struct EventsDaemon {
    pub(super) hands: Arc<Hands>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) changes: AsyncMutex<broadcast::Receiver<DaemonStatus>>,
    pub(super) recorder: AsyncMutex<Option<Recorder>>,
    pub(super) log: Log,
    pub(super) pulse: Pulse,
}

impl EventsDaemon {
    async fn record(&self) -> Ran {
        let (mut recorder, mut changes) = (self.recorder.lock().await, self.changes.lock().await);
        let Some(recorder) = recorder.as_mut() else { return Ok(()) };
        let mut services = Vec::new();
        loop {
            match changes.try_recv() {
                Ok(status) if status.state != DaemonState::Starting => services.push(status),
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(_) => break,
            }
        }
        recorder.record(services).await.map_err(DaemonError::outside)?.iter().for_each(|warning| (self.log)(warning));
        Ok(())
    }
}

#[async_trait]
impl Daemon for EventsDaemon {
    fn name(&self) -> &str {
        "events"
    }

    async fn start(&self) -> Ran {
        let (workspace, queue) = (self.hands.workspace.clone(), self.hands.queue.clone());
        let (sessions, store) = (Arc::clone(&self.sessions), Arc::clone(&self.store));
        let opening = tokio::task::spawn_blocking(move || Recorder::open(&workspace, queue, sessions, store));
        let (recorder, warnings) = opening.await.map_err(DaemonError::of)?.map_err(DaemonError::outside)?;
        warnings.iter().for_each(|warning| (self.log)(warning));
        *self.recorder.lock().await = Some(recorder);
        Ok(())
    }

    async fn run(&self) -> Ran {
        let recording = async {
            loop {
                self.record().await?;
                let _ = tokio::time::timeout(MAX_RECORD_INTERVAL, self.hands.queue.news.notified()).await;
                // Events come in bursts, and are read together.
                tokio::time::sleep(RECORD_DELAY).await;
            }
        };
        self.pulse.during(recording).await
    }

    async fn health(&self) -> Ran {
        self.pulse.ask().await;
        Ok(())
    }

    async fn stop(&self) {
        if let Err(error) = self.record().await {
            (self.log)(&error.to_string());
        }
        if let Some(recorder) = self.recorder.lock().await.as_mut()
            && let Err(error) = recorder.close()
        {
            (self.log)(&error.to_string());
        }
    }
}

/// Sends the messages of the outbox.
pub(super) struct OutboxDaemon {
    pub(super) hands: Arc<Hands>,
    pub(super) channels: Arc<Channels>,
}

#[async_trait]
impl Daemon for OutboxDaemon {
    fn name(&self) -> &str {
        "outbox"
    }

    async fn start(&self) -> Ran {
        // Messages that were being sent when it ended may have arrived.
        let again = self.hands.settings.language.text("again");
        self.hands.queue.recover(again).await.map(drop).map_err(DaemonError::outside)
    }

    async fn run(&self) -> Ran {
        self.hands.outbox.serve(&self.channels).await.map_err(DaemonError::outside)
    }

    async fn health(&self) -> Ran {
        self.hands.outbox.pulse.ask().await;
        Ok(())
    }

    async fn stop(&self) {
        let flushed = async {
            while !self.hands.queue.is_flushed().await.unwrap_or(true) {
                tokio::time::sleep(FLUSH_INTERVAL).await;
            }
        };
        // Messages that are not sent by then are sent after the next start.
        let _ = tokio::time::timeout(OUTBOX_FLUSH, flushed).await;
    }
}

/// Begins sessions for messages of people.
pub(super) struct AgentDaemon {
    pub(super) dispatcher: Dispatcher,
}

#[async_trait]
impl Daemon for AgentDaemon {
    fn name(&self) -> &str {
        "agent"
    }

    async fn start(&self) -> Ran {
        self.dispatcher.recover().await.map_err(DaemonError::outside)
    }

    async fn run(&self) -> Ran {
        let done = tokio::try_join!(self.dispatcher.serve(), self.dispatcher.keep_typing());
        done.map(drop).map_err(DaemonError::outside)
    }

    async fn health(&self) -> Ran {
        self.dispatcher.pulse.ask().await;
        Ok(())
    }
}

/// News about sessions for their chats.
pub(super) enum TurnNews {
    /// A session came to a stop.
    Turn(Box<Turn>),
    /// A session could not be resumed.
    Failed(SessionId, SendError),
    /// All news before this were told.
    Flush(oneshot::Sender<()>),
}

/// Both ends of the channel of news about sessions.
pub(super) type TurnQueue = (mpsc::UnboundedSender<TurnNews>, mpsc::UnboundedReceiver<TurnNews>);

/// Resumes sessions that need nobody, and tells their chats.
pub(super) struct SessionsDaemon {
    sessions: Arc<Sessions>,
    dispatcher: Dispatcher,
    log: Log,
    sender: mpsc::UnboundedSender<TurnNews>,
    news: AsyncMutex<mpsc::UnboundedReceiver<TurnNews>>,
    /// True if the whole process ends; else it continues without this service.
    is_closing: Arc<AtomicBool>,
    pulse: Pulse,
}

impl SessionsDaemon {
    pub(super) fn new(sessions: Arc<Sessions>, dispatcher: Dispatcher, turns: TurnQueue, log: Log, is_closing: Arc<AtomicBool>) -> Self {
        let (sender, news) = turns;
        Self { sessions, dispatcher, log, sender, news: AsyncMutex::new(news), is_closing, pulse: Pulse::default() }
    }

    async fn drive(&self) -> Ran {
        let tell = |driven: Driven<'_>| match driven {
            Driven::Turn(_, Ok(turn)) => drop(self.sender.send(TurnNews::Turn(Box::new(turn)))),
            Driven::Turn(id, Err(error)) => {
                (self.log)(&format!("session `{id}`: {error}"));
                drop(self.sender.send(TurnNews::Failed(id.clone(), error)));
            }
            Driven::Away(error) => (self.log)(&error.to_string()),
        };
        self.sessions.drive(Drive::Forever, tell).await.map_err(DaemonError::outside)?;
        // It ends when the sessions are stopped; their last stops are still told.
        std::future::pending().await
    }

    async fn tell(&self) -> Ran {
        let mut news = self.news.lock().await;
        while let Some(news) = news.recv().await {
            match news {
                TurnNews::Turn(turn) => self.dispatcher.tell_turn(&turn).await.map_err(DaemonError::outside)?,
                TurnNews::Failed(session, error) => {
                    self.dispatcher.tell_failure(&session, &error).await.map_err(DaemonError::outside)?;
                }
                TurnNews::Flush(done) => {
                    let _ = done.send(());
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Daemon for SessionsDaemon {
    fn name(&self) -> &str {
        "sessions"
    }

    async fn run(&self) -> Ran {
        self.pulse.during(async { tokio::try_join!(self.drive(), self.tell()) }).await.map(drop)
    }

    async fn health(&self) -> Ran {
        self.pulse.ask().await;
        Ok(())
    }

    async fn stop(&self) {
        if self.is_closing.load(Ordering::SeqCst) {
            self.sessions.stop(SESSION_GRACE).await;
        }
        let (done, is_done) = oneshot::channel();
        drop(self.sender.send(TurnNews::Flush(done)));
        let _ = tokio::time::timeout(TURN_FLUSH, is_done).await;
    }
}

/// Begins scheduled work that is due.
pub(super) struct SchedulesDaemon {
    pub(super) hands: Arc<Hands>,
    pub(super) log: Log,
    pub(super) pulse: Pulse,
}

#[async_trait]
impl Daemon for SchedulesDaemon {
    fn name(&self) -> &str {
        "schedules"
    }

    async fn run(&self) -> Ran {
        let kept = keep_time(&self.hands, Timestamp::now, || self.hands.wake.notify_one(), &*self.log);
        self.pulse.during(kept).await.map_err(DaemonError::outside)
    }

    async fn health(&self) -> Ran {
        self.pulse.ask().await;
        Ok(())
    }
}

/// Reads a channel.
pub(super) struct ChannelDaemon {
    name: String,
    channel: Arc<dyn Channel>,
    hands: Arc<Hands>,
    receiver: Receiver,
    log: Log,
    pulse: Pulse,
}

impl ChannelDaemon {
    pub(super) fn new(channel: Arc<dyn Channel>, hands: Arc<Hands>, receiver: Receiver, log: Log) -> Self {
        let name = format!("channel-{}", channel.name());
        Self { name, channel, hands, receiver, log, pulse: Pulse::default() }
    }
}

#[async_trait]
impl Daemon for ChannelDaemon {
    fn name(&self) -> &str {
        &self.name
    }

    async fn run(&self) -> Ran {
        let wake = || self.hands.wake.notify_one();
        let inbox = Inbox::of(&self.hands.workspace, self.hands.settings.attachment);
        let reading = read(&*self.channel, &self.receiver, &self.hands.queue, &inbox, wake, (&self.hands.troubles, &*self.log));
        self.pulse.during(reading).await.map_err(DaemonError::outside)
    }

    async fn health(&self) -> Ran {
        self.pulse.ask().await;
        Ok(())
    }
}

/// Keeps the workspace in order.
pub(super) struct OpsDaemon {
    pub(super) hands: Arc<Hands>,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) channels: Arc<Channels>,
    pub(super) supervisor: Weak<Supervisor>,
    pub(super) log: Log,
    pub(super) pulse: Pulse,
}

#[async_trait]
impl Daemon for OpsDaemon {
    fn name(&self) -> &str {
        "ops"
    }

    async fn run(&self) -> Ran {
        // Without a supervisor everything ends.
        let Some(supervisor) = self.supervisor.upgrade() else { return Ok(()) };
        let kept = keep_order(&self.hands, &*self.store, Timestamp::now, &*self.log);
        let watched = watch(&self.hands, &self.channels, &supervisor, &self.log);
        self.pulse.during(async { tokio::try_join!(kept, watched) }).await.map(drop).map_err(DaemonError::outside)
    }

    async fn health(&self) -> Ran {
        self.pulse.ask().await;
        Ok(())
    }
}
