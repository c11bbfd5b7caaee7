//! `tasks/store.json`: the tasks of a workspace and their progress, read off their sessions (orchestrator 2.5, 9).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::workspace::{ObjectFileError, Workspace, read_projection, write_object};

/// The newest form of the file.
const TASKS_VERSION: u32 = 1;

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id, which is the name of its session.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its status: `running`, `waiting_approval`, `completed`, `failed`, `cancelled`, `max_turns_reached`.
    pub status: String,
    /// The channel.
    pub provider: String,
    /// The chat.
    pub chat: String,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Its session.
    pub session: String,
    /// The node.
    pub node: String,
    /// The calls of the model so far.
    pub turn: u32,
    /// The most that it may make; 0 where the graph has no bound.
    pub max_turns: u32,
    /// Its steps.
    pub steps: Vec<TaskStep>,
    /// The kind of its wait while it runs: `input`, `file` or `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// The time of its begin, in milliseconds since 1970.
    pub created_at: u64,
    /// The time of its last step, in milliseconds since 1970.
    pub updated_at: u64,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The reason of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStep {
    /// Its title.
    pub title: String,
    /// `done`, `running` or `waiting`.
    pub status: String,
}

/// Reads the tasks of a workspace, by their ids; none while the file cannot be read or understood.
pub fn tasks_of(workspace: &Workspace) -> BTreeMap<String, Task> {
    let file = TaskFile::open(&workspace.path("runtime/tasks/store.json"));
    file.map(|file| file.tasks.tasks).unwrap_or_default()
}

impl Task {
    /// Returns true if it has not ended.
    pub fn is_open(&self) -> bool {
        matches!(&*self.status, "running" | "waiting_approval")
    }
}

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// The form of the file.
    pub version: u32,
    /// The tasks by their ids.
    pub tasks: BTreeMap<String, Task>,
}

/// The file, and what it holds.
#[derive(Debug)]
pub(super) struct TaskFile {
    file: PathBuf,
    pub(super) tasks: Tasks,
    /// True if the file was there and could be understood.
    pub(super) is_known: bool,
}

impl TaskFile {
    /// Opens the file; one that cannot be understood is rebuilt.
    ///
    /// # Errors
    /// The file cannot be read, or a newer program wrote it.
    pub(super) fn open(file: &Path) -> Result<Self, ObjectFileError> {
        let known = read_projection::<Tasks>(file, TASKS_VERSION)?.filter(|tasks| tasks.version == TASKS_VERSION);
        let is_known = known.is_some();
        Ok(Self { file: file.to_owned(), tasks: known.unwrap_or(Tasks { version: TASKS_VERSION, ..Tasks::default() }), is_known })
    }

    /// Writes tasks as they are now, and forgets those that ended before a moment.
    pub(super) fn update(&mut self, tasks: Vec<Task>, before: u64) -> Result<(), ObjectFileError> {
        let mut now = self.tasks.clone();
        now.tasks.extend(tasks.into_iter().map(|task| (task.id.clone(), task)));
        now.tasks.retain(|_, task| task.is_open() || task.updated_at >= before);
        if now != self.tasks || !self.is_known {
            write_object(&self.file, &now)?;
            (self.tasks, self.is_known) = (now, true);
        }
        Ok(())
    }
}
