//! Puts a session elsewhere, or sets its context: one record each, made where the client saw the session.

use std::sync::Arc;

use trellis_core::{NodeId, SessionId, Value, path::KeyPath};
use trellis_host::{Clock, SendError, history::Operator, journal::RequestKey};

use super::{Target, Walked};
use crate::{
    served::Served,
    trouble::{Code, Trouble},
};

/// Where to.
#[derive(Clone, Debug)]
pub(crate) enum Relocation {
    /// To where it was after this record.
    Back(u64),
    /// Into this node.
    Node(NodeId),
    /// It stays, with these values in its context.
    Context(Vec<(KeyPath, Value)>),
}

/// Puts a session elsewhere that goes on with record `expected`. What runs here is stopped first.
///
/// # Errors
/// It went on meanwhile, or cannot stand there.
pub(crate) async fn relocate(target: Target, expected: u64, to: Relocation, request: RequestKey) -> Result<Walked, Trouble> {
    let engine = target.graph.engine()?;
    let operator = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).request(request.clone());
    match operator.taken(&target.id, &request).await? {
        None => {}
        Some(taken) if taken.digest == request.digest => {
            let turn = target.sessions.view(&target.id).await?;
            return Ok(Walked { target, turn, is_repeated: true });
        }
        Some(_) => return Err(SendError::KeyReused(target.id).into()),
    }
    let seen = target.sessions.view(&target.id).await?;
    if seen.seq != expected {
        let detail = format!("session `{}` goes on with record {}, not {expected}", target.id, seen.seq);
        return Err(Trouble::new(Code::Conflict, detail).current((&seen).into()));
    }
    // What runs is stopped; where it stood at a call, that call is left.
    drop(target.sessions.pause(&target.id));
    let put = match to {
        Relocation::Back(to) => operator.back(&target.id, to).await,
        Relocation::Node(node) => operator.goto(&target.id, &node).await,
        Relocation::Context(assignments) => operator.set(&target.id, &assignments).await,
    };
    if let Err(error) = put {
        // It goes on from where it was.
        drop(target.sessions.resume(&target.id).await);
        let trouble = Trouble::from(error);
        let is_conflict = trouble.code == Code::Conflict;
        return Err(if is_conflict { trouble.current((&target.sessions.view(&target.id).await?).into()) } else { trouble });
    }
    let turn = target.sessions.resume(&target.id).await?;
    target.hub.tell(&target.graph.name, &target.id, crate::hub::SessionNews::Recorded);
    target.told(&turn);
    Ok(Walked { target, turn, is_repeated: false })
}

/// A new session from where another one was after a record.
///
/// # Errors
/// There is no such record, or nothing can stand there.
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
            let random = key.is_none().then(crate::served::now).unwrap_or_default().to_le_bytes();
            let key = key.as_deref().unwrap_or_default();
            let digest = crate::gate::digest(&[by.as_bytes(), key.as_bytes(), target.id.as_str().as_bytes(), &random]);
            format!("{}-{}", target.id, &digest[..8])
        }
    };
    let new = SessionId::from(&*new);
    let operator = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).request(request.clone());
    let forked = Target::of(served, Arc::clone(&target.graph), new.clone())?;
    let is_repeated = match operator.fork(&target.id, at, &new).await {
        Ok(_) => false,
        Err(trellis_host::history::HistoryError::Exists(_)) if request.key.is_some() => match operator.taken(&new, &request).await? {
            Some(taken) if taken.digest == request.digest => true,
            Some(_) => return Err(SendError::KeyReused(new).into()),
            None => return Err(SendError::Exists(new).into()),
        },
        Err(error) => return Err(error.into()),
    };
    let turn = forked.sessions.resume(&new).await?;
    Ok(Walked { target: forked, turn, is_repeated })
}
