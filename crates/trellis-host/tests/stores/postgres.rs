//! What only a PostgreSQL promises.

use std::sync::Arc;

use trellis_host::store::{PostgresStore, SessionStore};

use crate::{place::Place, servers};

fn place() -> Place {
    let url = servers::postgres().url(&servers::fresh());
    Place::new(move || {
        let store: Arc<dyn SessionStore> = Arc::new(PostgresStore::new(&url).unwrap());
        async move { store }
    })
}

contract!(contract, place());
