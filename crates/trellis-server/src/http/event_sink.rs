//! A stream of `text/event-stream`, and its writing end.

use std::{convert::Infallible, fmt::Write as _, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde_json::Value as Json;
use tokio::sync::mpsc::{self, error::SendTimeoutError};

use super::integers::texts;
use crate::gate::StreamPermit;

/// Events that wait for a client which reads slowly.
const MAX_WAITING_EVENTS: usize = 64;
/// The interval of heartbeats.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// The end of a stream: its client is gone.
pub(super) struct Gone;

/// The writing end of a stream.
#[derive(Clone, Debug)]
pub(super) struct EventSink {
    sender: mpsc::Sender<Bytes>,
    /// The time for which its client may take nothing.
    patience: Duration,
    /// True if the client reads large integers as texts.
    has_texts: bool,
}

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
        let _ = match self.has_texts {
            true => write!(text, "event: {event}\ndata: {}\n\n", with_texts(data.clone())),
            false => write!(text, "event: {event}\ndata: {data}\n\n"),
        };
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
        match self.sender.send_timeout(text.into(), self.patience).await {
            Ok(()) => Ok(()),
            Err(SendTimeoutError::Timeout(_) | SendTimeoutError::Closed(_)) => Err(Gone),
        }
    }
}

/// The same with large integers as texts.
fn with_texts(mut json: Json) -> Json {
    texts(&mut json);
    json
}

/// Returns an answer that lasts while `run` sends events, to a client with this patience that reads large integers as texts or not. It holds its seat for as long as its connection lasts, also when no event is sent any more.
pub(super) fn stream<F: Future<Output = ()> + Send + 'static>(
    permit: StreamPermit,
    (patience, has_texts): (Duration, bool),
    run: impl FnOnce(EventSink) -> F,
) -> Response {
    let (sender, receiver) = mpsc::channel::<Bytes>(MAX_WAITING_EVENTS);
    // The client of a closed stream does not see this.
    let _ = sender.try_send(Bytes::from_static(b"retry: 1000\n\n"));
    let running = run(EventSink { sender: sender.clone(), patience, has_texts });
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
