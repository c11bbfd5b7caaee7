//! The extent of a wake: files, if nothing else can have changed.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use trellis_project::{Extent, Wake, Watch};

use crate::desk::{Desk, START, changed};

const GRAPH: [(&str, &str); 3] = [("graph/start.md", START), ("graph/bye.md", "Bye.\n"), ("graph/m/more.md", "More.\n")];

/// Returns the extent of the wakes after an act, together.
fn extent(desk: &mut Desk, act: impl FnOnce(&Desk)) -> Option<BTreeSet<PathBuf>> {
    act(desk);
    let mut files = BTreeSet::new();
    let mut patience = Duration::from_secs(120);
    while desk.watch.next(Some(patience)) == Wake::Changed {
        match desk.watch.extent() {
            Extent::Files(more) => files.extend(more.iter().cloned()),
            Extent::Anything => {
                while desk.watch.next(Some(Duration::from_millis(250))) == Wake::Changed {}
                return None;
            }
        }
        patience = Duration::from_millis(250);
    }
    Some(files)
}

fn desk() -> Desk {
    Desk::with(&GRAPH, "graph", |root| Watch::new([root]))
}

#[cfg(target_os = "linux")]
#[test]
fn a_save_is_about_its_file_however_it_is_saved() {
    let mut desk = desk();
    let only = |desk: &Desk, path: &str| Some(BTreeSet::from([fs::canonicalize(desk.path(path)).unwrap()]));
    assert_eq!(extent(&mut desk, |desk| desk.write("bye.md", "See you.\n")), only(&desk, "bye.md"));
    let over = |desk: &Desk| {
        desk.write("m/.more.md.tmp", "Much more.\n");
        desk.rename("m/.more.md.tmp", "m/more.md");
    };
    assert_eq!(extent(&mut desk, over), only(&desk, "m/more.md"));
    let unhidden = |desk: &Desk| {
        desk.write("sedXyz", "Bye again.\n");
        desk.rename("sedXyz", "bye.md");
    };
    assert_eq!(extent(&mut desk, unhidden), only(&desk, "bye.md"));
}

#[test]
fn what_may_concern_other_files_is_about_anything() {
    let mut desk = desk();
    assert_eq!(extent(&mut desk, |desk| desk.write("new/x.md", "X.\n")), None, "a new folder");
    assert_eq!(extent(&mut desk, |desk| desk.rename("new", "newer")), None, "a folder that moves");
    assert_eq!(extent(&mut desk, |desk| desk.write(".gitignore", "y.md\n")), None, "rules");
    assert_eq!(extent(&mut desk, |desk| fs::create_dir(desk.path(".git")).unwrap()), None, "the end of the rules above");
    #[cfg(unix)]
    assert_eq!(extent(&mut desk, |desk| std::os::unix::fs::symlink("bye.md", desk.path("z.md")).unwrap()), None, "a link");
    let many = |desk: &Desk| (0..200).for_each(|at| desk.write(&format!("n{at}.md"), "N.\n"));
    assert_eq!(extent(&mut desk, many), None, "more files than are told apart");
}

#[test]
fn only_what_an_extent_names_is_asked_for() {
    let mut desk = desk();
    desk.write("bye.md", "See you.\n");
    desk.write("start.md", "---\nto: bye\n---\nHi.\n");
    let bye = Extent::Files(BTreeSet::from([fs::canonicalize(desk.path("bye.md")).unwrap()]));
    let edit = desk.live.look_at(&bye).unwrap();
    assert_eq!(changed(&edit), ["bye.md"]);
    assert!(desk.live.look_at(&bye).is_none());
    assert_eq!((desk.text("bye.md"), desk.text("start.md")), ("See you.\n".to_owned(), START.to_owned()));
    assert_eq!(changed(&desk.live.look().unwrap()), ["start.md"]);
}

#[test]
fn files_that_come_go_or_change_others_make_it_look_at_everything() {
    let mut desk = desk();
    let at = |desk: &Desk, path: &str| Extent::Files(BTreeSet::from([fs::canonicalize(desk.path(".")).unwrap().join(path)]));
    desk.write("x.md", "X.\n");
    assert_eq!(changed(&desk.live.look_at(&at(&desk, "x.md")).unwrap()), ["x.md"]);
    desk.remove("x.md");
    assert_eq!(changed(&desk.live.look_at(&at(&desk, "x.md")).unwrap()), ["x.md"]);
    // A project file says how the others are read.
    desk.write("trellis.yaml", "templates: go\n");
    desk.live.look().unwrap();
    desk.write("bye.md", "Bye {{ .name }}.\n");
    desk.live.look().unwrap();
    desk.write("trellis.yaml", "templates: jinja\n");
    let edit = desk.live.look_at(&at(&desk, "trellis.yaml")).unwrap();
    assert_eq!(changed(&edit), ["trellis.yaml"]);
    assert!(edit.version.program.is_none(), "`.name` is no jinja");
    // A file that stands elsewhere is none of this graph's.
    assert!(desk.live.look_at(&Extent::Files(BTreeSet::from([desk.outside("else.md")]))).is_none());
}

#[cfg(unix)]
#[test]
fn a_file_with_two_paths_is_looked_for_under_both() {
    let mut desk = desk();
    std::os::unix::fs::symlink("bye.md", desk.path("also.md")).unwrap();
    desk.live.look().unwrap();
    desk.write("bye.md", "See you.\n");
    let bye = Extent::Files(BTreeSet::from([fs::canonicalize(desk.path("bye.md")).unwrap()]));
    assert_eq!(changed(&desk.live.look_at(&bye).unwrap()), ["also.md", "bye.md"]);
}
