//! Standard streams: one client, which started the program and has every right.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rmcp::{
    ErrorData, RoleServer, ServiceExt as _,
    model::{ClientJsonRpcMessage, ClientResult, ElicitResult, ElicitationAction, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    service::ServerInitializeError,
    transport::{self, IntoTransport, Transport},
};

use super::{
    McpDoor, McpHandler, McpSettings,
    counted::CountedHandler,
    input::{Unreadable, lines},
    starter,
};
use crate::{bounds::Bounds, served::Served};

/// Serving ended before it began.
#[derive(Debug, thiserror::Error)]
#[error("the client does not speak MCP: {0}")]
pub struct McpEnded(String);

impl McpEnded {
    pub(super) fn new(why: &dyn std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}

/// Serves graphs over standard input and output, until input ends or `stop`. Turns come to their stops when input ends; at `stop`, what runs is stopped
/// at once, since clients kill a program that takes long. What was stopped stays pending. Sessions stay stored.
///
/// # Errors
/// The input is not MCP.
pub async fn serve_stdio(served: Arc<Served>, settings: McpSettings, stop: impl Future<Output = ()>) -> Result<(), McpEnded> {
    let door = McpDoor { served: Arc::clone(&served), settings, local: Some(starter()) };
    let serving = async {
        let ended = match CountedHandler(McpHandler::new(Arc::new(door))).serve(client()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| McpEnded::new(&error)),
            // A client that closes the streams before its first message wants nothing.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(McpEnded::new(&error)),
        };
        served.stop(Bounds::default().grace).await;
        ended
    };
    tokio::select! {
        ended = serving => ended,
        () = stop => {
            served.stop(Duration::ZERO).await;
            Ok(())
        }
    }
}

/// The client that started the program.
pub(super) fn client() -> Client<impl Transport<RoleServer>> {
    let (stdin, stdout) = transport::stdio();
    let (input, unreadable) = lines(stdin);
    Client { streams: (input, stdout).into_transport(), unreadable, asked: VecDeque::new(), has_ended: false }
}

/// A client over streams. When its input ends, nobody answers the questions that are open, so they are closed; otherwise the library waits for their
/// answers for some time.
pub(super) struct Client<T> {
    streams: T,
    unreadable: Unreadable,
    /// The questions that have no answer yet.
    asked: VecDeque<RequestId>,
    has_ended: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Client<T> {
    type Error = T::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message {
            self.asked.push_back(request.id.clone());
        }
        self.streams.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while !self.has_ended {
            let received = tokio::select! {
                biased;
                Some(why) = self.unreadable.recv() => Err(why),
                message = self.streams.receive() => Ok(message),
            };
            match received {
                // Whose message it was is not known. A client that is gone gets no answer.
                Err(why) => drop(self.send(JsonRpcMessage::error(ErrorData::parse_error(why, None), None)).await),
                Ok(Some(message)) => {
                    let answered = match &message {
                        JsonRpcMessage::Response(response) => Some(&response.id),
                        JsonRpcMessage::Error(error) => error.id.as_ref(),
                        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
                    };
                    self.asked.retain(|id| Some(id) != answered);
                    return Some(message);
                }
                Ok(None) => self.has_ended = true,
            }
        }
        let closed = ClientResult::ElicitResult(ElicitResult::new(ElicitationAction::Cancel));
        Some(JsonRpcMessage::response(closed, self.asked.pop_front()?))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.streams.close().await
    }
}
