//! Decisions about a call that waits for an approval, while no process runs its session: a yes is a record, a no is the result of the call.
//!
//! **Invariant:** a decision applies to exactly the call that is pending now: one that was meant for another is refused.

use std::sync::Arc;

use trellis_core::{
    NavigateError, SessionId, ToolOutcome, ToolResult,
    engine::{Call, ChangedCall},
    state::{EndReason, Status},
};

use super::{
    HistoryError, Operator,
    operator::{Put, Target, due},
};
use crate::{
    policy::Decided,
    session::{Adoption, HeldCall, Session},
    store::{HEADS_PER_PAGE, Head, Query, SessionStatus, Snapshot, StoreError, Stored, Which, absent},
};

/// A call that waits for an approval.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingApproval {
    /// Its session.
    pub session: SessionId,
    /// The child that makes the call; `None` for the session itself.
    pub child: Option<SessionId>,
    /// The graph that it walks.
    pub graph: Arc<str>,
    /// Exactly this call, with these arguments.
    pub call: Call,
    /// The time of the question, in milliseconds since 1970.
    pub asked: u64,
    /// The time at which the question expires: it is denied then.
    pub due: Option<u64>,
    /// The decision of a policy or an interceptor by which it waits; `None` if the graph itself asks.
    pub why: Option<Decided>,
    /// The number of the record of the session that comes next.
    pub seq: u64,
}

impl PendingApproval {
    /// The calls of a session that wait for an approval: the pending one, or its open parts.
    fn of(session: &Session, graph: &Arc<str>) -> Vec<Self> {
        let held = |child: Option<&SessionId>, call: Call| {
            let HeldCall { call, due } = session.held_call(child, &call)?;
            let asked = session.asked_at(child, &call);
            let why = session.here_in(child).and_then(|here| here.rulings.get(&call.idempotency_key)).cloned();
            let (child, graph, seq) = (child.cloned(), Arc::clone(graph), session.journal().next_seq());
            Some(Self { session: session.state().session_id.clone(), child, graph, asked, due, why, seq, call })
        };
        let of = |child: Option<&SessionId>| {
            let pending = session.here_in(child).and_then(|here| here.state.pending_tool_call.clone());
            match pending.and_then(|pending| held(child, pending)) {
                Some(whole) => vec![whole],
                None => session.open_calls(child).into_iter().filter_map(|call| held(child, call)).collect(),
            }
        };
        let tree = session.here().tree();
        let below = tree.below(&session.state().session_id).into_iter().map(Some);
        std::iter::once(None).chain(below).flat_map(of).collect()
    }
}

/// The reason why no decision about a call is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// It waits for something else.
    #[error("no call waits for an approval: {0}")]
    NotHeld(String),
    /// It was approved already.
    #[error("the call of `{0}` was approved already")]
    Approved(String),
    /// No decision was made in time.
    #[error("the time to approve the call of `{0}` is over")]
    Expired(String),
    /// Another call waits now.
    #[error("call `{meant}` does not wait any more; `{now}` does")]
    Other {
        /// The call that the decision names.
        meant: String,
        /// The one that waits.
        now: String,
    },
    /// Several calls wait, and none was named.
    #[error("several calls wait: name one of `{}` with `--call`", .0.join("`, `"))]
    Several(Vec<String>),
    /// The target of a denial cannot be determined here.
    #[error("where a denial leads is not known: {0}")]
    Unknown(String),
}

impl Operator<'_> {
    /// Returns the call of a session that waits for an approval. `meant` is the id or the key of the call that the caller has seen: it must be
    /// that one.
    ///
    /// # Errors
    /// There is no such session, none of its calls waits, or another one.
    pub async fn held(&self, id: &SessionId, meant: Option<&str>) -> Result<PendingApproval, HistoryError> {
        Ok(self.case(id, meant).await?.2)
    }

    /// Shows every call that waits for an approval and whose time is not over, of one graph or of all, those of sessions that moved last first.
    /// Unreadable ones are left out.
    ///
    /// # Errors
    /// The store fails.
    pub async fn all_held(&self, graph: Option<Arc<str>>, mut show: impl FnMut(PendingApproval)) -> Result<(), StoreError> {
        let (mut after, now) = (None, self.clock.now());
        loop {
            let page = self.store.list(Query { graph: graph.clone(), which: Which::Newest, after, limit: HEADS_PER_PAGE }).await?;
            let is_last = page.len() < HEADS_PER_PAGE;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let calls = page.iter().filter(|head| matches!(head.standing, SessionStatus::WaitingForTool | SessionStatus::RollingBack));
            let ids: Vec<_> = calls.map(|head| head.session.clone()).collect();
            for stored in self.store.load(&ids).await?.into_iter().flatten() {
                let held = self.session(&stored).ok().map(|session| PendingApproval::of(&session, &stored.head.graph));
                let held = held.into_iter().flatten();
                held.filter(|held| held.due.is_none_or(|due| due > now)).for_each(&mut show);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Approves the waiting call: it runs, once, when the session is resumed.
    ///
    /// # Errors
    /// As [`Operator::held`].
    pub async fn approve(&self, id: &SessionId, meant: Option<&str>) -> Result<(PendingApproval, Put), HistoryError> {
        let (head, mut session, held) = self.case(id, meant).await?;
        session.approve(held.child.as_ref(), held.call.idempotency_key.clone());
        Ok((held, self.decided(head, session).await?))
    }

    /// Denies the call that waits: the session is where a denial leads.
    ///
    /// # Errors
    /// As for [`Operator::held`]; or the edited graph does not make this call any more, or a predicate must be answered first.
    pub async fn deny(&self, id: &SessionId, meant: Option<&str>, because: Option<String>) -> Result<(PendingApproval, Put), HistoryError> {
        let (head, mut session, held) = self.case(id, meant).await?;
        let unknown = |why: String| HistoryError::Undecided(id.clone(), Undecided::Unknown(why));
        let (engine, before) = (self.engine, session.state().clone());
        if before.program != *engine.inspect().fingerprint() {
            let adoption = session.adopt(engine.clone(), ChangedCall::Blocks);
            if !matches!(adoption, Adoption::Same | Adoption::Kept) {
                return Err(unknown(format!("the graph was edited since `{}` made the call", held.call.node)));
            }
        }
        let result = ToolResult::new(held.call.id.clone(), ToolOutcome::Denied(because));
        session.send_result(result).map_err(|refusal: NavigateError| unknown(refusal.to_string()))?;
        if session.holds_input() {
            return Err(unknown("somebody must say first whether a predicate holds".to_owned()));
        }
        let has_failed = session.state().ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Failed);
        let missing = if has_failed { absent(engine.inspect(), &before).map(ToString::to_string).collect() } else { Vec::new() };
        if !missing.is_empty() {
            return Err(unknown(format!("{} is not stored", crate::store::quoted(&missing))));
        }
        Ok((held, self.decided(head, session).await?))
    }

    pub(super) fn session(&self, stored: &Stored) -> Result<Session, StoreError> {
        let here = Snapshot::asked_by(self.engine.inspect(), stored)?;
        Ok(Session::resume(self.engine.clone(), here, stored.head.next, self.clock.clone()))
    }

    /// A session whose call waits.
    async fn case(&self, id: &SessionId, meant: Option<&str>) -> Result<(Head, Session, PendingApproval), HistoryError> {
        let stored = self.stored(id).await?;
        let session = self.session(&stored)?;
        let undecided = |why| HistoryError::Undecided(id.clone(), why);
        let mut all = PendingApproval::of(&session, &stored.head.graph);
        let ids = |all: &[PendingApproval]| all.iter().map(|held| held.call.id.to_string()).collect::<Vec<_>>();
        let at = match meant {
            None if all.len() > 1 => return Err(undecided(Undecided::Several(ids(&all)))),
            None => 0,
            Some(meant) => {
                let is_meant = |held: &PendingApproval| *meant == *held.call.id.as_str() || *meant == *held.call.idempotency_key.as_str();
                match all.iter().position(is_meant) {
                    Some(at) => at,
                    None if all.is_empty() => 0,
                    None => return Err(undecided(Undecided::Other { meant: meant.to_owned(), now: ids(&all).join("`, `") })),
                }
            }
        };
        if all.is_empty() {
            return Err(undecided(waits_for(&session)));
        }
        let held = all.swap_remove(at);
        if held.due.is_some_and(|due| due <= self.clock.now()) {
            return Err(undecided(Undecided::Expired(held.call.name.to_string())));
        }
        Ok((stored.head, session, held))
    }

    /// Appends the decision.
    pub(super) async fn decided(&self, head: Head, mut session: Session) -> Result<Put, HistoryError> {
        let records = session.take_records();
        let from = records.first().and_then(|record| record.from.clone());
        let is_epoch = records.iter().any(|record| record.entry.epoch().is_some());
        let here = session.here().clone();
        let due = due(self.engine, &here);
        let target = Target { session: head.session, graph: head.graph, next: head.next };
        self.write(target, here, records, due, is_epoch, from).await
    }
}

/// Returns the wait of a session, none of whose calls waits for an approval.
fn waits_for(session: &Session) -> Undecided {
    let state = session.state();
    match (&state.pending_tool_call, state.status) {
        (Some(call), _) if session.is_approved(None, call) => Undecided::Approved(call.name.to_string()),
        (Some(call), _) => Undecided::NotHeld(format!("`{}` needs none", call.name)),
        (None, Status::Terminated) => Undecided::NotHeld("it has ended".to_owned()),
        (None, Status::WaitingForInput) => Undecided::NotHeld(format!("it waits for an input at `{}`", state.current_node_id)),
        (None, _) => Undecided::NotHeld(format!("it stands at `{}`", state.current_node_id)),
    }
}
