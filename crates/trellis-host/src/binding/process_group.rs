//! A tool's process group, so that processes that the tool started end with it.
//!
//! **Invariant:** when a `Group` is dropped, no process of it is left.

use rustix::process::{Pid, Signal, kill_process_group};

/// The group that a tool leads.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group whose leader has this process id.
    pub(super) fn led_by(pid: Option<u32>) -> Self {
        Self(pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)))
    }

    /// Asks all of it to end. A group that is gone already needs no signal.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the name of a signal.
pub(super) fn name(signal: i32) -> &'static str {
    const NAMES: [(Signal, &str); 12] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
    ];
    NAMES.iter().find(|(known, _)| known.as_raw() == signal).map_or("a signal", |(_, name)| name)
}
