//! Saves, moves and removals of files of a graph.

use std::{fs, thread, time::Duration};

use trellis_project::{Live, Status, Waited, Wake, Watch};

use crate::desk::{Desk, START, changed};

#[test]
fn a_file_written_in_place_is_an_edit_and_one_with_the_same_bytes_is_none() {
    let mut desk = Desk::new();
    desk.silence();
    desk.write("bye.md", "See you.\n");
    let edit = desk.edit();
    assert_eq!((changed(&edit), &edit.status), (vec!["bye.md"], &Status::Sound { healed: false }));
    assert!(edit.scripts.is_empty());
    desk.write("bye.md", "See you.\n");
    desk.silence();
    fs::File::options().write(true).open(desk.path("bye.md")).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    desk.silence();
}

#[test]
fn a_broken_graph_keeps_the_program_that_was_sound_and_heals() {
    let mut desk = Desk::new();
    let (sound, at) = (desk.live.program().unwrap().clone(), desk.live.version().at);
    desk.write("start.md", "---\nto: nowhere\n---\n");
    let edit = desk.edit();
    assert_eq!(edit.status, Status::Broken { since: Some(at) });
    assert!(edit.version.program.is_none() && edit.version.diagnostics.len() == 1, "{:?}", edit.version.diagnostics);
    assert!(std::sync::Arc::ptr_eq(desk.live.program().unwrap(), &sound));
    desk.write("start.md", "---\nto: anywhere\n---\n");
    assert_eq!(desk.edit().status, Status::Broken { since: Some(at) }, "the one that goes on is still the same");
    desk.write("start.md", "---\nto: bye\n---\nHi.\n");
    let edit = desk.edit();
    assert_eq!(edit.status, Status::Sound { healed: true });
    assert!(std::sync::Arc::ptr_eq(desk.live.program().unwrap(), edit.version.program.as_ref().unwrap()));
}

#[test]
fn a_file_that_another_is_renamed_over_is_an_edit() {
    let mut desk = Desk::new();
    for round in 0..5 {
        desk.write(".bye.md.tmp1234", &format!("Bye {round}.\n"));
        desk.rename(".bye.md.tmp1234", "bye.md");
        let edit = desk.edit();
        assert_eq!((changed(&edit), &edit.status), (vec!["bye.md"], &Status::Sound { healed: false }));
    }
    desk.write("sedXyz", "Bye from sed.\n");
    desk.rename("sedXyz", "bye.md");
    assert_eq!(changed(&desk.edit()), ["bye.md"]);
    desk.silence();
}

#[test]
fn editors_may_put_what_they_like_beside_a_file() {
    let mut desk = Desk::new();
    // vim tries whether it may write here, keeps a swap file, and moves the old file away.
    desk.write(".bye.md.swp", "swap");
    desk.write("4913", "");
    desk.remove("4913");
    desk.silence();
    desk.rename("bye.md", "bye.md~");
    desk.write("bye.md", "Saved by vim.\n");
    desk.remove("bye.md~");
    let edit = desk.sound_with(&["bye.md", "start.md"]);
    assert_eq!(changed(&edit), ["bye.md"]);
    desk.remove(".bye.md.swp");
    // emacs locks a file with a link that leads nowhere, and copies the old one.
    #[cfg(unix)]
    std::os::unix::fs::symlink("ada@desk.4711:1700000000", desk.path(".#bye.md")).unwrap();
    fs::copy(desk.path("bye.md"), desk.path("bye.md~")).unwrap();
    desk.write("#bye.md#", "Saved by itself.\n");
    desk.silence();
    desk.write("bye.md", "Saved by emacs.\n");
    assert_eq!(changed(&desk.edit()), ["bye.md"]);
    desk.write("picture.png", "no file of a graph");
    desk.silence();
}

#[test]
fn files_in_new_folders_are_noticed_and_watched() {
    let mut desk = Desk::new();
    desk.write("a/b/c/deep.md", "---\nto: bye\n---\nDeep.\n");
    desk.edit_until(|edit| edit.version.documents.len() == 3);
    desk.write("a/b/c/deep.md", "---\nto: bye\n---\nDeeper.\n");
    assert_eq!(changed(&desk.edit()), ["a/b/c/deep.md"]);
    desk.write("a/b/other.md", "---\nto: bye\n---\n");
    assert_eq!(changed(&desk.edit()), ["a/b/other.md"]);
    // A folder that was filled elsewhere comes as a whole, and goes as a whole.
    fs::create_dir_all(desk.outside("filled/in")).unwrap();
    fs::write(desk.outside("filled/in/full.md"), "---\nto: bye\n---\n").unwrap();
    fs::rename(desk.outside("filled"), desk.path("a/filled")).unwrap();
    assert_eq!(changed(&desk.edit()), ["a/filled/in/full.md"]);
    desk.write("a/filled/in/full.md", "---\nto: bye\n---\nFuller.\n");
    assert_eq!(changed(&desk.edit()), ["a/filled/in/full.md"]);
    desk.remove("a");
    desk.sound_with(&["bye.md", "start.md"]);
    desk.silence();
}

#[test]
fn renamed_files_and_folders_are_followed() {
    let mut desk = Desk::new();
    desk.rename("bye.md", "end.md");
    let edit = desk.edit_until(|edit| changed(edit) == ["bye.md", "end.md"]);
    assert!(matches!(edit.status, Status::Broken { since: Some(_) }));
    desk.rename("end.md", "bye.md");
    desk.sound_with(&["bye.md", "start.md"]);

    desk.write("sub/start.md", "---\nto: /bye\n---\n");
    desk.write("sub/in/node.md", "---\nto: /bye\n---\n");
    desk.edit_until(|edit| edit.version.documents.len() == 4);
    desk.rename("sub", "moved");
    desk.edit_until(|edit| edit.version.documents.iter().any(|document| *document.path == *"moved/in/node.md"));
    desk.write("moved/in/node.md", "---\nto: /bye\n---\nMoved.\n");
    assert_eq!(changed(&desk.edit()), ["moved/in/node.md"], "in its new place it is watched");
    desk.write("sub/in/node.md", "---\nto: /bye\n---\nAnew.\n");
    desk.edit_until(|edit| changed(edit) == ["sub/in/node.md"]);
    desk.write("sub/in/node.md", "---\nto: /bye\n---\nAgain.\n");
    assert_eq!(changed(&desk.edit()), ["sub/in/node.md"], "and so is what took its old one");
    // Two folders change places.
    desk.rename("sub", "x");
    desk.rename("moved", "sub");
    desk.rename("x", "moved");
    desk.edit_until(|edit| edit.version.documents.iter().any(|document| *document.path == *"sub/start.md"));
    desk.write("moved/in/node.md", "---\nto: /bye\n---\nSwapped.\n");
    desk.edit_until(|edit| changed(edit) == ["moved/in/node.md"]);
    assert!(desk.text("moved/in/node.md").contains("Swapped"));
}

#[test]
fn a_burst_of_many_files_ends_in_what_stands_there() {
    let mut desk = Desk::new();
    let page = |at: usize, word: &str| format!("A page, {word} {at}.\n");
    for word in ["one", "two"] {
        for at in 0..300 {
            desk.write(&format!("part{}/n{at}.md", at % 7), &page(at, word));
        }
        desk.edit_until(|edit| {
            let texts = edit.version.documents.iter().filter(|document| document.text.contains(word)).count();
            texts == 300 && matches!(edit.status, Status::Sound { .. })
        });
        desk.silence();
    }
    for at in 0..7 {
        desk.remove(&format!("part{at}"));
    }
    desk.sound_with(&["bye.md", "start.md"]);
}

#[test]
fn a_project_file_comes_and_goes() {
    let mut desk = Desk::new();
    desk.write("bye.md", "Bye, {{ .name }}.\n");
    assert!(matches!(desk.edit().status, Status::Broken { .. }));
    desk.write("trellis.yaml", "templates: go\ninputs: { type: object, required: [name], properties: { name: { type: string } } }\n");
    let edit = desk.edit();
    assert_eq!((changed(&edit), &edit.status), (vec!["trellis.yaml"], &Status::Sound { healed: true }), "{:?}", edit.version.diagnostics);
    desk.remove("trellis.yaml");
    assert!(matches!(desk.edit().status, Status::Broken { .. }));
    desk.write("bye.md", "Bye.\n");
    assert_eq!(desk.edit().status, Status::Sound { healed: true });
}

#[test]
fn rules_that_leave_files_out_are_followed() {
    let mut desk = Desk::new();
    desk.write("drafts/idea.md", "---\nto: bye\n---\n");
    desk.edit_until(|edit| edit.version.documents.len() == 3);
    desk.write(".gitignore", "/drafts/\n");
    assert_eq!(changed(&desk.edit()), ["drafts/idea.md"]);
    desk.write("drafts/idea.md", "---\nto: nowhere\n---\n");
    desk.silence();
    desk.remove(".gitignore");
    assert!(matches!(desk.edit().status, Status::Broken { .. }));
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_takes_the_program_until_it_can() {
    let mut desk = Desk::new();
    std::os::unix::fs::symlink("/etc/hostname", desk.path("stolen.md")).unwrap();
    let edit = desk.edit();
    assert!(matches!(edit.status, Status::Broken { since: Some(_) }));
    assert!(matches!(&*edit.version.problems, [problem] if problem.contains("outside the graph")), "{:?}", edit.version.problems);
    desk.remove("stolen.md");
    assert_eq!(desk.edit().status, Status::Sound { healed: true });
}

#[test]
fn a_graph_that_is_written_to_without_end_is_still_loaded() {
    let mut desk = Desk::new();
    let path = desk.path("bye.md");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = thread::spawn(move || {
        let mut round = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            round += 1;
            fs::write(&path, format!("Bye {round}.\n")).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    });
    desk.edit();
    desk.edit();
    drop(stop);
    writer.join().unwrap();
}

#[test]
fn a_closed_watch_ends_the_wait_and_every_later_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("start.md"), START).unwrap();
    let mut watch = Watch::new([folder.path()]);
    let mut live = Live::open(folder.path()).unwrap();
    let handle = watch.handle();
    let waiting = thread::spawn(move || (matches!(live.next(&mut watch, None), Waited::Closed), watch));
    handle.close();
    let (closed, mut watch) = waiting.join().unwrap();
    assert!(closed);
    fs::write(folder.path().join("start.md"), "---\n---\n").unwrap();
    assert_eq!(watch.next(None), Wake::Closed);
}

#[test]
fn without_the_help_of_the_system_edits_are_noticed_too() {
    let files = [("start.md", START), ("bye.md", "Bye.\n")];
    let mut desk = Desk::with(&files, "", |root| Watch::polling([root]));
    desk.write("sub/page.md", "A page.\n");
    assert_eq!(changed(&desk.edit()), ["sub/page.md"]);
    desk.remove("bye.md");
    assert!(matches!(desk.edit_until(|edit| changed(edit) == ["bye.md"]).status, Status::Broken { .. }));
    desk.write("bye.md", "Bye.\n");
    assert_eq!(desk.edit_until(|edit| changed(edit) == ["bye.md"]).status, Status::Sound { healed: true });
}
