//! Routes of events: streams of `text/event-stream`.

use std::{convert::Infallible, fmt::Write as _, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde_json::Value as Json;
use tokio::sync::mpsc::{self, error::SendTimeoutError};

use super::{answer::Answered, ask::Ask, follow::Follower, server_events};
use crate::{
    act::Target,
    gate::{Right, StreamPermit},
    trouble::{Code, Trouble},
};

/// Events that wait for a client which reads slowly.
const MAX_WAITING_EVENTS: usize = 64;
/// Sessions that are streamed beside the server's events.
const MAX_SESSIONS: usize = 16;

/// The end of a stream: its client is gone.
pub(super) struct Gone;

/// The writing end of a stream, and how long its client may take nothing.
#[derive(Clone, Debug)]
pub(super) struct EventSink(mpsc::Sender<Bytes>, Duration);

impl EventSink {
    /// Sends an event.
    ///
    /// # Errors
    /// The client has closed the stream.
    pub(super) async fn send(&self, event: &str, id: Option<&str>, data: &Json) -> Result<(), Gone> {
        let mut text = String::new();
        if let Some(id) = id {
            let _ = writeln!(text, "id: {id}");
        }
        let _ = write!(text, "event: {event}\ndata: {data}\n\n");
        self.text(text).await
    }

    /// Sends a comment as a heartbeat.
    ///
    /// # Errors
    /// The client has closed the stream.
    pub(super) async fn beat(&self) -> Result<(), Gone> {
        self.text(": \n\n".to_owned()).await
    }

    async fn text(&self, text: String) -> Result<(), Gone> {
        match self.0.send_timeout(text.into(), self.1).await {
            Ok(()) => Ok(()),
            Err(SendTimeoutError::Timeout(_) | SendTimeoutError::Closed(_)) => Err(Gone),
        }
    }
}

pub(super) async fn session(ask: Ask) -> Answered {
    let target = ask.target().await?;
    // There must be such a session before there is a stream.
    target.sessions.view(&target.id).await.map_err(Trouble::from)?;
    let since = match ask.headers.get("last-event-id").and_then(|id| id.to_str().ok()) {
        Some(id) => Some(id.parse().map_err(|_| Trouble::new(Code::BadRequest, "`Last-Event-ID` is the number of a record"))?),
        None => ask.query_as("since", "the number of a record")?,
    };
    let permit = ask.app.rates.stream(&ask.caller.label, &ask.app.settings.bounds)?;
    let follower = Follower { target, is_whole: ask.caller.rights.has(Right::Walk), with_html: ask.flag("html")?, of: None };
    let feed = ask.app.served.hub.feed(None);
    Ok(stream(permit, ask.app.settings.bounds.patience, |sink| async move { follower.run(&sink, since, feed).await }))
}

pub(super) async fn server(ask: Ask) -> Answered {
    let graph = match ask.query("graph") {
        Some(name) => Some(ask.app.served.graph(Some(name))?.name.clone()),
        None => None,
    };
    let names: Vec<_> = ask.query("session").into_iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_SESSIONS {
        return Err(Trouble::new(Code::BadRequest, format!("`session` names at most {MAX_SESSIONS} sessions, not {}", names.len())).into());
    }
    let mut followers = Vec::new();
    for name in names {
        let target = Target::find(&ask.app.served, name, ask.query("graph")).await?;
        target.sessions.view(&target.id).await.map_err(Trouble::from)?;
        followers.push(Follower { of: Some(target.id.clone()), target, is_whole: ask.caller.rights.has(Right::Walk), with_html: false });
    }
    let since = ask.headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let permit = ask.app.rates.stream(&ask.caller.label, &ask.app.settings.bounds)?;
    let (app, is_seed) = (ask.app.clone(), ask.route.is_alias);
    Ok(stream(permit, app.settings.bounds.patience, move |sink| async move {
        let followed = followers.into_iter().map(|follower| {
            let (sink, feed) = (sink.clone(), app.served.hub.feed(None));
            async move { follower.run(&sink, None, feed).await }
        });
        let followed: Vec<_> = followed.map(tokio::spawn).collect();
        server_events::run(&app, &sink, since.as_deref(), graph.as_deref(), is_seed).await;
        followed.iter().for_each(tokio::task::JoinHandle::abort);
    }))
}

/// Returns an answer that lasts while `run` sends events. It holds its seat for as long as its connection lasts, also when no event is sent any more.
fn stream<F: Future<Output = ()> + Send + 'static>(permit: StreamPermit, patience: Duration, run: impl FnOnce(EventSink) -> F) -> Response {
    let (sender, receiver) = mpsc::channel::<Bytes>(MAX_WAITING_EVENTS);
    // The client of a closed stream does not see this.
    let _ = sender.try_send(Bytes::from_static(b"retry: 1000\n\n"));
    let running = run(EventSink(sender.clone(), patience));
    tokio::spawn(async move {
        tokio::select! {
            () = running => {}
            () = sender.closed() => {}
        }
    });
    let events = futures_util::stream::unfold((receiver, permit), |(mut receiver, permit)| async move {
        let bytes = receiver.recv().await?;
        Some((Ok::<_, Infallible>(bytes), (receiver, permit)))
    });
    let mut response = Body::from_stream(events).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}
