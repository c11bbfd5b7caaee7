//! The record of a run under the key of its call, on the disk: `.trellis/skills/NAME/` beside the project file.
//!
//! ```text
//! manifest.json   the state, and the result once there is one
//! saved.json      the values at the declared paths
//! copies/0 …      the bytes of files
//! ```
//!
//! **Invariant:** a manifest exists as a whole before a command runs, and changes as a whole.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use trellis_core::{ToolError, Value, id::IdempotencyKey};

use super::{
    super::store_error,
    backup::{self, SavedTree},
    leftovers,
};

const MANIFEST: &str = "manifest.json";
const SAVED: &str = "saved.json";
const COPIES: &str = "copies";

/// The end of the name of a folder that is not whole.
const DRAFT_SUFFIX: &str = ".new";

/// The longest name that a key is spelled out in.
const MAX_NAME: usize = 180;

/// The folder of the backups of a project folder.
pub(super) fn state_below(home: &Path) -> PathBuf {
    home.join(".trellis")
}

/// The state of a run under a key (language 11.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunState {
    /// Its commands may have begun.
    BackedUp,
    /// It succeeded, and can be undone.
    Done,
    /// Everything is as it was before.
    Restored,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunManifest {
    version: u32,
    pub(super) key: String,
    pub(super) skill: String,
    pub(super) workspace: PathBuf,
    pub(super) state: RunState,
    /// The result of the call, also of one that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
}

/// The runs in one workspace, as they are on the disk. Writers hold the lock of the workspace.
#[derive(Clone, Debug)]
pub(super) struct RunJournal {
    home: PathBuf,
    /// The workspace, links resolved.
    workspace: PathBuf,
}

/// A run that is on the disk.
#[derive(Debug)]
pub(super) struct RecordedRun {
    pub(super) folder: PathBuf,
    pub(super) manifest: RunManifest,
    workspace: PathBuf,
}

impl RunJournal {
    pub(super) fn new(home: &Path, workspace: PathBuf) -> Self {
        Self { home: home.to_owned(), workspace }
    }

    fn folder(&self) -> PathBuf {
        state_below(&self.home).join("skills")
    }

    /// The recorded result of the call with a key.
    ///
    /// # Errors
    /// Its manifest cannot be read.
    pub(super) fn result_of(&self, key: &IdempotencyKey) -> Result<Option<Value>, ToolError> {
        let run = self.read(self.folder().join(name_of(key.as_str())))?;
        Ok(run.filter(|run| run.manifest.key == key.as_str()).and_then(|run| run.manifest.result))
    }

    /// The run of a backup, which is looked up by its name and never made into a path.
    ///
    /// # Errors
    /// The backups cannot be read.
    pub(super) fn of_backup(&self, backup: &str) -> Result<Option<RecordedRun>, ToolError> {
        match self.folders()?.into_iter().find(|folder| folder.file_name().is_some_and(|name| name == backup)) {
            Some(folder) => self.read(folder),
            None => Ok(None),
        }
    }

    /// Makes the workspace as it was before runs whose process died: they begin again where their call is made again.
    ///
    /// # Errors
    /// A backup cannot be read, or the workspace not be written.
    pub(super) fn recover(&self) -> Result<(), ToolError> {
        for folder in self.folders()? {
            if let Some(mut run) = self.read(folder)?
                && run.manifest.state == RunState::BackedUp
            {
                run.take_back()?;
            }
        }
        Ok(())
    }

    /// Copies the declared paths and begins a run.
    ///
    /// # Errors
    /// Something cannot be read or written; then nothing has begun.
    pub(super) fn begin(&self, key: &IdempotencyKey, skill: &str, paths: &[PathBuf]) -> Result<RecordedRun, ToolError> {
        let folder = self.folder().join(name_of(key.as_str()));
        let draft = with_suffix(&folder, DRAFT_SUFFIX);
        let manifest = RunManifest {
            version: 1,
            key: key.as_str().to_owned(),
            skill: skill.to_owned(),
            workspace: self.workspace.clone(),
            state: RunState::BackedUp,
            result: None,
        };
        let begin = || {
            make_state(&state_below(&self.home))?;
            backup::remove(&draft)?;
            fs::create_dir_all(&draft)?;
            let saved = backup::save(&self.workspace, paths, &draft.join(COPIES))?;
            write(&draft.join(SAVED), &saved.into_iter().collect::<Vec<_>>())?;
            write(&draft.join(MANIFEST), &manifest)?;
            // A run of this key that was restored has nothing to undo any more.
            backup::remove(&folder)?;
            fs::rename(&draft, &folder)?;
            sync(&self.folder());
            Ok(())
        };
        begin().map_err(|error: io::Error| {
            let _ = backup::remove(&draft);
            store_error(format!("the backup of the skill `{skill}` cannot be made, so it did not run: {error}"))
        })?;
        Ok(RecordedRun { folder, manifest, workspace: self.workspace.clone() })
    }

    /// The folders of runs that are whole.
    fn folders(&self) -> Result<Vec<PathBuf>, ToolError> {
        let unread = |error: io::Error| store_error(format!("the backups in `{}` cannot be read: {error}", self.folder().display()));
        let entries = match fs::read_dir(self.folder()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unread(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(unread)?.path();
            if !path.to_string_lossy().ends_with(DRAFT_SUFFIX) {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    /// Reads the run in a folder; `None` if there is none, or it is one of another workspace.
    fn read(&self, folder: PathBuf) -> Result<Option<RecordedRun>, ToolError> {
        let path = folder.join(MANIFEST);
        let manifest: RunManifest = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(&path, &error))?,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(store_error(format!("`{}` cannot be read: {error}", path.display()))),
        };
        let is_here = manifest.workspace == self.workspace;
        Ok(is_here.then(|| RecordedRun { folder, manifest, workspace: self.workspace.clone() }))
    }
}

impl RecordedRun {
    /// Its name, by which `skills.restore` finds it.
    pub(super) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Makes the declared paths as they were.
    pub(super) fn restore(&self) -> Result<(), String> {
        let saved = fs::read(self.folder.join(SAVED)).and_then(|bytes| Ok(serde_json::from_slice::<Vec<_>>(&bytes)?));
        let restored = saved.and_then(|saved| {
            let saved: SavedTree = saved.into_iter().collect();
            backup::restore(&self.workspace, &saved, &self.folder.join(COPIES))
        });
        restored.map_err(|error| format!("`{}` cannot be restored from `{}`: {error}", self.workspace.display(), self.folder.display()))
    }

    /// Restores a run that is over, and records that.
    ///
    /// # Errors
    /// Those of [`Self::restore`] and [`Self::finish`].
    pub(super) fn take_back(&mut self) -> Result<(), ToolError> {
        leftovers::end(&self.folder);
        self.restore().map_err(|why| store_error(format!("the skill `{}` cannot be undone: {why}", self.manifest.skill)))?;
        self.finish(RunState::Restored, None)
    }

    /// Records a state. Once it is restored, the copies are not needed again.
    ///
    /// # Errors
    /// The manifest cannot be written; it is unchanged.
    pub(super) fn finish(&mut self, state: RunState, result: Option<Value>) -> Result<(), ToolError> {
        let manifest = RunManifest { state, result: result.or(self.manifest.result.take()), ..self.manifest.clone() };
        let (path, draft) = (self.folder.join(MANIFEST), self.folder.join(format!("{MANIFEST}{DRAFT_SUFFIX}")));
        let written = write(&draft, &manifest).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| store_error(format!("`{}` cannot be written: {error}", path.display())))?;
        sync(&self.folder);
        self.manifest = manifest;
        if state == RunState::Restored {
            let _ = backup::remove(&self.folder.join(COPIES));
            let _ = fs::remove_file(self.folder.join(SAVED));
        }
        Ok(())
    }
}

fn damaged(path: &Path, error: &serde_json::Error) -> ToolError {
    store_error(format!("`{}` is damaged: {error}; look at the workspace, then remove its folder", path.display())).finally()
}

fn make_state(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(".gitignore"), "*\n")
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()
}

/// A rename is on the disk with its folder; where folders cannot be opened, the system sees to that.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Returns the name of a key's folder: characters that could form a path are encoded, and a long key is distinguished by its hash.
fn name_of(key: &str) -> String {
    let spell = |byte: u8| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    let name: String = key.bytes().map(spell).collect();
    if name.len() <= MAX_NAME && !name.is_empty() {
        return name;
    }
    format!("{}%{:08x}", &name[..name.len().min(MAX_NAME)], crc32fast::hash(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_becomes_a_name_and_no_path() {
        assert_eq!(name_of("1f-a_b"), "1f-a_b");
        assert_eq!(name_of("../x/A"), "%2e%2e%2fx%2f%41");
        assert!(name_of("").starts_with('%') && name_of(&"k".repeat(500)).len() < 200);
        assert_ne!(name_of(&"k".repeat(500)), name_of(&"k".repeat(501)));
    }
}
