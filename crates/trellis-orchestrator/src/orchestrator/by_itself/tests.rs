//! Heartbeats and nights, by a clock of the test (orchestrator 5.4, 8.2).

use std::{fs, path::Path};

use jiff::ToSpan as _;
use trellis_host::Secrets;

use super::*;
use crate::{Orchestrator, Up, config, workspace::Workspace};

async fn orchestrator(folder: &Path, settings: &str) -> Orchestrator {
    let graph = folder.join("graph");
    fs::create_dir(&graph).expect("made");
    fs::write(graph.join("start.md"), "Well.\n").expect("written");
    let workspace = Workspace::open(&folder.join("workspace"), Path::new("/nowhere")).expect("a workspace");
    let (settings, found) = config::read("orchestrator.yaml", settings);
    assert!(found.is_empty(), "{found:?}");
    Orchestrator::open(Up { graph, workspace, settings, secrets: Secrets::default() }).await.expect("it opens")
}

/// Returns the sessions that began, by their ids without moments, and their texts.
async fn begun(orchestrator: &Orchestrator) -> Vec<(String, String)> {
    let rows = orchestrator.hands().queue.waiting().await.expect("rows");
    rows.into_iter().map(|row| (row.message.id.split('-').next().unwrap_or_default().to_owned(), row.message.text)).collect()
}

// orchestrator 8.2, source 003.12.3: the unchecked items are the prompt; none, no run; one at a time; too large: it is said, once, and nothing else happens
#[tokio::test]
async fn the_heart_beats_with_what_stands_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let orchestrator = orchestrator(folder.path(), "heartbeat: { every: 10m, chat: 'slack:C1' }\n").await;
    let (hands, file) = (orchestrator.hands(), folder.path().join("workspace/HEARTBEAT.md"));
    let quiet = |_: &str| {};
    let start: Timestamp = "2026-11-24T12:00:00Z".parse().expect("a moment");
    let at = |minutes: i64| start.checked_add(minutes.minutes()).expect("a moment");
    // The file that a workspace begins with has no items.
    for minutes in [0, 9, 10, 25] {
        do_due(hands, at(minutes), || {}, &quiet).await.expect("done");
        assert_eq!(begun(&orchestrator).await, [], "{minutes}");
    }
    fs::write(&file, "# Look\n- [ ] the queue\n- [x] done\n  * [ ] my password is hunter2-XK9!\n- [ ] \n").expect("written");
    for (minutes, count) in [(34, 0), (35, 1), (46, 1)] {
        do_due(hands, at(minutes), || {}, &quiet).await.expect("done");
        assert_eq!(begun(&orchestrator).await.len(), count, "{minutes}");
    }
    let (name, text) = begun(&orchestrator).await.remove(0);
    assert!(name == "heartbeat" && text.contains("- [ ] the queue\\n* [ ] my password is {{secret:inbound.slack."), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("done"), "{text}");
    let row = hands.queue.waiting().await.expect("rows").remove(0);
    assert_eq!((&row.message.place, row.kind()), (&ChatPlace::new("slack", "C1"), crate::words::Kind::Work(Work::Heartbeat)));
    hands.queue.settle(vec![row.n]).await.expect("settled");
    fs::write(&file, format!("- [ ] {}\n", "x".repeat(64 << 10))).expect("written");
    for minutes in [60, 70] {
        do_due(hands, at(minutes), || {}, &quiet).await.expect("the service lives");
    }
    assert_eq!(begun(&orchestrator).await, []);
    let said = hands.queue.in_state(crate::queue::RowState::Queued).await.expect("rows");
    assert!(said.len() == 1 && said[0].message.text.contains("65543 bytes"), "{said:?}");
    // A clock that is set back stops nothing for long.
    fs::write(&file, "- [ ] the queue\n").expect("written");
    let next = do_due(hands, at(-600), || {}, &quiet).await.expect("done");
    assert_eq!((next, begun(&orchestrator).await.len()), (at(-590), 0));
    do_due(hands, at(-590), || {}, &quiet).await.expect("done");
    assert_eq!(begun(&orchestrator).await.len(), 1);
}

// at 03:00, what was missed once; only where there are days to put into the memory
#[tokio::test]
async fn a_night_consolidates_old_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let orchestrator = orchestrator(folder.path(), "channels: { }\n").await;
    let hands = orchestrator.hands();
    assert_eq!(hands.settings.heartbeat, None);
    let quiet = |_: &str| {};
    let day =
        |day: i8, hour: i8| jiff::civil::date(2026, 11, day).at(hour, 0, 0, 0).to_zoned(TimeZone::system()).expect("a moment").timestamp();
    let mut moments = Vec::new();
    for now in [day(20, 12), day(21, 4)] {
        do_due(hands, now, || {}, &quiet).await.expect("done");
        assert_eq!(begun(&orchestrator).await, []);
    }
    fs::write(folder.path().join("workspace/memory/2026-11-19.md"), "- 10:00 tea\n").expect("written");
    for now in [day(21, 23), day(22, 2), day(24, 10), day(24, 12)] {
        do_due(hands, now, || {}, &quiet).await.expect("done");
        moments.push(begun(&orchestrator).await.len());
    }
    assert_eq!(moments, [0, 0, 1, 1]);
    assert_eq!(begun(&orchestrator).await, [("consolidate".to_owned(), "{\"tell\":false}".to_owned())]);
}
