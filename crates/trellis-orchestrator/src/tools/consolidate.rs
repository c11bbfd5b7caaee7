//! Consolidation of the memory by the graph: reads old notes, and stores their summary (orchestrator 5.4).

use std::sync::Arc;

use jiff::{Timestamp, Zoned};
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, run_blocking, store_error, text, typed::Typed};
use crate::{
    message::{Work, now},
    seal::sha256,
    workspace::{ConsolidationError, OldDays},
};

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = function(bindings, hands, "memory.old", async |hands: Arc<Hands>, _: CallContext, _: Mapping| {
        run_blocking(move || {
            let old = hands.old_days()?;
            let is_due = Value::Bool(!old.is_empty());
            Ok(Value::map([("is_due", is_due), ("text", Value::text(old.text())), ("base", Value::text(old.fingerprint()))]))
        })
        .await
    });
    let bindings = function(bindings, hands, "memory.merge", async |hands: Arc<Hands>, _: CallContext, args: Mapping| {
        run_blocking(move || {
            let lines = hands.memory.merge(&hands.same_days(text(&args, "base"))?, Timestamp::now()).map_err(refused)?;
            Ok(Value::map([("lines", Value::Int(i64::try_from(lines).unwrap_or(i64::MAX)))]))
        })
        .await
    });
    function(bindings, hands, "memory.replace", replace)
}

async fn replace(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    run_blocking(move || {
        let sealed = hands.sealer.seal(&place.provider, &place.chat, text(&args, "text"), None);
        hands.memory.replace(&hands.same_days(text(&args, "base"))?, &sealed, Timestamp::now()).map_err(refused)?;
        let lines = i64::try_from(sealed.trim().lines().count()).unwrap_or(i64::MAX);
        Ok(Value::map([("lines", Value::Int(lines))]))
    })
    .await
}

impl Hands {
    /// Days that have not gone into the memory, as many as fit into a model.
    fn old_days(&self) -> Result<OldDays, ToolError> {
        // Half of the model's context is for the existing memory.
        let bytes = self.settings.context_tokens.saturating_mul(3) / 2;
        self.memory.old_days(Zoned::now().date(), bytes).map_err(store_error)
    }

    /// Returns the old days, or an error if they changed since they were read, so that no note is lost.
    fn same_days(&self, base: &str) -> Result<OldDays, ToolError> {
        let old = self.old_days()?;
        if old.fingerprint() == base { Ok(old) } else { Err(refused(ConsolidationError::Changed)) }
    }
}

fn refused(error: ConsolidationError) -> ToolError {
    match error {
        ConsolidationError::Io(error) => store_error(error),
        ConsolidationError::Changed => ToolError::coded("changed", error.to_string()).finally(),
        other => ToolError::coded("not-replaced", other.to_string()).finally(),
    }
}

/// `/memory consolidate`: begins it in the background; the chat gets the result.
pub(super) async fn begin(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let context = Mapping::from_iter([("tell", Value::Bool(true))]);
    let message = Work::Consolidate.message(&sha256(&typed.key)[..16], typed.place, context, now());
    let is_begun = hands.queue.store_work(message, 1, now()).await.map_err(store_error)?;
    hands.wake.notify_one();
    Ok(hands.settings.language.text(if is_begun { "consolidate_begun" } else { "consolidate_busy" }).to_owned())
}
