//! A store that keeps keys from another one is still a store. What it keeps from it stands in `main/redaction.rs`.

use std::sync::Arc;

use trellis_core::path::KeyPath;
use trellis_host::store::{MemoryStore, Redacted, SessionStore};

use crate::place::Place;

fn place() -> Place {
    let inner = Arc::new(MemoryStore::new());
    Place::new(move || {
        let paths = vec![KeyPath::parse("card").unwrap()];
        let store: Arc<dyn SessionStore> = Arc::new(Redacted::new(Arc::clone(&inner), paths));
        async move { store }
    })
}

contract!(contract, place());
