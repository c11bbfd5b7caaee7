//! The program at a terminal: the sessions of `tests/terminal/` and of the tutorial, on a real pseudo-terminal.

use std::path::{Path, PathBuf};

use trellis_tests::screen::{Stage, run_sheets};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn stage() -> Stage {
    if let Ok(p) = std::env::var("PROGRAM") {
        return Stage { program: p.into(), pictures: "/tmp/px/pics".into() };
    }
    Stage { program: env!("CARGO_BIN_EXE_trellis").into(), pictures: repository().join("docs/pictures") }
}

#[test]
fn every_session_looks_as_its_sheet_says() {
    let more = std::env::var("SHEET").map(PathBuf::from);
    if let Ok(sheet) = more {
        return run_sheets(&stage(), &[sheet]).assert_none();
    }
    run_sheets(&stage(), &[repository().join("tests/terminal"), repository().join("docs/tutorial.md")]).assert_none();
}
