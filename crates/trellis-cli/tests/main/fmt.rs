//! `trellis fmt`: what it writes, what it leaves alone, and what the world can do to it.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    process::Command,
};

use crate::sandbox::{SOUND, Sandbox, finish};

const UNTIDY: &str = "---\nto: bye\n# heard\ninput_type: text\n---\nto: x  \n";
const TIDY: &str = "---\n# heard\ninput_type: text\nto: bye\n---\nto: x  \n";

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path().join(path)).unwrap()
}

/// Names in the folder, hidden ones too.
fn names(sandbox: &Sandbox) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_formatted_once() {
    let sandbox = Sandbox::new(&[("start.md", UNTIDY), ("bye.md", "Bye.\n"), ("sub/a.yaml", "next: /bye\ntype: text\n")]);
    let ran = sandbox.trellis(&["fmt"]);
    let expected = "formatted start.md\nformatted sub/a.yaml\n3 files, 2 formatted\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), expected, ""));
    assert_eq!((read(&sandbox, "start.md").as_str(), read(&sandbox, "sub/a.yaml").as_str()), (TIDY, "type: text\nto: /bye\n"));
    let ran = sandbox.trellis(&["fmt"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "3 files, all formatted\n"));
    assert_eq!(names(&sandbox), ["bye.md", "start.md", "sub"], "nothing unfinished is left");
}

#[test]
fn check_writes_nothing_and_shows_the_difference() {
    let sandbox = Sandbox::new(&[("g/start.md", UNTIDY), ("g/bye.md", "Bye.\n")]);
    let ran = sandbox.trellis(&["fmt", "--check", "g"]);
    let expected = "\
--- g/start.md
+++ g/start.md
@@ -1,6 +1,6 @@
 ---
-to: bye
 # heard
 input_type: text
+to: bye
 ---
 to: x  \n\
2 files, 1 would change
";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(1), expected, ""));
    assert_eq!(read(&sandbox, "g/start.md"), UNTIDY);
    let child = sandbox.command(&["fmt", "--check", "g"]).env("CLICOLOR_FORCE", "1").spawn().unwrap();
    assert!(finish(child).out.contains("\u{1b}[31m-to: bye\u{1b}[0m\n"));
}

#[test]
fn what_is_no_yaml_is_left_alone_and_the_rest_is_formatted() {
    let sandbox = Sandbox::new(&[("start.md", UNTIDY), ("bad.md", "---\nto: [\n---\n"), ("empty.md", ""), ("empty.yaml", "")]);
    sandbox.write("junk.json", b"\xff\xfe\x00");
    sandbox.write("many.yaml", "a: 1\n".repeat(50_000).as_bytes());
    sandbox.write("large.md", &[b'x'; (1 << 20) + 1]);
    let ran = sandbox.trellis(&["fmt", "."]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "formatted start.md\n7 files, 1 formatted, 4 left alone\n"));
    for part in [
        "error[yaml-syntax]",
        "  bad.md:2:",
        "error[not-utf8]",
        "  junk.json:",
        "error[file-too-large]",
        "  large.md:",
        "and 49998 more in this file",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(ran.err.lines().count() < 50, "one finding is enough to say why");
    assert_eq!(fs::read(sandbox.path().join("junk.json")).unwrap(), b"\xff\xfe\x00");
    assert_eq!(fs::metadata(sandbox.path().join("large.md")).unwrap().len(), (1 << 20) + 1);
    assert_eq!(sandbox.trellis(&["fmt", "--check"]).code, Some(1));
}

#[test]
fn a_large_file_is_formatted_too() {
    let body = "x\n".repeat((1 << 19) - 40);
    let sandbox = Sandbox::new(&[("start.md", &format!("---\nto: bye\nid: start\n---\n{body}")), ("bye.md", "Bye.\n")]);
    let metadata = (0..20_000).map(|at| format!("  k{at}: {at}\n")).collect::<String>();
    sandbox.write("wide.yaml", format!("to: bye\nmetadata:\n{metadata}id: wide\n").as_bytes());
    assert_eq!(sandbox.trellis(&["fmt"]).code, Some(0));
    assert!(read(&sandbox, "start.md") == format!("---\nid: start\nto: bye\n---\n{body}"));
    assert!(read(&sandbox, "wide.yaml") == format!("id: wide\nmetadata:\n{metadata}to: bye\n"));
}

#[test]
fn permissions_and_links_stay() {
    let sandbox = Sandbox::new(&[("start.md", UNTIDY), ("real/bye.md", UNTIDY)]);
    symlink("real/bye.md", sandbox.path().join("bye.md")).unwrap();
    fs::set_permissions(sandbox.path().join("start.md"), fs::Permissions::from_mode(0o751)).unwrap();
    assert_eq!(sandbox.trellis(&["fmt"]).code, Some(0));
    assert_eq!(fs::metadata(sandbox.path().join("start.md")).unwrap().permissions().mode() & 0o7777, 0o751);
    assert!(fs::symlink_metadata(sandbox.path().join("bye.md")).unwrap().is_symlink());
    assert_eq!(read(&sandbox, "real/bye.md"), TIDY);
}

#[test]
fn standard_input_is_formatted_for_editors() {
    let sandbox = Sandbox::new(&[]);
    let format = |file: &str, text: &str| sandbox.trellis_with(&["fmt", "--stdin", file], text);
    assert_eq!(format("sub/a.md", UNTIDY).out, TIDY);
    assert_eq!(format("a.md", TIDY).out, TIDY);
    assert_eq!(format("./trellis.yaml", "bindings: {}\nname: x\n").out, "name: x\nbindings: {}\n");
    assert_eq!(format("a.md", "\u{feff}---\r\nto: b\r\nid: a\r\n---\r\n").out, "\u{feff}---\r\nid: a\r\nto: b\r\n---\r\n");
    let odd = "---\nto: b\n---\n\u{9b}31m\u{200b}\u{202e}x\u{feff}\n";
    assert_eq!(format("a.md", odd).out, odd, "what a terminal might obey is text too");
    let ran = format("sub/a.md", "---\nto: [\n---\n");
    assert!(ran.code == Some(1) && ran.out.is_empty() && ran.err.contains("  sub/a.md:2:"), "{ran:?}");
    assert_eq!(names(&sandbox), [""; 0]);
}

#[test]
fn a_graph_means_the_same_afterwards() {
    let sandbox = Sandbox::new(SOUND);
    sandbox.write("start.md", b"---\nto: bye\nsave_to: name\ninput_type: text\n---\nWho are you?\n");
    let before = sandbox.trellis(&["graph"]).out;
    sandbox.trellis(&["fmt"]);
    assert_eq!(sandbox.trellis(&["graph"]).out, before);
    assert!(read(&sandbox, "start.md").starts_with("---\ninput_type: text\n"));
}

#[test]
fn a_full_disk_names_the_file_and_leaves_it() {
    let sandbox = Sandbox::new(&[("start.md", UNTIDY), ("a.md", UNTIDY), ("bye.md", "Bye.\n")]);
    // No file may grow here, as on a disk that is full; what stands on a pipe may.
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {} fmt", env!("CARGO_BIN_EXE_trellis"));
    let ran = Command::new("sh").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap().as_str()),
        (Some(2), "3 files, 1 not written, 1 not tried after that\n"),
        "{err}"
    );
    assert!(err.starts_with("error: `a.md` cannot be written, it is as it was\n  "), "{err}");
    assert_eq!((read(&sandbox, "a.md").as_str(), read(&sandbox, "start.md").as_str()), (UNTIDY, UNTIDY));
    assert_eq!(names(&sandbox), ["a.md", "bye.md", "start.md"], "nothing unfinished is left");
}

#[test]
fn files_that_must_not_be_written_are_not() {
    let sandbox = Sandbox::new(&[("g/start.md", UNTIDY), ("g/bye.md", "Bye.\n")]);
    // Nothing is refused to root, so somebody else runs the program, from where they may.
    let mut command = sandbox.command_of(&sandbox.program_of_all(), &["fmt", "g"]);
    if fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0) {
        command.uid(65534);
    } else {
        fs::set_permissions(sandbox.path().join("g"), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let ran = finish(command.spawn().unwrap());
    fs::set_permissions(sandbox.path().join("g"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ran.code == Some(2) && ran.err.starts_with("error: `g/start.md` cannot be written, it is as it was\n"), "{ran:?}");
    // One that says that it is not to be written is not, whoever asks.
    fs::set_permissions(sandbox.path().join("g/start.md"), fs::Permissions::from_mode(0o444)).unwrap();
    let ran = sandbox.trellis(&["fmt", "g"]);
    assert!(ran.code == Some(2) && ran.err.contains("`g/start.md` cannot be written"), "{ran:?}");
    assert_eq!(read(&sandbox, "g/start.md"), UNTIDY);
}

#[test]
fn other_files_of_a_folder_are_not_touched() {
    let compose = "services: {}\ntext: x\nid: y\n";
    let sandbox =
        Sandbox::new(&[("start.md", "Hi.\n"), ("compose.yaml", compose), ("notes.txt", "to: x\nid: y\n"), ("README.md", "to: x\nid: y\n")]);
    let ran = sandbox.trellis(&["fmt"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "3 files, all formatted\n"));
    assert_eq!(read(&sandbox, "compose.yaml"), compose);
    let ran = sandbox.trellis(&["fmt", "notes.txt"]);
    assert!(ran.code == Some(2) && ran.err.contains("is not a graph"), "{ran:?}");
}
