//! Events, written once, whatever happens to their files (orchestrator 9, 9.1).

use std::{fs, path::Path};

use super::*;
use crate::workspace::ObjectFileError;

fn event(number: u64, task: Option<&str>) -> WorkflowEvent {
    let event = WorkflowEvent::new(&format!("chat-{number}"), number, EventKind::ToolCalled, 1000 + number, format!("tool {number}"));
    match task {
        Some(task) => WorkflowEvent { task: Some(task.to_owned()), ..event },
        None => event,
    }
}

fn open(folder: &Path) -> (EventLog, Vec<String>) {
    EventLog::open(folder).expect("it opens")
}

fn lines(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("events.jsonl")).expect("read").lines().map(str::to_owned).collect()
}

// orchestrator 9: the id is the hash of session, number and kind, so a replay appends nothing
#[test]
fn the_same_event_is_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, warnings) = open(folder.path());
    assert!(warnings.is_empty() && log.newest() == 0);
    let id = &sha256("chat-1:1:tool_called")[..16];
    assert_eq!(event(1, None).id, id);
    assert_eq!(log.append(vec![event(1, None), event(1, None), event(2, None)]).expect("appended").len(), 2);
    assert_eq!(log.append(vec![event(2, None), event(3, Some("task-a"))]).expect("appended").len(), 1);
    log.write_index().expect("written");
    let (mut log, _) = open(folder.path());
    assert!(log.append(vec![event(1, None), event(3, None)]).expect("asked").is_empty());
    assert_eq!((lines(folder.path()).len(), log.newest()), (3, 1003));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("index.json")).expect("read")).expect("JSON");
    let text = fs::read_to_string(folder.path().join("events.jsonl")).expect("read");
    assert_eq!((json["version"].as_u64(), json["bytes"].as_u64()), (Some(1), Some(text.len() as u64)));
    for (id, offset) in json["ids"].as_object().expect("ids") {
        let offset = usize::try_from(offset.as_u64().expect("an offset")).expect("small");
        assert!(text[offset..].starts_with(&format!("{{\"id\":\"{id}\"")), "{id}");
    }
    assert_eq!(json["tasks"]["task-a"].as_array().expect("offsets").len(), 1);
    assert_eq!(log.of_task("task-a").expect("read"), [event(3, Some("task-a"))]);
}

// orchestrator 9.1: a corrupt line is skipped, with its number; a cut last line is closed first
#[test]
fn a_broken_line_costs_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path());
    log.append((1..=4).map(|number| event(number, None)).collect()).expect("appended");
    log.write_index().expect("written");
    let file = folder.path().join("events.jsonl");
    let text = fs::read_to_string(&file).expect("read");
    let broken = text.replacen("\"tool 2\"", "\"tool", 1);
    fs::write(&file, &broken[..broken.len() - 5]).expect("written");
    let (mut log, warnings) = open(folder.path());
    assert!(warnings.len() == 2 && warnings[0].contains("line 2 ") && warnings[1].contains("line 4 "), "{warnings:?}");
    // An event that could not be read is written again, on a line of its own.
    assert_eq!(log.append(vec![event(2, None), event(3, None), event(4, None)]).expect("appended").len(), 2);
    let good = lines(folder.path()).iter().filter(|line| serde_json::from_str::<WorkflowEvent>(line).is_ok()).count();
    assert_eq!((lines(folder.path()).len(), good), (6, 4));
}

// orchestrator 9.1: a corrupt projection is made again; a newer one is refused, untouched
#[test]
fn the_index_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path());
    log.append(vec![event(1, Some("task-a")), event(2, None)]).expect("appended");
    log.write_index().expect("written");
    let (index, made) = (folder.path().join("index.json"), log.index().clone());
    for junk in
        [&b""[..], b"{\"version\": 1, \"bytes\"", b"\xff", b"[]", b"{\"version\": 1, \"bytes\": 999999, \"ids\": {}, \"tasks\": {}}"]
    {
        fs::write(&index, junk).expect("written");
        let (mut log, warnings) = open(folder.path());
        assert_eq!((log.index(), warnings.len()), (&made, 0));
        log.write_index().expect("written");
        assert_eq!(serde_json::from_slice::<EventIndex>(&fs::read(&index).expect("read")).expect("an index"), made);
    }
    let newer = b"{\"version\": 2, \"other\": true}";
    fs::write(&index, newer).expect("written");
    assert!(matches!(EventLog::open(folder.path()), Err(ObjectFileError::Newer { found: 2, known: 1, .. })));
    assert_eq!(fs::read(&index).expect("read"), newer);
}

// orchestrator 9.2: rotated at a size, and still read
#[test]
fn a_file_that_was_put_aside_is_read_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, _) = open(folder.path());
    let mut log = log.with_max_bytes(300);
    for number in 1..=12 {
        assert_eq!(log.append(vec![event(number, Some("task-a"))]).expect("appended").len(), 1);
    }
    log.write_index().expect("written");
    let (mut log, _) = open(folder.path());
    assert!(folder.path().join("events.jsonl.2").exists());
    let events = log.of_task("task-a").expect("read");
    assert_eq!(events.iter().map(|event| event.at - 1000).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    let before = fs::read_to_string(folder.path().join("events.jsonl.1")).expect("read");
    let before: WorkflowEvent = serde_json::from_str(before.lines().next().expect("a line")).expect("an event");
    assert!(log.append(vec![before]).expect("asked").is_empty());
}

// every kind has its name of the contract
#[test]
fn kinds_have_their_names() {
    let names = "task_created step_started step_done tool_called tool_returned approval_asked approval_decided waiting resumed completed failed \
                 cancelled max_turns_reached message_in message_out message_dead cron_fired heartbeat secret_missing service";
    for name in names.split_whitespace() {
        let kind: EventKind = serde_json::from_value(name.into()).expect(name);
        assert_eq!(kind.as_str(), name);
    }
}
