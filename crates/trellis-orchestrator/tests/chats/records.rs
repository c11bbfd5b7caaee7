//! Events, as they stand in the files of a workspace (orchestrator 2.5, 9).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
};

use serde_json::Value as Json;
use trellis_orchestrator::{
    message::{ChatPlace, Outgoing},
    queue::RowState,
};

use crate::{held::id_of, world::World};

/// A model that begins a task of two steps, of which the first runs a command.
const TASK: &str = r#"
- when: { matches: '^begin ' }
  reply: { tool_calls: [{ name: spawn, args: { title: Tea, prompt: make tea, steps: [
    { title: boil, prompt: "{{ last.content | replace('begin ', '') }}" }, { title: pour, prompt: say over } ] } }] }
- when: { matches: '(?s)The step now: .*\nrun ' }
  reply: { tool_calls: [{ name: shell, args: { command: "{{ last.content | split('run ') | last | trim }}" } }] }
- when: { matches: '(?s)The step now: .*\nturn' }
  reply: { tool_calls: [{ name: file.list }] }
- when: { matches: '(?s)The step now: .*\nsay ' }
  reply: { content: "said over" }
- when: { contains: '"task":"task-' }
  reply: { content: begun }
- when: { contains: '"names"' }
  reply: { tool_calls: [{ name: file.list }] }
- reply: { content: 'came: {{ last.content }}' }
"#;

fn json(world: &World, name: &str) -> Json {
    serde_json::from_slice(&fs::read(world.at(name)).expect(name)).expect("JSON")
}

pub(crate) fn events(world: &World) -> Vec<Json> {
    let text = fs::read_to_string(world.at("runtime/events/events.jsonl")).expect("events");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// The kinds of the events of a task, in order, each only once.
fn kinds(world: &World, task: &str) -> Vec<String> {
    let of_task = events(world).into_iter().filter(|event| event["task"] == task);
    let mut kinds: Vec<String> = of_task.map(|event| event["kind"].as_str().expect("a kind").to_owned()).collect();
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(kind.clone()));
    kinds
}

/// The one task of the store.
fn task(world: &World) -> Json {
    let store = json(world, "runtime/tasks/store.json");
    assert_eq!(store["version"], 1);
    let tasks = store["tasks"].as_object().expect("tasks");
    assert_eq!(tasks.len(), 1, "{store}");
    tasks.values().next().expect("one").clone()
}

// source 003.8: a task that waits, goes on after a restart and ends: each event once, its store, its details; 9.1: nobody else reads them
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_written_down() {
    let world = World::new(TASK);
    let mut chat = world.chat().await;
    chat.say("begin run echo tea > cup");
    let both = [chat.hear().await, chat.hear().await];
    let question = both.iter().find(|said| said.contains("echo tea")).expect("it is asked for").clone();
    chat.stop().await;
    let waiting = task(&world);
    assert_eq!(
        (&waiting["status"], &waiting["title"], &waiting["provider"]),
        (&"waiting_approval".into(), &"Tea".into(), &"terminal".into())
    );
    assert_eq!(waiting["steps"], serde_json::json!([{ "title": "boil", "status": "running" }, { "title": "pour", "status": "waiting" }]));
    let mut chat = world.chat().await;
    chat.ask(&format!("yes {}", id_of(&question))).await;
    assert!(chat.hear().await.starts_with("**Tea**"));
    chat.leave().await;
    let done = task(&world);
    let id = done["id"].as_str().expect("an id").to_owned();
    assert_eq!((&done["status"], &done["result"], &done["max_turns"]), (&"completed".into(), &"said over".into(), &40.into()));
    assert!(
        done["turn"].as_u64().expect("turns") >= 2 && done["steps"].as_array().expect("steps").iter().all(|step| step["status"] == "done")
    );
    let expected =
        ["task_created", "tool_called", "tool_returned", "step_started", "approval_asked", "approval_decided", "step_done", "completed"];
    let found = kinds(&world, &id);
    assert!(expected.iter().all(|kind| found.iter().any(|found| found == kind)), "{found:?}");
    let all = events(&world);
    let ids: BTreeSet<&str> = all.iter().map(|event| event["id"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), all.len(), "each once");
    for kind in ["message_in", "message_out", "service"] {
        assert!(all.iter().any(|event| event["kind"] == kind), "{kind}");
    }
    let steps: Vec<&Json> = all.iter().filter(|event| event["kind"] == "step_started").map(|event| &event["summary"]).collect();
    assert_eq!(steps, ["boil", "pour"]);
    let details = fs::read_to_string(world.at(&format!("runtime/tasks/details/{id}.md"))).expect("details");
    let sections = details.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(sections, all.iter().filter(|event| event["task"] == *id).count());
    for name in ["runtime/events/events.jsonl", "runtime/events/index.json", "runtime/tasks/store.json"] {
        assert_eq!(world.at(name).metadata().expect(name).permissions().mode() & 0o777, 0o600, "{name}");
    }
    for name in ["runtime/events", "runtime/tasks", "runtime/tasks/details"] {
        assert_eq!(world.at(name).metadata().expect(name).permissions().mode() & 0o777, 0o700, "{name}");
    }
}

// orchestrator 9.1: what can be made again is, whatever became of it; a replay appends nothing
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projections_are_made_again() {
    let world = World::new(TASK);
    let mut chat = world.chat().await;
    chat.say("begin say over");
    chat.hear().await;
    chat.hear().await;
    chat.leave().await;
    let (before, task_before) = (events(&world), task(&world));
    let id = task_before["id"].as_str().expect("an id").to_owned();
    let details = world.at(&format!("runtime/tasks/details/{id}.md"));
    let details_before = fs::read_to_string(&details).expect("details");
    let same_sessions = |world: &World| -> Vec<Json> { events(world).into_iter().filter(|event| event["kind"] != "service").collect() };
    let sessions_before = same_sessions(&world);
    for way in ["gone", "corrupt", "rebuild"] {
        match way {
            "gone" => {
                fs::remove_file(world.at("runtime/events/index.json")).expect("removed");
                fs::remove_file(world.at("runtime/tasks/store.json")).expect("removed");
                fs::remove_file(&details).expect("removed");
            }
            "corrupt" => {
                fs::write(world.at("runtime/events/index.json"), "{\"version\": 1").expect("written");
                fs::write(world.at("runtime/tasks/store.json"), b"\xff\xfe").expect("written");
                fs::write(&details, b"\xff\xfe").expect("written");
            }
            _ => world.opened().await.rebuild().expect("rebuilt"),
        }
        world.chat().await.leave().await;
        assert_eq!(same_sessions(&world), sessions_before, "{way}");
        assert_eq!(task(&world), task_before, "{way}");
        assert_eq!(fs::read_to_string(&details).expect("details"), details_before, "{way}");
    }
    assert!(before.len() <= events(&world).len());
}

// orchestrator 2.5: cancelled, out of turns, failed
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_end_of_a_task_has_its_status() {
    for (asked, end, status) in
        [("begin run sleep 9", "/stop", "cancelled"), ("begin turn", "", "max_turns_reached"), ("begin fail", "", "failed")]
    {
        // Without its last reply the model has none for some steps.
        let (model, _) = TASK.rsplit_once("- reply:").expect("a last reply");
        let world = World::new(model);
        let mut chat = world.chat().await;
        chat.say(asked);
        chat.hear().await;
        chat.hear().await;
        if !end.is_empty() {
            chat.ask(end).await;
        }
        let heard = chat.leave().await;
        let done = task(&world);
        assert_eq!(done["status"], status, "{heard:?} {done}");
        let id = done["id"].as_str().expect("an id").to_owned();
        assert!(kinds(&world, &id).contains(&status.to_owned()), "{status}");
    }
}

// orchestrator 7.3, 9: a message that cannot be sent stands in the file; the last line of an id counts
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_is_written_down() {
    let world = World::new("");
    {
        let orchestrator = world.opened().await;
        for chat in ["C1", "C2"] {
            let mut message = Outgoing::new(ChatPlace::new("gone", chat), format!("to {chat}"), format!("key-{chat}"));
            message.file = (chat == "C2").then(|| "answer.md".to_owned());
            orchestrator.hands().queue.post(message, 1).await.expect("posted");
        }
    }
    let mut chat = world.chat().await;
    chat.ask("/status").await;
    chat.leave().await;
    let letters = || -> Vec<Json> {
        let text = fs::read_to_string(world.at("runtime/dlq/outbound.jsonl")).expect("letters");
        text.lines().map(|line| serde_json::from_str(line).expect("a letter")).collect()
    };
    let first = letters();
    assert_eq!(first.len(), 2);
    assert_eq!((&first[0]["provider"], &first[0]["chat"], &first[0]["text"]), (&"gone".into(), &"C1".into(), &"to C1".into()));
    assert_eq!((&first[0]["error"]["code"], &first[0]["state"]), (&"channel_not_found".into(), &"dead".into()));
    assert_eq!((&first[0]["files"], &first[1]["files"]), (&serde_json::json!([]), &serde_json::json!(["answer.md"])));
    let dead = world.opened().await.hands().queue.in_state(RowState::Dead).await.expect("rows");
    assert_eq!(dead.len(), 2);
    // One is dropped, a line of the other is lost: it is written again.
    let file = rusqlite::Connection::open(world.at("runtime/queue.db")).expect("a queue");
    file.execute("update outbox set state = 'dropped' where key = 'key-C1'", []).expect("dropped");
    let text = fs::read_to_string(world.at("runtime/dlq/outbound.jsonl")).expect("read");
    fs::write(world.at("runtime/dlq/outbound.jsonl"), &text[..text.len() - 9]).expect("cut");
    world.chat().await.leave().await;
    let text = fs::read_to_string(world.at("runtime/dlq/outbound.jsonl")).expect("read");
    let states: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .map(|line| (line["key"].as_str().expect("a key").to_owned(), line["state"].as_str().expect("a state").to_owned()))
        .collect();
    assert_eq!(states, [("key-C1".to_owned(), "dropped".to_owned()), ("key-C2".to_owned(), "dead".to_owned())].into());
}

// orchestrator 9: what was said, as source 003.14.3 has it; 9.1: a newer file is refused and the rest lives
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_file_stops_its_service_alone() {
    let world = World::new(TASK);
    world.chat().await.leave().await;
    let newer = "{\"version\": 9, \"tasks\": 7}";
    fs::write(world.at("runtime/tasks/store.json"), newer).expect("written");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("hello").await, "came: hello");
    chat.leave().await;
    assert_eq!(fs::read_to_string(world.at("runtime/tasks/store.json")).expect("read"), newer);
    assert!(world.opened().await.rebuild().expect_err("refused").to_string().contains("newer program"));
}
