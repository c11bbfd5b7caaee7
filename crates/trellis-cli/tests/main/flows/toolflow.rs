//! `graphs/toolflow`: search, card, gate, dry run, execution (source 000, world S0).

use std::{
    collections::BTreeMap,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{Flow, Played};

/// A workspace with two old logs and a new one, and a score that is so many minutes old.
struct House(Flow);

impl House {
    fn new() -> Self {
        let house = Self(Flow::copy("toolflow"));
        for (name, text) in [("1.log", "one two\n"), ("2.log", "three\n"), ("new.log", "four five six\n")] {
            house.0.write(&format!("_workspace/logs/{name}"), text.as_bytes());
        }
        let old = UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        for name in ["1.log", "2.log"] {
            fs::File::options().write(true).open(house.0.path().join("_workspace/logs").join(name)).unwrap().set_modified(old).unwrap();
        }
        house
    }

    fn scored(score: f64, minutes: i64) -> Self {
        Self::new().score("a", score, minutes)
    }

    fn score(self, name: &str, score: f64, minutes: i64) -> Self {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
        let text = json!({ "overall_trinity_score": score, "timestamp": now - minutes * 60 }).to_string();
        self.0.write(&format!("_workspace/logs/trinity_health_{name}.json"), text.as_bytes());
        self
    }

    /// Tidies the logs with a risk of 3.
    fn tidy(&self, variables: &[(&str, &str)]) -> Played {
        self.0.play(&json!({ "user_prompt": "tidy the logs", "risk_score": 3 }), variables, &[])
    }

    fn answer(&self, answers: &[Value]) -> Played {
        self.0.play(&json!({ "user_prompt": "tidy the logs" }), &[], answers)
    }

    /// The files of the workspace: path and bytes.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let root = self.0.path().join("_workspace");
        let (mut files, mut open) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(folder) = open.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.insert(path.strip_prefix(&root).unwrap().display().to_string(), fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    fn logs(&self) -> Vec<String> {
        self.files().into_keys().filter(|path| path.ends_with(".log")).collect()
    }
}

const BEFORE: [&str; 3] = ["logs/1.log", "logs/2.log", "logs/new.log"];
const AFTER: [&str; 3] = ["archive/1.log", "archive/2.log", "logs/new.log"];

/// The decision of the gate, and the status of the card or `ASK` where a person is asked.
fn decided(played: &Played) -> (String, String) {
    let gate = played.results("serenity_gate");
    let decision = gate.first().and_then(|gate| gate["result"]["decision"].as_str()).unwrap_or("none").to_owned();
    let asks = played.of_type("REQUEST_INPUT").next().is_some();
    let status = if asks { "ASK" } else { played.output()["status"].as_str().unwrap_or("none") };
    (decision, status.to_owned())
}

fn notes(played: &Played) -> String {
    played.results("serenity_gate")[0]["result"]["notes"].to_string()
}

/// 000: "AUTO_RUN: `dry_run_supported` → DRY_RUN → EXECUTE → FINAL_OK → END".
#[test]
fn a_fresh_score_and_a_low_risk_try_and_then_execute() {
    let house = House::scored(95.0, 12);
    let played = house.tidy(&[]);
    let expected = json!({
        "status": "OK",
        "skill_id": "tidy_logs",
        "summary": "moved 2 logs to archive",
        "next_actions": ["Run another tool_search", "Save to SSOT", "Open logs"],
    });
    assert_eq!((played.code, played.output()), (Some(0), &expected), "{played:#?}");
    assert_eq!(house.logs(), AFTER);
    let names: Vec<&str> = played.calls().into_iter().map(|(name, _)| name).filter(|name| name.contains('.')).collect();
    assert_eq!(names, ["skills.search", "skills.card", "skills.execute", "skills.execute"]);
    let modes: Vec<&str> = played.calls().iter().filter_map(|(_, args)| args["mode"].as_str()).collect();
    assert_eq!(modes, ["dry_run", "execute"]);
    assert_eq!(played.results("skills.execute")[0]["result"]["summary"], "would move 2 logs");
}

/// 000, Serenity Gate Adapter 3 to 5: "Quantum Balance Lock Fallback", "Health First", "Risk Unknown".
#[test]
fn the_gate_cites_the_score_and_never_makes_one() {
    for (score, minutes, risk, decision, status) in [
        (95.0, 61, Some(3.0), "ASK", "ASK"),
        // A bad score blocks, however old.
        (79.99, 61, Some(3.0), "BLOCK", "BLOCK"),
        (80.0, 12, Some(3.0), "ASK", "ASK"),
        (90.0, 12, Some(3.0), "ASK", "ASK"),
        (90.004, 12, Some(3.0), "ASK", "ASK"),
        (95.0, 12, Some(10.0), "ASK", "ASK"),
        (95.0, 12, None, "ASK", "ASK"),
        (95.0, 12, Some(9.99), "AUTO_RUN", "OK"),
    ] {
        let house = House::scored(score, minutes);
        let mut context = json!({ "user_prompt": "tidy the logs" });
        if let Some(risk) = risk {
            context["risk_score"] = json!(risk);
        }
        let played = house.0.play(&context, &[], &[]);
        assert_eq!(decided(&played), (decision.to_owned(), status.to_owned()), "{score} {minutes} {risk:?}: {played:#?}");
        let gate = &played.results("serenity_gate")[0]["result"];
        assert_eq!(gate["source"], "score_lock", "{gate}");
        assert_eq!(house.logs(), if status == "OK" { AFTER } else { BEFORE });
    }
}

/// 000, Final Cards: `FINAL_BLOCK`.
#[test]
fn what_is_blocked_has_its_card() {
    let played = House::scored(79.99, 12).tidy(&[]);
    let next = ["Revise prompt", "Run tool_search with tighter query"];
    assert_eq!(played.output(), &json!({ "status": "BLOCK", "reason": "the score 79.99 is below 80.00", "next_actions": next }));
}

/// 000, Serenity Gate Adapter 3: "the newest file of `logs/trinity_health_*.json`"; requirements 000.5: "entries more than 2 min in the future are skipped".
#[test]
fn files_from_the_future_and_junk_are_skipped_and_noted() {
    let house = House::scored(95.0, 12).score("ahead", 10.0, -3);
    let played = house.tidy(&[]);
    assert_eq!(decided(&played), ("AUTO_RUN".into(), "OK".into()), "{played:#?}");
    assert!(notes(&played).contains("trinity_health_ahead.json` was skipped: it is from the future"));

    let house = House::scored(95.0, 12);
    house.0.write("_workspace/logs/trinity_health_junk.json", b"95");
    let played = house.tidy(&[]);
    assert_eq!(decided(&played).0, "AUTO_RUN");
    assert!(notes(&played).contains("trinity_health_junk.json` was skipped"), "{}", notes(&played));

    let played = House::new().tidy(&[]);
    assert_eq!(decided(&played), ("ASK".into(), "ASK".into()));
    assert!(notes(&played).contains("has a score"));
}

/// 000, Serenity Gate Adapter 1, 4 and 6: the variables.
#[test]
fn variables_force_stretch_and_change_nothing() {
    let force = |decision| [("TRINITY_TOOLFLOW_FORCE_DECISION", decision)];
    let played = House::scored(99.0, 1).tidy(&force("BLOCK"));
    assert_eq!(decided(&played), ("BLOCK".into(), "BLOCK".into()));
    assert_eq!(played.results("serenity_gate")[0]["result"]["source"], "forced");

    let played = House::scored(99.0, 1).tidy(&force("run"));
    assert_eq!(played.code, Some(1), "{played:#?}");
    let card = played.output();
    assert_eq!((&card["status"], &card["code"], &card["stage"]), (&json!("FAILED"), &json!("policy"), &json!("serenity_gate")));

    let house = House::scored(95.0, 61);
    assert_eq!(decided(&house.tidy(&[("TRINITY_TOOLFLOW_MAX_SCORE_AGE_MINUTES", "90")])), ("AUTO_RUN".into(), "OK".into()));

    let house = House::scored(95.0, 12);
    let unknown = house.0.play(&json!({ "user_prompt": "tidy the logs" }), &[("TRINITY_TOOLFLOW_DISABLE_AUTO_RISK", "1")], &[]);
    assert_eq!(decided(&unknown).0, "ASK");
    assert_eq!(decided(&house.tidy(&[("TRINITY_TOOLFLOW_DISABLE_AUTO_RISK", "1")])).0, "AUTO_RUN");
}

/// 000, SELECT: "ambiguity guard: top2 similar, or the prompt vague, `decision=ASK`"; the gate may tighten it, never loosen it.
#[test]
fn close_candidates_and_vague_prompts_are_a_floor() {
    let close = |house: House| {
        let candidates = json!([{ "skill_id": "tidy_logs", "score_hint": 0.5 }, { "skill_id": "count_words", "score_hint": 0.46 }]);
        house.0.write("lib/fixed.jinja", format!("{{% set result = {{\"candidates\": {candidates}}} %}}").as_bytes());
        house.0.edit("trellis.yaml", "{ builtin: skills.search, workspace: _workspace }", "{ compute: lib/fixed.jinja }");
        house
    };
    let house = close(House::scored(95.0, 12));
    assert_eq!(decided(&house.tidy(&[])), ("AUTO_RUN".into(), "ASK".into()));
    assert_eq!(decided(&close(House::scored(79.0, 12)).tidy(&[])), ("BLOCK".into(), "BLOCK".into()));
    let prompts =
        [("logs", "ASK"), ("please fix this thing", "ASK"), ("do something with the logs", "OK"), ("Tidy, please: the LOGS!", "OK")];
    for (prompt, status) in prompts {
        let context = json!({ "user_prompt": prompt, "query": "tidy the logs", "risk_score": 3 });
        let played = House::scored(95.0, 12).0.play(&context, &[], &[]);
        assert_eq!(decided(&played), ("AUTO_RUN".into(), status.into()), "{prompt}: {played:#?}");
    }
}

/// 000, Approval Packet Schema.
#[test]
fn a_person_gets_the_packet() {
    let played = House::scored(95.0, 12).answer(&[]);
    let packet = &played.question()["metadata"]["approval_packet"];
    let keys: Vec<&String> = packet.as_object().unwrap().keys().collect();
    let expected = ["choices", "proposed_args", "required_inputs", "risk_notes", "rollback", "skill_id", "title", "why_this"];
    assert_eq!(keys, expected, "{packet}");
    assert_eq!(packet["choices"], json!(["Approve & Execute", "Edit Inputs", "Cancel"]));
    assert_eq!((&packet["skill_id"], &packet["proposed_args"]), (&json!("tidy_logs"), &json!({ "days": 7 })));
    assert_eq!(packet["risk_notes"], json!(["the call has no number at `risk_score`"]));
}

/// 000, Scope: "ASK → approval packet"; the answer comes from another process, and counts once.
#[test]
fn what_is_approved_elsewhere_runs_once() {
    let house = House::scored(95.0, 12);
    let session = ["--session", "s"];
    let asked = house.0.play_in(&session, Some(&json!({ "user_prompt": "tidy the logs" })), &[], &[]);
    assert_eq!((&asked.end()["reason"], house.logs()), (&json!("end_of_input"), BEFORE.map(str::to_owned).into()));
    let answered = house.0.play_in(&session, None, &[], &[json!({ "input": "Approve & Execute" })]);
    assert_eq!(answered.output()["status"], "OK", "{answered:#?}");
    assert_eq!(house.logs(), AFTER);
    let again = house.0.play_in(&session, None, &[], &[json!({ "input": "Approve & Execute" })]);
    assert!(again.calls().is_empty(), "{again:#?}");
    assert_eq!(house.logs(), AFTER);
}

/// 000, choices: "Edit Inputs" is validated again; "Cancel".
#[test]
fn inputs_are_edited_checked_and_given_up() {
    let house = House::scored(95.0, 12);
    let (edit, bad) = (json!({ "input": "Edit Inputs" }), json!({ "input": { "days": "x" } }));
    let played = house.answer(&[edit.clone(), bad.clone(), bad.clone(), bad]);
    let said: Vec<&str> = played.of_type("RENDER_CONTENT").filter_map(Value::as_str).collect();
    assert_eq!(said.iter().filter(|text| text.contains("`days` must be")).count(), 2, "{said:#?}");
    assert_eq!((&played.output()["status"], house.logs()), (&json!("CANCELLED"), BEFORE.map(str::to_owned).into()));

    let good = json!({ "input": { "days": 3 } });
    let played = house.answer(&[edit, good, json!({ "input": "Approve & Execute" })]);
    assert_eq!(played.output()["status"], "OK", "{played:#?}");
    assert_eq!(played.calls().last().unwrap().1["args"], json!({ "days": 3 }));

    let cancelled = House::scored(95.0, 12).answer(&[json!({ "input": "Cancel" })]);
    assert_eq!((cancelled.code, &cancelled.output()["status"]), (Some(0), &json!("CANCELLED")));
}

/// 000, Routing: "else → EXECUTE": a skill that cannot be tried.
#[test]
fn a_skill_without_a_dry_run_is_executed_at_once() {
    let house = House::scored(95.0, 12);
    let played = house.0.play(&json!({ "user_prompt": "count all words", "risk_score": 3 }), &[], &[]);
    let modes: Vec<&str> = played.calls().iter().filter_map(|(_, args)| args["mode"].as_str()).collect();
    assert_eq!((modes, &played.output()["summary"]), (vec!["execute"], &json!("6 words")), "{played:#?}");
}

/// 000, Non-negotiables: "Backup → Check → Execute → Verify".
#[test]
fn what_fails_its_verification_is_restored() {
    let house = House::scored(95.0, 12);
    let before = house.files();
    let played = house.0.play(&json!({ "user_prompt": "break some things", "risk_score": 3 }), &[], &[]);
    let card = played.output();
    assert_eq!((played.code, &card["status"], &card["code"]), (Some(1), &json!("FAILED"), &json!("verify_failed")), "{played:#?}");
    assert_eq!((&card["stage"], &card["reason"]), (&json!("execute"), &json!("the logs are gone")));
    assert_eq!(house.files(), before);
}

/// 000, Routing: "candidates == [] → FINAL_NO_CANDIDATES".
#[test]
fn nothing_that_fits_has_its_card() {
    let played = House::new().0.play(&json!({ "user_prompt": "brew some coffee" }), &[], &[]);
    assert_eq!(played.output(), &json!({ "status": "NO_CANDIDATES", "next_actions": ["Try different keywords", "Increase top_k"] }));
}

/// World D: "Kill at every stage of execute: files are either all before or all after."
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
        let context = json!({ "user_prompt": "tidy the logs", "risk_score": 3 });
        let died = house.0.play_in(&["--session", "s"], Some(&context), &[], &[]);
        assert_eq!(died.code, None, "{stage}: it was killed: {died:#?}");
        // The moved file of the first attempt is not there for the second one: it was restored.
        let resumed = house.0.play_in(&["--session", "s"], None, &[], &[]);
        assert_eq!(resumed.output()["status"], "OK", "{stage}: {resumed:#?}");
        let expected: Vec<&str> = if stage == "run" { vec!["1.log", "archive/2.log", "logs/new.log"] } else { AFTER.into() };
        assert_eq!(house.logs(), expected, "{stage}");
    }
}
