//! Processes of a run whose host was killed: they lost nothing but their parent, and would continue to write into the workspace.
//!
//! Each command of a run has the folder of its backup in its environment. Linux shows the environment of processes; elsewhere nothing is found.

use std::path::Path;

/// The variable that names the folder of the backup.
pub(super) const MARK: &str = "TRELLIS_SKILL_BACKUP";

/// Ends every process that a run left behind.
#[cfg(target_os = "linux")]
pub(super) fn end(backup: &Path) {
    use std::os::unix::ffi::OsStrExt;

    /// Rounds, since a process may start another while it is looked for.
    const ROUNDS: usize = 200;

    let mark = [MARK.as_bytes(), b"=", backup.as_os_str().as_bytes()].concat();
    for _ in 0..ROUNDS {
        if kill_marked(&mark) == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Kills the processes with a variable, and counts them.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &[u8]) -> usize {
    use rustix::process::{Pid, Signal, kill_process};

    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let is_marked = |pid: i32| {
        // The environment of a process that is dead already is empty.
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|&byte| byte == 0).any(|variable| variable == mark)
    };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let marked = pids.filter(|pid| is_marked(*pid)).filter_map(Pid::from_raw);
    marked.filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end(_: &Path) {}
