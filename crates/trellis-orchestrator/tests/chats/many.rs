//! The bound of what runs at once over all chats (orchestrator 2.2).

use trellis_tests::providers::{FakeProvider, ProviderKind};

use crate::{held::RUNS, remote::ANA, world::World};

// orchestrator 2.2: `agent.runs` at once over all chats: the next one begins when one has ended, and commands wait for none
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_conversations_run_at_once() {
    let (world, provider) = (World::new(RUNS), FakeProvider::start(ProviderKind::Telegram));
    world.settle(&provider, "agent: { runs: 2 }\n");
    let chat = world.remote(&provider).await;
    let says = |chat: u64, text: &str| provider.post(chat, ANA, &format!("{} {text}", provider.mention()));
    for number in [3, 1] {
        says(number, &format!("run touch began{number}; until [ -e go ]; do sleep 0.05; done"));
        let question = chat.hear(number, "May I run this?").await;
        provider.react(question.n, ANA, "👍");
        while !world.at(&format!("files/began{number}")).exists() {
            tokio::task::yield_now().await;
        }
    }
    says(2, "hello");
    // The command closes the group before it, which is looked at first.
    says(2, "!render markdown");
    chat.hear(2, "Answers here come as markdown").await;
    assert!(chat.said(2, "came:").is_empty(), "two run already");
    std::fs::write(world.at("files/go"), "").expect("written");
    chat.hear(2, "came: hello").await;
    chat.stop().await;
}
