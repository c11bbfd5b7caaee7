//! Commands that run until interrupted, while files are edited.

mod checker;
mod player;
mod reload;
mod render;

use std::{
    thread,
    time::{Duration, SystemTime},
};

use trellis_project::{WatchError, WatchHandle};

use crate::{report::printable, terminal};

pub(crate) use self::{
    checker::Checker,
    player::Player,
    reload::{Following, Reload},
    render::ReportOutput,
};

/// The interval at which a watch checks whether its output is still read.
pub(crate) const READER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// In milliseconds since 1970.
fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Says why the system does not help to watch, if it does not.
pub(crate) fn warn_of_polling(trouble: Option<&WatchError>) {
    if let Some(trouble) = trouble {
        let (why, help) = (printable(&trouble.to_string()).into_owned(), trouble.help());
        terminal::print_error(&format!("warning: {why}; files are looked at twice a second instead\nhelp: {help}\n"));
    }
}

/// Ends a wait on Ctrl-C; the second Ctrl-C ends the program.
pub(crate) fn close_on_interrupt(watch: WatchHandle) -> anyhow::Result<()> {
    on_interrupt(move || watch.close())
}

/// Does something on the first interrupt; the second one ends the program.
pub(crate) fn on_interrupt(first: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                first();
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                terminal::end_keys();
                std::process::exit(130);
            }
        });
    })?;
    Ok(())
}
