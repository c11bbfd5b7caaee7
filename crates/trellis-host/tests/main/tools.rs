//! Graphs whose tools behave badly: the run goes on, or ends with a reason.

use std::sync::{Arc, Mutex};

use trellis_core::{Context, ToolOutcome, Value, state::PendingCall};
use trellis_host::{
    Bindings, Reason, Secrets,
    binding::{Caller, Host},
    secrets::SecretError,
};

use crate::stage::{Stage, run};

fn tool(binding: &str, body: &str) -> Stage {
    let project = format!("limits: {{tool_output: 1000}}\nbindings: {{tool: {{process: [sh, ./tool]{binding}}}}}\n");
    Stage::new(&[
        ("trellis.yaml", &project),
        ("start.md", "---\ndo: {name: tool, args: {key: \"{{secret:key}}\"}}\non_error: failed\non_timeout: slow\nto: fine\n---\n"),
        ("fine.md", "---\noutput: \"{{ sys.ans }}\"\n---\n"),
        ("failed.md", "---\noutput: \"{{ sys.error.message }}\"\n---\n"),
        ("slow.md", "---\noutput: \"slow: {{ sys.error.kind }}\"\n---\n"),
    ])
    .script("tool", body)
    .secrets(Secrets::new(|_| Some("hunter2".into())))
}

fn output(binding: &str, body: &str) -> String {
    let (outcome, text) = tool(binding, body).text("");
    assert_eq!(outcome.reason, Reason::Finished, "{text}");
    outcome.output.unwrap().to_string()
}

#[test]
fn bad_manners_are_error_results() {
    assert_eq!(output("", "cat"), r#"{"key":"***"}"#);
    assert_eq!(output("", "exec <&-; echo closed"), "closed");
    assert_eq!(
        output("", "head -c 10485760 /dev/zero"),
        "`tool` printed more than 1000 bytes, the bound `limits.tool_output`, and was stopped"
    );
    assert_eq!(output(", timeout: 100ms, grace: 50ms", "trap '' TERM; while :; do sleep 0.01; done"), "slow: timeout");
    assert_eq!(output("", "kill -SEGV $$"), "`tool` died by signal 11 (SIGSEGV)");
    assert_eq!(output("", "sleep 30 & echo started"), "started");
    let nowhere = output(", cwd: nowhere", "echo x");
    assert!(nowhere.starts_with("the binding `tool` of `trellis.yaml` cannot start: its `cwd`, `/"), "{nowhere}");
    assert!(nowhere.ends_with("nowhere`, does not exist; make that folder, or change `cwd`"), "{nowhere}");
}

#[test]
fn a_secret_is_in_no_message_and_no_variable() {
    assert_eq!(output("", r#"echo "denied for $TRELLIS_ARGS" >&2; exit 1"#), r#"denied for {"key":"***"}"#);
    let stage = tool("", "cat").secrets(Secrets::default());
    let (outcome, _) = stage.text("");
    assert_eq!(
        outcome.output,
        Some(Value::text("the secret `key` is not known here; set `TRELLIS_SECRET_KEY`, or run `trellis secret set key`"))
    );
}

// language 9.9: results, data, texts and keys, encoded too; what the session saves has none of it
#[test]
fn a_secret_is_in_no_result_whatever_its_form() {
    let told =
        r#"printf '{"hunter2":["x hunter2","aHVudGVyMg==","dTpodW50ZXIy","%s"],"n":1}' "$(echo $TRELLIS_ARGS | sed 's/.*:"//; s/".*//')""#;
    assert_eq!(output("", told), r#"{"***":["x ***","***","dTp***","***"],"n":1}"#);
    assert_eq!(output("", "printf 'hunter2'"), "***");
    let failing = |bindings: Bindings| {
        bindings.function("tool", |context, args| {
            context.progress(&format!("got {}", args.get("key").unwrap().as_str().unwrap()));
            let data = Some(Value::map([("hunter2", Value::from(["hunter2"]))]));
            Err(trellis_core::ToolError { code: Some(Value::text("no-hunter2")), data, ..trellis_core::ToolError::new("no hunter2") })
        })
    };
    let (outcome, lines) = tool("", "exit 1").function(failing).json("");
    assert_eq!(outcome.output, Some(Value::text("no ***")));
    assert!(lines.iter().any(|line| line.contains("got ***")) && lines.iter().any(|line| line.contains("no-***")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:?}");
}

// language 9.2, 9.9: a secret in `env` is filled in for the call, and is in no result, message or line of progress
#[test]
fn a_secret_in_the_environment_is_filled_in_and_masked() {
    let asked = |body: &str, secrets: Secrets| {
        let project = "bindings: {tool: {process: [sh, ./tool], env: {KEY: \"k-{{secret:key}}\", PLAIN: 7}}}\n";
        let stage = Stage::new(&[
            ("trellis.yaml", project),
            ("start.md", "---\ndo: {name: tool}\non_error: failed\nto: fine\n---\n"),
            ("fine.md", "---\noutput: \"{{ sys.ans }}\"\n---\n"),
            ("failed.md", "---\noutput: \"{{ sys.error.message }}\"\n---\n"),
        ]);
        let (outcome, lines) = stage.script("tool", body).secrets(secrets).json("");
        assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:?}");
        outcome.output.unwrap().to_string()
    };
    let known = || Secrets::new(|_| Some("hunter2".into()));
    assert_eq!(asked("echo \"got $KEY\" >&2; printf '%s %s %s' ${#KEY} $PLAIN $KEY", known()), "9 7 k-***");
    assert_eq!(asked("echo \"no $KEY\" >&2; exit 1", known()), "no k-***");
    let unknown = asked("echo", Secrets::default());
    assert_eq!(unknown, "the secret `key` is not known here; set `TRELLIS_SECRET_KEY`, or run `trellis secret set key`");
}

// language 11.1: a source that cannot be read is not an unknown secret
#[test]
fn a_source_that_fails_is_named_in_the_error() {
    let failing = Secrets::fallible(|name| Err(SecretError::Unreadable { name: name.into(), why: "the vault is closed".into() }));
    let stage = tool("", "cat").secrets(failing.clone());
    assert_eq!(stage.text("").0.output, Some(Value::text("the secret `key` cannot be read: the vault is closed")));
}

#[test]
fn a_secret_that_is_too_short_to_be_masked_is_named() {
    let stage = |secret: &'static str| {
        let told = r#"echo "denied for $TRELLIS_ARGS" >&2; exit 1"#;
        tool("", told).secrets(Secrets::new(move |_| Some(secret.into())))
    };
    let named = "the secret `key` is not masked in what is shown: it has fewer than 4 bytes";
    let (outcome, lines) = stage("d").json("");
    assert_eq!(outcome.output, Some(Value::text(r#"denied for {"key":"d"}"#)), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(named)), "{lines:?}");
    let (_, lines) = stage("dddd").json("");
    assert!(!lines.iter().any(|line| line.contains(named)), "{lines:?}");
}

#[test]
fn functions_carry_tools_out_by_name_and_may_fail_or_panic() {
    let with = |add: fn(Bindings) -> Bindings| tool("", "exit 1").function(add).text("").0.output.unwrap().to_string();
    assert_eq!(with(|bindings| bindings.function("tool", |_, args| Ok(Value::from(args.len() as u64)))), "1");
    assert_eq!(with(|bindings| bindings.function_async("tool", |_, _| async { Err(trellis_core::ToolError::new("closed")) })), "closed");
    assert_eq!(with(|bindings| bindings.function("tool", |_, _| panic!("oh"))), "the function of `tool` panicked: oh");
}

#[test]
fn findings_about_bindings_have_their_place() {
    let project = "bindings:\n  tool:\n    process: [sh, 3]\n    grace: soon\n";
    let program = crate::stage::program(&[("trellis.yaml", project), ("start.md", "---\ndo: tool\nto: end\n---\n"), ("end.md", "x\n")]);
    let (bindings, found) = Bindings::new(&program, std::path::Path::new("."), &Host::new());
    let found: Vec<_> = found
        .iter()
        .map(|finding| {
            let place = finding.place.as_ref().unwrap();
            (&*place.path, &project[place.span.range()], finding.code.as_str())
        })
        .collect();
    assert_eq!(found, [("trellis.yaml", "3", "wrong-type"), ("trellis.yaml", "soon", "wrong-type")]);
    assert!(!bindings.binds("", "tool"));
}

/// The arguments and the context hold what `redact` names, what was typed as a secret, and a text of three bytes.
#[test]
fn what_is_redacted_or_was_typed_as_a_secret_is_in_no_message() {
    let stage = Stage::new(&[
        ("trellis.yaml", "redact: [card]\nbindings: {tool: {process: [sh, ./tool]}}\n"),
        ("start.md", "---\ninput_type: secret\nsave_to: pin\nto: call\n---\n"),
        ("call.md", "---\ndo: {name: tool, args: {}}\nto: end\n---\n"),
        ("end.md", "Over.\n"),
    ])
    .script("tool", "echo 'no 4111-1111 for {\"holder\":\"Ana \\\"A\\\" B\"} and s3cret of abc' >&2; exit 1");
    let card = Value::map([("number", Value::text("4111-1111")), ("holder", Value::text("Ana \"A\" B")), ("code", Value::text("abc"))]);
    let context = Context::new([("card", card), ("pin", Value::text("s3cret"))].into_iter().collect());
    let call = r#"{"id":"c","name":"tool","role":"do","node":"call","args":{},"idempotency_key":"k","attempt":1}"#;
    let call: PendingCall = serde_json::from_str(call).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&told);
    let caller = Caller::new("s".into(), "g".into(), move |line| lines.lock().unwrap().push(line.to_owned())).within(context);
    let result = run(stage.bindings().call(&stage.program, &call, &caller));
    let ToolOutcome::Error(error) = result.outcome else { panic!("it fails") };
    assert_eq!(error.message, "no *** for {\"holder\":\"***\"} and *** of abc");
    assert_eq!(*told.lock().unwrap(), [error.message]);
}
