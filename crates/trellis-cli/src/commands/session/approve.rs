//! `trellis session approve [ID]`: approves the pending call of a session, or lists the calls that wait for approval.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use trellis_core::Value;
use trellis_host::{
    history::{History, PendingApproval, Put},
    secrets::shown,
};
use trellis_orchestrator::{approvals::change, visible::visible_line};

use super::{
    context::{OutputArgs, SessionCommand, TargetArgs, Use, explain_error},
    format_time::date_time,
    resolve_id::named,
};
use crate::{
    Exit,
    terminal::{self, BOLD, QUIET},
};

/// Approves the pending call of a session
///
/// The approval is a record. It covers exactly this call with these arguments, once. The process that resumes the session makes the call:
/// `trellis run --all`, or a process that has the session loaded. Without an ID, lists the calls that wait for an approval.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session approve                          list the calls that wait for an approval
  trellis session approve run-19f --dry-run        show the call, its arguments and its deadline
  trellis session approve run-19f
  trellis session approve run-19f --call \"$CALL\"     only if it is still this call
  trellis session approve run-19f && trellis run --all

Exit codes: 0 approved; 2 no call waits for an approval, it expired, another call waits, or the store failed.")]
pub(super) struct Approve {
    /// The session
    id: Option<String>,
    /// Approve only the call with this id or key
    #[arg(long, value_name = "CALL", requires = "id")]
    call: Option<String>,
    /// Show the call, and do not approve it
    #[arg(long, requires = "id")]
    dry_run: bool,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Approve {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let is_json = self.form.is_json();
        let Some(name) = &self.id else { return self.list() };
        let (held, put) = self.place.opened(Use::unless(self.dry_run), async |stand| {
            let id = named(&*stand.store, name).await?;
            let (operator, call) = (stand.operator()?, self.call.as_deref());
            let decided = match self.dry_run {
                true => operator.held(&id, call).await.map(|held| (held, None)),
                false => operator.approve(&id, call).await.map(|(held, put)| (held, Some(put))),
            };
            let (held, put) = decided.map_err(|error| explain_error(error, &id))?;
            Ok((visible(stand, held).await?, put))
        })?;
        let text = match put {
            None if is_json => format!("{}\n", wire(&held)),
            None => waiting(&held),
            Some(put) if is_json => decided(&held, &put, "approved", None),
            Some(put) => format!("approved: {} of {} (record {})\n", call(&held), put.session, put.seq),
        };
        terminal::print(&text)?;
        if !self.dry_run && !is_json {
            terminal::print_error(&format!("`trellis run --all`, or `trellis run --session {}`, makes the call\n", held.session));
        }
        Ok(Exit::Fine)
    }

    /// Lists the calls that wait.
    fn list(&self) -> anyhow::Result<Exit> {
        let all = self.place.with(async |stand| {
            let (mut found, mut all) = (Vec::new(), Vec::new());
            let graph = stand.is_named.then(|| stand.graph.clone());
            stand.operator()?.all_held(graph, |held| found.push(held)).await?;
            for held in found {
                all.push(visible(stand, held).await?);
            }
            Ok(all)
        })?;
        let text = match self.form.is_json() {
            true => format!("{}\n", json!({ "held": all.iter().map(wire).collect::<Vec<_>>() })),
            false if all.is_empty() => "no call waits for an approval\n".to_owned(),
            false => all.iter().map(waiting).collect(),
        };
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }
}

/// A call as people may see it.
pub(super) async fn visible(stand: &SessionCommand, mut held: PendingApproval) -> anyhow::Result<PendingApproval> {
    let mut redactor = stand.redactor(&held.graph);
    let (mut call, args) = ((*held.call).clone(), shown(&held.call));
    if redactor.is_needed() {
        redactor.learn(&History::open(&*stand.store, &held.session).await?);
        call.args = redactor.args(args);
        let ask = call.approve.as_mut().and_then(|approval| approval.ask.as_mut());
        ask.into_iter().for_each(|ask| *ask = redactor.text(ask).into());
    } else {
        call.args = args;
    }
    // The places of secrets are written in the arguments now.
    call.secrets.clear();
    held.call = call.into();
    Ok(held)
}

/// A call as it is made: `` `charge` {"n":1} ``.
pub(super) fn call(held: &PendingApproval) -> String {
    format!("`{}` {}", visible_line(&held.call.name), visible_line(&Value::Map(held.call.args.clone()).to_json()))
}

/// A call that waits, for people.
fn waiting(held: &PendingApproval) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}  {} at `{}`\n", held.session, call(held), visible_line(held.call.node.as_str()));
    // What an edit takes away, and puts there.
    for line in change(&held.call.args).lines() {
        let _ = writeln!(out, "    {}", visible_line(line));
    }
    if let Some(ask) = held.call.approve.as_ref().and_then(|approval| approval.ask.as_ref()) {
        let _ = writeln!(out, "    {}", visible_line(ask));
    }
    let until = held.due.map(|due| format!(", until {}", date_time(due))).unwrap_or_default();
    let _ = writeln!(out, "    {QUIET}asked {}{until}; call {}{QUIET:#}", date_time(held.asked), visible_line(held.call.id.as_str()));
    out
}

/// A call that waits, for programs.
fn wire(held: &PendingApproval) -> Json {
    let call = &held.call;
    let mut wire = json!({
        "id": held.session,
        "call": {
            "id": call.id,
            "key": call.idempotency_key,
            "node": call.node,
            "tool": call.name,
            "args": call.args,
            "ask": call.approve.as_ref().and_then(|approval| approval.ask.as_ref()),
            "asked": held.asked,
            "expires": held.due,
        },
    });
    if let Some(child) = &held.child {
        wire["child"] = child.as_str().into();
    }
    wire
}

/// Returns the decision, for programs.
pub(super) fn decided(held: &PendingApproval, put: &Put, decision: &str, because: Option<&str>) -> String {
    let mut wire = wire(held);
    wire["decision"] = decision.into();
    if let Some(because) = because {
        wire["because"] = because.into();
    }
    wire["record"] = put.seq.into();
    wire["node"] = put.state.current_node_id.as_str().into();
    wire["status"] = trellis_host::store::SessionStatus::of(&put.state).as_str().into();
    format!("{wire}\n")
}
