//! `policy:` and `budget:` of a project, as the program obeys them (language 11.3, 11.6).

use crate::sandbox::{Ran, Sandbox, finish};

/// A graph that mails once.
fn shop(settings: &str) -> Sandbox {
    let project = format!(
        "bindings:\n  mail: {{ process: [./mail], effect: irreversible }}\n  gate: {{ process: [./gate], effect: none }}\n{settings}"
    );
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", &project),
        (
            "start.md",
            "---\ndo: { name: mail, args: { to: ada, risk: 3 }, retry: { max: 3, base: 1ms } }\nsave_to: sent\non_error: failed\non_denied: denied\nto: done\n---\n",
        ),
        ("done.md", "---\noutput: \"{{ sent }}\"\n---\n"),
        ("failed.md", "---\nend: failed\noutput: \"{{ sys.error.code | default('none') }}: {{ sys.error.message }}\"\n---\n"),
        ("denied.md", "---\noutput: denied\n---\n"),
    ]);
    script(&sandbox, "mail", "echo called >> mails; echo '\"sent\"'");
    script(&sandbox, "gate", "cat > asked; echo '{\"decision\": \"BLOCK\", \"notes\": [\"not on a Monday\"]}'");
    sandbox
}

fn script(sandbox: &Sandbox, name: &str, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    sandbox.write(name, format!("#!/bin/sh\n{body}\n").as_bytes());
    std::fs::set_permissions(sandbox.path().join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(sandbox: &Sandbox, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let args: Vec<&str> = ["run", ".", "--json"].into_iter().chain(args.iter().copied()).collect();
    finish(sandbox.command(&args).envs(env.iter().copied()).stdin(std::process::Stdio::null()).spawn().unwrap())
}

/// The kinds of the lines that were printed.
fn kinds(ran: &Ran) -> Vec<String> {
    let kind = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
    ran.out.lines().map(kind).collect()
}

fn mails(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.path().join("mails")).map_or(0, |text| text.lines().count())
}

#[test]
fn each_provider_of_a_policy_decides_about_a_run() {
    const FORCED: &str = "policy: [{ forced: { env: SHOP_FORCE } }, { tool: gate }]\n";
    let force = |value: &'static str| vec![("SHOP_FORCE", value)];
    for (settings, env, yes, end, sent) in [
        ("", vec![], false, r#""sent""#, 1),
        ("policy: [{ block: [\"m*\"] }]\n", vec![], true, r#""denied""#, 0),
        ("policy: [{ ask: [{ tool: mail, args: { required: [to] } }] }]\n", vec![], true, r#""sent""#, 1),
        ("policy: [{ allow: [mail] }, { block: [\"*\"] }]\n", vec![], false, r#""sent""#, 1),
        (FORCED, vec![], true, r#""denied""#, 0),
        (FORCED, force("AUTO_RUN"), false, r#""sent""#, 1),
        (FORCED, force("run"), false, "policy: `SHOP_FORCE` holds AUTO_RUN, ASK or BLOCK, not `run`", 0),
    ] {
        let sandbox = shop(settings);
        assert_eq!(sandbox.trellis(&["check", "."]).code, Some(0), "{settings}");
        let ran = run(&sandbox, if yes { &["--yes"] } else { &[] }, &env);
        let last = ran.out.lines().last().unwrap_or_default();
        assert!(last.contains(end), "{settings}: {ran:?}");
        assert_eq!(mails(&sandbox), sent, "{settings}: {ran:?}");
    }
}

// language 11.3
#[test]
fn a_module_is_named_as_calls_name_it() {
    const MODULE: &[(&str, &str)] = &[
        ("start.md", "---\ndo: { graph: sub }\non_denied: denied\nto: done\n---\n"),
        ("sub/start.md", "---\n---\n"),
        ("done.md", "---\noutput: done\n---\n"),
        ("denied.md", "---\noutput: denied\n---\n"),
    ];
    for (policy, end) in [
        ("[{ block: [\"graph:sub\"] }]", "denied"),
        ("[{ block: [\"graph:sub/start\"] }]", "denied"),
        ("[{ block: [{ tool: \"graph:sub\" }] }]", "denied"),
        ("[{ allow: [\"graph:sub\"], else: block }]", "done"),
        ("[{ allow: [\"graph:s?\"], else: block }]", "denied"),
    ] {
        let sandbox = Sandbox::new(MODULE);
        sandbox.write("trellis.yaml", format!("policy: {policy}\n").as_bytes());
        let ran = run(&sandbox, &[], &[]);
        assert!(ran.out.lines().last().unwrap_or_default().contains(&format!("\"{end}\"")), "{policy}: {ran:?}");
    }
    // Where a node has the name, the calls mean that one.
    let sandbox = Sandbox::new(MODULE);
    sandbox.write("start.md", b"---\ndo: { graph: sub/start }\non_denied: denied\nto: sub\n---\n");
    sandbox.write("sub.md", b"---\nto: done\n---\n");
    sandbox.write("trellis.yaml", b"policy: [{ block: [\"graph:sub\"] }]\n");
    let ran = run(&sandbox, &[], &[]);
    assert!(ran.out.lines().last().unwrap_or_default().contains("\"done\""), "{ran:?}");
}

#[test]
fn a_tool_that_decides_is_told_the_call_and_its_notes_are_shown() {
    let sandbox = shop("policy: [{ tool: gate }]\n");
    let ran = run(&sandbox, &["--session", "s1"], &[]);
    assert!(kinds(&ran).contains(&"POLICY".to_owned()) && ran.out.contains("not on a Monday"), "{ran:?}");
    let asked = std::fs::read_to_string(sandbox.path().join("asked")).unwrap();
    let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(asked, serde_json::json!({ "args": { "to": "ada", "risk": 3 }, "node": "start", "session": "s1", "tool": "mail" }));
}

// language 9.7: what a policy's tool said is recorded, and counts for a session of another name
#[test]
fn the_answer_of_a_policy_is_replayed() {
    let sandbox = shop("policy: [{ tool: gate }]\n");
    script(&sandbox, "gate", "echo '{\"decision\": \"AUTO_RUN\"}'");
    let ran = run(&sandbox, &["--record", "tape.jsonl"], &[]);
    assert!(ran.out.lines().last().unwrap().contains("sent"), "{ran:?}");
    script(&sandbox, "gate", "exit 1");
    let replayed = run(&sandbox, &["--replay-tools", "tape.jsonl"], &[]);
    assert!(replayed.out.lines().last().unwrap().contains("sent"), "{replayed:?}");
    assert_eq!(mails(&sandbox), 1);
}

// language 11.6: an answer that cannot be used was paid for
#[test]
fn an_answer_that_is_no_json_counts_for_the_budget() {
    let sandbox = shop("budget: { tokens: 25 }\n");
    let project = std::fs::read_to_string(sandbox.path().join("trellis.yaml")).unwrap();
    let models = "models: { providers: { house: { process: [./model] } }, roles: { helper: [{ provider: house }] } }\n";
    let binding = "bindings:\n  think: { model: { role: helper } }\n";
    sandbox.write("trellis.yaml", format!("{}{models}", project.replacen("bindings:\n", binding, 1)).as_bytes());
    script(&sandbox, "model", "echo asked >> asked; echo '{\"content\": 3, \"tool_calls\": 7, \"usage\": {\"input\": 8, \"output\": 2}}'");
    sandbox.write("start.md", b"---\ndo: { name: think, args: { prompt: hm }, retry: { max: 9, base: 1ms } }\nsave_to: sent\non_error: failed\non_denied: denied\nto: done\n---\nHm?\n");
    let ran = run(&sandbox, &[], &[]);
    let asked = std::fs::read_to_string(sandbox.path().join("asked")).unwrap_or_default().lines().count();
    assert!(asked == 3 && ran.out.lines().last().unwrap().contains("budget"), "{asked}: {ran:?}");
}

#[test]
fn a_score_decides_by_the_newest_file() {
    const SCORE: &str = "policy: [{ score: { files: \"_logs/*.json\", field: score, risk: risk } }]\n";
    let outcome = |score: Option<&str>| {
        let sandbox = shop(SCORE);
        if let Some(score) = score {
            sandbox.write("_logs/health.json", format!("{{\"score\": {score}}}").as_bytes());
        }
        let ran = run(&sandbox, &[], &[]);
        let kinds = kinds(&ran);
        assert!(kinds.contains(&"POLICY".to_owned()), "{ran:?}");
        (kinds.contains(&"APPROVAL".to_owned()), mails(&sandbox))
    };
    assert_eq!(outcome(Some("95")), (false, 1));
    assert_eq!(outcome(Some("85")), (true, 0));
    assert_eq!(outcome(Some("75")), (false, 0));
    assert_eq!(outcome(None), (true, 0));
}

#[test]
fn a_budget_ends_the_attempts_of_a_run() {
    let sandbox = shop("budget: { calls: 2 }\n");
    script(&sandbox, "mail", "echo called >> mails; exit 1");
    let ran = run(&sandbox, &[], &[]);
    assert_eq!((ran.code, mails(&sandbox)), (Some(1), 2), "{ran:?}");
    assert!(ran.out.contains("budget: `budget.calls` is spent: it allows 2 in a session, and 2 were taken"), "{ran:?}");
}

#[test]
fn mistakes_are_drawn_at_their_places_and_nothing_runs() {
    let sandbox = shop("policy:\n  - { block: [mail], ask: [gate] }\n  - { allow: [mail], els: block }\nbudget: { calls: lots }\n");
    let ran = sandbox.trellis(&["check", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for found in [
        "`policy.0` has `block` and `ask`\n  trellis.yaml:5:27\n 5 |   - { block: [mail], ask: [gate] }\n",
        "`policy.1` has no key `els`\n  trellis.yaml:6:",
        "help: did you mean `else`?",
        "`calls` takes a whole number from 0 on, not a text\n  trellis.yaml:7:18\n 7 | budget: { calls: lots }\n",
        "3 errors in 4 nodes\n",
    ] {
        assert!(ran.out.contains(found), "{found}\n{}", ran.out);
    }
    assert_eq!((run(&sandbox, &["--yes"], &[]).code, mails(&sandbox)), (Some(1), 0));
}
