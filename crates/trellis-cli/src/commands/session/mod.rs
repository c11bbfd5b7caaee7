//! `trellis session …`: what becomes of kept sessions, one command a file.

mod approve;
mod back;
mod check;
mod context;
mod deny;
mod edits;
mod export;
mod fork;
mod format_time;
mod goto;
mod ls;
mod prune;
mod replay;
mod resolve_id;
mod rm;
mod seal;
mod set;
mod show;
mod timeline;

use clap::Subcommand;

pub(crate) use self::resolve_id::named;
use crate::Exit;

/// Lists, shows and moves kept sessions, and checks them against an edited graph
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  trellis session ls                          what there is, the newest first
  trellis session show run-19f                what happened, step by step
  trellis session fork run-19f --at 12        a new session from record 12
  trellis session approve                     which calls wait for somebody's approval
  trellis session check                       which sessions the edited graph stops
  trellis session export run-19f > case.md    a report of a defect that is a test

A session may be named by the beginning of its name, here and for
`trellis graph --session`. `trellis run --session` takes whole names: it begins
a session where there is none. Sessions are kept where `trellis run` keeps them:
`--store`, `TRELLIS_STORE`, or `.trellis/sessions.db`.

Exit codes: 0 done; 1 sessions cannot go on, or a replay went otherwise;
2 wrong usage, or the store failed."
)]
pub(crate) struct Session {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(ls::Ls),
    Show(show::Show),
    Replay(replay::Replay),
    Fork(fork::Fork),
    Back(back::Back),
    Goto(goto::Goto),
    Set(set::Set),
    Approve(approve::Approve),
    Deny(deny::Deny),
    Check(check::Check),
    Export(export::Export),
    Rm(rm::Rm),
    Prune(prune::Prune),
    Seal(seal::Seal),
}

impl Session {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Ls(command) => command.run(),
            Command::Show(command) => command.run(),
            Command::Replay(command) => command.run(),
            Command::Fork(command) => command.run(),
            Command::Back(command) => command.run(),
            Command::Goto(command) => command.run(),
            Command::Set(command) => command.run(),
            Command::Approve(command) => command.run(),
            Command::Deny(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Export(command) => command.run(),
            Command::Rm(command) => command.run(),
            Command::Prune(command) => command.run(),
            Command::Seal(command) => command.run(),
        }
    }
}
