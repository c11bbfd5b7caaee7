//! Files that people send, as they lie in the workspace (orchestrator 3.10).
//!
//! **Invariant:** a file stands under its name only when it is whole; nothing of it is executable, and no link is followed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use jiff::Zoned;
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

use crate::{message::ChatPlace, seal::sha256, workspace::Workspace};

/// The folder of these files, below that of the workspace.
pub const INBOX: &str = "runtime/inbound-files";
/// Bytes of a name that are used.
const MAX_FILE_NAME: usize = 120;

/// The folder of files that people send.
#[derive(Clone, Debug)]
pub struct Inbox {
    workspace: PathBuf,
    limit: u64,
}

/// A file cannot be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxError {
    /// It has too many bytes.
    #[error("the file has more than {limit} bytes, which is `limits.attachment`")]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// The system refuses.
    #[error("the file cannot be stored: {0}")]
    Io(#[from] io::Error),
}

/// A file that is being received. Dropping it removes what was received.
#[derive(Debug)]
pub struct InboxFile {
    file: File,
    /// The temporary file, until it is complete.
    draft: PathBuf,
    workspace: PathBuf,
    /// The folder of its chat.
    folder: PathBuf,
    name: String,
    hash: Sha256,
    length: u64,
    limit: u64,
}

impl Inbox {
    /// The files of a workspace, each of at most `limit` bytes.
    pub fn of(workspace: &Workspace, limit: u64) -> Self {
        Self { workspace: workspace.folder().to_owned(), limit }
    }

    /// The bytes that a file may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Begins a file of a chat.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(&self, place: &ChatPlace, name: &str) -> Result<InboxFile, InboxError> {
        let below = folder_of(place);
        let folder = self.workspace.join(&below);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut drafts = (0..).map(|number: u64| folder.join(format!(".{}-{number}.part", std::process::id())));
        let (draft, file) = loop {
            let Some(draft) = drafts.next() else { return Err(io::Error::from(io::ErrorKind::AlreadyExists).into()) };
            match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => break (draft, opened?),
            }
        };
        let workspace = self.workspace.clone();
        Ok(InboxFile { file, draft, workspace, folder: below, name: plain(name), hash: Sha256::new(), length: 0, limit: self.limit })
    }

    /// Removes the temporary files of a process that died while it received them.
    pub fn sweep(&self) {
        let providers = fs::read_dir(self.workspace.join(INBOX)).into_iter().flatten().flatten();
        let chats = providers.flat_map(|provider| fs::read_dir(provider.path())).flatten().flatten();
        for entry in chats.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "part") {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

impl InboxFile {
    /// The bytes that the file may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// The file has too many, or the system refuses.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), InboxError> {
        self.length += bytes.len() as u64;
        if self.length > self.limit {
            return Err(InboxError::TooLarge { limit: self.limit });
        }
        self.hash.update(bytes);
        Ok(self.file.write_all(bytes)?)
    }

    /// Puts the file under its name; returns its path in the workspace, and its length. It waits for the disk.
    ///
    /// # Errors
    /// The system refuses.
    pub fn finish(self) -> Result<(String, u64), InboxError> {
        self.file.sync_all()?;
        let hash: String = self.hash.clone().finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{}-{hash}-{}", Zoned::now().strftime("%Y%m%d"), self.name);
        let path = self.folder.join(name);
        // A rename replaces a link, and does not follow it.
        fs::rename(&self.draft, self.workspace.join(&path))?;
        Ok((path.to_string_lossy().into_owned(), self.length))
    }
}

impl Drop for InboxFile {
    fn drop(&mut self) {
        // A complete file has another name by now.
        drop(fs::remove_file(&self.draft));
    }
}

/// The folder of the files of a chat, below that of the workspace: nobody else's session reads there.
pub fn folder_of(place: &ChatPlace) -> PathBuf {
    Path::new(INBOX).join(&place.provider).join(format!("c{}", &sha256(&place.chat)[..10]))
}

/// The letters, digits, `.`, `_` and `-` of a name; each other character is `_`.
fn plain(name: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '.' | '_' | '-');
    let name: String = name.nfc().map(|char| if is_plain(char) { char } else { '_' }).collect();
    let name = name.trim_start_matches('.');
    // Its end says what it is.
    let mut start = name.len().saturating_sub(MAX_FILE_NAME);
    while !name.is_char_boundary(start) {
        start += 1;
    }
    if name[start..].is_empty() { "file".to_owned() } else { name[start..].to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn inbox(limit: u64) -> (tempfile::TempDir, Workspace, Inbox) {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(&folder.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
        let inbox = Inbox::of(&workspace, limit);
        (folder, workspace, inbox)
    }

    // orchestrator 3.10: `<provider>/<yyyymmdd>-<sha256[:12]>-<name>`, 0600
    #[test]
    fn a_file_has_a_name_that_nothing_reads_anything_into() {
        let (_folder, workspace, inbox) = inbox(100);
        let today = Zoned::now().strftime("%Y%m%d").to_string();
        for (name, expected) in [
            ("report 1.pdf", "report_1.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("..", "file"),
            ("", "file"),
            ("a\u{1b}[31m\n<b>.txt", "a__31m__b_.txt"),
            ("보고서.txt", "보고서.txt"),
            (".env", "env"),
        ] {
            let mut file = inbox.begin(&ChatPlace::new("slack", "C1"), name).expect("begun");
            file.write(b"abc").expect("written");
            let (path, length) = file.finish().expect("whole");
            assert_eq!((path.as_str(), length), (&*format!("runtime/inbound-files/slack/cab861dc170/{today}-ba7816bf8f01-{expected}"), 3));
            let mode = fs::metadata(workspace.path(&path)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path}");
        }
        assert!(plain(&"한".repeat(1000)).len() <= MAX_FILE_NAME && plain(&format!("{}.png", "a".repeat(500))).ends_with("aa.png"));
    }

    // orchestrator 3.10: no more than the limit; an incomplete file does not exist
    #[test]
    fn what_is_not_whole_is_not_there() {
        let (_folder, workspace, inbox) = inbox(5);
        let count = || fs::read_dir(workspace.path("runtime/inbound-files/slack/cab861dc170")).expect("a folder").count();
        let mut file = inbox.begin(&ChatPlace::new("slack", "C1"), "a").expect("begun");
        file.write(b"1234").expect("written");
        assert!(matches!(file.write(b"56"), Err(InboxError::TooLarge { limit: 5 })));
        drop(file);
        assert_eq!(count(), 0);
        std::mem::forget(inbox.begin(&ChatPlace::new("slack", "C1"), "a").expect("begun"));
        assert_eq!(count(), 1);
        inbox.sweep();
        assert_eq!(count(), 0);
    }
}
