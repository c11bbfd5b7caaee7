//! SQLite: earlier and later versions, what is no database, a full disk, other processes.

use std::sync::Arc;

use tempfile::TempDir;
use trellis_host::store::{SessionStore, SqliteStore};

use crate::place::Place;

/// A file that goes away with the place.
fn file() -> Place {
    let folder = Arc::new(TempDir::new().unwrap());
    Place::new(move || {
        let folder = folder.clone();
        async move {
            let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(folder.path().join("new/sessions.db")).unwrap());
            store
        }
    })
}

contract!(contract, file());
