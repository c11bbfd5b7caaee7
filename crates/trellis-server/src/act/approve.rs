//! Decides about a call that waits for an approval.

use std::{sync::Arc, time::Duration};

use trellis_core::{ToolOutcome, id::CallId};
use trellis_host::{
    Clock, Reply,
    history::{HistoryError, Operator, PendingApproval, Undecided},
    journal::{Entry, RequestKey},
    sessions::APPROVAL_EXPIRED,
};

use super::{Target, Walked, deadline, target::taken};
use crate::{
    served::{Served, ServedGraph},
    trouble::{Code, Trouble},
};

/// The number of records that are looked through for an earlier decision.
const LOOKED_THROUGH: u64 = 1000;

/// The attempts at a denial while something else of the session is stored.
const DENIALS: usize = 5;

/// A decision.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) yes: bool,
    /// The reason of a denial.
    pub(crate) because: Option<String>,
}

/// Every call that waits for an approval, of one graph or of all.
///
/// # Errors
/// There is no such graph, or a store fails.
pub(crate) async fn approvals(served: &Served, graph: Option<&str>) -> Result<Vec<(Arc<ServedGraph>, PendingApproval)>, Trouble> {
    let graphs: Vec<_> = match graph {
        Some(name) => vec![served.graph(Some(name))?],
        None => served.all().collect(),
    };
    let mut held = Vec::new();
    for graph in graphs {
        // A graph that never had a program has no session here.
        let Ok(engine) = graph.engine() else { continue };
        let operator = Operator::new(graph.store(), &engine, &graph.name, Clock::system());
        operator.all_held(Some(Arc::clone(&graph.name)), |approval| held.push((Arc::clone(graph), approval))).await?;
    }
    Ok(held)
}

/// Decides about the call whose id or key was seen.
///
/// # Errors
/// Another call waits, or none does; a decision was made before.
pub(crate) async fn decide(target: Target, call: &str, decision: Decision, request: RequestKey, wait: Duration) -> Result<Walked, Trouble> {
    let engine = target.graph.engine()?;
    let operator = Operator::new(target.graph.store(), &engine, &target.graph.name, Clock::system()).request(request.clone());
    if let Some(repeated) = repeated(&target, &operator, &request).await? {
        return Ok(repeated);
    }
    let held = match operator.held(&target.id, Some(call)).await {
        Ok(held) => held,
        Err(error) => return Err(undecided(error, &target, call).await),
    };
    // A session in memory is decided about there; a denial with a reason continues a session without running calls.
    let id: CallId = held.call.id.clone();
    if let Some(because) = decision.because.filter(|_| !decision.yes) {
        return denied(target, id, because, request, wait).await;
    }
    let sent = Reply::Approve { call: Some(id), yes: decision.yes };
    let news = target.listen();
    let until = deadline(wait);
    let (sessions, telling) = (Arc::clone(&target.sessions), target.clone());
    let done = target.in_task(async move {
        let turn = sessions.send_by(&telling.id, sent, request).await;
        turn.iter().for_each(|turn| telling.announce(turn));
        turn
    });
    let (turn, is_repeated) = match taken(done.await?) {
        Ok(taken) => taken,
        // Another decision was made in between.
        Err(trouble) if matches!(trouble.code, Code::WrongKind | Code::Conflict) => {
            return Err(match operator.held(&target.id, Some(call)).await {
                Ok(_) => trouble,
                Err(error) => undecided(error, &target, call).await,
            });
        }
        Err(trouble) => return Err(trouble),
    };
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated })
}

/// Denies a call with a reason, and resumes its session.
async fn denied(target: Target, call: CallId, because: String, request: RequestKey, wait: Duration) -> Result<Walked, Trouble> {
    let (news, until) = (target.listen(), deadline(wait));
    let (engine, telling) = (target.graph.engine()?, target.clone());
    let done = target.in_task(async move {
        let operator = Operator::new(telling.graph.store(), &engine, &telling.graph.name, Clock::system()).request(request);
        let (call, mut tries) = (call.as_str(), 0);
        while let Err(error) = operator.deny(&telling.id, Some(call), Some(because.clone())).await {
            tries += 1;
            // What came in between may be no decision about this call.
            let is_decided = tries == DENIALS || !matches!(error, HistoryError::Conflict(_)) || earlier(&telling, call).await.is_some();
            if is_decided {
                return Err(undecided(error, &telling, call).await);
            }
        }
        let turn = telling.sessions.resume(&telling.id).await?;
        telling.announce(&turn);
        Ok::<_, Trouble>(turn)
    });
    let turn = done.await??;
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated: false })
}

/// The turn of now, where the request was taken before.
async fn repeated(target: &Target, operator: &Operator<'_>, request: &RequestKey) -> Result<Option<Walked>, Trouble> {
    match operator.taken(&target.id, request).await? {
        None => Ok(None),
        Some(taken) if request.is_repeated(&taken) => {
            let turn = target.sessions.view(&target.id).await?;
            Ok(Some(Walked { target: target.clone(), turn, is_repeated: true }))
        }
        Some(_) => Err(trellis_host::SendError::KeyReused(target.id.clone()).into()),
    }
}

/// Returns the reason why nothing was decided, with the calls that wait now, and with an earlier decision about this call.
async fn undecided(error: HistoryError, target: &Target, call: &str) -> Trouble {
    let now = match &error {
        HistoryError::Undecided(_, Undecided::Other { now, .. }) => Some(now.clone()),
        _ => None,
    };
    let mut trouble = Trouble::from(error).with("session", target.id.as_str());
    let waits = now.map(|now| now.split("`, `").map(str::to_owned).collect::<Vec<_>>());
    if let Some(earlier) = earlier(target, call).await.filter(|_| is_late(trouble.code)) {
        trouble.code = match earlier.decided {
            "approved" => Code::ApprovedAlready,
            "expired" => Code::Expired,
            _ => Code::NotHeld,
        };
        trouble = earlier.explain(trouble, call);
    }
    if trouble.code == Code::Conflict
        && let Ok(place) = target.place().await
    {
        trouble = place.conflict(trouble.detail.clone()).with("session", target.id.as_str());
    }
    match waits {
        Some(waits) => trouble.with("waits", waits),
        None => trouble,
    }
}

/// Adds what was decided about a call, if that is the reason why nothing is to be decided. The code is that of every door.
pub(super) async fn decided_before(trouble: Trouble, target: &Target, call: &str) -> Trouble {
    match earlier(target, call).await {
        Some(earlier) if is_late(trouble.code) => earlier.explain(trouble, call),
        _ => trouble,
    }
}

/// Returns whether a refusal of a decision may have the reason that somebody decided before.
fn is_late(code: Code) -> bool {
    let late = [Code::NotHeld, Code::CallChanged, Code::ApprovedAlready, Code::WrongKind, Code::ForeignCall, Code::Ended, Code::Conflict];
    late.contains(&code)
}

/// A decision about a call.
struct EarlierDecision {
    /// `approved`, `denied`, `expired`, `settled`.
    decided: &'static str,
    because: Option<String>,
}

impl EarlierDecision {
    /// Says in a refusal what was decided.
    fn explain(self, mut trouble: Trouble, call: &str) -> Trouble {
        let because = self.because.map(|because| format!(": {because}")).unwrap_or_default();
        trouble.detail = match self.decided {
            "expired" => format!("the time to decide about call `{call}` was over"),
            decided => format!("call `{call}` was {decided} already{because}"),
        };
        trouble.with("decided", self.decided)
    }
}

/// Returns the first decision about the call of this id or key, among the newest records.
async fn earlier(target: &Target, call: &str) -> Option<EarlierDecision> {
    let next = target.place().await.ok()?.seq;
    let history = target.graph.redactions.history(target.graph.store(), &target.id, next.saturating_sub(LOOKED_THROUGH)).await.ok()?;
    // The id of a call is its key and the number of the attempt.
    let is_of = |id: &str, key: &str| id == key || id.strip_prefix(key).is_some_and(|rest| rest.starts_with('-'));
    history.records.iter().find_map(|record| match &record.entry {
        Entry::Approve { key } => is_of(call, key.as_str()).then_some(EarlierDecision { decided: "approved", because: None }),
        Entry::Result { result } if is_of(result.id.as_str(), call) => match &result.outcome {
            ToolOutcome::Denied(Some(why)) if why == APPROVAL_EXPIRED => Some(EarlierDecision { decided: "expired", because: None }),
            ToolOutcome::Denied(because) => Some(EarlierDecision { decided: "denied", because: because.clone() }),
            _ => None,
        },
        Entry::Settle { result, because, .. } if is_of(result.id.as_str(), call) => {
            Some(EarlierDecision { decided: "settled", because: because.as_deref().map(str::to_owned) })
        }
        _ => None,
    })
}
