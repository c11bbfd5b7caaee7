//! Hosts that died, and disks that were full.

use std::process::Command;

use super::*;

const CARD: &str = "---\ntitle: T\nbackup: [logs]\nrun: [sh, -c, 'rm logs/1 && echo x >>logs/ran']\n---\n";
const EXECUTE: &str = r#"{"skill_id": "s", "mode": "execute"}"#;

fn shop() -> Shop {
    let shop = Shop::new(&[("s", CARD)]);
    shop.write("logs/1", "one");
    shop
}

/// Turns the manifest of a run that is done back to what it was when its commands ran.
fn cut_off(shop: &Shop, key: &str) {
    let path = shop.path().join(".trellis/skills").join(key).join("manifest.json");
    let mut manifest = mapping(&fs::read_to_string(&path).unwrap());
    manifest.insert("state".into(), Value::text("backed_up"));
    manifest.insert("result".into(), Value::Null);
    fs::write(path, Value::Map(manifest).to_json()).unwrap();
}

#[test]
fn a_run_that_was_cut_off_is_restored_and_run_again() {
    let shop = shop();
    shop.execute("k", EXECUTE);
    cut_off(&shop, "k");
    shop.write("logs/half", "written");
    // Twice would be `x` twice, or a `rm` that fails.
    assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "true");
    assert_eq!(shop.picture().keys().collect::<Vec<_>>(), ["logs", "logs/ran"]);
    assert!(shop.picture()["logs/ran"].starts_with(&format!("644 {:?} ", b"x\n")));
}

#[test]
fn the_next_run_restores_what_another_key_left() {
    let shop = shop();
    shop.execute("k", EXECUTE);
    cut_off(&shop, "k");
    assert_eq!(field(&shop.execute("other", EXECUTE), "ok"), "true");
    assert_eq!(shop.states(), ["done", "restored"]);
    // And the call that was cut off does not undo it later: `logs/1` is gone for good now.
    assert_eq!(field(&shop.execute("k", EXECUTE), "code"), r#""execution_failed""#);
    assert!(shop.work().join("logs/ran").exists());
}

#[test]
fn half_a_backup_is_none() {
    let shop = shop();
    let draft = shop.path().join(".trellis/skills/k.new/copies");
    fs::create_dir_all(&draft).unwrap();
    fs::write(draft.join("0"), "half").unwrap();
    assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "true");
    assert_eq!(shop.states(), ["done"]);
}

#[test]
fn a_damaged_manifest_is_named_and_nothing_runs() {
    let shop = shop();
    shop.execute("k", EXECUTE);
    fs::write(shop.path().join(".trellis/skills/k/manifest.json"), "{").unwrap();
    let before = shop.picture();
    let error = shop.attempt("other", EXECUTE, &Cancel::new()).unwrap_err();
    assert!(error.is_final && error.message.contains("manifest.json` is damaged"), "{error:?}");
    assert_eq!(shop.picture(), before);
}

/// A process that a killed host left behind writes on; it is ended before anything is restored.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_host_left_running_is_ended_first() {
    let shop = shop();
    shop.execute("k", EXECUTE);
    cut_off(&shop, "k");
    let backup = shop.path().join(".trellis/skills/k");
    let script = "while :; do echo again >>work/logs/ran; sleep 0.01; done";
    let mut child = Command::new("sh").args(["-c", script]).env(leftovers::MARK, &backup).current_dir(shop.path()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "true");
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(shop.work().join("logs/ran")).unwrap(), "x\n");
}

/// Says to a process of these tests that it is the one in which files have a limit.
#[cfg(target_os = "linux")]
const ALONE: &str = "TRELLIS_TEST_ALONE";

/// Plays a test in a process of its own, in which the disk can be [`full`]: a write beyond the limit fails there like one on a full disk, after the
/// bytes for which there is room.
#[cfg(target_os = "linux")]
fn alone(test: &str, play: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return play();
    }
    let test = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    // The signal that comes with such a write would end the process.
    let played = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([&*test, "--exact", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
    assert!(played.status.success() && said.contains("1 passed"), "{said}");
}

/// The largest file that fits on a full disk.
#[cfg(target_os = "linux")]
const ROOM: usize = 64 << 10;

/// Lets the disk of this process be full, or have room again.
#[cfg(target_os = "linux")]
fn full(is_full: bool) {
    let limit = if is_full { ROOM.to_string() } else { "unlimited".to_owned() };
    let limited = Command::new("prlimit").args(["--pid", &std::process::id().to_string(), &format!("--fsize={limit}:")]).status();
    assert!(limited.expect("`prlimit` starts; install the package util-linux").success());
}

// a full disk in backup
#[cfg(target_os = "linux")]
#[test]
fn without_room_for_the_backup_nothing_runs() {
    alone("without_room_for_the_backup_nothing_runs", || {
        let shop = shop();
        shop.write("logs/big", &"b".repeat(3 * ROOM));
        let before = shop.picture();
        full(true);
        let error = shop.attempt("k", EXECUTE, &Cancel::new()).unwrap_err();
        assert_eq!((error.code, error.is_final), (Some(Value::text("store")), false));
        assert!(error.message.contains("cannot be made, so it did not run"), "{}", error.message);
        assert_eq!((shop.picture(), shop.states()), (before, Vec::new()));
        assert_eq!(fs::read_dir(shop.path().join(".trellis/skills")).unwrap().count(), 0, "the half is gone");
        full(false);
        assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "true");
    });
}

// a full disk in restore
#[cfg(target_os = "linux")]
#[test]
fn without_room_for_the_restore_the_backup_stays_and_the_next_run_restores() {
    alone("without_room_for_the_restore_the_backup_stays_and_the_next_run_restores", || {
        // While its commands run, the disk of the host becomes full.
        let fills = format!(
            "---\ntitle: T\nbackup: [logs]\nrun: [sh, -c, ': >logs/big; : >junk; prlimit --pid $PPID --fsize={ROOM}: && exit 1']\n---\n"
        );
        let shop = Shop::new(&[("s", &fills)]);
        shop.write("logs/big", &"b".repeat(3 * ROOM));
        let before = shop.picture();
        let result = shop.execute("k", EXECUTE);
        assert_eq!((field(&result, "code"), field(&result, "stage")), (r#""restore_failed""#.into(), r#""restore""#.into()), "{result:?}");
        assert_eq!(shop.states(), ["backed_up"]);
        assert_ne!(shop.picture(), before);
        full(false);
        fs::remove_file(shop.work().join("junk")).unwrap();
        let backup = result.as_map().unwrap().get("backup").unwrap();
        assert_eq!(field(&shop.restore(backup).unwrap(), "restored"), "true");
        assert_eq!(shop.picture(), before);
    });
}
