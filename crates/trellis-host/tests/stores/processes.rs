//! Several processes on one store, processes that are killed, and disks that take no more.

use std::{io::Write, process::Command};

use tempfile::TempDir;
use trellis_host::store::{Removal, SessionStore, StoreError, open};

use crate::{
    child,
    contract::race::{hold, write},
    make::{append, load, record, texts, with_snapshot},
};

/// The specs of the stores that keep things below a folder.
fn specs(folder: &std::path::Path) -> Vec<String> {
    let mut specs = vec![format!("files:{}/files", folder.display())];
    if cfg!(feature = "sqlite") {
        specs.push(format!("sqlite:{}/sessions.db", folder.display()));
    }
    specs
}

#[tokio::test]
async fn processes_that_share_a_store_lose_nothing() {
    if let Some(part) = child::part() {
        let store = open(&part[0]).await.unwrap();
        let won = write(store, "one", part[1].parse().unwrap(), 100).await;
        return child::say(&serde_json::to_string(&won).unwrap());
    }
    let folder = TempDir::new().unwrap();
    for spec in specs(folder.path()) {
        let children: Vec<_> = ["0", "1", "2", "3"]
            .map(|writer| child::start("processes::processes_that_share_a_store_lose_nothing", &[&spec, writer]))
            .into();
        let mut won = Vec::new();
        for mut child in children {
            won.push(serde_json::from_str(&child::said(&mut child).last().unwrap()).unwrap());
            assert!(child.wait().unwrap().success());
        }
        hold(&*open(&spec).await.unwrap(), won).await;
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    if let Some(part) = child::part() {
        let store = open(&part[0]).await.unwrap();
        let mut next = load(&*store, "one").await.map_or(0, |stored| stored.head.next);
        loop {
            let step = append("one", next, &vec!["step"; 1 + usize::try_from(next % 3).unwrap()]);
            let step = if next % 5 == 0 { with_snapshot(step, &format!("{next}")) } else { step };
            next = step.head.next;
            store.append(step).await.unwrap();
            if next % 11 == 0 {
                store.remove(&"one".into(), Removal::Before(next - next % 7)).await.unwrap();
            }
            child::say(&next.to_string());
        }
    }
    let folder = TempDir::new().unwrap();
    for spec in specs(folder.path()) {
        let mut acknowledged = 0;
        for round in 1..15 {
            let mut child = child::start("processes::what_was_acknowledged_survives_a_kill", &[&spec]);
            let mut said = child::said(&mut child);
            for _ in 0..round * 3 {
                acknowledged = said.next().unwrap().parse().unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            acknowledged = said.last().map_or(acknowledged, |said| said.parse().unwrap());
            let store = open(&spec).await.unwrap();
            let next = load(&*store, "one").await.unwrap().head.next;
            // One append may have been on its way, and it holds three records at most.
            assert!((acknowledged..=acknowledged + 3).contains(&next), "{spec}: {next} comes next, {acknowledged} was acknowledged");
            let rows = store.records(&"one".into(), 0, usize::MAX).await.unwrap();
            assert!(rows.iter().all(|row| row.text == Ok(record(row.seq, "step"))));
            assert_eq!(rows.last().unwrap().seq + 1, next);
        }
    }
}

/// Appends until the store refuses; what was acknowledged is there then, and nothing else.
async fn fill(store: &dyn SessionStore) -> u64 {
    let large = "x".repeat(20_000);
    for next in (0..1000).step_by(2) {
        let error = match store.append(with_snapshot(append("one", next, &["small", &large]), &large)).await {
            Ok(()) => continue,
            Err(error) => error,
        };
        assert!(next > 0 && matches!(error, StoreError::Unwritable { .. }), "{error:?}");
        assert_eq!(load(store, "one").await.unwrap().head.next, next);
        assert_eq!(texts(store, "one", 0).await.len() as u64, next);
        return next;
    }
    panic!("it is never full");
}

/// Plays the test's other part behind a script, for each store.
fn play(test: &str, script: &[&str]) {
    let folder = TempDir::new().unwrap();
    for spec in specs(folder.path()) {
        let path = folder.path().display().to_string();
        let mut child = child::start_behind(script, test, &[&spec, &path]);
        assert_eq!(child::said(&mut child).last().as_deref(), Some("held"), "{spec}");
        assert!(child.wait().unwrap().success(), "{spec}");
    }
}

#[tokio::test]
async fn a_file_that_may_not_grow_is_said() {
    if let Some(part) = child::part() {
        let store = open(&part[0]).await.unwrap();
        let next = fill(&*store).await;
        let small = store.append(append("one", next, &["small"])).await;
        assert!(matches!(small, Ok(()) | Err(StoreError::Unwritable { .. })), "{small:?}");
        return child::say("held");
    }
    // The bound holds for everybody, also for the superuser.
    let script = ["sh", "-c", "trap '' XFSZ; ulimit -f 512; exec \"$@\""];
    play("processes::a_file_that_may_not_grow_is_said", &script);
}

/// Returns whether this system allows a disk of our own.
fn has_disks() -> bool {
    let mounts = Command::new("unshare").args(["-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    let has = mounts.is_ok_and(|output| output.status.success());
    if !has {
        // Unlike what is printed, this is seen although the test passes.
        let _ = writeln!(std::io::stderr(), "skipped: this system does not allow `unshare -Urm mount`, so there is no disk to fill");
    }
    has
}

/// Mounts a disk of one megabyte where the stores are.
const DISK: [&str; 5] =
    ["unshare", "-Urm", "sh", "-c", "path=${TRELLIS_TEST_PART##*|}; mount -t tmpfs -o size=1m none \"$path\" && exec \"$@\""];

#[tokio::test]
async fn a_full_disk_is_said_and_goes_on_when_there_is_room() {
    if let Some(part) = child::part() {
        let filler = std::path::Path::new(&part[1]).join("filler");
        std::fs::write(&filler, vec![0; 300_000]).unwrap();
        let store = open(&part[0]).await.unwrap();
        store.append(append("two", 0, &["start"])).await.unwrap();
        let next = fill(&*store).await;
        std::fs::write(part[1].clone() + "/rest", vec![0; 1 << 20]).unwrap_err();
        assert!(matches!(store.append(append("three", 0, &[&"x".repeat(50_000)])).await, Err(StoreError::Unwritable { .. })));
        assert_eq!(load(&*store, "three").await, None);
        std::fs::remove_file(filler).unwrap();
        std::fs::remove_file(part[1].clone() + "/rest").unwrap();
        store.append(append("one", next, &["on"])).await.unwrap();
        store.append(append("three", 0, &["start"])).await.unwrap();
        let again = open(&part[0]).await.unwrap();
        assert_eq!(texts(&*again, "one", 0).await.len() as u64, next + 1);
        assert_eq!(texts(&*again, "two", 0).await.len(), 1);
        return child::say("held");
    }
    if has_disks() {
        play("processes::a_full_disk_is_said_and_goes_on_when_there_is_room", &DISK);
    }
}

#[tokio::test]
async fn a_disk_that_may_not_be_written_is_said() {
    if let Some(part) = child::part() {
        let store = open(&part[0]).await.unwrap();
        store.append(with_snapshot(append("one", 0, &["start"]), "s")).await.unwrap();
        drop(store);
        // The same disk once more, over itself, for nobody to write.
        for how in [&["--bind", &part[1], &part[1]][..], &["-o", "remount,bind,ro", &part[1]]] {
            assert!(Command::new("mount").args(how).status().unwrap().success());
        }
        let error = match open(&part[0]).await {
            Ok(store) => {
                assert_eq!(load(&*store, "one").await.unwrap().head.next, 1);
                store.append(append("one", 1, &["no"])).await.unwrap_err()
            }
            Err(error) => error,
        };
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
        return child::say("held");
    }
    if has_disks() {
        play("processes::a_disk_that_may_not_be_written_is_said", &DISK);
    }
}
