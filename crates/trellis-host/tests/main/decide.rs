//! The builtin `policy.decide`: a chain of providers over whatever a call hands to it (language 9.24, 11.3, 11.4).

use std::sync::{Arc, Mutex};

use trellis_core::{ToolError, ToolOutcome, Value};
use trellis_host::{
    Bindings, Clock,
    binding::{Caller, Host},
    environment::Environment,
};

use crate::stage::{program, run, run_timeless};

const NOW: u64 = 1_795_428_000_000;

const SCORE: &str =
    "{score: {files: \"logs/health_*.json\", field: health.score, verdict: verdict, at: at, max_age_env: MAX_AGE, risk: risk}}";

/// The decision of a binding `decide` with this chain about a call, as JSON; or its error.
struct Chain {
    bindings: String,
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
    functions: Box<dyn Fn(Bindings) -> Bindings>,
}

impl Chain {
    fn new(chain: &str) -> Self {
        Self::bound(&format!("decide: {{builtin: policy.decide, chain: [{chain}]}}"))
    }

    fn bound(bindings: &str) -> Self {
        let functions = Box::new(|bindings| bindings);
        Self { bindings: bindings.to_owned(), folder: tempfile::tempdir().unwrap(), variables: Vec::new(), functions }
    }

    fn variable(self, name: &'static str, value: &'static str) -> Self {
        Self { variables: vec![(name, value)], ..self }
    }

    /// The same with a function `gate`, that its project file binds too.
    fn gate(self, answer: impl Fn(Value) -> Result<Value, ToolError> + Clone + Send + Sync + 'static) -> Self {
        let functions = Box::new(move |bindings: Bindings| {
            let answer = answer.clone();
            bindings.function("gate", move |_, args| answer(Value::Map(args)))
        });
        Self { bindings: format!("gate: {{function: {{}}}}, {}", self.bindings), functions, ..self }
    }

    /// A file with a score that is so many minutes old.
    fn score(self, score: &str, minutes: u64, more: &str) -> Self {
        let logs = self.folder.path().join("logs");
        std::fs::create_dir_all(&logs).unwrap();
        let at = NOW / 1000 - minutes * 60;
        let name = format!("health_{}.json", std::fs::read_dir(&logs).unwrap().count());
        std::fs::write(logs.join(name), format!(r#"{{"health":{{"score":{score}}},"at":{at}{more}}}"#)).unwrap();
        self
    }

    fn call(&self, args: &str) -> Result<Value, ToolError> {
        let project = format!("bindings: {{{}}}\n", self.bindings);
        let program = program(&[("trellis.yaml", &project), ("start.md", "Hi.\n")]);
        let variables = self.variables.clone();
        let environment =
            Environment::new(move |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()));
        let host = Host::new().environment(environment).clock(Clock::fixed(NOW));
        let (bindings, found) = Bindings::new(&program, self.folder.path(), &host);
        assert!(found.is_empty(), "{found:?}");
        let bindings = (self.functions)(bindings);
        let call = format!(
            r#"{{"id":"c","name":"decide","role":"do","node":"start","args":{args},"secrets":[],"idempotency_key":"k","attempt":1}}"#
        );
        let call = serde_json::from_str(&call).unwrap();
        let caller = Caller::new("s".into(), "g".into(), |_| {});
        match run(bindings.call(&program, &call, &caller)).outcome {
            ToolOutcome::Success(value) => Ok(value),
            ToolOutcome::Error(error) => Err(error),
            ToolOutcome::Denied(_) => unreachable!("a builtin denies nothing"),
        }
    }

    /// Decision and source.
    fn decision(&self, args: &str) -> (String, String) {
        let decided = self.call(args).unwrap();
        let text = |key: &str| decided.get(key).and_then(Value::as_str).unwrap().to_owned();
        (text("decision"), text("source"))
    }
}

fn says(decision: &str, source: &str) -> (String, String) {
    (decision.to_owned(), source.to_owned())
}

// language 9.24
#[test]
fn each_provider_is_named_as_the_source_of_its_decision() {
    let args = r#"{"tool":"mail.send","args":{"to":"a@b"},"risk":3}"#;
    for (chain, expected) in [
        ("{block: [\"mail.*\"]}", says("BLOCK", "block")),
        ("{ask: [{tool: mail.send, args: {required: [to]}}]}", says("ASK", "ask")),
        ("{allow: [mail.send]}", says("AUTO_RUN", "allow")),
        ("{allow: [other], else: block}", says("BLOCK", "allow")),
        ("{block: [other]}, {ask: [\"*\"]}", says("ASK", "ask")),
    ] {
        assert_eq!(Chain::new(chain).decision(args), expected, "{chain}");
    }
    let forced = Chain::new("{forced: {env: FORCE}}, {block: [\"*\"]}");
    assert_eq!(forced.decision(args), says("BLOCK", "block"), "it is not set");
    assert_eq!(forced.variable("FORCE", "AUTO_RUN").decision(args), says("AUTO_RUN", "forced"));
    let gate = Chain::new("{tool: gate}").gate(|_| Ok(Value::map([("mode", "BLOCK")])));
    assert_eq!(gate.decision(args), says("BLOCK", "provider"));
    // Without `tool` and `args`, patterns match the binding's own name and all that it gets.
    assert_eq!(Chain::new("{block: [{tool: decide, args: {required: [risk]}}]}").decision(r#"{"risk":3}"#), says("BLOCK", "block"));
}

// language 9.24
#[test]
fn where_nobody_decides_a_person_does() {
    for chain in ["{block: [other]}", "{allow: [other]}"] {
        let decided = Chain::new(chain).call("{}").unwrap();
        assert_eq!(decided.to_json(), r#"{"decision":"ASK","notes":["no provider decides"],"source":"ask"}"#, "{chain}");
    }
}

// language 11.4
#[test]
fn a_score_decides_with_what_it_read() {
    let risk = r#"{"risk":3}"#;
    let decided = |chain: Chain, args: &str| chain.call(args).unwrap();
    let auto = decided(Chain::new(SCORE).score("95", 12, ""), risk);
    let expected = r#"{"age_minutes":12.0,"decision":"AUTO_RUN","notes":["the score 95.00 is above 90.00, and the risk 3.00 below 10.00"],"risk":3.0,"score":95.0,"source":"score_lock"}"#;
    assert_eq!(auto.to_json(), expected);
    for (score, minutes, more, args, decision) in [
        ("95", 60, "", risk, "AUTO_RUN"),
        ("95", 61, "", risk, "ASK"),
        ("79.99", 61, "", risk, "BLOCK"),
        ("80", 1, "", risk, "ASK"),
        ("90", 1, "", risk, "ASK"),
        ("90.004", 1, "", risk, "ASK"),
        ("90.005", 1, "", risk, "AUTO_RUN"),
        ("99", 1, r#","verdict":"BLOCK""#, risk, "BLOCK"),
        ("95", 1, "", r#"{"risk":10}"#, "ASK"),
        ("95", 1, "", r#"{"risk":"3"}"#, "ASK"),
        ("95", 1, "", "{}", "ASK"),
    ] {
        let said = Chain::new(SCORE).score(score, minutes, more).decision(args);
        assert_eq!(said, says(decision, "score_lock"), "{score} {minutes} {more} {args}");
    }
    assert_eq!(Chain::new(SCORE).decision(risk), says("ASK", "score_lock"), "there is no file");
    let newest = Chain::new(SCORE).score("70", 5, "").score("95", 1, "");
    assert_eq!(newest.decision(risk), says("AUTO_RUN", "score_lock"));
    // Each call reads the file anew.
    assert_eq!(newest.score("70", 0, "").decision(risk), says("BLOCK", "score_lock"));
}

// language 11.4
#[test]
fn a_score_has_bounds_of_its_own() {
    let strict = SCORE.replace("risk: risk", "risk: risk, max_age: 5m, block_below: 50, auto_above: 60, risk_below: 2");
    for (score, minutes, risk, decision) in
        [("61", 5, 1, "AUTO_RUN"), ("61", 6, 1, "ASK"), ("60", 1, 1, "ASK"), ("61", 1, 2, "ASK"), ("49", 6, 1, "BLOCK")]
    {
        let said = Chain::new(&strict).score(score, minutes, "").decision(&format!(r#"{{"risk":{risk}}}"#));
        assert_eq!(said, says(decision, "score_lock"), "{score} {minutes} {risk}");
    }
    let aged = |value| Chain::new(SCORE).score("95", 61, "").variable("MAX_AGE", value);
    assert_eq!(aged("90").decision(r#"{"risk":3}"#), says("AUTO_RUN", "score_lock"));
    let error = aged("ninety").call(r#"{"risk":3}"#).unwrap_err();
    assert_eq!((error.code, error.is_final), (Some(Value::text("policy")), true));
}

// language 11.3: a policy tool that fails, loops, answers MAYBE
#[test]
fn a_tool_gets_the_arguments_and_one_that_cannot_decide_asks() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let gate = Chain::new("{tool: gate}, {block: [\"*\"]}").gate(move |args| {
        sees.lock().unwrap().push(args.to_json());
        Ok(Value::Null)
    });
    assert_eq!(gate.decision(r#"{"tool":"pay","args":{"amount":1},"why":"x"}"#), says("BLOCK", "block"), "it passes on");
    assert_eq!(*seen.lock().unwrap(), [r#"{"args":{"amount":1},"tool":"pay","why":"x"}"#]);
    for answer in [r#"{"decision":"MAYBE"}"#, r#"{"decision":7}"#] {
        let gate = Chain::new("{tool: gate}").gate(move |_| Ok(Value::from_json(answer).unwrap()));
        assert_eq!(gate.decision("{}"), says("ASK", "provider"), "{answer}");
    }
    let gate = Chain::new("{tool: gate}").gate(|_| Err(ToolError::new("the gate is shut")));
    let decided = gate.call("{}").unwrap();
    assert!(decided.to_json().contains("the gate is shut"), "{decided:?}");
    // Two that ask each other come to an end, and a person decides.
    let each_other = "decide: {builtin: policy.decide, chain: [{tool: other}]}, other: {builtin: policy.decide, chain: [{tool: decide}]}";
    assert_eq!(Chain::bound(each_other).decision("{}"), says("ASK", "provider"));
}

// language 11.3
#[test]
fn a_variable_with_something_else_in_it_is_an_error() {
    let error = Chain::new("{forced: {env: FORCE}}").variable("FORCE", "run").call("{}").unwrap_err();
    assert_eq!((error.code, error.is_final), (Some(Value::text("policy")), true));
    assert!(error.message.contains("`FORCE` holds AUTO_RUN, ASK or BLOCK, not `run`"), "{}", error.message);
}

// language 9.2, 9.5
#[test]
fn arguments_may_be_made_and_a_tool_that_says_nothing_runs_out_of_time() {
    let made = "decide: {builtin: policy.decide, chain: [{block: [\"mail.*\"]}], args: {tool: \"mail.{{ verb }}\", args: {}}}";
    assert_eq!(Chain::bound(made).decision(r#"{"verb":"send"}"#), says("BLOCK", "block"));
    let program = program(&[
        ("trellis.yaml", "bindings: {gate: {function: {}}, decide: {builtin: policy.decide, chain: [{tool: gate}]}}\n"),
        ("start.md", "---\ndo: decide\non_timeout: late\n---\n"),
        ("late.md", "Late.\n"),
    ]);
    let (bindings, _) = Bindings::new(&program, std::path::Path::new("."), &Host::new());
    let bindings = bindings.function_async("gate", |_, _| std::future::pending());
    let call = r#"{"id":"c","name":"decide","role":"do","node":"start","args":{},"secrets":[],"idempotency_key":"k","attempt":1}"#;
    let call = serde_json::from_str(call).unwrap();
    let caller = Caller::new("s".into(), "g".into(), |_| {});
    match run_timeless(bindings.call(&program, &call, &caller)).outcome {
        ToolOutcome::Error(error) => assert_eq!(error.kind, trellis_core::engine::ToolErrorKind::Timeout),
        other => panic!("{other:?}"),
    }
}
