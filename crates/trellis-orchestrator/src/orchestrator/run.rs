//! The run of an orchestrator: its services in order, until it is told to stop or nothing is left to do (orchestrator 1.1, 1.3).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{broadcast, mpsc};

use super::{
    Log, Orchestrator, UpError,
    daemons::{AgentDaemon, ChannelDaemon, EventsDaemon, OpsDaemon, OutboxDaemon, SchedulesDaemon, SessionsDaemon},
    local_model::ModelDaemon,
};
use crate::{
    channel::{Channel, Inbox, check_remote},
    dispatch::Dispatcher,
    outbound::Channels,
    supervisor::{Daemon as _, DaemonState, DaemonStatus, Pulse},
};

impl Orchestrator {
    /// Runs until `stop`, or until its channels are over and nothing is left to do. `log` gets lines about what goes wrong meanwhile.
    ///
    /// # Errors
    /// Nothing can be done any more: the channels are over, and a necessary service is down.
    pub async fn run(
        mut self,
        channels: Vec<Arc<dyn Channel>>,
        stop: impl Future<Output = ()>,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<(), UpError> {
        let log: Log = Arc::new(log);
        self.hands.log.open(Arc::clone(&log));
        let named = channels.iter().map(|channel| (channel.name().to_owned(), Arc::clone(channel)));
        let channels: Arc<Channels> = Arc::new(named.collect());
        let dispatcher =
            Dispatcher::new(Arc::clone(&self.hands), Arc::clone(&self.sessions), Arc::clone(&channels)).with_shared(self.shared.clone());
        self.warnings.iter().for_each(|warning| log(warning));
        let _watch = self.follow_edits(&log);
        let saying = tokio::spawn(say_failures(self.supervisor.subscribe(), Arc::clone(&log)));
        let (asking, secrets, log_line) = (Arc::clone(&self.hands), self.secrets.clone(), Arc::clone(&log));
        // Obstacles of a channel are reported at once, and stop no other.
        tokio::spawn(async move { check_remote(&asking.settings, &secrets).await.iter().for_each(|found| log_line(found)) });
        let is_closing = Arc::new(AtomicBool::new(false));
        let mut stop = std::pin::pin!(stop);
        let turns = std::mem::replace(&mut self.turns, mpsc::unbounded_channel());
        let sessions =
            SessionsDaemon::new(Arc::clone(&self.sessions), dispatcher.clone(), turns, Arc::clone(&log), Arc::clone(&is_closing));
        let starts = self.start(&channels, &dispatcher, sessions, &log);
        let ended = tokio::select! {
            readers = starts => self.until_the_end(&readers, &dispatcher, stop).await,
            () = &mut stop => Ok(()),
        };
        is_closing.store(true, Ordering::SeqCst);
        self.supervisor.stop_all().await;
        saying.abort();
        self.host.close().await;
        ended
    }

    /// Starts the services in order; returns the names of those that read channels.
    async fn start(&self, channels: &Arc<Channels>, dispatcher: &Dispatcher, sessions: SessionsDaemon, log: &Log) -> Vec<String> {
        let (hands, supervisor) = (&self.hands, &self.supervisor);
        let events = EventsDaemon {
            hands: Arc::clone(hands),
            sessions: Arc::clone(&self.sessions),
            store: Arc::clone(&self.open_store.store),
            changes: supervisor.subscribe().into(),
            recorder: None.into(),
            log: Arc::clone(log),
            pulse: Pulse::default(),
        };
        supervisor.add(Arc::new(events)).await;
        for model in &hands.settings.models.started {
            supervisor.add(Arc::new(ModelDaemon::new(model.clone()))).await;
        }
        supervisor.add(Arc::new(OutboxDaemon { hands: Arc::clone(hands), channels: Arc::clone(channels) })).await;
        supervisor.add(Arc::new(AgentDaemon { dispatcher: dispatcher.clone() })).await;
        supervisor.add(Arc::new(sessions)).await;
        supervisor.add(Arc::new(SchedulesDaemon { hands: Arc::clone(hands), log: Arc::clone(log), pulse: Pulse::default() })).await;
        Inbox::of(&hands.workspace, hands.settings.attachment).sweep();
        let mut readers = Vec::new();
        for channel in channels.values() {
            let daemon = ChannelDaemon::new(Arc::clone(channel), Arc::clone(hands), self.receiver.clone(), Arc::clone(log));
            readers.push(daemon.name().to_owned());
            supervisor.add(Arc::new(daemon)).await;
        }
        let (store, log) = (Arc::clone(&self.open_store.store), Arc::clone(log));
        supervisor
            .add(Arc::new(OpsDaemon {
                hands: Arc::clone(hands),
                store,
                channels: Arc::clone(channels),
                supervisor: Arc::downgrade(supervisor),
                log,
                pulse: Pulse::default(),
            }))
            .await;
        for door in &self.doors {
            supervisor.add(Arc::clone(door)).await;
        }
        readers
    }

    /// Waits until it is told to stop, or everything is done.
    async fn until_the_end(
        &self,
        readers: &[String],
        dispatcher: &Dispatcher,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> Result<(), UpError> {
        let mut looks = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                _ = looks.tick() => {}
            }
            let statuses = self.supervisor.statuses();
            let is_over = |name: &String| statuses.iter().any(|status| status.name == *name && status.state == DaemonState::Ended);
            if !readers.iter().all(is_over) {
                continue;
            }
            if let Some(down) = statuses.into_iter().find(|status| status.state == DaemonState::Down) {
                return Err(UpError::Down { service: down.name, why: down.error.unwrap_or_default() });
            }
            if dispatcher.is_idle().await? {
                return Ok(());
            }
        }
    }
}

/// Reports each failure of a service.
async fn say_failures(mut changes: broadcast::Receiver<DaemonStatus>, log: Log) {
    loop {
        let status = match changes.recv().await {
            Ok(status) => status,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let DaemonStatus { name, state, error, .. } = status;
        let Some(error) = error else { continue };
        match state {
            DaemonState::Waiting => log(&format!("the service `{name}` failed and starts again: {error}")),
            DaemonState::Down => log(&format!("the service `{name}` failed too often and stays down: {error}")),
            _ => {}
        }
    }
}
