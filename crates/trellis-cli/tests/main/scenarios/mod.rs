//! One file of scenarios over every door: the library, JSON Lines, HTTP and MCP must answer alike, code for code (doors 7.2, 10.1).

mod doors;

use std::fs;

use serde_json::{Map, Value};

use self::doors::{Door, Http, Library, Lines, Mcp, Out};
use crate::sandbox::Sandbox;

/// The scenarios, and the graph that they walk.
fn scenarios() -> (String, Vec<Value>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/doors.yaml");
    let file: Value = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    (file["graph"].as_str().unwrap().to_owned(), file["scenarios"].as_array().unwrap().clone())
}

/// A sandbox with the graph.
pub(crate) fn graph() -> Sandbox {
    Sandbox::new(&[("start.yaml", &scenarios().0)])
}

/// Puts the id of what is asked where `ID` stands.
fn filled(send: &Value, id: &Value) -> Value {
    match send {
        Value::String(text) if text == "ID" => id.clone(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), filled(value, id))).collect::<Map<_, _>>().into(),
        other => other.clone(),
    }
}

/// Returns whether the answer has everything that is expected.
fn has(came: &Value, expected: &Value) -> bool {
    match (came, expected) {
        (Value::Object(came), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| came.get(key).is_some_and(|came| has(came, value)))
        }
        _ => came == expected,
    }
}

/// Compares what came out of an act with what the file says.
fn compare(at: &str, out: &Out, expected: &Value) {
    let texts = |said: &[String]| said.iter().map(|text| text.trim_end().to_owned()).collect::<Vec<_>>();
    match expected["code"].as_str() {
        Some(code) => assert_eq!(out.code.as_deref(), Some(code), "{at}: {out:?}"),
        None => {
            let said: Vec<String> =
                expected["said"].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect();
            assert_eq!((out.code.as_deref(), out.stop["type"].as_str()), (None, expected["stop"].as_str()), "{at}: {out:?}");
            assert_eq!(texts(&out.said), said, "{at}");
            let payload = &expected["payload"];
            assert!(payload.is_null() || has(&out.stop["payload"], payload), "{at}: {out:?}\nis not {payload}");
        }
    }
}

/// Walks every scenario that the door has, and says what came of each act, without ids and numbers.
fn walk(name: &str, mut door: impl Door) -> Vec<(String, Out)> {
    let mut all = Vec::new();
    for (number, scenario) in scenarios().1.iter().enumerate().filter(|(_, scenario)| scenario["without"].get(name).is_none()) {
        let title = scenario["name"].as_str().unwrap();
        let context = scenario["context"].as_object().cloned().unwrap_or_default();
        let begun = door.begin(&format!("s{number}"), &context);
        if let Some(choice) = scenario.get("choose") {
            compare(&format!("{name}: {title}: begins"), &begun, &serde_json::json!({ "said": ["What now?"], "stop": "REQUEST_INPUT" }));
            let mut out = door.send(&serde_json::json!({ "input": choice }));
            compare(&format!("{name}: {title}: chooses"), &out, &scenario["asks"]);
            let mut id = out.stop["payload"]["id"].clone();
            for (place, act) in scenario["acts"].as_array().unwrap().iter().enumerate() {
                out = door.send(&filled(&act["send"], &id));
                compare(&format!("{name}: {title}: {}", act["send"]), &out, act);
                if out.code.is_none() {
                    id = out.stop["payload"]["id"].clone();
                }
                all.push((format!("{title}: {place}: {}", act["send"]), out.clone().bare()));
            }
        } else {
            compare(&format!("{name}: {title}"), &begun, scenario);
        }
        door.end();
    }
    all
}

#[test]
fn every_door_answers_alike() {
    let library = walk("library", Library::new(graph()));
    assert!(library.len() > 30, "{} acts", library.len());
    for (name, walked) in
        [("lines", walk("lines", Lines::new(graph()))), ("http", walk("http", Http::new(graph()))), ("mcp", walk("mcp", Mcp::new(graph())))]
    {
        for (act, out) in walked {
            let (_, expected) = library.iter().find(|(known, _)| *known == act).unwrap_or_else(|| panic!("{act}"));
            assert_eq!(&out, expected, "{name}: {act}: not as the library");
        }
    }
}
