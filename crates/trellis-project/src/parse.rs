//! Threads: many files are read and parsed on them, each by the same one, and compiling does on them what it can do at the same time.
//!
//! **Invariant:** the result does not depend on the number of threads; a file whose bytes and dialect did not change keeps its document.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use trellis_core::{Dialect, Document, Source, diagnostic::FilePath, syntax::document::Bytes};

use crate::{GraphLoader, LoadError};

/// Files that a thread takes at once.
const CHUNK: usize = 32;

/// A document and what it was parsed from.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) document: Arc<Document>,
    dialect: Dialect,
    origin: Origin,
}

/// What a document was parsed from.
#[derive(Clone, Debug)]
enum Origin {
    /// The bytes of its text.
    Text,
    /// Bytes that are no text.
    Other(Arc<[u8]>),
    /// A file of this size, which was too large.
    TooLarge(u64),
    /// Nothing: the file could not be read.
    Nothing,
}

impl Parsed {
    fn new(source: Source, dialect: Dialect) -> Self {
        let mut document = Document::parse(&source, dialect);
        // A file of `nodes:` names its dialect itself.
        if let Some(named) = document.dialect()
            && named.value != dialect
        {
            document = Document::parse(&source, named.value);
        }
        let origin = match source.bytes {
            Bytes::TooLarge { size, .. } => Origin::TooLarge(size),
            Bytes::Read(bytes) if *bytes == *document.text.as_bytes() => Origin::Text,
            Bytes::Read(bytes) => Origin::Other(bytes),
        };
        Self { document: Arc::new(document), dialect, origin }
    }

    /// What stands for a file that could not be read: it still claims its id, so that targets to it are not reported too.
    pub(crate) fn unread(path: &FilePath, known: Option<&Self>) -> Self {
        match known {
            Some(known) if matches!(known.origin, Origin::Nothing) => known.clone(),
            _ => {
                let document = Document::broken(FilePath::clone(path), "");
                Self { document: Arc::new(document), dialect: Dialect::default(), origin: Origin::Nothing }
            }
        }
    }

    /// Whether parsing `source` again would give the same document.
    fn is_of(&self, source: &Source, dialect: Dialect) -> bool {
        self.dialect == dialect
            && match (&self.origin, &source.bytes) {
                (Origin::Text, Bytes::Read(bytes)) => *self.document.text.as_bytes() == **bytes,
                (Origin::Other(old), Bytes::Read(new)) => old == new,
                (Origin::TooLarge(old), Bytes::TooLarge { size, .. }) => old == size,
                _ => false,
            }
    }
}

/// Reads and parses one file, unless `known` is what it would come to.
pub(crate) fn parse(loader: &dyn GraphLoader, path: &FilePath, dialect: Dialect, known: Option<&Parsed>) -> Result<Parsed, LoadError> {
    // The path that was listed is kept anyway; one is enough.
    let source = Source { path: FilePath::clone(path), ..loader.get_node(path)? };
    match known {
        Some(known) if known.is_of(&source, dialect) => Ok(known.clone()),
        _ => Ok(Parsed::new(source, dialect)),
    }
}

/// Does `work` for every path, on as many threads as the machine offers; results in the order of `paths`.
pub(crate) fn on_threads<T: Send>(paths: &[FilePath], work: impl Fn(&FilePath) -> T + Sync) -> Vec<T> {
    if paths.len() <= CHUNK {
        return paths.iter().map(work).collect();
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(paths.len().div_ceil(CHUNK));
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::with_capacity(paths.len() / threads / CHUNK + 1);
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= paths.len() {
                return done;
            }
            let chunk = &paths[start..(start + CHUNK).min(paths.len())];
            done.push((start, chunk.iter().map(&work).collect::<Vec<_>>()));
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
    fn results_come_in_the_order_of_the_paths() {
        let paths: Vec<FilePath> = (0..CHUNK * 10 + 7).map(|at| at.to_string().into()).collect();
        let done = on_threads(&paths, ToString::to_string);
        assert!(paths.iter().map(|path| &**path).eq(done.iter().map(String::as_str)));
    }
}
