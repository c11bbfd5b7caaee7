//! Sessions of a process that died are resumed (orchestrator 9, the table).

use std::fs;

use trellis_host::sessions::{Drive, Stop, Turn};
use trellis_orchestrator::Orchestrator;

use crate::world::World;

const RUNS: &str = "
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: \"{{ last.content | replace('run ', '') }}\" } }] }
- when: { contains: tool_call_id }
  reply: { content: done }
- when: { matches: '\"status\":0' }
  reply: { content: done }
- reply: { content: 'you said {{ last.content }}' }
";

// a held call is held after a restart, asked for once, and runs once
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_waits_over_a_restart() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    chat.ask("run echo x >> log").await;
    assert_eq!(chat.kill().await.len(), 1);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    assert_eq!(chat.hear().await, "done");
    assert_eq!(chat.leave().await.len(), 2);
    assert_eq!(fs::read_to_string(world.at("files/log")).expect("it ran"), "x\n");
}

// a session that this graph cannot go on with stops no chat: it is told, once, and what waits behind it is answered
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_another_graph_leaves_its_chat() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    chat.ask("run touch gone").await;
    chat.stop().await;
    let file = world.graph().join("trellis.yaml");
    let text = fs::read_to_string(&file).expect("read").replace("name: orchestrator\n", "name: mine\n");
    fs::write(&file, text).expect("written");
    let mut chat = world.chat().await;
    let told = chat.ask("hello").await;
    assert!(told.contains("cannot go on") && told.contains("walks the graph `orchestrator`"), "{told}");
    assert_eq!(chat.hear().await, "you said hello");
    assert_eq!(chat.ask("/status").await, "Nothing runs in this chat.");
    assert_eq!(chat.leave().await.len(), 3);
    // Nothing is told twice.
    assert_eq!(world.chat().await.leave().await, [""; 0]);
}

// orchestrator 9, row "after the store, before the run starts": grouped anew, started under the same name
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_stored_is_answered_after_a_restart() {
    let world = World::new(RUNS);
    {
        let orchestrator = world.opened().await;
        let place = trellis_orchestrator::message::ChatPlace::new("terminal", "terminal");
        let message = |id: &str| trellis_orchestrator::message::Incoming {
            place: place.clone(),
            id: id.to_owned(),
            sender: "ana".to_owned(),
            sender_name: "Ana".to_owned(),
            text: format!("message {id}"),
            at: 1,
            files: Vec::new(),
        };
        let queue = &orchestrator.hands().queue;
        // One was stored only, another was taken and its session never began.
        queue.store("terminal", vec![message("a")], None, 1).await.expect("stored");
        let n = queue.waiting().await.expect("rows")[0].n;
        queue.take(vec![n], &message("a").session(), None).await.expect("taken");
        queue.store("terminal", vec![message("b")], None, 1).await.expect("stored");
    }
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "you said message a");
    assert_eq!(chat.hear().await, "you said message b");
    assert_eq!(chat.leave().await.len(), 2);
}

/// A world whose graph takes an order in two answers.
fn world_of_orders() -> World {
    let world = World::new(RUNS);
    let node = |name: &str, text: &str| fs::write(world.graph().join(name), text).expect("written");
    let start = fs::read_to_string(world.graph().join("start.md")).expect("read");
    node("start.md", &start.replace("  - to: agent_loop", "  - { condition: text == \"order\", to: kind }\n  - to: agent_loop"));
    node("kind.md", "---\ninput_type: text\nsave_to: kind\nto: count\n---\nWhich kind?\n");
    node("count.md", "---\ninput_type: text\nsave_to: count\nto: ordered\n---\nHow many?\n");
    node("ordered.md", "---\ndo: { name: message, args: { text: \"{{ count }} of {{ kind }}\" } }\nto: over\n---\n");
    node("over.md", "---\noutput: { status: completed }\n---\n");
    world
}

/// Stores an answer, and gives it to the session of the chat as one to the question it asks now.
async fn taken(world: &World, answer: &str) -> (Orchestrator, Turn) {
    world.store(&[answer]).await;
    let orchestrator = world.opened().await;
    let queue = &orchestrator.hands().queue;
    let run = queue.taken_rows().await.expect("rows")[0].run.clone().expect("a session");
    let turn = orchestrator.sessions().view(&run.as_str().into()).await.expect("it waits");
    let n = queue.waiting().await.expect("rows")[0].n;
    queue.take(vec![n], &run, Some(turn.asked)).await.expect("taken");
    (orchestrator, turn)
}

// between the taking of an answer and its handing over: it is handed over once
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_taken_reaches_its_question() {
    let world = world_of_orders();
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("order").await, "Which kind?");
    chat.stop().await;
    drop(taken(&world, "tea").await);
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "How many?");
    chat.stop().await;
    // An answered question is not answered again.
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("two").await, "two of tea");
    chat.leave().await;
}

// orchestrator 2.2, 9: the question was gone before the answer was handed over: it answers no other one, and is a run of its own
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_whose_question_has_gone_is_a_run_of_its_own() {
    let world = world_of_orders();
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("order").await, "Which kind?");
    chat.stop().await;
    {
        let (orchestrator, turn) = taken(&world, "tea").await;
        let other = turn.answer(trellis_core::Input::Text("coffee".into()));
        orchestrator.sessions().send(&turn.session, other).await.expect("somebody else answers");
    }
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "How many?");
    assert_eq!(chat.ask("two").await, "two of coffee");
    assert_eq!(chat.hear().await, "you said tea");
    chat.leave().await;
}

// orchestrator 9: an answer that ended its session before the process died is not answered again
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_ended_its_session_is_no_other_run() {
    let world = world_of_orders();
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("order").await, "Which kind?");
    assert_eq!(chat.ask("tea").await, "How many?");
    chat.stop().await;
    let row = {
        let (orchestrator, turn) = taken(&world, "two").await;
        let row = orchestrator.hands().queue.taken_rows().await.expect("rows").pop().expect("the answer");
        let request = trellis_host::journal::RequestKey::by("chat").with_key(row.message.key(), None);
        let sent = turn.answer(trellis_core::Input::Text("two".into()));
        orchestrator.sessions().send_by(&turn.session, sent, request).await.expect("sent");
        orchestrator.sessions().drive(Drive::WhatIsDue, |_| {}).await.expect("driven");
        let now = orchestrator.sessions().view(&turn.session).await.expect("it is there");
        assert!(matches!(now.stop, Stop::Ended(_)), "{now:?}");
        row
    };
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "two of tea");
    assert_eq!(chat.ask("hello").await, "you said hello");
    assert_eq!(chat.leave().await.len(), 2);
    let queue = trellis_orchestrator::queue::Queue::open(&world.at("runtime/queue.db")).expect("a queue");
    assert!(queue.message(row.n).await.expect("rows").expect("the answer").is_done);
}

// orchestrator 9, row "after sending, before the acknowledgement is stored": sent again, marked
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_arrived_comes_again_with_a_mark() {
    let world = World::new(RUNS);
    {
        let orchestrator = world.opened().await;
        let place = trellis_orchestrator::message::ChatPlace::new("terminal", "terminal");
        let message = trellis_orchestrator::message::Outgoing::new(place, "hello", "k");
        let n = orchestrator.hands().queue.post(message, trellis_orchestrator::message::now()).await.expect("posted");
        orchestrator.hands().queue.begin_sending(n).await.expect("begun");
    }
    let mut chat = world.chat().await;
    assert_eq!(chat.hear().await, "(again) hello");
    chat.leave().await;
}

// kills at many moments: every message is answered, none twice without a mark
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_however_often_it_dies() {
    let world = World::new("[{ reply: { content: 'you said {{ last.content }}' } }]");
    let mut heard: Vec<String> = Vec::new();
    for round in 0..12_u64 {
        let mut chat = world.chat().await;
        chat.say(&format!("number {round}."));
        tokio::time::sleep(std::time::Duration::from_millis(round * 17)).await;
        // The last one has time enough.
        while round == 11 && !chat.heard().iter().any(|text| text.contains("number 11.")) {
            tokio::task::yield_now().await;
        }
        // Whatever was read is stored; what was only said into the air is not the program's.
        heard.extend(chat.kill().await);
    }
    heard.extend(world.chat().await.leave().await);
    let stored = fs::metadata(world.at("runtime/queue.db")).expect("a queue").len();
    assert!(stored > 0);
    let queue = trellis_orchestrator::queue::Queue::open(&world.at("runtime/queue.db")).expect("a queue");
    assert!(queue.waiting().await.expect("rows").is_empty() && queue.taken_rows().await.expect("rows").is_empty());
    for round in 0..12 {
        let answers: Vec<&String> = heard.iter().filter(|text| text.contains(&format!("number {round}."))).collect();
        let unmarked = answers.iter().filter(|text| !text.starts_with("(again)")).count();
        assert!(unmarked <= 1, "{answers:?}");
    }
    let last = heard.iter().filter(|text| text.contains("number 11.")).count();
    assert!(last >= 1, "{heard:?}");
}

// orchestrator 9: a store that is away for longer than a call waits for it holds a message up and loses none, also behind a restart of the service
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_holds_up_what_is_answered_after() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("hello").await, "you said hello");
    let away = rusqlite::Connection::open(world.at("runtime/sessions.db")).expect("the store");
    away.execute_batch("begin immediate").expect("nobody else writes");
    chat.say("are you there?");
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    away.execute_batch("rollback").expect("it is back");
    assert_eq!(chat.hear().await, "you said are you there?");
    assert_eq!(chat.ask("and now?").await, "you said and now?");
    chat.leave().await;
}

// orchestrator 9.1: a damaged database keeps the program from starting, and says how to go on; what was in it stays
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_database_is_left_and_named() {
    let world = World::new(RUNS);
    world.chat().await.leave().await;
    for name in ["queue.db", "sessions.db"] {
        let file = world.at("runtime").join(name);
        // Another file takes its place: one that is still open somewhere is no part of it.
        let replace = |from: &std::path::Path| {
            fs::rename(from, &file).expect("it is replaced");
            ["-wal", "-shm"].iter().for_each(|log| drop(fs::remove_file(world.at("runtime").join(format!("{name}{log}")))));
        };
        let (sound, junk) = (world.at("sound"), world.at("junk"));
        fs::copy(&file, &sound).expect("it is there");
        fs::write(&junk, "this is no database, but somebody's only copy").expect("written");
        replace(&junk);
        let refused = loop {
            let refused = world.open().await.expect_err("refused").to_string();
            // Whoever had it before may still be letting go.
            if !refused.contains("in use") {
                break refused;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
        assert!(refused.contains(name) && refused.contains("put a copy") && refused.contains("move it away"), "{refused}");
        assert!(fs::read(&file).expect("it stays").starts_with(b"this is no database"));
        replace(&sound);
    }
    drop(world.opened().await);
}

// orchestrator 1.2: two processes on one workspace
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_one_is_refused() {
    let world = World::new("");
    let chat = world.chat().await;
    let refused = world.open().await.expect_err("refused").to_string();
    assert!(refused.contains("is in use by process"), "{refused}");
    chat.stop().await;
    world.open().await.expect("free again");
}
