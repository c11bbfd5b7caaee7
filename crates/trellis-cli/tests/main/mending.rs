//! `trellis check --fix`.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use crate::sandbox::{SOUND, Sandbox, THREE_MISTAKES};

fn read(sandbox: &Sandbox, path: &str) -> String {
    String::from_utf8(fs::read(sandbox.path().join(path)).unwrap()).unwrap()
}

#[test]
fn what_can_be_mended_is_mended_round_by_round_and_told() {
    let sandbox = Sandbox::new(THREE_MISTAKES);
    // Hidden by the misspelt target: nobody sets what the receipt prints.
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert!(ran.out.starts_with("fixed help.md:2:1  unknown-key: rename to `save_to`\nfixed receipt.md:5:23  unknown-filter: rename to `upper`\nfixed start.md:3:22  unknown-target: rename to `receipt`\n3 findings fixed\n\nerror[undefined-variable]: "), "{}", ran.out);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "what is left is an error");
    assert!(ran.out.ends_with("1 error in 4 nodes\n"), "{}", ran.out);
    assert_eq!(read(&sandbox, "help.md"), "---\nsave_to: topic\nwait: true\nto: bye\n---\nAsk.\n");
    assert_eq!(read(&sandbox, "receipt.md"), "---\nid: receipt\nto: bye\n---\nHere it is, {{ name | upper }}.\n");
    let again = sandbox.trellis(&["check", "--fix"]);
    assert!(again.out.starts_with("error[undefined-variable]: ") && again.code == Some(1), "nothing is fixed twice: {}", again.out);
}

#[test]
fn a_file_to_which_links_lead_is_mended_once() {
    let start = "---\noptions: [{ text: A, to: a/x }, { text: B, to: b/x }]\n---\n";
    let sandbox = Sandbox::new(&[("start.md", start), ("b/x.md", "---\nsave_too: x\nwait: true\n---\nHi\n"), ("a/y.md", "Page.\n")]);
    std::os::unix::fs::symlink("../b/x.md", sandbox.path().join("a/x.md")).unwrap();
    let dry = sandbox.trellis(&["check", "--fix", "--dry-run"]);
    assert_eq!(dry.out.matches("+save_to: x").count(), 1, "{}", dry.out);
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert!(ran.out.starts_with("fixed b/x.md:2:1  unknown-key: rename to `save_to`\n1 finding fixed\n"), "{}", ran.out);
    assert_eq!(read(&sandbox, "b/x.md"), "---\nsave_to: x\nwait: true\n---\nHi\n");
    assert!(sandbox.path().join("a/x.md").is_symlink());
}

#[test]
fn a_sound_graph_is_not_touched() {
    let sandbox = Sandbox::new(SOUND);
    let file = sandbox.path().join("start.md");
    let before = fs::metadata(&file).unwrap();
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "2 nodes, no problems\n", ""));
    let after = fs::metadata(&file).unwrap();
    assert_eq!((before.ino(), before.modified().unwrap()), (after.ino(), after.modified().unwrap()));
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let sandbox = Sandbox::new(&[("start.md", "---\nnxt: bye\n---\nHi.\n"), ("bye.md", "Bye.\n")]);
    sandbox.write("start.md", b"---\ninput_type: text\nsavto: name\nto: by\n---\nHi.\n");
    let ran = sandbox.trellis(&["check", "--fix", "--dry-run"]);
    let expected = "\
--- start.md
+++ start.md
@@ -1,6 +1,6 @@
 ---
 input_type: text
-savto: name
-to: by
+save_to: name
+to: bye
 ---
 Hi.
would fix start.md:3:1  unknown-key: rename to `save_to`
would fix start.md:4:5  unknown-target: rename to `bye`
2 findings would be fixed

";
    assert!(ran.out.starts_with(expected), "{}", ran.out);
    assert!(ran.out.ends_with("2 errors in 1 node\n"), "the graph is as it was: {}", ran.out);
    assert_eq!(ran.code, Some(1));
    assert_eq!(read(&sandbox, "start.md"), "---\ninput_type: text\nsavto: name\nto: by\n---\nHi.\n");
    let ran = sandbox.trellis(&["check", "--dry-run"]);
    assert_eq!(ran.code, Some(2));
    let ran = sandbox.trellis(&["check", "--fix", "--dry-run", "--format", "json"]);
    assert!(ran.code == Some(2) && ran.err.contains("`--dry-run` shows a difference"), "{ran:?}");
}

#[test]
fn line_breaks_marks_indentation_and_permissions_stay() {
    let sandbox = Sandbox::new(&[("bye.md", "Bye.\n")]);
    sandbox.write(
        "start.md",
        "\u{feff}---\r\noptions:\r\n     -   Tea   # hot\r\n     -   Coffee\r\n     -   Coffee\r\nto:     by\r\n---\r\n\tWhat?\r\n"
            .as_bytes(),
    );
    let file = sandbox.path().join("start.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = "\u{feff}---\r\noptions:\r\n     -   Tea   # hot\r\n     -   Coffee\r\nto:     bye\r\n---\r\n\tWhat?\r\n";
    assert_eq!(read(&sandbox, "start.md"), expected);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_file_that_may_not_be_written_is_an_error_and_stays() {
    let sandbox = Sandbox::new(&[("start.md", "---\nto: by\n---\nHi.\n"), ("bye.md", "Bye.\n")]);
    let file = sandbox.path().join("start.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`start.md` is as it was"), "{}", ran.err);
    assert_eq!(read(&sandbox, "start.md"), "---\nto: by\n---\nHi.\n");
    assert!(ran.out.contains("error[unknown-target]: there is no node `by`"), "what is there now: {}", ran.out);
}

#[test]
fn beside_a_file_that_cannot_be_read_nothing_is_mended() {
    let sandbox = Sandbox::new(&[("start.md", "---\nto: by\n---\nHi.\n"), ("bye.md", "Bye.\n")]);
    std::os::unix::fs::symlink("nowhere.md", sandbox.path().join("other.md")).unwrap();
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.ends_with("note: nothing is fixed: what could not be read may be just what a name means\n"), "{}", ran.err);
    assert_eq!(read(&sandbox, "start.md"), "---\nto: by\n---\nHi.\n");
}

#[test]
fn for_programs_what_is_left_is_on_standard_output_alone() {
    let sandbox = Sandbox::new(&[("start.md", "---\nto: by\n---\nHi.\n"), ("bye.md", "Bye.\n")]);
    let ran = sandbox.trellis(&["check", "--fix", "--format", "json"]);
    let left: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(left["diagnostics"], serde_json::json!([]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), "fixed start.md:2:5  unknown-target: rename to `bye`\n1 finding fixed\n\n"));
}

#[test]
fn every_graph_of_a_collection_is_mended_in_its_own_place() {
    let sandbox = Sandbox::new(&[]);
    for graph in ["a", "b"] {
        sandbox.write(&format!("graphs/{graph}/start.md"), b"---\nto: by\n---\nHi.\n");
        sandbox.write(&format!("graphs/{graph}/bye.md"), b"Bye.\n");
    }
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!(
        ran.out.lines().take(3).collect::<Vec<_>>(),
        [
            "fixed graphs/a/start.md:2:5  unknown-target: rename to `bye`",
            "fixed graphs/b/start.md:2:5  unknown-target: rename to `bye`",
            "2 findings fixed",
        ]
    );
    assert_eq!((ran.code, read(&sandbox, "graphs/b/start.md").as_str()), (Some(0), "---\nto: bye\n---\nHi.\n"));
}

#[test]
fn ten_thousand_mistakes_are_mended_and_listed_within_bounds() {
    let keys = (0..300).map(|at| format!("    - {{ txt: o{at}, to: bye }}\n")).collect::<String>();
    let sandbox = Sandbox::new(&[("start.md", &format!("---\noptions:\n{keys}---\nHi.\n")), ("bye.md", "Bye.\n")]);
    let ran = sandbox.trellis(&["check"]);
    assert!(ran.out.contains("\n… and 200 more; `--limit 0` shows all, and so does `--format json`\n"), "{}", ran.out);
    assert_eq!(sandbox.trellis(&["check", "--limit", "0"]).out.matches("error[").count(), 300);
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert!(ran.code == Some(0) && ran.out.contains("300 findings fixed"), "{}", ran.out);
}

#[test]
fn in_a_folder_that_may_not_be_written_or_beside_a_file_that_may_not_be_read_nothing_changes() {
    const WRONG: &str = "---\nto: by\n---\nHi.\n";
    let sandbox = Sandbox::new(&[("g/start.md", WRONG), ("g/bye.md", "Bye.\n")]);
    let may = |path: &str, mode| fs::set_permissions(sandbox.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    may("g", 0o555);
    let refused = sandbox.trellis_as_nobody(&["check", "--fix", "g"]);
    may("g", 0o755);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.starts_with("error: `g/start.md` is as it was\n  nothing can be written beside it: permission denied\n"),
        "{refused:?}"
    );
    may("g/bye.md", 0o000);
    let unread = sandbox.trellis_as_nobody(&["check", "--fix", "g"]);
    may("g/bye.md", 0o644);
    assert_eq!(unread.code, Some(2), "{unread:?}");
    assert!(unread.err.contains("`g/bye.md` cannot be read") && unread.err.contains("nothing is fixed"), "{unread:?}");
    assert_eq!(read(&sandbox, "g/start.md"), WRONG);
    assert_eq!(fs::read_dir(sandbox.path().join("g")).unwrap().count(), 2, "nothing lies beside them");
}
