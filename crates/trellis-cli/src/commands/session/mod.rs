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
            SessionSubcommand::Check(command) => command.run(),
            SessionSubcommand::Export(command) => command.run(),
            SessionSubcommand::Rm(command) => command.run(),
            SessionSubcommand::Prune(command) => command.run(),
            SessionSubcommand::Seal(command) => command.run(),
        }
    }
}
