//! The upkeep of a workspace: old data is deleted, and equal decisions become one (orchestrator 5.5, 9.2).

use std::time::Duration;

use jiff::Timestamp;
use trellis_host::store::{Retention, SessionStore};

use super::UpError;
use crate::tools::Hands;

/// The time between two rounds.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Milliseconds of an hour.
const HOUR: u64 = 3600 * 1000;
/// Milliseconds of a day.
const DAY: u64 = 24 * HOUR;
/// Time after which a session that has ended is deleted, in milliseconds.
const SESSION_RETENTION_MS: u64 = 30 * DAY;

/// Merges equal decisions every hour, and deletes old data once a day. It goes by `clock`.
pub(super) async fn keep_order(
    hands: &Hands,
    store: &dyn SessionStore,
    clock: impl Fn() -> Timestamp,
    log: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), UpError> {
    let (mut tidied, mut forgotten) = (None::<u64>, None::<u64>);
    loop {
        let moment = u64::try_from(clock().as_millisecond()).unwrap_or_default();
        // A clock that jumps in either direction stops nothing.
        let is_due = |last: Option<u64>, time: u64| last.is_none_or(|last| moment.abs_diff(last) >= time);
        if is_due(tidied, HOUR) {
            tidied = Some(moment);
            let decisions = hands.decisions.clone();
            if let Ok(Err(error)) = tokio::task::spawn_blocking(move || decisions.tidy()).await {
                log(&error.to_string());
            }
        }
        if is_due(forgotten, DAY) {
            forgotten = Some(moment);
            hands.queue.forget(moment).await?;
            hands.queue.forget_sent(moment).await?;
            let old = Retention { before: Some(moment.saturating_sub(SESSION_RETENTION_MS)), ..Retention::default() };
            if let Err(error) = old.apply(store, false, |_, _| {}).await {
                log(&format!("old sessions are not forgotten: {error}"));
            }
        }
        tokio::time::sleep(UPKEEP_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::ToSpan as _;
    use trellis_core::{Mapping, SessionId, Start};
    use trellis_host::{Secrets, SendError, sessions::Drive};

    use super::*;
    use crate::{
        Orchestrator, Up,
        config::Settings,
        message::{ChatPlace, Incoming, Outgoing},
        workspace::Workspace,
    };

    // orchestrator 9.2: messages and sessions are kept for 30 days, sent messages for 7, and unfinished ones for ever
    #[tokio::test]
    async fn what_is_old_is_forgotten_by_the_clock() {
        let folder = tempfile::tempdir().expect("a folder");
        let graph = folder.path().join("graph");
        std::fs::create_dir(&graph).expect("made");
        std::fs::write(graph.join("start.md"), "---\ninput_type: text\nto: over\n---\nWell?\n").expect("written");
        std::fs::write(graph.join("over.md"), "So.\n").expect("written");
        let workspace = Workspace::open(&folder.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
        let up = Up { graph, workspace, settings: Settings::default(), secrets: Secrets::default() };
        let orchestrator = Orchestrator::open(up).await.expect("it opens");
        let (queue, sessions) = (&orchestrator.hands.queue, &orchestrator.sessions);
        let place = |chat: &str| ChatPlace::new("terminal", chat);
        let start = Timestamp::now();
        let moment = u64::try_from(start.as_millisecond()).expect("now");
        for (chat, session) in [("old", "chat-old"), ("open", "chat-open")] {
            let (sender, sender_name) = ("ana".into(), "Ana".into());
            let message = Incoming { place: place(chat), id: "1".into(), sender, sender_name, text: "hi".into(), at: 1, files: Vec::new() };
            queue.store("terminal", vec![message], None, moment).await.expect("stored");
            let n = queue.waiting().await.expect("rows")[0].n;
            queue.take(vec![n], session, None).await.expect("taken");
            let n = queue.post(Outgoing::new(place(chat), "?", format!("ask:{chat}")), moment).await.expect("posted");
            queue.begin_sending(n).await.expect("begun");
            queue.note_sent(n, "", moment).await.expect("sent");
            let session = Some(SessionId::new(session));
            let turn = sessions
                .start(Start { session, context: Mapping::default(), locale: None, at: None, seed: None })
                .await
                .expect("it starts");
            if chat == "old" {
                sessions.send(&turn.session, turn.answer(trellis_core::Input::Text("so".into()))).await.expect("it ends");
                queue.end_run("chat-old").await.expect("ended");
            }
        }
        let _ = sessions.drive(Drive::WhatIsDue, |_| {}).await;
        let what = async || {
            let mut what = Vec::new();
            for chat in ["old", "open"] {
                let session = format!("chat-{chat}");
                let is_unknown = matches!(sessions.view(&SessionId::new(&*session)).await, Err(SendError::Unknown(_)));
                let is_sent = queue.row_by_key(&format!("ask:{chat}")).await.expect("asked").is_some();
                what.push((queue.of_run(&session).await.expect("asked").is_some(), is_sent, !is_unknown));
            }
            what
        };
        let (all, open) = ((true, true, true), [(false, false, false), (true, true, true)]);
        for (days, expected) in [(6, [all, all]), (8, [(true, false, true), all]), (31, open)] {
            let lines = std::sync::Mutex::new(Vec::new());
            let log = |line: &str| lines.lock().expect("no panic").push(line.to_owned());
            let later = start.checked_add((days * 24).hours()).expect("a time");
            let forgets = keep_order(&orchestrator.hands, &*orchestrator.open_store.store, || later, &log);
            let is_so = async { while what().await != expected {} };
            tokio::select! {
                ended = forgets => panic!("it goes on: {ended:?}"),
                so = tokio::time::timeout(Duration::from_secs(30), is_so) => assert!(so.is_ok(), "{days}: {:?} {lines:?}", what().await),
            }
        }
    }
}
