//! `trellis secret set NAME`: asks for a value, and stores it.

use trellis_host::secrets::variable;

use super::{VaultArgs, checked, entry};
use crate::{
    Exit,
    report::printable,
    secret_input::{SecretInput, read},
    terminal,
};

/// Stores a secret; the value is typed without echo, or read from standard input
///
/// Of standard input, all is the value, but for one line break at its end. A value has 1 byte to 64 KiB of UTF-8. A secret that is there gets the new
/// value.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis secret set crm                       ask for the value
  trellis secret set crm < token.txt           the value from a file
  pass show crm | trellis secret set crm       the value from another program

Exit codes: 0 stored; 2 wrong usage, or the vault failed; 130 interrupted.")]
pub(super) struct SecretSet {
    /// The name: a-z, 0-9, `.`, `_` and `-`
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    place: VaultArgs,
}

impl SecretSet {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        checked(&self.name)?;
        // Before anybody types a value that could not be stored.
        let vault = self.place.open()?;
        let value = match read(&format!("Value of `{}`: ", self.name))? {
            SecretInput::Value(value) => value,
            SecretInput::Interrupted => return Ok(Exit::Interrupted),
        };
        let before = vault.list()?;
        vault.set(&self.name, &value)?;
        let file = vault.file().to_string_lossy();
        let what = if entry(&before, &self.name).is_some() { "was replaced in" } else { "was stored in" };
        terminal::print(&format!("{} {what} {}\n", self.name, printable(&file)))?;
        let own = variable(&self.name);
        if std::env::var_os(&own).is_some() {
            terminal::print_error(&format!("note: `{own}` is set, and counts before the vault\n"));
        }
        for other in before.iter().filter(|entry| *entry.name != *self.name && variable(&entry.name) == own) {
            terminal::print_error(&format!("note: `{}` and `{}` share one variable, `{own}`\n", other.name, self.name));
        }
        Ok(Exit::Fine)
    }
}
