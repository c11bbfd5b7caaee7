//! `trellis session check`: checks every stored session against the current graph.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use serde_json::json;
use trellis_core::{Engine, engine::Moved};
use trellis_host::{
    Clock,
    history::{Check as Look, Checked, EditVerdict, HistoryError},
    store::{SessionStatus, StoreError},
};
use trellis_orchestrator::visible::visible_line;

use super::{
    context::{OutputArgs, SessionCommand, TargetArgs, Use},
    edits::Edits,
    format_time::date_time,
};
use crate::{
    Exit,
    report::counted,
    terminal::{self, BOLD},
};

/// Names of other graphs that are shown.
const GRAPHS: usize = 5;

/// Reports the stored sessions that the current graph stops, and why
///
/// Run it before you deploy an edited graph. It changes nothing without `--apply`, which moves the sessions that continue at another node,
/// each with a new record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session check --graph graphs/support
  trellis session check --graph graphs/support --apply
  trellis session check --format json | jq '.sessions[] | select(.verdict == \"lacks_keys\") | .id'

Exit codes: 0 all continue; 1 some cannot, a person must decide, or there are sessions but none of this graph;
2 wrong usage, the graph has errors, a key is missing, or the store failed.")]
pub(super) struct SessionCheck {
    /// Move the sessions that continue at another node
    #[arg(long)]
    apply: bool,
    /// Also list the sessions that continue where they are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

/// The counts, and how the list goes.
#[derive(Default)]
struct VerdictTally {
    /// Sessions of other graphs, by their names.
    others: BTreeMap<Arc<str>, usize>,
    counts: BTreeMap<&'static str, usize>,
    applied: usize,
    stopped: usize,
    listed: usize,
}

impl SessionCheck {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let mut tally = VerdictTally::default();
        let is_json = self.form.is_json();
        if is_json {
            terminal::print("{\"sessions\":[")?;
        }
        let looked = self
            .place
            .opened(Use::unless(!self.apply), async |stand| self.look(stand, &mut tally).await.map(|()| Arc::clone(&stand.graph)));
        if looked.is_err() && is_json {
            // Whoever reads it sees that it is no whole object.
            terminal::print("\n")?;
        }
        let graph = looked?;
        terminal::print(&if is_json { tally.wire() } else { tally.line() })?;
        if tally.is_of_others() {
            let why = "a graph keeps its sessions under its `name:`, or else the name of its folder";
            terminal::print_error(&format!("none of these sessions is of `{}`: {why}\n", visible_line(&graph)));
        }
        Ok(if tally.stopped == 0 && !tally.is_of_others() { Exit::Fine } else { Exit::Failed })
    }

    async fn look(&self, stand: &SessionCommand, tally: &mut VerdictTally) -> anyhow::Result<()> {
        let engine = stand.engine()?;
        let edits = stand.opened().map(Edits::of).unwrap_or_default();
        let mut look = Look::new(&*stand.store, engine, &stand.graph);
        loop {
            let page = look.page().await?;
            if page.is_empty() {
                return Ok(());
            }
            let mut text = String::new();
            for checked in page {
                // Whoever has no key can say nothing of a session.
                if let EditVerdict::Unreadable { error: key @ StoreError::Key(_) } = &checked.verdict {
                    bail!(key.clone());
                }
                tally.take(&checked);
                let described = if self.form.is_json() { wire(&checked, engine, &edits) } else { self.described(&checked, engine, &edits) };
                let is_elsewhere = matches!(checked.verdict, EditVerdict::Elsewhere { .. });
                let applied = if self.apply && is_elsewhere { Some(look.apply(checked, Clock::system()).await) } else { None };
                let applied = match applied {
                    Some(Err(HistoryError::Conflict(_))) => Some(false),
                    Some(done) => done?.map(|_| true),
                    None => None,
                };
                tally.applied += usize::from(applied == Some(true));
                if self.form.is_json() {
                    let mut wire = described;
                    if let Some(applied) = applied {
                        wire.insert_str(wire.len() - 1, &format!(",\"applied\":{applied}"));
                    }
                    text += if tally.listed == 0 { "\n" } else { ",\n" };
                    text += &wire;
                    tally.listed += 1;
                } else if !described.is_empty() {
                    text += &described;
                    text += match applied {
                        Some(true) => "  moved\n",
                        Some(false) => "  advanced meanwhile; look again\n",
                        None => "\n",
                    };
                }
            }
            terminal::print(&text)?;
        }
    }

    /// Describes one session for people; empty for a session that continues unchanged.
    fn described(&self, checked: &Checked, engine: &Engine, edits: &Edits) -> String {
        let bad = AnsiColor::Red.on_default();
        let asks = AnsiColor::Yellow.on_default();
        let (head, node) = (&checked.head, visible_line(checked.head.node.as_str()));
        let id = &head.session;
        let since = since(checked, engine, edits);
        let (style, what, remedy) = match &checked.verdict {
            EditVerdict::Ended | EditVerdict::OtherGraph => return String::new(),
            EditVerdict::GoesOn if !self.all => return String::new(),
            EditVerdict::GoesOn => (Style::new(), format!("continues at `{node}`"), None),
            EditVerdict::Elsewhere { to, why } => (Style::new(), elsewhere(&node, to.as_str(), *why), None),
            EditVerdict::Lacks { keys } => {
                let listed = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let set = keys.iter().map(|key| format!(" {key}=…")).collect::<String>();
                (bad, format!("lacks {listed} at `{node}`{since}"), Some(format!("trellis session set {id}{set}")))
            }
            EditVerdict::CallChanged { pending, now } if pending == now => {
                let what = format!("`{node}` calls `{now}` otherwise than the call that is pending{since}");
                (asks, what, Some(format!("trellis session goto {id} {node}")))
            }
            EditVerdict::CallChanged { pending, now } => {
                let what = format!("`{node}` calls `{now}`, and `{pending}` is pending{since}");
                (asks, what, Some(format!("trellis session goto {id} {node}")))
            }
            EditVerdict::Stuck { why, .. } => {
                (bad, format!("cannot continue: {}{since}", visible_line(why)), Some(format!("trellis session goto {id} NODE")))
            }
            EditVerdict::Unreadable { error } if head.standing == SessionStatus::Unreadable => {
                let is_lost = matches!(error, StoreError::Corrupt { .. });
                (bad, visible_line(&error.to_string()).into_owned(), is_lost.then(|| format!("trellis session rm {id} --force")))
            }
            EditVerdict::Unreadable { error } => {
                (bad, format!("cannot be read: {}", visible_line(&error.to_string())), Some(format!("trellis session fork {id} --at N")))
            }
        };
        let remedy = remedy.map(|remedy| format!("\n  {remedy}")).unwrap_or_default();
        format!("{BOLD}{id}{BOLD:#}  {style}{what}{style:#}{remedy}")
    }
}

/// Since when it does not fit, as far as that can be known.
fn since(checked: &Checked, engine: &Engine, edits: &Edits) -> String {
    let moved = checked.head.at;
    match checked.is_edited(engine) {
        true => format!(", since an edit after {}{}", date_time(moved), edits.description(moved)),
        false => ", on the graph that it moved on last".to_owned(),
    }
}

fn elsewhere(from: &str, to: &str, why: Moved) -> String {
    match why {
        Moved::Renamed => format!("continues at `{to}`, as `{from}` is called now"),
        Moved::Vanished => format!("continues at `{to}`, since `{from}` is gone"),
        Moved::Again => format!("enters `{to}` anew, since it does something else now"),
    }
}

/// One session for programs.
fn wire(checked: &Checked, engine: &Engine, edits: &Edits) -> String {
    let head = &checked.head;
    let mut wire = json!({
        "id": head.session,
        "verdict": checked.verdict.as_str(),
        "fine": checked.verdict.is_fine(),
        "node": head.node,
        "status": head.standing.as_str(),
        "at": head.at,
        "edited": checked.is_edited(engine),
    });
    let more = match &checked.verdict {
        EditVerdict::Ended | EditVerdict::GoesOn => json!({}),
        EditVerdict::OtherGraph => json!({ "graph": head.graph }),
        EditVerdict::Elsewhere { to, why } => {
            let why = match why {
                Moved::Renamed => "renamed",
                Moved::Vanished => "vanished",
                Moved::Again => "entered_anew",
            };
            json!({ "to": to, "why": why })
        }
        EditVerdict::Lacks { keys } => json!({ "keys": keys }),
        EditVerdict::CallChanged { pending, now } => json!({ "pending": pending, "now": now }),
        EditVerdict::Stuck { node, why } => json!({ "at_node": node, "why": why }),
        EditVerdict::Unreadable { error } => json!({ "why": error.to_string() }),
    };
    if let (Some(wire), serde_json::Value::Object(more)) = (wire.as_object_mut(), more) {
        wire.extend(more);
        if !checked.verdict.is_fine() && checked.is_edited(engine) {
            wire.insert("saved_since".into(), edits.since(head.at).iter().map(|(_, path)| &**path).collect());
        }
    }
    wire.to_string()
}

impl VerdictTally {
    fn take(&mut self, checked: &Checked) {
        let verdict = &checked.verdict;
        if *verdict == EditVerdict::OtherGraph {
            *self.others.entry(Arc::clone(&checked.head.graph)).or_default() += 1;
        }
        *self.counts.entry(verdict.as_str()).or_default() += 1;
        self.stopped += usize::from(!verdict.is_fine());
    }

    /// Returns whether there are sessions, and all of them are of other graphs: then nothing was checked, and the graph may have another name than
    /// before.
    fn is_of_others(&self) -> bool {
        !self.others.is_empty() && self.counts.len() == 1
    }

    fn wire(&self) -> String {
        let summary = json!({ "counts": self.counts, "applied": self.applied, "stopped": self.stopped, "other_graphs": self.others });
        format!("\n],\"summary\":{summary}}}\n")
    }

    fn line(&self) -> String {
        let all: usize = self.counts.values().sum();
        let words = [
            ("goes_on", "continue"),
            ("elsewhere", "continue elsewhere"),
            ("ended", "have ended"),
            ("lacks_keys", "lack keys"),
            ("call_changed", "have a call that changed"),
            ("stuck", "cannot continue"),
            ("unreadable", "cannot be read"),
            ("other_graph", "are of another graph"),
        ];
        let mut parts = String::new();
        for (verdict, words) in words {
            if let Some(count) = self.counts.get(verdict) {
                let _ = write!(parts, "{} {count} {words}", if parts.is_empty() { ":" } else { "," });
            }
        }
        if !self.others.is_empty() {
            let names = self.others.iter().take(GRAPHS).map(|(graph, count)| format!("`{}` {count}", visible_line(graph)));
            let more = if self.others.len() > GRAPHS { ", …" } else { "" };
            let _ = write!(parts, " ({}{more})", names.collect::<Vec<_>>().join(", "));
        }
        format!("{}{parts}\n", counted(all, "session"))
    }
}
