//! Scheduled work (orchestrator 8.1).

use crate::world::World;

const ECHOES: &str = "[{ reply: { content: 'you said {{ last.content }}' } }]";

/// The id in an answer to `/cron add`.
fn id_of(answer: &str) -> String {
    answer.split('`').nth(1).expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_says_its_prompt_to_the_agent() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    assert_eq!(chat.ask("/cron ls").await, "Nothing is scheduled.");
    let added = chat.ask("/cron add \"0 9 * * 1-5\" tz=Asia/Seoul \"the morning report\"").await;
    assert!(added.contains("09:00 KST: the morning report"), "{added}");
    let id = id_of(&added);
    assert!(chat.ask("/예약 ls").await.contains(&id));
    let (one, other) = (chat.ask(&format!("/cron run {id}")).await, chat.hear().await);
    let mut both = [one, other];
    both.sort_unstable();
    assert_eq!(both, [format!("Done: `{id}`."), "you said the morning report".to_owned()]);
    assert_eq!(chat.ask(&format!("/cron pause {id}")).await, format!("Done: `{id}`."));
    assert!(chat.ask("/cron ls").await.contains("→ –"));
    assert_eq!(chat.ask(&format!("/cron rm {id}")).await, format!("Done: `{id}`."));
    assert_eq!(chat.ask(&format!("/cron rm {id}")).await, format!("There is no job `{id}`."));
    for (bad, why) in [
        ("/cron add \"0 0 31 2 *\" x", "never happens"),
        ("/cron add every 1s x", "at least 10s"),
        ("/cron add at 2020-01-01T00:00 x", "never happens"),
        ("/cron add \"* * * * *\" tz=Mars/Olympus x", "no time zone"),
        ("/cron add", "/cron add"),
    ] {
        let said = chat.ask(bad).await;
        assert!(said.contains(why), "{bad}: {said}");
    }
    chat.leave().await;
}

// a job whose moment passed while nothing ran comes at the start, once; what it says is no command and no approval
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_comes_at_the_start() {
    let world = World::new(ECHOES);
    let mut chat = world.chat().await;
    let id = id_of(&chat.ask("/cron add every 1h \"/secret ls\"").await);
    chat.leave().await;
    let file = world.at("runtime/cron/cron-store.json");
    let mut store: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).expect("read")).expect("JSON");
    assert_eq!((&store["jobs"][0]["id"], &store["version"]), (&id.into(), &1.into()));
    store["jobs"][0]["next_at"] = 1000.into();
    std::fs::write(&file, store.to_string()).expect("written");
    for _ in 0..2 {
        let mut chat = world.chat().await;
        chat.say("hello");
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        chat.leave().await;
    }
    let workspace = trellis_orchestrator::workspace::Workspace::open(&world.at(""), &world.graph()).expect("a workspace");
    let place = trellis_orchestrator::message::ChatPlace::new("terminal", "terminal");
    let said = trellis_orchestrator::workspace::History::of(&workspace).newest(&place, 99, |_| true).expect("read");
    assert_eq!(said.iter().filter(|said| said.text == "you said /secret ls").count(), 1, "{said:#?}");
}
