//! Channels that do what they should not (orchestrator 4.1, 8.3): they stop no other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use trellis_orchestrator::{
    channel::{Batch, Channel, ChannelError, Rendering},
    message::{ChatPlace, Incoming, Outgoing, now},
};

use crate::world::World;

const ECHOES: &str = "[{ reply: { content: 'you said {{ last.content }}' } }]";

/// The behaviour of a channel when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// It has a hundred messages each time, for fifty times.
    Floods,
    /// It never answers.
    Silent,
    /// It fails each time.
    Fails,
    /// It has the same messages again, in another order and with other texts.
    ChangesItsMind,
    Panics,
}

/// A channel with a habit.
struct Unruly {
    habit: Habit,
    reads: AtomicU64,
    sent: AtomicU64,
}

impl Unruly {
    fn new(habit: Habit) -> Arc<Self> {
        Arc::new(Self { habit, reads: AtomicU64::new(0), sent: AtomicU64::new(0) })
    }
}

fn message(provider: &str, id: u64, text: &str) -> Incoming {
    let (sender, sender_name) = ("bob".to_owned(), "Bob".to_owned());
    Incoming {
        place: ChatPlace::new(provider, "C1"),
        id: id.to_string(),
        sender,
        sender_name,
        text: text.to_owned(),
        at: now(),
        files: Vec::new(),
    }
}

#[async_trait]
impl Channel for Unruly {
    fn name(&self) -> &str {
        match self.habit {
            Habit::Floods => "floods",
            Habit::Silent => "silent",
            Habit::Fails => "fails",
            Habit::ChangesItsMind => "changes",
            Habit::Panics => "panics",
        }
    }

    fn grouping(&self) -> Duration {
        Duration::from_millis(10)
    }

    async fn read(&self, _: Option<&str>) -> Result<Batch, ChannelError> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        let messages = match self.habit {
            Habit::Floods if read < 50 => (0..100).map(|number| message("floods", read * 100 + number, "buy this")).collect(),
            Habit::ChangesItsMind if read < 20 => {
                let (first, second) = (message("changes", 2, &format!("second, {read}")), message("changes", 1, &format!("first, {read}")));
                vec![first, second.clone(), second]
            }
            Habit::Floods | Habit::ChangesItsMind | Habit::Silent => std::future::pending().await,
            Habit::Fails => return Err(ChannelError::new("http-500", "it is broken")),
            Habit::Panics => panic!("nobody expects this"),
        };
        Ok(Batch { messages, cursor: Some(read.to_string()), ..Batch::default() })
    }

    async fn send(&self, _: &Outgoing, _: Rendering) -> Result<String, ChannelError> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        Ok(String::new())
    }
}

// a channel that floods, one that never answers, one that changes its mind; and two that are broken
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unruly_channels_stop_no_other() {
    let world = World::new(ECHOES);
    let changes = Unruly::new(Habit::ChangesItsMind);
    let mut others: Vec<Arc<dyn Channel>> =
        [Habit::Floods, Habit::Silent, Habit::Fails, Habit::Panics].map(|habit| Unruly::new(habit) as Arc<dyn Channel>).into();
    others.push(Arc::clone(&changes) as Arc<dyn Channel>);
    let mut chat = world.chat_among("terminal", others).await;
    for number in 0..3 {
        assert_eq!(chat.ask(&format!("hello {number}")).await, format!("you said hello {number}"));
    }
    let queue = trellis_orchestrator::queue::Queue::open(&world.at("runtime/queue.db")).expect("a queue");
    let stored = async {
        while queue.waiting().await.expect("rows").iter().filter(|row| row.message.place.provider == "floods").count() < 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), stored).await.expect("the flood is stored");
    assert_eq!(chat.ask("still there?").await, "you said still there?");
    chat.stop().await;
    // Each message once, with the text that it had first.
    let texts: Vec<String> = queue
        .heard_since(0, 0)
        .await
        .expect("rows")
        .into_iter()
        .filter(|row| row.message.place.provider == "changes")
        .map(|row| row.message.text)
        .collect();
    assert_eq!(texts, ["second, 0", "first, 0"]);
    assert!(changes.sent.load(Ordering::SeqCst) <= 2);
}
