//! Runs in JSON Lines.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use trellis_core::{Input, Start, Value};
use trellis_host::{Reason, Stop};
use trellis_tests::wire::{Way, schema};

use crate::stage::{Stage, run_timeless};

const FORM: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many?\n"),
    ("end.md", "---\noutput: {n: \"{{ n }}\"}\n---\nThank you.\n"),
];

#[test]
fn a_program_reads_and_writes_one_object_a_line() {
    let (outcome, lines) = Stage::new(FORM).json("{\"input\":\"7\"}\n");
    assert_eq!(outcome.reason, Reason::Finished);
    assert_eq!(
        lines,
        [
            r#"{"type":"RENDER_CONTENT","payload":"How many?\n"}"#,
            r#"{"type":"REQUEST_INPUT","payload":{"input_type":"int","seq":1}}"#,
            r#"{"type":"RENDER_CONTENT","payload":"Thank you.\n"}"#,
            r#"{"type":"END","payload":{"reason":"finished","output":{"n":7},"node":"end"}}"#,
        ]
    );
}

#[test]
fn a_bad_line_is_an_error_and_nothing_is_lost() {
    let input = b"nonsense\n\n{\"imput\":1}\n\xff\n{\"input\":\"many\"}\n{\"approve\":\"x\"}\n{\"tool_result\":{\"id\":\"x\",\"result\":1}}\n{\"signal\":\"hup\"}\n{\"input\":9}";
    let (outcome, lines) = Stage::new(FORM).json(input);
    assert_eq!(outcome.output, Some(Value::map([("n", Value::Int(9))])));
    let codes: Vec<_> = lines.iter().filter_map(|line| line.split_once(r#""ERROR","payload":{"code":""#)?.1.split('"').next()).collect();
    assert_eq!(codes, ["bad-json", "bad-line", "not-utf8", "invalid-input", "wrong-kind", "wrong-kind", "unhandled-signal"]);
    assert_eq!(lines.iter().filter(|line| line.contains("REQUEST_INPUT")).count(), 1);
}

#[test]
fn the_end_of_input_is_a_reason() {
    let (outcome, lines) = Stage::new(FORM).json("");
    assert_eq!(outcome.reason, Reason::EndOfInput);
    let end = r#"{"type":"END","payload":{"reason":"end_of_input","output":null,"message":"the input ended while `start` was waiting"}}"#;
    assert_eq!(lines.last().unwrap(), end);
}

const CALLS: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {here: {process: [sh, ./here], retry: {max: 2, base: 1ms}}}\n"),
    ("start.md", "---\ndo: {name: here, args: {a: 1}}\nsave_to: one\non_error: failed\nto: there\n---\n"),
    (
        "there.md",
        "---\ntools: [{name: there}]\ndo: {name: there, timeout: 5s, approve: {ask: Really?}}\nsave_to: two\non_error: failed\non_denied: denied\nto: ask\n---\n",
    ),
    ("ask.md", "---\ninput_type: text\nto: end\n---\n"),
    ("end.md", "---\noutput: [\"{{ one }}\", \"{{ two }}\"]\n---\n"),
    ("failed.md", "---\noutput: \"{{ sys.error }}\"\n---\n"),
    ("denied.md", "Denied.\n"),
];

/// The id in the latest line of a type.
fn id(lines: &[String], kind: &str) -> String {
    let line = lines.iter().rev().find(|line| line.contains(&format!("{{\"type\":\"{kind}\""))).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["payload"]["id"].as_str().unwrap().to_owned()
}

fn calls() -> Stage {
    Stage::new(CALLS).script("here", "cat")
}

#[test]
fn a_bound_call_is_carried_out_and_an_unbound_one_is_handed_over() {
    let stage = calls();
    let (_, lines) = stage.json("");
    let call = id(&lines, "APPROVAL");
    assert!(
        lines[0].starts_with(r#"{"type":"CALL_TOOL","payload":{"id":"#) && lines[0].contains(r#""name":"here","args":{"a":1}"#),
        "{lines:?}"
    );
    assert!(lines[1].starts_with(r#"{"type":"TOOL_RESULT","payload":{"id":"#) && lines[1].ends_with(r#""result":{"a":1}}}"#), "{lines:?}");
    assert!(lines[2].starts_with(r#"{"type":"APPROVAL""#) && lines[2].ends_with(r#""ask":"Really?"}}"#), "{lines:?}");
    assert!(lines[3].contains("end_of_input"), "{lines:?}");
    let answer = format!(
        "{{\"tool_result\":{{\"id\":\"{call}\",\"result\":2}}}}\n{{\"approve\":\"{call}\"}}\n{{\"input\":\"x\"}}\n{{\"tool_result\":{{\"id\":\"{call}\",\"result\":2}}}}\n{{\"input\":\"y\"}}\n"
    );
    let (outcome, lines) = stage.json(answer);
    assert_eq!(outcome.output.unwrap().to_json(), r#"[{"a":1},2]"#, "{lines:?}");
    let kinds: Vec<_> = lines.iter().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(kinds, ["CALL_TOOL", "TOOL_RESULT", "APPROVAL", "ERROR", "CALL_TOOL", "ERROR", "REQUEST_INPUT", "END"]);
    let (outcome, lines) = stage.json(format!("{{\"deny\":\"{call}\"}}"));
    assert_eq!(outcome.reason, Reason::Finished);
    assert!(lines[3].contains(r#""denied":true"#) && lines[4].contains("Denied."), "{lines:?}");
}

#[test]
fn a_handed_over_call_times_out_and_its_late_result_is_kept() {
    let stage = Stage::new(&[
        ("start.md", "---\ntools: [{name: there}]\ndo: {name: there, timeout: 5s}\non_timeout: ask\nto: end\n---\n"),
        ("ask.md", "---\ninput_type: text\nto: end\n---\n"),
        ("end.md", "Over.\n"),
    ]);
    let (input, reader) = tokio::io::duplex(4096);
    let (writer, output) = tokio::io::duplex(4096);
    let outcome = run_timeless(async {
        let other_end = async {
            let (mut input, mut output) = (input, BufReader::new(output).lines());
            let mut lines = Vec::new();
            while let Some(line) = output.next_line().await.unwrap() {
                lines.push(line);
                if lines.last().unwrap().contains("REQUEST_INPUT") {
                    let id = id(&lines, "CALL_TOOL");
                    let late = format!("{{\"tool_result\":{{\"id\":\"{id}\",\"result\":2}}}}\n{{\"input\":\"x\"}}\n");
                    input.write_all(late.as_bytes()).await.unwrap();
                }
            }
            lines
        };
        let run = async { stage.json_runner(BufReader::new(reader), writer).run(Start::default()).await };
        let (outcome, lines) = tokio::join!(run, other_end);
        schema().assert(Way::Out, &lines);
        assert!(lines[1].contains(r#""error":{"kind":"timeout","message":"`there` took longer than 5s"}"#), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains("ERROR")).count(), 0, "{lines:?}");
        outcome.unwrap()
    });
    let kinds: Vec<_> =
        outcome.session.unwrap().journal().records().iter().map(|record| serde_json::to_value(record).unwrap()["kind"].clone()).collect();
    assert_eq!(kinds, ["start", "result", "late", "input", "end"]);
}

#[test]
fn early_lines_are_kept_in_order_and_signals_act_at_once() {
    let stage = Stage::new(&[
        ("trellis.yaml", "bindings: {slow: {process: [sh, ./slow]}}\n"),
        ("start.md", "---\ndo: slow\non_interrupt: one\nto: one\n---\n"),
        ("one.md", "---\ninput_type: text\nsave_to: a\nto: two\n---\n"),
        ("two.md", "---\ninput_type: text\nsave_to: b\nto: end\n---\n"),
        ("end.md", "---\noutput: \"{{ a }}{{ b }}\"\n---\n"),
    ])
    .script("slow", "sleep 60");
    let (outcome, lines) = stage.json("{\"input\":\"1\"}\nbad\n{\"input\":\"2\"}\n{\"signal\":\"interrupt\"}\n");
    assert_eq!(outcome.output, Some(Value::text("12")), "{lines:?}");
    let kinds: Vec<_> = lines.iter().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(kinds, ["CALL_TOOL", "REQUEST_INPUT", "REQUEST_INPUT", "ERROR", "END"]);
}

#[test]
fn an_interrupt_that_nothing_handles_ends_the_run() {
    let (outcome, lines) = Stage::new(FORM).json("{\"signal\":\"interrupt\"}\n{\"input\":1}\n");
    assert_eq!(outcome.reason, Reason::Interrupted);
    assert!(lines.last().unwrap().contains(r#""reason":"interrupted""#));
}

#[test]
fn a_predicate_is_asked_by_name_and_answered_by_id() {
    let stage = Stage::new(&[
        ("trellis.yaml", "predicates: [vip]\n"),
        ("start.md", "---\ntransitions: [{condition: vip, to: a}]\nto: b\n---\n"),
        ("a.md", "A\n"),
        ("b.md", "B\n"),
    ]);
    let (_, lines) = stage.json("");
    assert_eq!(lines[0], r#"{"type":"PREDICATE","payload":{"id":"vip@1","name":"vip"}}"#);
    let (outcome, lines) =
        stage.json("{\"predicate\":{\"id\":\"other\",\"value\":false}}\n{\"predicate\":{\"id\":\"vip@1\",\"value\":true}}\n");
    assert_eq!(outcome.reason, Reason::Finished);
    assert!(lines[1].contains("wrong-kind") && lines[2].contains("\"A\\n\""), "{lines:?}");
}

#[test]
fn a_bound_tool_answers_a_predicate() {
    let stage = Stage::new(&[
        ("trellis.yaml", "predicates: {vip: {binding: is_vip, needs: [name]}}\nbindings: {is_vip: {process: [sh, ./is_vip]}}\n"),
        ("start.md", "---\ndefault_context: {name: Ann}\nto: next\n---\n"),
        ("next.md", "---\ntransitions: [{condition: vip, to: a}]\nto: b\n---\n"),
        ("a.md", "A\n"),
        ("b.md", "B\n"),
    ])
    .script("is_vip", "case $TRELLIS_ARGS in *Ann*) echo true;; *) echo false;; esac");
    let (outcome, lines) = stage.json("");
    assert_eq!((outcome.reason, lines[0].contains("\"A\\n\"")), (Reason::Finished, true), "{lines:?}");
    let broken = stage.script("is_vip", "echo perhaps");
    let (outcome, lines) = broken.json("");
    assert_eq!(outcome.reason, Reason::EndOfInput);
    assert!(lines[0].contains("the predicate `vip` is answered with true or false, not text"), "{lines:?}");
}

/// A graph that saves a number and then asks whether it is that of an adult.
const AGE: [(&str, &str); 3] = [
    (
        "start.md",
        "---\ninput_type: int\nsave_to: age\nset: {twice: '{{ 2 * age }}'}\ntransitions: [{condition: adult, to: a}]\nto: b\n---\n",
    ),
    ("a.md", "Welcome.\n"),
    ("b.md", "Sorry.\n"),
];

#[test]
fn a_bound_predicate_sees_what_its_step_wrote() {
    let project = "predicates: {adult: {binding: is_adult, needs: [age, twice]}}\nbindings: {is_adult: {process: [sh, ./is_adult]}}\n";
    let stage = Stage::new(&[&[("trellis.yaml", project)], &AGE[..]].concat());
    let stage = stage.script("is_adult", "case $TRELLIS_ARGS in *'\"age\":18'*'\"twice\":36'*) echo true;; *) echo false;; esac");
    for (age, said) in [(18, "Welcome."), (17, "Sorry.")] {
        let (_, lines) = stage.json(format!("{{\"input\":{age}}}\n"));
        assert!(lines[1].contains(said), "{lines:?}");
    }
}

#[test]
fn a_bound_predicate_of_the_start_sees_what_the_entry_wrote() {
    let stage = Stage::new(&[
        ("trellis.yaml", "predicates: {vip: {binding: is_vip, needs: [name]}}\nbindings: {is_vip: {process: [sh, ./is_vip]}}\n"),
        ("start.md", "---\ndefault_context: {name: Ann}\nassert: [vip]\n---\nHello.\n"),
    ])
    .script("is_vip", "case $TRELLIS_ARGS in *Ann*) echo true;; *) echo false;; esac");
    let (outcome, lines) = stage.json("");
    assert_eq!(outcome.reason, Reason::Finished, "{lines:?}");
}

#[tokio::test]
async fn who_is_asked_about_a_predicate_sees_what_its_step_wrote() {
    let stage = Stage::new(&[&[("trellis.yaml", "predicates: [adult]\n")], &AGE[..]].concat());
    let sessions = stage.sessions();
    sessions.start(Start { session: Some("one".into()), ..Start::default() }).await.unwrap();
    let turn = sessions.send(&"one".into(), Input::Value(Value::Int(18))).await.unwrap();
    let Stop::Predicate { name, context, .. } = turn.stop else { panic!("{turn:?}") };
    assert_eq!((&*name, context.get("age"), context.get("twice")), ("adult", Some(&Value::Int(18)), Some(&Value::Int(36))));
}

#[test]
fn endless_passing_ends_the_run_with_the_bound() {
    let stage = Stage::new(&[
        ("trellis.yaml", "limits: {pass_through: 50}\n"),
        ("start.md", "---\nset: {n: \"{{ [1] | length }}\"}\nto: b\n---\n"),
        ("b.md", "---\ntransitions: [{condition: n == 2, to: end}]\nto: start\n---\n"),
        ("end.md", "Over.\n"),
    ]);
    let (outcome, lines) = stage.json("");
    assert_eq!(outcome.reason, Reason::Failed);
    assert!(lines[0].contains(r#""code":"pass-through""#) && lines[0].contains("50 steps in a row"), "{lines:?}");
    assert!(outcome.session.unwrap().state().ended.is_none());
}

#[test]
fn what_turns_the_text_around_it_is_escaped_wherever_it_comes_from() {
    let stage = Stage::new(&[
        ("trellis.yaml", "bindings: {noisy: {process: [sh, ./noisy]}}\n"),
        ("start.md", "---\ndo: noisy\nto: end\n---\n"),
        ("end.md", "---\noutput: \"{{ sys.ans }}\"\n---\nGot {{ sys.ans }} \u{2066}here\u{2069}.\n"),
    ])
    .script("noisy", "printf 'at \u{202e}50%%\\n' >&2; printf 'a\u{202e}b\u{85}c'");
    let (outcome, lines) = stage.json("");
    assert_eq!(outcome.output, Some(Value::text("a\u{202e}b\u{85}c")), "the value is as it was");
    let all = lines.concat();
    assert!(all.contains(r#""text":"at \u202e50%""#) && all.contains(r#""result":"a\u202eb\u0085c""#), "{all}");
    assert!(all.contains(r"Got a\u202eb\u0085c \u2066here\u2069.") && !all.contains(trellis_host::controls::is_steering), "{all}");
    let (_, text) = stage.text("");
    assert!(text.contains("Got a\u{fffd}b\u{fffd}c \u{fffd}here\u{fffd}."), "{text}");
}
