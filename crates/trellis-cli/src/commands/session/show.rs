//! `trellis session show ID`: shows the history of a session, step by step.

use std::{fmt::Write as _, io, time::Duration};

use anyhow::bail;
use serde_json::json;
use trellis_core::{SessionId, State, Value};
use trellis_host::{
    history::{Flaw, History, RecordWalk, Redactor},
    store::Head,
};
use trellis_orchestrator::visible::visible_line;

use super::{
    context::{OutputArgs, SessionCommand, TargetArgs, explain_error},
    format_time::date_time,
    resolve_id::named,
    timeline::Timeline,
};
use crate::{
    Exit,
    terminal::{self, BOLD, Look, QUIET, Width},
};

/// The time between two looks at a session that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Shows a session step by step: answers, calls and their results, changes of the context
///
/// The text of nodes is that of the current graph.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session show run-19f
  trellis session show run-19f --last 20 --follow     continue until the session ends
  trellis session show run-19f --at 12                its state after record 12
  trellis session show run-19f --json                 its records, one per line

Exit codes: 0 shown; 2 the session or record does not exist, or the store failed; 130 interrupted.")]
pub(super) struct Show {
    /// The session
    id: String,
    /// Show the state after this record
    #[arg(long, value_name = "N", conflicts_with_all = ["follow", "last"])]
    at: Option<u64>,
    /// Show only this number of the newest records
    #[arg(long, value_name = "N")]
    last: Option<u64>,
    /// Continue to show new records until the session ends
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Show {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        self.place.with(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let mut history = History::open(&*stand.store, &id).await.map_err(|error| explain_error(error, &id))?;
            let mut redactor = stand.redactor(&history.head.graph);
            if redactor.is_blind() {
                let graph = visible_line(&history.head.graph);
                terminal::print_error(&format!(
                    "values are not shown: only the graph `{graph}` knows what is secret; `--graph PATH` names it\n"
                ));
            }
            redactor.hide(&mut history);
            if let Some(seq) = self.at {
                let state = history.at(seq).map_err(|error| explain_error(error, &id))?;
                terminal::print(&if self.form.is_json() { format!("{}\n", json!(state)) } else { state_text(&state) })?;
                return Ok(Exit::Fine);
            }
            tokio::select! {
                shown = self.tell(stand, &id, history, redactor) => shown.map(|()| Exit::Fine),
                _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
            }
        })
    }

    /// Shows the history, and records that are added meanwhile.
    async fn tell(&self, stand: &SessionCommand, id: &SessionId, history: History, mut redactor: Redactor) -> anyhow::Result<()> {
        let is_json = self.form.is_json();
        if !is_json {
            terminal::print(&title(&history.head))?;
        }
        let first = self.last.map_or(0, |last| history.head.next.saturating_sub(last));
        let before = history.snapshot.clone();
        // The texts of another graph are not those that the session showed.
        let engine = stand.usable_engine().filter(|_| !redactor.is_blind());
        let mut timeline = Timeline::new(RecordWalk::new(engine, before), Look::of_stdout(), Width::of(&io::stdout()));
        let (mut next, mut ended) = (history.head.next, history.head.standing.has_ended());
        self.print(&history, &mut timeline, first)?;
        while self.follow && !ended {
            if terminal::is_closed() {
                bail!(terminal::Closed);
            }
            tokio::time::sleep(LOOK_EVERY).await;
            let mut more = History::since(&*stand.store, id, next).await.map_err(|error| explain_error(error, id))?;
            redactor.hide(&mut more);
            self.print(&more, &mut timeline, next)?;
            (next, ended) = (more.head.next, more.head.standing.has_ended());
        }
        if !is_json && !timeline.is_same_graph() {
            terminal::print_error("the graph was edited since: what nodes said is shown as they say it now\n");
        }
        Ok(())
    }

    fn print(&self, history: &History, timeline: &mut Timeline<'_>, first: u64) -> anyhow::Result<()> {
        let mut text = String::new();
        let mut flaws = history.flaws.iter().peekable();
        let is_json = self.form.is_json();
        for record in &history.records {
            while let Some(flaw) = flaws.next_if(|flaw| flaw.seq < record.seq) {
                text += &missing(flaw, is_json);
            }
            let entry = timeline.take(record);
            if record.seq < first {
                continue;
            }
            text += &if is_json { format!("{}\n", json!(record)) } else { entry };
        }
        for flaw in flaws {
            text += &missing(flaw, is_json);
        }
        terminal::print(&text)
    }
}

/// Describes the missing part.
fn missing(flaw: &Flaw, is_json: bool) -> String {
    if is_json {
        return format!("{}\n", json!({ "seq": flaw.seq, "until": flaw.until, "missing": flaw.why, "pruned": flaw.is_pruned }));
    }
    let last = flaw.until - 1;
    let which = if flaw.seq == last { format!("#{last}") } else { format!("#{} to #{last}", flaw.seq) };
    let why = if flaw.is_pruned { "taken out".to_owned() } else { visible_line(&flaw.why).into_owned() };
    format!("{QUIET}{which}  {why}{QUIET:#}\n")
}

/// `run-19f  orders  began …  waiting for input at `ask``.
fn title(head: &Head) -> String {
    let graph = visible_line(&head.graph);
    let (began, state_text, node) = (date_time(head.began), head.standing.as_str().replace('_', " "), visible_line(head.node.as_str()));
    format!("{BOLD}{}{BOLD:#}  {state_text} at `{node}`\n{QUIET}{graph}, began {began}, {} records{QUIET:#}\n", head.session, head.next)
}

/// Describes for people where a session was.
fn state_text(state: &State) -> String {
    let status = trellis_host::store::SessionStatus::of(state).as_str().replace('_', " ");
    let mut out = format!("{status} at `{}`, step {}\n", visible_line(state.current_node_id.as_str()), state.step);
    if let Some(call) = &state.pending_tool_call {
        let _ = writeln!(out, "calls {} {}", call.name, visible_line(&Value::Map(call.args.clone()).to_json()));
    }
    for effect in state.effects.undoable() {
        let undo = effect.undo.as_ref().map(|undo| format!(": {} {}", undo.name, Value::Map(undo.args.clone()).to_json()));
        let _ = writeln!(out, "can undo `{}` of `{}`{}", effect.tool, effect.node, visible_line(&undo.unwrap_or_default()));
    }
    for (key, value) in state.context.iter() {
        let _ = writeln!(out, "{key}: {}", visible_line(&value.to_json()));
    }
    out
}
