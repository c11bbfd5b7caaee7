//! Moves a session, or sets its context: one record each, made where the client saw the session.

use std::sync::Arc;

use trellis_core::{NodeId, SessionId, Value, path::KeyPath};
use trellis_host::{
    Clock, SendError, SessionEvent,
    history::{HistoryError, Operator, Put},
    journal::RequestKey,
};

use super::{Target, Walked};
use crate::{
    served::Served,
    trouble::{Code, Trouble},
};

/// The change: another node or step, or new values.
#[derive(Clone, Debug)]
pub(crate) enum Relocation {
    /// To where it was after this record.
    Back(u64),
    /// Into this node.
    Node(NodeId),
    /// It stays, with these values in its context.
    Context(Vec<(KeyPath, Value)>),
}

impl Relocation {
    async fn carry_out(&self, operator: &Operator<'_>, id: &SessionId) -> Result<Put, HistoryError> {
        match self {
            Self::Back(to) => operator.back(id, *to).await,
            Self::Node(node) => operator.goto(id, node).await,
            Self::Context(assignments) => operator.set(id, assignments).await,
        }
    }
}

/// Moves a session whose next record is `expected`. Its work in this process is stopped first.
///
/// # Errors
/// It advanced meanwhile, or cannot be at that place.
pub(crate) async fn relocate(target: Target, expected: u64, to: Relocation, request: RequestKey) -> Result<Walked, Trouble> {
    let engine = target.graph.engine()?;
    let operator = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).request(request.clone());
    match operator.taken(&target.id, &request).await? {
        None => {}
        Some(taken) if request.is_repeated(&taken) => {
            let turn = target.sessions.view(&target.id).await?;
            return Ok(Walked { target, turn, is_repeated: true });
        }
        Some(_) => return Err(SendError::KeyReused(target.id).into()),
    }
    let place = target.place().await?;
    if place.seq != expected {
        return Err(place.conflict(format!("session `{}` continues with record {}, not {expected}", target.id, place.seq)));
    }
    // A refused move stops nothing.
    let rehearsal = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).rehearsal();
    to.carry_out(&rehearsal, &target.id).await?;
    // Running work is stopped; a pending call is left.
    let was_paused = target.sessions.is_paused(&target.id);
    drop(target.sessions.pause(&target.id));
    if let Err(error) = to.carry_out(&operator, &target.id).await {
        // It resumes from its previous place, unless it had been paused.
        if !was_paused {
            drop(target.sessions.resume(&target.id).await);
        }
        let trouble = Trouble::from(error);
        let is_conflict = trouble.code == Code::Conflict;
        return Err(if is_conflict { target.place().await?.conflict(trouble.detail.clone()) } else { trouble });
    }
    let mut turn = target.sessions.resume(&target.id).await?;
    if matches!(to, Relocation::Context(_)) {
        // It stands where it stood, and says again what it said there.
        turn.happened.retain(|event| !matches!(event.split().1, SessionEvent::Said(text) if place.has_said(text)));
    }
    target.hub.tell(&target.graph.name, &target.id, crate::hub::SessionNews::Recorded);
    target.announce(&turn);
    Ok(Walked { target, turn, is_repeated: false })
}

/// A new session from where another one was after a record.
///
/// # Errors
/// There is no such record, or no session can be at that place.
pub(crate) async fn fork(
    served: &Served,
    target: Target,
    at: Option<u64>,
    id: Option<String>,
    request: RequestKey,
) -> Result<Walked, Trouble> {
    let engine = target.graph.engine()?;
    let new = match (&id, &request.key) {
        (Some(id), _) => id.clone(),
        (None, key) => {
            let by = request.by.as_deref().unwrap_or_default();
            let random = key.is_none().then(crate::clock::now).unwrap_or_default().to_le_bytes();
            let key = key.as_deref().unwrap_or_default();
            let digest = crate::digest::digest(&[by.as_bytes(), key.as_bytes(), target.id.as_str().as_bytes(), &random]);
            format!("{}-{}", target.id, &digest[..8])
        }
    };
    let new = SessionId::from(&*new);
    let operator = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).request(request.clone());
    let forked = Target::of(served, Arc::clone(&target.graph), new.clone())?;
    let is_repeated = match operator.fork(&target.id, at, &new).await {
        Ok(_) => false,
        Err(HistoryError::Exists(_)) if request.key.is_some() => match operator.taken(&new, &request).await? {
            Some(taken) if request.is_repeated(&taken) => true,
            Some(_) => return Err(SendError::KeyReused(new).into()),
            None => return Err(SendError::Exists(new).into()),
        },
        Err(error) => return Err(error.into()),
    };
    let turn = forked.sessions.resume(&new).await?;
    Ok(Walked { target: forked, turn, is_repeated })
}
