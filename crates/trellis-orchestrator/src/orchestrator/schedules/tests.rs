//! Schedules by a clock that jumps (orchestrator 8.1, 8.3).

use std::{
    path::Path,
    sync::atomic::{AtomicI64, Ordering},
};

use trellis_host::Secrets;

use super::*;
use crate::{Orchestrator, Up, config::Settings, message::ChatPlace, schedule::Job, workspace::Workspace};

fn moment(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

fn job(id: &str, when: &str, created: &str) -> Job {
    let job = Job {
        id: id.to_owned(),
        when: when.to_owned(),
        tz: Some("UTC".to_owned()),
        prompt: "go".to_owned(),
        place: ChatPlace::new("terminal", "terminal"),
        enabled: true,
        created_at: moment(created).as_millisecond(),
        next_at: None,
        last_at: None,
        last_status: None,
        runs: 0,
        created_by: "terminal:terminal".to_owned(),
    };
    let next = job.schedule().and_then(|schedule| schedule.next(moment(created)));
    Job { next_at: next.map(Timestamp::as_millisecond), ..job }
}

// orchestrator 8.1, 8.3: what the clock jumps over comes once; set back, nothing waits longer than its schedule says, and no run comes twice
#[tokio::test]
async fn schedules_follow_a_clock_that_jumps() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = folder.path().join("graph");
    std::fs::create_dir(&graph).expect("made");
    std::fs::write(graph.join("start.md"), "Well.\n").expect("written");
    let workspace = Workspace::open(&folder.path().join("workspace"), Path::new("/nowhere")).expect("a workspace");
    let up = Up { graph, workspace, settings: Settings::default(), secrets: Secrets::default() };
    let orchestrator = Orchestrator::open(up).await.expect("it opens");
    let (hands, start) = (orchestrator.hands(), "2026-11-23T00:00:00Z");
    for (id, when) in [("hourly", "every 1h"), ("noon", "at 2026-11-23T12:00:00Z"), ("nine", "cron 0 9 * * *")] {
        hands.jobs.add(job(id, when, start)).expect("added");
    }
    let now = AtomicI64::new(moment(start).as_millisecond());
    let clock = || Timestamp::from_millisecond(now.load(Ordering::SeqCst)).expect("a moment");
    tokio::time::pause();
    // Nobody tells it that the clock was set: it looks by itself.
    let after = async |at: &str| -> Vec<String> {
        now.store(moment(at).as_millisecond(), Ordering::SeqCst);
        tokio::time::sleep(3 * MAX_CLOCK_INTERVAL).await;
        let rows = hands.queue.waiting().await.expect("rows").into_iter();
        let mut ids = Vec::new();
        for row in rows {
            hands.queue.settle(vec![row.n]).await.expect("settled");
            let (job, due) = row.message.id.strip_prefix("cron-").and_then(|id| id.rsplit_once('-')).expect("a run");
            let due = Timestamp::from_millisecond(due.parse().expect("a number")).expect("a moment");
            ids.push(format!("{job} {}", due.strftime("%d %H:%M")));
        }
        ids
    };
    let story = async {
        assert_eq!(after("2026-11-23T00:59:59Z").await, [""; 0]);
        assert_eq!(after("2026-11-23T12:30:00Z").await, ["hourly 23 01:00", "noon 23 12:00", "nine 23 09:00"]);
        // Twelve hours back: the run of one o'clock was there already.
        assert_eq!(after("2026-11-23T00:30:00Z").await, [""; 0]);
        assert_eq!(after("2026-11-23T01:30:00Z").await, [""; 0]);
        assert_eq!(after("2026-11-23T02:00:00Z").await, ["hourly 23 02:00"]);
        assert_eq!(after("2026-11-23T09:30:00Z").await, ["hourly 23 03:00"]);
        // A year ahead for a moment, and back.
        assert_eq!(after("2027-11-23T00:10:00Z").await, ["hourly 23 10:00", "nine 24 09:00"]);
        assert_eq!(after("2026-11-23T09:40:00Z").await, [""; 0]);
        assert_eq!(after("2026-11-23T11:00:00Z").await, ["hourly 23 11:00"]);
        assert_eq!(after("2026-11-25T09:00:00Z").await, ["hourly 23 12:00", "nine 25 09:00"]);
        // Behind the moment from which it counts.
        assert_eq!(after("2026-11-20T10:20:00Z").await, [""; 0]);
        assert_eq!(after("2026-11-20T11:00:00Z").await, ["hourly 20 11:00"]);
        // It died between the message and its note: the same name is the same run.
        let again = |job: &mut Job| {
            job.next_at = job.last_at;
            true
        };
        hands.jobs.update("hourly", again).expect("changed");
        assert_eq!(after("2026-11-20T11:10:00Z").await, [""; 0]);
    };
    tokio::select! {
        ended = keep_time(hands, clock, || {}, &|_: &str| {}) => panic!("it goes on: {ended:?}"),
        () = story => {}
    }
}
