//! `trellis session ls`: lists stored sessions, one page at a time.

use std::{fmt::Write as _, io};

use anyhow::{anyhow, bail};
use clap::{ValueEnum, builder::PossibleValue};
use serde_json::json;
use trellis_core::SessionId;
use trellis_host::store::{Head, Query, SessionStatus, Which};
use trellis_orchestrator::visible::visible_line;

use super::{
    HEADS_PER_PAGE,
    context::{OutputArgs, SessionCommand, TargetArgs, Use},
    format_time::date_time,
    resolve_id::named,
};
use crate::{
    Exit, columns,
    terminal::{self, BOLD, QUIET, Width},
};

/// Lists stored sessions, most recently active first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session ls
  trellis session ls --status waiting_for_input
  trellis session ls --after run-19f --limit 20     the page after that session
  trellis session ls --all --format json | jq -r '.sessions[].id'

With `--graph`, only sessions of that graph; else all that the store has.

Exit codes: 0 listed; 2 wrong usage, or the store failed.")]
pub(super) struct Ls {
    /// List only sessions with this status; may be repeated
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Vec<Status>,
    /// List all sessions
    #[arg(long)]
    all: bool,
    /// List at most this number of sessions
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// List the sessions after this one
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

/// The state of a session: what it waits for, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Is(SessionStatus),
    Open,
    Ended,
}

impl ValueEnum for Status {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Status; SessionStatus::ALL.len() + 2] = {
            let mut all = [Status::Open; SessionStatus::ALL.len() + 2];
            let mut at = 0;
            while at < SessionStatus::ALL.len() {
                all[at] = Status::Is(SessionStatus::ALL[at]);
                at += 1;
            }
            all[at + 1] = Status::Ended;
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Is(standing) => (standing.as_str(), meaning(*standing)),
            Self::Open => ("open", "All that have not ended"),
            Self::Ended => ("ended", "All that have ended"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// A standing in a few words.
fn meaning(standing: SessionStatus) -> &'static str {
    match standing {
        SessionStatus::Active => "Passes on",
        SessionStatus::WaitingForInput => "Waits for an input, or sleeps",
        SessionStatus::WaitingForTool => "Waits for the result of a call, or for its approval",
        SessionStatus::RollingBack => "Undoes what it did",
        SessionStatus::Finished => "Ended in success",
        SessionStatus::Failed => "Failed",
        SessionStatus::Denied => "Ended by a denial",
        SessionStatus::RolledBack => "Was rolled back",
        SessionStatus::Unreadable => "Cannot be read",
    }
}

impl Status {
    fn holds(self, standing: SessionStatus) -> bool {
        match self {
            Self::Is(meant) => meant == standing,
            Self::Open => !standing.has_ended(),
            Self::Ended => standing.has_ended(),
        }
    }
}

impl Ls {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (heads, more) = self.place.opened(Use::List, async |stand| self.heads(stand).await)?;
        let text = if self.form.is_json() { as_json(&heads, more) } else { as_text(&heads, more, Width::of(&io::stdout())) };
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }

    /// The heads to list, and whether there are more.
    async fn heads(&self, stand: &SessionCommand) -> anyhow::Result<(Vec<Head>, bool)> {
        let limit = if self.all { usize::MAX } else { self.limit };
        if limit == 0 {
            bail!("`--limit` is at least 1; `--all` lists all");
        }
        let mut after = match &self.after {
            Some(text) => Some(after(stand, &named(&*stand.store, text).await?).await?),
            None => None,
        };
        let graph = stand.is_named.then(|| stand.graph.clone());
        let mut heads = Vec::new();
        // Of those that are to stand so, a page may hold none.
        let at_once = if self.status.is_empty() { limit.saturating_add(1).min(HEADS_PER_PAGE) } else { HEADS_PER_PAGE };
        loop {
            let query = Query { graph: graph.clone(), which: Which::Newest, after: after.take(), limit: at_once };
            let page = stand.store.list(query).await?;
            let is_last = page.len() < at_once;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let is_meant = |head: &Head| self.status.is_empty() || self.status.iter().any(|status| status.holds(head.standing));
            heads.extend(page.into_iter().filter(is_meant));
            if heads.len() > limit {
                heads.truncate(limit);
                return Ok((heads, true));
            }
            if is_last {
                return Ok((heads, false));
            }
        }
    }
}

/// Returns the cursor of a session in the list.
async fn after(stand: &SessionCommand, id: &SessionId) -> anyhow::Result<(u64, SessionId)> {
    let stored = stand.store.load(std::slice::from_ref(id)).await?.pop().flatten();
    let stored = stored.ok_or_else(|| anyhow!("there is no session `{id}`"))?;
    Ok((stored.head.at, id.clone()))
}

/// A head as programs get it.
pub(super) fn wire(head: &Head) -> serde_json::Value {
    json!({
        "id": head.session,
        "graph": head.graph,
        "status": head.standing.as_str(),
        "node": head.node,
        "records": head.next,
        "began": head.began,
        "at": head.at,
        "due": head.due,
        "program": head.program,
    })
}

fn as_json(heads: &[Head], more: bool) -> String {
    let next = heads.last().filter(|_| more).map(|head| &head.session);
    let sessions: Vec<_> = heads.iter().map(wire).collect();
    format!("{}\n", json!({ "sessions": sessions, "next": next }))
}

/// A table that fits the terminal; elsewhere names are whole.
fn as_text(heads: &[Head], more: bool, width: Width) -> String {
    if heads.is_empty() {
        return "no sessions\n".to_owned();
    }
    let graphs = heads.iter().any(|head| head.graph != heads[0].graph);
    let row = |head: &Head| {
        let mut row = vec![
            head.session.to_string(),
            head.standing.as_str().replace('_', " "),
            visible_line(head.node.as_str()).into_owned(),
            date_time(head.at),
        ];
        if graphs {
            row.insert(1, visible_line(&head.graph).into_owned());
        }
        row
    };
    let mut rows: Vec<_> = heads.iter().map(row).collect();
    let titles = ["session", "graph", "status", "node", "moved"];
    let titles: Vec<_> = titles.into_iter().filter(|title| graphs || *title != "graph").collect();
    let mut widths: Vec<_> =
        (0..titles.len()).map(|at| rows.iter().map(|row| columns::width(&row[at])).chain([titles[at].len()]).max().unwrap_or(0)).collect();
    if width.folds {
        // A row that is too wide is cut in its widest columns: names of sessions and nodes.
        let gaps = 2 * (widths.len() - 1);
        while widths.iter().sum::<usize>() + gaps > width.columns {
            let Some(widest) = (0..widths.len()).filter(|&at| widths[at] > 8).max_by_key(|&at| (widths[at], at)) else { break };
            widths[widest] -= 1;
        }
        for row in &mut rows {
            for (cell, width) in row.iter_mut().zip(&widths) {
                *cell = columns::cut(cell, *width);
            }
        }
    }
    let line = |cells: Vec<&str>| {
        let padded =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width.saturating_sub(columns::width(cell)))));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut out = format!("{BOLD}{}{BOLD:#}\n", line(titles));
    for row in &rows {
        let _ = writeln!(out, "{}", line(row.iter().map(String::as_str).collect()));
    }
    if let Some(last) = heads.last().filter(|_| more) {
        let _ = writeln!(out, "{QUIET}… there are more: `--after {}`, or `--all`{QUIET:#}", last.session);
    }
    out
}
