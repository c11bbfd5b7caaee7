//! Obstacles of `trellis up`: files that may not be read or written, and programs that fail (orchestrator 1.1, 5.1, 9.1).

use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    open::Open,
    sandbox::{Ran, Sandbox, finish},
    up::sandbox,
};

/// The user to whom files belong and who runs the program: nothing is refused to root.
const NOBODY: u32 = 65534;

/// A model that writes what it is told, wherever it is told to.
const WRITES: &str = r#"
- when: { matches: '^remember ' }
  reply: { tool_calls: [{ name: memory.append, args: { text: "{{ last.content }}" } }] }
- when: { matches: '^write ' }
  reply: { tool_calls: [{ name: file.write, args: { path: a.txt, text: "{{ last.content }}" } }] }
- when: { matches: '^decide ' }
  reply: { tool_calls: [{ name: decisions.add, args: { key: tea, value: "{{ last.content }}" } }] }
- reply: { content: 'came: {{ last.content }}' }
"#;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// Makes everything in a folder that user's own.
fn hand_over(folder: &Path) {
    if is_root() {
        assert!(Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(folder).status().unwrap().success());
    }
}

/// A sandbox of an ordinary user, in which a chat has taken place.
fn world() -> Sandbox {
    let sandbox = sandbox(WRITES);
    let program = sandbox.path().join("trellis-of-nobody");
    // Copied by another process: a file that this one has open for writing could not be run while some test forks.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_trellis")).arg(&program).status().unwrap().success());
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o755)).unwrap();
    hand_over(sandbox.path());
    let ran = ended(&sandbox);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    sandbox
}

/// The program of that user, which writes its complaints into the file `log`.
fn up(sandbox: &Sandbox) -> Command {
    let line = "exec ./trellis-of-nobody up graph --channel terminal --no-dashboard 2>>log";
    let mut command = sandbox.command_of(Path::new("sh"), &["-c", line]);
    command.env_remove("TRELLIS_MODEL_BASE_URL").env_remove("TRELLIS_SECRET_MODEL");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Starts it without anybody who types, and waits for its end.
fn ended(sandbox: &Sandbox) -> Ran {
    let mut command = up(sandbox);
    finish(command.stdin(Stdio::null()).spawn().unwrap())
}

fn log(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path().join("log")).unwrap()
}

/// Does something while a path of the workspace has other rights.
fn while_refused<T>(sandbox: &Sandbox, path: &str, mode: u32, act: impl FnOnce() -> T) -> T {
    let path = sandbox.path().join("workspace").join(path);
    let before = fs::metadata(&path).unwrap().permissions();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    let done = act();
    fs::set_permissions(&path, before).unwrap();
    done
}

// orchestrator 9.1: what has to be there at the start and may not be used is named, nothing begins, and nothing is made anew
#[test]
fn a_start_without_its_files_says_which() {
    let sandbox = world();
    // Something is sealed, so that there is a vault to read.
    let mut chat = Open::start(up(&sandbox));
    chat.type_in("/secret set wiki mellon77fish");
    chat.until(|line| line.contains("`wiki`"));
    chat.end_input();
    assert_eq!(chat.code(), Some(0), "{}", log(&sandbox));
    let key = fs::read(sandbox.path().join("workspace/runtime/security/master.key")).unwrap();
    for (path, mode, named) in [
        ("orchestrator.yaml", 0o000, "orchestrator.yaml"),
        ("runtime/lock", 0o400, "runtime/lock"),
        ("runtime/queue.db", 0o400, "queue.db"),
        ("runtime/security/master.key", 0o000, "master.key"),
        ("runtime/security/master.key", 0o644, "master.key"),
        ("runtime/security/secrets.json", 0o000, "secrets.json"),
    ] {
        fs::write(sandbox.path().join("log"), "").unwrap();
        let ran = while_refused(&sandbox, path, mode, || ended(&sandbox));
        let said = log(&sandbox);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{path}: {said}");
        assert!(said.contains(named), "{path}: {said}");
    }
    assert_eq!(fs::read(sandbox.path().join("workspace/runtime/security/master.key")).unwrap(), key);
    // A file that is missing cannot be made either.
    let file = sandbox.path().join("workspace/HEARTBEAT.md");
    fs::remove_file(&file).unwrap();
    let ran = while_refused(&sandbox, "", 0o500, || ended(&sandbox));
    assert!(ran.code == Some(2) && log(&sandbox).contains("HEARTBEAT.md"), "{}", log(&sandbox));
    assert!(!file.exists());
    assert_eq!(ended(&sandbox).code, Some(0), "{}", log(&sandbox));
    // What is there already need not be written.
    let ran = while_refused(&sandbox, "", 0o500, || ended(&sandbox));
    assert_eq!(ran.code, Some(0), "{}", log(&sandbox));
}

// orchestrator 9.1: one that may not be written while it runs is said, and the conversation goes on
#[test]
fn a_file_that_may_not_be_written_stops_no_chat() {
    let sandbox = world();
    for (path, mode, typed, answer, complaint) in [
        ("files", 0o500, "write tea", "\"store\"", "`file.write`: `a.txt`"),
        ("memory", 0o500, "remember tea", "\"store\"", "`memory.append`: `workspace/memory/"),
        ("runtime/decisions", 0o500, "decide tea", "\"store\"", "`decisions.add`: `workspace/runtime/decisions/"),
        (
            "runtime/cron",
            0o500,
            "/cron add every 2h tea",
            "A file or a store cannot be used. The log says which.",
            "`command.cron`: `workspace/runtime/cron/cron-store.json`",
        ),
        ("runtime/sessions", 0o500, "hello", "came: hello", "`workspace/runtime/sessions/"),
        ("runtime/events/events.jsonl", 0o400, "hello", "came: hello", "the service `events` failed"),
        ("runtime/security", 0o500, "my password is hunter2-XK9!", "came: my password is [redacted:password]", ""),
    ] {
        let folder = sandbox.path().join("workspace").join(path);
        if !folder.exists() {
            fs::create_dir(&folder).unwrap();
            hand_over(&folder);
        }
        if path == "runtime/sessions" {
            // A line could still be added to a file that is there.
            fs::read_dir(&folder).unwrap().flatten().for_each(|file| fs::remove_file(file.path()).unwrap());
        }
        fs::write(sandbox.path().join("log"), "").unwrap();
        while_refused(&sandbox, path, mode, || {
            let mut chat = Open::start(up(&sandbox));
            chat.type_in(typed);
            chat.until(|line| line.contains(answer));
            chat.type_in("are you there?");
            chat.until(|line| line.contains("came: are you there?"));
            for _ in 0..1_200 {
                if log(&sandbox).contains(complaint) {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
            assert!(log(&sandbox).contains(complaint), "{path}: {}", log(&sandbox));
        });
        let log = log(&sandbox);
        assert!(!log.contains("panicked") && !log.contains("hunter2"), "{path}: {log}");
    }
    // orchestrator 9.1: no session could go on, so nothing begins.
    fs::write(sandbox.path().join("log"), "").unwrap();
    let refused = while_refused(&sandbox, "runtime/sessions.db", 0o400, || ended(&sandbox));
    let said = log(&sandbox);
    assert!(refused.code == Some(2) && said.contains("`sqlite:workspace/runtime/sessions.db` cannot be written"), "{refused:?} {said}");
    // Nothing of that is left to be mended by hand.
    let mut chat = Open::start(up(&sandbox));
    for typed in ["write tea", "remember tea", "decide tea"] {
        chat.type_in(typed);
        chat.until(|line| line.contains("came: {") && !line.contains("store"));
    }
    chat.end_input();
    assert_eq!(chat.code(), Some(0), "{}", log(&sandbox));
}

// orchestrator 5.1: `--check` asks a program with a model of its own for its version
#[test]
fn a_check_asks_programs_for_their_versions() {
    let sandbox = sandbox("");
    assert_eq!(sandbox.trellis(&["up", "graph", "--check"]).code, Some(0));
    sandbox.write("workspace/orchestrator.yaml", b"providers: { claude_code: , chatgpt: { own_shell: accept } }\n");
    let program = |name: &str, text: &str| {
        sandbox.write(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n").as_bytes());
        fs::set_permissions(sandbox.path().join("bin").join(name), Permissions::from_mode(0o755)).unwrap();
    };
    let checked = || {
        let path = sandbox.path().join("bin");
        let mut command = sandbox.command(&["up", "graph", "--check"]);
        finish(command.env("PATH", path).env("TRELLIS_SECRET_WIKI", "mellon77fish").spawn().unwrap())
    };
    program("claude", "echo \"$@\" >> asked; /usr/bin/env >> seen; echo 2.1.332");
    program("codex", "echo \"$@\" >> asked; echo old; echo 'no such flag' >&2; exit 3");
    let ran = checked();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("provider `chatgpt`: `codex --version` fails (exit status: 3): no such flag"), "{}", ran.err);
    assert!(!ran.err.contains("claude"), "{}", ran.err);
    assert_eq!(fs::read_to_string(sandbox.path().join("asked")).unwrap(), "--version\n--version\n");
    let seen = fs::read_to_string(sandbox.path().join("seen")).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("mellon77fish"), "{seen}");
    program("codex", "echo 0.169.0");
    let ran = checked();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "nothing is in the way\n"), "{}", ran.err);
    fs::remove_file(sandbox.path().join("bin/claude")).unwrap();
    let ran = checked();
    assert!(ran.code == Some(1) && ran.err.contains("`claude --version` cannot be started"), "{}", ran.err);
}

// orchestrator 1.1, 1.2: what cannot be read is one obstacle among the others; what is wrong with `.env` is said once; a running program is named
#[test]
fn a_check_looks_at_everything() {
    let broken = sandbox("");
    let check = ["up", "graph", "--check"];
    broken.trellis(&check);
    broken.write("workspace/orchestrator.yaml", b"locale: \xff\n");
    broken.write("workspace/runtime/cron/cron-store.json", b"{\"version\": 99}");
    let ran = broken.trellis(&check);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("valid UTF-8") && ran.err.contains("cron-store.json"), "{}", ran.err);

    let sandbox = sandbox("");
    sandbox.trellis(&check);
    sandbox.write("workspace/.env", b"UP_ONE=1\nno variable\n");
    let ran = sandbox.trellis(&check);
    assert_eq!((ran.code, ran.err.matches("warning:").count()), (Some(0), 2), "{}", ran.err);
    assert!(ran.err.contains("chmod 600"), "{}", ran.err);
    fs::set_permissions(sandbox.path().join("workspace/.env"), Permissions::from_mode(0o600)).unwrap();
    assert!(!sandbox.trellis(&check).err.contains("chmod"));

    let mut running = sandbox.command(&["up", "graph", "--channel", "terminal"]);
    let mut running = running.stdin(Stdio::piped()).spawn().unwrap();
    running.stdin.as_mut().unwrap().write_all(b"/help\n").unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ran = sandbox.trellis(&check);
    assert!(ran.err.contains(&format!("in use by process {}", running.id())), "{}", ran.err);
    running.kill().unwrap();
    running.wait().unwrap();
}
