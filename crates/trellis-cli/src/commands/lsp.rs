//! `trellis lsp`: the language server, over standard input and output. Editors start it.

use std::{fs::File, io::IsTerminal as _, path::PathBuf};

use anyhow::{Context as _, bail};
use trellis_host::binding::{FileFindings, check_bindings, check_names, check_unsaved_files};
use trellis_lsp::{LateAnswer, LateQuestion};

use crate::Exit;

/// Serves an editor while you write a graph
///
/// It sends findings, completes, follows and renames names, and formats.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis lsp                         what an editor runs, and talks to
  trellis lsp --log /tmp/trellis.log  the same, with a line for what it links, tells and refuses
  nvim graphs/tour/start.md           with the setup of editors/README.md")]
pub(crate) struct Lsp {
    /// Accepted, since editors pass it: the standard streams are all there is
    #[arg(long, hide = true)]
    stdio: bool,
    /// Append to FILE what the server links, and what it tells and refuses
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl Lsp {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if std::io::stdin().is_terminal() {
            bail!(
                "an editor starts `trellis lsp` and talks to it\n`editors/README.md` shows how to set one up; `trellis check --watch` reports to a terminal"
            );
        }
        let opened = self.log.as_ref().map(|file| {
            let opened = File::options().create(true).append(true).open(file);
            opened.with_context(|| format!("`{}` cannot be written", file.display()))
        });
        let log = opened.transpose()?;
        trellis_lsp::serve_stdio(late, log)?;
        Ok(Exit::Fine)
    }
}

/// Finds the mistakes that `trellis check` has beyond those of the graph itself.
fn late(question: &LateQuestion<'_>) -> LateAnswer {
    let LateQuestion { documents, root, unsaved } = *question;
    let FileFindings { diagnostics: in_files, sources, looked, .. } = check_unsaved_files(documents, root, unsaved);
    LateAnswer { diagnostics: [check_bindings(documents), check_names(documents), in_files].concat(), sources, looked }
}
