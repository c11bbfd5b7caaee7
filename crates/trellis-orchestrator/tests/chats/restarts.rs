//! A service that is started again while the rest goes on (orchestrator 8.3).

use std::fs;

use trellis_server::{HostNames, Settings, Tokens};
use trellis_tests::providers::{FakeProvider, ProviderKind};

use crate::{
    held::{RUNS_TWO, id_of},
    remote::ANA,
    world::World,
};

/// A request that runs until the file `go` is there.
const UNTIL_GO: &str = "both until [ -e go ]; do sleep 0.05; done";

// orchestrator 3.6, 8.3: a decision that the agent had begun to carry out is carried out by the agent that is started next
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_outlives_the_agent() {
    let world = World::new(RUNS_TWO);
    let mut chat = world.chat().await;
    let questions = [chat.ask(UNTIL_GO).await, chat.hear().await];
    let place = questions.iter().position(|question| question.contains("touch one")).expect("it is asked for");
    assert_eq!(chat.ask(&format!("yes {}", id_of(&questions[place]))).await, "`shell` runs.");
    chat.say(&format!("yes {}", id_of(&questions[1 - place])));
    // What came before this command was looked at.
    chat.say("/render markdown");
    while chat.hear().await != "Answers here come as markdown from now on." {}
    chat.supervisor.restart("agent").await.expect("it is known");
    fs::write(world.at("files/go"), "").expect("written");
    let heard = chat.leave().await;
    assert_eq!(heard.iter().filter(|said| *said == "`shell` runs.").count(), 2, "{heard:?}");
    assert!(heard.last().is_some_and(|last| last.starts_with("came:")), "{heard:?}");
    assert!(world.at("files/one").exists() && world.at("files/two").exists());
}

// orchestrator 3.5, 8.3: the same of a reaction
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reaction_outlives_the_agent() {
    let (world, provider) = (World::new(RUNS_TWO), FakeProvider::start(ProviderKind::Telegram));
    world.settle(&provider, "");
    let chat = world.remote(&provider).await;
    provider.post(3, ANA, UNTIL_GO);
    chat.until_it("asks twice", async |chat| chat.said(3, "May I run this?").len() == 2).await;
    let (first, second) = (chat.hear(3, "touch one").await, chat.hear(3, "touch two").await);
    provider.react(first.n, ANA, "👍");
    chat.until_it("shows that it saw it", async |chat| chat.provider.reactions().contains(&first.n)).await;
    provider.react(second.n, ANA, "👍");
    let is_open = async || !chat.hands.queue.open_reactions().await.expect("asked").is_empty();
    chat.until_it("stores the reaction", async |_| is_open().await).await;
    // What came before this command was looked at.
    provider.post(3, ANA, "!render markdown");
    chat.hear(3, "Answers here come as markdown").await;
    assert!(is_open().await, "it waits for the call that runs");
    chat.supervisor.restart("agent").await.expect("it is known");
    fs::write(world.at("files/go"), "").expect("written");
    chat.hear(3, "came:").await;
    chat.until_it("has acted on it", async |_| !is_open().await).await;
    chat.stop().await;
    assert!(world.at("files/one").exists() && world.at("files/two").exists());
}

// orchestrator 8.4: a page holds an end up for no longer than the sessions that it shows
#[tokio::test]
async fn a_page_gives_what_runs_the_time_of_sessions() {
    let world = World::new("");
    let mut orchestrator = world.opened().await;
    let (_, tokens) = Tokens::random().expect("tokens");
    let names = HostNames::local("127.0.0.1:7317".parse().expect("an address"));
    let dashboard = orchestrator.dashboard(Settings::new(tokens, names), true).await;
    assert_eq!(dashboard.server().bounds().grace, std::time::Duration::from_secs(1));
}
