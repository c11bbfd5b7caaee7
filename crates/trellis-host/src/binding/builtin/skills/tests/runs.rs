//! Runs of skills to their ends (language 11.11–11.13).

use super::*;

/// A card with these commands.
fn card(keys: &str) -> String {
    format!("---\ntitle: T\nbackup: [logs, made]\n{keys}\n---\n")
}

fn shop(keys: &str) -> Shop {
    let shop = Shop::new(&[("s", &card(keys))]);
    shop.write("logs/1", "one");
    shop.write("logs/2", "two");
    shop
}

const EXECUTE: &str = r#"{"skill_id": "s", "mode": "execute", "args": {"n": 7}}"#;
const DRY_RUN: &str = r#"{"skill_id": "s", "mode": "dry_run"}"#;

/// `code` and `stage` of a result that is no success, once everything is as it was.
fn refusal(shop: &Shop, args: &str) -> (String, String) {
    let before = shop.picture();
    let result = shop.execute("k", args);
    assert_eq!(field(&result, "ok"), "false", "{result:?}");
    assert_eq!(shop.picture(), before);
    (field(&result, "code"), field(&result, "stage"))
}

fn is(code: &str, stage: &str) -> (String, String) {
    (format!("{code:?}"), if stage.is_empty() { String::new() } else { format!("{stage:?}") })
}

#[test]
fn a_skill_is_checked_run_and_verified() {
    let shop = shop(
        r#"check: [sh, -c, 'test -f logs/1 && echo check >>made']
run: [sh, -c, 'rm logs/1; echo "run $TRELLIS_ARGS [$TRELLIS_DRY_RUN]" >>made; echo "one file is gone"']
verify: [sh, -c, 'test ! -e logs/1 && echo verify >>made']"#,
    );
    let result = shop.execute("k", EXECUTE);
    assert_eq!(
        (field(&result, "ok"), field(&result, "summary"), field(&result, "code")),
        ("true".into(), r#""one file is gone""#.into(), String::new())
    );
    assert!(result.as_map().unwrap().get("execution_time").is_some());
    assert_eq!(fs::read_to_string(shop.work().join("made")).unwrap(), "check\nrun {\"n\":7} []\nverify\n");
    assert_eq!(shop.states(), ["done"]);
    // language 11.12: under one key it happens once.
    assert_eq!(shop.execute("k", EXECUTE), result);
    assert_eq!(fs::read_to_string(shop.work().join("made")).unwrap().lines().count(), 3);
}

// language 11.10
#[test]
fn a_doomed_skill_is_known_before_it_runs() {
    for (keys, expected) in [
        ("run: [sh]", r#"{"problems":[],"valid":true}"#),
        ("check: [sh, -c, 'test -f logs/1']\nrun: [sh]", r#"{"problems":[],"valid":true}"#),
        ("check: [sh, -c, 'exit 1']\nrun: [sh]", r#""code":"check_failed","problems":["`check` of the skill `s`"#),
        ("check: [sh, -c, 'rm -r logs; echo no logs >&2; exit 1']\nrun: [sh]", r#""code":"check_failed","problems":["no logs"]"#),
        ("check: [sh, -c, 'exec sleep 600']\nrun: [sh]\ntimeout: 100ms", r#""code":"timed_out""#),
        ("check: [./bin/not_there]\nrun: [sh]", r#""code":"check_failed","problems":["the skill `s` cannot run: "#),
        ("run: [./bin/not_there]", r#""code":"execution_failed","problems":["the skill `s` cannot run: "#),
        ("run: [no-such-command-here]", "`no-such-command-here` is not on the PATH"),
        ("run: [sh]\ndry_run: [./bin/not_there]", r#""code":"execution_failed""#),
        ("run: [sh]\nverify: [./bin/not_there]", r#""code":"verify_failed""#),
        // Nobody could mend that by other inputs.
        ("run: [./bin/not_there]\nrequired_inputs: { required: [n] }", r#""code":"execution_failed""#),
    ] {
        let shop = shop(keys);
        let before = shop.picture();
        let checked = shop.check(r#"{"skill_id": "s"}"#);
        assert!(checked.contains(expected.trim_start_matches('{').trim_end_matches('}')), "{keys}: {checked}");
        assert_eq!(shop.picture(), before, "{keys}");
    }
    let shop = shop("check: [sh, -c, 'echo \"$TRELLIS_DRY_RUN\" >made; touch logs/3']\nrun: [sh]");
    let before = shop.picture();
    assert_eq!(shop.check(r#"{"skill_id": "s"}"#), r#"{"problems":[],"valid":true}"#);
    assert_eq!((shop.picture(), shop.states()), (before, vec!["restored".to_owned()]), "what it changes comes back");
}

#[test]
fn each_failure_has_its_code_and_leaves_no_trace() {
    let fails = "[sh, -c, 'echo no >&2; echo x >made; rm -r logs; exit 3']";
    assert_eq!(refusal(&shop(&format!("check: {fails}\nrun: [sh, -c, 'echo ran >made']")), EXECUTE), is("check_failed", "check"));
    assert_eq!(refusal(&shop(&format!("run: {fails}")), EXECUTE), is("execution_failed", "run"));
    assert_eq!(refusal(&shop(&format!("run: [sh, -c, 'rm logs/1']\nverify: {fails}")), EXECUTE), is("verify_failed", "verify"));
    assert_eq!(refusal(&shop("run: [./no-such-file]"), EXECUTE), is("execution_failed", "run"));
    let shop = shop(&format!("run: {fails}"));
    assert_eq!(field(&shop.execute("k", EXECUTE), "summary"), r#""no""#);
    assert_eq!(shop.states(), ["restored"]);
    for (stage, keys) in [("check", "check: [sh, -c, 'exit 3']\nrun: [sh, -c, ':']"), ("run", "run: [sh, -c, 'exit 3']")] {
        let silent = self::shop(keys).execute("k", EXECUTE);
        assert_eq!(field(&silent, "summary"), format!(r#""`{stage}` of the skill `s` exited with 3""#));
    }
    // The recorded failure is repeated too.
    fs::write(shop.path().join("_skills/s.md"), card("run: [sh, -c, 'echo fine']")).unwrap();
    assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "false");
    assert_eq!(field(&shop.execute("another", EXECUTE), "ok"), "true");
}

#[test]
fn a_skill_that_may_not_or_cannot_run_is_refused_before_it_begins() {
    let runs = "run: [sh, -c, 'echo ran >made']\nrequired_inputs: {type: object, properties: {n: {type: text}}}";
    let runs = runs.replace("type: text", "type: string");
    let shop = shop(&runs);
    assert_eq!(refusal(&shop, EXECUTE), is("inputs", ""));
    assert_eq!(refusal(&shop, r#"{"skill_id": "../s", "mode": "execute"}"#), is("not_found", ""));
    assert_eq!(refusal(&shop, r#"{"skill_id": null, "mode": "execute"}"#), is("not_found", ""));
    assert_eq!(refusal(&shop, DRY_RUN), is("inputs", ""));
    assert!(shop.states().is_empty());
}

// language 11.13
#[test]
fn blocked_wins_over_allowed() {
    let may = |config: &str| {
        let shop = shop("run: [sh, -c, 'true']").with(&format!(r#"{{"workspace": "work", {config}}}"#));
        let result = shop.execute("k", EXECUTE);
        (field(&result, "ok"), field(&result, "code"))
    };
    let (yes, no) = (("true".into(), String::new()), ("false".into(), r#""blocked""#.into()));
    assert_eq!(may(r#""block": []"#), yes);
    assert_eq!(may(r#""block": ["x*", "s*"]"#), no);
    assert_eq!(may(r#""allow": ["s"]"#), yes);
    assert_eq!(may(r#""allow": ["x"]"#), no);
    assert_eq!(may(r#""allow": []"#), no);
    assert_eq!(may(r#""allow": ["*"], "block": ["s"]"#), no);
}

#[test]
fn a_dry_run_leaves_no_trace() {
    let shop = shop(
        "dry_run: [sh, -c, 'rm logs/1; echo x >made; echo \"[$TRELLIS_DRY_RUN] would remove 1\"']\nrun: [sh, -c, 'exit 1']\nverify: [sh, -c, 'exit 1']",
    );
    let before = shop.picture();
    let result = shop.execute("k", DRY_RUN);
    assert_eq!(
        (field(&result, "ok"), field(&result, "summary"), field(&result, "backup")),
        ("true".into(), r#""[1] would remove 1""#.into(), String::new())
    );
    assert_eq!((shop.picture(), shop.states()), (before.clone(), vec!["restored".to_owned()]));
    fs::write(shop.path().join("_skills/s.md"), card("dry_run_supported: true\nrun: [sh, -c, 'echo $TRELLIS_DRY_RUN >made; cat made']"))
        .unwrap();
    assert_eq!(field(&shop.execute("k2", DRY_RUN), "summary"), r#""1""#);
    assert_eq!(shop.picture(), before);
}

#[test]
fn time_is_that_of_the_call_else_that_of_the_card_over_all_commands() {
    let slow = "[sh, -c, 'echo x >made; sleep 600']";
    assert_eq!(refusal(&shop(&format!("timeout: 300ms\nrun: {slow}")), EXECUTE), is("timed_out", "run"));
    let call = r#"{"skill_id": "s", "mode": "execute", "timeout": 0.3}"#;
    assert_eq!(refusal(&shop(&format!("run: {slow}")), call), is("timed_out", "run"));
    let halves = "timeout: 600ms\ncheck: [sleep, '0.4']\nrun: [sleep, '0.4']\nverify: [sleep, '0.4']";
    assert_eq!(refusal(&shop(halves), EXECUTE).0, "\"timed_out\"");
}

#[test]
fn a_stop_restores_and_lets_the_same_call_run_again() {
    let shop = shop("run: [sh, -c, 'rm logs/1; test -e ../go || { echo $$ >../pid; sleep 30; }']");
    let (before, cancel) = (shop.picture(), Cancel::new());
    let error = std::thread::scope(|scope| {
        let stop = cancel.clone();
        let pid = shop.path().join("pid");
        scope.spawn(move || {
            while !pid.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.cancel();
        });
        shop.attempt("k", EXECUTE, &cancel).unwrap_err()
    });
    assert_eq!(error.message, "`t` was stopped");
    assert_eq!(shop.picture(), before);
    fs::write(shop.path().join("go"), "").unwrap();
    assert_eq!(field(&shop.execute("k", EXECUTE), "ok"), "true");
}

// language 11.12
#[test]
fn a_run_is_taken_back_once() {
    let shop = shop("run: [sh, -c, 'rm logs/1; echo x >made']");
    let before = shop.picture();
    let result = shop.execute("k", EXECUTE);
    let backup = result.as_map().unwrap().get("backup").unwrap().clone();
    assert_ne!(shop.picture(), before);
    assert_eq!(field(&shop.restore(&backup).unwrap(), "restored"), "true");
    assert_eq!(shop.picture(), before);
    shop.write("logs/3", "later");
    assert_eq!(field(&shop.restore(&backup).unwrap(), "restored"), "false");
    assert_eq!(field(&shop.restore(&Value::Null).unwrap(), "restored"), "false");
    assert!(shop.work().join("logs/3").exists());
    for unknown in ["other", "../k", ""] {
        assert_eq!(shop.restore(&Value::text(unknown)).unwrap_err().code, Some(Value::text("not_found")));
    }
    // The call that was undone is not made again.
    assert_eq!(shop.execute("k", EXECUTE), result);
    assert!(!shop.work().join("made").exists());
}

// language 11.11
#[test]
fn one_skill_at_a_time_has_the_workspace() {
    let shop = shop("run: [sh, -c, 'mkdir ../busy && sleep 0.2 && rmdir ../busy && echo x >>made']");
    std::thread::scope(|scope| {
        let runs: Vec<_> = ["a", "b", "c", "a"].map(|key| scope.spawn(|| shop.execute(key, EXECUTE))).into_iter().collect();
        for run in runs {
            assert_eq!(field(&run.join().unwrap(), "ok"), "true");
        }
    });
    // The same key at the same time happened once.
    assert_eq!(fs::read_to_string(shop.work().join("made")).unwrap(), "x\nx\nx\n");
}
