//! What only a Redis promises.

use std::sync::Arc;

use trellis_host::store::{RedisStore, SessionStore};

use crate::{place::Place, servers};

fn place() -> Place {
    let url = servers::redis().url(&servers::fresh());
    Place::new(move || {
        let store: Arc<dyn SessionStore> = Arc::new(RedisStore::new(&url).unwrap());
        async move { store }
    })
}

contract!(contract, place());
