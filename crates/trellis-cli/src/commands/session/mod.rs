//! `trellis session …`: commands about stored sessions, one per file.

mod approve;
mod back;
mod check;
mod context;
mod dead;
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
mod settle;
mod show;
mod timeline;

use clap::Subcommand;

pub(crate) use self::resolve_id::named;
use crate::Exit;

/// Heads of sessions that are asked of a store at once.
const HEADS_PER_PAGE: usize = 1000;

/// Lists, shows and moves stored sessions, and checks them against an edited graph
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  trellis session ls                          list sessions, the newest first
  trellis session show run-19f                show a session step by step
  trellis session fork run-19f --at 12        start a new session from record 12
  trellis session approve                     list the calls that wait for an approval
  trellis session dead ls                     list the calls that were given up
  trellis session check                       list the sessions that the edited graph stops
  trellis session export run-19f > case.md    write a session as a test

The beginning of a session's name is enough, here and for
`trellis graph --session`. `trellis run --session` needs whole names, because
it begins a session if none has the name. The store is that of `trellis run`:
`--store`, `TRELLIS_STORE`, or `.trellis/sessions.db`.

Exit codes: 0 success; 1 a session cannot continue, or a replay differs;
2 wrong usage, or the store failed."
)]
pub(crate) struct Session {
    #[command(subcommand)]
    command: SessionSubcommand,
}

#[derive(Debug, Subcommand)]
enum SessionSubcommand {
    Ls(ls::Ls),
    Show(show::Show),
    Replay(replay::Replay),
    Fork(fork::Fork),
    Back(back::Back),
    Goto(goto::Goto),
    Set(set::Set),
    Approve(approve::Approve),
    Deny(deny::Deny),
    Settle(settle::Settle),
    Dead(dead::Dead),
    Check(check::SessionCheck),
    Export(export::Export),
    Rm(rm::Rm),
    Prune(prune::Prune),
    Seal(seal::Seal),
}

impl Session {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            SessionSubcommand::Ls(command) => command.run(),
            SessionSubcommand::Show(command) => command.run(),
            SessionSubcommand::Replay(command) => command.run(),
            SessionSubcommand::Fork(command) => command.run(),
            SessionSubcommand::Back(command) => command.run(),
            SessionSubcommand::Goto(command) => command.run(),
            SessionSubcommand::Set(command) => command.run(),
            SessionSubcommand::Approve(command) => command.run(),
            SessionSubcommand::Deny(command) => command.run(),
            SessionSubcommand::Settle(command) => command.run(),
            SessionSubcommand::Dead(command) => command.run(),
            SessionSubcommand::Check(command) => command.run(),
            SessionSubcommand::Export(command) => command.run(),
            SessionSubcommand::Rm(command) => command.run(),
            SessionSubcommand::Prune(command) => command.run(),
            SessionSubcommand::Seal(command) => command.run(),
        }
    }
}
