//! The messages that a channel sends, through the outbox.

use std::{sync::Arc, time::Duration};

use trellis_host::secrets::Vault;
use trellis_orchestrator::{
    channel::Channel,
    message::{ChatPlace, Outgoing},
    outbound::{Channels, Outbox, SecretMask},
    queue::{Queue, RowState, is_later},
};
use trellis_tests::providers::{Author, FakeFile, FakeProvider, Fault, ProviderKind, Side};

use crate::world::{ALL, PATIENCE, Reader, channel};

/// An outbox before a channel.
struct Post {
    _folder: tempfile::TempDir,
    queue: Queue,
    outbox: Outbox,
    channels: Channels,
    provider: FakeProvider,
}

impl Post {
    fn new(kind: ProviderKind) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open_with_key_file(&folder.path().join("s.json"), &folder.path().join("m.key")).expect("a vault");
        let queue = Queue::open(&folder.path().join("queue.db")).expect("a queue");
        let outbox = Outbox::new(queue.clone(), SecretMask::new(Arc::new(vault)), "(again) ");
        let provider = FakeProvider::start(kind);
        let channel = channel(&provider, "[\"*\"]");
        let channels = [(provider.name().to_owned(), Arc::clone(&channel) as Arc<dyn Channel>)].into();
        Self { _folder: folder, queue, outbox, channels, provider }
    }

    async fn post(&self, chat: u64, key: &str, text: &str) {
        let place = ChatPlace::new(self.provider.name(), &self.provider.chat(chat));
        self.outbox.post(Outgoing::new(place, text, key)).await.expect("posted");
    }

    /// Sends until nothing waits: the texts that arrived in a chat.
    async fn flushed(&self, chat: u64) -> Vec<String> {
        let flushed = async {
            while !self.queue.is_flushed().await.expect("asked") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            failed = self.outbox.serve(&self.channels) => failed.expect("it goes on"),
            done = tokio::time::timeout(PATIENCE, flushed) => done.expect("it is sent in time"),
        }
        self.provider.sent().into_iter().filter(|message| message.chat == chat).map(|message| message.text).collect()
    }

    async fn dead(&self) -> Vec<String> {
        let dead = self.queue.in_state(RowState::Dead).await.expect("rows");
        dead.into_iter().map(|row| row.error.expect("a reason").0).collect()
    }
}

// orchestrator 7.1, 7.2: in order, each once, with the receipt of the provider; what the provider wants to wait is waited, and no chat asks meanwhile
#[tokio::test]
async fn a_provider_that_is_busy_is_left_alone() {
    for kind in ALL {
        let post = Post::new(kind);
        post.provider.fail(Side::Write, &[Fault::TooMany(1)]);
        post.post(1, "a", "one").await;
        post.flushed(1).await;
        for (key, text) in [("b", "two"), ("c", "three")] {
            post.post(1, key, text).await;
            post.post(2, &format!("{key}2"), text).await;
        }
        let sent = post.flushed(1).await;
        assert_eq!(sent, ["one", "two", "three"], "{kind:?}");
        assert_eq!(post.flushed(2).await, ["two", "three"], "{kind:?}");
        assert_eq!((post.provider.early(), post.dead().await.len()), (0, 0), "{kind:?}");
        assert_eq!(post.queue.row_by_key("a").await.expect("a row").expect("there").attempts, 2, "{kind:?}");
    }
}

// orchestrator 4: `Retry-After` rules the pace of all chats of Slack together: what waits is no attempt of theirs
#[tokio::test]
async fn one_answer_holds_all_chats_of_slack() {
    let post = Post::new(ProviderKind::Slack);
    post.provider.fail(Side::Write, &[Fault::TooMany(1)]);
    post.post(1, "a", "one").await;
    let busy = async {
        while post.provider.requests("chat.postMessage") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        post.post(2, "b", "two").await;
    };
    let ((), sent) = tokio::join!(busy, async { post.flushed(1).await });
    assert_eq!((sent, post.flushed(2).await), (vec!["one".to_owned()], vec!["two".to_owned()]));
    assert_eq!((post.provider.early(), post.provider.requests("chat.postMessage")), (0, 3));
    assert_eq!(post.queue.row_by_key("b").await.expect("a row").expect("there").attempts, 1);
}

// orchestrator 7.2: what may have arrived is marked when it is sent again; Discord knows it by its nonce
#[tokio::test]
async fn what_may_have_arrived_is_marked() {
    for kind in ALL {
        let post = Post::new(kind);
        post.provider.fail(Side::Write, &[Fault::Cut]);
        post.post(1, "a", "hello").await;
        let sent = post.flushed(1).await;
        if kind == ProviderKind::Discord {
            assert_eq!(sent, ["hello"]);
        } else {
            assert_eq!(sent, ["hello", "(again) hello"], "{kind:?}");
        }
        post.provider.fail(Side::Write, &[Fault::Unavailable]);
        post.post(2, "b", "later").await;
        // What was unavailable took nothing.
        assert_eq!(post.flushed(2).await, ["later"], "{kind:?}");
    }
}

// orchestrator 7.1: every terminal failure is a dead letter, at once, by its name
#[tokio::test]
async fn a_vanished_chat_is_a_dead_letter() {
    for kind in ALL {
        let post = Post::new(kind);
        post.provider.vanish(1);
        post.post(1, "a", "hello").await;
        post.post(2, "b", "hello").await;
        assert_eq!(post.flushed(2).await, ["hello"], "{kind:?}");
        assert_eq!(post.dead().await, ["channel_not_found"], "{kind:?}");
    }
}

// orchestrator 4.1: parts of each provider's length; a part that arrived is not sent again
#[tokio::test]
async fn a_long_text_comes_in_parts() {
    for (kind, most) in [(ProviderKind::Slack, 3200), (ProviderKind::Telegram, 3500), (ProviderKind::Discord, 2000)] {
        let post = Post::new(kind);
        let text: String = (0..400).map(|line| format!("{line} 👍 a line of **some** length\n")).collect();
        post.provider.fail(Side::Write, &[Fault::Unavailable]);
        post.post(1, "a", &text).await;
        post.post(1, "a", &text).await;
        let sent = post.flushed(1).await;
        assert!(sent.len() > 3 && sent.iter().all(|part| part.matches("👍").count() * 24 < most), "{kind:?}: {}", sent.len());
        let lines: Vec<&str> =
            sent.iter().flat_map(|part| part.lines()).filter_map(|line| line.split(' ').find(|word| word.parse::<u32>().is_ok())).collect();
        let expected: Vec<String> = (0..400).map(|line| line.to_string()).collect();
        assert_eq!(lines, expected, "{kind:?}");
        assert!(post.dead().await.is_empty(), "{kind:?}");
    }
}

// orchestrator 10.3: what a model says calls nobody, and is no markup
#[tokio::test]
async fn an_answer_calls_nobody() {
    let said = "<!channel> <!here> @everyone <b>x</b> **bold** `a < b`";
    for (kind, expected) in [
        (ProviderKind::Slack, "&lt;!channel&gt; &lt;!here&gt; @everyone &lt;b&gt;x&lt;/b&gt; *bold* `a &lt; b`"),
        (ProviderKind::Telegram, "&lt;!channel&gt; &lt;!here&gt; @everyone &lt;b&gt;x&lt;/b&gt; <b>bold</b> <code>a &lt; b</code>"),
        (ProviderKind::Discord, said),
    ] {
        let post = Post::new(kind);
        post.post(1, "a", said).await;
        assert_eq!(post.flushed(1).await, [expected], "{kind:?}");
        let body = post.provider.sent()[0].body.clone();
        if kind == ProviderKind::Discord {
            assert_eq!(body["allowed_mentions"], serde_json::json!({ "parse": [] }));
        }
        post.queue.set(post.provider.name(), &post.provider.chat(1), "render", "plain").await.expect("set");
        post.post(1, "b", "**not bold**").await;
        assert!(post.flushed(1).await[1].starts_with("**not bold**"), "{kind:?}");
    }
}

// orchestrator 3.9: 👀 and typing; Slack shows a bot no typing
#[tokio::test]
async fn reading_is_acknowledged() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        let n = provider.post(3, Author::Person(1), "hello");
        reader.until("hello").await;
        let message = reader.heard[0].clone();
        reader.channel.react(&message.place, &message.id).await.expect("it reacts");
        reader.channel.set_typing(&message.place).await.expect("it shows it");
        assert_eq!(provider.reactions(), [n], "{kind:?}");
        assert_eq!(provider.typing(), usize::from(kind != ProviderKind::Slack), "{kind:?}");
    }
}

// orchestrator 3.6: receipts tell which of two messages was said first
#[tokio::test]
async fn receipts_are_in_order() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let channel = channel(&provider, "[\"*\"]");
        let before = provider.post(3, Author::Person(1), "yes");
        for _ in 0..20 {
            provider.post(3, Author::Person(1), "…");
        }
        let message = Outgoing::new(ChatPlace::new(provider.name(), &provider.chat(3)), "May I?", "k");
        let receipt = channel.send(&message, Default::default()).await.expect("sent");
        let after = provider.post(3, Author::Person(1), "yes");
        assert!(!is_later(&provider.id(before), &receipt) && is_later(&provider.id(after), &receipt), "{kind:?}: {receipt}");
        assert!(!is_later(&receipt, &receipt) && is_later("1-1", ""));
    }
}

// orchestrator 4.1: above 14,000 characters one text attachment with a first part that says so; what may have arrived is marked by its name
#[tokio::test]
async fn a_very_long_text_is_a_file() {
    for (kind, most) in [(ProviderKind::Slack, 3200), (ProviderKind::Telegram, 3500), (ProviderKind::Discord, 2000)] {
        let post = Post::new(kind);
        let text: String = (0..1400).map(|line| format!("{line} a *line*\n")).collect();
        post.post(1, "a", &text).await;
        post.post(1, "a", &text).await;
        post.post(1, "b", "short").await;
        assert_eq!(post.flushed(1).await.len(), 3, "{kind:?}");
        let sent = post.provider.sent();
        let first = &sent[0].text;
        let said = format!("The whole answer has {} characters; it comes as the file", text.chars().count());
        assert!(first.starts_with("0 a ") && first.contains(&said) && first.encode_utf16().count() <= most, "{kind:?}: {first}");
        assert_eq!(sent[1].files, [FakeFile::new("answer.md", &text)], "{kind:?}");
        assert_eq!((&*sent[2].text, post.dead().await.len()), ("short", 0), "{kind:?}");
        if kind == ProviderKind::Telegram {
            post.post(2, "c", "x").await;
            post.flushed(2).await;
            post.provider.fail(Side::Write, &[Fault::Cut]);
            let place = ChatPlace::new(post.provider.name(), &post.provider.chat(2));
            let file = Outgoing { file: Some("notes.md".to_owned()), ..Outgoing::new(place, "hello", "d") };
            post.outbox.post(file).await.expect("posted");
            post.flushed(2).await;
            let names: Vec<String> = post
                .provider
                .sent()
                .iter()
                .filter(|message| message.chat == 2)
                .flat_map(|message| message.files.iter().map(|file| file.name.clone()))
                .collect();
            assert_eq!(names, ["notes.md", "(again) notes.md"]);
        }
    }
}

// orchestrator 4.1: up to 14,000 characters a text comes in parts
#[tokio::test]
async fn a_text_of_the_limit_comes_in_parts() {
    let post = Post::new(ProviderKind::Slack);
    post.post(1, "a", &"x".repeat(14_000)).await;
    let sent = post.flushed(1).await;
    assert!(sent.len() > 4 && sent.concat().len() == 14_000, "{}", sent.len());
}
