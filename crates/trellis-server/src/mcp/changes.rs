//! Changes while a client is connected: lists after each save, and resources that it follows.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionContext},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{McpDoor, resources};
use crate::hub::ServerNews;

/// The interval at which the presence of the client is checked.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Resources that a client of an older revision follows.
pub(super) type Followed = Arc<Mutex<BTreeSet<String>>>;

/// Events of the server, with their numbers.
type NumberedNews = Receiver<(u64, ServerNews)>;

/// A change, for clients that follow it.
struct Change {
    /// True if tools, prompts and resources may have changed.
    are_lists: bool,
    /// The prefix of the changed addresses.
    below: String,
}

impl Change {
    fn of(news: &ServerNews) -> Option<Self> {
        match news {
            ServerNews::Graph { graph, .. } => Some(Self { are_lists: true, below: resources::of_graph(graph) }),
            ServerNews::Moved { session, .. } | ServerNews::Removed { session, .. } => {
                Some(Self { are_lists: false, below: resources::of_session(session.as_str()) })
            }
            _ => None,
        }
    }

    /// Anything, for those that missed what it was.
    fn of_all() -> Self {
        Self { are_lists: true, below: resources::ALL.to_owned() }
    }

    fn touches(&self, uri: &str) -> bool {
        let is_below = uri.strip_prefix(&*self.below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below || self.are_lists && uri == resources::GRAPH
    }
}

/// The next change; nothing once the server stops.
async fn next(news: &mut NumberedNews) -> Option<Change> {
    loop {
        match news.recv().await {
            Ok((_, ServerNews::Closed)) | Err(RecvError::Closed) => return None,
            Ok((_, news)) => {
                if let Some(change) = Change::of(&news) {
                    return Some(change);
                }
            }
            Err(RecvError::Lagged(_)) => return Some(Change::of_all()),
        }
    }
}

/// Notifies a client of an older revision, until it is gone.
pub(super) async fn tell(mut news: NumberedNews, peer: Peer<RoleServer>, followed: Followed) {
    while !peer.is_transport_closed() {
        let Ok(change) = tokio::time::timeout(CLIENT_CHECK_INTERVAL, next(&mut news)).await else { continue };
        let Some(change) = change else { return };
        let touched: Vec<String> = {
            let followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
            followed.iter().filter(|uri| change.touches(uri)).cloned().collect()
        };
        let sent = async {
            if change.are_lists {
                peer.notify_tool_list_changed().await?;
                peer.notify_prompt_list_changed().await?;
                peer.notify_resource_list_changed().await?;
            }
            for uri in touched {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
            }
            Ok::<_, rmcp::ServiceError>(())
        };
        if sent.await.is_err() {
            return;
        }
    }
}

/// Notifies a client of the changes that it listens to, until it stops listening or the server ends.
pub(super) async fn listen(door: &McpDoor, context: &SubscriptionContext) {
    let mut news = door.served.hub.feed(None).news;
    let (sink, accepted) = (context.sink(), context.accepted().clone());
    loop {
        let change = tokio::select! {
            change = next(&mut news) => change,
            () = context.cancelled() => None,
        };
        let Some(change) = change else { return };
        let touched = accepted.resource_subscriptions.iter().flatten().filter(|uri| change.touches(uri));
        let sent = async {
            if change.are_lists && accepted.tools_list_changed == Some(true) {
                sink.notify_tool_list_changed().await?;
            }
            if change.are_lists && accepted.prompts_list_changed == Some(true) {
                sink.notify_prompt_list_changed().await?;
            }
            if change.are_lists && accepted.resources_list_changed == Some(true) {
                sink.notify_resource_list_changed().await?;
            }
            for uri in touched {
                sink.notify_resource_updated(uri.as_str()).await?;
            }
            Ok::<_, rmcp::service::SubscriptionSendError>(())
        };
        if sent.await.is_err() {
            return;
        }
    }
}
