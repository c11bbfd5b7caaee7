//! `trellis new tools --server NAME`.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use trellis_host::binding::{Host, ServerLibrary, server_library};

use super::folder;
use crate::{
    Exit,
    open::{self, DEFAULT_PATH},
    report::printable,
    store_config::secrets,
    terminal,
};

/// Creates a library of the tools that a server has
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis new tools --server files                 write `lib/files.yaml`
  trellis new tools lib/notes.yaml --server wiki --graph graphs/shop

The server is one of `servers` in the project file; it is started, or connected to.

Exit codes: 0 created; 2 the file exists, or the server cannot be asked.")]
pub(super) struct Tools {
    /// The file to create, below the folder of the graph [default: `lib/NAME.yaml`]
    file: Option<String>,
    /// The server, as `servers` names it
    #[arg(long, value_name = "NAME")]
    server: String,
    #[arg(long, value_name = "PATH", help = DEFAULT_PATH)]
    graph: Option<PathBuf>,
}

impl Tools {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let place = open::only(self.graph.as_deref(), "new tools --server NAME --graph")?;
        let file = self.file.unwrap_or_else(|| format!("lib/{}.yaml", self.server));
        if !file.ends_with(".yaml") || file.split('/').any(|part| part.is_empty() || part == "..") {
            bail!("`{}` cannot be a library here: its path begins at the folder of the graph and ends with `.yaml`", printable(&file));
        }
        let root = place.folder().to_owned();
        let opened = place.open()?;
        let host = Host::new().secrets(secrets(&root));
        let day = jiff::Zoned::now().date().to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let library = runtime.block_on(async {
            let library = server_library(opened.project.documents(), &root, &host, &self.server, &day).await;
            host.close().await;
            library
        });
        let ServerLibrary { text, refused } = library.map_err(|error| anyhow!("{}", error.message))?;
        folder::add(&root, &file, &text).with_context(|| format!("`{}` cannot be written", place.shown(&file)))?;
        for why in refused {
            terminal::print_note(&format!("note: {}", printable(&why)));
        }
        let shown = printable(&place.shown(&file)).into_owned();
        terminal::print(&format!("made {shown}\nname it in `tools` of a node; its comment has the bindings\n"))?;
        Ok(Exit::Fine)
    }
}
