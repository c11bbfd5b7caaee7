//! `trellis secret ls`: lists names and dates, never values.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

use super::VaultArgs;
use crate::{Exit, columns, terminal};

/// Lists the names of the secrets in the vault, and the days on which they were set
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis secret ls
  trellis secret ls --json | jq -r '.secrets[].name'

Exit codes: 0 listed; 2 wrong usage, or the vault failed.")]
pub(super) struct SecretLs {
    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: VaultArgs,
}

impl SecretLs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let entries = self.place.open()?.list()?;
        if self.json {
            let secrets: Vec<_> = entries.iter().map(|entry| json!({ "name": entry.name, "day": day(entry.set) })).collect();
            terminal::print(&format!("{}\n", json!({ "secrets": secrets })))?;
            return Ok(Exit::Fine);
        }
        let widest = entries.iter().map(|entry| columns::width(&entry.name)).max().unwrap_or_default();
        let lines = entries.iter().map(|entry| format!("{:widest$}  {}\n", entry.name, day(entry.set)));
        terminal::print(&lines.collect::<String>())?;
        if entries.is_empty() {
            terminal::print_error("note: the vault holds no secrets\n");
        }
        Ok(Exit::Fine)
    }
}

/// The local day of a moment, in milliseconds since 1970: `2026-11-23`.
fn day(moment: u64) -> String {
    let moment = i64::try_from(moment).ok().and_then(|moment| Timestamp::from_millisecond(moment).ok());
    moment.map_or_else(|| "an unknown day".to_owned(), |moment| moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_date() {
        assert_eq!(day(0).len(), "2026-11-23".len());
        assert_eq!(day(u64::MAX), "an unknown day");
    }
}
