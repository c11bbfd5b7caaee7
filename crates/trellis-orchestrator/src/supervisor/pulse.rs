//! Health checks of a loop: each of its rounds answers the questions that were asked meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The pulse of a loop.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Questions so far.
    asked: AtomicU64,
    /// The last question that was answered.
    answered: AtomicU64,
    question: Notify,
    answer: Notify,
}

impl Pulse {
    /// Asks the loop, and waits until it answers.
    pub async fn ask(&self) {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.question.notify_one();
        while self.answered.load(Ordering::SeqCst) < number {
            self.answer.notified().await;
        }
    }

    /// Answers the questions so far, in each round of the loop.
    pub fn beat(&self) {
        let asked = self.asked.load(Ordering::SeqCst);
        if self.answered.swap(asked, Ordering::SeqCst) < asked {
            self.answer.notify_one();
        }
    }

    /// Waits until the loop is asked; for its `select!`.
    pub async fn asked(&self) {
        self.question.notified().await;
    }

    /// Does some work, and answers meanwhile.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.asked() => self.beat(),
            }
        }
    }
}
