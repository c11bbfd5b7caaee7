//! Files, and paths that try to lead out of their folder (orchestrator 6, 10.3).

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use jiff::Zoned;
use trellis_core::ToolError;
use trellis_host::Secrets;

use super::{files::beginning, folder::Folder};
use crate::{Orchestrator, Up, config::Settings, message::ChatPlace, workspace::Workspace};

fn folder() -> (tempfile::TempDir, Folder) {
    let world = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(world.path().join("files/sub")).expect("made");
    fs::write(world.path().join("files/sub/a.txt"), "hello").expect("written");
    fs::write(world.path().join("master.key"), "the key").expect("written");
    let folder = Folder::open(&world.path().join("files")).expect("it opens");
    (world, folder)
}

fn code<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
    result.expect_err("refused").code.map(|code| code.to_string()).unwrap_or_default()
}

#[test]
fn files_are_written_listed_read_and_deleted() {
    let (world, folder) = folder();
    folder.write("new/deep/b.txt", "one").expect("written");
    folder.write("new/deep/b.txt", "two").expect("written over");
    assert_eq!(folder.read("new/deep/b.txt").expect("read"), "two");
    assert_eq!(
        (folder.names("").expect("listed"), folder.names("new/deep").expect("listed")),
        (vec!["new/".into(), "sub/".into()], vec!["b.txt".into()])
    );
    folder.delete("new/deep/b.txt").expect("deleted");
    assert_eq!(code(folder.read("new/deep/b.txt")), "not_found");
    assert_eq!(code(folder.delete("sub")), "store");
    assert!(world.path().join("files/sub/a.txt").exists());
}

// `../`, absolute paths, links, devices
#[test]
fn nothing_leads_out_of_the_folder() {
    let (world, folder) = folder();
    let files = world.path().join("files");
    symlink(world.path(), files.join("out")).expect("linked");
    symlink(world.path().join("master.key"), files.join("key")).expect("linked");
    symlink("sub", files.join("within")).expect("linked");
    let absolute = world.path().join("master.key").display().to_string();
    for path in
        ["../master.key", "sub/../../master.key", &absolute, "/proc/self/environ", "out/master.key", "key", "within/a.txt", "", "a\0b"]
    {
        assert_eq!(code(folder.read(path)), "outside", "{path}");
    }
    for path in ["../x", "out/x", &absolute, ".."] {
        assert_eq!(code(folder.write(path, "x")), "outside", "{path}");
        assert_eq!(code(folder.delete(path)), "outside", "{path}");
    }
    // A link as the last name is replaced, not followed; and the link is deleted, not its target.
    folder.write("key", "mine").expect("written");
    assert_eq!(fs::read_to_string(world.path().join("master.key")).expect("there"), "the key");
    folder.delete("within").expect("the link is deleted");
    assert!(files.join("sub/a.txt").exists());
    assert_eq!(code(folder.read("sub")), "not_a_file");
}

// a link that is put there in between: each step is opened below the one before, so no moment is too late
#[test]
fn a_folder_that_becomes_a_link_is_not_followed() {
    let (world, folder) = folder();
    let sub = world.path().join("files/sub");
    let swapping = std::thread::spawn({
        let (sub, away) = (sub.clone(), world.path().join("away"));
        let target = world.path().to_owned();
        move || {
            for _ in 0..300 {
                fs::rename(&sub, &away).expect("away");
                // A write makes the folder anew while it is away.
                while symlink(&target, &sub).is_err() {
                    drop(fs::remove_dir_all(&sub));
                }
                fs::remove_file(&sub).expect("removed");
                while fs::rename(&away, &sub).is_err() {
                    drop(fs::remove_dir_all(&sub));
                }
            }
        }
    });
    while !swapping.is_finished() {
        if let Ok(read) = folder.read("sub/master.key") {
            panic!("it was read: {read}");
        }
        drop(folder.write("sub/master.key.copy", "x"));
        assert!(!world.path().join("master.key.copy").exists());
    }
    swapping.join().expect("no panic");
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    let (world, folder) = folder();
    fs::write(world.path().join("files/big"), vec![b'a'; (1 << 20) + 1]).expect("written");
    fs::write(world.path().join("files/bytes"), [0xff, 0xfe, 0]).expect("written");
    fs::write(world.path().join("files/long"), "é".repeat(40_000)).expect("written");
    assert_eq!((code(folder.read("big")), code(folder.read("bytes"))), ("too-large".to_owned(), "not-text".to_owned()));
    assert_eq!(folder.read("long").expect("read").len(), 80_000);
    assert_eq!(code(folder.write("x", &"a".repeat((1 << 20) + 1))), "too-large");
    assert_eq!(beginning("aé", 2), "a");
}

// orchestrator 5.4, 9, row "while the model or a tool runs": a call that is made again under its key writes no second line, at whichever moment it died
#[tokio::test]
async fn a_note_is_written_once_for_each_call() {
    let world = tempfile::tempdir().expect("a folder");
    let graph = world.path().join("graph");
    fs::create_dir(&graph).expect("made");
    fs::write(graph.join("start.md"), "Well.\n").expect("written");
    let workspace = Workspace::open(&world.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
    let up = Up { graph, workspace: workspace.clone(), settings: Settings::default(), secrets: Secrets::default() };
    let orchestrator = Orchestrator::open(up).await.expect("it opens");
    let (hands, place) = (orchestrator.hands(), ChatPlace::new("terminal", "terminal"));
    let remember = async |key: &str| Arc::clone(hands).remember(key, &place, "tea, my password is hunter2-XK9!").await.expect("noted");
    let lines = || -> Vec<String> {
        let days = fs::read_dir(workspace.path("memory")).expect("days").flatten().map(|entry| entry.path());
        days.flat_map(|day| fs::read_to_string(day).expect("read").lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    // It died behind the line.
    remember("a").await;
    remember("a").await;
    assert!(lines().len() == 1 && lines()[0].contains("tea, my password is {{secret:inbound.terminal."), "{:?}", lines());
    // Another call says the same in the same minute.
    remember("b").await;
    remember("a").await;
    remember("b").await;
    assert_eq!(lines().len(), 2);
    // It died before the line, which has the minute of then.
    let then = "2026-01-02T10:00:00[UTC]".parse::<Zoned>().expect("a moment");
    let line = hands.memory.line("milk", &then).expect("a line");
    hands.queue.note("c", line, 1).await.expect("noted");
    remember("c").await;
    remember("c").await;
    assert_eq!(fs::read_to_string(workspace.path("memory/2026-01-02.md")).expect("read"), "- 10:00 milk\n");
    // Nobody makes a call of long ago again.
    hands.queue.forget(2 + 30 * 24 * 3_600_000).await.expect("forgotten");
    remember("c").await;
    assert_eq!(lines().len(), 4);
}
