//! The files that a glob names, each read up to a bound.

use std::{
    fmt, fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use globset::{GlobBuilder, GlobMatcher};
use trellis_core::Value;

/// The largest number of entries that are examined.
const MAX_ENTRIES: usize = 10_000;

/// Bytes of one file.
const MAX_SCORED_FILE: u64 = 1 << 20;

/// Folders below the first one that a glob names, where it has `**`.
const MAX_DEPTH: usize = 32;

/// A glob of files, relative to the folder of its project file.
#[derive(Clone, Debug)]
pub(crate) struct FileGlob {
    text: Arc<str>,
    /// The folder before the first wildcard.
    base: PathBuf,
    depth: usize,
    matcher: GlobMatcher,
}

/// A file that matches.
pub(super) struct ScoreFile {
    /// Its path as the glob writes it.
    pub(super) shown: String,
    path: PathBuf,
    /// The time of its last write, in milliseconds since 1970.
    pub(super) modified: Option<u64>,
}

impl FileGlob {
    /// Matches files of a glob; `*` matches no slash.
    ///
    /// # Errors
    /// It is no glob, with why.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(text).literal_separator(true).build().map_err(|error| error.kind().to_string())?;
        let literal = text.find(['*', '?', '[', '{']).map_or(text, |wildcard| &text[..wildcard]);
        let (base, below) = text.split_at(literal.rfind('/').map_or(0, |slash| slash + 1));
        let depth = if below.contains("**") { MAX_DEPTH } else { below.matches('/').count() };
        Ok(Self { text: text.into(), base: base.into(), depth, matcher: glob.compile_matcher() })
    }

    /// Its files, sorted by path. A folder that is not there has none.
    pub(super) fn list(&self, folder: &Path) -> Result<Vec<ScoreFile>, String> {
        let (mut found, mut seen) = (Vec::new(), 0_usize);
        let mut open = vec![(folder.join(&self.base), self.base.to_string_lossy().into_owned(), 0)];
        while let Some((folder, shown, depth)) = open.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MAX_ENTRIES {
                    return Err(format!("`{self}` looks at more than {MAX_ENTRIES} files"));
                }
                let (path, shown) = (entry.path(), format!("{shown}{}", entry.file_name().to_string_lossy()));
                // A link to a folder is not followed, so the walk ends.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if depth < self.depth {
                        open.push((path, format!("{shown}/"), depth + 1));
                    }
                } else if self.matcher.is_match(&shown)
                    && let Ok(about) = fs::metadata(&path)
                    && about.is_file()
                {
                    found.push(ScoreFile { shown, path, modified: about.modified().ok().and_then(millis) });
                }
            }
        }
        found.sort_by(|one, other| one.shown.cmp(&other.shown));
        Ok(found)
    }
}

impl fmt::Display for FileGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ScoreFile {
    /// Its JSON, as far as the bound: a file that grows while it is read is too long, or no JSON.
    pub(super) fn content(&self) -> Result<Value, String> {
        let mut bytes = Vec::new();
        let file = fs::File::open(&self.path).map_err(|error| format!("it cannot be read: {error}"))?;
        file.take(MAX_SCORED_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("it cannot be read: {error}"))?;
        if bytes.len() as u64 > MAX_SCORED_FILE {
            return Err(format!("it has more than {MAX_SCORED_FILE} bytes"));
        }
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
        Value::from_json(&text).map_err(|error| format!("it is no JSON: {error}"))
    }
}

fn millis(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
}
