//! The process that is killed: `crash-worker STORE FOLDER SESSIONS`.

use std::{env, io, path::PathBuf};

use trellis_tests::crash::worker;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [store, folder, sessions] = &arguments[..] else { return Err(io::Error::other("crash-worker STORE FOLDER SESSIONS")) };
    let sessions = sessions.parse().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = trellis_host::store::open(store).await.map_err(io::Error::other)?;
        worker::work(store, &PathBuf::from(folder), sessions).await
    })
}
