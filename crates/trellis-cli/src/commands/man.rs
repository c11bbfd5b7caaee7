//! stub
use crate::Exit;
/// stub
#[derive(Debug, clap::Args)]
pub(crate) struct Man {}
impl Man { pub(crate) fn run(self) -> anyhow::Result<Exit> { Ok(Exit::Fine) } }
