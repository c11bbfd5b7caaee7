//! `trellis session dead …`: dead letters, calls that failed for good (language 11.7).

use std::fmt::Write as _;

use anyhow::{anyhow, bail};
use clap::Subcommand;
use serde_json::json;
use trellis_core::{SessionId, ToolOutcome, Value};
use trellis_host::{
    Sessions,
    history::{History, UnsettledLetter},
    journal::Settlement,
    wire::DeadLetter,
};
use trellis_orchestrator::visible::visible_line;

use super::{
    context::{OutputArgs, SessionCommand, TargetArgs, explain_error},
    timeline::{died, outcome},
};
use crate::{
    Exit,
    assemble::{RunMode, runnable},
    terminal::{self, BOLD, QUIET},
};

/// Lists calls that were given up, makes them again or drops them
///
/// A call is a dead letter when its failure ended its session, when it was to undo something and failed for good, or when its result came after the end.
/// The letter is named by the key of the call; the beginning of the key is enough.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  trellis session dead ls
  trellis session dead show 4f1c              the call, its arguments and what came of it
  trellis session dead retry 4f1c             make the call again, under its key
  trellis session dead drop 4f1c

A retry settles the letter when it succeeds. It does not move the session, which has ended.

Exit codes: 0 success; 1 the call failed again; 2 there is no such letter, the call cannot be made here, or the store failed."
)]
pub(super) struct Dead {
    #[command(subcommand)]
    command: DeadSubcommand,
}

#[derive(Debug, Subcommand)]
enum DeadSubcommand {
    /// List dead letters, those of sessions that moved last first
    #[command(after_help = "\
Examples:
  trellis session dead ls
  trellis session dead ls --json | jq '.items[].key'")]
    Ls(LetterArgs),
    /// Show a dead letter
    #[command(after_help = "\
Examples:
  trellis session dead show 4f1c")]
    Show(One),
    /// Make the call of a dead letter again, under its key
    #[command(after_help = "\
Examples:
  trellis session dead retry 4f1c

Exit codes: 0 it succeeded, and the letter is settled; 1 it failed again; 2 it cannot be made here.")]
    Retry(One),
    /// Settle a dead letter without a call
    #[command(after_help = "\
Examples:
  trellis session dead drop 4f1c")]
    Drop(One),
}

#[derive(Debug, clap::Args)]
struct LetterArgs {
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

#[derive(Debug, clap::Args)]
struct One {
    /// The key of the call, or its beginning
    letter: String,
    #[command(flatten)]
    at: LetterArgs,
}

impl Dead {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            DeadSubcommand::Ls(at) => list(&at),
            DeadSubcommand::Show(one) => show(&one),
            DeadSubcommand::Retry(one) => retry(&one),
            DeadSubcommand::Drop(one) => settle(&one),
        }
    }
}

fn list(at: &LetterArgs) -> anyhow::Result<Exit> {
    let letters = at.place.with(async |stand| {
        let mut letters = Vec::new();
        for letter in all(stand).await? {
            letters.push(visible(stand, letter).await?);
        }
        Ok(letters)
    })?;
    let text = match at.form.is_json() {
        true => format!("{}\n", json!({ "items": letters.iter().map(DeadLetter::from).collect::<Vec<_>>() })),
        false if letters.is_empty() => "there are no dead letters\n".to_owned(),
        false => letters.iter().map(letter_text).collect(),
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

fn show(one: &One) -> anyhow::Result<Exit> {
    let found = one.at.place.with(async |stand| visible(stand, one.found(stand).await?).await)?;
    let wire = DeadLetter::from(&found);
    let text = match one.at.form.is_json() {
        true => format!("{}\n", json!(wire)),
        false => {
            let args = wire.args.as_ref().map(|args| format!("    with {}\n", visible_line(&Value::Map(args.clone()).to_json())));
            format!("{}{}", letter_text(&found), args.unwrap_or_default())
        }
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

fn retry(one: &One) -> anyhow::Result<Exit> {
    let (found, came) = one.at.place.writing(async |stand| {
        let found = one.found(stand).await?;
        let sessions = sessions(stand)?;
        let came = sessions.retry_letter(&found.session, found.letter.key.as_str()).await?;
        let mut again = found.clone();
        again.letter.outcome = came;
        Ok((found, visible(stand, again).await?.letter.outcome))
    })?;
    let is_success = matches!(came, ToolOutcome::Success(_));
    let text = match one.at.form.is_json() {
        true => {
            let mut wire = json!(trellis_host::wire::CallResult::new(found.letter.id.clone(), came));
            wire["key"] = found.letter.key.as_str().into();
            wire["session"] = found.session.as_str().into();
            wire["settled"] = is_success.into();
            format!("{wire}\n")
        }
        false => format!("`{}` of {} {}\n", visible_line(&found.letter.tool), found.session, visible_line(&outcome(&came))),
    };
    terminal::print(&text)?;
    Ok(if is_success { Exit::Fine } else { Exit::Failed })
}

fn settle(one: &One) -> anyhow::Result<Exit> {
    let found = one.at.place.writing(async |stand| {
        let found = one.found(stand).await?;
        let settled = stand.operator()?.settle_letter(&found.session, &found.letter.key, Settlement::Dropped).await;
        settled.map_err(|error| explain_error(error, &found.session))?;
        Ok(found)
    })?;
    let text = match one.at.form.is_json() {
        true => format!("{}\n", json!({ "key": found.letter.key, "session": found.session, "settled": true })),
        false => format!("dropped: `{}` of {}\n", visible_line(&found.letter.tool), found.session),
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

impl One {
    /// The letter that is meant.
    async fn found(&self, stand: &SessionCommand) -> anyhow::Result<UnsettledLetter> {
        let mut found: Vec<_> = all(stand).await?;
        found.retain(|found| found.letter.key.as_str().starts_with(&self.letter));
        match found.len() {
            0 => bail!("there is no dead letter `{}`\n`trellis session dead ls` lists them", visible_line(&self.letter)),
            1 => Ok(found.swap_remove(0)),
            more => bail!("{more} dead letters begin with `{}`: give more of the key", visible_line(&self.letter)),
        }
    }
}

/// The letters of the graph that is named, or of all in the store.
async fn all(stand: &SessionCommand) -> anyhow::Result<Vec<UnsettledLetter>> {
    let mut found = Vec::new();
    let graph = stand.is_named.then(|| stand.graph.clone());
    stand.operator()?.dead_letters(graph, |letter| found.push(letter)).await?;
    Ok(found)
}

/// A letter as people may see it.
async fn visible(stand: &SessionCommand, letter: UnsettledLetter) -> anyhow::Result<UnsettledLetter> {
    let mut redactor = stand.redactor(&letter.graph);
    if !redactor.is_needed() {
        return Ok(letter);
    }
    redactor.learn(&History::open(&*stand.store, &letter.session).await?);
    Ok(letter.redacted(&redactor))
}

/// The sessions of the graph, with their bindings. A person who makes a call again has approved it.
fn sessions(stand: &SessionCommand) -> anyhow::Result<Sessions> {
    let opened = stand.opened().ok_or_else(|| anyhow!("which graph? `--graph PATH` names it"))?;
    let mode = RunMode { json: true, can_type: false, no_input: false, approve_all: true, max_input: None };
    let assembled = mode.assembly(opened.folder()).assemble(opened.compiled.program.as_ref(), opened.project.documents(), opened.folder());
    let ready = runnable(assembled.runnable)?.ok_or_else(|| anyhow!("the graph cannot run here\n`trellis check --host` shows why"))?;
    Ok(mode.sessions(ready, None).store(stand.store.clone(), &stand.graph))
}

/// A letter, for people.
fn letter_text(found: &UnsettledLetter) -> String {
    let (letter, session) = (&found.letter, &found.session);
    let by = |child: &SessionId| format!(" in `{}`", visible_line(child.as_str()));
    let by = letter.by.as_ref().map(by).unwrap_or_default();
    let mut out = format!("{BOLD}{session}{BOLD:#}  `{}` at `{}`{by}\n", visible_line(&letter.tool), visible_line(letter.node.as_str()));
    let _ = writeln!(out, "    {}", visible_line(&died(letter)));
    let _ = writeln!(out, "    {QUIET}letter {}{QUIET:#}", visible_line(letter.key.as_str()));
    out
}
