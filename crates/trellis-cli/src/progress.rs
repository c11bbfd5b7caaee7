//! A progress line on standard error: only on a terminal, only after half a second, removed at the end.

use std::{
    io::{IsTerminal, stderr},
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use crate::{report::printable, terminal};

const SILENT_WORK: Duration = Duration::from_millis(500);
const REFRESH: Duration = Duration::from_millis(200);
/// Back to the beginning of the line, which is then cleared.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The line; dropping it removes it.
pub(crate) struct Progress {
    at: Arc<Mutex<String>>,
    shown: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to wait.
    pub(crate) fn begin(what: &'static str) -> Self {
        let at = Arc::new(Mutex::new(String::new()));
        let shown = stderr().is_terminal().then(|| {
            let (done, is_done) = mpsc::channel();
            let at = Arc::clone(&at);
            (done, std::thread::spawn(move || show(what, &at, &is_done)))
        });
        Self { at, shown }
    }

    /// Sets the current activity.
    pub(crate) fn at(&self, place: &str) {
        if let Ok(mut at) = self.at.lock() {
            *at = printable(place).into_owned();
        }
    }
}

fn show(what: &str, at: &Mutex<String>, is_done: &mpsc::Receiver<()>) {
    let mut patience = SILENT_WORK;
    let mut shown = false;
    while let Err(mpsc::RecvTimeoutError::Timeout) = is_done.recv_timeout(patience) {
        let place = at.lock().map(|place| place.clone()).unwrap_or_default();
        terminal::print_error(&format!("{CLEAR_LINE}{what} {place} …"));
        (patience, shown) = (REFRESH, true);
    }
    if shown {
        terminal::print_error(CLEAR_LINE);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, shown)) = self.shown.take() {
            drop(done);
            let _ = shown.join();
        }
    }
}
