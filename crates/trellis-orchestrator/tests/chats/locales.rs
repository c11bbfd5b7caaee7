//! Answers of commands in Korean, whatever is typed (orchestrator 1.4).

use std::fs;

use serde_json::json;

use crate::world::World;

/// Words in English that stand in a text outside of code. What has no small letter is the name of a zone.
fn english(text: &str) -> Vec<String> {
    let said: Vec<&str> = text.split('`').step_by(2).collect();
    let words = said.iter().flat_map(|part| part.split(|char: char| !char.is_ascii_alphabetic()));
    let is_word = |word: &&str| word.len() > 2 && word.contains(|char: char| char.is_ascii_lowercase()) && *word != "OpenAI";
    words.filter(is_word).map(str::to_owned).collect()
}

/// A world with 200 schedules that speaks Korean.
async fn world() -> World {
    let world = World::new("");
    drop(world.opened().await);
    fs::write(world.at("orchestrator.yaml"), "locale: ko\n").expect("written");
    let job = |id: usize| {
        json!({ "id": format!("{id:06}"), "name": "차", "kind": "every", "every_ms": 3_600_000, "prompt": "차", "provider": "terminal",
            "chat": "terminal", "enabled": false, "created_at": 1, "next_at": null, "runs": 0, "created_by": "terminal:ana" })
    };
    let jobs = json!({ "version": 1, "jobs": (0..200).map(job).collect::<Vec<_>>() });
    fs::create_dir_all(world.at("runtime/cron")).expect("made");
    fs::write(world.at("runtime/cron/cron-store.json"), jobs.to_string()).expect("written");
    world
}

// orchestrator 1.4: what a graph does not take is said in the chat's language, with the reason as the engine gives it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    let world = world().await;
    let node = |name: &str, text: &str| fs::write(world.graph().join(name), text).expect("written");
    let start = fs::read_to_string(world.graph().join("start.md")).expect("read");
    node("start.md", &start.replace("  - to: agent_loop", "  - { condition: text == \"주문\", to: count }\n  - to: agent_loop"));
    node("count.md", "---\ninput_type: int\nsave_to: count\nto: ordered\n---\n몇 잔?\n");
    node("ordered.md", "---\ndo: { name: message, args: { text: \"{{ count }} 잔\" } }\nto: over\n---\n");
    node("over.md", "---\noutput: { status: completed }\n---\n");
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("주문").await, "몇 잔?");
    let refused = chat.ask("많이").await;
    assert!(refused.contains("다시 답해 주세요") && english(&refused).is_empty() && refused.contains("whole number"), "{refused}");
    assert_eq!(chat.ask("2").await, "2 잔");
    chat.leave().await;
}

// orchestrator 1.4: every command with what it takes and with what it does not; orchestrator 8.1: a 201st schedule is refused, and the chat is told why
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_answers_in_english() {
    let world = world().await;
    let mut chat = world.chat().await;
    for typed in [
        "/cron",
        "/cron add every 1s \"차\"",
        "/cron add at 어제 \"차\"",
        "/cron add at 2020-01-01T00:00 \"차\"",
        "/cron add \"0 0 31 2 *\" \"차\"",
        "/cron add \"* * * * *\" tz=Mars/Olympus \"차\"",
        "/cron add \"* * *\" \"차\"",
        "/cron add \"60 * * * *\" \"차\"",
        "/cron add \"*/0 * * * *\" \"차\"",
        "/cron add \"5-1 * * * *\" \"차\"",
        "/cron add every 2h \"차\"",
        "/cron rm 없음",
        "/cron run 없음",
        "/cron pause 000001",
        "/help",
        "/help cron",
        "/없음",
        "/memory",
        "/memory today",
        "/memory x",
        "/memory search 우유",
        "/render",
        "/render plain",
        "/secret",
        "/secret ls",
        "/secret set Bad-Name value",
        "/secret set wiki mellon77fish",
        "/secret ls",
        "/secret rm wiki",
        "/secret rm wiki",
        "/sessions x",
        "/status",
        "/stop",
        "/stop abcdef",
        "안녕하세요 {{secret:nobody}}",
        "안녕하세요",
    ] {
        let said = chat.ask(typed).await;
        assert_eq!(english(&said), [""; 0], "{typed}: {said}");
        let is_code = !said.split('`').step_by(2).any(|part| part.contains(char::is_alphabetic));
        assert!(is_code || said.contains(|char| ('가'..='힣').contains(&char)), "{typed}: {said}");
    }
    let full = chat.ask("/cron add every 2h \"차\"").await;
    assert!(full.contains("200개") && full.contains("`/cron rm ID`"), "{full}");
    // Where one is gone, there is room for another.
    chat.ask("/cron rm 000199").await;
    let added = chat.ask("/cron add every 2h \"차\"").await;
    assert!(added.starts_with("예약했습니다: `"), "{added}");
    chat.say("/memory consolidate");
    for said in [chat.hear().await, chat.hear().await] {
        assert_eq!(english(&said), [""; 0], "{said}");
    }
    chat.leave().await;
}
