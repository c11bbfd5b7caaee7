//! Sending, with channels that fail in every way.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use trellis_host::secrets::Vault;

use super::*;
use crate::{channel::Batch, message::ChatPlace, queue::RowState};

/// A channel that fails as it is told, and notes what it sends.
#[derive(Default)]
struct Fake {
    failures: Mutex<Vec<ChannelError>>,
    /// Releases the messages of the chat `slow`, which wait for it.
    slow: Notify,
    sent: Mutex<Vec<String>>,
}

#[async_trait]
impl Channel for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn grouping(&self) -> Duration {
        Duration::ZERO
    }

    async fn read(&self, _: Option<&str>) -> Result<Batch, ChannelError> {
        std::future::pending().await
    }

    async fn send(&self, message: &Outgoing, _: Rendering) -> Result<String, ChannelError> {
        if message.place.chat == "slow" {
            self.slow.notified().await;
        }
        let failure = self.failures.lock().expect("no panic").pop();
        match failure {
            Some(error) => Err(error),
            None => {
                if message.place.chat == "quick" {
                    self.slow.notify_one();
                }
                self.sent.lock().expect("no panic").push(message.text.clone());
                Ok("receipt".to_owned())
            }
        }
    }
}

/// Posts messages to a channel with these failures, and waits until none waits; returns the sent ones, and the outbox.
async fn sent(failures: Vec<ChannelError>, texts: &[(&str, &str)]) -> (tempfile::TempDir, Vec<String>, Queue) {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = Vault::open_with_key_file(&folder.path().join("s.json"), &folder.path().join("m.key")).expect("a vault");
    vault.set("crm", "hunter2").expect("set");
    let queue = Queue::open(&folder.path().join("queue.db")).expect("a queue");
    let outbox = Outbox::new(queue.clone(), SecretMask::new(Arc::new(vault)), "(again) ");
    let fake = Arc::new(Fake { failures: Mutex::new(failures), ..Fake::default() });
    let channels: Channels = [("fake".to_owned(), Arc::clone(&fake) as Arc<dyn Channel>)].into();
    for (chat, text) in texts {
        let (provider, chat) = chat.split_once('/').unwrap_or(("fake", chat));
        let message = Outgoing::new(ChatPlace::new(provider, chat), *text, format!("{chat}{text}"));
        outbox.post(message).await.expect("posted");
    }
    let flushed = async {
        while !queue.is_flushed().await.expect("asked") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        failed = outbox.serve(&channels) => failed.expect("it goes on"),
        () = flushed => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("it takes too long"),
    }
    let sent = fake.sent.lock().expect("no panic").clone();
    (folder, sent, queue)
}

// orchestrator 7.1: values of the vault are redacted; order within a chat
#[tokio::test]
async fn messages_arrive_in_order_without_secrets() {
    let (_folder, sent, _) = sent(Vec::new(), &[("a", "one hunter2"), ("a", "two"), ("a", "three")]).await;
    assert_eq!(sent, ["one ***", "two", "three"]);
}

// orchestrator 7.2: another chat does not wait, also not for what comes while one is slow
#[tokio::test]
async fn a_slow_chat_holds_up_no_other() {
    let (_folder, sent, _) = sent(Vec::new(), &[("slow", "one"), ("slow", "three"), ("quick", "two"), ("quick", "four")]).await;
    assert_eq!(sent.iter().position(|text| text == "two"), Some(0), "{sent:?}");
    let place = |text: &str| sent.iter().position(|said| said == text).expect("it is sent");
    assert!(place("one") < place("three") && sent.len() == 4, "{sent:?}");
}

// orchestrator 7.2: what may have arrived is marked, also where it is put back; what waits by itself was no attempt
#[tokio::test]
async fn an_attempt_that_may_have_arrived_is_marked() {
    let cut = || ChannelError::new("cut", "it broke off").reaching(Reach::Unknown);
    let paused = ChannelError::new("paused", "later").after(Duration::from_millis(20)).reaching(Reach::Unsent);
    let (_folder, sent, queue) = sent(vec![paused.clone(), cut(), cut(), cut(), paused], &[("a", "one")]).await;
    assert_eq!(sent, ["(again) one"]);
    let row = queue.row_by_key("aone").await.expect("a row").expect("there");
    assert_eq!((row.attempts, &*row.message.text), (2, "(again) one"));
}

// orchestrator 7.1, source 003.6.1: three attempts in a row
#[tokio::test]
async fn what_passes_is_tried_again_at_once() {
    let (_folder, sent, queue) = sent(vec![ChannelError::new("http-503", "later"); 2], &[("a", "one")]).await;
    assert_eq!(sent, ["one"]);
    assert_eq!(queue.row_by_key("aone").await.expect("a row").expect("there").attempts, 1);
}

// orchestrator 7.1: put back with a delay, in order; 7.2: what comes behind waits
#[tokio::test]
async fn what_fails_longer_is_put_back() {
    let began = Instant::now();
    let (_folder, sent, queue) = sent(vec![ChannelError::new("http-503", "later"); 3], &[("a", "one"), ("a", "two")]).await;
    assert_eq!(sent, ["one", "two"]);
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
    assert_eq!(queue.row_by_key("aone").await.expect("a row").expect("there").attempts, 2);
}

// orchestrator 7.1: what the provider asks for is waited for, without attempts in between
#[tokio::test]
async fn a_provider_that_asks_for_time_gets_it() {
    let began = Instant::now();
    let error = ChannelError::new("http-429", "slow down").after(Duration::from_millis(300));
    let (_folder, sent, _) = sent(vec![error], &[("a", "one"), ("b", "other")]).await;
    assert!(sent.contains(&"one".to_owned()) && began.elapsed() >= Duration::from_millis(300), "{sent:?}");
}

// orchestrator 7.1: what cannot be sent is dead at once, and stops nobody
#[tokio::test]
async fn what_cannot_be_sent_is_a_dead_letter() {
    let error = ChannelError::new("msg_too_long", "too long").finally();
    let (_folder, sent, queue) = sent(vec![error], &[("a", "one"), ("a", "two"), ("gone/x", "three")]).await;
    assert_eq!(sent, ["two"]);
    let dead = queue.in_state(RowState::Dead).await.expect("rows");
    let codes: Vec<_> = dead.into_iter().map(|row| (row.message.text, row.error.expect("a reason").0)).collect();
    assert_eq!(codes, [("one".to_owned(), "msg_too_long".to_owned()), ("three".to_owned(), "channel_not_found".to_owned())]);
}

// orchestrator 7.1: 700 · 2^(n−1) ms, at most a minute, jitter of 0 to 20 %
#[test]
fn the_wait_grows_to_its_cap() {
    for (tried, base) in [(1, 700), (2, 1400), (3, 2800), (6, 22_400), (7, 44_800), (8, 60_000), (99, 60_000)] {
        let waits: Vec<Duration> = (0..500).map(|seed| requeue_after(tried, seed)).collect();
        let (least, most) = (waits.iter().min().expect("waits"), waits.iter().max().expect("waits"));
        assert!(*least >= Duration::from_millis(base) && *most <= Duration::from_millis(base + base / 5), "{tried}: {least:?} {most:?}");
        assert!(*most > Duration::from_millis(base + base / 10), "{tried}: there is jitter");
    }
}

/// An outbox with a channel that fails in this way until `failures` is emptied.
fn failing(failure: ChannelError, patience: Duration) -> (tempfile::TempDir, Queue, Outbox, Arc<Fake>) {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = Vault::open_with_key_file(&folder.path().join("s.json"), &folder.path().join("m.key")).expect("a vault");
    let queue = Queue::open(&folder.path().join("queue.db")).expect("a queue");
    let outbox = Outbox::new(queue.clone(), SecretMask::new(Arc::new(vault)), "(again) ").patience(patience);
    (folder, queue, outbox, Arc::new(Fake { failures: Mutex::new(vec![failure; 1000]), ..Fake::default() }))
}

/// Waits until a condition of the queue holds.
async fn until(queue: &Queue, holds: impl AsyncFn(&Queue) -> bool) {
    while !holds(queue).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Serves for as long as something is done beside it.
async fn serve_during(outbox: &Outbox, fake: &Arc<Fake>, done: impl Future<Output = ()>) {
    let channels: Channels = [("fake".to_owned(), Arc::clone(fake) as Arc<dyn Channel>)].into();
    tokio::select! {
        failed = outbox.serve(&channels) => failed.expect("it goes on"),
        () = done => {}
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("it takes too long"),
    }
}

// orchestrator 7.1: an outage makes no dead letter: what waits is sent once the channel is back, in order, and says that it is late
#[tokio::test]
async fn answers_outlive_an_outage() {
    let (_folder, queue, outbox, fake) = failing(ChannelError::new("http-503", "away"), Duration::from_secs(24 * 3600));
    let begun = now() - 5 * 60_000;
    for (key, text) in [("1", "one"), ("2", "two")] {
        queue.post(Outgoing::new(ChatPlace::new("fake", "a"), text, key), begun).await.expect("posted");
    }
    let has_failed = async |queue: &Queue| queue.row_by_key("1").await.expect("asked").expect("there").attempts >= 3;
    let outage = async {
        until(&queue, has_failed).await;
        assert!(queue.in_state(RowState::Dead).await.expect("rows").is_empty());
        fake.failures.lock().expect("no panic").clear();
        until(&queue, async |queue| queue.is_flushed().await.expect("asked")).await;
    };
    serve_during(&outbox, &fake, outage).await;
    assert_eq!(*fake.sent.lock().expect("no panic"), ["(late by 5 min) one", "(late by 5 min) two"]);
}

// orchestrator 7.1: what waited for longer than the settings say is dead; a question about a held call never is, unless it is refused for good
#[tokio::test]
async fn only_a_question_waits_for_ever() {
    let (_folder, queue, outbox, fake) = failing(ChannelError::new("http-503", "away"), Duration::ZERO);
    for (chat, key) in [("a", "said"), ("b", "ask:7")] {
        outbox.post(Outgoing::new(ChatPlace::new("fake", chat), key, key)).await.expect("posted");
    }
    let is_tried = async |queue: &Queue| queue.row_by_key("ask:7").await.expect("asked").expect("there").attempts >= 2;
    let outage = async {
        until(&queue, is_tried).await;
        let dead: Vec<String> = queue.in_state(RowState::Dead).await.expect("rows").into_iter().map(|row| row.message.key).collect();
        assert_eq!(dead, ["said"]);
        *fake.failures.lock().expect("no panic") = vec![ChannelError::new("channel_not_found", "gone").finally(); 1000];
        until(&queue, async |queue| queue.is_flushed().await.expect("asked")).await;
    };
    serve_during(&outbox, &fake, outage).await;
    assert_eq!(queue.in_state(RowState::Dead).await.expect("rows").len(), 2);
}

// orchestrator 7.1: a channel that is back gets everything that waits for it at once
#[tokio::test]
async fn what_waits_for_a_channel_that_is_back_waits_no_longer() {
    let (_folder, queue, ..) = failing(ChannelError::new("http-503", "away"), Duration::ZERO);
    let n = queue.post(Outgoing::new(ChatPlace::new("fake", "a"), "one", "1"), 1).await.expect("posted");
    queue.note_unsent(n, "http-503", "away", Some(u64::MAX / 4)).await.expect("noted");
    queue.hurry("other", 10).await.expect("hurried");
    assert!(queue.sendable(10).await.expect("rows").is_empty());
    queue.hurry("fake", 10).await.expect("hurried");
    assert_eq!(queue.sendable(10).await.expect("rows").len(), 1);
}
