//! `trellis secret rm NAME…`: removes secrets from the vault.

use anyhow::bail;
use trellis_core::diagnostic::did_you_mean;

use super::{VaultArgs, checked, entry};
use crate::{Exit, terminal};

/// Removes secrets from the vault, for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis secret rm crm
  trellis secret rm crm wiki

Exit codes: 0 removed; 2 a secret does not exist, wrong usage, or the vault failed.")]
pub(super) struct SecretRm {
    /// The names
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    place: VaultArgs,
}

impl SecretRm {
    /// Takes all of them out, or none where one is not there.
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        self.names.iter().try_for_each(|name| checked(name))?;
        let vault = self.place.open()?;
        let entries = vault.list()?;
        if let Some(unknown) = self.names.iter().find(|name| entry(&entries, name).is_none()) {
            let near = did_you_mean(unknown, entries.iter().map(|entry| &*entry.name));
            bail!("the vault has no secret `{unknown}`\n{}", near.unwrap_or_else(|| "`trellis secret ls` lists the names".to_owned()));
        }
        for name in &self.names {
            vault.remove(name)?;
            terminal::print(&format!("{name} was removed\n"))?;
        }
        Ok(Exit::Fine)
    }
}
