//! `graphs/toolflow`: search, card, gate, dry run, execution (source 000).

use std::{
    collections::BTreeMap,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{Flow, Played};

/// A workspace with two old logs and a new one, and a score that is so many minutes old.
pub(super) struct House(pub(super) Flow);

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

    pub(super) fn scored(score: f64, minutes: u64) -> Self {
        let house = Self::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let text = json!({ "overall_trinity_score": score, "timestamp": now - minutes * 60 }).to_string();
        house.0.write("_workspace/logs/trinity_health_a.json", text.as_bytes());
        house
    }

    /// Tidies the logs with a risk of 3.
    fn tidy(&self, variables: &[(&str, &str)]) -> Played {
        self.0.play(&json!({ "user_prompt": "tidy the logs", "risk_score": 3 }), variables, &[])
    }

    fn answer(&self, answers: &[Value]) -> Played {
        self.0.play(&json!({ "user_prompt": "tidy the logs" }), &[], answers)
    }

    /// The files of the workspace: path and bytes.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
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

    pub(super) fn logs(&self) -> Vec<String> {
        self.files().into_keys().filter(|path| path.ends_with(".log")).collect()
    }

    /// The logs that were moved.
    pub(super) fn old(&self) -> Vec<String> {
        self.logs().into_iter().filter(|path| path.starts_with("archive/")).collect()
    }
}

const BEFORE: [&str; 3] = ["logs/1.log", "logs/2.log", "logs/new.log"];
pub(super) const AFTER: [&str; 3] = ["archive/1.log", "archive/2.log", "logs/new.log"];

/// The decision of the gate, and the status of the card or `ASK` where a person is asked.
fn decided(played: &Played) -> (String, String) {
    let gate = played.results("serenity_gate");
    let decision = gate.first().and_then(|gate| gate["result"]["decision"].as_str()).unwrap_or("none").to_owned();
    let asks = played.of_type("REQUEST_INPUT").next().is_some();
    let status = if asks { "ASK" } else { played.output()["status"].as_str().unwrap_or("none") };
    (decision, status.to_owned())
}

/// source 000.5.4, 000.7.1: dry run, execution, and the card with its three `next_actions`.
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

/// source 000.5.2, 000.7.2: a block is an end, with its reason and two next actions.
#[test]
fn what_is_blocked_has_its_card() {
    let played = House::scored(79.99, 12).tidy(&[]);
    let next = ["Revise prompt", "Run tool_search with tighter query"];
    assert_eq!(played.output(), &json!({ "status": "BLOCK", "reason": "the score 79.99 is below 80.00", "next_actions": next }));
}

/// source 000.9.1, 000.9.4, 000.9.6: the variable that forces, the one for the age of a score, and the one that has nothing to change.
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

/// source 000.4.4: asking is a floor that the gate may tighten and never loosen.
#[test]
fn close_candidates_and_vague_prompts_are_a_floor() {
    let close = |house: House| {
        let candidates = json!([{ "skill_id": "tidy_logs", "score_hint": 0.5 }, { "skill_id": "count_words", "score_hint": 0.46 }]);
        house.0.write("lib/fixed.jinja", format!("{{% set result = {{\"candidates\": {candidates}}} %}}").as_bytes());
        house.0.edit("trellis.yaml", "{ builtin: skills.search, workspace: _workspace, least: 0.6 }", "{ compute: lib/fixed.jinja }");
        house
    };
    let house = close(House::scored(95.0, 12));
    assert_eq!(decided(&house.tidy(&[])), ("AUTO_RUN".into(), "ASK".into()));
    assert_eq!(decided(&house.tidy(&[("TRINITY_TOOLFLOW_FORCE_DECISION", "AUTO_RUN")])), ("AUTO_RUN".into(), "ASK".into()));
    assert_eq!(decided(&close(House::scored(79.0, 12)).tidy(&[])), ("BLOCK".into(), "BLOCK".into()));
    let prompts = [
        ("logs", "ASK"),
        ("please fix this thing", "ASK"),
        ("do something with the logs", "ASK"),
        ("the logs", "ASK"),
        ("tidy the logs without asking", "ASK"),
        ("donʼt tidy the logs", "ASK"),
        ("cancel: tidy the logs", "ASK"),
        ("should I tidy the logs", "ASK"),
        ("if I tidy the logs", "ASK"),
        ("ohne Protokolle aufräumen", "ASK"),
        ("禁止整理日志", "ASK"),
        ("ログ整理は禁止", "ASK"),
        ("로그 정리 금지", "ASK"),
        ("Tidy, please: the LOGS!", "OK"),
        ("Bitte räum die Protokolle auf", "OK"),
        ("do not tidy the logs", "ASK"),
        ("don’t tidy the logs", "ASK"),
        ("Räum die Protokolle nicht auf", "ASK"),
        ("ne range pas les journaux", "ASK"),
        ("no ordenes los registros", "ASK"),
        ("не удаляй журналы", "ASK"),
        ("不要整理日志", "ASK"),
        ("ログを整理しないで", "ASK"),
        ("로그 정리하지 마", "ASK"),
        ("why do you tidy the logs", "ASK"),
        ("could you tidy the logs?", "ASK"),
        ("warum räumst du die Protokolle auf", "ASK"),
    ];
    for (prompt, status) in prompts {
        let context = json!({ "user_prompt": prompt, "query": "tidy the logs", "risk_score": 3 });
        let played = House::scored(95.0, 12).0.play(&context, &[], &[]);
        assert_eq!(decided(&played), ("AUTO_RUN".into(), status.into()), "{prompt}: {played:#?}");
    }
}

/// source 000.4.10, 000.6.1: the packet, key by key.
#[test]
fn a_person_gets_the_packet() {
    let played = House::scored(95.0, 12).answer(&[]);
    let packet = &played.question()["metadata"]["approval_packet"];
    let keys: Vec<&String> = packet.as_object().unwrap().keys().collect();
    let expected = ["choices", "proposed_args", "required_inputs", "risk_notes", "rollback", "skill_id", "title", "why_this"];
    assert_eq!(keys, expected, "{packet}");
    assert_eq!(packet["choices"], json!(["Approve & Execute", "Edit Inputs", "Cancel"]));
    assert_eq!((&packet["skill_id"], &packet["proposed_args"]), (&json!("tidy_logs"), &json!({ "days": 7 })));
    assert_eq!(packet["risk_notes"], json!(["the call has no number from 0 to 100 at `risk_score`"]));
}

/// source 000.5.3, 000.6.2: what another process approves runs once.
#[test]
fn what_is_approved_elsewhere_runs_once() {
    let house = House::scored(95.0, 12);
    let session = ["--session", "s"];
    let asked = house.0.play_in(&session, Some(&json!({ "user_prompt": "tidy the logs" })), &[], &[]);
    assert_eq!((&asked.end()["reason"], house.logs()), (&json!("end_of_input"), BEFORE.map(str::to_owned).into()));
    // A choice decides nothing: the call is held until somebody who may confirms it.
    let chosen = house.0.play_in(&session, None, &[], &[json!({ "input": "Approve & Execute" })]);
    let held = chosen.of_type("APPROVAL").next().unwrap_or_else(|| panic!("{chosen:#?}"));
    assert_eq!(held["ask"], "May Tidy the logs run with `{\"days\":7}`? would move 2 logs");
    assert_eq!((&chosen.end()["reason"], house.logs()), (&json!("end_of_input"), BEFORE.map(str::to_owned).into()));
    let approved = house.0.trellis(&["session", "approve", "s", "--graph", ".", "--call", held["id"].as_str().unwrap()]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ran = house.0.play_in(&session, None, &[], &[]);
    assert_eq!(ran.output()["status"], "OK", "{ran:#?}");
    assert_eq!(house.logs(), AFTER);
    let again = house.0.play_in(&session, None, &[], &[json!({ "input": "Approve & Execute" })]);
    assert!(again.calls().is_empty(), "{again:#?}");
    assert_eq!(house.logs(), AFTER);
}

/// source 000.6.2: inputs that were edited are checked again; what is cancelled has its card.
#[test]
fn inputs_are_edited_checked_and_given_up() {
    let house = House::scored(95.0, 12);
    let (edit, bad) = (json!({ "input": "Edit Inputs" }), json!({ "input": { "days": "x" } }));
    let played = house.answer(&[edit.clone(), bad.clone(), bad.clone(), bad]);
    let said: Vec<&str> = played.of_type("RENDER_CONTENT").filter_map(Value::as_str).collect();
    assert_eq!(said.iter().filter(|text| text.contains("`days` must be")).count(), 2, "{said:#?}");
    assert_eq!((&played.output()["status"], house.logs()), (&json!("CANCELLED"), BEFORE.map(str::to_owned).into()));

    let good = json!({ "input": { "days": 3 } });
    // What was edited is tried, and then held.
    let held = house.answer(&[edit.clone(), good.clone()]);
    let asked = held.of_type("APPROVAL").next().unwrap_or_else(|| panic!("{held:#?}"));
    assert_eq!((asked["args"]["args"].clone(), house.logs()), (json!({ "days": 3 }), BEFORE.map(str::to_owned).into()));
    let context = json!({ "user_prompt": "tidy the logs" });
    let played = house.0.play_in(&["--store", "memory", "--yes"], Some(&context), &[], &[edit, good]);
    assert_eq!(played.output()["status"], "OK", "{played:#?}");
    assert_eq!(played.calls().last().unwrap().1["args"], json!({ "days": 3 }));

    let cancelled = House::scored(95.0, 12).answer(&[json!({ "input": "Cancel" })]);
    assert_eq!((cancelled.code, &cancelled.output()["status"]), (Some(0), &json!("CANCELLED")));
}

/// source 000.4.8, 000.5.5: the card says that there is no dry run.
#[test]
fn a_skill_without_a_dry_run_is_executed_at_once() {
    let house = House::scored(95.0, 12);
    let played = house.0.play(&json!({ "user_prompt": "count all words", "risk_score": 3 }), &[], &[]);
    let modes: Vec<&str> = played.calls().iter().filter_map(|(_, args)| args["mode"].as_str()).collect();
    assert_eq!((modes, &played.output()["summary"]), (vec!["execute"], &json!("6 words")), "{played:#?}");
}

/// source 000.8.1: backup, check, execution and verification are inside of the proxy.
#[test]
fn what_fails_its_verification_is_restored() {
    let house = House::scored(95.0, 12);
    let before = house.files();
    let wish = json!({ "user_prompt": "break things as a drill", "risk_score": 3 });
    let played = house.0.play(&wish, &[("TRINITY_TOOLFLOW_FORCE_DECISION", "AUTO_RUN")], &[]);
    let card = played.output();
    assert_eq!((played.code, &card["status"], &card["code"]), (Some(1), &json!("FAILED"), &json!("verify_failed")), "{played:#?}");
    assert_eq!((&card["stage"], &card["reason"]), (&json!("execute"), &json!("the logs are gone")));
    assert_eq!(house.files(), before);
}

/// source 000.4.2, 000.7.3: no candidate is an end of its own.
#[test]
fn nothing_that_fits_has_its_card() {
    let played = House::new().0.play(&json!({ "user_prompt": "brew some coffee" }), &[], &[]);
    assert_eq!(played.output(), &json!({ "status": "NO_CANDIDATES", "next_actions": ["Try different keywords", "Increase top_k"] }));
}

/// The same, and I/O Contract: a caller brings no candidate of its own, and words that say nothing find none.
#[test]
fn a_skill_that_nobody_wished_for_is_no_candidate() {
    let force = [("TRINITY_TOOLFLOW_FORCE_DECISION", "AUTO_RUN")];
    for prompt in [
        "what is the weather",
        "tell me something about it",
        "날씨가 어때요",
        "今天天气怎么样",
        "please break the ice at the party tomorrow evening",
        "how many words are there in my long letter to grandma",
        "why things",
        "do not break things",
        "never ever break things, please",
        "don't break things",
    ] {
        let played = House::scored(95.0, 12).0.play(&json!({ "user_prompt": prompt, "risk_score": 3 }), &force, &[]);
        assert_eq!(played.output()["status"], "NO_CANDIDATES", "{prompt}: {played:#?}");
    }
    for prompt in ["das ist die", "was ist das eine", "wie ist das wetter und die sache"] {
        let house = House::scored(95.0, 12);
        house.0.write(
            "_skills/wipe.md",
            "---\ntitle: Wipe\nrisk: 5\nrun: [sh, -c, 'true']\n---\nDas ist eine Sache, die alles loescht.\n".as_bytes(),
        );
        let played = house.0.play(&json!({ "user_prompt": prompt, "risk_score": 3 }), &force, &[]);
        assert_eq!(played.output()["status"], "NO_CANDIDATES", "{prompt}: {played:#?}");
    }
    for key in ["selected_skill_id", "candidates", "decision", "skill_card", "args"] {
        let played = House::scored(95.0, 12).0.play(&json!({ "user_prompt": "brew coffee", key: "break_things" }), &force, &[]);
        assert!(
            played.code == Some(2) && played.calls().is_empty() && format!("{played:?}").contains(&format!("`{key}` is no input")),
            "{played:#?}"
        );
    }
}

/// 000, Serenity Gate Adapter 5: the risk is that of the skill that runs, if it is greater than that of the input.
#[test]
fn the_risk_of_the_skill_counts() {
    let house = House::scored(95.0, 12);
    let played = house.0.play(&json!({ "user_prompt": "break things as a drill", "risk_score": 3 }), &[], &[]);
    assert_eq!(decided(&played), ("ASK".into(), "ASK".into()), "{played:#?}");
    assert_eq!(played.results("serenity_gate")[0]["result"]["risk"], 60.0);
}

/// source 000.9.5: a skill that states no risk asks, whatever the caller says, and a caller lowers nothing.
#[test]
fn a_risk_that_is_not_stated_asks() {
    let house = House::scored(95.0, 12);
    house.0.edit("_skills/tidy_logs.md", "risk: 5\n", "");
    let played = house.tidy(&[]);
    assert_eq!(decided(&played), ("ASK".into(), "ASK".into()), "{played:#?}");
    assert!(played.results("serenity_gate")[0]["result"].get("risk").is_none(), "{played:#?}");
    let house = House::scored(95.0, 12);
    house.0.edit("_skills/tidy_logs.md", "risk: 5\n", "risk: 50\n");
    let played = house.0.play(&json!({ "user_prompt": "tidy the logs", "risk_score": 0 }), &[], &[]);
    assert_eq!(played.results("serenity_gate")[0]["result"]["risk"], 50.0, "{played:#?}");
}

/// A skill that cannot run is not asked about: its program is not there, or its check fails.
#[test]
fn what_is_doomed_is_not_asked_about() {
    for (from, to, code) in [
        ("check: [./bin/example_logs]", "check: [sh, -c, 'echo no logs today >&2; exit 1']", "no logs today"),
        ("check: [./bin/example_logs]", "check: [./bin/not_there]", "`./bin/not_there`"),
        ("\nrun: [./bin/tidy_logs]", "\nrun: [./bin/not_there]", "`./bin/not_there`"),
        ("verify: [./bin/tidy_logs, verify]", "verify: [no-such-program]", "`no-such-program` is not on the PATH"),
    ] {
        let house = House::scored(95.0, 12);
        house.0.edit("_skills/tidy_logs.md", from, to);
        let played = house.answer(&[]);
        assert!(played.of_type("REQUEST_INPUT").next().is_none() && played.of_type("APPROVAL").next().is_none(), "{to}: {played:#?}");
        assert_eq!((&played.output()["status"], house.logs()), (&json!("BLOCK"), BEFORE.map(str::to_owned).into()), "{to}");
        assert!(played.output()["reason"].as_str().unwrap().contains(code), "{to}: {}", played.output());
    }
}

/// A skill that may not run is not asked about.
#[test]
fn what_is_blocked_here_is_not_asked_about() {
    let house = House::scored(95.0, 12);
    house.0.edit(
        "trellis.yaml",
        "{ builtin: skills.check, workspace: _workspace }",
        "{ builtin: skills.check, workspace: _workspace, block: [tidy_*] }",
    );
    let played = house.answer(&[]);
    assert!(played.of_type("REQUEST_INPUT").next().is_none() && played.of_type("APPROVAL").next().is_none(), "{played:#?}");
    assert_eq!(
        (&played.output()["status"], &played.output()["reason"]),
        (&json!("BLOCK"), &json!("the skill `tidy_logs` is blocked here"))
    );
}

/// 000, SELECT: "프롬프트가 모호하면": words are counted as their language writes them.
#[test]
fn a_prompt_of_few_syllables_is_not_vague() {
    for (prompt, status) in
        [("로그 정리", "OK"), ("整理日志", "OK"), ("ログを整理", "OK"), ("이거 고쳐줘", "ASK"), ("도와줘", "ASK"), ("帮我", "ASK")]
    {
        let context = json!({ "user_prompt": prompt, "query": "tidy the logs", "risk_score": 3 });
        let played = House::scored(95.0, 12).0.play(&context, &[], &[]);
        assert_eq!(decided(&played), ("AUTO_RUN".into(), status.into()), "{prompt}: {played:#?}");
    }
}
