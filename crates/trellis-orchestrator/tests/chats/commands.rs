//! Commands of a chat (orchestrator 3.7, source 003.4.4.2).

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_answer_without_a_model() {
    // A model that nobody may ask.
    let world = World::new("[{ when: { contains: never }, reply: { content: asked } }]");
    let mut chat = world.chat().await;
    let help = chat.ask("/help").await;
    for command in ["help", "status", "stop", "render", "sessions", "memory", "secret", "cron"] {
        assert!(help.contains(&format!("`/{command}`")), "{help}");
    }
    assert_eq!(
        chat.ask("!HELP stop").await,
        "- `/stop` `[TASK]` stops what runs in this chat, or one task of it (also `/cancel`, `/중지`, `/취소`)"
    );
    assert_eq!(chat.ask("/도움말").await, help);
    let unknown = chat.ask("/nothing here").await;
    assert!(unknown.starts_with("There is no command `/nothing`.") && unknown.contains(&help), "{unknown}");
    assert_eq!(chat.ask("/status").await, "Nothing runs in this chat.");
    assert_eq!(chat.ask("/render html").await, "`/render markdown` or `/render plain`");
    assert_eq!(chat.ask("/render plain").await, "Answers here come as plain from now on.");
    assert_eq!(chat.ask("/memory").await, "The memory is empty.");
    std::fs::write(world.at("memory/MEMORY.md"), "- Ana likes tea\n").expect("written");
    assert_eq!(chat.ask("/memory search ana").await, "Found 1:\n- `MEMORY.md` - Ana likes tea");
    assert_eq!(chat.ask("/memory search milk").await, "Nothing of that is in the memory.");
    assert_eq!(chat.ask("/memory x").await, "`/memory`, `/memory today`, `/memory search TEXT` or `/memory consolidate`");
    let secrets = chat.ask("/secret ls").await;
    assert!(secrets.starts_with("No secrets"), "{secrets}");
    assert_eq!(
        chat.ask("/secret set Bad-Name value").await,
        "`Bad-Name` is no name for a secret: lower case letters, digits, `.`, `_` and `-`, at most 64."
    );
    assert_eq!(chat.ask("/secret rm wiki").await, "There is no secret `wiki`.");
    let sessions = chat.ask("/sessions 2~3").await;
    assert_eq!(sessions.lines().count(), 2, "{sessions}");
    assert!(sessions.contains("/secret rm wiki") && sessions.contains("There is no secret"), "{sessions}");
    assert_eq!(chat.ask("/sessions x").await, "`/sessions`, `/sessions 20` or `/sessions 5~10`, counted from the newest");
    chat.leave().await;
}

// orchestrator 1.4: fixed texts in the language of the settings
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_speaks_korean() {
    let world = World::new("");
    drop(world.open().await.expect("a workspace"));
    std::fs::write(world.at("orchestrator.yaml"), "locale: ko\n").expect("written");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("/상태").await, "이 대화에는 실행 중인 것이 없습니다.");
    assert!(chat.ask("/help").await.contains("명령을 보여 주거나"));
    chat.leave().await;
}
