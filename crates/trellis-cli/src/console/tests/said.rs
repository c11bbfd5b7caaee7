//! Tests of the lines above the live rows.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    ToolError, ToolOutcome,
    state::{EndReason, Ended},
};
use trellis_host::{
    Reason,
    runner::{Findings, Reloaded, RunSummary},
};

use super::{LOOK, WINDOW, pending};
use crate::console::{rows::Window, scrollback};

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_call_shows_every_argument_whole() {
    let call = pending(r#"{"order": 7, "note": "one\ntwo\u001b[2J", "to": {"name": "Ana", "tags": []}, "id": "7"}"#);
    let expected = "refund\n  id:    \"7\"\n  note:\n    │ one\n    │ two\\u001b[2J\n  order: 7\n  to:\n    {\n      \"name\": \"Ana\",\n      \"tags\": []\n    }\n";
    assert_eq!(plain(&scrollback::call(&call, WINDOW)), expected);
    let long = pending(&format!(r#"{{"text": "{}"}}"#, "word ".repeat(200)));
    for columns in 1..60 {
        let text = plain(&scrollback::call(&long, Window { room: columns, ..WINDOW }));
        assert_eq!(text.matches('w').count(), 200, "{columns}");
    }
}

#[test]
fn secrets_stand_by_name() {
    let mut call = pending(r#"{"auth": "Bearer "}"#);
    call.secrets = serde_json::from_str(r#"[{"pointer": "/auth", "offset": 7, "name": "key"}]"#).unwrap();
    assert_eq!(plain(&scrollback::call(&call, WINDOW)), "refund\n  auth: \"Bearer {{secret:key}}\"\n");
}

#[test]
fn results_say_what_the_tool_has_not_said_yet() {
    let call = pending("{}");
    let result = |outcome: &ToolOutcome, seconds: f64, written: &[&str]| {
        let written = written.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        plain(&scrollback::result(&call, outcome, Some(Duration::from_secs_f64(seconds)), &written, WINDOW))
    };
    assert_eq!(result(&ToolOutcome::Success("x".into()), 0.01, &[]), "✓ refund\n");
    assert_eq!(result(&ToolOutcome::Success("x".into()), 2.34, &[]), "✓ refund 2.3 s\n");
    let failed = ToolOutcome::Error(ToolError::new("no such order\u{1b}[2J"));
    assert_eq!(result(&failed, 75.0, &["trying"]), "✗ refund 1 min 15 s: no such order\u{fffd}[2J\n");
    assert_eq!(result(&failed, 0.0, &["trying", "no such order\u{1b}[2J"]), "✗ refund\n");
    assert_eq!(result(&ToolOutcome::Denied(None), 0.0, &[]), "✗ refund: denied\n");
    assert_eq!(plain(&scrollback::progress("50 %\u{1b}[1A\u{7}", WINDOW)), "│ 50 %\u{fffd}[1A\u{fffd}\n");
}

#[test]
fn the_end_says_why_where_and_what_to_do() {
    let ended = |reason, message: &str| Ended {
        reason,
        code: None,
        node: "pay".into(),
        message: Some(message.into()),
        output: None,
        place: None,
        rollback: None,
    };
    let summary = RunSummary {
        reason: Reason::Failed,
        ended: Some(Arc::new(ended(EndReason::Failed, "`refund` failed: no such order"))),
        message: None,
        place: Some("pay.md:4".into()),
        help: Some("say where to go then with `on_error`"),
    };
    let expected = "\n✗ failed at `pay`: `refund` failed: no such order\n  pay.md:4\nhelp: say where to go then with `on_error`\n";
    assert_eq!(plain(&scrollback::summary(&summary, WINDOW)), expected);
    let named =
        RunSummary { ended: Some(Arc::new(ended(EndReason::Failed, "`pay` has no way"))), place: None, help: None, ..summary.clone() };
    assert_eq!(plain(&scrollback::summary(&named, WINDOW)), "\n✗ failed: `pay` has no way\n");
    let over =
        RunSummary { reason: Reason::EndOfInput, ended: None, message: Some("the input ended while `pay` was waiting".into()), ..named };
    assert_eq!(plain(&scrollback::summary(&over, WINDOW)), "\n■ the input ended while `pay` was waiting\n");
    let narrow = Window { room: 24, height: 5, look: LOOK };
    assert_eq!(
        plain(&scrollback::summary(&summary, narrow)),
        "\n✗ failed at `pay`:\n  `refund` failed: no\n  such order\n  pay.md:4\nhelp: say where to go\n  then with `on_error`\n"
    );
}

#[test]
fn an_edit_says_what_it_came_to() {
    let sound = |healed, moved| plain(&scrollback::reload(&Reloaded::Sound { healed, moved }, WINDOW));
    assert_eq!(sound(false, None), "↻ reloaded\n");
    assert_eq!(
        sound(true, Some("`pay` is gone, so the session stands at `start`")),
        "↻ sound again: `pay` is gone, so the session stands at\n  `start`\n"
    );
    let findings = Findings { text: "error: x\n".into(), json: serde_json::Value::Null };
    let broken = plain(&scrollback::reload(&Reloaded::Broken { findings: &findings, since: 0 }, WINDOW));
    assert!(broken.starts_with("\nerror: x\nstill running the version of ") && broken.ends_with("\n"), "{broken}");
}
