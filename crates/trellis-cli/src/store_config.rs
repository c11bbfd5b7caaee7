//! The store for the sessions of a graph: `--store`, `TRELLIS_STORE`, or `.trellis/sessions.db` in the folder of the graph.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::Document;
use trellis_host::{
    Secrets,
    assembly::{OpenStore, StoreSettings},
};

use crate::{
    open::{Place, shell_word},
    terminal,
};

/// The store that is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store of the sessions: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis://HOST` or `postgres://HOST`; put a password into
    /// `TRELLIS_STORE`
    /// [default: `.trellis/sessions.db` in the folder of the graph]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Seal sessions with the first key of this file; every key of the file opens them. Also `TRELLIS_KEY_FILE`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl StoreArgs {
    /// The store of the graph at `place`.
    pub(crate) fn of(&self, place: &Place, documents: &[Arc<Document>]) -> StoreSettings {
        StoreSettings::of(&place.path, documents).address_or_default(self.named()).key_file_maybe(self.key_file())
    }

    /// The store that was named, whatever graphs there are.
    pub(crate) fn alone(&self) -> Option<StoreSettings> {
        Some(StoreSettings::at(self.named()?).key_file_maybe(self.key_file()))
    }

    /// The store that is listed where no graph was named: the one that was named, or else the one that the graph in `folder` has. No graph is looked
    /// for.
    pub(crate) fn to_list(&self, folder: &Path) -> Option<StoreSettings> {
        self.alone().or_else(|| Some(StoreSettings::usual_in(folder)?.key_file_maybe(self.key_file())))
    }

    /// Returns these arguments as a shell takes them, each after a space.
    pub(crate) fn words(&self) -> String {
        let store = self.store.as_deref().map(|store| format!(" --store {}", shell_word(Path::new(store))));
        let key_file = self.key_file.as_deref().map(|file| format!(" --key-file {}", shell_word(file)));
        store.into_iter().chain(key_file).collect()
    }

    /// The store that the user named.
    fn named(&self) -> Option<String> {
        // A name that is no text names nothing, and no store is called so.
        self.store.clone().or_else(|| set("TRELLIS_STORE").map(|name| name.into_string().unwrap_or_default()))
    }

    fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone().or_else(|| set("TRELLIS_KEY_FILE").map(PathBuf::from))
    }
}

/// Warns writers if the server could lose acknowledged data.
pub(crate) async fn warn(settings: &StoreSettings) {
    let weaknesses = settings.weaknesses().await;
    if !weaknesses.is_empty() {
        let lines = weaknesses.iter().map(|weakness| format!("\n  {weakness}")).collect::<String>();
        terminal::print_error(&format!("warning: the server may lose sessions that it said to keep{lines}\n"));
    }
}

/// Opens the store of a run. If the default store cannot be used, the session is not stored.
///
/// # Errors
/// The store that was named cannot be used.
pub(crate) async fn open_if_it_can_be(settings: &StoreSettings) -> anyhow::Result<Option<OpenStore>> {
    match settings.open().await {
        Ok(store) => {
            warn(settings).await;
            Ok(Some(store))
        }
        Err(error) if settings.is_default() && settings.key_file().is_none() => {
            terminal::print_error(&format!("warning: the session is not stored: {error}\n"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The vault of the graph in a folder: `TRELLIS_VAULT`, or `.trellis/vault.json` there.
pub(crate) fn vault_file(folder: &Path) -> PathBuf {
    set("TRELLIS_VAULT").map_or_else(|| folder.strip_prefix(".").unwrap_or(folder).join(".trellis/vault.json"), PathBuf::from)
}

/// The secrets of the graph in a folder: from the environment, then from its vault (language 11.1).
pub(crate) fn secrets(folder: &Path) -> Secrets {
    Secrets::chain([Secrets::from_env(), Secrets::from_vault(&vault_file(folder))])
}

/// Returns the value of an environment variable; an empty one counts as unset.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}
