//! `trellis session export ID`: writes a session as a test case.

use std::path::PathBuf;

use anyhow::bail;
use trellis_host::history::{History, transcript};

use super::{
    context::{TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, output::OutputFile, terminal};

/// Writes a session as a test: the graph and a transcript
///
/// The transcript has the recorded inputs and results, and the output of the current graph, so the test passes. If the current graph differs from
/// the recording, a remark says so. After a move or a change by an operator, the transcript begins with the state after it. Typed secrets are `***`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session export run-19f > case.md
  trellis session export run-19f --until 12 --output tests/suite/case.md
  trellis session export run-19f --transcript     without the files of the graph

The file has what the session has but its secrets: look at it before you send it to somebody.

Exit codes: 0 written; 2 the session does not exist, its state is not known, or the store failed.")]
pub(super) struct Export {
    /// The session
    id: String,
    /// The last record to export [default: the newest]
    #[arg(long, value_name = "N")]
    until: Option<u64>,
    /// Write only the transcript
    #[arg(long)]
    transcript: bool,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: TargetArgs,
}

impl Export {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (text, notes) = self.place.with(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let history = History::open(&*stand.store, &id).await.map_err(|error| explain_error(error, &id))?;
            let mut exported =
                transcript(stand.engine_of(&history.head)?, &history, self.until).map_err(|error| explain_error(error, &id))?;
            let mut redactor = stand.redactor(&history.head.graph);
            redactor.learn(&history);
            exported.text = redactor.text(&exported.text);
            let Some(opened) = stand.opened() else { bail!("which graph? `--graph PATH` names it") };
            let mut notes = String::new();
            if exported.since > 0 {
                notes = format!("it begins after record {}: what came before cannot be typed\n", exported.since);
            }
            if let Some(first) = exported.otherwise.first() {
                notes += &format!("from record {first} on the graph as it is now leads elsewhere\n");
            }
            let text = if self.transcript {
                exported.text
            } else {
                exported.sheet(&format!("Session {id}"), opened.project.documents(), &opened.compiled.diagnostics)
            };
            Ok((text, notes))
        })?;
        match &self.output {
            Some(path) => OutputFile::create(path)?.write_text(&text)?,
            None => terminal::print(&text)?,
        }
        terminal::print_error(&notes);
        Ok(Exit::Fine)
    }
}
