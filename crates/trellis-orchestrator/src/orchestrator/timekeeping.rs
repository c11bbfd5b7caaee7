//! What happens because of the time: schedules, and forgetting (orchestrator 8.1, 9.2).

use std::time::Duration;

use jiff::Timestamp;
use trellis_host::store::{Retention, SessionStore};

use super::{UpError, by_itself::do_due};
use crate::tools::Hands;

/// The longest time between two looks at the clock: one that is set is noticed by then.
const LONGEST: Duration = Duration::from_secs(60);
/// The name under which schedules put messages into the queue.
const SCHEDULES: &str = "schedules";
/// Milliseconds of a day.
const DAY: u64 = 24 * 3600 * 1000;
/// Time after which a session that has ended is forgotten, in milliseconds.
const KEPT: u64 = 30 * DAY;

/// Puts what is due into the queue, as a message of its chat: the name of the message makes it one, however often this happens. Once a day it forgets
/// what is old. It goes by `clock`.
pub(super) async fn keep_time(
    hands: &Hands,
    store: &dyn SessionStore,
    clock: impl Fn() -> Timestamp,
    wake: impl Fn(),
    log: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), UpError> {
    let (jobs, queue) = (&hands.jobs, &hands.queue);
    let mut forgotten = None::<u64>;
    loop {
        let now = clock();
        let moment = u64::try_from(now.as_millisecond()).unwrap_or_default();
        for (job, message) in jobs.due(now) {
            queue.store(SCHEDULES, vec![message], None, moment).await?;
            jobs.happened(&job.id, now)?;
            wake();
        }
        let next = do_due(hands, now, &wake, log).await?;
        if forgotten.is_none_or(|last| moment.abs_diff(last) >= DAY) {
            forgotten = Some(moment);
            queue.forget(moment).await?;
            queue.forget_sent(moment).await?;
            let old = Retention { before: Some(moment.saturating_sub(KEPT)), ..Retention::default() };
            if let Err(error) = old.apply(store, false, |_, _| {}).await {
                log(&format!("old sessions are not forgotten: {error}"));
            }
        }
        let next = jobs.next().map_or(next, |job| job.min(next));
        let wait: Duration = next.duration_since(clock()).try_into().unwrap_or_default();
        let _ = tokio::time::timeout(wait.clamp(Duration::from_millis(5), LONGEST), jobs.changed.notified()).await;
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

    // orchestrator 9.2: messages and sessions are kept for 30 days, what was sent for 7, and what goes on is kept
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
            let message =
                Incoming { place: place(chat), id: "1".into(), sender: "ana".into(), sender_name: "Ana".into(), text: "hi".into(), at: 1 };
            queue.store("terminal", vec![message], None, moment).await.expect("stored");
            let n = queue.waiting().await.expect("rows")[0].n;
            queue.take(vec![n], session, None).await.expect("taken");
            let n =
                queue.post(Outgoing { place: place(chat), text: "?".into(), key: format!("ask:{chat}") }, moment).await.expect("posted");
            queue.begin_sending(n).await.expect("begun");
            queue.sent(n, "", moment).await.expect("sent");
            let session = Some(SessionId::new(session));
            let turn = sessions.start(Start { session, context: Mapping::default(), locale: None, at: None }).await.expect("it starts");
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
                let is_sent = queue.posted(&format!("ask:{chat}")).await.expect("asked").is_some();
                what.push((queue.of_run(&session).await.expect("asked").is_some(), is_sent, !is_unknown));
            }
            what
        };
        let (all, open) = ((true, true, true), [(false, false, false), (true, true, true)]);
        for (days, expected) in [(6, [all, all]), (8, [(true, false, true), all]), (31, open)] {
            let told = std::sync::Mutex::new(Vec::new());
            let log = |line: &str| told.lock().expect("no panic").push(line.to_owned());
            let later = start.checked_add((days * 24).hours()).expect("a time");
            let forgets = keep_time(&orchestrator.hands, &*orchestrator.store, || later, || {}, &log);
            let is_so = async { while what().await != expected {} };
            tokio::select! {
                ended = forgets => panic!("it goes on: {ended:?}"),
                so = tokio::time::timeout(Duration::from_secs(30), is_so) => assert!(so.is_ok(), "{days}: {:?} {told:?}", what().await),
            }
        }
    }
}
