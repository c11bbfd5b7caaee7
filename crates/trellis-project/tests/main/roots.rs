//! Changes of the folder or file that is watched.

use std::fs;

use trellis_project::{Status, Watch};

use crate::desk::{Desk, START, changed};

#[test]
fn a_root_that_is_deleted_is_waited_for() {
    let mut desk = Desk::new();
    for _ in 0..3 {
        desk.remove("");
        let edit = desk.edit_until(|edit| matches!(edit.status, Status::Gone { .. }));
        assert!(matches!(edit.status, Status::Gone { since: Some(_), .. }));
        assert!(edit.version.documents.len() <= 2 && desk.live.program().is_some(), "the last sound program goes on");
        desk.silence();
        desk.write("start.md", START);
        desk.write("bye.md", "Bye.\n");
        let edit = desk.sound_with(&["bye.md", "start.md"]);
        assert_eq!(edit.status, Status::Sound { healed: true });
        desk.write("bye.md", "See you.\n");
        assert_eq!(changed(&desk.edit()), ["bye.md"], "what came back is watched");
        desk.write("bye.md", "Bye.\n");
        desk.edit();
    }
}

#[test]
fn a_root_that_another_folder_replaces_is_that_folder() {
    let mut desk = Desk::new();
    fs::create_dir(desk.outside("other")).unwrap();
    fs::write(desk.outside("other/start.md"), "Another.\n").unwrap();
    fs::rename(desk.path(""), desk.outside("old")).unwrap();
    fs::rename(desk.outside("other"), desk.path("")).unwrap();
    desk.sound_with(&["start.md"]);
    fs::write(desk.outside("old/start.md"), "---\nto: nowhere\n---\n").unwrap();
    desk.silence();
    desk.write("start.md", "Yet another.\n");
    assert_eq!(changed(&desk.edit()), ["start.md"]);
}

#[test]
fn a_folder_far_above_the_root_may_be_moved() {
    let files = [("a/b/c/start.md", START), ("a/b/c/bye.md", "Bye.\n")];
    let mut desk = Desk::with(&files, "a/b/c", |root| Watch::new([root]));
    fs::rename(desk.outside("a"), desk.outside("z")).unwrap();
    desk.edit_until(|edit| matches!(edit.status, Status::Gone { .. }));
    fs::rename(desk.outside("z"), desk.outside("a")).unwrap();
    desk.sound_with(&["bye.md", "start.md"]);
    desk.write("bye.md", "See you.\n");
    assert_eq!(changed(&desk.edit_until(|edit| !edit.changed.is_empty())), ["bye.md"]);
}

#[cfg(unix)]
#[test]
fn a_root_may_be_a_link_that_is_led_elsewhere() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("one", "One.\n"), ("two", "Two.\n")] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("start.md"), text).unwrap();
    }
    symlink("one", folder.path().join("current")).unwrap();
    let mut desk = Desk::at(folder, "current", |root| Watch::new([root]));
    fs::write(desk.outside("one/start.md"), "One more.\n").unwrap();
    assert_eq!(changed(&desk.edit()), ["start.md"]);
    symlink("two", desk.outside("next")).unwrap();
    fs::rename(desk.outside("next"), desk.outside("current")).unwrap();
    desk.edit_until(|edit| &*edit.version.documents[0].text == "Two.\n");
    fs::write(desk.outside("two/start.md"), "Two more.\n").unwrap();
    desk.edit_until(|edit| &*edit.version.documents[0].text == "Two more.\n");
    fs::write(desk.outside("one/start.md"), "One again.\n").unwrap();
    desk.silence();
}

#[cfg(unix)]
#[test]
fn files_may_be_links_through_a_hidden_folder_that_is_swapped() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("..1", "One.\n"), ("..2", "Two.\n")] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("start.md"), text).unwrap();
    }
    symlink("..1", folder.path().join("..data")).unwrap();
    symlink("..data/start.md", folder.path().join("start.md")).unwrap();
    let mut desk = Desk::at(folder, "", |root| Watch::new([root]));
    desk.write("..1/start.md", "One more.\n");
    desk.edit_until(|edit| &*edit.version.documents[0].text == "One more.\n");
    symlink("..2", desk.path("..next")).unwrap();
    desk.rename("..next", "..data");
    desk.edit_until(|edit| &*edit.version.documents[0].text == "Two.\n");
    desk.write("..2/start.md", "Two more.\n");
    desk.edit_until(|edit| &*edit.version.documents[0].text == "Two more.\n");
}

#[test]
fn a_single_file_is_watched_in_its_folder() {
    let graph = |word: &str| format!("nodes:\n  start: {{ content: {word} }}\n");
    let mut desk = Desk::with(&[("flow.yaml", &graph("one")), ("other.md", "")], "flow.yaml", |root| Watch::new([root]));
    fs::write(desk.outside("other.md"), "Not part of it.\n").unwrap();
    fs::write(desk.outside("trellis.yaml"), "Nor is this.\n").unwrap();
    desk.silence();
    fs::write(desk.outside("flow.yaml"), graph("two")).unwrap();
    assert_eq!(changed(&desk.edit()), ["flow.yaml"]);
    for round in 0..3 {
        fs::write(desk.outside("flow.yaml.new"), graph(&format!("n{round}"))).unwrap();
        fs::rename(desk.outside("flow.yaml.new"), desk.outside("flow.yaml")).unwrap();
        assert_eq!(changed(&desk.edit()), ["flow.yaml"]);
    }
    fs::remove_file(desk.outside("flow.yaml")).unwrap();
    assert!(matches!(desk.edit().status, Status::Gone { since: Some(_), .. }));
    fs::write(desk.outside("flow.yaml"), graph("back")).unwrap();
    let edit = desk.edit_until(|edit| matches!(edit.status, Status::Sound { .. }));
    assert_eq!(edit.status, Status::Sound { healed: true });
}
