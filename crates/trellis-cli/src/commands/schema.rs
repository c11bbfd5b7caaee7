//! stub
use crate::Exit;
/// stub
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {}
impl Schema { pub(crate) fn run(self) -> anyhow::Result<Exit> { Ok(Exit::Fine) } }
