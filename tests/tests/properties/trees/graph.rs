//! Random graphs of callers and children: calls of graphs side by side with tools, in loops over items, and in each other.

use serde_json::{Value as Json, json};

use super::super::rng::Rng;

/// A graph as its two files, the project's and the nodes'.
pub(super) fn graph(rng: &mut Rng) -> [(String, String); 2] {
    let project = json!({
        "bindings": {
            "t": { "effect": "undoable", "returns": schema(rng) },
            "u": { "effect": "none" },
            "w": { "effect": "irreversible", "returns": { "type": "integer" } },
        },
        "limits": { "pass_through": 40, "nested_children": 4 },
        "on_rolled_back": "undone",
    });
    let mut start = call(rng, &["kid", "deep"]);
    start["default_context"] = json!({ "k": 1, "calls": items(rng) });
    start["to"] = json!("read");
    let mut second = call(rng, &["deep", "kid"]);
    second["to"] = json!("done");
    let nodes = json!({
        "start": start,
        "read": { "content": format!("{} {}", read(rng), read(rng)), "to": "second" },
        "second": second,
        "done": { "content": read(rng), "output": "{{ r | default(0) }}" },
        "lost": { "content": lost(rng), "end": rng.pick(&["failed", "finished"]) },
        "undone": { "content": "Undone: {{ sys.rollback | default('nothing') }}" },
        "kid": kid(rng),
        "kid_asks": asks(rng),
        "kid_chooses": chooses(rng),
        "kid_end": { "output": rng.pick(&[json!("{{ n }}"), json!({ "v": "{{ n }}" }), json!("{{ x }}"), json!(7)]) },
        "deep": deep(rng),
        "deep_end": { "output": rng.pick(&[json!("{{ d }}"), json!({ "v": "{{ x }}" }), json!("deep")]) },
    });
    [("trellis.yaml".into(), project.to_string()), ("graph.yaml".into(), json!({ "nodes": nodes }).to_string())]
}

fn schema(rng: &mut Rng) -> Json {
    rng.pick(&[
        json!({ "type": "integer" }),
        json!({ "enum": ["A", "B"] }),
        json!({ "type": "object", "required": ["v"], "properties": { "v": { "type": "integer" } } }),
    ])
    .clone()
}

/// A call of a graph with its argument, or of a tool.
fn callee(rng: &mut Rng, graphs: &[&str]) -> Json {
    match rng.below(6) {
        0 => json!({ "name": "t" }),
        1 => json!({ "name": "w" }),
        _ => json!({ "graph": rng.pick(graphs), "args": { "x": rng.pick(&[json!("{{ k }}"), json!(1), json!("A")]) } }),
    }
}

/// A node that calls one graph, several, or tools by a list.
fn call(rng: &mut Rng, graphs: &[&str]) -> Json {
    let mut node = json!({});
    let mut call = match rng.below(10) {
        0..=2 => callee(rng, graphs),
        3 => {
            node["tools"] = json!([{ "name": "u" }, { "name": "w" }]);
            json!({ "each": "calls" })
        }
        _ => {
            let mut branches = serde_json::Map::new();
            for name in ["a", "b", "c"].iter().take(1 + rng.below(3)) {
                let mut branch = callee(rng, graphs);
                if rng.chance(50) {
                    branch["save_to"] = json!(format!("at.{name}"));
                }
                if branch.get("name").is_some_and(|tool| tool == "t") && rng.chance(60) {
                    branch["undo"] = json!({ "name": "u", "args": { "of": "{{ input }}" } });
                }
                branches.insert((*name).to_owned(), branch);
            }
            json!({ "parallel": branches })
        }
    };
    let is_composite = call.get("parallel").is_some() || call.get("each").is_some();
    if is_composite && rng.chance(50) {
        call["on_error"] = json!(rng.pick(&["fail", "collect"]));
    }
    if call.get("parallel").is_some() && rng.chance(30) {
        call["join"] = json!("any");
    }
    if is_composite && rng.chance(30) {
        call["limit"] = json!(1 + rng.below(2));
    }
    if rng.chance(20) {
        call["retry"] = json!({ "max": 2, "base": "1ms" });
    }
    if rng.chance(20) {
        call["timeout"] = json!("5s");
    }
    if call.get("name").is_some_and(|tool| tool == "t") && rng.chance(60) {
        node["undo"] = json!({ "name": "u", "args": { "of": "{{ input }}" } });
    }
    node["do"] = call;
    node["save_to"] = json!("r");
    if rng.chance(70) {
        node["on_error"] = json!(rng.pick(&["lost", "rollback", "done"]));
    }
    if rng.chance(50) {
        node["on_signal"] = json!({ "stop": rng.pick(&["lost", "rollback"]) });
    }
    node
}

/// The first node of a child: it does something that can be undone.
fn kid(rng: &mut Rng) -> Json {
    let mut node =
        json!({ "required_context": ["x"], "do": { "name": "t", "args": { "x": "{{ x }}" } }, "save_to": "t", "to": "kid_asks" });
    if rng.chance(80) {
        node["undo"] = json!({ "name": "u", "args": { "of": rng.pick(&["{{ input }}", "{{ x }}"]) } });
    }
    if rng.chance(40) {
        node["on_error"] = json!(rng.pick(&["kid_asks", "rollback", "fail"]));
    }
    node
}

fn asks(rng: &mut Rng) -> Json {
    let mut node = json!({ "content": "For {{ x }}?", "input_type": "int", "save_to": "n", "to": "kid_chooses" });
    if rng.chance(50) {
        node["on_signal"] = json!({ "skip": rng.pick(&["fail", "rollback"]) });
    }
    node
}

fn chooses(rng: &mut Rng) -> Json {
    let mut transitions = Vec::new();
    for condition in ["n == 3", "n < 0"] {
        if rng.chance(60) {
            transitions.push(json!({ "condition": condition, "to": rng.pick(&["fail", "rollback", "kid_end"]) }));
        }
    }
    transitions.push(json!({ "to": "kid_end" }));
    json!({ "transitions": transitions })
}

/// A child with children of its own.
fn deep(rng: &mut Rng) -> Json {
    let branch = || json!({ "graph": "kid", "args": { "x": "{{ x }}" } });
    let call = if rng.chance(50) { branch() } else { json!({ "parallel": { "one": branch(), "other": branch() } }) };
    let mut node = json!({ "required_context": ["x"], "do": call, "save_to": "d", "to": "deep_end" });
    if rng.chance(40) {
        node["on_error"] = json!(rng.pick(&["rollback", "fail"]));
    }
    node
}

fn items(rng: &mut Rng) -> Json {
    let item =
        |rng: &mut Rng| rng.pick(&[json!({ "name": "u" }), json!({ "id": 1, "name": "w" }), json!({ "name": "x" }), json!(7)]).clone();
    (0..rng.below(4)).map(|_| item(rng)).collect()
}

fn read(rng: &mut Rng) -> &'static str {
    rng.pick::<&'static str>(&[
        "{{ k }}",
        "{{ r }}",
        "{{ r.a }}",
        "{{ r.a.v }}",
        "{{ r.b | default('none') }}",
        "{{ at.a }}",
        "{% if at is defined and at.b is defined %}{{ at.b }}{% endif %}",
        "{% for e in r %}{{ e.name }}{% endfor %}",
        "{{ r | length }}",
    ])
}

fn lost(rng: &mut Rng) -> &'static str {
    rng.pick::<&'static str>(&["{{ sys.error.kind }}", "{{ sys.error.part | default('whole') }}", "Lost."])
}
