//! `trellis session prune`: removes old sessions and records.

use std::{fmt::Write as _, time::Duration};

use anyhow::bail;
use serde_json::json;
use trellis_host::{
    Clock,
    store::{Pruned, Retention},
};

use super::{
    context::{OutputArgs, TargetArgs, Use},
    format_time::{date_time, span},
};
use crate::{Exit, report::counted, terminal};

/// Removes sessions that ended long ago, and old records of long ones
///
/// Sessions that have not ended stay, unless `--open` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session prune --older-than 30d --dry-run
  trellis session prune --older-than 30d --keep 100     the newest 100 always stay
  trellis session prune --keep-records 10000            cut the histories of the remaining sessions

With `--graph`, only sessions of that graph. Records stay that are needed to know where a session is.

Exit codes: 0 removed; 2 wrong usage, or the store failed.")]
pub(super) struct Prune {
    /// Remove sessions whose last move is older than this, such as `30d`
    #[arg(long, value_name = "DURATION", value_parser = span)]
    older_than: Option<Duration>,
    /// Keep this number of the newest sessions
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Keep this number of the newest records of each remaining session
    #[arg(long, value_name = "N")]
    keep_records: Option<u64>,
    /// Also remove sessions that have not ended
    #[arg(long)]
    open: bool,
    /// Show the sessions, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Prune {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        if self.older_than.is_none() && self.keep.is_none() && self.keep_records.is_none() {
            bail!("what is old? `--older-than DURATION`, `--keep N` or `--keep-records N` says it");
        }
        let before = self.older_than.map(|span| Clock::system().now().saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)));
        let is_json = self.form.is_json();
        let would = if self.dry_run { "would be " } else { "" };
        let (mut text, mut wire, mut count) = (String::new(), Vec::new(), [0_usize; 2]);
        self.place.opened(Use::unless(self.dry_run), async |stand| {
            let graph = stand.is_named.then(|| stand.graph.clone());
            let retention = Retention { graph, before, keep: self.keep, open_too: self.open, records: self.keep_records };
            let pruned = retention.apply(&*stand.store, self.dry_run, |head, pruned| {
                let (what, before) = match pruned {
                    Pruned::Session => (format!("{would}taken out, it moved last {}", date_time(head.at)), None),
                    Pruned::Records(before) => (format!("records before {before} {would}taken out"), Some(before)),
                };
                count[usize::from(before.is_some())] += 1;
                if is_json {
                    wire.push(json!({ "id": head.session, "records_before": before }));
                } else {
                    let _ = writeln!(text, "{}  {what}", head.session);
                }
            });
            Ok(pruned.await?)
        })?;
        if is_json {
            text = format!("{}\n", json!({ "dry_run": self.dry_run, "pruned": wire }));
        } else {
            let [sessions, shortened] = count;
            let _ = writeln!(text, "{} {would}taken out, {shortened} {would}shortened", counted(sessions, "session"));
        }
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }
}
