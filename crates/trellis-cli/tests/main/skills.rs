//! Skills in a graph, with real commands: found, looked at, carried out, undone, and cut off (language 11.9–11.13).

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::sandbox::{Sandbox, finish};

/// A graph that searches, shows, checks and carries out one of three skills.
const SHED: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "\
name: shed
bindings:
  find_skill: { builtin: skills.search, workspace: _workspace }
  show_skill: { builtin: skills.card, workspace: _workspace }
  check_skill: { builtin: skills.check, workspace: _workspace }
  use_skill: { builtin: skills.execute, workspace: _workspace, block: ['forbid*'] }
  undo_skill: { builtin: skills.restore, workspace: _workspace }
",
    ),
    ("start.md", "---\ninput_type: text\nsave_to: wish\nto: search\n---\nWhat shall be done?\n"),
    ("search.md", "---\ndo: { name: find_skill, args: { query: \"{{ wish }}\", top_k: 3 } }\nsave_to: found\nto: list\n---\n"),
    (
        "list.md",
        "---\ninput_type: text\nsave_to: skill\nto: show\n---\n{% for skill in found.candidates %}{{ skill.skill_id }}: {{ skill.title }}\n{% endfor %}Which?\n",
    ),
    ("show.md", "---\ndo: { name: show_skill, args: { skill_id: \"{{ skill }}\" } }\nsave_to: card\non_error: unknown\nto: check\n---\n"),
    (
        "check.md",
        "\
---
do: { name: check_skill, args: { skill_id: \"{{ skill }}\", args: { days: 3 } } }
save_to: checked
transitions:
  - { condition: not checked.valid, to: invalid }
  - { condition: card.dry_run_supported, to: rehearse }
  - { to: execute }
---
",
    ),
    (
        "rehearse.md",
        "---\ndo: { name: use_skill, args: { skill_id: \"{{ skill }}\", mode: dry_run, args: { days: 3 } } }\nsave_to: rehearsed\nto: rehearsed\n---\n",
    ),
    ("rehearsed.md", "---\nto: execute\n---\nRehearsed: {{ rehearsed.summary }}.\n"),
    (
        "execute.md",
        "\
---
do: { name: use_skill, args: { skill_id: \"{{ skill }}\", mode: execute, args: { days: 3 } } }
undo: { name: undo_skill, args: { backup: \"{{ done.backup | default(none) }}\" } }
save_to: done
transitions:
  - { condition: not done.ok, to: failed }
  - { to: ask }
---
",
    ),
    ("ask.md", "---\noptions:\n  - { text: keep, to: kept }\n  - { text: undo, to: rollback }\n---\n{{ done.summary }}. Keep it?\n"),
    ("kept.md", "Kept.\n"),
    ("failed.md", "---\nend: failed\n---\n{{ done.code | default('') }} in {{ done.stage | default('') }}: {{ done.summary }}\n"),
    ("unknown.md", "---\nend: failed\n---\n{{ sys.error.message }}\n"),
    ("invalid.md", "---\nend: failed\n---\n{{ checked.problems | join('; ') }}\n"),
    (
        "_skills/tidy_logs.md",
        "\
---
title: Tidy the logs
tags: [logs, cleanup]
required_inputs: { type: object, required: [days], properties: { days: { type: integer, minimum: 1 } } }
rollback: The files come back.
backup: [logs, archive]
check: [sh, -c, 'test -d logs']
dry_run: [sh, -c, 'echo would move $(ls logs | wc -l) files']
run: [sh, -c, 'mkdir -p archive && mv logs/* archive/ && echo moved $(ls archive | wc -l) files']
verify: [sh, -c, 'test -z \"$(ls logs)\"']
---
Moves old files of `logs` to `archive`.
",
    ),
    ("_skills/count_words.md", "---\ntitle: Count words\nrun: [sh, -c, 'cat logs/* | wc -w']\n---\nCounts the words of all logs.\n"),
    (
        "_skills/break_things.md",
        "---\ntitle: Break things\nbackup: [.]\nrun: [sh, -c, 'rm -r logs; echo new >made; chmod 700 .']\nverify: [sh, -c, 'echo all is lost >&2; exit 4']\n---\nBreaks what it finds.\n",
    ),
    ("_skills/forbidden.md", "---\ntitle: Forbidden\nrun: [sh, -c, 'echo ran >made']\n---\n"),
    ("_workspace/logs/1.log", "one two three\n"),
    ("_workspace/logs/2.log", "four\n"),
];

/// Everything below a folder: modes and bytes.
fn picture(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let about = fs::symlink_metadata(&next).unwrap();
        let bytes = if about.is_dir() {
            open.extend(fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&next).unwrap()
        };
        found.insert(next.strip_prefix(folder).unwrap().display().to_string(), (about.permissions().mode(), bytes));
    }
    found
}

fn workspace(sandbox: &Sandbox) -> BTreeMap<String, (u32, Vec<u8>)> {
    picture(&sandbox.path().join("_workspace"))
}

#[test]
fn the_graph_of_skills_is_sound_and_its_host_has_all_it_needs() {
    let ran = Sandbox::new(SHED).trellis(&["check", "--host", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_skill_is_found_rehearsed_carried_out_and_undone() {
    let sandbox = Sandbox::new(SHED);
    let before = workspace(&sandbox);
    let ran = sandbox.trellis_with(&["run", "."], "clean up the logs\ntidy_logs\nkeep\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("tidy_logs: Tidy the logs\n") && ran.out.contains("Rehearsed: would move 2 files."), "{}", ran.out);
    assert!(ran.out.contains("moved 2 files. Keep it?") && ran.out.contains("Kept."), "{}", ran.out);
    let kept: Vec<_> = workspace(&sandbox).into_keys().collect();
    assert_eq!(kept, ["", "archive", "archive/1.log", "archive/2.log", "logs"]);

    let sandbox = Sandbox::new(SHED);
    let ran = sandbox.trellis_with(&["run", "."], "tidy\ntidy_logs\nundo\n");
    assert_eq!(workspace(&sandbox), before, "{ran:?}");
}

#[test]
fn skills_without_dry_run_that_break_or_are_blocked() {
    let sandbox = Sandbox::new(SHED);
    let before = workspace(&sandbox);
    let run = |input: &str| sandbox.trellis_with(&["run", "."], input);
    let ran = run("words\ncount_words\nkeep\n");
    assert!(ran.code == Some(0) && ran.out.contains("4. Keep it?") && !ran.out.contains("Rehearsed"), "{ran:?}");
    let ran = run("break\nbreak_things\n");
    assert!(ran.code == Some(1) && ran.out.contains("verify_failed in verify: all is lost"), "{ran:?}");
    assert_eq!(workspace(&sandbox), before);
    let ran = run("x\nforbidden\n");
    assert!(ran.code == Some(1) && ran.out.contains("the skill `forbidden` is blocked here"), "{ran:?}");
    let ran = run("x\n../secret\n");
    assert!(ran.code == Some(1) && ran.out.contains("there is no skill `../secret`"), "{ran:?}");
    assert_eq!(workspace(&sandbox), before);
}

#[test]
fn check_host_names_cards_with_mistakes_and_missing_folders() {
    let sandbox = Sandbox::new(SHED);
    sandbox.write("_skills/bad.md", b"---\nrun: [no-such-command-here]\nbackup: ['../x']\ntimeuot: 5s\n---\n");
    fs::remove_dir_all(sandbox.path().join("_workspace")).unwrap();
    let ran = sandbox.trellis(&["check", "--host", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let said = ran.out + &ran.err;
    for part in ["it has no `title`\n  _skills/bad.md:2:1", "leaves the workspace by `..`", "did you mean `timeout`?", "the workspace `"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    fs::remove_dir_all(sandbox.path().join("_skills")).unwrap();
    let said = sandbox.trellis(&["check", "--host", "."]).out;
    assert!(said.contains("`find_skill` cannot be carried out: the folder `"), "{said}");
}

/// One skill, that does what a test says; `die` kills the host once, then is a command that succeeds.
fn mortal(keys: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "name: mortal\nbindings:\n  use_skill: { builtin: skills.execute, workspace: _workspace }\n"),
        ("start.md", "---\ndo: { name: use_skill, args: { skill_id: s, mode: execute } }\nsave_to: done\nto: end\n---\n"),
        ("end.md", "---\noutput: \"{{ done }}\"\n---\n{{ done.ok }} {{ done.summary }}\n"),
        ("_skills/die.sh", "test -e ../died || { : >../died; kill -9 $PPID; sleep 5; echo late >>data/1; }\n"),
        ("_workspace/data/1", "one\n"),
    ]);
    sandbox.write("_skills/s.md", format!("---\ntitle: S\nbackup: [data]\n{keys}\n---\n").as_bytes());
    sandbox
}

const RUN: &[&str] = &["run", ".", "--session", "s"];

/// The files that a run that was whole leaves.
fn after(sandbox: &Sandbox) {
    let found: Vec<_> = workspace(sandbox).into_iter().map(|(path, (_, bytes))| (path, String::from_utf8(bytes).unwrap())).collect();
    let expected = [("", ""), ("data", ""), ("data/2", "one\n")].map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_host_that_dies_in_check_run_or_verify_restores_and_runs_again() {
    let change = "mv data/1 data/2";
    for keys in [
        format!("check: [sh, ../_skills/die.sh]\nrun: [sh, -c, '{change}']"),
        // In the middle of its work.
        "run: [sh, -c, 'cp data/1 data/2 && . ../_skills/die.sh && rm data/1']".to_owned(),
        format!("run: [sh, -c, '{change}']\nverify: [sh, ../_skills/die.sh]"),
    ] {
        let sandbox = mortal(&keys);
        let died = sandbox.trellis(RUN);
        assert_eq!(died.code, None, "it was killed: {died:?}");
        let ran = sandbox.trellis(RUN);
        assert!(ran.code == Some(0) && ran.out.contains("the skill `s` is done"), "{keys}: {ran:?}");
        after(&sandbox);
        // A program that the killed host left running does not write later.
        thread::sleep(Duration::from_millis(300));
        after(&sandbox);
    }
}

#[test]
fn a_host_that_dies_after_the_work_repeats_its_result() {
    let sandbox = mortal("run: [sh, -c, 'mkdir -p ../kept; cp ../.trellis/sessions.db* ../kept; mv data/1 data/2; echo $$']");
    let ran = sandbox.trellis(RUN);
    let said = ran.out.clone();
    after(&sandbox);
    // The step that holds the result is lost, as it is where the host died before its append: the store is as it was while the skill ran.
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        let (kept, path) = (sandbox.path().join("kept").join(name), sandbox.path().join(".trellis").join(name));
        let _ = fs::remove_file(&path);
        if kept.exists() {
            fs::copy(kept, path).unwrap();
        }
    }
    assert_eq!(sandbox.trellis(RUN).out, said, "another process would have another id");
    after(&sandbox);
}

/// At random moments, also in the backup and in the restore.
#[test]
fn whenever_a_host_dies_files_are_all_before_or_all_after() {
    let fails = "run: [sh, -c, 'for f in data/*; do echo x >>$f; done; : >made']\nverify: [sh, -c, 'exit 1']";
    let sandbox = mortal(fails);
    for n in 0..300 {
        sandbox.write(&format!("_workspace/data/{n}"), format!("{n}\n").repeat(200).as_bytes());
    }
    let before = picture(&sandbox.path().join("_workspace/data"));
    let (began, mut kills, mut life) = (Instant::now(), 0, 5);
    while began.elapsed() < Duration::from_secs(10) {
        let mut child = sandbox.command(RUN).spawn().unwrap();
        thread::sleep(Duration::from_millis(life));
        life = (life * 7 + 3) % 400;
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    let ran = sandbox.trellis(RUN);
    assert!(ran.out.contains("false"), "{kills} kills: {ran:?}");
    assert_eq!(picture(&sandbox.path().join("_workspace/data")), before, "{kills} kills");
    assert!(kills > 0);
}

#[test]
fn calls_of_two_sessions_in_one_workspace_wait_for_each_other() {
    let sandbox = mortal(
        "run: [sh, -c, 'test ! -e ../busy || exit 1; : >../busy; mv data/1 data/2; sleep 0.5; rm ../busy; echo x >>../times']\nverify: [mv, data/2, data/1]",
    );
    // Two starts are two sessions, whatever their names: each makes a call of its own.
    let runs = ["memory", "files:other"].map(|store| sandbox.command(&[RUN, &["--store", store]].concat()).spawn().unwrap());
    let said = runs.map(finish);
    assert!(said.iter().all(|ran| ran.code == Some(0) && ran.out.contains("the skill `s` is done")), "{said:?}");
    assert_eq!(fs::read_to_string(sandbox.path().join("times")).unwrap(), "x\nx\n");
}

/// A bounded writer in place of a full disk, for users who may not mount one.
#[test]
fn without_room_for_a_backup_nothing_runs() {
    let sandbox = mortal("run: [sh, -c, 'rm -r data']");
    sandbox.write("_workspace/data/big", &vec![b'b'; 64 << 10]);
    let before = workspace(&sandbox);
    let program = env!("CARGO_BIN_EXE_trellis");
    let ran = Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; ulimit -f 32; exec {program} run . --store memory")])
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("cannot be made, so it did not run"), "{said}");
    assert_eq!(workspace(&sandbox), before);
}
