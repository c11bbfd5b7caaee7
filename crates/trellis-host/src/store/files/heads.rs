//! The heads of all sessions of a folder: each is at the end of a journal, and is read again only when its file changed.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use trellis_core::SessionId;

use super::{Folder, line, name, opened};
use crate::store::{Head, Query, StoreError};

/// The time for which a list that is read page by page is of one moment.
const ONE_MOMENT: Duration = Duration::from_secs(10);

/// A file that changed within this time may change again without looking different.
const SETTLED: Duration = Duration::from_secs(1);

/// The opening of a journal in every version, the key that every line has, and the bytes that are searched for it.
const OPENING: &[u8] = b"{\"trellis\":";
const SUM_KEY: &[u8] = b"\"sum\":\"";
const BEGINNING: u64 = 1 << 16;

/// The heads read before.
#[derive(Debug, Default)]
pub(super) struct Heads {
    seen: BTreeMap<OsString, (Look, Option<Head>)>,
    rest: Option<RemainingPages>,
}

/// The pages after the requested one: to read every file again for each would take long if there are many.
#[derive(Debug)]
struct RemainingPages {
    /// The query of the pages, at any limit.
    query: Query,
    heads: VecDeque<Head>,
    seen: Instant,
    /// The number of writes before.
    writes: u64,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    file: (u64, u64),
    length: u64,
    modified: Option<SystemTime>,
}

impl Heads {
    /// A page. One behind another is of the same moment, unless that is long ago or something was written here since.
    pub(super) fn page(&mut self, folder: &Folder, query: Query, writes: u64) -> Result<Vec<Head>, StoreError> {
        let limit = query.limit;
        let follows = |rest: &RemainingPages| {
            let is_of_one = (&rest.query.graph, rest.query.which, &rest.query.after) == (&query.graph, query.which, &query.after);
            is_of_one && rest.writes == writes && rest.seen.elapsed() < ONE_MOMENT
        };
        let mut rest = match self.rest.take().filter(follows) {
            Some(rest) => rest,
            None => RemainingPages { seen: Instant::now(), heads: query.all_of(self.all(folder)?).into(), query, writes },
        };
        let page: Vec<Head> = rest.heads.drain(..limit.min(rest.heads.len())).collect();
        if let Some(last) = page.last().filter(|_| !rest.heads.is_empty()) {
            rest.query.after = Some(rest.query.page_after(last));
            self.rest = Some(rest);
        }
        Ok(page)
    }

    /// Returns the heads of all sessions. Of an unreadable file only the name is known: loading it returns the reason.
    fn all(&mut self, folder: &Folder) -> Result<Vec<Head>, StoreError> {
        let unreadable = |error: &io::Error| folder.is_there().err().unwrap_or_else(|| folder.unreadable(&folder.path, error));
        let (mut seen, mut heads, now) = (BTreeMap::new(), Vec::new(), SystemTime::now());
        for entry in fs::read_dir(&folder.path).map_err(|error| unreadable(&error))? {
            let entry = entry.map_err(|error| unreadable(&error))?;
            let file = entry.file_name();
            let path = entry.path();
            if path.extension() != Some(OsStr::new("jsonl")) {
                continue;
            }
            // It was removed meanwhile, or is no file that a session could be in.
            let Ok(Some(look)) = look(&path) else { continue };
            let head = match self.seen.remove(&file) {
                Some((before, head)) if before == look => head,
                _ => head(folder, &file, look.modified)?,
            };
            heads.extend(head.clone());
            if look.modified.and_then(|modified| now.duration_since(modified).ok()).is_some_and(|since| since > SETTLED) {
                seen.insert(file, (look, head));
            }
        }
        self.seen = seen;
        Ok(heads)
    }
}

fn look(path: &Path) -> io::Result<Option<Look>> {
    let about = fs::metadata(path)?;
    let look = Look { file: (about.dev(), about.ino()), length: about.len(), modified: about.modified().ok() };
    Ok(about.is_file().then_some(look))
}

fn head(folder: &Folder, file: &OsStr, modified: Option<SystemTime>) -> Result<Option<Head>, StoreError> {
    let path = folder.path.join(file);
    let Some(session) = path.file_stem().and_then(OsStr::to_str).and_then(|name| session(folder, name, &path)) else { return Ok(None) };
    let head = folder.reading(&session, |journal| match journal.first()? {
        Some(first) => Ok(journal.end(&first)?.map(|end| end.head)),
        None => Ok(None),
    });
    match head {
        Ok(head) => Ok(head.flatten()),
        Err(StoreError::Corrupt { .. } | StoreError::Newer { .. }) if !is_journal(&path) => Ok(None),
        Err(StoreError::Corrupt { .. } | StoreError::Newer { .. }) => {
            let since = modified.and_then(|modified| modified.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
            Ok(Some(Head::unreadable(session, u64::try_from(since.as_millis()).unwrap_or(u64::MAX))))
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a file is a journal, or holds a part of one: each line has a checksum. Else it is foreign.
fn is_journal(path: &Path) -> bool {
    let mut text = Vec::new();
    let read = opened(OpenOptions::new().read(true), path).and_then(|file| file.take(BEGINNING).read_to_end(&mut text));
    read.is_err() || text.starts_with(OPENING) || text.windows(SUM_KEY.len()).any(|window| window == SUM_KEY)
}

/// Returns the session of a file: by its name, or if that is too long, by its first line.
fn session(folder: &Folder, name: &str, path: &Path) -> Option<SessionId> {
    name::session(name).or_else(|| {
        let mut text = Vec::new();
        BufReader::new(opened(OpenOptions::new().read(true), path).ok()?).read_until(b'\n', &mut text).ok()?;
        let session = line::read(text.strip_suffix(b"\n")?).ok()?.opening()?.session;
        (folder.journal(&session) == path).then_some(session)
    })
}
