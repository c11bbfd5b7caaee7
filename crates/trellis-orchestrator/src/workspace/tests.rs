//! A workspace as people and crashes leave it.

use std::os::unix::fs::PermissionsExt as _;

use jiff::civil::date;

use super::*;
use crate::message::ChatPlace;

fn workspace() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = Workspace::open(&folder.path().join("ws"), Path::new("/nowhere")).expect("a workspace");
    (folder, workspace)
}

// orchestrator 1.3: missing files are made, what exists is never touched; 9.1: nobody else reads them
#[test]
fn missing_files_are_made_and_others_left() {
    let (folder, workspace) = workspace();
    for (name, [english, korean]) in DEFAULTS {
        assert_eq!(workspace.text(name).expect("read").as_deref(), Some(*english), "{name}");
        let has_hangul = korean.chars().any(|char| ('가'..='힣').contains(&char));
        assert!(has_hangul || korean == english, "{name}");
        let mode = workspace.path(name).metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    fs::write(workspace.path("agents/main.md"), "mine").expect("written");
    fs::remove_file(workspace.path("templates/SOUL.md")).expect("removed");
    let again = Workspace::open(&folder.path().join("ws"), Path::new("/nowhere")).expect("again");
    assert_eq!(again.text("agents/main.md").expect("read").as_deref(), Some("mine"));
    assert!(again.text("templates/SOUL.md").expect("read").is_some());
    assert_eq!(workspace.path("runtime").metadata().expect("there").permissions().mode() & 0o777, 0o700);
}

// orchestrator 1.3: in the language of whoever makes it
#[test]
fn a_workspace_begins_in_korean() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = Workspace::open_in(folder.path(), Path::new("/nowhere"), Language::Korean).expect("a workspace");
    assert!(workspace.text("templates/SYSTEM.md").expect("read").is_some_and(|text| text.contains("그대로 넘기세요")));
    assert!(workspace.text("orchestrator.yaml").expect("read").is_some_and(|text| text.contains("\nlocale: ko\n")));
}

// orchestrator 1.2: refused inside a graph's folder, also by way of a link
#[test]
fn a_workspace_within_a_graph_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = folder.path().join("graph");
    fs::create_dir(&graph).expect("made");
    std::os::unix::fs::symlink(&graph, folder.path().join("link")).expect("linked");
    for inside in ["graph", "graph/ws", "graph/a/b/c", "link/ws"] {
        let refused = Workspace::open(&folder.path().join(inside), &graph).expect_err("refused");
        assert!(refused.to_string().contains("--workspace"), "{refused}");
    }
    assert!(fs::read_dir(&graph).expect("there").next().is_none(), "nothing was made in it");
    Workspace::open(&folder.path().join("graph-ws"), &graph).expect("beside it");
}

// orchestrator 1.2: a second one says who has it
#[test]
fn one_process_has_a_workspace() {
    let (_folder, workspace) = workspace();
    let lock = workspace.lock().expect("free");
    let refused = workspace.lock().expect_err("taken").to_string();
    assert!(refused.contains(&format!("process {} on ", std::process::id())), "{refused}");
    drop(lock);
    workspace.lock().expect("free again");
}

// orchestrator 1.2: `KEY=VALUE`, quotes optional, nothing expanded
#[test]
fn the_variables_of_a_file() {
    let text = "# keys\nA=1\n B = two words \nC=\"quoted = $A\"\nD='it''s'\n\nE=\nexport F=1\n=x\nG\n1H=2\n";
    let (variables, bad) = variables(text);
    let expected = [("A", "1"), ("B", "two words"), ("C", "quoted = $A"), ("D", "it''s"), ("E", "")];
    assert_eq!(variables, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert_eq!(bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [8, 9, 10, 11]);
}

fn said(id: &str) -> Said {
    Said {
        id: id.to_owned(),
        at: 1,
        role: Speaker::User,
        sender: "ana".to_owned(),
        text: id.to_owned(),
        run: "chat-1".to_owned(),
        thread: None,
        files: Vec::new(),
        edited: false,
        deleted: false,
    }
}

// orchestrator 3.2: an edit changes the history: the message keeps its place, and the last edit counts
#[test]
fn an_edit_changes_what_was_said() {
    let (_folder, workspace) = workspace();
    let (history, place) = (History::of(&workspace), ChatPlace::new("telegram", "1"));
    let edit = |id: &str, text: &str| Said { text: text.to_owned(), run: String::new(), edited: true, ..said(id) };
    for line in [said("one"), said("two"), edit("one", "first"), edit("never heard", "x"), said("three"), edit("one", "at first")] {
        history.note(&place, &line).expect("noted");
    }
    let texts: Vec<String> =
        history.newest(&place, 9, |said| said.run == "chat-1").expect("read").into_iter().map(|said| said.text).collect();
    assert_eq!(texts, ["at first", "two", "three"]);
}

// orchestrator 9.1: a corrupt line hides no other, a line that was cut off is closed, a replay is read once
#[test]
fn a_history_survives_what_crashes_leave() {
    let (_folder, workspace) = workspace();
    let (history, place) = (History::of(&workspace), ChatPlace::new("slack", "C1"));
    let newest = |count| history.newest(&place, count, |_| true).expect("read").into_iter().map(|said| said.id).collect::<Vec<_>>();
    assert_eq!(newest(9), [""; 0]);
    history.note(&place, &said("one")).expect("noted");
    let file = workspace.path(&format!("runtime/sessions/{}.jsonl", place.file_name()));
    let mut text = fs::read_to_string(&file).expect("there");
    text += "{\"id\":\"half";
    fs::write(&file, text).expect("cut off");
    history.note(&place, &said("two")).expect("noted");
    history.note(&place, &said("two")).expect("noted twice");
    history.note(&place, &said("three")).expect("noted");
    assert_eq!(newest(9), ["one", "two", "three"]);
    assert_eq!(newest(2), ["two", "three"]);
    let ids = |from, to| history.range(&place, from, to).expect("read").into_iter().map(|said| said.id).collect::<Vec<_>>();
    // source 003.7.6: counted from the newest
    assert_eq!(ids(1, 1), ["three"]);
    assert_eq!(ids(2, 3), ["one", "two"]);
    assert_eq!(ids(3, 99), ["one"]);
    assert_eq!(ids(4, 5), [""; 0]);
    assert_ne!(place.file_name(), ChatPlace { thread: Some("t".to_owned()), ..place.clone() }.file_name());
}

// a long history costs nothing; lines of any length are whole
#[test]
fn a_long_history_is_read_from_its_end() {
    let (_folder, workspace) = workspace();
    let (history, place) = (History::of(&workspace), ChatPlace::new("slack", "C1"));
    let file = workspace.path(&format!("runtime/sessions/{}.jsonl", place.file_name()));
    let texts: Vec<String> = [70_000, 0, 65_536, 1, 200_000, 3].iter().map(|length| "é".repeat(*length)).collect();
    let lines = |from: usize| (from..).zip(&texts[from..]).map(|(id, text)| Said { text: text.clone(), ..said(&id.to_string()) });
    let text: String = lines(0).map(|said| serde_json::to_string(&said).expect("JSON") + "\n").collect();
    fs::write(&file, &text).expect("written");
    for count in 0..8 {
        let newest = history.newest(&place, count, |_| true).expect("read");
        assert!(newest.into_iter().eq(lines(texts.len().saturating_sub(count))), "{count}");
    }
    assert!(history.newest(&place, 2, |said| said.text.len() < 10).expect("read").into_iter().map(|said| said.id).eq(["3", "5"]));
    // Reading all 64 GiB would take a day.
    fs::File::options().write(true).open(&file).expect("opened").set_len(1 << 36).expect("a hole");
    history.note(&place, &said("6")).expect("noted");
    history.note(&place, &said("7")).expect("noted");
    assert!(history.range(&place, 1, 2).expect("read").into_iter().map(|said| said.id).eq(["6", "7"]));
}

// orchestrator 5.4
#[test]
fn the_memory_has_days_and_is_searched_by_words() {
    let (_folder, workspace) = workspace();
    let memory = Memory::of(&workspace);
    let at = |day| date(2026, 11, day).at(9, 5, 0, 0).in_tz("UTC").expect("a time");
    for (text, day) in [("Ana likes\n green tea", 22), ("차는 녹차가 좋다", 23)] {
        memory.write(&memory.line(text, &at(day)).expect("a line")).expect("written");
    }
    fs::write(workspace.path("memory/MEMORY.md"), "Bob drinks coffee, no TEA\n").expect("written");
    assert_eq!(memory.day(date(2026, 11, 22)).expect("read"), "- 09:05 Ana likes green tea\n");
    let found = memory.search("GREEN tea").expect("searched");
    let lines: Vec<&str> = found.iter().map(|(_, line)| &**line).collect();
    assert_eq!(lines, ["- 09:05 Ana likes green tea", "Bob drinks coffee, no TEA"]);
    assert_eq!(memory.search("녹차").expect("searched").len(), 1);
    assert!(memory.search("milk").expect("searched").is_empty() && memory.search(" ").expect("searched").is_empty());
    assert_eq!(memory.day(date(2026, 1, 1)).expect("none"), "");
}

/// A memory with old days: the first of January to the `days`-th.
fn remembered(days: i8) -> (tempfile::TempDir, Memory) {
    let (folder, workspace) = workspace();
    fs::write(workspace.path("memory/MEMORY.md"), "old\n".repeat(1000)).expect("written");
    for day in 1..=days {
        fs::write(workspace.path(&format!("memory/2026-01-{day:02}.md")), format!("- 09:00 day {day}\n")).expect("written");
    }
    (folder, Memory::of(&workspace))
}

// orchestrator 5.4: days older than 2, as many as fit; another name as soon as somebody writes into one of them
#[test]
fn old_days_are_older_than_two() {
    let (folder, memory) = remembered(9);
    let old = |day, bytes| memory.old_days(date(2026, 1, day), bytes).expect("read");
    let days = |old: &OldDays| old.text().matches("- 09:00 day").count();
    assert_eq!([3, 4, 9].map(|day| days(&old(day, 10_000))), [0, 1, 6]);
    assert_eq!([0, 1, 31, 32].map(|bytes| days(&old(9, bytes))), [1, 1, 2, 2]);
    let before = old(9, 10_000);
    assert_eq!(before.fingerprint(), old(9, 10_000).fingerprint());
    fs::write(folder.path().join("ws/memory/2026-01-02.md"), "- 09:00 day 2, or 3\n").expect("written");
    assert_ne!(before.fingerprint(), old(9, 10_000).fingerprint());
    assert_eq!(memory.merge(&old(9, 10_000), jiff::Timestamp::UNIX_EPOCH).expect("merged"), 6);
    assert!(old(9, 10_000).is_empty());
}

// orchestrator 5.4, 9: at every moment the old memory is there, or the whole new one; 30 versions are kept
#[test]
fn a_memory_is_replaced_as_a_whole() {
    let (folder, memory) = remembered(3);
    let file = folder.path().join("ws/memory/MEMORY.md");
    let reading = std::thread::spawn({
        let file = file.clone();
        move || {
            let mut texts = std::collections::BTreeSet::new();
            while !texts.contains("new 59\n") {
                let text = fs::read_to_string(&file).expect("it is always there");
                assert!(text == "old\n".repeat(1000) || text.starts_with("new ") && text.ends_with('\n') && text.len() < 8, "{text:?}");
                texts.insert(text);
            }
        }
    });
    for number in 0..60_i64 {
        let old = memory.old_days(date(2026, 2, 1), 0).expect("read");
        let now = jiff::Timestamp::from_second(number).expect("a moment");
        memory.replace(&old, &format!("new {number}"), now).expect("replaced");
        // A repeated replacement finds its own text.
        let old = memory.old_days(date(2026, 2, 1), 0).expect("read");
        memory.replace(&old, &format!("new {number}"), now).expect("nothing to do");
    }
    reading.join().expect("no panic");
    let mut backups: Vec<_> =
        fs::read_dir(folder.path().join("ws/memory/backup")).expect("a folder").flatten().map(|entry| entry.path()).collect();
    backups.sort();
    assert_eq!((backups.len(), fs::read_to_string(&backups[29]).expect("read")), (30, "new 58\n".to_owned()));
    // A temporary file of a crash is no memory.
    fs::write(folder.path().join("ws/memory/MEMORY.md.new"), "ha").expect("written");
    assert!(memory.search("ha").expect("searched").is_empty() && memory.long().expect("read") == "new 59\n");
}

// orchestrator 9.2: a history is rotated at a size, and still read
#[test]
fn a_history_that_was_put_aside_is_read_too() {
    let (_folder, workspace) = workspace();
    let (mut history, place) = (History::of(&workspace), ChatPlace::new("slack", "C1"));
    history.max_bytes = 400;
    for number in 1..=20 {
        let line = said(&number.to_string());
        history.note(&place, &line).expect("noted");
    }
    let ids = |count| history.newest(&place, count, |_| true).expect("read").into_iter().map(|said| said.id).collect::<Vec<_>>();
    assert_eq!(ids(99), (1..=20).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(ids(2), ["19", "20"]);
    let range: Vec<String> = history.range(&place, 5, 7).expect("read").into_iter().map(|said| said.id).collect();
    assert_eq!(range, ["14", "15", "16"]);
    let files = fs::read_dir(workspace.path("runtime/sessions")).expect("files").count();
    assert!(files > 2, "{files}");
}
