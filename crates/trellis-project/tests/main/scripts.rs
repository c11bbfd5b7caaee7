//! Scripts that bindings run: noticed, though nothing is compiled again.

use std::{fs, sync::Arc};

use trellis_project::Watch;

use crate::desk::Desk;

const CALLS: &str = "---\ndo: charge\n---\n";

fn desk(process: &str, script: &str) -> Desk {
    let yaml = format!("bindings: {{ charge: {{ process: {process} }} }}\n");
    let files = [("graph/start.md", CALLS), ("graph/trellis.yaml", &yaml), (script, "#!/bin/sh\necho 1\n")];
    Desk::with(&files, "graph", |root| Watch::new([root]))
}

#[test]
fn an_edited_script_is_told_and_the_program_stays() {
    for (process, script) in [
        ("[./bin/charge.sh]", "graph/bin/charge.sh"),
        ("[sh, .tools/charge.sh, --fast]", "graph/.tools/charge.sh"),
        ("[../shared/charge.sh]", "shared/charge.sh"),
    ] {
        let mut desk = desk(process, script);
        let program = Arc::clone(desk.live.program().unwrap());
        let script = fs::canonicalize(desk.outside("")).unwrap().join(script);
        desk.silence();
        fs::write(&script, "#!/bin/sh\necho 2\n").unwrap();
        let edit = desk.edit();
        assert_eq!((edit.changed.len(), &edit.scripts), (0, &vec![script.clone()]));
        assert!(Arc::ptr_eq(&program, desk.live.program().unwrap()));
        fs::write(&script, "#!/bin/sh\necho 2\n").unwrap();
        desk.silence();
        fs::write(script.with_extension("new"), "#!/bin/sh\necho 3\n").unwrap();
        fs::rename(script.with_extension("new"), &script).unwrap();
        assert_eq!(desk.edit().scripts, std::slice::from_ref(&script));
        fs::remove_file(&script).unwrap();
        assert_eq!(desk.edit().scripts, [script]);
    }
}

#[test]
fn a_script_that_a_new_binding_names_is_watched_from_then_on() {
    let mut desk = desk("[./bin/charge.sh]", "graph/bin/charge.sh");
    desk.write("trellis.yaml", "bindings: { charge: { process: [./.other/charge.sh] } }\n");
    assert_eq!(desk.edit().changed, ["trellis.yaml".into()]);
    desk.write(".other/charge.sh", "#!/bin/sh\n");
    assert!(desk.edit().scripts[0].ends_with(".other/charge.sh"));
    desk.write(".other/charge.sh", "#!/bin/sh\necho\n");
    assert!(desk.edit().scripts[0].ends_with(".other/charge.sh"));
    desk.write("bin/charge.sh", "nobody runs it any more");
    desk.silence();
}
