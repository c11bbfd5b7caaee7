//! `decisions.add`: stores a decision of a conversation for later ones (orchestrator 5.5).

use std::sync::Arc;

use jiff::Timestamp;
use trellis_core::{Mapping, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, run_blocking, store_error, text};
use crate::decisions::{DecisionScope, NewDecision};

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    function(bindings, hands, "decisions.add", add)
}

async fn add(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    run_blocking(move || {
        let sealed = |name: &str| hands.sealer.seal(&place.provider, &place.chat, text(&args, name), None);
        let scope = if text(&args, "scope") == "global" { DecisionScope::Global } else { DecisionScope::Chat };
        let why = Some(sealed("why")).filter(|why| !why.trim().is_empty());
        let new = NewDecision { key: sealed("key"), value: sealed("value"), why, scope };
        let decision = hands.decisions.add(new, &place, &context.idempotency_key.to_string(), Timestamp::now()).map_err(store_error)?;
        Ok(Value::map([("id", Value::text(decision.id)), ("count", Value::Int(i64::try_from(decision.count).unwrap_or(i64::MAX)))]))
    })
    .await
}
