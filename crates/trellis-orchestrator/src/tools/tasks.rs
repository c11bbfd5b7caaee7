//! `spawn`: a task in its own session, so that the chat continues meanwhile (orchestrator 2.4).

use std::sync::Arc;

use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, store_error, text};
use crate::{
    message::{Work, now},
    seal::sha256,
};

/// Tasks within tasks.
const MAX_DEPTH: i64 = 3;
/// Tasks of a chat at once.
const MAX_TASKS: u32 = 8;

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    function(bindings, hands, "spawn", spawn)
}

async fn spawn(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let row = hands.first_row(&context.session).await?.message;
    let depth = row.work().and_then(|_| row.context().get("depth")?.as_i64()).unwrap_or_default() + 1;
    if depth > MAX_DEPTH {
        let message = format!("a task begins tasks at most {MAX_DEPTH} deep: do it yourself");
        return Err(ToolError::coded("too-deep", message).finally());
    }
    let steps = args.get("steps").cloned().unwrap_or_else(|| Value::list([]));
    let begins = [
        ("title", Value::text(text(&args, "title"))),
        ("prompt", Value::text(text(&args, "prompt"))),
        ("steps", steps),
        ("depth", Value::Int(depth)),
    ];
    // The call is made again after a crash, and must begin the same task then.
    let name = &sha256(&context.idempotency_key.to_string())[..16];
    let message = Work::Task.message(name, row.place, Mapping::from_iter(begins), now());
    let task = message.id.clone();
    if !hands.queue.store_work(message, MAX_TASKS, now()).await.map_err(store_error)? {
        let message = format!("{MAX_TASKS} tasks of this chat have not ended: wait until one has");
        return Err(ToolError::coded("too-many", message).finally());
    }
    hands.wake.notify_one();
    Ok(Value::map([("task", Value::text(task))]))
}
