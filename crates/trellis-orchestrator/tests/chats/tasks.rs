//! Tasks beside the chat (orchestrator 2.4).

use std::fs;

use crate::{held::id_of, world::World};

/// A model that begins tasks, whose steps run a command, say something or begin a task.
const BEGINS: &str = r#"
- when: { matches: '^begin ' }
  reply: { tool_calls: [{ name: spawn, args: { title: Tea, prompt: make tea, steps: [
    { title: first, prompt: "{{ last.content | replace('begin ', '') }}" }, { title: then, prompt: say over } ] } }] }
- when: { matches: '^plan ' }
  reply: { tool_calls: [{ name: spawn, args: { title: Tea, prompt: "{{ last.content | replace('plan ', '') }}" } }] }
- when: { matches: '^nine$' }
  reply: { tool_calls: [
    { name: spawn, args: { title: a, prompt: run sleep 1 } }, { name: spawn, args: { title: b, prompt: run sleep 1 } },
    { name: spawn, args: { title: c, prompt: run sleep 1 } }, { name: spawn, args: { title: d, prompt: run sleep 1 } },
    { name: spawn, args: { title: e, prompt: run sleep 1 } }, { name: spawn, args: { title: f, prompt: run sleep 1 } },
    { name: spawn, args: { title: g, prompt: run sleep 1 } }, { name: spawn, args: { title: h, prompt: run sleep 1 } },
    { name: spawn, args: { title: i, prompt: run sleep 1 } } ] }
- when: { matches: '^# Tea\n\nthree steps' }
  reply: { json: { steps: [{ title: one, prompt: say one }, { title: two, prompt: say two }, { title: three, prompt: say three }] } }
- when: { matches: '^# ' }
  reply: { content: This is no plan. }
- when: { matches: '(?s)The step now: .*\nrun ' }
  reply: { tool_calls: [{ name: shell, args: { command: "{{ last.content | split('run ') | last | trim }}" } }] }
- when: { matches: '(?s)The step now: .*\nsay ' }
  reply: { content: "said {{ last.content | split('say ') | last | trim }} after {{ messages | length }}" }
- when: { matches: '(?s)The step now: .*\ndeeper' }
  reply: { tool_calls: [{ name: spawn, args: { title: Deeper, prompt: deeper } }] }
- when: { contains: '"task":"task-' }
  reply: { content: "begun {{ last.content | split('task-') | last | trim('\"}') }}" }
- reply: { content: 'came: {{ last.content }}' }
"#;

// orchestrator 2.4: the chat goes on meanwhile; the held call of a task is asked for in its chat; its end is told there
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_runs_beside_its_chat() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    chat.say("begin run echo tea > cup");
    let both = [chat.hear().await, chat.hear().await];
    let question = both.iter().find(|said| said.contains("echo tea > cup")).expect("it is asked for");
    let name = both.iter().find_map(|said| said.strip_prefix("begun ")).expect("it is begun");
    assert_eq!(chat.ask("hello").await, "came: hello");
    let status = chat.ask("/status").await;
    assert!(status.contains(&format!("`task-{name}` **Tea**: waits for an approval of `shell`")), "{status}");
    assert_eq!(chat.ask(&format!("yes {}", id_of(question))).await, "`shell` runs.");
    let end = chat.hear().await;
    assert!(end.starts_with("**Tea**: came:") || end.starts_with("**Tea**: said over"), "{end}");
    assert_eq!(chat.ask("/status").await, "Nothing runs in this chat.");
    // The task's message is a part of this chat.
    assert!(chat.ask("/sessions 9").await.contains("**Tea**: said over"));
    chat.leave().await;
    assert_eq!(fs::read_to_string(world.at("files/cup")).expect("it ran"), "tea\n");
}

// without steps the model makes them; they run in order, each after what was said before; no plan is one step
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_planned_and_its_steps_run_in_order() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    for (asked, end) in [("plan three steps", "**Tea**: said three after "), ("plan say it", "**Tea**: said it after ")] {
        chat.say(asked);
        let both = [chat.hear().await, chat.hear().await];
        assert!(both.iter().any(|said| said.contains(end)), "{both:?}");
    }
    chat.leave().await;
}

// a task that waits is there after a restart, and ends once
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_survives_a_restart() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    chat.say("begin run echo tea >> cup");
    chat.hear().await;
    chat.hear().await;
    chat.kill().await;
    let mut chat = world.chat().await;
    assert!(chat.ask("/status").await.contains("**Tea**"));
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    assert!(chat.hear().await.starts_with("**Tea**: said over"));
    assert_eq!(chat.leave().await.len(), 3);
    assert_eq!(fs::read_to_string(world.at("files/cup")).expect("it ran"), "tea\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_task_is_stopped_by_its_name() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    let mut names = Vec::new();
    for _ in 0..2 {
        chat.say("begin run touch never");
        let both = [chat.hear().await, chat.hear().await];
        names.push(both.iter().find_map(|said| said.strip_prefix("begun ")).expect("it is begun").to_owned());
    }
    assert!(chat.ask("/stop task-0").await.starts_with("There is no task `task-0` here."));
    chat.say(&format!("/stop {}", &names[0][..8]));
    let mut both = [chat.hear().await, chat.hear().await];
    both.sort_unstable();
    assert_eq!(both, ["**Tea**: Stopped.", "Stopping 1."]);
    let status = chat.ask("/status").await;
    assert!(status.contains(&names[1]) && !status.contains(&names[0]), "{status}");
    chat.stop().await;
    assert!(!world.at("files/never").exists());
}

// at most 8 at once in a chat
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ninth_task_is_refused() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    chat.say("nine");
    let (mut questions, mut is_answered) = (0, false);
    while questions < 8 || !is_answered {
        let said = chat.hear().await;
        questions += usize::from(said.contains("May I run this?"));
        is_answered |= said.starts_with("came:") || said.starts_with("begun");
    }
    let status = chat.ask("/status").await;
    assert!(status.matches("`task-").count() == 8, "{status}");
    chat.stop().await;
    let queue = trellis_orchestrator::queue::Queue::open(&world.at("runtime/queue.db")).expect("a queue");
    assert_eq!(queue.taken_rows().await.expect("rows").iter().filter(|row| row.message.work().is_some()).count(), 8);
}

// tasks within tasks, three deep
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fourth_depth_is_refused() {
    let world = World::new(BEGINS);
    let mut chat = world.chat().await;
    chat.say("begin deeper");
    let heard = chat.leave().await;
    let is_told = |text: &str| heard.iter().filter(|said| said.contains(text)).count();
    assert_eq!((is_told("**Deeper**: begun"), is_told("**Deeper**: came:"), is_told("too-deep")), (1, 1, 1), "{heard:#?}");
}

// orchestrator 2.4: a task whose last words nobody sees says so
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_task_is_never_blank() {
    let model = r#"
- when: { matches: '^begin' }
  reply: { tool_calls: [{ name: spawn, args: { title: Tea, prompt: make tea, steps: [{ title: first, prompt: nothing }] } }] }
- when: { contains: 'The step now' }
  reply: { content: " \u200b\n" }
- reply: { content: begun }
"#;
    let world = World::new(model);
    let mut chat = world.chat().await;
    chat.say("begin");
    let heard = chat.leave().await;
    assert!(heard.iter().any(|said| said == "**Tea**: The model gave an empty answer. Ask again, or in other words."), "{heard:?}");
}
