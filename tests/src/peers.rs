//! Programs of others that `.ci/setup` installs for tests.

use std::{env, path::PathBuf};

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
    let peer = folder().join(path);
    assert!(peer.exists(), "`{}` is not installed; `. .ci/setup` installs it", peer.display());
    peer
}
