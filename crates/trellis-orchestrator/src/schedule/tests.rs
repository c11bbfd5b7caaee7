//! Times of a calendar, with the days on which clocks change (orchestrator 8.1).

use jiff::tz::TimeZone;

use super::*;
use crate::message::ChatPlace;

fn moment(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

/// The next runs of an expression in a zone, in local time.
fn runs(expression: &str, zone_name: &str, from: &str, count: usize) -> Vec<String> {
    let zone = zone(zone_name).expect("a zone");
    let schedule = Schedule::cron(expression, zone.clone()).expect("a schedule");
    let mut after = moment(from);
    let next = |_| {
        after = schedule.next(after).expect("it comes");
        after.to_zoned(zone.clone()).strftime("%m-%d %H:%M%:z").to_string()
    };
    (0..count).map(next).collect()
}

#[test]
fn expressions_are_read_as_cron_reads_them() {
    assert_eq!(
        runs("0 9 * * 1-5", "Asia/Seoul", "2026-11-20T00:30:00Z", 3),
        ["11-23 09:00+09:00", "11-24 09:00+09:00", "11-25 09:00+09:00"]
    );
    assert_eq!(
        runs("*/20 8-9 1 JAN *", "UTC", "2026-01-01T08:30:00Z", 4),
        ["01-01 08:40+00:00", "01-01 09:00+00:00", "01-01 09:20+00:00", "01-01 09:40+00:00"]
    );
    // Sunday is 0 and 7, and has a name.
    for sunday in ["0", "7", "sun"] {
        assert_eq!(runs(&format!("5 0 * * {sunday}"), "UTC", "2026-11-23T00:00:00Z", 1), ["11-29 00:05+00:00"]);
    }
    // Of a day and a day of the week one is enough.
    assert_eq!(runs("0 0 13 * fri", "UTC", "2026-11-10T00:00:00Z", 3), ["11-13 00:00+00:00", "11-20 00:00+00:00", "11-27 00:00+00:00"]);
    assert_eq!(runs("0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", 1), ["02-29 00:00+00:00"]);
}

// orchestrator 8.1, source 003.12.1: in a gap a run comes at its end; a repeated hour fires once
#[test]
fn clocks_that_change_lose_and_double_nothing() {
    let spring = "2026-03-28T20:00:00Z";
    assert_eq!(runs("30 2 * * *", "Europe/Berlin", spring, 2), ["03-29 03:00+02:00", "03-30 02:30+02:00"]);
    assert_eq!(runs("*/10 2 29 3 *", "Europe/Berlin", spring, 1), ["03-29 03:00+02:00"]);
    // The first time of the gap.
    assert_eq!(runs("0 2 * * *", "Europe/Berlin", spring, 2), ["03-29 03:00+02:00", "03-30 02:00+02:00"]);
    assert_eq!(runs("59 2 * * *", "Europe/Berlin", spring, 1), ["03-29 03:00+02:00"]);
    let berlin = zone("Europe/Berlin").expect("a zone");
    assert_eq!(Schedule::at("2026-03-29T02:00", &berlin), Ok(Schedule::At(moment("2026-03-29T01:00:00Z"))));
    let autumn = "2026-10-24T20:00:00Z";
    assert_eq!(runs("30 2 * * *", "Europe/Berlin", autumn, 2), ["10-25 02:30+02:00", "10-26 02:30+01:00"]);
    assert_eq!(
        runs("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
        ["10-25 02:00+02:00", "10-25 03:00+01:00", "10-25 04:00+01:00"]
    );
}

#[test]
fn what_is_no_schedule_says_why() {
    let utc = || TimeZone::UTC;
    for (expression, why) in [
        ("* * * *", "4 fields"),
        ("60 * * * *", "`60` does not lie between 0 and 59"),
        ("0 0 0 * *", "`0` does not lie between 1 and 31"),
        ("5-1 * * * *", "goes backwards"),
        ("*/0 * * * *", "no step"),
        ("a * * * *", "`a` does not lie"),
        ("0 0 31 2 *", "never happens"),
        ("", "0 fields"),
    ] {
        let error = Schedule::cron(expression, utc()).expect_err(expression).to_string();
        assert!(error.contains(why), "{expression}: {error}");
    }
    assert!(zone("Mars/Olympus").expect_err("unknown").to_string().contains("Asia/Seoul"));
    for interval in ["9s", "0m", "h", "", "2w", "-1h", "99999999999999999999d", "1.5h", "é"] {
        assert!(Schedule::every(interval, Timestamp::UNIX_EPOCH).is_err(), "{interval}");
    }
    assert!(Schedule::at("tomorrow", &utc()).is_err());
}

#[test]
fn moments_and_intervals() {
    let seoul = zone("Asia/Seoul").expect("a zone");
    let nine = Schedule::At(moment("2026-11-23T00:00:00Z"));
    assert_eq!(Schedule::at("2026-11-23T09:00", &seoul).expect("local"), nine);
    assert_eq!(Schedule::at("2026-11-23T09:00:00+09:00", &TimeZone::UTC).expect("with an offset"), nine);
    assert_eq!(nine.next(moment("2026-11-23T00:00:00Z")), None);
    let every = Schedule::every("2h", moment("2026-11-23T00:30:00Z")).expect("an interval");
    assert_eq!(every.next(moment("2026-11-23T00:30:00Z")), Some(moment("2026-11-23T02:30:00Z")));
    // Missed runs are not made up for one by one.
    assert_eq!(every.next(moment("2026-11-23T09:00:00Z")), Some(moment("2026-11-23T10:30:00Z")));
}

fn job(id: &str, when: &str, created: &str, next: &str) -> Job {
    Job {
        id: id.to_owned(),
        when: when.to_owned(),
        tz: Some("UTC".to_owned()),
        prompt: "go".to_owned(),
        place: ChatPlace::new("terminal", "terminal"),
        enabled: true,
        created_at: moment(created).as_millisecond(),
        next_at: Some(moment(next).as_millisecond()),
        last_at: None,
        last_status: None,
        runs: 0,
        created_by: "terminal:terminal".to_owned(),
    }
}

// orchestrator 8.1, source 003.12.1: overdue `at` runs at start, missed `every` and `cron` once; one name a run
#[test]
fn what_was_missed_comes_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cron/cron-store.json");
    let (jobs, _) = Jobs::open(&file).expect("none yet");
    let start = "2026-11-23T00:00:00Z";
    jobs.add(job("a", "at 2026-11-23T01:00:00Z", start, "2026-11-23T01:00:00Z")).expect("added");
    jobs.add(job("b", "every 1h", start, "2026-11-23T01:00:00Z")).expect("added");
    jobs.add(job("c", "cron 0 * * * *", start, "2026-11-23T01:00:00Z")).expect("added");
    jobs.update("c", |job| {
        job.enabled = false;
        true
    })
    .expect("paused");
    let (jobs, warning) = Jobs::open(&file).expect("again");
    assert!(warning.is_none() && jobs.list().len() == 3);
    assert!(jobs.due(moment("2026-11-23T00:59:59Z")).is_empty());
    let now = moment("2026-11-23T05:30:00Z");
    let due = jobs.due(now);
    let ids: Vec<String> = due.iter().map(|(_, message)| message.id.clone()).collect();
    let at = moment("2026-11-23T01:00:00Z").as_millisecond();
    assert_eq!(ids, [format!("cron-a-{at}"), format!("cron-b-{at}")]);
    for (job, _) in due {
        jobs.note_run(&job.id, now).expect("noted");
    }
    let left: Vec<(String, u64)> = jobs.list().into_iter().map(|job| (job.id, job.runs)).collect();
    assert_eq!(left, [("b".to_owned(), 1), ("c".to_owned(), 0)]);
    assert_eq!(jobs.next(), Some(moment("2026-11-23T06:00:00Z")));
}

// orchestrator 8.1: at most 200 jobs
#[test]
fn a_201st_job_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (jobs, _) = Jobs::open(&folder.path().join("many.json")).expect("none yet");
    let start = "2026-11-23T00:00:00Z";
    (0..200).for_each(|id| jobs.add(job(&id.to_string(), "every 1h", start, start)).expect("added"));
    let refused = jobs.add(job("200", "every 1h", start, start));
    assert!(matches!(refused, Err(JobsError::TooMany)) && jobs.list().len() == 200, "{refused:?}");
    jobs.update("7", |_| false).expect("removed");
    jobs.add(job("200", "every 1h", start, start)).expect("there is room");
}

// orchestrator 9.1: a corrupt truth is moved aside and said; a newer one is refused, untouched
#[test]
fn a_file_that_is_not_understood_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cron-store.json");
    std::fs::write(&file, "{\"version\": 1, \"jobs\": [").expect("written");
    let (jobs, warning) = Jobs::open(&file).expect("it opens");
    assert!(jobs.list().is_empty() && warning.as_ref().is_some_and(|warning| warning.contains("corrupt-")), "{warning:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("files").count(), 1);
    std::fs::write(&file, "{\"version\": 2, \"jobs\": []}").expect("written");
    assert!(matches!(Jobs::open(&file), Err(JobsError::File(crate::workspace::ObjectFileError::Newer { found: 2, .. }))));
}

// orchestrator 9: the fields of a job, of each kind
#[test]
fn the_file_has_the_fields_of_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cron-store.json");
    let (jobs, _) = Jobs::open(&file).expect("none yet");
    let start = "2026-11-23T00:00:00Z";
    for (id, when) in [("a", "at 2026-11-24T01:00:00Z"), ("b", "every 90m"), ("c", "cron 0 9 * * 1-5")] {
        jobs.add(job(id, when, start, "2026-11-24T01:00:00Z")).expect("added");
    }
    jobs.note_run("b", moment("2026-11-24T01:00:00Z")).expect("noted");
    jobs.note_end("cron-b-1795482000000", "completed").expect("noted");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).expect("read")).expect("JSON");
    let [a, b, c] = [0, 1, 2].map(|at| &json["jobs"][at]);
    assert_eq!(
        (&json["version"], &a["kind"], &a["at"], &a["name"]),
        (&1.into(), &"at".into(), &"2026-11-24T01:00:00Z".into(), &"go".into())
    );
    assert_eq!(
        (&b["kind"], &b["every_ms"], &b["runs"], &b["last_status"]),
        (&"every".into(), &5_400_000.into(), &1.into(), &"completed".into())
    );
    assert_eq!((&c["kind"], &c["expr"], &c["tz"]), (&"cron".into(), &"0 9 * * 1-5".into(), &"UTC".into()));
    for key in ["id", "prompt", "provider", "chat", "enabled", "next_at", "created_by"] {
        assert!(json["jobs"].as_array().expect("jobs").iter().all(|job| !job[key].is_null()), "{key}");
    }
    let (again, warning) = Jobs::open(&file).expect("again");
    assert_eq!((again.list(), warning), (jobs.list(), None));
}

// orchestrator 9.1: the service starts with what could be read; what could not lies beside it
#[test]
fn a_job_that_is_not_understood_costs_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cron-store.json");
    let (jobs, _) = Jobs::open(&file).expect("none yet");
    let start = "2026-11-23T00:00:00Z";
    ["a", "b"].iter().for_each(|id| jobs.add(job(id, "every 1h", start, start)).expect("added"));
    let text = std::fs::read_to_string(&file).expect("read").replacen("\"every_ms\": 3600000", "\"every_ms\": 3", 1);
    std::fs::write(&file, &text).expect("written");
    let (jobs, warning) = Jobs::open(&file).expect("it opens");
    let ids: Vec<String> = jobs.list().into_iter().map(|job| job.id).collect();
    assert!(ids == ["b"] && warning.is_some_and(|warning| warning.contains("corrupt-")));
    let others = std::fs::read_dir(folder.path()).expect("files").flatten().map(|entry| entry.path());
    assert!(others.filter(|other| *other != file).any(|other| std::fs::read_to_string(other).expect("read") == text));
}

// orchestrator 8.1: an error shows the next five runs of the nearest valid schedule
#[test]
fn what_is_nearest_is_shown_with_its_runs() {
    let now = moment("2026-11-23T00:00:00Z");
    for (when, tz, expected) in [
        ("cron 0 9 31 2 *", Some("UTC"), Some(("cron 0 9 29 2 *", Some("UTC"), "2028-02-29T09:00:00Z"))),
        ("cron 0 25 * * *", Some("Asia/Seol"), Some(("cron 0 23 * * *", Some("Asia/Seoul"), "2026-11-23T14:00:00Z"))),
        ("cron 0 9 * *", Some("seoul"), Some(("cron 0 9 * * *", Some("Asia/Seoul"), "2026-11-24T00:00:00Z"))),
        ("every 1s", None, Some(("every 10s", None, "2026-11-23T00:00:10Z"))),
        ("every 2h", Some("Mars/Olympus"), None),
        ("at 2020-01-01T00:00", None, None),
    ] {
        let near = NearestSchedule::of(when, tz, now);
        let shown = near.as_ref().map(|near| (&*near.when, near.tz.as_deref(), near.runs[0].to_string()));
        assert_eq!(shown, expected.map(|(when, tz, run)| (when, tz, run.to_owned())), "{when}");
        assert!(near.is_none_or(|near| near.runs.len() == 5), "{when}");
    }
}
