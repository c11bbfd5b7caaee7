//! Conversations: an answer, a tool, an order, an end.

use std::fs;

use crate::world::World;

// orchestrator 1.5: without a provider the agent says in one sentence how to configure one
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_is_told_how_to_begin() {
    let world = World::new("");
    let mut chat = world.chat().await;
    assert!(chat.ask("Hello").await.contains("TRELLIS_MODEL_BASE_URL"));
    assert!(chat.ask("안녕하세요").await.starts_with("모델이 아직"));
    assert_eq!(chat.leave().await.len(), 2);
}

/// A model that writes down what it is told, then says what it got.
const REMEMBERS: &str = "
- when: { matches: '^remember ' }
  reply: { content: one moment, tool_calls: [{ name: memory.append, args: { text: '{{ last.content }}' } }] }
- when: { matches: '\"written\":true' }
  reply: { content: noted }
- reply: { content: 'you said {{ last.content }}, message {{ messages | length }}' }
";

// source 003.5.1; orchestrator 2.3: context → model → tools → model → reply; 5.3: history comes back as context
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_is_called_and_its_result_answered() {
    let world = World::new(REMEMBERS);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("remember green tea").await, "noted");
    let today = fs::read_dir(world.at("memory")).expect("a folder").flatten().map(|entry| entry.path());
    let written: String = today.filter_map(|path| fs::read_to_string(path).ok()).collect();
    assert!(written.contains("remember green tea"), "{written}");
    // The system's message, the two of before, and this one.
    assert_eq!(chat.ask("hello").await, "you said hello, message 4");
    chat.leave().await;
    let lines = fs::read_dir(world.at("runtime/sessions")).expect("a folder").flatten().map(|entry| entry.path());
    let history: String = lines.filter_map(|path| fs::read_to_string(path).ok()).collect();
    assert_eq!(history.lines().count(), 4, "{history}");
}

// orchestrator 3.4: what is said in one breath is answered once; 2.2: one conversation at a time, nothing lost
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_meanwhile_is_answered_after() {
    let model = "[{ reply: { content: 'you said {{ last.content }}' } }]";
    let world = World::new(model);
    let mut chat = world.chat().await;
    chat.say_at_once(&["one", "two"]);
    assert_eq!(chat.hear().await, "you said one\ntwo");
    for text in ["three", "four", "five"] {
        chat.say(text);
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    }
    let heard = chat.leave().await.join("\n");
    let order: Vec<usize> = ["three", "four", "five"].iter().map(|text| heard.find(text).expect("it is answered")).collect();
    assert!(order.is_sorted(), "{heard}");
}

// orchestrator 3.4: never across a command, also while a run goes on
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_parts_what_waits_behind_a_run() {
    let world = World::new("[{ reply: { content: 'you said {{ last.content }}' } }]");
    world.store(&["one", "/help", "two"]).await;
    let mut chat = world.chat().await;
    let heard = [chat.hear().await, chat.hear().await, chat.hear().await];
    for said in ["you said one", "you said two"] {
        assert!(heard.iter().any(|text| text == said), "{heard:?}");
    }
    chat.leave().await;
}

// orchestrator 2.2: 20 groups wait silently behind a run; more get a polite word, once, and nothing is lost
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_chat_says_so_and_loses_nothing() {
    let model = "
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: 'true' } }] }
- reply: { content: 'you said {{ last.content }}' }
";
    let world = World::new(model);
    let mut chat = world.chat().await;
    assert!(chat.ask("run it").await.contains("May I run this?"));
    let texts: Vec<String> = (1..=165).map(|number| format!("number {number}.")).collect();
    chat.say_at_once(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let busy = chat.hear().await;
    assert!(busy.starts_with("I am busy in this chat: ") && busy.ends_with("Nothing is lost."), "{busy}");
    assert_eq!(chat.ask("no").await, "`shell` does not run.");
    let heard = chat.leave().await;
    assert_eq!(heard.iter().filter(|said| said.starts_with("I am busy")).count(), 1);
    let all = heard.join("\n");
    assert!(texts.iter().all(|text| all.contains(text)), "{heard:#?}");
    // Groups of eight.
    assert_eq!(heard.iter().filter(|said| said.starts_with("you said number")).count(), 21);
}

// orchestrator 2.3: `max_visits: 30` turns of the model
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_never_ends_is_ended() {
    let world = World::new("[{ reply: { tool_calls: [{ name: file.list }] } }]");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("go").await, "I have used up my turns for this. Ask me to go on.");
    assert_eq!(chat.leave().await.len(), 1);
}

// orchestrator 5.2: text told to people is one standard sentence per code
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_one_sentence() {
    let world = World::new("[{ when: { contains: fits }, reply: { content: yes } }]");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("this does not").await, "No scripted reply fits that.");
    fs::write(world.at("templates/BIG.md"), "x".repeat(100_000)).expect("written");
    assert_eq!(chat.ask("it fits").await, "That is too much for the model, even without the earlier messages.");
    chat.leave().await;
}

// orchestrator 1.6: a graph is edited while chats go on
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_the_graph_counts_at_once() {
    let world = World::new("");
    let mut chat = world.chat().await;
    assert!(!chat.ask("/help").await.contains("/greet"));
    let node = "---\nx-help: { en: says hello }\ndo: { name: message, args: { text: Hello there } }\nto: done\n---\n";
    fs::write(world.graph().join("commands/greet.md"), node).expect("written");
    let start = world.graph().join("commands/start.md");
    let text = fs::read_to_string(&start)
        .expect("read")
        .replace("transitions:\n", "transitions:\n  - { condition: command == \"greet\", to: greet }\n");
    fs::write(&start, text).expect("written");
    for _ in 0..1_200 {
        let said = chat.ask("/greet").await;
        if said == "Hello there" {
            chat.leave().await;
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the edit is never seen");
}

// orchestrator 2.3: a reply of which nobody sees anything is told as an empty one, and nothing of it is sent
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_nobody_sees_is_told() {
    for blank in ["  \\n ", "\\u200b", "\\u2060\\ufeff\\u3000"] {
        let world = World::new(&format!("[{{ reply: {{ content: \"{blank}\" }} }}]"));
        let mut chat = world.chat().await;
        assert_eq!(chat.ask("hello").await, "The model gave an empty answer. Ask again, or in other words.", "{blank}");
        assert_eq!(chat.leave().await.len(), 1, "{blank}");
    }
}
