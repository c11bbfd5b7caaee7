//! The acceptance numbers of `graphs/toolflow`, and files that nobody should trust (language 11.4).

use super::*;

const NOW: u64 = 1_795_428_000_000;
const MINUTE: u64 = 60_000;

struct Logs(tempfile::TempDir);

impl Logs {
    fn new() -> Self {
        let logs = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(logs.0.path().join("_workspace/logs")).unwrap();
        logs
    }

    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.0.path().join("_workspace/logs").join(name), text).unwrap();
        self
    }

    /// A file with a score that is so many minutes old.
    fn score(self, name: &str, score: &str, minutes: i64) -> Self {
        let at = i64::try_from(NOW / 1000).unwrap() - minutes * 60;
        self.file(&format!("trinity_health_{name}.json"), &format!(r#"{{"overall_trinity_score":{score},"timestamp":{at}}}"#))
    }

    fn decide(&self, args: &str) -> Decided {
        self.decide_in(args, &Environment::new(|_| None)).unwrap()
    }

    fn decide_in(&self, args: &str, environment: &Environment) -> Result<Decided, ToolError> {
        let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args}") };
        lock().decide(self.0.path(), &args, NOW, environment)
    }
}

fn path(text: &str) -> KeyPath {
    KeyPath::parse(text).unwrap()
}

fn lock() -> ScoreLock {
    ScoreLock {
        files: FileGlob::new("_workspace/logs/trinity_health_*.json").unwrap(),
        field: path("overall_trinity_score"),
        verdict: Some(path("verdict")),
        at: Some(path("timestamp")),
        max_age: Duration::from_millis(60 * MINUTE),
        max_age_env: Some("MAX_SCORE_AGE_MINUTES".into()),
        block_below: 80.0,
        auto_above: 90.0,
        risk: path("risk_score"),
        risk_below: 10.0,
        future: Duration::from_millis(2 * MINUTE),
    }
}

const LOW: &str = r#"{"risk_score":3}"#;

fn decision(score: &str, minutes: i64, args: &str) -> Decision {
    Logs::new().score("a", score, minutes).decide(args).decision
}

#[test]
fn the_numbers_of_the_acceptance_decide_as_they_must() {
    use Decision::{Ask, AutoRun, Block};
    for (score, minutes, args, expected) in [
        ("95", 12, LOW, AutoRun),
        ("95", 60, LOW, AutoRun),
        ("95", 61, LOW, Ask),
        ("79.99", 61, LOW, Block),
        ("79.994", 1, LOW, Block),
        ("79.995", 1, LOW, Ask),
        ("80", 1, LOW, Ask),
        ("90", 1, LOW, Ask),
        ("90.004", 1, LOW, Ask),
        ("90.005", 1, LOW, AutoRun),
        ("95", 1, r#"{"risk_score":10}"#, Ask),
        ("95", 1, r#"{"risk_score":9.995}"#, Ask),
        ("95", 1, r#"{"risk_score":9.99}"#, AutoRun),
        ("95", 1, r#"{"risk_score":"3"}"#, Ask),
        ("95", 1, "{}", Ask),
    ] {
        assert_eq!(decision(score, minutes, args), expected, "{score} {minutes} {args}");
    }
    let decided = Logs::new().score("a", "95", 12).decide(LOW);
    let evidence = r#"{"age_minutes":12.0,"file":"_workspace/logs/trinity_health_a.json","risk":3.0,"score":95.0}"#;
    assert_eq!(decided.evidence.as_ref().unwrap().to_json(), evidence);
    assert_eq!(decided.reason(), "the score 95.00 is above 90.00, and the risk 3.00 below 10.00");
}

#[test]
fn the_newest_file_counts_and_one_from_the_future_does_not() {
    assert_eq!(Logs::new().score("a", "95", 30).score("b", "70", 5).decide(LOW).decision, Decision::Block);
    let ahead = Logs::new().score("a", "95", 30).score("b", "70", -3).decide(LOW);
    assert_eq!(ahead.decision, Decision::AutoRun);
    assert_eq!(&*ahead.notes[0], "`_workspace/logs/trinity_health_b.json` was skipped: it is from the future");
    assert_eq!(Logs::new().score("a", "95", 30).score("b", "70", -2).decide(LOW).decision, Decision::Block);
}

#[test]
fn a_verdict_blocks_however_old_and_high_its_score_is() {
    let text = r#"{"overall_trinity_score":99,"timestamp":"2026-11-20T10:00:00Z","verdict":"BLOCK"}"#;
    assert_eq!(Logs::new().file("trinity_health_a.json", text).decide(LOW).decision, Decision::Block);
    assert_eq!(Logs::new().file("trinity_health_a.json", &text.replace("BLOCK", "PASS")).decide(LOW).decision, Decision::Ask);
}

#[test]
fn junk_is_skipped_and_noted() {
    for (junk, why) in [
        ("{", "it is no JSON"),
        (r#"{"overall_trinity_score":"95"}"#, "it has no number from 0 to 100 at `overall_trinity_score`"),
        (r#"{"overall_trinity_score":150}"#, "it has no number from 0 to 100 at `overall_trinity_score`"),
        (r#"{"overall_trinity_score":-1}"#, "it has no number from 0 to 100 at `overall_trinity_score`"),
        (r#"{"overall_trinity_score":NaN}"#, "it is no JSON"),
        (r#"{"overall_trinity_score":1e400}"#, "it is no JSON"),
        (r#"{"overall_trinity_score":null}"#, "it has no number"),
        ("[95]", "it has no number"),
        (r#"{"overall_trinity_score":95,"timestamp":"yesterday"}"#, "`timestamp` is no moment"),
    ] {
        let decided = Logs::new().score("a", "95", 30).file("trinity_health_z.json", junk).decide(LOW);
        assert_eq!(decided.decision, Decision::AutoRun, "{junk}");
        assert!(decided.notes[0].contains("trinity_health_z.json` was skipped: ") && decided.notes[0].contains(why), "{:?}", decided.notes);
        let alone = Logs::new().file("trinity_health_z.json", junk).decide(LOW);
        assert_eq!((alone.decision, alone.evidence), (Decision::Ask, None), "{junk}");
        assert!(alone.notes.last().unwrap().contains("no file of"), "{:?}", alone.notes);
    }
    let long = format!(r#"{{"overall_trinity_score":95,"x":"{}"}}"#, "x".repeat(1 << 20));
    assert!(Logs::new().file("trinity_health_z.json", &long).decide(LOW).notes[0].contains("more than 1048576 bytes"));
    assert_eq!(Logs::new().decide(LOW).decision, Decision::Ask);
    assert_eq!(Logs::new().file("other.json", r#"{"overall_trinity_score":10}"#).decide(LOW).decision, Decision::Ask);
    let many = (0..20).fold(Logs::new(), |logs, n| logs.file(&format!("trinity_health_{n}.json"), "{")).decide(LOW);
    assert_eq!(many.notes.len(), MAX_NOTES + 2);
}

#[cfg(unix)]
#[test]
fn a_file_that_grows_while_it_is_read_ends_at_the_bound() {
    let logs = Logs::new();
    let path = logs.0.path().join("_workspace/logs/trinity_health_a.json");
    // Its content never ends.
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_eq!(logs.decide(LOW).decision, Decision::Ask, "it is no file");
    std::fs::remove_file(&path).unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut file = std::fs::File::create(path).unwrap();
        while stopped.try_recv().is_err() {
            std::io::Write::write_all(&mut file, &[b' '; 65_536]).unwrap();
            if file.metadata().unwrap().len() > 64 << 20 {
                file.set_len(0).unwrap();
            }
        }
    });
    for _ in 0..20 {
        assert_eq!(logs.decide(LOW).decision, Decision::Ask);
    }
    stop.send(()).unwrap();
    writer.join().unwrap();
}

#[test]
fn a_variable_may_say_how_old_a_score_may_be() {
    let logs = Logs::new().score("a", "95", 61);
    let held = |text: &str| {
        let text = text.to_owned();
        logs.decide_in(LOW, &Environment::new(move |name| (name == "MAX_SCORE_AGE_MINUTES").then(|| text.clone())))
    };
    assert_eq!(held("90").unwrap().decision, Decision::AutoRun);
    assert_eq!(held(" 61 ").unwrap().decision, Decision::AutoRun);
    assert_eq!(held("60.5").unwrap().decision, Decision::Ask);
    assert_eq!(held("").unwrap().decision, Decision::Ask, "it is not set");
    for junk in ["1h", "-1", "NaN", "inf", "ninety"] {
        let error = held(junk).unwrap_err();
        assert_eq!((error.code, error.is_final), (Some(Value::text("policy")), true), "{junk}");
        assert!(error.message.contains("`MAX_SCORE_AGE_MINUTES`") && error.message.contains(junk), "{}", error.message);
    }
}

#[test]
fn a_file_without_a_moment_has_its_own_time() {
    let logs = Logs::new().file("trinity_health_a.json", r#"{"overall_trinity_score":95}"#);
    // It was written now, by the clock of the machine; the lock's stands elsewhere.
    let decided = logs.decide(LOW);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let expected = if now > u128::from(NOW) + u128::from(2 * MINUTE) { Decision::Ask } else { decided.decision };
    assert_eq!(decided.decision, expected);
}
