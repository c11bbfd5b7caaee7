//! The shell in its sandbox (orchestrator 6, 10.3).

use std::fs;

use crate::{held::RUNS, world::World};

/// A world with settings of the shell.
async fn world_with(shell: &str) -> World {
    let world = World::new(RUNS);
    drop(world.opened().await);
    fs::write(world.at("orchestrator.yaml"), format!("tools: {{ shell: {shell} }}\n")).expect("written");
    fs::write(world.at(".env"), "MARK=swordfish\n").expect("written");
    world
}

// orchestrator 6, 10.3: in bwrap neither `master.key` nor `.env` can be read, and there is no network
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_bwrap_the_key_cannot_be_read() {
    let world = world_with("{ mode: patterns }").await;
    let mut chat = world.chat().await;
    chat.ask("/secret set door hunter2-Zx9!kQ").await;
    let key = fs::read(world.at("runtime/security/master.key")).expect("a key");
    let key = String::from_utf8_lossy(&key).trim().to_owned();
    fs::write(world.at("files/a.txt"), "tea").expect("written");
    assert!(chat.ask("run cat a.txt").await.contains(r#""output":"tea""#));
    let absolute = world.at("runtime/security/master.key").display().to_string();
    for line in [
        "cat ../runtime/security/master.key",
        &format!("cat {absolute}"),
        "cat ../.env",
        "ls -A ../runtime",
        "cat /proc/*/root/etc/../run/*",
    ] {
        let said = chat.ask(&format!("run {line}")).await;
        assert!(said.starts_with("came: ") && said.contains(r#""output":"""#), "{line}: {said}");
        assert!(!said.contains(&key) && !said.contains("swordfish"), "{line}: {said}");
    }
    assert!(chat.ask("run cat /proc/self/environ").await.contains("PATH="));
    // Of the devices of the network there is the one to itself only.
    assert!(chat.ask("run grep -c : /proc/net/dev").await.contains(r#""output":"1\n""#));
    assert!(fs::read_dir("/proc").expect("the system").count() > 8);
    let processes = chat.ask("run ls -d /proc/[0-9]*").await;
    assert!(processes.matches("/proc/").count() < 6, "{processes}");
    chat.leave().await;
}

// orchestrator 6: in bwrap nothing can be written but the files; what writes waits for an approval in this mode
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_bwrap_only_files_can_be_written() {
    let world = world_with("{ mode: patterns }").await;
    let mut chat = world.chat().await;
    let home = std::env::var("HOME").expect("a home");
    for line in ["touch ../memory/x", "touch ../orchestrator.yaml", "touch /etc/x", &format!("touch {home}/.x"), "rm -f ../agents/main.md"]
    {
        assert!(chat.ask(&format!("run {line}")).await.starts_with("**May I run this?**"), "{line}");
        assert_eq!(chat.ask("yes").await, "`shell` runs.");
        let said = chat.hear().await;
        assert!(said.contains("Read-only file system"), "{line}: {said}");
    }
    chat.ask("run echo tea > made.txt").await;
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    assert!(chat.hear().await.contains(r#""status":0"#));
    chat.leave().await;
    assert_eq!(fs::read_to_string(world.at("files/made.txt")).expect("there"), "tea\n");
    assert!(!world.at("memory/x").exists() && world.at("agents/main.md").exists());
}

// orchestrator 6, source 003.9.1: everything holds but exact lines in `allow`, and deny patterns block always
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_listed_runs_by_itself() {
    let world = world_with(r#"{ allow: ["echo hello", "rm -rf /"] }"#).await;
    let mut chat = world.chat().await;
    assert!(chat.ask("run echo hello").await.contains(r#""output":"hello\n""#));
    assert!(chat.ask("run rm -rf /").await.contains("denied"));
    assert!(chat.ask("run echo hello; ls").await.starts_with("**May I run this?**"));
    chat.stop().await;
}
