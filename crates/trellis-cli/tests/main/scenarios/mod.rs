//! One file of scenarios over every door: the library, JSON Lines, HTTP and MCP must answer alike, code for code.

mod doors;

use std::{collections::BTreeSet, fs};

use serde_json::{Map, Value};

use self::doors::{Door, Http, Library, Lines, Mcp, Out};
use crate::sandbox::Sandbox;

/// The file: a graph, and the scenarios that walk it.
fn file() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/doors.yaml");
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The scenarios, and the graph that they walk.
fn scenarios() -> (String, Vec<Value>) {
    let file = file();
    (file["graph"].as_str().unwrap().to_owned(), file["scenarios"].as_array().unwrap().clone())
}

/// A sandbox with the graph.
pub(crate) fn graph() -> Sandbox {
    Sandbox::new(&[(doors::GRAPH, &scenarios().0)])
}

/// Puts the id of what is asked where `ID` stands, that of the call which it is a part of where `OF` does, and that of the last call where `CALL` does.
fn filled(send: &Value, asked: &Value) -> Value {
    match send {
        Value::String(text) if text == "ID" => asked["id"].clone(),
        Value::String(text) if text == "OF" => asked["of"].clone(),
        Value::String(text) if text == "CALL" => asked["call"].clone(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), filled(value, asked))).collect::<Map<_, _>>().into(),
        other => other.clone(),
    }
}

/// Returns the question, with the id of the last call.
fn asks(out: &Out, before: &Value) -> Value {
    let mut asks = out.stop["payload"].clone();
    let is_call = out.stop["type"] == "CALL_TOOL";
    asks["call"] = if is_call { asks["id"].clone() } else { before["call"].clone() };
    asks
}

/// The graph after an edit.
fn edited(graph: &str, edits: &[Value]) -> String {
    edits.iter().fold(graph.to_owned(), |graph, edit| {
        let (old, new) = (edit["old"].as_str().unwrap(), edit["new"].as_str().unwrap());
        assert!(graph.contains(old), "{old}");
        graph.replacen(old, new, 1)
    })
}

/// Returns whether everything that is expected stands in `came`.
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
    let (mut all, graph) = (Vec::new(), scenarios().0);
    for (number, scenario) in scenarios().1.iter().enumerate().filter(|(_, scenario)| scenario["without"].get(name).is_none()) {
        let title = scenario["name"].as_str().unwrap();
        let context = scenario["context"].as_object().cloned().unwrap_or_default();
        let begun = door.begin(&format!("s{number}"), &context);
        if let Some(choice) = scenario.get("choose") {
            compare(&format!("{name}: {title}: begins"), &begun, &serde_json::json!({ "said": ["What now?"], "stop": "REQUEST_INPUT" }));
            let mut out = door.send(&serde_json::json!({ "input": choice }));
            compare(&format!("{name}: {title}: chooses"), &out, &scenario["asks"]);
            let (mut asked, mut is_edited) = (asks(&out, &Value::Null), false);
            for (place, act) in scenario["acts"].as_array().unwrap().iter().enumerate() {
                if let Some(edits) = act["edit"].as_array() {
                    is_edited = true;
                    // The node may show the text from before the edit again.
                    out = Out { said: Vec::new(), ..door.edit(&edited(&graph, edits)) };
                } else {
                    out = door.send(&filled(&act["send"], &asked));
                }
                compare(&format!("{name}: {title}: {act}"), &out, act);
                if out.code.is_none() {
                    asked = asks(&out, &asked);
                }
                all.push((format!("{title}: {place}: {}", act["send"]), out.clone().bare()));
            }
            if is_edited {
                door.restore(&graph);
            }
        } else {
            compare(&format!("{name}: {title}"), &begun, scenario);
        }
        door.end();
    }
    all
}

/// Every code is met by a scenario, or listed with the reason why the doors do not share it.
#[test]
fn every_code_has_a_scenario_or_a_reason() {
    let file = file();
    let acts = file["scenarios"].as_array().unwrap().iter().flat_map(|scenario| {
        let acts = scenario["acts"].as_array().cloned().unwrap_or_default();
        acts.into_iter().chain([scenario.clone()])
    });
    let met: BTreeSet<String> = acts.filter_map(|act| act["code"].as_str().map(str::to_owned)).collect();
    let listed: Vec<_> = file["elsewhere"].as_object().unwrap().values().flat_map(|codes| codes.as_array().unwrap()).collect();
    let listed: Vec<_> = listed.into_iter().map(|code| code.as_str().unwrap()).collect();
    for code in trellis_server::Code::ALL.iter().map(|code| code.as_str()) {
        let times = listed.iter().filter(|listed| **listed == code).count() + usize::from(met.contains(code));
        assert_eq!(times, 1, "`{code}` has a scenario, or stands once in `elsewhere`");
    }
    assert!(listed.iter().all(|code| trellis_server::Code::named(code).is_some()), "{listed:?}");
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
