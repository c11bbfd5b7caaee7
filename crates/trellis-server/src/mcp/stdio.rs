//! Standard streams: one client, which started the program and has every right.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rmcp::{
    RoleServer, ServiceExt as _,
    model::{ClientJsonRpcMessage, ClientResult, ElicitResult, ElicitationAction, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    service::ServerInitializeError,
    transport::{self, IntoTransport, Transport},
};

use super::{McpDoor, McpHandler, McpSettings, counted::CountedHandler, starter};
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
        let client = Client { streams: transport::stdio().into_transport(), asked: VecDeque::new(), has_ended: false };
        let ended = match CountedHandler(McpHandler::new(Arc::new(door))).serve(client).await {
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

/// A client over streams. When its input ends, nobody answers the questions that are open, so they are closed; otherwise the library waits for their
/// answers for some time.
struct Client<T> {
    streams: T,
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
        if !self.has_ended {
            match self.streams.receive().await {
                Some(message) => {
                    let answered = match &message {
                        JsonRpcMessage::Response(response) => Some(&response.id),
                        JsonRpcMessage::Error(error) => error.id.as_ref(),
                        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
                    };
                    self.asked.retain(|id| Some(id) != answered);
                    return Some(message);
                }
                None => self.has_ended = true,
            }
        }
        let closed = ClientResult::ElicitResult(ElicitResult::new(ElicitationAction::Cancel));
        Some(JsonRpcMessage::response(closed, self.asked.pop_front()?))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.streams.close().await
    }
}
