//! The program at a terminal: the sessions of `tests/terminal/` and of the tutorial, on a real pseudo-terminal.

use std::path::{Path, PathBuf};

use trellis_tests::screen::{Stage, run_sheets};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn every_session_looks_as_its_sheet_says() {
    let stage = Stage { program: env!("CARGO_BIN_EXE_trellis").into(), pictures: repository().join("docs/pictures") };
    run_sheets(&stage, &[repository().join("tests/terminal"), repository().join("docs/tutorial.md")]).assert_none();
}
