//! Secrets in a chat (orchestrator 3.3, 3.8).

use crate::world::World;

const ECHOES: &str = "[{ reply: { content: 'you said {{ last.content }}' } }]";
const PASTED: &str = "sk-proj-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

// nothing that was pasted lies anywhere, and the model never saw it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pasted_is_found_nowhere() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    let said = chat.ask(&format!("use {PASTED} please")).await;
    assert!(said.starts_with("you said use {{secret:inbound.terminal.c") && said.ends_with("}} please"), "{said}");
    chat.ask("my password is").await;
    assert!(chat.ask("hunter2").await.contains(".password."));
    assert_eq!(chat.ask("/secret set wiki mellon77").await, "`wiki` is kept. Delete your message with the value, if this chat keeps it.");
    assert!(chat.ask("/secret ls").await.contains("`wiki`"));
    // Also as a telephone types it, and mistyped.
    assert!(chat.ask("/Secret Set db friend88").await.starts_with("`db` is kept."));
    assert!(chat.ask("/secrets set db sword99fish").await.starts_with("There is no command `/secrets`."));
    assert!(chat.ask("/secret add db sword99fish").await.contains("`/secret set NAME VALUE`"));
    // Whatever repeats a value is masked on its way out.
    chat.ask("/sessions").await;
    let heard = chat.leave().await.join("\n");
    for value in [PASTED, "hunter2", "mellon77", "friend88", "sword99fish"] {
        assert_eq!(world.files_with(value), [""; 0], "{value}");
        assert!(!heard.contains(value), "{heard}");
    }
}

// orchestrator 3.8, source 003.4.5.3: a reference that does not open: no run, and the names
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_reference_begins_nothing() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    let said = chat.ask("use {{secret:nobody}} and {{secret:else}}").await;
    assert!(said.contains("`nobody`, `else`"), "{said}");
    assert_eq!(chat.ask("hello").await, "you said hello");
    assert_eq!(chat.leave().await.len(), 2);
}

/// A model that hands what it is told to a tool.
const WRITES: &str = r#"
- when: { matches: '^keep ' }
  reply: { tool_calls: [{ name: file.write, args: { path: a.txt, text: "{{ last.content | replace('keep ', '') }}" } }] }
- when: { matches: '^look' }
  reply: { tool_calls: [{ name: file.read, args: { path: a.txt } }] }
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: "printf %s '{{ last.content | replace('run ', '') }}' > b.txt; cat b.txt" } }] }
- reply: { content: 'came: {{ last.content }}' }
"#;

// orchestrator 6.1: a reference of this chat is filled in when the tool runs; the model sees the value in no result
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_gets_the_value_and_the_model_does_not() {
    let world = World::new(WRITES);
    let mut chat = world.chat().await;
    assert!(chat.ask(&format!("keep {PASTED}")).await.contains("bytes"));
    assert_eq!(std::fs::read_to_string(world.at("files/a.txt")).expect("written"), PASTED);
    assert!(chat.ask("look").await.contains(r#""text":"***""#));
    let question = chat.ask(&format!("run {PASTED}")).await;
    assert!(question.contains("{{secret:inbound.terminal.c"), "{question}");
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    let came = chat.hear().await;
    assert!(came.contains(r#""output":"***""#), "{came}");
    assert_eq!(std::fs::read_to_string(world.at("files/b.txt")).expect("written"), PASTED);
    assert!(!chat.leave().await.join("\n").contains(PASTED));
    // Only the files that were told to hold it do.
    assert_eq!(world.files_with(PASTED).len(), 2);
}

// orchestrator 6.1, 10.3: a reference of another chat opens nothing
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_of_another_chat_opens_nothing() {
    let world = World::new(WRITES);
    let orchestrator = world.open().await.expect("it opens");
    let foreign = orchestrator.hands().sealer.seal("terminal", "elsewhere", PASTED, None);
    drop(orchestrator);
    let mut chat = world.chat().await;
    let came = chat.ask(&format!("keep {foreign}")).await;
    assert!(came.contains("secret_resolution_required") && !came.contains(PASTED), "{came}");
    chat.leave().await;
    assert!(!world.at("files/a.txt").exists());
}

// orchestrator 6.1: a secret that the settings name for a tool is filled in there, and nowhere else
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_secret_is_opened_by_its_tool() {
    let world = World::new(WRITES);
    drop(world.opened().await);
    std::fs::write(world.at("orchestrator.yaml"), "tools: { file: { secrets: [wiki] } }\n").expect("written");
    let mut chat = world.chat().await;
    for name in ["wiki", "mail"] {
        assert!(chat.ask(&format!("/secret set {name} mellon-{name}")).await.contains("is kept"));
    }
    assert!(chat.ask("keep {{secret:mail}}").await.contains("secret_resolution_required"));
    assert!(chat.ask("keep {{secret:wiki}}").await.contains("bytes"));
    chat.ask("run {{secret:wiki}}").await;
    assert_eq!(chat.ask("yes").await, "`shell` runs.");
    assert!(chat.hear().await.contains("secret_resolution_required"));
    assert!(!chat.leave().await.join("\n").contains("mellon"));
    assert_eq!(std::fs::read_to_string(world.at("files/a.txt")).expect("written"), "mellon-wiki");
}
