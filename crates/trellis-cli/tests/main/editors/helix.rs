//! Helix, at a terminal.

use std::path::Path;

use trellis_tests::{peers::peer, screen::Typist};

use super::{NODES, block, expect_poured, search_path};
use crate::sandbox::Sandbox;

#[test]
fn helix_shows_a_finding_completes_a_target_and_renames_a_node() {
    let tree = peer("helix/installed").parent().unwrap().join("tree/usr");
    let sandbox = Sandbox::new(NODES);
    sandbox.write(".config/helix/languages.toml", block("Helix", "toml").as_bytes());
    let (config, path) = (sandbox.path().join(".config"), search_path());
    let variables = [
        ("HOME", &*config),
        ("XDG_CONFIG_HOME", &*config),
        ("XDG_CACHE_HOME", &*config),
        ("HELIX_RUNTIME", &*tree.join("lib/hx/runtime")),
        ("PATH", Path::new(&path)),
    ];
    let editor = Typist::start(&tree.parent().unwrap().parent().unwrap().join("run"), &["hx", "choose.md"], sandbox.path(), variables);
    editor.wait("to: served");

    // A wrong target, typed into the fourth line.
    editor.type_keys("4ggxcto: srved\r\u{1b}k");
    editor.wait("there is no node `srved`");

    // Half of a target; the first offer is taken.
    editor.type_keys("xcto: serv");
    editor.wait("served.md");
    editor.type_keys("\t\r");
    editor.wait("to: served");
    editor.type_keys("\r\u{1b}k");
    editor.wait_without("there is no node");

    // On the target: rename.
    editor.type_keys("glh r");
    editor.wait("rename-to:");
    editor.type_keys("\u{15}poured\r");
    editor.wait("to: poured");
    editor.type_keys(":wa\r");
    editor.wait("written");
    editor.type_keys(":qa!\r");
    expect_poured(&sandbox);
}
