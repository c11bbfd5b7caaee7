//! `trellis run [PATH]`
use crate::Exit;
/// Walks a graph
#[derive(Debug, clap::Args)]
pub(crate) struct Run {}
impl Run {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        anyhow::bail!("not yet")
    }
}
