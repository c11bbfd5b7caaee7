//! Files: what a crash, another process, another version and other hands leave.

use std::sync::Arc;

use tempfile::TempDir;
use trellis_host::store::{FilesStore, SessionStore};

use crate::place::Place;

mod damage;
mod folder;

/// A folder that goes away with the place.
fn folder() -> Place {
    let folder = Arc::new(TempDir::new().unwrap());
    Place::new(move || {
        let folder = folder.clone();
        async move {
            let store: Arc<dyn SessionStore> = Arc::new(FilesStore::open(folder.path()).unwrap());
            store
        }
    })
}

contract!(contract, folder());
