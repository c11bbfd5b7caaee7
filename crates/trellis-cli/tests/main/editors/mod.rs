//! Editors themselves, set up by the blocks of `editors/README.md` as they stand; `.ci/install` unpacks them. Each shows a finding,
//! completes a target and renames a node.

mod emacs;
mod helix;
mod neovim;
mod writing;

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use crate::sandbox::Sandbox;

const NODES: &[(&str, &str)] = &[
    ("trellis.yaml", "name: tea\n"),
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: choose\n---\nWho are you?\n"),
    ("choose.md", "---\noptions: [Tea, Coffee]\nsave_to: drink\nto: served\n---\nHello, {{ name }}.\n"),
    ("served.md", "One {{ drink }}.\n"),
];

/// The first block of a kind below a heading of `editors/README.md`.
fn block(heading: &str, kind: &str) -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/README.md")).unwrap();
    let below = readme.split_once(&format!("## {heading}\n")).unwrap().1;
    let code = below.split_once(&format!("```{kind}\n")).unwrap().1;
    code.split_once("```").unwrap().0.to_owned()
}

/// The search path with the program under test in front.
fn search_path() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_trellis")).parent().unwrap();
    env::join_paths([program.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap()
}

/// The node has its new name everywhere, and the graph is sound.
fn expect_poured(sandbox: &Sandbox) {
    let (old, new) = (sandbox.path().join("served.md"), sandbox.path().join("poured.md"));
    assert!(new.exists() && !old.exists());
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert!(text(sandbox.path().join("choose.md")).contains("to: poured"));
    assert!(text(new).contains("was: [served]"));
    let checked = sandbox.command(&["check"]).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
}
