//! `trellis session replay ID`: repeats every recorded step on the current graph.

use anyhow::bail;
use serde_json::json;
use trellis_host::history::{History, Replayed, replay};

use super::{
    context::{OutputArgs, TargetArgs, Use, explain_error},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Records that are named one by one.
const MAX_NAMED_RECORDS: usize = 10;

/// Replays every recorded step on the current graph, without tools
///
/// On an unchanged graph, each step gives the same state, byte for byte. On an edited graph, the first step that differs is named. Steps that depend on
/// redacted values cannot be checked, and are counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session replay run-19f

Exit codes: 0 no step differs, as far as redacted values allow; 1 a step differs; 2 the session does not exist or cannot be
replayed, or the store failed.")]
pub(super) struct Replay {
    /// The session
    id: String,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Replay {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (id, replayed) = self.place.opened(Use::Replay, async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let history = History::open(&*stand.store, &id).await.map_err(|error| explain_error(error, &id))?;
            let shown = stand.opened().map(|opened| opened.shown("")).unwrap_or_default();
            let replayed = replay(stand.engine_of(&history.head)?, &history).map_err(|mut divergence| {
                let mut redactor = stand.redactor(&history.head.graph);
                redactor.learn(&history);
                divergence.message = redactor.text(&divergence.message);
                (shown, divergence)
            });
            if let Ok(done) = &replayed
                && done.records == 0
            {
                bail!("nothing of session `{id}` could be taken again: the records are missing that say where it was\n`trellis session show {id}` lists what is there");
            }
            Ok((id, replayed))
        })?;
        let json = self.form.is_json();
        let (text, exit) = match replayed {
            Ok(done) if json => (
                format!(
                    "{}\n",
                    json!({
                        "id": id, "same": true, "records": done.records, "left_out": done.left_out,
                        "redacted": done.redacted, "unchecked": done.unchecked,
                    })
                ),
                Exit::Fine,
            ),
            Ok(done) => {
                let left_out = match done.left_out {
                    0 => String::new(),
                    left_out => format!("; {left_out} could not be taken, since records before them are missing"),
                };
                (format!("{id}: {} records, the same{}{left_out}\n", done.records, redacted(&done)), Exit::Fine)
            }
            Err((below, divergence)) => {
                let (record, node) = (divergence.moment, divergence.node.as_ref());
                let text = if json {
                    let (path, line) = divergence.at.as_ref().map(|(path, at)| (path, at.line)).unzip();
                    let wire = json!({
                        "id": id, "same": false, "record": record, "node": node, "path": path, "line": line, "message": divergence.message,
                    });
                    format!("{wire}\n")
                } else {
                    let at = divergence.at.as_ref().map(|(path, at)| format!("\n  {below}{path}:{}", at.line)).unwrap_or_default();
                    let record = record.map(|record| format!("record {record}: ")).unwrap_or_default();
                    let node = node.map(|node| format!("`{node}` ")).unwrap_or_default();
                    format!("{id}: {record}{node}{}{at}\n", divergence.message)
                };
                (text, Exit::Failed)
            }
        };
        terminal::print(&text)?;
        Ok(exit)
    }
}

/// The steps that could not be compared because of redacted values.
fn redacted(done: &Replayed) -> String {
    let steps = match done.redacted {
        0 => return String::new(),
        1 => "1 step holds redacted values, which were taken to fit".to_owned(),
        steps => format!("{steps} steps hold redacted values, which were taken to fit"),
    };
    let numbers = done.unchecked.iter().take(MAX_NAMED_RECORDS).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if done.unchecked.len() > MAX_NAMED_RECORDS { ", …" } else { "" };
    match done.unchecked.len() {
        0 => format!("; {steps}"),
        1 => format!("; {steps}; record {numbers} depends on them and was not checked"),
        _ => format!("; {steps}; records {numbers}{more} depend on them and were not checked"),
    }
}
