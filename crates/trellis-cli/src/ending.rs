//! Signals that end a long-running command.

use std::process;

use tokio::signal::unix::{SignalKind, signal};

/// Exit code of a program that an interrupt ended.
const INTERRUPTED: i32 = 130;

/// Waits for the first signal that ends this program; a second one ends it at once.
pub(crate) async fn ended() {
    let raised = [SignalKind::interrupt(), SignalKind::terminate()].into_iter().filter_map(|kind| signal(kind).ok());
    let (sender, mut heard) = tokio::sync::mpsc::channel::<()>(2);
    for mut signal in raised {
        let sender = sender.clone();
        tokio::spawn(async move { while signal.recv().await.is_some() && sender.send(()).await.is_ok() {} });
    }
    heard.recv().await;
    tokio::spawn(async move {
        if heard.recv().await.is_some() {
            process::exit(INTERRUPTED);
        }
    });
}
