//! Reactions that decide about calls, over every provider (orchestrator 3.5).

use trellis_tests::providers::{Author, FakeProvider, ProviderKind};

use crate::{
    held::RUNS,
    remote::{ALL, ANA, BEN, Remote},
    world::World,
};

// orchestrator 3.5: approve by an approver on the message that asked; answered by 👀; once, also where it is taken back and put again
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thumb_up_approves() {
    for kind in ALL {
        let (world, provider) = (World::new(RUNS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        provider.post(3, ANA, "run echo ran >> log");
        let question = chat.hear(3, "May I run this?").await;
        provider.react(question.n, ANA, if kind == ProviderKind::Slack { "👍🏽" } else { "👍" });
        chat.hear(3, "came:").await;
        chat.until_it("shows that it saw it", async |chat| chat.provider.reactions().contains(&question.n)).await;
        provider.take_back(question.n, ANA, "👍");
        provider.react(question.n, ANA, "✅");
        provider.post(3, ANA, "hello");
        chat.hear(3, "came: hello").await;
        chat.until_it("has acted on all", async |chat| chat.hands.queue.open_reactions().await.expect("asked").is_empty()).await;
        chat.stop().await;
        assert_eq!(std::fs::read_to_string(world.at("files/log")).expect("it ran"), "ran\n", "{kind:?}");
    }
}

// orchestrator 3.5, 10.3: a reaction by a stranger, by a bot, on another message
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_approves() {
    for kind in ALL {
        let (world, provider) = (World::new(RUNS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        let asked = provider.post(3, ANA, "run touch done");
        let question = chat.hear(3, "May I run this?").await;
        provider.react(asked, ANA, "👍");
        provider.react_at_once(question.n, &[(Author::OtherBot, "👍"), (Author::OtherBot, "🛑"), (Author::Own, "👍"), (BEN, "👍")]);
        chat.hear(3, "Sorry, you may not decide about that.").await;
        let held = chat.hands.queue.awaited_messages(provider.name()).await.expect("asked");
        assert_eq!(held.len(), 1, "{kind:?}");
        provider.react(question.n, ANA, "👎");
        chat.hear(3, "denied").await;
        assert_eq!(chat.said(3, "Sorry").len(), 1, "{kind:?}");
        chat.stop().await;
        assert!(!world.at("files/done").exists(), "{kind:?}");
    }
}

// orchestrator 3.5, source 003.4.3.1: several at once: approve > deny > defer > cancel
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_strongest_reaction_counts() {
    for kind in ALL {
        let (world, provider) = (World::new(RUNS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        provider.post(3, ANA, "run touch done");
        let question = chat.hear(3, "May I run this?").await;
        provider.react_at_once(question.n, &[(BEN, "🚫"), (ANA, "👎"), (ANA, "👍")]);
        chat.hear(3, r#""status":0"#).await;
        chat.stop().await;
        assert!(world.at("files/done").exists(), "{kind:?}");
    }
}

// orchestrator 3.5: cancel denies and stops the run, stop interrupts all runs of the chat; both by anyone who is heard
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anybody_cancels_and_stops() {
    for kind in ALL {
        for emoji in ["🚫", "🛑"] {
            let (world, provider) = (World::new(RUNS), FakeProvider::start(kind));
            world.settle(&provider, "");
            let chat = world.remote(&provider).await;
            let asked = provider.post(3, ANA, "run touch done");
            let question = chat.hear(3, "May I run this?").await;
            // Telegram tells of reactions to every message, and a stop counts on each.
            let on = if kind == ProviderKind::Telegram && emoji == "🛑" { asked } else { question.n };
            provider.react(on, BEN, emoji);
            chat.hear(3, "Stopped.").await;
            chat.until_it("shows that it saw it", async |chat| chat.provider.reactions().contains(&on)).await;
            let asks_nothing =
                async |chat: &Remote| chat.hands.queue.awaited_messages(chat.provider.name()).await.expect("asked").is_empty();
            chat.until_it("asks nothing more", asks_nothing).await;
            chat.stop().await;
            assert!(!world.at("files/done").exists(), "{kind:?} {emoji}");
        }
    }
}

// orchestrator 3.5: defer leaves it held and asks again later; the second question counts as the first
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deferred_is_asked_again() {
    for kind in ALL {
        let (world, provider) = (World::new(RUNS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        provider.post(3, ANA, "run touch done");
        let question = chat.hear(3, "May I run this?").await;
        provider.react(question.n, ANA, "⏳");
        chat.until_it("shows that it saw it", async |chat| chat.provider.reactions().contains(&question.n)).await;
        let asked = async |chat: &crate::remote::Remote| {
            let queue = &chat.hands.queue;
            queue.asked_by(provider.name(), &provider.chat(3), &provider.id(question.n)).await.expect("asked").expect("it waits")
        };
        chat.until_it("notes it", async |chat| asked(chat).await.again == 1).await;
        let now = trellis_orchestrator::message::now();
        let (due, next) = chat.hands.queue.due_questions(now).await.expect("asked");
        assert!(due.is_empty() && next.is_some_and(|next| next > now + 3_500_000), "{kind:?}: {next:?}");
        // The clock was set back by a day (orchestrator 8.3).
        assert_eq!(chat.hands.queue.due_questions(now - 86_400_000).await.expect("asked").0.len(), 1, "{kind:?}");
        // As if the hour were over.
        let call = asked(&chat).await.call;
        chat.hands.queue.ask_again(&call, 1).await.expect("noted");
        chat.hands.wake.notify_one();
        chat.until_it("asks again", async |chat| chat.said(3, "May I run this?").len() == 2).await;
        let again = chat.hear(3, "May I run this?").await;
        provider.react(again.n, ANA, "👍");
        chat.hear(3, r#""status":0"#).await;
        chat.stop().await;
        assert!(world.at("files/done").exists(), "{kind:?}");
    }
}

// orchestrator 3.5: what was read is acted on after a restart
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reaction_outlives_a_restart() {
    let (world, provider) = (World::new(RUNS), FakeProvider::start(ProviderKind::Telegram));
    world.settle(&provider, "");
    let chat = world.remote(&provider).await;
    provider.post(3, ANA, "run touch done");
    let question = chat.hear(3, "May I run this?").await;
    let queue = chat.hands.queue.clone();
    chat.stop().await;
    let reaction = trellis_orchestrator::channel::Reaction {
        place: trellis_orchestrator::message::ChatPlace::new("telegram", "3"),
        message: question.n.to_string(),
        sender: "1".to_owned(),
        name: "👍".to_owned(),
    };
    let read = vec![(reaction, trellis_orchestrator::config::Sign::Approve)];
    for _ in 0..2 {
        queue.store_all("telegram", Vec::new(), read.clone(), None, 1).await.expect("stored");
    }
    assert_eq!(queue.open_reactions().await.expect("asked").len(), 1);
    drop(queue);
    let chat = world.remote(&provider).await;
    chat.hear(3, r#""status":0"#).await;
    chat.stop().await;
    assert!(world.at("files/done").exists());
}
