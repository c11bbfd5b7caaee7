//! Settling calls of stored sessions by hand (language C.8).

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    NavigateError, SessionId, ToolOutcome, ToolResult,
    engine::{Call, ChangedCall},
};

use super::{HistoryError, Operator, Put};
use crate::session::{Adoption, Session};

impl Operator<'_> {
    /// Settles a call of a session by hand, in place of whoever would carry it out: `meant` is its id or its key. The session is where that result
    /// leads. Neither the policy nor an approval is asked; the record says who did it ([`Operator::request`]), why, and which approvals it overruled.
    ///
    /// # Errors
    /// There is no such session, no such call of it is open, the edited graph does not make that call any more, or a predicate must be answered first.
    pub async fn settle(
        &self,
        id: &SessionId,
        meant: &str,
        outcome: ToolOutcome,
        because: Option<Arc<str>>,
    ) -> Result<(Call, Put), HistoryError> {
        let refused = |why: String| HistoryError::Unsettled(id.clone(), why);
        let stored = self.stored(id).await?;
        let mut session = self.session(&stored)?;
        if session.state().program != *self.engine.inspect().fingerprint() {
            let adoption = session.adopt(self.engine.clone(), ChangedCall::Blocks);
            if !matches!(adoption, Adoption::Same | Adoption::Kept) {
                return Err(refused("its graph was edited since the call was made; resume the session first".to_owned()));
            }
        }
        let open = open_calls(&session);
        let is_meant = |call: &&Call| *meant == *call.id.as_str() || *meant == *call.idempotency_key.as_str();
        let Some(call) = open.iter().find(is_meant).cloned() else {
            let names = open.iter().map(|call| format!("`{}` ({})", call.id, call.name)).collect::<Vec<_>>().join(", ");
            let open = if names.is_empty() { "it has no open call".to_owned() } else { format!("these are open: {names}") };
            return Err(refused(format!("it has no open call `{meant}`; {open}")));
        };
        let by = self.request.as_ref().and_then(|request| request.by.clone());
        let result = ToolResult::new(call.id.clone(), outcome);
        session.settle(result, by, because).map_err(|refusal: NavigateError| refused(refusal.to_string()))?;
        if session.holds_input() {
            return Err(refused("somebody must say first whether a predicate holds; settle it where the session runs".to_owned()));
        }
        Ok((call, self.decided(stored.head, session).await?))
    }
}

/// The calls of a tree that are open: wholes, their open parts, those of children.
fn open_calls(session: &Session) -> Vec<Call> {
    let tree = session.here().tree();
    let below = tree.below(&session.state().session_id).into_iter().map(Some);
    let of = |child: Option<&SessionId>| {
        let whole = session.here_in(child).and_then(|here| here.state.pending_tool_call.clone());
        whole.into_iter().chain(session.open_calls(child)).collect::<Vec<_>>()
    };
    let mut known = BTreeSet::new();
    std::iter::once(None).chain(below).flat_map(of).filter(|call| known.insert(call.id.clone())).collect()
}
