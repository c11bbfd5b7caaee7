//! Helix, on a terminal.

use std::{
    thread,
    time::{Duration, Instant},
};

use trellis_tests::{peers::peer, screen::Person};

use super::{NODES, block, expect_poured, search_path};
use crate::sandbox::Sandbox;

#[test]
fn helix_shows_a_finding_completes_a_target_and_renames_a_node() {
    let peers = peer("helix/installed").parent().expect("a folder").to_owned();
    let sandbox = Sandbox::new(NODES);
    sandbox.write(".config/helix/languages.toml", block("Helix", "toml").as_bytes());
    let config = sandbox.path().join(".config");
    let (runtime, path) = (peers.join("tree/usr/lib/hx/runtime"), search_path());
    let folders = ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"].map(|name| (name, config.as_os_str()));
    let others =
        [("PATH", &*path), ("HELIX_RUNTIME", runtime.as_os_str()), ("TERM", "xterm-256color".as_ref()), ("LANG", "C.UTF-8".as_ref())];
    let editor = Person::start(&peers.join("run"), &["hx", "choose.md"], sandbox.path(), &[&folders[..], &others].concat());
    editor.sees("the file", |screen| screen.contains("save_to: drink"));

    // The fourth line from its begin to its end, changed.
    editor.types("4Gghvglc");
    editor.sees("the mode in which it inserts", |screen| screen.contains("INS"));
    editor.types("to: srved\x1b");
    editor.sees("the finding", |screen| screen.contains("there is no node `srved`"));

    editor.types("ghvglc");
    editor.sees("the mode in which it inserts", |screen| screen.contains("INS"));
    editor.types("to: serv");
    editor.sees("the completion", |screen| screen.contains("served") && screen.contains("reference"));
    editor.types("\t\r\x1b");
    editor.sees("the target", |screen| screen.contains("to: served") && screen.contains("NOR") && !screen.contains("there is no node"));

    editor.types("4Ggl r");
    editor.sees("the old name", |screen| screen.contains("rename-to:served"));
    // What is there is taken away first.
    editor.types("\x15poured\r");
    editor.sees("the new name", |screen| screen.contains("to: poured"));
    let is_saved = || std::fs::read_to_string(sandbox.path().join("poured.md")).is_ok_and(|text| text.contains("was: [served]"));
    let until = Instant::now() + Duration::from_secs(120);
    while !(is_saved() && std::fs::read_to_string(sandbox.path().join("choose.md")).is_ok_and(|text| text.contains("to: poured"))) {
        assert!(Instant::now() < until, "nothing is saved");
        // Files that the rename reaches later are saved later.
        editor.types(":wa\r");
        thread::sleep(Duration::from_millis(200));
    }
    editor.types(":qa!\r");
    expect_poured(&sandbox);
}
