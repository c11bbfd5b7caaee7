//! Every kind of event stands in `events.jsonl` (orchestrator 9); those of tasks are in `records`.

use std::fs;

use trellis_orchestrator::message::{ChatPlace, Outgoing};

use crate::{by_itself::overdue, records::events, world::World};

const ECHOES: &str = "[{ reply: { content: 'you said {{ last.content }}' } }]";

/// The events of a kind: their chats and summaries.
fn of_kind(world: &World, kind: &str) -> Vec<(String, String)> {
    let text = |event: &serde_json::Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let events = events(world).into_iter().filter(|event| event["kind"] == kind);
    events.map(|event| (text(&event, "chat"), text(&event, "summary"))).collect()
}

fn here(summary: &str) -> Vec<(String, String)> {
    vec![("terminal:terminal".to_owned(), summary.to_owned())]
}

// orchestrator 9: `waiting` names the node that asks, `resumed` the one that comes then
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_waits_for_an_input_is_written_down() {
    let world = World::new(ECHOES);
    let node = |name: &str, text: &str| fs::write(world.graph().join(name), text).expect("written");
    let start = fs::read_to_string(world.graph().join("start.md")).expect("read");
    node("start.md", &start.replace("  - to: agent_loop", "  - { condition: text == \"order\", to: kind }\n  - to: agent_loop"));
    node("kind.md", "---\ninput_type: text\nsave_to: kind\nto: ordered\n---\nWhich kind?\n");
    node("ordered.md", "---\ndo: { name: message, args: { text: \"a cup of {{ kind }}\" } }\nto: over\n---\n");
    node("over.md", "---\noutput: { status: completed }\n---\n");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("order").await, "Which kind?");
    chat.stop().await;
    assert_eq!(of_kind(&world, "waiting"), here("kind"));
    assert_eq!(of_kind(&world, "resumed"), []);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("tea").await, "a cup of tea");
    chat.leave().await;
    assert_eq!(of_kind(&world, "waiting"), here("kind"));
    assert_eq!(of_kind(&world, "resumed"), here("ordered"));
}

// orchestrator 9: `cron_fired` instead of a message that came in
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_that_fires_is_written_down() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    let added = chat.ask("/cron add every 1h \"the morning report\"").await;
    let id = added.split('`').nth(1).expect("an id");
    chat.say(&format!("/cron run {id}"));
    while chat.hear().await != "you said the morning report" {}
    chat.leave().await;
    assert_eq!(of_kind(&world, "cron_fired"), here("the morning report"));
    assert!(of_kind(&world, "message_in").iter().all(|(_, summary)| summary.starts_with("Ana: /cron")));
}

// orchestrator 9: `heartbeat` by the name of its session
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_is_written_down() {
    let world = overdue("- [ ] the tea\n").await;
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "The tea is cold.");
    chat.leave().await;
    let beats = of_kind(&world, "heartbeat");
    assert!(beats.len() == 1 && beats[0].0 == "terminal:terminal" && beats[0].1.starts_with("heartbeat-"), "{beats:?}");
}

// orchestrator 3.8, 9: `secret_missing` beside the message that says so
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_missing_is_written_down() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    let said = chat.ask("use {{secret:nobody}}").await;
    chat.ask("hello").await;
    chat.leave().await;
    let missing = of_kind(&world, "secret_missing");
    assert!(missing.len() == 1 && said.starts_with(missing[0].1.trim_end_matches('…')), "{missing:?}");
}

// orchestrator 7.1, 9: `message_dead` with the code and the reason, in the chat that never got it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_dead_is_written_down() {
    let world = World::new(ECHOES);
    let orchestrator = world.opened().await;
    let message = Outgoing::new(ChatPlace::new("gone", "C1"), "to C1", "key-C1");
    orchestrator.hands().queue.post(message, 1).await.expect("posted");
    drop(orchestrator);
    for _ in 0..2 {
        let mut chat = world.chat().await;
        chat.ask("hello").await;
        chat.leave().await;
        let dead = of_kind(&world, "message_dead");
        assert_eq!(dead, [("gone:C1".to_owned(), "channel_not_found: there is no channel `gone`".to_owned())]);
    }
}
