//! Takes a session out of its store.

use trellis_host::store::{Removal, SessionStore as _, StoreError};

use super::Target;
use crate::{
    hub::{ServerNews, SessionNews},
    trouble::{Code, Trouble},
};

/// Removes a session whose next record is `expected`; an open one only if `open` is true.
///
/// # Errors
/// It advanced meanwhile, has not ended, or has running work here.
pub(crate) async fn remove(target: Target, expected: u64, open: bool) -> Result<(), Trouble> {
    target.in_task(taken_out(target.clone(), expected, open)).await?
}

/// Removes it, and notifies every listener.
async fn taken_out(target: Target, expected: u64, open: bool) -> Result<(), Trouble> {
    let advanced = || format!("session `{}` advanced meanwhile; nothing was removed", target.id);
    let place = target.place().await?;
    if place.seq != expected {
        return Err(place.conflict(advanced()));
    }
    if !place.standing.has_ended() && !open {
        return Err(Trouble::new(Code::NotEnded, format!("session `{}` has not ended; `?open=true` removes it nevertheless", target.id)));
    }
    if place.works() && !target.sessions.is_paused(&target.id) {
        return Err(Trouble::new(Code::InProgress, format!("session `{}` advances by itself here: pause it first", target.id)));
    }
    match target.graph.source.store.store.remove(&target.id, Removal::Session { expected }).await {
        Ok(()) => {}
        Err(StoreError::Conflict { .. }) => return Err(target.place().await?.conflict(advanced())),
        Err(error) => return Err(error.into()),
    }
    target.sessions.close(&target.id);
    target.graph.redactions.forget(&target.id).await;
    target.hub.tell(&target.graph.name, &target.id, SessionNews::Removed);
    target.hub.publish(ServerNews::Removed { graph: target.graph.name.clone(), session: target.id });
    Ok(())
}
