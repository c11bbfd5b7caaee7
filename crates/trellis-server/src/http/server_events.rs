//! The events of the server: graphs, sessions that moved, approvals, removals.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value as Json, json};
use tokio::{sync::broadcast::error::RecvError, time::Instant};
use trellis_core::SessionId;

use super::{
    App,
    event_sink::{EventSink, Gone, HEARTBEAT_INTERVAL},
    graphs::{numbers, report, status},
};
use crate::{
    act,
    gate::Admission,
    hub::{Hub, ServerFeed, ServerNews},
};

/// The time for which moves of sessions are gathered.
const MOVES_GATHER_TIME: Duration = Duration::from_millis(100);

/// The place at which a stream begins.
pub(super) struct Begin {
    feed: ServerFeed,
    admission: Admission,
    /// True if something that the client asks for is not known any more.
    is_anew: bool,
}

impl Begin {
    /// Begins behind the event that a client names, if it does, and hears from now on.
    pub(super) fn of(hub: &Hub, since: Option<&str>, admission: Admission) -> Self {
        let number = since.map(|since| {
            let parts = since.rsplit_once('-').filter(|(boot, _)| **boot == *hub.boot);
            parts.and_then(|(_, number)| number.parse().ok())
        });
        let feed = hub.feed(number.flatten());
        Self { is_anew: !feed.is_whole || number == Some(None), feed, admission }
    }
}

/// The part of the events that a stream has.
#[derive(Default)]
pub(super) struct Scope {
    /// Of this graph only.
    pub(super) graph: Option<Arc<str>>,
    /// The news of the chat of this label, and nothing else.
    pub(super) chat: Option<Arc<str>>,
    /// With `reload`, as `/events` of the seed.
    pub(super) is_seed: bool,
}

/// Sends events until the client is gone or may not see them any more, or the server stops.
pub(super) async fn run(app: &App, sink: &EventSink, begin: Begin, scope: &Scope) {
    let (graph, chat, is_seed) = (scope.graph.as_deref(), scope.chat.as_deref(), scope.is_seed);
    let mut stream = ServerStream { app, sink, graph, chat, is_seed, moved: BTreeMap::new(), due: None, last: None, newest: None };
    // A client that is gone receives nothing.
    let _ = stream.follow(begin).await;
}

struct ServerStream<'s> {
    app: &'s App,
    sink: &'s EventSink,
    graph: Option<&'s str>,
    /// The only chat that it tells of, if there is one.
    chat: Option<&'s str>,
    is_seed: bool,
    /// Sessions that moved and were not told yet.
    moved: BTreeMap<Arc<str>, BTreeSet<SessionId>>,
    due: Option<Instant>,
    /// The number of the newest event that was gathered.
    last: Option<u64>,
    /// The number of the newest event that was heard.
    newest: Option<u64>,
}

impl ServerStream<'_> {
    async fn follow(&mut self, begin: Begin) -> Result<(), Gone> {
        let Begin { feed: ServerFeed { past, mut news, .. }, mut admission, is_anew } = begin;
        if is_anew {
            self.sink.send("reset", None, &json!({})).await?;
        }
        for (number, news) in past {
            self.tell(number, news).await?;
        }
        let mut beat = tokio::time::interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
        loop {
            let due = self.due;
            tokio::select! {
                heard = news.recv() => match heard {
                    Ok((_, ServerNews::Closed)) | Err(RecvError::Closed) => return self.sink.send("bye", None, &self.since()).await,
                    Ok((number, news)) => self.tell(number, news).await?,
                    Err(RecvError::Lagged(_)) => return self.sink.send("lagged", None, &self.since()).await,
                },
                () = async { match due { Some(due) => tokio::time::sleep_until(due).await, None => std::future::pending().await } } => {
                    self.flush().await?;
                }
                () = admission.revoked() => return self.sink.send("bye", None, &self.since()).await,
                _ = beat.tick() => self.sink.beat().await?,
            }
        }
    }

    /// Returns the position of the stream, for the client's next one.
    fn since(&self) -> Json {
        json!({ "since": self.newest.map(|number| format!("{}-{number}", self.app.served.hub.boot)) })
    }

    async fn tell(&mut self, number: u64, news: ServerNews) -> Result<(), Gone> {
        self.newest = Some(number);
        let is_hidden = self.chat.is_some_and(|own| !matches!(&news, ServerNews::Extra { chat: Some(chat), .. } if **chat == *own));
        if is_hidden {
            return Ok(());
        }
        let is_other = |graph: &Arc<str>| self.graph.is_some_and(|only| *only != **graph);
        let id = format!("{}-{number}", self.app.served.hub.boot);
        match news {
            ServerNews::Moved { graph, session } => {
                if !is_other(&graph) {
                    self.moved.entry(graph).or_default().insert(session);
                    self.last = Some(number);
                    self.due.get_or_insert_with(|| Instant::now() + MOVES_GATHER_TIME);
                }
                Ok(())
            }
            ServerNews::Graph { graph, is_reload } => {
                if is_other(&graph) {
                    return Ok(());
                }
                let Ok(served) = self.app.served.graph(Some(&graph)) else { return Ok(()) };
                let now = served.now();
                let (errors, warnings) = numbers(&now.findings);
                let program = now.program.as_ref().map(|program| Arc::clone(program.fingerprint()));
                let data = json!({
                    "graph": graph, "status": status(now.is_sound), "since": now.since, "program": program, "errors": errors, "warnings": warnings,
                });
                self.sink.send("graph", Some(&id), &data).await?;
                let mut findings = report(served);
                findings["graph"] = (&*graph).into();
                self.sink.send("diagnostics", None, &findings).await?;
                if self.is_seed && is_reload {
                    self.sink.send("reload", None, &json!({ "graph": graph, "program": program })).await?;
                }
                Ok(())
            }
            ServerNews::Approval { graph, session, child, call, state } => {
                if is_other(&graph) {
                    return Ok(());
                }
                let mut data = json!({ "graph": graph, "session": session, "call": call, "state": state });
                if let Some(child) = child {
                    data["child"] = child.as_str().into();
                }
                self.sink.send("approval", Some(&id), &data).await
            }
            ServerNews::Letter { graph, session, letter, state } => {
                if is_other(&graph) {
                    return Ok(());
                }
                let data = json!({ "graph": graph, "session": session, "letter": letter, "state": state });
                self.sink.send("dead", Some(&id), &data).await
            }
            ServerNews::Removed { graph, session } => {
                if is_other(&graph) {
                    return Ok(());
                }
                self.moved.get_mut(&graph).map(|moved| moved.remove(&session));
                self.sink.send("removed", Some(&id), &json!({ "graph": graph, "session": session })).await
            }
            ServerNews::Extra { event, data, .. } => self.sink.send(event, Some(&id), &data).await,
            ServerNews::Closed => Ok(()),
        }
    }

    /// Sends the heads of the sessions that moved.
    async fn flush(&mut self) -> Result<(), Gone> {
        self.due = None;
        let id = self.last.take().map(|number| format!("{}-{number}", self.app.served.hub.boot));
        for (graph, moved) in std::mem::take(&mut self.moved) {
            let Ok(served) = self.app.served.graph(Some(&graph)) else { continue };
            let ids: Vec<_> = moved.into_iter().collect();
            // A store that does not respond is read again later.
            let Ok(heads) = act::heads(served, &ids).await else { continue };
            for head in heads {
                self.sink.send("session", id.as_deref(), &json!(head)).await?;
            }
        }
        Ok(())
    }
}
