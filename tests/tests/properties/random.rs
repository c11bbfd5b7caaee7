//! Random graphs that mostly compile: a chain of nodes of every kind, with random ways back and forth.

use serde_json::{Map, Value as Json, json};
use trellis_core::Source;

use super::{phrases, rng::Rng};

/// Keys that nodes write with anything; conditions only ask whether they are there.
const KEYS: [&str; 3] = ["k1", "k2", "k3"];

/// A random graph.
pub(super) fn graph(rng: &mut Rng) -> Vec<Source> {
    let count = 3 + rng.below(7);
    let mut graph = Graph { ids: Vec::new(), rng };
    graph.ids = (0..count)
        .map(|at| {
            if at == 0 {
                "start".into()
            } else if at % 4 == 3 {
                format!("m{at}/start")
            } else {
                format!("n{at}")
            }
        })
        .collect();
    let mut files = vec![Source::text("trellis.yaml", &graph.project().to_string())];
    let mut spent = false;
    for at in 0..count {
        let node = graph.node(at);
        spent |= node.get("on_max_visits").is_some();
        let id = &graph.ids[at];
        files.push(if graph.rng.chance(50) {
            Source::text(format!("{id}.yaml"), &with_content(node, graph.words()).to_string())
        } else {
            Source::text(format!("{id}.md"), &format!("---\n{node}\n---\n{}\n", graph.words()))
        });
    }
    files.push(Source::text("stop.md", "---\n{\"output\": {\"stopped\": true}}\n---\nStopped.\n"));
    if spent {
        files.push(Source::text("spent.md", "---\nend: failed\n---\nSpent.\n"));
    }
    files.push(Source::text("unwound.md", "Unwound: {{ sys.rollback | default('nothing') }}\n"));
    files
}

fn value(text: &str) -> Json {
    serde_json::from_str(text).expect("it is JSON")
}

fn with_content(node: Json, words: String) -> Json {
    let Json::Object(mut node) = node else { return node };
    node.insert("content".into(), words.into());
    Json::Object(node)
}

struct Graph<'r> {
    ids: Vec<String>,
    rng: &'r mut Rng,
}

impl Graph<'_> {
    fn project(&mut self) -> Json {
        let mut project = json!({
            "context": { "flag": "bool", "k0": "any", "k1": "any", "k2": "any", "k3": "any" },
            "predicates": { "p0": {}, "p1": { "schema": { "properties": { "k1": { "type": "integer" } } } } },
            "bindings": { "t0": { "effect": "none" }, "t1": { "effect": "undoable" }, "t2": { "effect": "irreversible" }, "t3": {
                "effect": "none", "returns": { "type": "object" }, "retry": { "max": 2, "base": "1ms" } },
                "find": { "effect": "none", "returns": value(phrases::FOUND) } },
            "limits": { "pass_through": 12 },
            "on_rolled_back": "unwound",
        });
        let project_keys = project.as_object_mut().expect("an object");
        if !self.rng.chance(60) {
            project_keys.remove("on_rolled_back");
        }
        if self.rng.chance(25) {
            project_keys.insert("on_error".into(), self.target().into());
        }
        if self.rng.chance(25) {
            project_keys.insert("retry".into(), json!({ "max": 2, "base": "1s" }));
        }
        match self.rng.below(3) {
            0 => drop(project_keys.insert("on_signal_default".into(), self.target().into())),
            1 => drop(project_keys.insert("on_signal_default".into(), json!({ "interrupt": self.target(), "timeout": self.target() }))),
            _ => {}
        }
        if self.rng.chance(20) {
            project_keys.insert("before_each".into(), json!({ "name": "t0", "args": { "at": "{{ sys.node }}" }, "save_to": "k3" }));
        }
        project
    }

    fn node(&mut self, at: usize) -> Json {
        let mut node = Map::new();
        let next = self.ids.get(at + 1).map_or_else(|| "stop".to_owned(), |id| format!("/{id}"));
        match self.rng.below(10) {
            0 | 1 => {}
            2 | 3 => self.options(&mut node),
            4 | 5 => self.listen(&mut node),
            6 => drop(node.insert("wait".into(), if self.rng.chance(50) { json!(true) } else { json!("10s") })),
            _ => self.act(&mut node),
        }
        let listens = ["options", "input_type", "wait"].iter().any(|key| node.contains_key(*key));
        let acts = node.contains_key("do");
        self.memory(&mut node, listens || acts, at);
        self.ways(&mut node, acts, listens);
        if listens || acts {
            self.signals(&mut node, listens);
        }
        if self.rng.chance(25) {
            node.insert("max_visits".into(), json!(1 + self.rng.below(2)));
            if self.rng.chance(70) {
                node.insert("on_max_visits".into(), "/spent".into());
            }
        }
        node.insert("to".into(), next.into());
        Json::Object(node)
    }

    fn options(&mut self, node: &mut Map<String, Json>) {
        let mut options = Vec::new();
        for at in 0..1 + self.rng.below(4) {
            let mut option = json!({ "text": format!("Option {at}") });
            let keys = option.as_object_mut().expect("an object");
            if self.rng.chance(60) {
                keys.insert("value".into(), if self.rng.chance(50) { json!(format!("o{at}")) } else { json!(at) });
            }
            if self.rng.chance(50) {
                keys.insert(self.to().into(), self.target().into());
            }
            options.push(option);
        }
        node.insert("options".into(), options.into());
    }

    fn listen(&mut self, node: &mut Map<String, Json>) {
        let kind = *self.rng.pick(&["text", "confirm", "int", "float", "json", "secret"]);
        node.insert("input_type".into(), kind.into());
        if kind == "int" && self.rng.chance(50) {
            node.insert("input_schema".into(), json!({ "minimum": 0, "maximum": 9 }));
        }
        if self.rng.chance(25) && matches!(kind, "int" | "text" | "confirm") {
            node.insert("input_default".into(), if kind == "int" { json!("7") } else { json!("yes") });
        }
        if self.rng.chance(50) && kind != "text" && kind != "secret" {
            let mut invalid = json!({ "text": "No: {{ k0 | default('x') }}", "max": 1 + self.rng.below(3) });
            if self.rng.chance(97) {
                invalid.as_object_mut().expect("an object").insert("to".into(), self.target().into());
            }
            node.insert("on_invalid".into(), invalid);
        }
        if kind == "confirm" && self.rng.chance(50) {
            node.insert("on_denied".into(), self.target().into());
        }
    }

    fn act(&mut self, node: &mut Map<String, Json>) {
        if self.rng.chance(30) {
            node.insert("do".into(), "find".into());
            node.insert("save_to".into(), "found".into());
            node.insert("on_error".into(), self.target().into());
            return;
        }
        let tool = *self.rng.pick(&["t0", "t1", "t1", "t2", "t3"]);
        let mut call = match self.rng.below(8) {
            0 => json!({ "parallel": { "a": "t0", "b": { "name": tool, "args": { "n": 1 } } } }),
            1 => json!({ "each": "k2" }),
            _ => json!({ "name": tool, "args": { "n": "{{ k0 | optional }}", "t": "step {{ sys.step }}" } }),
        };
        let keys = call.as_object_mut().expect("an object");
        if self.rng.chance(25) {
            keys.insert("retry".into(), json!({ "max": 1 + self.rng.below(3), "base": "1ms" }));
        }
        if self.rng.chance(25) {
            keys.insert("timeout".into(), "3s".into());
        }
        if self.rng.chance(25) {
            keys.insert("approve".into(), json!({ "ask": "Sure about {{ k0 | default('it') }}?", "expires": "1m" }));
        }
        if self.rng.chance(25) {
            keys.insert("returns".into(), json!({ "type": ["object", "integer", "null"] }));
        }
        node.insert("do".into(), call);
        if self.rng.chance(60) {
            node.insert("undo".into(), json!({ "name": "t0", "args": { "of": "{{ tool_result | tojson }}" } }));
        }
        for key in ["on_error", "on_denied", "on_timeout"] {
            if self.rng.chance(50) {
                node.insert(key.into(), self.target().into());
            }
        }
    }

    fn memory(&mut self, node: &mut Map<String, Json>, replies: bool, at: usize) {
        if node.get("input_type").is_some_and(|kind| kind == "int") && self.rng.chance(60) {
            node.insert("save_to".into(), "number".into());
        } else if replies && !node.contains_key("save_to") && self.rng.chance(60) {
            node.insert("save_to".into(), (*self.rng.pick(&["k0", "k1", "k2", "deep.er"])).into());
        }
        if self.rng.chance(30) {
            node.insert("set".into(), json!({ *self.rng.pick(&KEYS): self.literal(), "flag": self.rng.chance(50) }));
        }
        if !node.contains_key("set") && self.rng.chance(20) {
            node.insert("set".into(), json!({ "list": value(phrases::LIST), "pairs": value(phrases::PAIRS) }));
        }
        if self.rng.chance(20) {
            node.insert("append".into(), json!({ "log": "{{ sys.node }}" }));
        }
        if at == 0 || self.rng.chance(15) {
            node.insert("default_context".into(), json!({ "flag": true, "k0": 1 }));
        }
        if self.rng.chance(4) {
            node.insert("required_context".into(), json!([self.rng.pick(&KEYS)]));
        }
        if self.rng.chance(4) {
            node.insert("assert".into(), json!([self.condition(false, false)]));
        }
    }

    fn ways(&mut self, node: &mut Map<String, Json>, acts: bool, listens: bool) {
        let mut transitions = Vec::new();
        for _ in 0..self.rng.below(4) {
            let (to, target) = (self.to(), self.target());
            transitions.push(json!({ "condition": self.condition(acts, listens && !node.contains_key("options")), to: target }));
        }
        if !transitions.is_empty() {
            node.insert("transitions".into(), transitions.into());
        }
    }

    fn signals(&mut self, node: &mut Map<String, Json>, listens: bool) {
        if listens && self.rng.chance(25) && node.get("wait") != Some(&json!("10s")) {
            node.insert("timeout".into(), "5s".into());
            node.insert("on_timeout".into(), self.target().into());
        }
        if self.rng.chance(30) {
            node.insert("on_signal".into(), json!({ "s0": self.target(), "interrupt": self.target() }));
        }
    }

    fn condition(&mut self, acts: bool, listens: bool) -> String {
        let key = *self.rng.pick(&KEYS[..]);
        let safe = *self.rng.pick(&["k0", "flag"]);
        match self.rng.below(12) {
            0 => format!("{safe} == {}", self.literal()),
            1 => format!("{safe} != {}", self.literal()),
            // A literal that nothing can be is a mistake.
            2 if self.rng.chance(90) => format!("flag in [{}, false]", self.rng.pick(&["true", "false"])),
            2 => format!("{safe} in [{}, {}]", self.literal(), self.literal()),
            3 => "not flag".into(),
            4 => "flag".into(),
            5 => format!("{key} is set"),
            6 => format!("{key} is not set"),
            7 => format!("{key} is {}empty", self.rng.pick(&["", "not "])),
            8 => format!("{}p0", self.rng.pick(&["", "not "])),
            9 => format!("{}p1", self.rng.pick(&["", "not "])),
            10 if acts => "tool_result.ok is set".into(),
            11 if listens => "sys.ans is not empty".into(),
            _ => format!("{key}.deep is set"),
        }
    }

    fn literal(&mut self) -> Json {
        self.rng.pick(&[json!(true), json!(false), json!(1), json!(2), json!("yes"), json!("o1"), json!(null), json!(1.5)]).clone()
    }

    fn to(&mut self) -> &'static str {
        if self.rng.chance(80) { "to" } else { "jump_to" }
    }

    fn target(&mut self) -> String {
        match self.rng.below(16) {
            0..=2 => "rollback".into(),
            3 => "fail".into(),
            4 => "/stop".into(),
            _ => {
                let id = &self.ids[self.rng.below(self.ids.len())];
                format!("/{}", if self.rng.chance(50) { id.strip_suffix("/start").unwrap_or(id) } else { id })
            }
        }
    }

    fn words(&mut self) -> String {
        if self.rng.chance(40) {
            return phrases::words(self.rng);
        }
        (*self.rng.pick(&[
            "",
            "Hello.",
            "k0 is {{ k0 }}.",
            "{% if k2 is defined %}{{ k2 }}{% endif %} at {{ sys.node }}",
            "{{ k3 | default('none') }}",
        ]))
        .into()
    }
}
