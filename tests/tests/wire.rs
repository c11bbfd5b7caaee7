//! The schema of JSON Lines: what it refuses, and that the program takes what it accepts. That every line which is really printed or sent fits is
//! checked where lines are: in the suite, in the tests of the host and of the program.

use serde_json::{Value, json};
use trellis_core::state::CallKind;
use trellis_host::{
    Console, JsonLines, Sent,
    runner::{Awaited, Command},
    wire::{Reply, SessionEvent, Stop},
};
use trellis_tests::wire::{Way, schema};

use crate::repository;

/// Lines that the program takes, of each form.
const TAKEN: [&str; 18] = [
    r#"{"input":"x"}"#,
    r#"{"input":null}"#,
    r#"{"input":{"a":[1,2.5,true]}}"#,
    r#"{"tool_result":{"id":"c","result":null}}"#,
    r#"{"tool_result":{"id":"c","error":"down"}}"#,
    r#"{"tool_result":{"id":"c","error":{"message":"down"}}}"#,
    r#"{"tool_result":{"id":"c","error":{"message":"down","kind":"timeout","code":503,"data":{"a":1}}}}"#,
    r#"{"tool_result":{"id":"c","error":{"message":"down","kind":"schema"}}}"#,
    r#"{"tool_result":{"id":"c","denied":true}}"#,
    r#"{"tool_result":{"id":"c","denied":true,"reason":"no"}}"#,
    r#"{"signal":"interrupt"}"#,
    r#"{"approve":"c"}"#,
    r#"{"deny":"c"}"#,
    r#"{"predicate":{"id":"p","value":true}}"#,
    r#"{"predicate":{"id":"p","value":false}}"#,
    r#"{"context":{"a":1,"b":{"c":[]}}}"#,
    r#"{"keep":true}"#,
    r#"{"keep":false}"#,
];

/// Lines that neither the schema nor the program takes.
const REFUSED: [&str; 19] = [
    "1",
    "[]",
    "{}",
    r#"{"imput":1}"#,
    r#"{"input":1,"signal":"x"}"#,
    r#"{"signal":1}"#,
    r#"{"approve":true}"#,
    r#"{"context":["a"]}"#,
    r#"{"keep":"no"}"#,
    r#"{"deny":null}"#,
    r#"{"predicate":{"id":"p","value":"yes"}}"#,
    r#"{"predicate":{"value":true}}"#,
    r#"{"predicate":{"id":"p","value":true,"why":1}}"#,
    r#"{"tool_result":{"result":1}}"#,
    r#"{"tool_result":{"id":"c"}}"#,
    r#"{"tool_result":{"id":"c","result":1,"error":"x"}}"#,
    r#"{"tool_result":{"id":"c","denied":false}}"#,
    r#"{"tool_result":{"id":"c","error":{"kind":"error"}}}"#,
    r#"{"tool_result":{"id":"c","error":{"message":"x","kind":"odd"}}}"#,
];

/// Returns the program's reading of a line.
fn taken(line: &str) -> Command {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut console = JsonLines::new(line.as_bytes(), tokio::io::sink(), 1 << 20);
    runtime.block_on(console.read(Awaited::Predicate { id: "p", name: "p" })).expect("a line is read")
}

fn is_taken(line: &str) -> bool {
    !matches!(taken(line), Command::Bad { .. } | Command::End)
}

#[test]
fn schema_and_program_take_and_refuse_the_same_lines() {
    for line in TAKEN {
        schema().check(Way::In, line).unwrap_or_else(|why| panic!("{why}"));
        assert!(is_taken(line), "{line}: {:?}", taken(line));
    }
    for line in REFUSED {
        assert!(schema().check(Way::In, line).is_err(), "the schema takes {line}");
        assert!(!is_taken(line), "the program takes {line}");
    }
}

/// Values with one thing changed: a key left out, a key too many, a value of another kind.
fn changed(value: &Value) -> Vec<Value> {
    let mut all = [json!(null), json!(true), json!(-1), json!(1.5), json!("odd"), json!([]), json!({})].to_vec();
    match value {
        Value::Object(map) => {
            for key in map.keys() {
                let mut less = map.clone();
                less.remove(key);
                all.push(less.into());
                for inner in changed(&map[key]) {
                    let mut other = map.clone();
                    other.insert(key.clone(), inner);
                    all.push(other.into());
                }
            }
            let mut more = map.clone();
            more.insert("surplus".into(), json!(1));
            all.push(more.into());
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                for inner in changed(item) {
                    let mut other = items.clone();
                    other[at] = inner;
                    all.push(other.into());
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn what_the_schema_takes_the_program_takes() {
    let mut accepted = 0;
    for line in TAKEN {
        for other in changed(&serde_json::from_str(line).expect("JSON")) {
            let other = other.to_string();
            if schema().check(Way::In, &other).is_ok() {
                accepted += 1;
                assert!(is_taken(&other), "{other}: {:?}", taken(&other));
            }
        }
    }
    assert!(accepted > 50, "{accepted}");
}

/// A line of each type, with every key it may have.
fn printed() -> Vec<Value> {
    let call = json!({
        "id": "c", "name": "pay", "args": {"a": 1}, "secrets": [{"pointer": "/key", "offset": 0, "name": "token"}], "idempotency_key": "k",
        "attempt": 2, "node": "start", "role": {"undo": 1}, "timeout": 5000, "approve": {"ask": "Pay?", "expires": 9}, "metadata": {"m": 1},
        "kind": {"parallel": {"branches": {}, "any": false, "collect": true, "limit": null}},
    });
    let finding = json!({
        "code": "unknown-target", "severity": "error", "message": "m", "path": "a.md", "span": {"start": 1, "end": 2}, "line": 1, "column": 2,
        "end_line": 1, "end_column": 3, "labels": [{"message": "m", "path": "b.md", "span": {"start": 1, "end": 2}, "line": 1, "column": 2}],
        "help": "h", "fix": {"title": "t", "edits": [{"path": "a.md", "span": {"start": 1, "end": 2}, "text": "x"}]},
    });
    let payloads = json!({
        "RENDER_CONTENT": "# Hi",
        "REQUEST_INPUT": {
            "seq": 1, "input_type": "choice", "options": [{"value": 1, "text": "One"}], "default": 1, "schema": {"minimum": 0}, "timeout": 100, "metadata": 1,
            "open": true,
        },
        "APPROVAL": {"id": "c", "name": "pay", "args": {"a": 1}, "ask": "Pay?", "expires": 100},
        "CALL_TOOL": call,
        "PROGRESS": {"id": "c", "text": "half"},
        "TOOL_RESULT": {"id": "c", "error": {"kind": "error", "code": 7, "message": "m", "data": {"a": 1}}},
        "PREDICATE": {"id": "p@1", "name": "p"},
        "RELOAD": {"status": "broken", "since": 1, "moved": "m", "diagnostics": [finding]},
        "NEEDS": {"seq": 1, "node": "start", "keys": ["a"]},
        "CHANGED": {"seq": 1, "id": "c", "pending": "pay", "now": "refund"},
        "ERROR": {"code": "bad-line", "message": "m"},
        "END": {
            "reason": "rolled_back", "output": 1, "code": "fail", "node": "start", "message": "m",
            "rollback": {"failed": [{"tool": "t", "node": "n", "message": "m"}], "irreversible": [{"tool": "t", "node": "n"}]},
        },
    });
    let payloads = payloads.as_object().expect("a mapping").clone();
    payloads.into_iter().map(|(kind, payload)| json!({ "type": kind, "payload": payload })).collect()
}

/// The mappings of a value that are closed, by pointer: whatever else is free for tools and authors.
fn closed(value: &Value, at: &str, found: &mut Vec<String>) {
    let free = ["/args", "/metadata", "/schema", "/data", "/branches"].iter().any(|free| at.ends_with(free));
    match value {
        Value::Object(map) if !free => {
            found.push(at.to_owned());
            map.iter().for_each(|(key, inner)| closed(inner, &format!("{at}/{key}"), found));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| closed(inner, &format!("{at}/{index}"), found)),
        _ => {}
    }
}

#[test]
fn a_key_that_nobody_knows_is_refused_wherever_it_stands() {
    for line in printed() {
        schema().check(Way::Out, &line.to_string()).unwrap_or_else(|why| panic!("{why}"));
        assert!(schema().check(Way::In, &line.to_string()).is_err(), "{line} goes out, not in");
        let mut places = Vec::new();
        closed(&line, "", &mut places);
        for place in places {
            let mut other = line.clone();
            other.pointer_mut(&place).and_then(Value::as_object_mut).expect("a mapping").insert("surplus".into(), json!(1));
            assert!(schema().check(Way::Out, &other.to_string()).is_err(), "the schema takes {other}");
        }
    }
    for (kind, payload) in [
        ("END", json!({"reason": "finished"})),
        ("END", json!({"reason": "over", "output": null})),
        ("RENDER_CONTENT", json!({"text": "x"})),
        ("REQUEST_INPUT", json!({"seq": 1, "input_type": "none"})),
        ("REQUEST_INPUT", json!({"seq": 1, "input_type": "choice", "options": []})),
        ("REQUEST_INPUT", json!({"seq": 1, "input_type": "text", "open": false})),
        ("TOOL_RESULT", json!({"id": "c"})),
        ("TOOL_RESULT", json!({"id": "c", "result": 1, "reason": "r"})),
        ("TOOL_RESULT", json!({"id": "c", "error": "text"})),
        ("CALL_TOOL", json!({"id": "c", "name": "t", "args": {}, "idempotency_key": "k", "attempt": 0, "node": "n", "role": "do"})),
        ("NEEDS", json!({"seq": 1, "node": "n", "keys": []})),
        ("REQUEST_INPUT", json!({"input_type": "text"})),
        ("TICK", json!({})),
    ] {
        let line = json!({ "type": kind, "payload": payload }).to_string();
        assert!(schema().check(Way::Out, &line).is_err(), "the schema takes {line}");
    }
}

#[test]
fn each_wire_type_reads_what_it_writes() {
    for line in printed() {
        let text = line.to_string();
        let (event, stop) = (serde_json::from_str::<SessionEvent>(&text), serde_json::from_str::<Stop>(&text));
        assert!(event.is_ok() || stop.is_ok(), "{line}: {event:?} {stop:?}");
        let written = [event.map(serde_json::to_value).ok(), stop.map(serde_json::to_value).ok()];
        for written in written.into_iter().flatten() {
            assert_eq!(written.expect("JSON"), line);
        }
    }
    for line in TAKEN {
        let reply = Reply::parse(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        let written = serde_json::to_string(&reply).expect("JSON");
        schema().check(Way::In, &written).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(serde_json::from_str::<Reply>(&written).expect("a reply"), reply);
        assert_eq!(
            reply.clone().numbered(7),
            Reply::parse(&serde_json::to_string(&reply.clone().numbered(7)).expect("JSON")).expect("a reply")
        );
        assert_eq!(Sent::from(reply.clone()).expected, None);
    }
    let numbered = Sent::from(Reply::parse(r#"{"input":"x","seq":3}"#).expect("a reply"));
    assert_eq!(numbered.expected, Some(3));
    for line in REFUSED {
        assert!(serde_json::from_str::<Reply>(line).is_err(), "{line}");
    }
}

#[test]
fn a_client_ignores_keys_that_it_does_not_know() {
    let stop: Stop = serde_json::from_str(r#"{"type":"PREDICATE","payload":{"id":"p@1","name":"p","later":1}}"#).expect("a stop");
    assert_eq!(serde_json::to_string(&stop).expect("JSON"), r#"{"type":"PREDICATE","payload":{"id":"p@1","name":"p"}}"#);
}

#[test]
fn every_part_of_the_schema_is_described_and_used() {
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(repository().join("docs/reference/json-lines.schema.json")).expect("the schema"))
            .expect("JSON");
    let text = schema.to_string();
    for (name, part) in schema["$defs"].as_object().expect("definitions") {
        let described = part["description"].is_string() || part["properties"].is_object();
        assert!(described, "`{name}` has no description");
        assert!(
            ["in", "out", "turn", "waiting", "dead_letter"].contains(&&**name) || text.contains(&format!("\"#/$defs/{name}\"")),
            "nothing refers to `{name}`"
        );
    }
}

#[test]
fn the_page_and_the_schema_name_the_same_lines() {
    let page = std::fs::read_to_string(repository().join("docs/reference/json-lines.md")).expect("the page");
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(repository().join("docs/reference/json-lines.schema.json")).expect("the schema"))
            .expect("JSON");
    let kinds = |way: &str| {
        let of = schema["$defs"][way]["oneOf"].as_array().expect("branches").iter();
        of.map(|branch| branch["$ref"].as_str().expect("a name").trim_start_matches("#/$defs/").to_owned()).collect::<Vec<_>>()
    };
    for kind in kinds("out") {
        assert!(page.contains(&format!("| `{kind}` |")), "the page has no `{kind}`");
    }
    for kind in kinds("in") {
        assert!(page.contains(&format!("`{{\"{kind}\": ")), "the page has no `{kind}`");
    }
    // Blocks of the page that are lines fit the schema.
    let blocks: Vec<&str> = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 3);
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let way = if line.starts_with("{\"type\"") { Way::Out } else { Way::In };
        schema_fits(way, line);
    }
    assert_eq!(serde_json::to_value(CallKind::Tool).expect("JSON"), "tool", "plain calls have no `kind`, which the schema relies on");
}

fn schema_fits(way: Way, line: &str) {
    schema().check(way, line).unwrap_or_else(|why| panic!("{why}"));
}
