//! The program at a terminal: the sessions of `tests/terminal/` and of the tutorial, on a real pseudo-terminal.

use std::path::{Path, PathBuf};

use trellis_core::syntax::document::Bytes;
use trellis_tests::{
    harness::case::read_sheet,
    screen::{Stage, run_sheets},
};

use crate::sandbox::Sandbox;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn stage() -> Stage {
    Stage { program: env!("CARGO_BIN_EXE_trellis").into(), pictures: repository().join("docs/pictures") }
}

#[test]
fn every_session_looks_as_its_sheet_says() {
    run_sheets(&stage(), &[repository().join("tests/terminal"), repository().join("docs/tutorial.md")]).assert_none();
}

/// Sessions in which the program speaks to a server that Python serves.
#[test]
fn sessions_with_peers_look_as_their_sheets_say() {
    run_sheets(&stage(), &[repository().join("tests/terminal/_peers")]).assert_none();
}

#[test]
fn the_tutorial_begins_with_what_new_makes() {
    let sheet = read_sheet(&repository().join("docs/tutorial.md")).unwrap();
    let sandbox = Sandbox::new(&[]);
    assert_eq!(sandbox.trellis(&["new", "table"]).code, Some(0));
    for file in &sheet.cases[0].files {
        let Bytes::Read(bytes) = &file.bytes else { panic!("{} is a text", file.path) };
        let made = std::fs::read(sandbox.path().join("table").join(&*file.path)).unwrap();
        assert_eq!(String::from_utf8_lossy(bytes), String::from_utf8_lossy(&made), "{}", file.path);
    }
}
