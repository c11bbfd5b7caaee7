//! `trellis completions SHELL`: a script that teaches a shell to complete what is typed.

use clap::{Command, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use trellis_core::Code;

use super::explain::LANGUAGE;
use crate::{Exit, terminal};

/// Prints a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis completions bash > ~/.local/share/bash-completion/completions/trellis
  trellis completions zsh > ~/.zfunc/_trellis
  trellis completions fish > ~/.config/fish/completions/trellis.fish
  trellis completions elvish > ~/.config/elvish/lib/trellis.elv
  trellis completions powershell >> $PROFILE

bash needs the package bash-completion, or `source` in ~/.bashrc:
  source <(trellis completions bash)
zsh needs the folder in ~/.zshrc, before compinit:
  fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit
elvish needs a line in ~/.config/elvish/rc.elv:
  use trellis

Then open a new shell, and press Tab after `trellis `.")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, program: Command) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut known(program), "trellis", &mut script);
        let mut script = String::from_utf8(script)?;
        if self.shell == Shell::Fish {
            // The generated script leaves positional arguments to us.
            let codes = explained().collect::<Vec<_>>().join(" ");
            script += &format!("complete -c trellis -n \"__fish_trellis_using_subcommand explain\" -f -a \"{codes}\"\n");
        }
        terminal::print(&script)?;
        Ok(Exit::Fine)
    }
}

/// The values that `explain` takes.
fn explained() -> impl Iterator<Item = &'static str> {
    Code::ALL.iter().map(|code| code.as_str()).chain([LANGUAGE])
}

/// The commands, with values that shells can complete although the parser takes any.
fn known(program: Command) -> Command {
    let codes = PossibleValuesParser::new(explained());
    let denied = PossibleValuesParser::new(Code::ALL.iter().map(|code| code.as_str()).chain(["warnings"]));
    let program = program.mut_subcommand("explain", |explain| explain.mut_arg("code", |code| code.value_parser(codes)));
    let program = program.mut_subcommand("check", |check| check.mut_arg("deny", |deny| deny.value_parser(denied)));
    hinted(program)
}

/// Adds the kind of path of each argument, in commands of commands too.
fn hinted(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_id().as_str() {
        "path" | "paths" | "graph" => argument.value_hint(ValueHint::AnyPath),
        "dir" => argument.value_hint(ValueHint::DirPath),
        "stdin" | "output" | "record" | "replay_tools" => argument.value_hint(ValueHint::FilePath),
        _ => argument,
    });
    command.mut_subcommands(hinted)
}
