//! stub
use crate::Exit;
/// stub
#[derive(Debug, clap::Args)]
pub(crate) struct New {}
impl New { pub(crate) fn run(self) -> anyhow::Result<Exit> { Ok(Exit::Fine) } }
