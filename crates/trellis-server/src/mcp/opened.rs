//! Open sessions of the protocol: each belongs to the token that opened it, up to a bound.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::Stream;
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};
use tokio::sync::Mutex;

use crate::gate::Admission;

/// Sessions in memory, with their owners.
#[derive(Debug)]
pub(super) struct OpenSessions {
    local: LocalSessionManager,
    bound: usize,
    /// The tokens that opened them.
    owners: Mutex<BTreeMap<SessionId, Owner>>,
}

/// A token, by its label, and whether it still is one.
type Owner = (Arc<str>, Admission);

/// The reason why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unopened {
    #[error("{0} sessions are open, which is the bound")]
    Full(usize),
    #[error("nobody opens it")]
    Nobody,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// The sender of a request, and whether there was no room for the session that it wanted.
#[derive(Debug)]
struct Opener {
    owner: Owner,
    is_refused: Cell<bool>,
}

tokio::task_local! {
    static OPENER: Opener;
}

impl OpenSessions {
    /// No session yet; there may be `bound`, each as long as it is not idle for this time.
    pub(super) fn new(bound: usize, idle: Duration) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        Self { local, bound, owners: Mutex::default() }
    }

    /// Does the work of a token's request: a session that begins is its own. Returns `None` if there was no room for one.
    pub(super) async fn serve<T>(&self, owner: Owner, work: impl Future<Output = T>) -> Option<T> {
        let opener = Opener { owner, is_refused: Cell::new(false) };
        let work = async {
            let done = work.await;
            (!OPENER.with(|opener| opener.is_refused.get())).then_some(done)
        };
        OPENER.scope(opener, work).await
    }

    /// The label of the token that opened a session.
    pub(super) async fn owner(&self, id: &str) -> Option<Arc<str>> {
        self.owners.lock().await.get(id).map(|(label, _)| Arc::clone(label))
    }

    /// Ends the sessions whose tokens are none any more, or have lost a right.
    pub(super) async fn close_revoked(&self) {
        let owners = self.owners.lock().await;
        let revoked: Vec<_> = owners.iter().filter(|(_, (_, admission))| !admission.is_valid()).map(|(id, _)| id.clone()).collect();
        drop(owners);
        for id in revoked {
            // It may have ended meanwhile.
            drop(self.close_session(&id).await);
        }
    }
}

/// Only the begin and end of a session are not left to the manager of the library. The bound is checked here and not where a request comes in,
/// since only the library knows which messages begin a session.
impl SessionManager for OpenSessions {
    type Error = Unopened;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Unopened> {
        let owner = OPENER.try_with(|opener| opener.owner.clone()).map_err(|_| Unopened::Nobody)?;
        let mut owners = self.owners.lock().await;
        if owners.len() >= self.bound {
            OPENER.with(|opener| opener.is_refused.set(true));
            return Err(Unopened::Full(self.bound));
        }
        let (id, transport) = self.local.create_session().await?;
        owners.insert(id.clone(), owner);
        Ok((id, transport))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Unopened> {
        let closed = self.local.close_session(id).await;
        self.owners.lock().await.remove(id);
        Ok(closed?)
    }

    async fn initialize_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<ServerJsonRpcMessage, Unopened> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Unopened> {
        Ok(self.local.has_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unopened> {
        Ok(self.local.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Unopened> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unopened> {
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unopened> {
        Ok(self.local.resume(id, last_event_id).await?)
    }
}
