//! Work on several threads: folders are listed, files read and parsed, and the independent parts of a compilation carried out.
//!
//! **Invariant:** the result does not depend on the number of threads.

use std::{
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Files that a thread takes at once.
pub(crate) const FILES: usize = 32;

/// Does `work` for all of these, `chunk` of them at once on each of as many threads as the machine offers; results in the order of `items`.
pub(crate) fn on_threads<I: Sync, T: Send>(items: &[I], chunk: usize, work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    if items.len() <= chunk {
        return items.iter().map(work).collect();
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len().div_ceil(chunk));
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::with_capacity(items.len() / threads / chunk + 1);
        loop {
            let start = next.fetch_add(chunk, Ordering::Relaxed);
            if start >= items.len() {
                return done;
            }
            let taken = &items[start..(start + chunk).min(items.len())];
            done.push((start, taken.iter().map(&work).collect::<Vec<_>>()));
        }
    };
    let mut chunks = thread::scope(|scope| {
        // This thread works too, so a thread that cannot be had costs time and nothing else.
        let others: Vec<_> = (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, worker).ok()).collect();
        let mut chunks = worker();
        for other in others {
            chunks.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        chunks
    });
    chunks.sort_unstable_by_key(|(start, _)| *start);
    chunks.into_iter().flat_map(|(_, results)| results).collect()
}

/// Does two things at the same time, if there are processors for that and a thread can be had.
pub(crate) fn both(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    if thread::available_parallelism().map_or(1, NonZero::get) == 1 {
        one();
        return other();
    }
    let is_shared = thread::scope(|scope| {
        let shared = thread::Builder::new().spawn_scoped(scope, &mut *other);
        one();
        shared.map(|shared| shared.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).is_ok()
    });
    if !is_shared {
        other();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..FILES * 10 + 7).collect();
        assert_eq!(on_threads(&items, FILES, Clone::clone), items);
    }
}
