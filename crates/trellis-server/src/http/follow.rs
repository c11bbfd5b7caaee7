//! The events of one session, in order: its records, its lines, its turns.
//!
//! **Invariant:** each record comes once and in order; everything that follows from it comes after it.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, MissedTickBehavior},
};
use trellis_core::SessionId;
use trellis_host::{SendError, Turn, wire};

use super::{
    answer::turn_json,
    event_sink::{EventSink, Gone, HEARTBEAT_INTERVAL},
};
use crate::{
    act::{self, Target},
    gate::Admission,
    hub::{ServerFeed, ServerNews, SessionNews},
    trouble::Trouble,
};

/// The interval at which the store is read for steps of other processes.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The time for which pieces of text are gathered.
const TEXT_GATHER_TIME: Duration = Duration::from_millis(50);

/// A client that follows a session.
pub(super) struct Follower {
    pub(super) target: Target,
    pub(super) admission: Admission,
    /// True if the arguments of calls that the client carries out are shown whole.
    pub(super) is_whole: bool,
    pub(super) with_html: bool,
    /// The session that each event names, where several share a stream.
    pub(super) of: Option<SessionId>,
}

/// The continuation of a stream.
enum Onward {
    On,
    End,
}

/// Pieces of texts that are sent together.
#[derive(Default)]
struct Gathered {
    lines: Vec<(wire::SessionEvent, Option<SessionId>)>,
    due: Option<Instant>,
}

impl Follower {
    /// Sends events until the client is gone or may not see them any more, the session is removed, or the server stops.
    pub(super) async fn run(self, sink: &EventSink, since: Option<u64>, feed: ServerFeed) {
        // A client that is gone receives nothing.
        let _ = self.follow(sink, since, feed).await;
    }

    async fn follow(&self, sink: &EventSink, since: Option<u64>, mut feed: ServerFeed) -> Result<(), Gone> {
        // Before anything is read, so that nothing is missed in between.
        let (mut news, mut admission) = (self.target.listen(), self.admission.clone());
        let Ok(mut next) = self.begin(sink, since).await? else { return Ok(()) };
        let mut last_sent = None;
        self.turn_of_now(sink, &mut last_sent).await?;
        let (mut gathered, mut beat, mut look) = (Gathered::default(), interval(HEARTBEAT_INTERVAL), interval(STORE_POLL_INTERVAL));
        loop {
            let onward = tokio::select! {
                heard = news.recv() => match heard {
                    Ok(SessionNews::Recorded) => {
                        self.records(sink, &mut next).await?;
                        Onward::On
                    }
                    Ok(SessionNews::Line(line, child)) => {
                        self.line(sink, (&line, child.as_ref()), &mut gathered).await?;
                        Onward::On
                    }
                    Ok(SessionNews::Turn(turn)) => {
                        self.flush(sink, &mut gathered).await?;
                        self.records(sink, &mut next).await?;
                        self.turn(sink, &turn, &mut last_sent).await?;
                        Onward::On
                    }
                    // Who paused it is told, and so is everybody by the turn.
                    Ok(SessionNews::Failed(SendError::Stopped)) => Onward::On,
                    Ok(SessionNews::Failed(error)) => {
                        let line = wire::SessionEvent::Error(wire::Refusal::new(error.line_code(), &error.to_string()));
                        self.line(sink, (&line, None), &mut gathered).await?;
                        Onward::On
                    }
                    Ok(SessionNews::Removed) => self.end(sink, "removed", next).await?,
                    Err(RecvError::Lagged(_)) => self.end(sink, "lagged", next).await?,
                    Err(RecvError::Closed) => Onward::End,
                },
                heard = feed.news.recv() => match heard {
                    Ok((_, ServerNews::Closed)) | Err(RecvError::Closed) => self.end(sink, "bye", next).await?,
                    Ok(_) | Err(RecvError::Lagged(_)) => Onward::On,
                },
                () = admission.revoked() => self.end(sink, "bye", next).await?,
                _ = look.tick() => {
                    if act::has_records(&self.target.graph, &self.target.id, next).await {
                        self.records(sink, &mut next).await?;
                        self.turn_of_now(sink, &mut last_sent).await?;
                    }
                    Onward::On
                },
                _ = beat.tick() => {
                    sink.beat().await?;
                    Onward::On
                },
                () = gathered.ready() => {
                    self.flush(sink, &mut gathered).await?;
                    Onward::On
                },
            };
            if let Onward::End = onward {
                return Ok(());
            }
        }
    }

    /// Sends the records since a number, or an error if they are missing. Returns the number of the next one.
    async fn begin(&self, sink: &EventSink, since: Option<u64>) -> Result<Result<u64, ()>, Gone> {
        let rows = match act::rows_since(&self.target.graph, &self.target.id, 0).await {
            Ok(rows) => rows,
            Err(trouble) => return self.broken(sink, &trouble).await.map(|()| Err(())),
        };
        let first = rows.first().map_or(0, |row| row.seq);
        let next = rows.last().map_or(0, |row| row.seq + 1);
        let Some(since) = since else { return Ok(Ok(next)) };
        let is_there = since < next && since.saturating_add(1) >= first;
        if !is_there {
            self.send(sink, "reset", None, json!({ "first": first })).await?;
        }
        let from = if is_there { since + 1 } else { first };
        for row in rows.iter().filter(|row| row.seq >= from) {
            self.send(sink, "record", Some(row.seq), row.json.clone()).await?;
        }
        Ok(Ok(next))
    }

    /// Sends the records that were stored since.
    async fn records(&self, sink: &EventSink, next: &mut u64) -> Result<(), Gone> {
        // A store that does not answer is asked again.
        let Ok(rows) = act::rows_since(&self.target.graph, &self.target.id, *next).await else { return Ok(()) };
        for row in rows {
            self.send(sink, "record", Some(row.seq), row.json).await?;
            *next = row.seq + 1;
        }
        Ok(())
    }

    async fn line(
        &self,
        sink: &EventSink,
        (line, child): (&wire::SessionEvent, Option<&SessionId>),
        gathered: &mut Gathered,
    ) -> Result<(), Gone> {
        if gathered.take(line, child) {
            return Ok(());
        }
        self.flush(sink, gathered).await?;
        self.send_line(sink, line, child).await
    }

    async fn flush(&self, sink: &EventSink, gathered: &mut Gathered) -> Result<(), Gone> {
        gathered.due = None;
        for (line, child) in std::mem::take(&mut gathered.lines) {
            self.send_line(sink, &line, child.as_ref()).await?;
        }
        Ok(())
    }

    async fn send_line(&self, sink: &EventSink, line: &wire::SessionEvent, child: Option<&SessionId>) -> Result<(), Gone> {
        let mut json = serde_json::to_value(wire::Line { line, child }).unwrap_or_default();
        match self.target.graph.redactions.hide(self.target.graph.store(), &self.target.id, &mut [&mut json]).await {
            Ok(()) => self.send(sink, "line", None, json).await,
            Err(_) => Ok(()),
        }
    }

    fn is_paused(&self) -> bool {
        self.target.sessions.is_paused(&self.target.id)
    }

    /// Sends the current turn of the session, if it needs a client, or is paused.
    async fn turn_of_now(&self, sink: &EventSink, last_sent: &mut Option<(u64, bool)>) -> Result<(), Gone> {
        match self.target.sessions.view(&self.target.id).await {
            Ok(turn) if !turn.stop.needs_nobody() || self.is_paused() => self.turn(sink, &turn, last_sent).await,
            _ => Ok(()),
        }
    }

    /// Sends a turn, unless it was sent with nothing new in between, and no pause begun or ended.
    async fn turn(&self, sink: &EventSink, turn: &Turn, last_sent: &mut Option<(u64, bool)>) -> Result<(), Gone> {
        let sent = (turn.seq, self.is_paused());
        if last_sent.replace(sent) == Some(sent) {
            return Ok(());
        }
        match turn_json(&self.target.graph, turn, self.is_whole, self.with_html).await {
            Ok(json) => self.send(sink, "turn", None, json).await,
            Err(_) => Ok(()),
        }
    }

    async fn end(&self, sink: &EventSink, event: &str, next: u64) -> Result<Onward, Gone> {
        self.send(sink, event, None, json!({ "since": next.checked_sub(1) })).await?;
        Ok(Onward::End)
    }

    async fn broken(&self, sink: &EventSink, trouble: &Trouble) -> Result<(), Gone> {
        let line = wire::SessionEvent::Error(wire::Refusal::new(trouble.code.as_str(), trouble.code.title()));
        self.send(sink, "line", None, serde_json::to_value(line).unwrap_or_default()).await
    }

    async fn send(&self, sink: &EventSink, event: &str, id: Option<u64>, mut data: Json) -> Result<(), Gone> {
        let Some(session) = &self.of else {
            return sink.send(event, id.map(|id| id.to_string()).as_deref(), &data).await;
        };
        // Ids of a stream that several share are those of the server.
        match data.as_object_mut() {
            Some(entries) => drop(entries.insert("session".into(), session.as_str().into())),
            None => data = json!({ "session": session, "data": data }),
        }
        sink.send(event, None, &data).await
    }
}

impl Gathered {
    /// Takes a piece of a text, if it is one.
    fn take(&mut self, line: &wire::SessionEvent, child: Option<&SessionId>) -> bool {
        let (wire::SessionEvent::Delta(_) | wire::SessionEvent::Progress(_)) = line else { return false };
        self.due.get_or_insert_with(|| Instant::now() + TEXT_GATHER_TIME);
        if let wire::SessionEvent::Delta(delta) = line
            && !delta.reset
            && let Some(before) = self.lines.iter_mut().rev().find_map(|(line, _)| match line {
                wire::SessionEvent::Delta(before) if before.id == delta.id => Some(before),
                _ => None,
            })
        {
            before.text = format!("{}{}", before.text, delta.text).into();
            return true;
        }
        self.lines.push((line.clone(), child.cloned()));
        true
    }

    /// Waits until the gathered text is due; for ever if there is none.
    async fn ready(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.reset();
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
