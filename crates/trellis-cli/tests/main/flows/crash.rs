//! The flows while their process is killed (issue "Three source systems run on real parts": "resumed, nothing lost or doubled, files all before or all
//! after").

use std::{fs, path::Path, thread};

use serde_json::{Value, json};

use super::{
    Flow,
    chancellor::{SURE, court},
    toolflow::{AFTER, House},
};

const SESSION: [&str; 2] = ["--session", "s"];

fn wish(prompt: &str) -> Value {
    json!({ "user_prompt": prompt, "risk_score": 3 })
}

/// source 000.8.1: killed at every stage of the execution, all files are as before or as after it.
#[test]
fn whenever_the_host_is_killed_files_are_all_before_or_all_after() {
    let die = "test \"$TRELLIS_DRY_RUN\" = 1 || test -e ../died || { : >../died; kill -9 $PPID; sleep 5; }";
    let half = format!("{die}; exec ../bin/tidy_logs");
    for (stage, from, to) in [
        ("check", "check: [./bin/example_logs]", format!("check: [sh, -c, '{die}']")),
        // In the middle of its work.
        ("run", "run: [./bin/tidy_logs]", format!("run: [sh, -c, 'test \"$TRELLIS_DRY_RUN\" = 1 || mv logs/1.log .; {half}']")),
        ("verify", "verify: [./bin/tidy_logs, verify]", format!("verify: [sh, -c, '{half} verify']")),
    ] {
        let house = House::scored(95.0, 12);
        house.0.edit("_skills/tidy_logs.md", from, &to);
        house.0.edit("_skills/tidy_logs.md", "backup: [logs, archive]", "backup: [logs, archive, 1.log]");
        let died = house.0.play_in(&SESSION, Some(&wish("tidy the logs")), &[], &[]);
        assert_eq!(died.code, None, "{stage}: it was killed: {died:#?}");
        // The moved file of the first attempt is not there for the second one: it was restored.
        let resumed = house.0.play_in(&SESSION, None, &[], &[]);
        assert_eq!(resumed.output()["status"], "OK", "{stage}: {resumed:#?}");
        let expected: Vec<&str> = if stage == "run" { vec!["1.log", "archive/2.log", "logs/new.log"] } else { AFTER.into() };
        assert_eq!(house.logs(), expected, "{stage}");
    }
}

/// As many logs as it takes to be cut off in their middle.
const MANY: usize = 300;

impl House {
    /// A house with many logs of today.
    fn full() -> Self {
        let house = Self::scored(95.0, 12);
        for number in 0..MANY {
            house.0.write(&format!("_workspace/logs/many-{number:03}.log"), &[b'x'; 4096]);
        }
        house
    }
}

/// The number of entries of a folder; none where it is not there.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| entries.flatten().count())
}

/// The backups that are being made: their numbers of copies. Those that are whole are not among them.
fn halves(flow: &Flow) -> Vec<usize> {
    let entries = fs::read_dir(flow.path().join(".trellis/skills")).into_iter().flatten().flatten();
    let drafts = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".new"));
    drafts.map(|draft| count(&draft.path().join("copies"))).collect()
}

/// source 000.8.1: a backup that is killed in its middle: that of the dry run, and that of the execution.
#[test]
fn a_backup_that_was_cut_off_is_made_anew() {
    side_by_side([0, 1], |earlier| {
        let house = House::full();
        let skills = house.0.path().join(".trellis/skills");
        let is_half = || {
            let halves = halves(&house.0);
            count(&skills) == earlier + halves.len() && halves.iter().any(|copies| (50..MANY).contains(copies))
        };
        assert!(house.0.cut(&SESSION, Some(&wish("tidy the logs")), &is_half), "{earlier}: it was over before it was killed");
        assert_eq!(halves(&house.0).len(), 1, "{earlier}: it was killed in its middle");
        let resumed = house.0.play_in(&SESSION, None, &[], &[]);
        assert_eq!(resumed.output()["status"], "OK", "{earlier}: {resumed:#?}");
        assert_eq!(house.old(), ["archive/1.log", "archive/2.log"]);
        assert_eq!(count(&house.0.path().join("_workspace/logs")), MANY + 2, "with the log of today and the score");
        assert!(halves(&house.0).is_empty(), "the half is gone");
    });
}

/// source 000.8.1: a restoration that is killed in its middle: that of the dry run, and that of the execution.
#[test]
fn a_restoration_that_was_cut_off_is_finished() {
    side_by_side([1, 2], |nth| {
        let house = House::full();
        house.0.edit("_skills/break_things.md", "risk: 60", "risk: 5\ndry_run_supported: true");
        house.0.edit("_skills/break_things.md", "archive/broken.log'", "archive/broken.log; echo ran >>../ran'");
        let before = house.files();
        let logs = house.0.path().join("_workspace/logs");
        let ran = house.0.path().join("ran");
        let is_half = || fs::read_to_string(&ran).is_ok_and(|text| text.lines().count() == nth) && (50..MANY).contains(&count(&logs));
        assert!(house.0.cut(&SESSION, Some(&wish("break things as a drill")), &is_half), "{nth}: it was over before it was killed");
        assert_ne!(house.files(), before, "{nth}: it was killed in its middle");
        let resumed = house.0.play_in(&SESSION, None, &[], &[]);
        assert_eq!((&resumed.output()["status"], &resumed.output()["code"]), (&json!("FAILED"), &json!("verify_failed")), "{resumed:#?}");
        assert_eq!(house.files(), before, "{nth}");
    });
}

/// Tries two moments at once: each mostly waits for the disk.
fn side_by_side(moments: [usize; 2], tries: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for moment in moments {
            let tries = &tries;
            scope.spawn(move || tries(moment));
        }
    });
}

/// source 001.2.7: killed wherever the court is, also while its three pillars weigh a command side by side.
#[test]
fn a_command_that_was_cut_off_anywhere_is_carried_out_once() {
    let payload = json!({ "command": "note buy lamps" });
    // Another place in each run of the tests, with every part of the flow in each.
    let first = 1 + std::process::id() as usize % 13;
    for at in (first..).step_by(13) {
        let flow = court(SURE);
        let mut lines = 0;
        let cut = flow.watch(&SESSION, Some(&payload), &[], &mut |_| {
            lines += 1;
            lines < at
        });
        let ended = if cut.code.is_none() { flow.watch(&SESSION, None, &[], &mut |_| true) } else { cut };
        let notes = fs::read_to_string(flow.path().join("_workspace/notes.txt")).unwrap_or_default();
        assert_eq!(notes, "buy lamps\n", "killed at line {at}: {ended:#?}");
        if ended.of_type("END").next().is_some() {
            assert_eq!((&ended.output()["status"], &ended.output()["errors"]), (&json!("success"), &json!([])), "{at}: {ended:#?}");
            assert_eq!(ended.output()["scores"], json!({ "TRUTH": 0.95, "GOODNESS": 0.95, "BEAUTY": 0.9 }), "{at}");
        }
        if lines < at {
            assert!(at > 60, "every part of it was tried: {at}");
            return;
        }
    }
}

/// A model of the pillar of beauty that waits for the file `go` where `HOLD` is set.
const PATIENT: &str = r#"#!/bin/sh
cat >/dev/null
for _ in $(seq 600); do
    [ -n "$HOLD" ] && [ ! -e go ] && sleep 0.1
done
echo '{"content": "{\"score\": 0.9}"}'
"#;

/// source 001.2.7: killed while two pillars are done, the third alone runs again.
#[test]
fn pillars_that_are_done_are_not_asked_again() {
    let flow = court(SURE);
    flow.write("model.sh", PATIENT.as_bytes());
    flow.edit("trellis.yaml", "  roles:", "    patient: { process: [sh, model.sh] }\n  roles:");
    flow.edit("trellis.yaml", "    beauty:", "    beauty: [{ provider: patient }]\n    unused:");
    let (session, payload) = (["--session", "s"], json!({ "command": "note buy lamps" }));
    let (mut last, mut done) = (Vec::new(), 0);
    // The last that a pillar calls is the context of its last node.
    let cut = flow.watch(&session, Some(&payload), &[("HOLD", "1")], &mut |line| {
        let call = &line["payload"];
        if call["name"] == "add" && call["args"]["node"] == "pillars/done" {
            last.push(call["id"].clone());
        }
        done += usize::from(line["type"] == "TOOL_RESULT" && last.contains(&call["id"]));
        done < 2
    });
    assert_eq!((cut.code, done, flow.notes()), (None, 2, None), "{cut:#?}");
    flow.write("go", b"");
    let resumed = flow.watch(&session, None, &[], &mut |_| true);
    assert_eq!(resumed.output()["status"], "success", "{resumed:#?}");
    let judged: Vec<&str> = resumed.calls().into_iter().map(|(name, _)| name).filter(|name| name.ends_with("_model")).collect();
    assert_eq!((judged, flow.notes().as_deref()), (vec!["beauty_model"], Some("buy lamps\n")), "{resumed:#?}");
    assert_eq!(resumed.output()["scores"], json!({ "TRUTH": 0.95, "GOODNESS": 0.95, "BEAUTY": 0.9 }));
}
