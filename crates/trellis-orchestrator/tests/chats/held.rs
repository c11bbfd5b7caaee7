//! Calls that wait for somebody (orchestrator 3.6, 6.2).

use std::fs;

use crate::world::World;

/// A model that runs a command, and says what came of it.
pub(crate) const RUNS: &str = "
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: \"{{ last.content | replace('run ', '') }}\" } }] }
- when: { matches: '^erase ' }
  reply: { tool_calls: [{ name: file.delete, args: { path: \"{{ last.content | replace('erase ', '') }}\" } }] }
- reply: { content: 'came: {{ last.content }}' }
";

/// The id that a question shows.
pub(crate) fn id_of(question: &str) -> String {
    let (_, rest) = question.rsplit_once("yes ").expect("an id");
    rest.split('`').next().unwrap_or_default().to_owned()
}

// orchestrator 6.2: asked with tool, arguments and id; after a yes the same call runs once; source 003.4.4.1: an id counts while its call waits
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_yes_the_command_runs_once() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    let question = chat.ask("run echo ran >> log; cat log").await;
    assert!(question.contains("`shell`") && question.contains("echo ran >> log; cat log"), "{question}");
    assert!(!world.at("files/log").exists());
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    let came = chat.hear().await;
    assert!(came.contains(r#""output":"ran\n""#) && came.contains(r#""status":0"#), "{came}");
    // Nothing waits any more: the word is conversation.
    assert!(chat.ask("yes").await.starts_with("came: yes"));
    assert!(chat.ask(&format!("yes {}", id_of(&question))).await.starts_with("That was decided already"));
    chat.leave().await;
    assert_eq!(fs::read_to_string(world.at("files/log")).expect("it ran"), "ran\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_no_the_model_is_told() {
    let world = World::new(RUNS);
    fs::create_dir_all(world.at("files")).expect("made");
    fs::write(world.at("files/a.txt"), "a").expect("written");
    let mut chat = world.chat().await;
    let question = chat.ask("erase a.txt").await;
    assert!(question.contains("`file.delete`"), "{question}");
    assert_eq!(chat.ask("later").await, format!("`file.delete` keeps waiting. Its id is {}.", id_of(&question)));
    let status = chat.ask("/status").await;
    assert!(status.contains("waits for an approval of `file.delete`"), "{status}");
    // The session goes on as soon as it is denied, so either may come first.
    let mut heard = [chat.ask(&format!("no {}", id_of(&question))).await, chat.hear().await];
    heard.sort();
    assert!(heard[0] == "`file.delete` does not run." && heard[1].contains("denied"), "{heard:?}");
    chat.leave().await;
    assert!(world.at("files/a.txt").exists());
}

// orchestrator 3.6: a word decides about what was asked before it came, and about nothing that is asked later
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_from_before_the_question_approves_nothing() {
    let world = World::new(RUNS);
    world.store(&["run touch done", "ok"]).await;
    let mut chat = world.chat().await;
    assert!(chat.hear().await.contains("touch done"));
    // Each message has everything looked at that waits, and so has a start.
    assert!(chat.ask("/status").await.contains("waits for an approval of `shell`"));
    chat.stop().await;
    let mut chat = world.chat().await;
    assert!(chat.ask("/status").await.contains("waits for an approval of `shell`"));
    assert!(!world.at("files/done").exists());
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    assert!(chat.hear().await.contains(r#""status":0"#));
    assert_eq!(chat.hear().await, "came: ok");
    chat.leave().await;
    assert!(world.at("files/done").exists());
}

// orchestrator 3.6: the same where the word is read behind the question, and its provider says that it was said before it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_that_is_read_late_approves_nothing() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    // Behind everything that this chat says.
    chat.receipt("99999999999999");
    let question = chat.ask("run touch done").await;
    chat.say("yes");
    assert!(chat.ask("/status").await.contains("waits for an approval of `shell`"));
    assert_eq!(chat.ask(&format!("yes {}", id_of(&question))).await, "`shell` runs.");
    chat.hear().await;
    chat.leave().await;
    assert!(world.at("files/done").exists());
}

// orchestrator 6.2: nothing of what would run is hidden, however long it is
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_command_is_shown_to_its_end() {
    let world = World::new(RUNS);
    let command = format!("{}touch `echo a`; touch é; {}touch last", "echo fine; ".repeat(135), "echo fine; ".repeat(300));
    let mut chat = world.chat().await;
    chat.say(&format!("run {command}"));
    let mut shown = String::new();
    let question = loop {
        let said = chat.hear().await;
        if said.contains("May I run this?") {
            break said;
        }
        let (head, part) = said.split_once("```\n").expect("a part");
        assert!(head.starts_with("`shell` "), "{head}");
        shown += part.strip_suffix("\n```").expect("a part");
    };
    assert_eq!(shown, format!(r#"{{"command":"{command}"}}"#));
    assert!(question.contains(&format!("the {} bytes of the 4 messages above", shown.len())), "{question}");
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    chat.hear().await;
    chat.leave().await;
    assert!(world.at("files/last").exists());
}

/// A model that runs two commands at once.
pub(crate) const RUNS_TWO: &str = "
- when: { matches: '^both ' }
  reply: { tool_calls: [
    { name: shell, args: { command: \"{{ last.content | replace('both ', '') }}; touch one\" } },
    { name: shell, args: { command: touch two } } ] }
- reply: { content: 'came: {{ last.content }}' }
";

// orchestrator 3.6: the only one that waits; else an id is needed, and the word is not kept for later
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_calls_none_is_guessed() {
    let world = World::new(RUNS_TWO);
    let mut chat = world.chat().await;
    let questions = [chat.ask("both true").await, chat.hear().await];
    let first = questions.iter().find(|question| question.contains("touch one")).expect("it is asked for");
    let said = chat.ask("yes").await;
    assert!(said.starts_with("Several calls wait, so I need an id") && said.contains(&id_of(first)), "{said}");
    assert_eq!(chat.ask(&format!("no {}", id_of(first))).await, "`shell` does not run.");
    assert!(chat.ask("/status").await.contains("waits for an approval of `shell`"));
    assert!(!world.at("files/two").exists());
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    chat.hear().await;
    chat.leave().await;
    assert!(!world.at("files/one").exists() && world.at("files/two").exists());
}

// a decision that waits until a call has ended lets nothing else wait
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_approval_holds_nothing_up() {
    let world = World::new(RUNS_TWO);
    let mut chat = world.chat().await;
    let questions = [chat.ask("both until [ -e go ]; do sleep 0.05; done").await, chat.hear().await];
    let place = questions.iter().position(|question| question.contains("touch one")).expect("it is asked for");
    assert_eq!(chat.ask(&format!("yes {}", id_of(&questions[place]))).await, "`shell` runs.");
    chat.say(&format!("yes {}", id_of(&questions[1 - place])));
    // While the first one runs, commands are answered.
    for _ in 0..3 {
        chat.say("/render markdown");
        while chat.hear().await != "Answers here come as markdown from now on." {}
    }
    fs::write(world.at("files/go"), "").expect("written");
    let heard = chat.leave().await;
    assert_eq!(heard.iter().filter(|said| *said == "`shell` runs.").count(), 2, "{heard:?}");
    assert!(heard.last().is_some_and(|last| last.starts_with("came:")), "{heard:?}");
    assert!(world.at("files/one").exists() && world.at("files/two").exists());
}

// what was pasted before hides no decision and no command
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_behind_a_long_paste_counts() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    let question = chat.ask("run touch done").await;
    chat.stop().await;
    let lines: Vec<String> = (0..2100).map(|number| format!("line {number} of a log")).collect();
    world.store(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut chat = world.chat().await;
    chat.say("/status");
    while !chat.hear().await.contains("waits for an approval of `shell`") {}
    chat.say(&format!("yes {}", id_of(&question)));
    while chat.hear().await != "`shell` runs." {}
    while !world.at("files/done").exists() {
        chat.hear().await;
    }
    chat.kill().await;
}

// orchestrator 3.5, 3.6: cancel denies and stops the run
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_stops_what_asked() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    chat.ask("run touch gone").await;
    let (one, other) = (chat.ask("취소").await, chat.hear().await);
    let mut both = [one.as_str(), other.as_str()];
    both.sort_unstable();
    assert_eq!(both, ["Stopped.", "`shell` does not run, and what asked for it is stopped."]);
    assert_eq!(chat.ask("/status").await, "Nothing runs in this chat.");
    chat.leave().await;
    assert!(!world.at("files/gone").exists());
}

// orchestrator 3.7: `/stop` raises `interrupt` in all runs of this chat
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_ends_what_runs() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("/중지").await, "Nothing runs here.");
    chat.ask("run sleep 100").await;
    assert_eq!(chat.ask("ok").await, "`shell` runs.");
    let (one, other) = (chat.ask("/stop").await, chat.hear().await);
    let mut both = [one.as_str(), other.as_str()];
    both.sort_unstable();
    assert_eq!(both, ["Stopped.", "Stopping 1."]);
    chat.leave().await;
}

// orchestrator 3.6: who may approve; others get a polite refusal, also the person who asked
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_without_the_right_approves_nothing() {
    let world = World::new(RUNS);
    let mut chat = world.chat_on("elsewhere").await;
    chat.ask("run touch done").await;
    assert_eq!(chat.ask("yes").await, "Sorry, you may not decide about that.");
    assert_eq!(chat.ask("/secret ls").await, "Sorry, you may not use `/secret`.");
    chat.stop().await;
    assert!(!world.at("files/done").exists());
}

// orchestrator 6: deny patterns block, whatever somebody would say
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_policy_blocks_is_not_asked_for() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    assert!(chat.ask("run rm -rf /").await.contains("denied"));
    chat.leave().await;
}

// orchestrator 6.2: what waits for a person takes no place of `agent.runs`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_person_takes_no_place() {
    let world = World::new(RUNS);
    drop(world.opened().await);
    fs::write(world.at("orchestrator.yaml"), "agent: { runs: 1 }\n").expect("written");
    let mut chat = world.chat().await;
    assert!(chat.ask("run touch done").await.contains("touch done"));
    chat.say_in("other", "hello");
    assert_eq!(chat.hear().await, "came: hello");
    assert_eq!(chat.ask("no").await, "`shell` does not run.");
    assert!(chat.hear().await.contains("denied"));
    chat.leave().await;
}

// orchestrator 6.2: what nobody decides about in time does not run, and its chat is told
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_decides_does_not_run() {
    let world = World::new(RUNS);
    drop(world.opened().await);
    fs::write(world.at("orchestrator.yaml"), "limits: { approval: 1s }\n").expect("written");
    let mut chat = world.chat().await;
    let question = chat.ask("run touch done").await;
    let mut heard = [chat.hear().await, chat.hear().await];
    heard.sort();
    assert!(heard[0].contains(&format!("Nobody decided about `shell` ({}) in time", id_of(&question))), "{heard:?}");
    assert!(heard[1].contains("denied"), "{heard:?}");
    chat.leave().await;
    assert!(!world.at("files/done").exists());
}

/// Has it look at a call as if it had waited since the beginning of time.
fn make_old(world: &World) {
    assert_eq!(change(world, "update questions set since = 0"), 1);
}

/// Changes the queue, and returns the number of changed rows.
pub(crate) fn change(world: &World, statement: &str) -> usize {
    let queue = rusqlite::Connection::open(world.at("runtime/queue.db")).expect("a queue");
    queue.busy_timeout(crate::world::PATIENCE).expect("set");
    queue.execute(statement, []).expect("changed")
}

// orchestrator 6.2: who may decide is asked beside the chat after half of the time, and told when the call waits no more: here it is cancelled by the
// one who asked for it, and the time of the chat begins with its question
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvers_are_asked_and_told_that_it_is_over() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    chat.say_in("other", "run touch gone");
    let id = id_of(&chat.hear_of("May I run this?").await);
    make_old(&world);
    chat.say_in("third", "/status");
    let said = chat.hear_of("this waits for a decision").await;
    assert!(said.contains("`terminal:other`"), "{said}");
    assert_eq!(id_of(&chat.hear_of("May I run this?").await), id);
    chat.say_in("other", "cancel");
    chat.hear_of(&format!("The call {id} waits no more")).await;
    let heard = chat.leave().await;
    assert!(heard.iter().any(|said| said == "`shell` does not run, and what asked for it is stopped."), "{heard:?}");
    assert!(!heard.iter().any(|said| said.contains("Nobody decided")), "{heard:?}");
    assert!(!world.at("files/gone").exists());
}

// orchestrator 6.2: the same where nobody decides in time
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvers_are_told_that_nobody_decided() {
    let world = World::new(RUNS);
    let mut chat = world.chat().await;
    chat.say_in("other", "run touch gone");
    let id = id_of(&chat.hear_of("May I run this?").await);
    make_old(&world);
    chat.say_in("third", "/status");
    chat.hear_of("`terminal:other`").await;
    // Its chat had the question as long ago.
    while change(&world, "update outbox set sent = 0 where key like 'ask:%' and state = 'sent'") == 0 {
        tokio::task::yield_now().await;
    }
    chat.say_in("third", "/status");
    chat.hear_of(&format!("The call {id} waits no more")).await;
    let heard = chat.leave().await;
    assert!(heard.iter().any(|said| said.contains(&format!("Nobody decided about `shell` ({id}) in time"))), "{heard:?}");
    assert!(!world.at("files/gone").exists());
}
