//! `trellis completions SHELL`: a script that teaches a shell to complete what is typed.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Exit, args::Args, terminal};

/// Prints a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis completions bash > ~/.local/share/bash-completion/completions/trellis
  trellis completions zsh > ~/.zfunc/_trellis
  trellis completions fish > ~/.config/fish/completions/trellis.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "trellis", &mut script);
        terminal::print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Fine)
    }
}
