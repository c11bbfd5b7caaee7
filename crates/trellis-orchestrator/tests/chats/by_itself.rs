//! The work of the agent without a message (orchestrator 5.4, 8.2).

use std::fs;

use crate::world::World;

/// A model that answers the heartbeat.
const BEATS: &str = "
- when: { contains: nothing new }
  reply: { content: HEARTBEAT_OK }
- when: { contains: '- [ ] the tea' }
  reply: { content: The tea is cold. }
- reply: { content: 'you said {{ last.content }}' }
";

/// A world in which a heartbeat was missed.
pub(crate) async fn overdue(items: &str) -> World {
    let world = World::new(BEATS);
    let orchestrator = world.opened().await;
    fs::write(world.at("HEARTBEAT.md"), items).expect("written");
    orchestrator.hands().queue.set("", "", "moments", "{\"heartbeat\":1}").await.expect("set");
    drop(orchestrator);
    world
}

// orchestrator 8.2: the open items are the prompt of one session; what it says comes into the chat
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_says_what_it_found() {
    let world = overdue("- [ ] the tea\n- [x] the coffee\n").await;
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "The tea is cold.");
    // Nobody said what the agent answered.
    assert!(!chat.ask("/sessions 9").await.contains("the coffee"));
    assert_eq!(chat.leave().await.len(), 2);
}

// an answer of exactly `HEARTBEAT_OK` is not sent; in a conversation it is an answer like any other
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_without_news_says_nothing() {
    let world = overdue("- [ ] is there nothing new?\n").await;
    let mut chat = world.chat().await;
    let beat = async {
        let queue = trellis_orchestrator::queue::Queue::open(&world.at("runtime/queue.db")).expect("a queue");
        while queue.setting("", "", "heartbeat").await.expect("read").as_deref() == Some("1")
            || !queue.taken_rows().await.expect("rows").is_empty()
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), beat).await.expect("it beats");
    assert_eq!(chat.ask("hello").await, "you said hello");
    assert_eq!(chat.ask("nothing new").await, "HEARTBEAT_OK");
    assert_eq!(chat.leave().await.len(), 2);
}

const ASKED: &str = "/memory consolidate";
const BEGUN: &str = "I am putting the older days into the memory.";

/// The memory, and the number of versions before it.
fn memory(world: &World) -> (String, usize) {
    let backups = fs::read_dir(world.at("memory/backup")).map_or(0, Iterator::count);
    (fs::read_to_string(world.at("memory/MEMORY.md")).expect("a memory"), backups)
}

/// Asks for a consolidation, and hears what came of it.
async fn consolidated(world: &World) -> String {
    let mut chat = world.chat().await;
    chat.say(ASKED);
    let mut both = [chat.hear().await, chat.hear().await];
    both.sort_by_key(|said| said != BEGUN);
    assert_eq!(both[0], BEGUN);
    chat.leave().await;
    let [_, outcome] = both;
    outcome
}

fn world_with_days() -> World {
    let world = World::new("");
    fs::create_dir_all(world.at("memory")).expect("made");
    fs::write(world.at("memory/MEMORY.md"), "# Known\n\n- Ana likes  TEA\n").expect("written");
    fs::write(world.at("memory/2026-01-02.md"), "- 09:00 ana likes tea\n- 09:05 Ben has a dog\n").expect("written");
    fs::write(world.at("memory/2026-01-03.md"), "- 10:00 Ben has a dog\n").expect("written");
    world
}

// without a model: the lines that the memory does not have, under their day; a second time there is nothing to do
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_new_lines_are_added() {
    let world = world_with_days();
    let outcome = consolidated(&world).await;
    assert!(outcome.starts_with("The older days are in the memory now."), "{outcome}");
    assert_eq!(memory(&world), ("# Known\n\n- Ana likes  TEA\n\n## 2026-01-02\n\n- Ben has a dog\n".to_owned(), 1));
    assert_eq!(consolidated(&world).await, "No older day has to go into the memory.");
    // A day that somebody writes into goes there again.
    fs::write(world.at("memory/2026-01-03.md"), "- 10:00 Ben has a dog\n- 11:00 Ben has a cat\n").expect("written");
    consolidated(&world).await;
    let (text, backups) = memory(&world);
    assert!(text.ends_with("- Ben has a dog\n\n## 2026-01-03\n\n- Ben has a cat\n") && backups == 2, "{text}");
}

// orchestrator 5.4: with a model its answer replaces the memory, sealed; one that is empty or too long, and one that breaks off, replace nothing
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_writes_the_memory_anew() {
    let world = world_with_days();
    let before = memory(&world);
    let answers = |answer: &str| fs::write(world.graph().join("_memory.yaml"), answer).expect("written");
    let long: String = (0..201).map(|line| format!("line {line}\\n")).collect();
    for refused in
        [format!("[{{ reply: {{ content: \"{long}\" }} }}]"), "[{ when: { contains: never }, reply: { content: x } }]".to_owned()]
    {
        answers(&refused);
        assert_eq!(consolidated(&world).await, "The memory stays as it was. It is tried again in the night.");
        assert_eq!(memory(&world), before);
    }
    answers(
        "[{ when: { matches: '(?s)TEA.*# 2026-01-02.*dog.*# 2026-01-03' }, reply: { content: \"- Ana: tea\\n- Ben: dog\\n- my password is hunter2-XK9!\" } }]",
    );
    consolidated(&world).await;
    let (text, backups) = memory(&world);
    assert!(text.starts_with("- Ana: tea\n- Ben: dog\n- my password is {{secret:inbound.terminal.") && backups == 1, "{text}");
    let backup = fs::read_dir(world.at("memory/backup")).expect("a folder").flatten().next().expect("one");
    assert_eq!(fs::read_to_string(backup.path()).expect("read"), before.0);
    assert!(!text.contains("hunter2"), "{text}");
}
