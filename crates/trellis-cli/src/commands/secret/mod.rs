//! `trellis secret …`: the vault of a graph, one command a file (language 11.1).

mod ls;
mod rm;
mod set;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Subcommand;
use trellis_host::secrets::{Vault, VaultEntry, is_name};

use crate::{
    Exit,
    open::{self, DEFAULT_PATH},
    report::printable,
    store_config::vault_file,
};

/// Stores secrets for the tools of a graph, encrypted
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  trellis secret set crm                ask for the value, and store it
  trellis secret set crm < token.txt    the value from standard input
  trellis secret ls                     list the names, and when they were set
  trellis secret rm crm                 remove a secret

In arguments, `{{secret:crm}}` is the value. `TRELLIS_SECRET_CRM` counts before
the vault. The vault is `TRELLIS_VAULT`, or `.trellis/vault.json` in the folder
of the graph. Its key is `TRELLIS_VAULT_KEY` (32 bytes in Base64), or the file
beside it that ends in `.key`; without the key nobody can open the vault.

Exit codes: 0 success; 2 wrong usage, or the vault failed; 130 interrupted."
)]
pub(crate) struct Secret {
    #[command(subcommand)]
    command: SecretSubcommand,
}

#[derive(Debug, Subcommand)]
enum SecretSubcommand {
    Set(set::SecretSet),
    Ls(ls::SecretLs),
    Rm(rm::SecretRm),
}

/// Whose vault is meant.
#[derive(Clone, Debug, clap::Args)]
struct VaultArgs {
    #[arg(long, value_name = "PATH", help = DEFAULT_PATH)]
    graph: Option<PathBuf>,
}

impl Secret {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            SecretSubcommand::Set(command) => command.run(),
            SecretSubcommand::Ls(command) => command.run(),
            SecretSubcommand::Rm(command) => command.run(),
        }
    }
}

impl VaultArgs {
    /// The vault. Where a variable names it, no graph is looked for.
    ///
    /// # Errors
    /// There is no graph or more than one, or the vault or its key cannot be used.
    fn open(&self) -> anyhow::Result<Vault> {
        let is_named = std::env::var_os("TRELLIS_VAULT").is_some_and(|file| !file.is_empty());
        let file = match (is_named, &self.graph) {
            (true, None) => vault_file(Path::new("")),
            _ => vault_file(open::only(self.graph.as_deref(), "secret … --graph")?.folder()),
        };
        Ok(Vault::open(&file)?)
    }
}

/// Rejects an invalid name of a secret, and suggests a similar valid one.
///
/// # Errors
/// It is none.
fn checked(name: &str) -> anyhow::Result<()> {
    if is_name(name) {
        return Ok(());
    }
    let near = name.to_ascii_lowercase().replace([' ', '/', ':'], "-");
    let help = if is_name(&near) { format!("\ndid you mean `{near}`?") } else { String::new() };
    bail!("`{}` is no name of a secret: 1 to 64 of a-z, 0-9, `.`, `_` and `-`, a letter or digit first{help}", printable(name));
}

/// The entry of a name.
fn entry<'e>(entries: &'e [VaultEntry], name: &str) -> Option<&'e VaultEntry> {
    entries.iter().find(|entry| *entry.name == *name)
}
