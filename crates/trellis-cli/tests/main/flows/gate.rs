//! The gate of `graphs/toolflow` on its real parts, with a clock that is given (source 000.9).

use std::{
    fs,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use trellis_core::{Start, ToolOutcome, ToolResult, Value};
use trellis_host::{Clock, SessionEvent, Stop, Turn, assembly::Assembly, binding::Host};
use trellis_project::Project;

use super::Flow;

/// The moment of every case, in seconds since 1970.
const NOW: u64 = 1_764_072_000;
const MINUTE: i64 = 60;

/// A copy of the graph, with scores in files.
struct Gate(Flow);

/// The verdict of the gate, and where the run came to.
struct Verdict {
    gate: Json,
    status: String,
}

impl Gate {
    fn new() -> Self {
        let flow = Flow::copy("toolflow");
        // The risk is that of the prompt alone.
        flow.edit("_skills/tidy_logs.md", "risk: 5\n", "risk: 0\n");
        Self(flow)
    }

    /// A score that was taken so many seconds before now.
    fn score(self, name: &str, score: f64, seconds: i64) -> Self {
        let at = NOW.checked_add_signed(-seconds).unwrap();
        self.file(name, &json!({ "overall_trinity_score": score, "timestamp": at }).to_string())
    }

    fn file(self, name: &str, text: &str) -> Self {
        self.0.write(&format!("_workspace/logs/trinity_health_{name}.json"), text.as_bytes());
        self
    }

    /// Runs the graph as a program does that embeds it, until it ends or asks.
    fn decide(&self, risk: Option<f64>) -> Verdict {
        let mut context = json!({ "user_prompt": "tidy the logs" });
        if let Some(risk) = risk {
            context["risk_score"] = json!(risk);
        }
        let Ok(Value::Map(context)) = Value::from_json(&context.to_string()) else { unreachable!("it is an object") };
        let turn = Runtime::new().unwrap().block_on(start(self.0.path(), Start { context, ..Start::default() }));
        let mut results = turn.happened.iter().filter_map(|event| match event {
            SessionEvent::Returned(call, ToolResult { outcome: ToolOutcome::Success(value), .. }) => {
                (&*call.name == "serenity_gate").then(|| value.to_json())
            }
            _ => None,
        });
        let gate = serde_json::from_str(&results.next_back().unwrap_or_else(|| panic!("the gate was not asked: {turn:#?}"))).unwrap();
        let status = match &turn.stop {
            Stop::Ask { .. } => "ASK".to_owned(),
            Stop::Ended(end) => {
                let output: Json = serde_json::from_str(&end.output.as_ref().unwrap().to_json()).unwrap();
                output["status"].as_str().unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        Verdict { gate, status }
    }
}

async fn start(folder: &Path, start: Start) -> Turn {
    let project = Project::open(folder).unwrap();
    let program = project.compile().program.unwrap();
    let assembly = Assembly::new().host(Host::new().clock(Clock::fixed(NOW * 1000)));
    let runnable = assembly.assemble(Some(&program), project.documents(), folder).runnable.unwrap();
    assembly.sessions(runnable, None).unwrap().start(start).await.unwrap()
}

/// A case: its rule, score, age in seconds, risk; decision and status.
type Case = (&'static str, f64, i64, Option<f64>, &'static str, &'static str);

const LIMIT: i64 = 60 * MINUTE;

/// source 000.9.3, 000.9.4, 000.9.5: score, age and risk, and the bounds between which they decide.
const CASES: [Case; 16] = [
    ("AUTO_RUN only when score > 90 and risk < 10", 95.0, 12 * MINUTE, Some(3.0), "AUTO_RUN", "OK"),
    ("60 minutes are young enough", 95.0, LIMIT, Some(3.0), "AUTO_RUN", "OK"),
    ("a second more asks", 95.0, LIMIT + 1, Some(3.0), "ASK", "ASK"),
    ("an old score lets nothing run", 95.0, 61 * MINUTE, Some(3.0), "ASK", "ASK"),
    ("score < 80 → BLOCK, before staleness", 79.99, 61 * MINUTE, Some(3.0), "BLOCK", "BLOCK"),
    ("score < 80 → BLOCK", 79.99, 12 * MINUTE, Some(3.0), "BLOCK", "BLOCK"),
    ("79.995 rounds to 80.00", 79.995, 12 * MINUTE, Some(3.0), "ASK", "ASK"),
    ("score < 80 → BLOCK", 80.0, 12 * MINUTE, Some(3.0), "ASK", "ASK"),
    ("score > 90", 90.0, 12 * MINUTE, Some(3.0), "ASK", "ASK"),
    ("90.004 rounds to 90.00", 90.004, 12 * MINUTE, Some(3.0), "ASK", "ASK"),
    ("90.01 is above 90", 90.01, 12 * MINUTE, Some(3.0), "AUTO_RUN", "OK"),
    ("risk < 10", 95.0, 12 * MINUTE, Some(10.0), "ASK", "ASK"),
    ("risk < 10", 95.0, 12 * MINUTE, Some(9.99), "AUTO_RUN", "OK"),
    ("without a known risk nothing runs by itself", 95.0, 12 * MINUTE, None, "ASK", "ASK"),
    ("a bad score blocks, whatever the risk", 10.0, 12 * MINUTE, None, "BLOCK", "BLOCK"),
    ("entries more than 2 min in the future are skipped", 95.0, -2 * MINUTE, Some(3.0), "AUTO_RUN", "OK"),
];

#[test]
fn the_gate_cites_the_score_and_never_makes_one() {
    for (sentence, score, age, risk, decision, status) in CASES {
        let Verdict { gate, status: came } = Gate::new().score("a", score, age).decide(risk);
        let case = format!("{sentence}: {score} {age} {risk:?}: {gate}");
        assert_eq!((gate["decision"].as_str(), &*came), (Some(decision), status), "{case}");
        assert_eq!(gate["source"], "score_lock", "{case}");
        // It cites: score, risk and age as they were read, rounded to two places.
        let is_cited = |key: &str, number: f64| gate[key].as_f64().is_some_and(|cited| (cited - number).abs() < 0.0051);
        let minutes = f64::from(i32::try_from(age.max(0)).unwrap()) / 60.0;
        assert!(is_cited("score", score) && is_cited("age_minutes", minutes), "{case}");
        assert_eq!(gate["risk"].as_f64(), risk, "{case}");
    }
}

/// source 000.9.3: the newest file counts; one from more than two minutes ahead is skipped.
#[test]
fn the_newest_file_counts_that_is_not_ahead() {
    let older = Gate::new().score("older", 95.0, 20 * MINUTE).score("newer", 85.0, 12 * MINUTE).decide(Some(3.0));
    assert_eq!((older.gate["score"].as_f64(), &*older.status), (Some(85.0), "ASK"));

    let ahead = Gate::new().score("a", 95.0, 12 * MINUTE).score("ahead", 10.0, -2 * MINUTE - 1).decide(Some(3.0));
    assert_eq!((&ahead.gate["decision"], &*ahead.status), (&json!("AUTO_RUN"), "OK"));
    assert!(ahead.gate["notes"].to_string().contains("trinity_health_ahead.json` was skipped: it is from the future"), "{}", ahead.gate);

    let junk = Gate::new().score("a", 95.0, 12 * MINUTE).file("junk", "95").decide(Some(3.0));
    assert_eq!(junk.gate["decision"], "AUTO_RUN");
    assert!(junk.gate["notes"].to_string().contains("trinity_health_junk.json` was skipped"), "{}", junk.gate);

    let none = Gate::new().decide(Some(3.0));
    assert_eq!((&none.gate["decision"], &*none.status), (&json!("ASK"), "ASK"));
    assert!(none.gate["notes"].to_string().contains("has a score"), "{}", none.gate);
}

/// source 000.9.3: the time of a score is that in its file, else that of its writing.
#[test]
fn a_file_without_a_time_has_that_of_its_writing() {
    for (minutes, decision) in [(12, "AUTO_RUN"), (61, "ASK")] {
        let gate = Gate::new().file("a", r#"{"overall_trinity_score": 95}"#);
        let file = fs::File::options().write(true).open(gate.0.path().join("_workspace/logs/trinity_health_a.json")).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(NOW - minutes * 60)).unwrap();
        let verdict = gate.decide(Some(3.0));
        assert_eq!(verdict.gate["decision"], decision, "{}", verdict.gate);
    }
}

/// source 000.9.3: a verdict that blocks comes before the age.
#[test]
fn a_verdict_that_blocks_does_so_with_a_high_score_and_at_any_age() {
    for age in [MINUTE, 600 * MINUTE] {
        let text =
            json!({ "overall_trinity_score": 99, "verdict": "BLOCK", "timestamp": NOW.checked_add_signed(-age).unwrap() }).to_string();
        let Verdict { gate, status } = Gate::new().file("a", &text).decide(Some(0.0));
        assert_eq!((&gate["decision"], &*status), (&json!("BLOCK"), "BLOCK"), "{gate}");
    }
}
