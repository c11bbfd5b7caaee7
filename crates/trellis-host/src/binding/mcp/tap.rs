//! The messages between a server and the client of the protocol: progress goes to its call, changes of the tool list are noted, and so is the end.
//!
//! **Invariant:** progress of a call keeps its order, and however much of it comes, a bounded part of it is held.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ProgressNotificationParam, ProgressToken, RequestId,
        ServerJsonRpcMessage, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::{mpsc, oneshot};

use super::super::Cancel;

/// Lines of progress that wait for their call.
const WAITING: usize = 256;

/// A transport, and its listener.
pub(super) struct Tapped<T> {
    inner: T,
    tap: Arc<Tap>,
}

/// The listeners of a connection.
#[derive(Default)]
pub(super) struct Tap {
    progress: Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>,
    late: Mutex<HashMap<RequestId, oneshot::Sender<ServerJsonRpcMessage>>>,
    changed: AtomicBool,
    end: Cancel,
}

/// Takes the progress of one call; travels inside of the request, which alone knows its token.
#[derive(Clone)]
pub(super) struct ProgressSink(mpsc::Sender<String>);

/// Lines of progress: `done`, `total` and a message.
pub(super) fn progress() -> (ProgressSink, mpsc::Receiver<String>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (ProgressSink(sender), receiver)
}

impl Tap {
    /// No more progress of a call.
    pub(super) fn forget(&self, token: &ProgressToken) {
        locked(&self.progress).remove(token);
    }

    /// The answer to a request that was cancelled, should it still come.
    pub(super) fn late_answer(&self, id: RequestId) -> oneshot::Receiver<ServerJsonRpcMessage> {
        let (sender, receiver) = oneshot::channel();
        locked(&self.late).insert(id, sender);
        receiver
    }

    /// No answer to it any more.
    pub(super) fn forget_answer(&self, id: &RequestId) {
        locked(&self.late).remove(id);
    }

    /// Returns whether the list of tools changed since the last time.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// The end of the connection.
    pub(super) fn end(&self) -> &Cancel {
        &self.end
    }

    /// Takes a message that has a receiver here; returns any other.
    fn pass(&self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    let sink = locked(&self.progress).get(&progress.params.progress_token).cloned();
                    // If it is full, the call has more progress than it can report already.
                    sink.map(|sink| sink.try_send(line(&progress.params)));
                    return None;
                }
                ServerNotification::LoggingMessageNotification(_) => return None,
                ServerNotification::ToolListChangedNotification(_) => self.changed.store(true, Ordering::Release),
                _ => {}
            },
            JsonRpcMessage::Response(response) => {
                let late = locked(&self.late).remove(&response.id);
                if let Some(late) = late {
                    let _ = late.send(message);
                    return None;
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }
}

impl<T> Tapped<T> {
    pub(super) fn new(inner: T, tap: Arc<Tap>) -> Self {
        Self { inner, tap }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Tapped<T> {
    type Error = T::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        listen(&self.tap, &item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.tap.end.cancel();
                return None;
            };
            if let Some(message) = self.tap.pass(message) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.tap.end.cancel();
        self.inner.close()
    }
}

/// Registers the receiver of a request's progress before it is sent.
fn listen(tap: &Tap, message: &ClientJsonRpcMessage) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::CallToolRequest(call) = &request.request
        && let (Some(sink), Some(token)) = (call.extensions.get::<ProgressSink>(), request.request.get_meta().get_progress_token())
    {
        locked(&tap.progress).insert(token, sink.0.clone());
    }
}

/// Progress as one line.
fn line(progress: &ProgressNotificationParam) -> String {
    let amount = match progress.total {
        Some(total) => format!("{}/{total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match progress.message.as_deref().map(str::trim) {
        None | Some("") => amount,
        Some(message) if progress.total.is_some() => format!("{amount} {message}"),
        Some(message) => message.to_owned(),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
