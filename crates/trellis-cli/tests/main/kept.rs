//! Sessions that are kept: they go on in another run, and wake by themselves.

use crate::sandbox::{Sandbox, soon};

const ASKS: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: again\n---\nYour name?\n"),
    ("again.md", "---\ninput_type: text\nsave_to: city\nto: end\n---\nAnd your city, {{ name }}?\n"),
    ("end.md", "{{ name }} of {{ city }}.\n"),
];

#[test]
fn a_session_goes_on_in_another_run() {
    for store in [&["--store", "files:kept"][..], &["--store", "sqlite:kept.db"], &[]] {
        let sandbox = Sandbox::new(ASKS);
        let run = |input: &str| sandbox.trellis_with(&[&["run", ".", "--session", "ana"], store].concat(), input);
        let begun = run("Ana\n");
        assert_eq!(begun.code, Some(1), "{}", begun.err);
        assert!(
            begun.out.contains("And your city, Ana?")
                && begun.err.contains(&format!(
                    "resume with `trellis run .{} --session ana`",
                    store.iter().map(|word| format!(" {word}")).collect::<String>()
                )),
            "{begun:?}"
        );
        let over = run("Recife\n");
        assert_eq!(over.code, Some(0), "{}", over.err);
        assert!(!over.out.contains("Your name?") && over.out.contains("Ana of Recife."), "{}", over.out);
        // It has ended: there is nothing to go on with, and that is said the same way again.
        assert_eq!(run("").code, Some(0));
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_run_as_it_ends_other_programs() {
    let sandbox = Sandbox::new(ASKS);
    let mut child = sandbox.command(&["run", ".", "--session", "bp"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Ana\n");
    let ran = crate::sandbox::finish(child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(141), ""));
    // The session waits where it is.
    let over = sandbox.trellis_with(&["run", ".", "--session", "bp"], "Ana\nRecife\n");
    assert_eq!(over.code, Some(0), "{over:?}");
}

#[test]
fn a_run_without_a_store_keeps_nothing() {
    let sandbox = Sandbox::new(ASKS);
    let ran = sandbox.trellis_with(&["run", ".", "--store", "memory"], "Ana\n");
    assert_eq!(ran.code, Some(1));
    assert!(!sandbox.path().join(".trellis").exists());
    sandbox.trellis_with(&["run", "."], "Ana\n");
    assert_eq!(std::fs::read_to_string(sandbox.path().join(".trellis/.gitignore")).unwrap(), "*\n");
}

#[test]
fn a_variable_that_is_empty_is_not_set() {
    let sandbox = Sandbox::new(ASKS);
    let ran = |store: &str, args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("TRELLIS_STORE", store).env("TRELLIS_KEY_FILE", "");
        crate::sandbox::finish(command.spawn().unwrap())
    };
    let begun = ran("", &["run", ".", "--session", "ana"]);
    assert!(begun.code == Some(1) && sandbox.path().join(".trellis/sessions.db").exists(), "{begun:?}");
    assert!(ran("", &["session", "ls"]).out.contains("ana"));
    assert_eq!(ran("memory", &["session", "ls"]).out, "no sessions\n");
    let told = ran("", &["run", ".", "--store", ""]);
    assert!(told.code == Some(2) && told.err.contains("names no store"), "{told:?}");
}

#[test]
fn looking_makes_nothing() {
    let sandbox = Sandbox::new(ASKS);
    for (store, why) in [
        ("files:typo/x", "`files:typo/x` cannot be reached: there is no such folder"),
        ("sqlite:typo.db", "`sqlite:typo.db` cannot be reached: there is no such file"),
        ("sqlite:typo/x.db", "there is no such file"),
    ] {
        for command in [
            &["session", "ls"][..],
            &["session", "check", "--graph", "."],
            &["session", "prune", "--keep", "1"],
            &["session", "set", "ana", "a=1"],
            &["graph", ".", "--session", "ana"],
        ] {
            let ran = sandbox.trellis(&[command, &["--store", store]].concat());
            assert!(ran.code == Some(2) && ran.err.contains(why), "{command:?} {store}: {ran:?}");
        }
        assert!(!sandbox.path().join("typo").exists() && !sandbox.path().join("typo.db").exists(), "{store}");
    }
}

#[test]
fn what_may_not_be_written_can_be_looked_at() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new(ASKS);
    let may = |path: &str, mode| std::fs::set_permissions(sandbox.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(sandbox.trellis_with(&["run", ".", "--session", "ana", "--store", "sqlite:kept/a #?.db"], "Ana\n").code, Some(1));
    let file = sandbox.path().join("kept/a #?.db");
    // All of it in one file, as whoever copies it to such a disk does.
    rusqlite::Connection::open(&file).unwrap().pragma_update_and_check(None, "wal_checkpoint", "truncate", |_| Ok(())).unwrap();
    for beside in ["kept/a #?.db-wal", "kept/a #?.db-shm"] {
        let _ = std::fs::remove_file(sandbox.path().join(beside));
    }
    let earlier = concat!(env!("CARGO_MANIFEST_DIR"), "/../trellis-host/tests/stores/earlier/sqlite-2.db");
    std::fs::copy(earlier, sandbox.path().join("kept/earlier.db")).unwrap();
    for (path, mode) in [(".", 0o755), ("kept/a #?.db", 0o444), ("kept/earlier.db", 0o444), ("kept", 0o555)] {
        may(path, mode);
    }
    let looked_at = |store: &str, args: &[&str]| sandbox.trellis_as_nobody(&[args, &["--store", store]].concat());
    let looked = |args: &[&str]| looked_at("sqlite:kept/a #?.db", args);
    let of_earlier = looked_at("sqlite:kept/earlier.db", &["session", "ls"]);
    let (listed, shown) = (looked(&["session", "ls"]), looked(&["session", "show", "ana"]));
    let (moved, run) = (looked(&["session", "set", "ana", "a=1", "--graph", "."]), looked(&["run", ".", "--session", "ana"]));
    may("kept", 0o755);
    assert!(listed.code == Some(0) && listed.out.contains("ana"), "{listed:?}");
    assert!(shown.code == Some(0) && shown.out.contains("answer: Ana"), "{shown:?}");
    for refused in [moved, run] {
        assert!(refused.code == Some(2) && refused.err.contains("cannot be written: "), "{refused:?}");
    }
    assert!(of_earlier.code == Some(2) && of_earlier.err.contains("of an earlier version of trellis"), "{of_earlier:?}");
    assert_eq!(std::fs::read_dir(sandbox.path().join("kept")).unwrap().count(), 2, "nothing was made");
}

#[test]
fn a_store_that_cannot_be_used_says_so() {
    let sandbox = Sandbox::new(ASKS);
    sandbox.write("file", b"no folder");
    for (store, why) in [("files:file/below", "file/below"), ("sqlite:file/below.db", "file/below.db"), ("ftp:x", "`ftp` names no store")] {
        let ran = sandbox.trellis_with(&["run", ".", "--store", store], "Ana\n");
        assert_eq!(ran.code, Some(2), "{store}: {ran:?}");
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    // The one that nobody named is no reason not to run.
    sandbox.write(".trellis", b"in the way");
    let ran = sandbox.trellis_with(&["run", "."], "Ana\nRecife\n");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("warning: the session is not stored"), "{}", ran.err);
}

#[test]
fn a_name_that_no_session_can_have_and_a_second_start_are_refused() {
    let sandbox = Sandbox::new(ASKS);
    let long = "x".repeat(10_240);
    for name in ["../../x", "a\u{1b}[31mb", long.as_str()] {
        let ran = sandbox.trellis_with(&["run", ".", "--session", name], "Ana\n");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("is no name for a session") && ran.err.len() < 300 && !ran.err.contains('\u{1b}'), "{}", ran.err);
    }
    sandbox.trellis_with(&["run", ".", "--session", "ana"], "Ana\n");
    let ran = sandbox.trellis_with(&["run", ".", "--session", "ana", "--context", "name=Bob"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("there is a session `ana` already\n  leave out `--context`"), "{}", ran.err);
    for way in [&["--locale", "de"][..], &["--locale", "de", "--json"], &["--at", "again"]] {
        let ran = sandbox.trellis_with(&[&["run", ".", "--session", "ana"], way].concat(), "");
        assert!(ran.code == Some(2) && ran.err.contains("there is a session `ana` already"), "{way:?}: {ran:?}");
    }
}

#[test]
fn a_run_takes_whole_names_and_says_which_others_begin_so() {
    let sandbox = Sandbox::new(ASKS);
    let run = |name: &str, args: &[&str]| sandbox.trellis_with(&[&["run", ".", name], args].concat(), "Ana\n");
    assert_eq!(run("--session=order-10", &[]).err, "resume with `trellis run . --session order-10`\n");
    let new = run("--session=order-1", &[]);
    assert!(new.out.contains("Your name?"), "{new:?}");
    assert_eq!(
        new.err,
        "`order-1` is a new session: there is `order-10`, but `--session` takes whole names\nresume with `trellis run . --session order-1`\n"
    );
    // It is there now, and goes on.
    assert_eq!(run("--session=order-1", &[]).err, "");
    assert_eq!(run("--session=order", &["--json"]).err, "");
    // The offered command can be typed.
    assert_eq!(run("--session=-x", &[]).err, "resume with `trellis run . --session=-x`\n");
    assert_eq!(run("--session=gone", &["--store", "memory"]).err, "");
}

#[test]
fn sessions_whose_time_has_come_go_on_by_themselves() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\ntimeout: 2s\non_timeout: late\nto: late\n---\nYour name?\n"),
        ("late.md", "---\noutput: late\n---\nToo late.\n"),
    ]);
    // On a busy machine the time of some comes while they begin, and they end.
    let begins = |id: &String| sandbox.trellis_with(&["run", ".", "--session", id], "").code == Some(1);
    let open: Vec<String> = (0..).map(|n| format!("s{n}")).filter(begins).take(20).collect();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let ran = sandbox.trellis(&["run", ".", "--all"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let one = format!("{}: finished at `late`\n", open[7]);
    assert!(ran.out.contains(&one) && ran.out.ends_with("20 resumed, 20 of them ended\n"), "{}", ran.out);
    assert_eq!(sandbox.trellis(&["run", ".", "--all"]).out, "no session can resume by itself now\n");
}

#[test]
fn a_key_file_seals_and_what_is_redacted_is_not_there() {
    let sandbox = Sandbox::new(&[&[("trellis.yaml", "redact: [name]\n")], ASKS].concat());
    let key = "k-1 q83vEiM0VniavN7wESIzRFVmd4iZqrvM3e7/ABEiM0Q=\n";
    for file in ["key", "other"] {
        sandbox.write(file, if file == "key" { key.to_owned() } else { key.replace("k-1", "k-2") }.as_bytes());
        std::fs::set_permissions(sandbox.path().join(file), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let run = |keys: &[&str], input: &str| {
        sandbox.trellis_with(&[&["run", ".", "--session", "ana", "--store", "files:kept"], keys].concat(), input)
    };
    let begun = run(&["--key-file", "key"], "Anastasia\n");
    assert_eq!(begun.code, Some(1), "{begun:?}");
    let kept = std::fs::read_to_string(sandbox.path().join("kept/ana.jsonl")).unwrap();
    assert!(kept.contains("\"sealed\":1") && !kept.contains("save_to") && !kept.contains("Anastasia"), "{kept}");
    for (keys, why) in [
        (&[][..], "session `ana` is sealed: name the file with its key (`--key-file`, `TRELLIS_KEY_FILE`)"),
        (&["--key-file", "other"], "is sealed with the key `k-1`, which is not in other"),
        (&["--key-file", "none"], "the key file none cannot be read"),
    ] {
        let ran = run(keys, "Recife\n");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(why) && !ran.err.contains("q83v"), "{}", ran.err);
    }
    // Whoever only looks needs the key as well, and hears so.
    let sealed = "error: session `ana` is sealed: name the file with its key (`--key-file`, `TRELLIS_KEY_FILE`)\n";
    for command in [
        &["session", "show", "ana"][..],
        &["session", "show", "ana", "--json"],
        &["session", "replay", "ana"],
        &["session", "fork", "ana", "--at", "1"],
        &["session", "export", "ana"],
        &["session", "check"],
        &["graph", "--session", "ana"],
    ] {
        let ran = sandbox.trellis(&[command, &["--store", "files:kept"]].concat());
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(2), "", sealed), "{command:?}");
        let ran = sandbox.trellis(&[command, &["--store", "files:kept", "--key-file", "other"]].concat());
        assert!(ran.code == Some(2) && ran.err.contains("is sealed with the key `k-1`, which is not in other"), "{command:?}: {ran:?}");
    }
    let asked = run(&["--key-file", "key"], "");
    assert!(asked.out.contains("name") && !asked.out.contains("Anastasia"), "{asked:?}");
}

/// The files of a store are no part of the graph around it.
#[test]
fn a_store_below_the_graph_is_no_part_of_it() {
    let sandbox = Sandbox::new(&[("start.md", "---\ninput_type: text\nappend: { said: \"{{ input }}\" }\nto: start\n---\nAnd then?\n")]);
    let store = ["--store", "files:kept"];
    let run = |input: &str| sandbox.trellis_with(&[&["run", ".", "--session", "ana"], &store[..]].concat(), input);
    let begun = run(&"on\n".repeat(300));
    assert!(begun.code == Some(1) && !begun.err.contains("unknown-key"), "{}", begun.err);
    assert!(sandbox.path().join("kept/ana.snapshot.json").exists());
    assert_eq!(sandbox.trellis(&[&["session", "fork", "ana", "--at", "1", "--as", "bea"], &store[..]].concat()).code, Some(0));
    assert_eq!(sandbox.trellis(&["check", "."]).code, Some(0));
    assert!(run("on\n").out.contains("And then?"));
}

#[test]
fn a_run_of_all_that_is_told_to_end_leaves_no_tool_behind() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "bindings: {slow: {process: [sh, -c, 'echo $$ > pid.new; mv pid.new pid; sleep 60'], effect: none}}\n"),
        ("start.md", "---\ndo: slow\nto: end\n---\n"),
        ("end.md", "Over.\n"),
    ]);
    // A session that was killed in the middle of its call, which is made again.
    let pid = sandbox.path().join("pid");
    let mut killed = sandbox.command(&["run", ".", "--session", "ana"]).spawn().unwrap();
    assert!(soon(|| pid.exists()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::fs::remove_file(&pid).unwrap();
    let child = sandbox.command(&["run", ".", "--all", "--stay"]).spawn().unwrap();
    assert!(soon(|| pid.exists()));
    assert!(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(crate::sandbox::finish(child).code, Some(130));
    let tool = std::fs::read_to_string(pid).unwrap();
    assert!(soon(|| !std::path::Path::new("/proc").join(tool.trim()).exists()), "the tool is still there");
}

#[test]
fn a_store_that_is_named_is_listed_without_a_look_at_the_folder() {
    let sandbox = Sandbox::new(&[("graph/start.md", "---\nwait: true\n---\nHi.\n")]);
    sandbox.trellis_with(&["run", "graph", "--session", "ana", "--store", "sqlite:kept.db"], "");
    // Whoever looked for a graph here would say that it cannot be read.
    std::os::unix::fs::symlink("/etc/hostname", sandbox.path().join("start.md")).unwrap();
    let ran = sandbox.trellis(&["session", "ls", "--store", "sqlite:kept.db"]);
    assert!(ran.code == Some(0) && ran.err.is_empty() && ran.out.contains("ana"), "{ran:?}");
}

#[test]
fn a_run_of_all_leaves_what_is_not_due_for_later() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\ntimeout: 1h\non_timeout: end\nto: end\n---\nYour name?\n"),
        ("end.md", "Over.\n"),
    ]);
    assert_eq!(sandbox.trellis(&["run", ".", "--session", "ana"]).code, Some(1));
    let mut child = sandbox.command(&["run", ".", "--all"]).spawn().unwrap();
    let is_over = soon(|| child.try_wait().unwrap().is_some());
    let _ = child.kill();
    let ran = crate::sandbox::finish(child);
    assert!(is_over, "it waits for an hour");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "no session can resume by itself now\n"));
}
