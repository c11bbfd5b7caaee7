//! Standard streams: one client, which started the program and has every right.

use std::sync::Arc;

use rmcp::{ServiceExt as _, service::ServerInitializeError, transport};

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

/// Serves graphs over standard input and output, until input ends. Sessions stay stored.
///
/// # Errors
/// The input is not MCP.
pub async fn serve_stdio(served: Arc<Served>, settings: McpSettings) -> Result<(), McpEnded> {
    let door = McpDoor { served: Arc::clone(&served), settings, local: Some(starter()) };
    let running = CountedHandler(McpHandler::new(Arc::new(door))).serve(transport::stdio()).await;
    let ended = match running {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| McpEnded::new(&error)),
        // A client that closes the streams before its first message wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(McpEnded::new(&error)),
    };
    served.stop(Bounds::default().grace).await;
    ended
}
