//! Group commit: a writer that finds no other one writing takes along all pending writes.
//!
//! If the disk is quick, the first writer writes in place, once all runnable tasks had a turn to join; else on a thread that may block, and later
//! writes follow after that.
//!
//! **Invariant:** while a wanted write is pending, there is a writer; a write whose caller is gone by its turn is not made.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::oneshot,
    task::{spawn_blocking, yield_now},
};

use super::{
    Name,
    write::{LockPolicy, What, Writer},
};
use crate::store::{Pending, StoreError, blocking::Pace};

/// The largest number of writes in one commit.
const GROUP: usize = 512;

/// The pending writes, and the writer.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<WaitingJobs>,
    writer: Mutex<Writer>,
    pace: Pace,
    name: Name,
}

#[derive(Debug, Default)]
struct WaitingJobs {
    writes: Vec<Write>,
    /// True if there is a writer.
    is_led: bool,
}

/// A pending write, and the channel of its result.
#[derive(Debug)]
struct Write {
    what: What,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Queue {
    pub(super) fn new(writer: Writer, name: Name) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), writer: Mutex::new(writer), pace: Pace::default(), name })
    }

    /// Writes; it waits from now on, and is written when this is waited for.
    pub(super) fn write(self: &Arc<Self>, what: What) -> Pending<'_, ()> {
        let (reply, answer) = oneshot::channel();
        self.waiting().writes.push(Write { what, reply });
        Box::pin(async move {
            if self.pace.is_quick() {
                yield_now().await;
            }
            if let Some(lead) = Lead::take(self) {
                lead.write();
            }
            answer.await.unwrap_or_else(|_| Err(self.name.gone()))
        })
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingJobs> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those whose turn it is.
    fn group(&self) -> Vec<Write> {
        let mut waiting = self.waiting();
        waiting.writes.retain(|write| !write.reply.is_closed());
        let count = waiting.writes.len().min(GROUP);
        waiting.writes.drain(..count).collect()
    }

    /// Commits the pending writes, once. If it may not wait for a lock, it leaves them pending, and returns false.
    fn commit(&self, patience: LockPolicy) -> bool {
        let (group, reply): (Vec<_>, Vec<_>) = self.group().into_iter().map(|Write { what, reply }| (what, reply)).unzip();
        if group.is_empty() {
            return true;
        }
        let written = {
            let mut writer = self.writer();
            self.pace.timed(|| writer.write(&group, patience, &self.name))
        };
        let Some(outcomes) = written else {
            let again = group.into_iter().zip(reply).map(|(what, reply)| Write { what, reply });
            self.waiting().writes.splice(..0, again);
            return false;
        };
        for (reply, outcome) in reply.into_iter().zip(outcomes) {
            // A caller that is gone finds it by loading.
            let _ = reply.send(outcome);
        }
        true
    }

    /// Sorts recent records, if there are many.
    fn sort(&self) {
        let mut writer = self.writer();
        if writer.has_much_to_sort() {
            writer.sort();
        }
    }
}

/// The role of the writer.
struct Lead {
    queue: Arc<Queue>,
    has_ended: bool,
}

impl Lead {
    /// Becomes the writer, if there is none and a write is pending.
    fn take(queue: &Arc<Queue>) -> Option<Self> {
        let mut waiting = queue.waiting();
        if waiting.is_led || waiting.writes.is_empty() {
            return None;
        }
        waiting.is_led = true;
        Some(Self { queue: Arc::clone(queue), has_ended: false })
    }

    /// Writes once, if that is quick; the rest of the writes has a thread that may block.
    fn write(mut self) {
        let is_done = self.queue.pace.is_quick() && self.queue.commit(LockPolicy::None) && self.ends();
        if !is_done {
            spawn_blocking(move || {
                while !self.ends() {
                    self.queue.commit(LockPolicy::Some);
                    self.queue.sort();
                }
            });
        }
    }

    /// Ends, if no write is pending and there is nothing to sort.
    fn ends(&mut self) -> bool {
        let has_much_to_sort = self.queue.writer().has_much_to_sort();
        let mut waiting = self.queue.waiting();
        self.has_ended = waiting.writes.is_empty() && !has_much_to_sort;
        waiting.is_led = !self.has_ended;
        self.has_ended
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.has_ended {
            // There is no thread any more, or it ended: waiting callers get this as their result.
            drop(mem::take(&mut *self.queue.waiting()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;
    use tempfile::TempDir;
    use tokio::time::timeout;
    use trellis_core::SessionId;

    use super::*;
    use crate::store::{Append, Head, SessionStatus, SessionStore, SqliteStore};

    fn beginning(session: &str) -> Append {
        let (graph, program, node) = ("orders".into(), "".into(), "start".into());
        let head =
            Head { session: session.into(), graph, program, next: 1, began: 0, at: 0, node, standing: SessionStatus::Active, due: None };
        Append { session: session.into(), expected: 0, records: vec!["{}".into()], head, snapshot: None }
    }

    async fn names(store: &SqliteStore, names: &[&str]) -> Vec<bool> {
        let ids: Vec<SessionId> = names.iter().map(|name| SessionId::from(*name)).collect();
        store.load(&ids).await.unwrap().iter().map(Option::is_some).collect()
    }

    fn run(test: impl AsyncFn(&TempDir, &SqliteStore)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for is_quick in [false, true] {
            let folder = TempDir::new().unwrap();
            let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
            store.queue.pace.set(is_quick);
            runtime.block_on(test(&folder, &store));
        }
    }

    #[test]
    fn a_file_that_another_process_holds_keeps_nobody_else_waiting() {
        run(async |folder, store| {
            let other = Connection::open(folder.path().join("sessions.db")).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let mut appended = std::pin::pin!(store.append(beginning("one")));
            // The only thread is free meanwhile.
            assert!(timeout(Duration::from_millis(50), &mut appended).await.is_err());
            other.execute_batch("ROLLBACK").unwrap();
            assert_eq!(appended.await, Ok(()));
            assert_eq!(names(store, &["one"]).await, [true]);
        });
    }

    #[test]
    fn what_nobody_waits_for_when_its_turn_comes_is_not_written() {
        run(async |_, store| {
            drop(store.append(beginning("left")));
            assert_eq!(store.append(beginning("one")).await, Ok(()));
            assert_eq!(names(store, &["left", "one"]).await, [false, true]);
        });
    }

    #[test]
    fn who_writes_takes_along_all_who_wait() {
        run(async |_, store| {
            let all: Vec<_> = (0..3 * GROUP).map(|at| store.append(beginning(&at.to_string()))).collect();
            for append in all {
                assert_eq!(append.await, Ok(()));
            }
            let queue = store.queue.waiting();
            assert!(queue.writes.is_empty());
        });
    }

    #[test]
    fn where_the_writer_is_gone_those_who_wait_hear_of_it() {
        run(async |_, store| {
            let waiting = store.append(beginning("one"));
            drop(Lead::take(&store.queue).unwrap());
            assert!(matches!(waiting.await, Err(StoreError::Unavailable { .. })));
            assert_eq!(store.append(beginning("two")).await, Ok(()));
        });
    }
}
