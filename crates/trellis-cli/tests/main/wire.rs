//! Every line that `run --json` prints or takes fits the published schema, and nothing in the schema is there for nothing.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};
use trellis_tests::{
    harness::{Mode, run_tree},
    wire::{Way, schema},
};

use crate::sandbox::{Sandbox, THREE_MISTAKES};

/// Runs a graph over JSON Lines; `answer` says what is sent for each line that comes. Every line fits the schema. Gives the types of the lines.
fn converse(sandbox: &Sandbox, args: &[&str], mut answer: impl FnMut(&str, &Value) -> Vec<Value>) -> Vec<String> {
    converse_with(sandbox, args, |kind, message| answer(kind, &message["payload"]))
}

/// As [`converse`], with the whole line.
fn converse_with(sandbox: &Sandbox, args: &[&str], mut answer: impl FnMut(&str, &Value) -> Vec<Value>) -> Vec<String> {
    let mut command = sandbox.command(&[&["run", "--json"], args].concat());
    command.env("TRELLIS_SECRET_TOKEN", "hunter2").env("RULED", "AUTO_RUN").env("BARRED", "BLOCK");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take();
    let mut kinds = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        schema().assert(Way::Out, [&line]);
        let message: Value = serde_json::from_str(&line).unwrap();
        let kind = message["type"].as_str().unwrap().to_owned();
        for reply in answer(&kind, &message) {
            match (&reply, &mut input) {
                // The input is over.
                (Value::Null, input) => *input = None,
                (reply, Some(input)) => {
                    let reply = reply.to_string();
                    schema().assert(Way::In, [&reply]);
                    // A program that is done reads no more.
                    let _ = writeln!(input, "{reply}");
                }
                (_, None) => {}
            }
        }
        kinds.push(kind);
    }
    child.wait().unwrap();
    kinds
}

/// A tool of each kind: one that tells how far it is and succeeds, one that fails, one that needs a person, and what a rollback cannot undo.
const TRIP: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "predicates: [vip]\nbindings:\n  book: {process: [sh, ./book]}\n  fail: {process: [sh, -c, 'echo no >&2; exit 3']}\n  slow: {process: [sleep, '60'], timeout: 10ms, grace: 10ms}\n  mail: {process: [echo, '1'], effect: irreversible}\n",
    ),
    ("book", "echo half >&2; echo 7"),
    ("start.md", "---\ndo: book\nundo: fail\nto: mail\n---\nBooking.\n"),
    (
        "mail.md",
        "---\ndo: { name: mail, approve: { ask: Send?, expires: 10m } }\non_denied: mail\nmax_visits: 2\non_max_visits: fail\nto: slow\n---\n",
    ),
    ("slow.md", "---\ndo: slow\non_error: number\nto: number\n---\n"),
    (
        "number.md",
        "---\ninput_type: int\ninput_schema: {minimum: 1}\ninput_default: 3\ntimeout: 1h\nmetadata: {a: 1}\nto: secret\n---\nHow many?\n",
    ),
    (
        "secret.md",
        "---\ntools: [{name: there}]\ndo: {name: there, args: {key: 'k {{secret:token}}'}, timeout: 5s, approve: {ask: Really?}}\non_denied: vip\non_error: vip\nto: vip\n---\n",
    ),
    ("vip.md", "---\ntransitions: [{condition: vip, to: rollback}]\nto: end\n---\n"),
    ("end.md", "Over.\n"),
];

fn trip(denied: bool) -> Vec<String> {
    converse(&Sandbox::new(TRIP), &[], |kind, payload| {
        let id = &payload["id"];
        match kind {
            "APPROVAL" if payload["name"] == "there" && denied => vec![json!({ "deny": id })],
            "APPROVAL" => vec![json!({ "approve": id })],
            "REQUEST_INPUT" => vec![json!({ "input": 0 }), json!({ "signal": "odd" }), json!({ "input": "7", "seq": payload["seq"] })],
            "CALL_TOOL" if payload["name"] == "there" => vec![json!({ "tool_result": { "id": id, "error": "down" } })],
            "PREDICATE" => vec![json!({ "predicate": { "id": id, "value": true } })],
            _ => Vec::new(),
        }
    })
}

/// Checks what the program alone can show: real tools, the end of input, an interrupt, a graph that is broken.
fn runs() {
    let kinds = trip(true);
    for kind in ["CALL_TOOL", "PROGRESS", "TOOL_RESULT", "APPROVAL", "REQUEST_INPUT", "ERROR", "PREDICATE", "END"] {
        assert!(kinds.iter().any(|shown| shown == kind), "no {kind} among {kinds:?}");
    }
    trip(false);
    converse(&Sandbox::new(TRIP), &[], |kind, _| if kind == "APPROVAL" { vec![Value::Null] } else { Vec::new() });
    let interrupt = |kind: &str, _: &Value| if kind == "APPROVAL" { vec![json!({ "signal": "interrupt" })] } else { Vec::new() };
    converse(&Sandbox::new(TRIP), &[], interrupt);
    converse(&Sandbox::new(&[("start.md", "---\nto: nowhere\n---\n")]), &[], |_, _| Vec::new());
    let nothing = |_: &str, _: &Value| Vec::new();
    let hang_up = |_: &str, _: &Value| vec![Value::Null];
    converse(&Sandbox::new(BRANCHES), &[], hang_up);
    converse(&Sandbox::new(TOO_MANY), &[], nothing);
    let spoken = spoken(&broken_stream());
    let written = converse(&Sandbox::new(&spoken.each_ref().map(|(path, text)| (*path, &**text))), &[], nothing);
    assert!(written.iter().any(|kind| kind == "DELTA"), "{written:?}");
    for policy in POLICIES {
        let kinds = converse(&ruled(policy), &["--yes"], nothing);
        assert!(kinds.iter().any(|kind| kind == "POLICY"), "{policy}: {kinds:?}");
    }
    let recorded = Sandbox::new(TRIP);
    recorded.write("tape", TAPE.as_bytes());
    converse(&recorded, &["--yes", "--replay-tools", "tape"], nothing);
}

/// A graph that is edited while it runs: broken, mended with a key that the session lacks, with another call, with another name.
const EDITED: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: weigh\n---\nWho?\n"),
    ("weigh.md", "---\ntools: [{name: weigh}, {name: measure}]\ndo: {name: weigh, args: {name: \"{{ name }}\"}}\nto: last\n---\n"),
    ("last.md", "---\ninput_type: text\nto: end\n---\nAnything else?\n"),
    ("end.md", "Over.\n"),
];

/// The session of it: one edit for each stop.
fn watched() -> Vec<String> {
    let sandbox = Sandbox::new(EDITED);
    let file = |path: &str| EDITED.iter().find(|(known, _)| *known == path).unwrap().1;
    let (mut edits, mut questions, mut changes) = (0, 0, 0);
    converse(&sandbox, &["--watch"], |kind, payload| {
        let count = |count: &mut usize| {
            *count += 1;
            *count
        };
        match kind {
            "REQUEST_INPUT" => match count(&mut questions) {
                1 => sandbox.write("start.md", file("start.md").replace("to: weigh", "to: wiegh").as_bytes()),
                2 => return vec![json!({ "input": "Ada" })],
                3 => {
                    // Under its new name first, so that a moment in between has two of them, not none.
                    sandbox.write("late.md", file("last.md").replace("to: end", "was: [last]\nto: end").as_bytes());
                    sandbox.write("weigh.md", file("weigh.md").replace("last", "late").as_bytes());
                    std::fs::remove_file(sandbox.path().join("last.md")).unwrap();
                }
                _ => {}
            },
            "RELOAD" => match count(&mut edits) {
                1 => sandbox.write("start.md", file("start.md").replace("input_type", "required_context: [shoe]\ninput_type").as_bytes()),
                _ if payload["moved"].as_str().is_some_and(|moved| moved.contains("late")) => return vec![json!({ "input": "no" })],
                _ => {}
            },
            "NEEDS" => return vec![json!({ "context": { "shoe": 42 }, "seq": payload["seq"] })],
            "CALL_TOOL" if payload["name"] == "weigh" => {
                sandbox.write("weigh.md", file("weigh.md").replace("{name: weigh, args", "{name: measure, args").as_bytes());
            }
            "CHANGED" => return vec![json!({ "keep": count(&mut changes) > 1, "seq": payload["seq"] })],
            "CALL_TOOL" => return vec![json!({ "tool_result": { "id": payload["id"], "result": 1, "meta": { "m": 1 } } })],
            "END" => return vec![Value::Null],
            _ => {}
        }
        Vec::new()
    })
}

/// Branches with everything that a call can have.
const BRANCHES: &[(&str, &str)] = &[(
    "start.md",
    "---\ntools: [{name: t}]\ndo: {parallel: {a: {name: t, args: {key: '{{secret:token}}'}, timeout: 1s, approve: {ask: Go?, expires: 1h}, metadata: {m: 1}}}}\n---\n",
)];

/// A child that asks, calls and needs a person.
const FAMILY: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {book: {process: [sh, -c, 'echo half >&2; echo 7']}}\n"),
    ("start.md", "---\ndo: {graph: ask}\non_error: end\nto: end\n---\nOne moment.\n"),
    ("ask.md", "---\ninput_type: text\nsave_to: name\nto: book\n---\nWho?\n"),
    ("book.md", "---\ntools: [{name: book}]\ndo: {name: book, approve: {ask: Go?}}\non_denied: fail\nto: sure\n---\n"),
    ("sure.md", "---\ninput_type: text\non_interrupt: fail\nto: end\n---\nSure?\n"),
    ("end.md", "Over.\n"),
];

/// The kinds of lines that are about the child.
fn family() -> Vec<String> {
    let mut kinds = Vec::new();
    let mut questions = 0;
    converse_with(&Sandbox::new(FAMILY), &[], |kind, message| {
        let Some(child) = message.get("child") else { return Vec::new() };
        kinds.push(kind.to_owned());
        match kind {
            "REQUEST_INPUT" => {
                questions += 1;
                let other =
                    if questions == 1 { json!({ "input": "Ana", "to": child }) } else { json!({ "signal": "interrupt", "to": child }) };
                vec![other]
            }
            "APPROVAL" => vec![json!({ "approve": message["payload"]["id"] })],
            _ => Vec::new(),
        }
    });
    kinds
}

/// A call that a policy decides about: each provider that reads the world or holds the call.
const POLICIES: [&str; 5] = [
    "{ask: [mail]}",
    "{forced: {env: RULED}}",
    "{forced: {env: BARRED}}",
    "{tool: judge}",
    "{score: {files: none.json, field: score, at: at, risk: risk}}",
];

fn ruled(policy: &str) -> Sandbox {
    let judge = r#"judge: {process: [echo, '{"decision":"AUTO_RUN"}'], effect: none}"#;
    let project = format!("policy: [{policy}]\nbindings: {{mail: {{process: [echo, '1']}}, {judge}}}\n");
    Sandbox::new(&[("trellis.yaml", &project), ("start.md", "---\ndo: mail\n---\n")])
}

/// A model whose first provider breaks off, so that the second one begins anew.
fn spoken(url: &str) -> [(&'static str, String); 2] {
    let providers = format!("first: {{openai: '{url}'}}, second: {{openai: '{url}'}}");
    let roles = "helper: [{provider: first, model: m}, {provider: second, model: m}]";
    let binding = "ask: {model: {role: helper, stream: always}, effect: none}";
    let project = format!("models:\n  providers: {{{providers}}}\n  roles: {{{roles}}}\nbindings: {{{binding}}}\n");
    [("trellis.yaml", project), ("start.md", "---\ndo: {name: ask, args: {prompt: Hello}}\n---\n".to_owned())]
}

/// An endpoint that breaks its first answer off, and gives the next ones whole.
fn broken_stream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while head.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let said = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
            let rest = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let body = if number == 0 { said.to_owned() } else { format!("{said}{rest}") };
            let length = if number == 0 { body.len() + 10 } else { body.len() };
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    url
}

/// More effects than may be remembered.
const TOO_MANY: &[(&str, &str)] = &[
    ("trellis.yaml", "limits: {effects: 1}\nbindings: {book: {process: [echo, '1']}, free: {process: [echo], effect: none}}\n"),
    ("start.md", "---\ndo: book\nundo: free\nto: again\n---\n"),
    ("again.md", "---\ndo: book\nundo: free\n---\n"),
];

/// Findings that warn, inform, or are about the whole graph.
const ODD: &[(&str, &str)] =
    &[("trellis.yaml", "severity: {broken-link: info}\n"), ("start.md", "---\nto: b\n---\n[x](y.md)\n"), ("b.md", "---\nto: start\n---\n")];
const WARNED: &[(&str, &str)] = &[("start.md", "[x](y.md)\n")];
const HEADLESS: &[(&str, &str)] = &[("trellis.yaml", "name: x\n"), ("b.md", "---\nto: end\n---\n"), ("end.md", "Over.\n")];

/// Outcomes that no process can have: a denial with a reason, a failure with data.
const TAPE: &str = r#"{"tool":"book","args":{},"outcome":{"success":7}}
{"tool":"mail","args":{},"outcome":{"denied":"not today"}}
{"tool":"mail","args":{},"outcome":{"error":{"kind":"schema","code":3,"message":"no","data":{"a":1},"final":true,"after":5}},"meta":{"m":1}}
"#;

#[test]
fn every_part_of_the_schema_is_shown_by_some_line() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite");
    run_tree(&suite, |_| Mode::Suite).assert_none();
    runs();
    let kinds = watched();
    assert_eq!(kinds.last().map(String::as_str), Some("END"), "{kinds:?}");
    let of_child = family();
    for kind in ["RENDER_CONTENT", "REQUEST_INPUT", "APPROVAL", "CALL_TOOL", "PROGRESS", "TOOL_RESULT"] {
        assert!(of_child.iter().any(|shown| shown == kind), "no {kind} of a child among {of_child:?}");
    }
    for files in [THREE_MISTAKES, TOO_MANY, ODD, WARNED, HEADLESS] {
        let ran = Sandbox::new(files).trellis(&["check", "--format", "json"]);
        let checked: Value = serde_json::from_str(&ran.out).unwrap();
        for finding in checked["diagnostics"].as_array().unwrap() {
            schema().check_at("/$defs/diagnostic", finding).unwrap_or_else(|why| panic!("{finding}\n{why}"));
        }
    }
    let mut unseen = schema().unseen();
    // A child stands beside every line in the same way.
    unseen.retain(|part| !part.ends_with("/properties/child"));
    // `block` and `allow` read nothing of the world, and hold nothing: they write no line. The program has no interceptor.
    unseen.retain(|part| !["1", "3", "6"].iter().any(|of| part.strip_prefix("/$defs/decision_source/oneOf/") == Some(of)));
    assert!(unseen.is_empty(), "no line shows\n  {}", unseen.join("\n  "));
}
