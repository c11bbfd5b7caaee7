//! The process that `tests/crash.rs` kills: it walks the sessions of a store until all have ended.

use std::{env, io, path::Path};

use trellis_tests::crash::worker;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [store, folder, sessions] = &arguments[..] else { return Err(io::Error::other("worker STORE FOLDER SESSIONS")) };
    let sessions = sessions.parse().map_err(io::Error::other)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let store = trellis_host::store::open(store).await.map_err(io::Error::other)?;
        worker::work(store, Path::new(folder), sessions).await
    })
}
