//! The messages that a channel reads, and those that it leaves.

use std::collections::BTreeSet;

use trellis_tests::providers::{Author, FakeProvider, Fault, ProviderKind, Side};

use crate::world::{ALL, Reader, check};

const ANA: Author = Author::Person(1);
const BEN: Author = Author::Person(2);

// orchestrator 4.1, 10.2, source 003.11.1: more than one page, over several chats, each message once and in order
#[tokio::test]
async fn pages_are_read_to_their_end() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        let numbers: Vec<u64> = (0..8).map(|number| provider.post(3, ANA, &format!("message {number}"))).collect();
        provider.post(1, BEN, &format!("{} last", provider.mention()));
        let texts = reader.until("last").await;
        let expected: Vec<String> = (0..8).map(|number| format!("message {number}")).chain(["last".to_owned()]).collect();
        assert_eq!(texts, expected, "{kind:?}");
        let first = &reader.heard[0];
        assert_eq!(
            (&first.place.chat, &first.sender, &first.id),
            (&provider.chat(3), &provider.user(1), &provider.id(numbers[0])),
            "{kind:?}"
        );
        assert_eq!(
            (&*first.sender_name, &*first.place.provider, first.place.thread.is_none()),
            ("Person 1", provider.name(), true),
            "{kind:?}"
        );
        assert!(first.at > 1_600_000_000_000, "{kind:?}: {}", first.at);
        // An answer in a channel of Slack goes into the thread of what was said.
        let last = reader.heard.last().expect("a message");
        assert_eq!(last.place.thread.as_ref() == Some(&last.id), kind == ProviderKind::Slack, "{kind:?}: {last:?}");
    }
}

// orchestrator 9: the cursor of before is read again after a crash, and the same messages have the same keys
#[tokio::test]
async fn a_cursor_goes_on_after_a_restart() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        let before = reader.cursor.clone();
        provider.post(3, ANA, "one");
        reader.until("one").await;
        // Messages that were read and not stored: Telegram has them until it is asked for later ones.
        let mut again = Reader { cursor: before, ..Reader::ready(&provider, "[\"*\"]").await };
        again.until("one").await;
        assert_eq!(again.heard[0].key(), reader.heard[0].key(), "{kind:?}");
        provider.post(3, ANA, "two");
        let mut later = Reader { cursor: reader.cursor.clone(), ..Reader::ready(&provider, "[\"*\"]").await };
        assert_eq!(later.until("two").await, ["two"], "{kind:?}");
    }
}

// what was said before the agent was there is not for it; Telegram hands over what was said to its bot since
#[tokio::test]
async fn old_messages_are_not_answered() {
    for kind in [ProviderKind::Slack, ProviderKind::Discord] {
        let provider = FakeProvider::start(kind);
        provider.post(3, ANA, "long ago");
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        provider.post(3, ANA, "now");
        assert_eq!(reader.until("now").await, ["now"], "{kind:?}");
    }
}

// orchestrator 4, 10.2: 429 in the words of each provider, 5xx, half an answer
#[tokio::test]
async fn what_passes_is_waited_for() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        for number in 0..8 {
            provider.post(3, ANA, &format!("message {number}"));
        }
        provider.fail(Side::Read, &[Fault::TooMany(1), Fault::Unavailable, Fault::Cut, Fault::TooMany(1)]);
        let texts = reader.until("message 7").await;
        let unique: BTreeSet<&String> = texts.iter().collect();
        assert_eq!((texts.len(), unique.len(), provider.early()), (8, 8, 0), "{kind:?}: {texts:?}");
    }
}

// orchestrator 3.1: own messages and those of bots are never heard, strangers neither; elsewhere a mention or an alias is needed
#[tokio::test]
async fn who_is_heard() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let allow = format!("[\"{}\", \"{}\"]", provider.user(1), provider.chat(2));
        let mut reader = Reader::ready(&provider, &allow).await;
        let mention = provider.mention();
        for chat in [1, 2, 3] {
            for author in [Author::OtherBot, Author::Own] {
                provider.post(chat, author, &format!("{mention} a bot"));
            }
        }
        provider.post(1, BEN, &format!("{mention} a stranger"));
        provider.post(3, BEN, "a stranger");
        provider.post(1, ANA, "to somebody else");
        provider.post(1, ANA, &format!("{mention}, /help me"));
        provider.post(2, BEN, "@agent who is that");
        provider.post(3, ANA, "the end");
        let texts = reader.until("the end").await;
        assert_eq!(texts, ["/help me", "who is that", "the end"], "{kind:?}");
    }
}

// orchestrator 3.1: a thread in which the agent was mentioned; where there are none, a reply to it
#[tokio::test]
async fn a_thread_goes_on_without_a_mention() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        let root = provider.post(1, ANA, &format!("{} hello", provider.mention()));
        reader.until("hello").await;
        let root = if kind == ProviderKind::Slack { root } else { provider.post(1, Author::Own, "hello Ana") };
        let other = provider.post(1, BEN, "lunch?");
        provider.post_in(1, Some(other), ANA, "yes");
        provider.post_in(1, Some(root), BEN, "one more");
        provider.post(3, ANA, "aside");
        reader.until("aside").await;
        let texts = reader.until("one more").await;
        assert_eq!(texts.iter().filter(|text| *text == "yes").count(), 0, "{kind:?}: {texts:?}");
        let place = |words: &str| reader.heard.iter().find(|message| message.text == words).map(|message| message.place.clone());
        assert_eq!(place("one more"), place("hello"), "{kind:?}");
    }
}

// orchestrator 3.2: an edit begins nothing, and what is deleted disturbs nobody
#[tokio::test]
async fn edits_and_deletions_are_no_messages() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        let first = provider.post(3, ANA, "frist");
        let second = provider.post(3, ANA, "second");
        reader.until("second").await;
        provider.edit(first, "first");
        provider.delete(second);
        provider.post(3, ANA, "third");
        let mut edits = Vec::new();
        while !reader.texts().contains(&"third".to_owned()) {
            edits.extend(reader.read().await.expect("it reads").edits);
        }
        assert_eq!(reader.texts(), ["frist", "second", "third"], "{kind:?}");
        // Only Telegram tells of an edit to those who ask.
        let edits: Vec<(String, String)> = edits.into_iter().map(|edit| (edit.key(), edit.text)).collect();
        let expected = [(reader.heard[0].key(), "first".to_owned())];
        assert_eq!(edits, if kind == ProviderKind::Telegram { expected.to_vec() } else { Vec::new() }, "{kind:?}");
    }
}

// orchestrator 4.1, 10.2: a chat that is gone is said, and stops no other
#[tokio::test]
async fn a_vanished_chat_stops_no_other() {
    for kind in [ProviderKind::Slack, ProviderKind::Discord] {
        let provider = FakeProvider::start(kind);
        let mut reader = Reader::ready(&provider, "[\"*\"]").await;
        provider.vanish(1);
        provider.post(3, ANA, "still here");
        reader.until("still here").await;
        let told = reader.troubles.first().expect("it is told");
        assert!(told.code == "channel_not_found" && told.message.contains(&provider.chat(1)), "{kind:?}: {told:?}");
        [2, 3].into_iter().for_each(|chat| provider.vanish(chat));
        assert_eq!(reader.read().await.expect_err("nothing can be read").code, "channel_not_found", "{kind:?}");
    }
}

// orchestrator 1.1: `--check` asks who the token belongs to; 4: a webhook and a missing intent are said at the start
#[tokio::test]
async fn a_check_finds_what_is_in_the_way() {
    for kind in ALL {
        let provider = FakeProvider::start(kind);
        assert_eq!(check(&provider, trellis_tests::providers::TOKEN).await, Vec::<String>::new(), "{kind:?}");
        let wrong = check(&provider, "hunter2-hunter2").await;
        let is_told = |words: &str| wrong[0].to_lowercase().contains(words);
        assert!(wrong.len() == 1 && (is_told("invalid_auth") || is_told("unauthorized")), "{kind:?}: {wrong:?}");
        assert!(!wrong[0].contains("hunter2"), "{wrong:?}");
        let strange = check(&provider, "a b").await;
        assert!(strange[0].contains("a character that no token has") && !strange[0].contains("a b"), "{strange:?}");
        provider.set_webhook();
        provider.withhold_content();
        let found = check(&provider, trellis_tests::providers::TOKEN).await;
        match kind {
            ProviderKind::Slack => assert_eq!(found, Vec::<String>::new()),
            ProviderKind::Telegram => assert!(found.len() == 1 && found[0].contains("webhook"), "{found:?}"),
            ProviderKind::Discord => assert!(found.len() == 1 && found[0].contains("message content intent"), "{found:?}"),
        }
    }
    let provider = FakeProvider::start(ProviderKind::Telegram);
    provider.set_webhook();
    let error = Reader::ready(&provider, "[\"*\"]").await.read().await.expect_err("it cannot be read");
    assert!(error.code == "webhook_set" && error.message.contains("deleteWebhook"), "{error:?}");
}
