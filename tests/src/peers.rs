//! Programs of others that `.ci/install` installs for tests.

use std::{
    collections::BTreeSet,
    env,
    io::{self, Write as _},
    path::PathBuf,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// Returns the folder of the programs: `TRELLIS_TEST_PEERS`, else one in the cache of the user.
fn folder() -> PathBuf {
    let named = env::var_os("TRELLIS_TEST_PEERS").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").expect("a home")).join(".cache/trellis-tests"))
}

/// Returns the path of something that was installed, such as `mcp-2.3.0/bin/python`.
///
/// # Panics
/// It was not: a test that needs it fails, and is not left out.
pub fn peer(path: &str) -> PathBuf {
    let (began, peer) = (Instant::now(), folder().join(path));
    assert!(peer.exists(), "`{}` is not installed; .ci/install installs it", peer.display());
    announce(path, began.elapsed());
    peer
}

/// Says which test wants a program of others, and how long it took until that was there, once for each. Unlike `println!`, this is not captured.
pub fn announce(program: &str, took: Duration) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !SAID.lock().is_ok_and(|mut said| said.insert(program.to_owned())) {
        return;
    }
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(io::stderr(), "-- {test} wants {program}: it is there after {:.1} s", took.as_secs_f32());
}
