//! The client's process: the server ends when it exits, even if its streams stay open.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, never};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// A process that is watched until this is dropped.
pub(crate) struct Parent {
    /// Rings when it is gone.
    pub(crate) gone: Receiver<()>,
    _watched: Option<Sender<()>>,
}

impl Parent {
    /// Watches the process with this id. A process that does not exist at the start may run in another container, and is not watched.
    pub(crate) fn watch(number: Option<u32>) -> std::io::Result<Self> {
        let Some(number) = number.filter(|number| is_alive(*number)) else { return Ok(Self { gone: never(), _watched: None }) };
        let (rings, gone) = bounded(1);
        let (watched, end) = bounded::<()>(0);
        let run = move || {
            while end.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if !is_alive(number) {
                    let _ = rings.send(());
                    return;
                }
            }
        };
        std::thread::Builder::new().name("trellis-parent".into()).spawn(run)?;
        Ok(Self { gone, _watched: Some(watched) })
    }
}

#[cfg(unix)]
fn is_alive(number: u32) -> bool {
    let process = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw);
    // One that may not be signalled is there.
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

/// Elsewhere the end of the streams has to do.
#[cfg(not(unix))]
fn is_alive(_: u32) -> bool {
    false
}
