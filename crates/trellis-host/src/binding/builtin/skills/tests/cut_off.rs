//! Hosts that died, and disks that were full (table B, row 13).

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

/// A small disk at a folder of the shop, if this user may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: PathBuf, kib: usize) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(&path).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

// world F: a full disk in backup
#[test]
fn without_room_for_the_backup_nothing_runs() {
    let shop = shop();
    let Some(disk) = SmallDisk::mount(shop.path().join(".trellis"), 64) else { return };
    shop.write("logs/big", &"b".repeat(200 << 10));
    let before = shop.picture();
    let error = shop.attempt("k", EXECUTE, &Cancel::new()).unwrap_err();
    assert_eq!((error.code, error.is_final), (Some(Value::text("store")), false));
    assert!(error.message.contains("cannot be made, so it did not run"), "{}", error.message);
    assert_eq!((shop.picture(), shop.states()), (before, Vec::new()));
    assert_eq!(fs::read_dir(disk.0.join("skills")).unwrap().count(), 0, "the half is gone");
}

// world F: a full disk in restore
#[test]
fn without_room_for_the_restore_the_backup_stays_and_the_next_run_restores() {
    let fills = "---\ntitle: T\nbackup: [logs]\nrun: [sh, -c, ': >logs/big; cat /dev/zero >junk']\n---\n";
    let shop = Shop::new(&[("s", fills)]);
    let Some(_disk) = SmallDisk::mount(shop.work(), 256) else { return };
    shop.write("logs/big", &"b".repeat(100 << 10));
    let before = shop.picture();
    let result = shop.execute("k", EXECUTE);
    assert_eq!((field(&result, "code"), field(&result, "stage")), (r#""restore_failed""#.into(), r#""restore""#.into()), "{result:?}");
    assert_eq!(shop.states(), ["backed_up"]);
    fs::remove_file(shop.work().join("junk")).unwrap();
    let backup = result.as_map().unwrap().get("backup").unwrap();
    assert_eq!(field(&shop.restore(backup).unwrap(), "restored"), "true");
    assert_eq!(shop.picture(), before);
}
