//! Backups, and the way back to them.

use std::{os::unix::fs::symlink, path::Path};

use super::{
    super::{
        backup::{restore, save},
        paths::resolve,
    },
    *,
};

/// Backs up, changes and restores a folder; then it is as it was.
fn comes_back(prepare: impl Fn(&Path), declared: &[&str], change: impl Fn(&Path)) {
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (work, copies) = (folder.path(), copies.path().join("copies"));
    prepare(work);
    let before = picture(work);
    let paths: Vec<PathBuf> = declared.iter().flat_map(|path| resolve(work, Path::new("/nowhere"), path).unwrap()).collect();
    let saved = save(&work.canonicalize().unwrap(), &paths, &copies).unwrap();
    change(work);
    assert_ne!(picture(work), before, "the change is one");
    // A second time changes nothing more.
    for _ in 0..2 {
        restore(work, &saved, &copies).unwrap();
        assert_eq!(picture(work), before);
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

// language 11.11
#[test]
fn files_come_back_byte_for_byte_with_their_modes() {
    let prepare = |work: &Path| {
        fs::write(work.join("a"), [0, 255, 10]).unwrap();
        mode(&work.join("a"), 0o640);
        fs::write(work.join("run.sh"), "#!/bin/sh\n").unwrap();
        mode(&work.join("run.sh"), 0o755);
        fs::write(work.join("empty"), "").unwrap();
        fs::write(work.join("other"), "not declared").unwrap();
    };
    comes_back(prepare, &["a", "run.sh", "empty", "absent", "deep/er/absent"], |work| {
        fs::write(work.join("a"), [0, 255, 11]).unwrap();
        mode(&work.join("a"), 0o600);
        fs::remove_file(work.join("run.sh")).unwrap();
        fs::create_dir(work.join("run.sh")).unwrap();
        fs::write(work.join("run.sh/in"), "x").unwrap();
        fs::write(work.join("empty"), "full").unwrap();
        fs::write(work.join("absent"), "made").unwrap();
        fs::create_dir_all(work.join("deep/er")).unwrap();
        fs::write(work.join("deep/er/absent"), "made").unwrap();
    });
}

#[test]
fn folders_come_back_with_all_that_they_held_and_nothing_else() {
    let prepare = |work: &Path| {
        fs::create_dir_all(work.join("logs/old")).unwrap();
        fs::write(work.join("logs/1"), "one").unwrap();
        fs::write(work.join("logs/old/2"), "two").unwrap();
        fs::create_dir(work.join("logs/hollow")).unwrap();
        mode(&work.join("logs/old"), 0o700);
        symlink("old/2", work.join("logs/latest")).unwrap();
    };
    comes_back(prepare, &["logs"], |work| {
        fs::rename(work.join("logs/1"), work.join("logs/old/1")).unwrap();
        fs::remove_dir(work.join("logs/hollow")).unwrap();
        fs::remove_file(work.join("logs/latest")).unwrap();
        symlink("/etc", work.join("logs/latest")).unwrap();
        fs::create_dir_all(work.join("logs/new/er")).unwrap();
        mode(&work.join("logs/new"), 0o000);
        mode(&work.join("logs"), 0o500);
    });
    comes_back(prepare, &["."], |work| fs::remove_dir_all(work.join("logs")).unwrap());
    comes_back(prepare, &["logs"], |work| fs::remove_dir_all(work.join("logs")).unwrap());
    comes_back(prepare, &["logs/old/2", "logs/old"], |work| {
        fs::remove_dir_all(work.join("logs/old")).unwrap();
        fs::write(work.join("logs/old"), "a file now").unwrap();
    });
}

#[test]
fn links_within_the_workspace_are_followed_and_restored() {
    let prepare = |work: &Path| {
        fs::create_dir(work.join("one")).unwrap();
        fs::write(work.join("one/a"), "1").unwrap();
        symlink("one", work.join("current")).unwrap();
    };
    comes_back(prepare, &["current/a"], |work| fs::write(work.join("current/a"), "2").unwrap());
    comes_back(prepare, &["current"], |work| {
        fs::write(work.join("one/a"), "2").unwrap();
        fs::remove_file(work.join("current")).unwrap();
        fs::create_dir(work.join("current")).unwrap();
    });
}

// language 11.13
#[test]
fn the_way_back_writes_nothing_through_a_link() {
    let (outside, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let work = outside.path().join("work");
    fs::create_dir_all(work.join("d")).unwrap();
    fs::write(work.join("d/a"), "mine").unwrap();
    fs::create_dir(outside.path().join("theirs")).unwrap();
    fs::write(outside.path().join("theirs/a"), "theirs").unwrap();
    fs::write(outside.path().join("theirs/made"), "theirs").unwrap();
    let saved = save(&work, &["d/a".into(), "d/made".into()], &copies.path().join("c")).unwrap();
    fs::remove_dir_all(work.join("d")).unwrap();
    symlink("../theirs", work.join("d")).unwrap();
    restore(&work, &saved, &copies.path().join("c")).unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("theirs/a")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(outside.path().join("theirs/made")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(work.join("d/a")).unwrap(), "mine");
    assert!(!work.join("d").is_symlink());
}

#[test]
fn a_damaged_copy_is_noticed_and_not_used() {
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("a"), "good").unwrap();
    let saved = save(folder.path(), &["a".into()], copies.path()).unwrap();
    fs::write(copies.path().join("0"), "evil").unwrap();
    fs::write(folder.path().join("a"), "changed").unwrap();
    let error = restore(folder.path(), &saved, copies.path()).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert_eq!(picture(folder.path()).len(), 1);
    assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "changed");
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let error = save(folder.path(), &["pipe".into()], &folder.path().join("copies")).unwrap_err();
    assert_eq!(error.to_string(), "`pipe` is neither file, folder nor link");
}
