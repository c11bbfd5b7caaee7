//! Begins a session.

use std::{sync::Arc, time::Duration};

use trellis_core::{Mapping, NodeId, SessionId, Start};
use trellis_host::{SendError, journal::RequestKey, store::check_name};

use super::{Target, Walked, deadline, target::taken};
use crate::{
    served::{Served, ServedGraph},
    trouble::Trouble,
};

/// The start of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) graph: Option<String>,
    /// Without one, a name is made.
    pub(crate) id: Option<String>,
    pub(crate) context: Mapping,
    pub(crate) locale: Option<String>,
    pub(crate) at: Option<NodeId>,
}

/// Begins a session, and waits for its first stop.
///
/// # Errors
/// The start is refused, or there is a session of that name.
pub(crate) async fn start(served: &Served, beginning: Beginning, request: RequestKey, wait: Duration) -> Result<Walked, Trouble> {
    let graph = Arc::clone(served.graph(beginning.graph.as_deref())?);
    let id = match beginning.id {
        Some(id) => id,
        None => {
            let id = new_name(&request)?;
            if request.key.is_some() {
                unused_elsewhere(served, &graph, &SessionId::from(&*id)).await?;
            }
            id
        }
    };
    check_name(&id).map_err(SendError::from)?;
    let target = Target::of(served, graph, SessionId::from(&*id))?;
    let until = deadline(wait);
    let news = target.listen();
    let start = Start {
        session: Some(target.id.clone()),
        context: beginning.context,
        locale: beginning.locale.map(Arc::from),
        at: beginning.at,
        seed: None,
    };
    let sessions = Arc::clone(&target.sessions);
    let telling = target.clone();
    let begun = target.in_task(async move {
        let turn = sessions.start_by(start, request).await;
        turn.iter().for_each(|turn| telling.announce(turn));
        turn
    });
    let (turn, is_repeated) = taken(begun.await?)?;
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated })
}

/// Checks that the name of a request began no session of another graph: it would begin a second one of the same name.
///
/// # Errors
/// It did, or a store fails.
async fn unused_elsewhere(served: &Served, graph: &Arc<ServedGraph>, id: &SessionId) -> Result<(), Trouble> {
    for other in served.all().filter(|other| !Arc::ptr_eq(other, graph)) {
        if other.has(id).await? {
            return Err(SendError::KeyReused(id.clone()).into());
        }
    }
    Ok(())
}

/// A name that no other session has; the same one for the same request.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn new_name(request: &RequestKey) -> Result<String, Trouble> {
    if let Some(key) = &request.key {
        let by = request.by.as_deref().unwrap_or_default();
        return Ok(format!("s-{}", &crate::digest::digest(&[by.as_bytes(), key.as_bytes()])[..20]));
    }
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Trouble::new(crate::Code::Internal, crate::Code::Internal.title()).logged(error.to_string()))?;
    Ok(format!("s-{:016x}", u64::from_le_bytes(bytes)))
}
