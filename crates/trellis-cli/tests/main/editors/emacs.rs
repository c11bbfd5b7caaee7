//! Emacs with Eglot, without a screen: `tests/editors/emacs.el` types.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use trellis_tests::peers::peer;

use super::{NODES, block, search_path};
use crate::sandbox::Sandbox;

/// The only file below a folder whose name begins and ends so.
fn below(folder: &Path, start: &str, end: &str) -> PathBuf {
    let named = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start) && name.to_string_lossy().ends_with(end))
    };
    let mut found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| named(path));
    found.next().unwrap_or_else(|| panic!("no {start}…{end} in {}", folder.display()))
}

#[test]
fn emacs_shows_a_finding_completes_a_target_and_renames_a_node() {
    let tree = peer("emacs/installed").parent().unwrap().join("tree/usr");
    let sandbox = Sandbox::new(NODES);
    // Eglot does not move files in a rename: a node with an `id:` keeps its file.
    sandbox.write("served.md", b"---\nid: served\n---\nOne {{ drink }}.\n");
    sandbox.write(".config/block.el", block("Emacs (Eglot)", "elisp").as_bytes());
    let share = below(&tree.join("share/emacs"), "30", "");
    let version = share.file_name().unwrap().to_owned();
    let dump = below(&tree.join("libexec/emacs").join(version).join("x86_64-linux-gnu"), "emacs-", ".pdmp");
    let mut command = Command::new(tree.parent().unwrap().parent().unwrap().join("run"));
    command.arg("emacs-nox").arg(format!("--dump-file={}", dump.display())).args(["--batch", "-l"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/editors/emacs.el"));
    command.current_dir(sandbox.path()).env("PATH", search_path()).env("HOME", sandbox.path().join(".config"));
    command.env("EMACSLOADPATH", share.join("lisp")).env("EMACSDATA", share.join("etc")).env("EMACSDOC", share.join("etc"));
    command.env("TRELLIS_BLOCK", sandbox.path().join(".config/block.el"));
    command.env("TRELLIS_FILE", sandbox.path().join("choose.md"));
    command.env("TRELLIS_LISP", below(&tree.join("share/emacs/site-lisp/elpa-src"), "markdown-mode", ""));
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("DONE"), "{said}");
    let text = |path: &str| fs::read_to_string(sandbox.path().join(path)).unwrap();
    assert!(text("choose.md").contains("to: poured"));
    assert_eq!(text("served.md"), "---\nwas: [served]\nid: poured\n---\nOne {{ drink }}.\n");
}
