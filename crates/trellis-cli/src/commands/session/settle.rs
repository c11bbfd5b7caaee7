//! `trellis session settle ID CALL`: settles a call of a session by hand.

use serde_json::json;
use trellis_core::{ToolError, ToolOutcome, Value};
use trellis_host::journal::RequestKey;
use trellis_orchestrator::visible::visible_line;

use super::{
    context::{OutputArgs, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Settles a call of a session by hand
///
/// The session continues with this result, as if the call had been carried out. Whatever the call waits for is overruled: an approval, another
/// attempt, a tool that was cut off. The record says who settled it, why, and which approvals it had not.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("outcome").required(true),
    after_help = "\
Examples:
  trellis session settle run-19f \"$CALL\" --result '{\"id\": 7}' --because \"booked by telephone\"
  trellis session settle run-19f \"$CALL\" --error \"the supplier is closed\"
  trellis session settle run-19f \"$CALL\" --denied

`trellis session approve` decides about a call that is then made; this makes no call.

Exit codes: 0 settled; 2 no such call is open, or the store failed."
)]
pub(super) struct Settle {
    /// The session
    id: String,
    /// The id or the key of the call
    call: String,
    /// It succeeded with this result: JSON, or a text
    #[arg(long, value_name = "VALUE", group = "outcome")]
    result: Option<String>,
    /// It failed with this message
    #[arg(long, value_name = "TEXT", group = "outcome")]
    error: Option<String>,
    /// It was denied
    #[arg(long, group = "outcome")]
    denied: bool,
    /// The reason, for the history
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Settle {
    fn outcome(&self) -> ToolOutcome {
        match (&self.result, &self.error) {
            (Some(result), _) => ToolOutcome::Success(Value::from_json(result).unwrap_or_else(|_| Value::text(&**result))),
            (None, Some(error)) => ToolOutcome::Error(ToolError::new(error.clone()).finally()),
            (None, None) => ToolOutcome::Denied(self.because.clone()),
        }
    }

    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (call, put) = self.place.writing(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let operator = stand.operator()?.request(RequestKey::by(person()));
            let settled = operator.settle(&id, &self.call, self.outcome(), self.because.as_deref().map(Into::into)).await;
            settled.map_err(|error| explain_error(error, &id))
        })?;
        let state = &put.state;
        let node = state.current_node_id.as_str();
        if self.form.is_json() {
            let status = trellis_host::store::SessionStatus::of(state).as_str();
            let settled = json!({
                "id": put.session, "call": { "id": call.id, "key": call.idempotency_key, "tool": call.name, "node": call.node },
                "because": self.because, "record": put.seq, "node": node, "status": status,
            });
            terminal::print(&format!("{settled}\n"))?;
            return Ok(Exit::Fine);
        }
        let where_to = match &state.ended {
            Some(ended) => format!("it ended, {}", ended.reason.as_str().replace('_', " ")),
            None => format!("it stands at `{}`", visible_line(node)),
        };
        terminal::print(&format!("settled: `{}` of {}; {where_to} (record {})\n", visible_line(&call.name), put.session, put.seq))?;
        Ok(Exit::Fine)
    }
}

/// The person at the terminal, as far as it says.
fn person() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
    name.ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "terminal".to_owned())
}
