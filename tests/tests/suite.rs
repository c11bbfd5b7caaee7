//! The Markdown suite and its coverage of codes.

use std::path::{Path, PathBuf};

use trellis_tests::harness::{Mode, run_tree};

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the repository").to_owned()
}

#[test]
fn suite() {
    run_tree(&repository().join("tests/suite"), |_| Mode::Suite).assert_none();
}
