//! `trellis lsp`: the language server, on the standard streams. Editors start it; nobody types it.

use std::io::IsTerminal as _;

use anyhow::bail;
use trellis_host::binding::check_bindings;

use crate::Exit;

/// Serves an editor while you write a graph
///
/// It sends findings, completes, follows and renames names, and formats.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis lsp                         what an editor runs, and talks to
  nvim graphs/tour/start.md           with the setup of editors/README.md")]
pub(crate) struct Lsp {
    /// Accepted, since editors pass it: the standard streams are all there is
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    #[expect(clippy::unused_self, reason = "every command takes its arguments")]
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if std::io::stdin().is_terminal() {
            bail!(
                "an editor starts `trellis lsp` and talks to it\n`editors/README.md` shows how to set one up; `trellis check --watch` reports to a terminal"
            );
        }
        trellis_lsp::serve_stdio(check_bindings)?;
        Ok(Exit::Fine)
    }
}
