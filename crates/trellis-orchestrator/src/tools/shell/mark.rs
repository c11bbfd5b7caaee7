//! Marks of commands that run: `runtime/shell/KEY` has the group of the processes and the time of its start. A mark that a program left behind names a
//! command that was cut off.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{seal::sha256, workspace::Workspace};

/// The folder of the marks.
const MARKS: &str = "runtime/shell";

/// The mark of a command. It stays until the command has ended, also where the program ends first.
pub(super) struct Mark(PathBuf);

impl Mark {
    /// Marks the command of a call; `None` if the call was made before, and cut off.
    pub(super) fn begin(workspace: &Workspace, key: &str) -> io::Result<Option<Self>> {
        let folder = workspace.path(MARKS);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let file = folder.join(&sha256(key)[..32]);
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(_) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                end_orphan(&file);
                fs::remove_file(&file)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Notes the group of its processes.
    pub(super) fn with_group(self, group: Option<Pid>) -> io::Result<Self> {
        if let Some(group) = group {
            let pid = group.as_raw_nonzero().get();
            fs::write(&self.0, format!("{pid} {}", start_of(pid).unwrap_or_default()))?;
        }
        Ok(self)
    }

    /// The name that every process of the command has in its environment, also one that left its group.
    pub(super) fn name(&self) -> String {
        name_of(&self.0)
    }

    /// Takes the mark away: the command has ended.
    pub(super) fn end(self) {
        // One that stays costs an approval.
        drop(fs::remove_file(&self.0));
    }
}

/// Ends what is left of commands that were cut off with an earlier program. Their marks stay: their calls are not made again.
pub(crate) fn end_orphans(workspace: &Workspace) {
    fs::read_dir(workspace.path(MARKS)).into_iter().flatten().flatten().for_each(|entry| end_orphan(&entry.path()));
}

/// The variable that names the command of a process.
pub(super) const COMMAND_VARIABLE: &str = "TRELLIS_COMMAND";
/// The greatest number of looks for processes that begin while others are ended.
const MAX_LOOKS: usize = 8;

fn name_of(mark: &Path) -> String {
    mark.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Ends every process whose environment has the name of a command.
pub(super) fn end_named(name: &str) {
    let wanted = format!("{COMMAND_VARIABLE}={name}");
    let is_of_it = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    for _ in 0..MAX_LOOKS {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids: Vec<Pid> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_of_it).filter_map(Pid::from_raw).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // It may be gone already.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Ends the processes that a mark names, unless another process has their number by now.
fn end_orphan(mark: &Path) {
    end_named(&name_of(mark));
    let text = fs::read_to_string(mark).unwrap_or_default();
    let Some((pid, start)) = text.split_once(' ').and_then(|(pid, start)| Some((pid.parse::<i32>().ok()?, start.trim()))) else { return };
    let is_same = start_of(pid).is_some_and(|now| now == start);
    if let Some(group) = Pid::from_raw(pid).filter(|_| is_same) {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The start of a process, in ticks since that of the system.
fn start_of(pid: i32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may have blanks and parentheses.
    status.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt as _, path::Path, process::Command};

    use super::*;

    // a command that was cut off is not run again by itself, and what is left of it is ended; one that ended leaves no mark
    #[test]
    fn what_was_cut_off_is_ended_and_not_run_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(&folder.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
        let begin = |key: &str| Mark::begin(&workspace, key).expect("marked");
        begin("one").expect("it is new").end();
        let mark = begin("one").expect("it is new again");
        let mut orphan = Command::new("sleep").arg("600").process_group(0).spawn().expect("it starts");
        let pid = Pid::from_raw(i32::try_from(orphan.id()).expect("a number"));
        drop(mark.with_group(pid).expect("noted"));
        end_orphans(&workspace);
        assert!(!orphan.wait().expect("it ended").success());
        assert!(begin("one").is_none() && begin("one").is_some());
    }

    // orchestrator 6.2: so is what left the group of its command
    #[test]
    fn what_left_its_group_is_ended_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(&folder.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
        let mark = Mark::begin(&workspace, &folder.path().display().to_string()).expect("marked").expect("it is new");
        let mut orphan = Command::new("sleep").arg("600").env(COMMAND_VARIABLE, mark.name()).process_group(0).spawn().expect("it starts");
        end_orphans(&workspace);
        assert!(!orphan.wait().expect("it ended").success());
    }
}
