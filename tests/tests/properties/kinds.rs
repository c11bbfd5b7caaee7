//! Keys that are of one kind on one way and of another on the next: what the compiler accepts and calls proved never fails on data.
//!
//! Every graph writes one key on several ways, does something to it, and uses it. Two things are held against every graph: what is accepted without
//! a finding and without an unchecked read fails on no session, and a session is looked for that is as random as its graph.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value as Json, json};
use trellis_core::{
    Next, Program, Source,
    engine::{Request, RequestType},
    syntax::node::InputType,
};
use trellis_tests::harness::{Loaded, run::guarded, transcript::Walk, witness};

use super::{phrases::CALCULATED, rng::Rng, share::Share};

const GRAPHS: u64 = 2_000;
const WALKS: usize = 10;
const STEPS: usize = 14;

#[test]
fn what_is_proved_never_fails_on_data() {
    let (mut proved, mut smooth, mut witnesses) = (0, 0, 0);
    let mut codes: BTreeMap<String, u32> = BTreeMap::new();
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed);
        let files = graph(&mut rng);
        let loaded =
            guarded(|| Loaded::new(&files)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}\n{}", super::walks::shown(&files)));
        for found in &loaded.compiled.diagnostics {
            *codes.entry(found.code.as_str().to_owned()).or_default() += 1;
        }
        let (walked, flaws) = witness::flaws(&loaded.compiled, &loaded.texts);
        assert!(flaws.is_empty(), "seed {seed}: {}\n{}", flaws.join("\n"), super::walks::shown(&files));
        witnesses += walked;
        // A node that is not needed, or never chosen, fails nobody.
        let is_needless = |code: &str| ["unreachable-node", "never-true", "unused-variable"].contains(&code);
        let is_proved =
            loaded.compiled.unchecked.is_empty() && loaded.compiled.diagnostics.iter().all(|found| is_needless(found.code.as_str()));
        let Some(program) = loaded.compiled.program.as_ref().filter(|_| is_proved) else { continue };
        proved += 1;
        for _ in 0..WALKS {
            let mut lines = Vec::new();
            let played = guarded(|| walk(program, &mut rng, &mut lines)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}"));
            let ended = played.records.last().and_then(|last| last.after.ended.as_ref());
            smooth += u32::from(ended.is_some_and(|ended| ended.code.is_none()));
            if let Some(ended) = ended.filter(|ended| super::walks::fails_on_data(ended)) {
                panic!("seed {seed}: {ended:?}\n{}\n{}", super::walks::shown(&files), lines.join("\n"));
            }
        }
    }
    let open = codes.get("not-decided").copied().unwrap_or(0);
    assert!(u64::from(open) * 20 < share.of(GRAPHS).count() as u64, "{open} times nothing was decided");
    println!("{proved} graphs are proved, {smooth} sessions of them ended well; {codes:?}");
    assert!(proved > share.least(100), "only {proved} graphs are proved");
    assert!(witnesses > share.least(500), "only {witnesses} witnesses were walked");
    assert!(smooth > share.least(500), "only {smooth} sessions ended well");
    for code in ["type-mismatch", "maybe-undefined", "failed-assert", "non-exhaustive"] {
        assert!(codes.get(code).is_some_and(|count| *count > share.least(20)), "`{code}` is hardly ever met: {codes:?}");
    }
}

/// Schemas of what a person or a tool gives.
fn schema(rng: &mut Rng) -> Json {
    rng.pick(&[
        json!({ "type": "integer" }),
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] }),
        json!({ "enum": ["A", "B"] }),
        json!({ "enum": [1, 2] }),
        json!({ "type": "boolean" }),
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "array", "items": { "type": "integer" }, "minItems": 1 }),
        json!({ "type": "object", "required": ["v"], "properties": { "v": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "v": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "v": { "type": "string" }, "w": { "enum": ["A", "B"] } }, "required": ["v"] }),
        json!({ "type": ["object", "null"], "required": ["v"], "properties": { "v": { "type": "integer" } } }),
        json!({ "anyOf": [
            { "type": "object", "required": ["v", "w"], "properties": { "v": { "type": "integer" }, "w": { "const": "A" } }, "additionalProperties": false },
            { "type": "object", "required": ["w"], "properties": { "w": { "const": "B" } }, "additionalProperties": false } ] }),
        json!({ "type": "object", "required": ["v"], "properties": { "v": { "type": ["object", "null"], "required": ["v"], "properties": { "v": { "type": "string" } } } } }),
        json!({ "type": "integer", "minimum": 1 }),
        json!({ "type": "string", "minLength": 2 }),
    ])
    .clone()
}

/// Contracts that a key may be held to.
fn contract(rng: &mut Rng) -> Json {
    rng.pick(&[
        json!("int"),
        json!("string"),
        json!("bool"),
        json!(["string"]),
        json!(["int"]),
        json!({ "enum": ["A", "B"] }),
        json!({ "type": ["string", "null"] }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "type": "object" }),
        json!({ "type": "object", "required": ["v"], "properties": { "v": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "v": { "type": "string" } } }),
        json!({ "type": "integer", "minimum": 0 }),
        json!({ "type": "string", "minLength": 1 }),
        json!({ "type": "array", "minItems": 1 }),
        json!({ "not": { "type": "null" } }),
    ])
    .clone()
}

/// Returns a value to be put somewhere.
fn value(rng: &mut Rng) -> Json {
    let calculated = *rng.pick(&CALCULATED[..]);
    rng.pick(&[
        json!(1),
        json!("A"),
        json!(true),
        json!(null),
        json!(["x"]),
        json!([]),
        json!({ "v": 1 }),
        json!({ "v": "x", "w": "A" }),
        json!({}),
        json!("{{ other | optional }}"),
        json!("{{ k | optional }}"),
        json!("{{ k.v | optional }}"),
        json!("about {{ other | default('nothing') }}"),
        json!({ "v": "{{ other | optional }}" }),
        json!(["{{ k | default('x') }}"]),
        json!(calculated),
    ])
    .clone()
}

/// The common habit of most nodes of a graph, so that many graphs are right.
struct Habit {
    place: &'static str,
    schema: Json,
}

impl Habit {
    fn place(&self, rng: &mut Rng) -> &'static str {
        if rng.chance(80) { self.place } else { place(rng) }
    }

    fn schema(&self, rng: &mut Rng) -> Json {
        if rng.chance(80) { self.schema.clone() } else { schema(rng) }
    }

    /// Returns whether something may stand below the key.
    fn is_deep(&self, rng: &mut Rng) -> bool {
        rng.chance(20) || self.place == "k.v" || (self.place == "k" && self.schema.to_string().contains("object"))
    }

    fn contract(&self, rng: &mut Rng) -> Json {
        if rng.chance(60) { self.schema.clone() } else { contract(rng) }
    }
}

/// A graph: ways that write a key, what happens then, and what is done with it.
fn graph(rng: &mut Rng) -> Vec<Source> {
    let habit = Habit { place: rng.pick::<&str>(&["k", "k", "k", "k.v", "other"]), schema: schema(rng) };
    let ways = 1 + rng.below(2);
    let mut files = Vec::new();
    let mut add = |id: &str, node: &Map<String, Json>, words: &str| {
        files.push(Source::text(format!("{id}.md"), &format!("---\n{}\n---\n{words}\n", Json::Object(node.clone()))));
    };
    let mut start = Map::new();
    let options = (0..ways).map(|at| json!({ "text": format!("way {at}"), "to": format!("w{at}") }));
    start.insert("options".into(), options.collect());
    match rng.below(6) {
        0 => drop(start.insert("default_context".into(), json!({ "k": value(rng) }))),
        1 => drop(start.insert("context_schema".into(), json!({ "other": contract(rng) }))),
        2 | 3 => drop(start.insert("set".into(), json!({ "other": value(rng) }))),
        _ => {}
    }
    add("start", &start, "Which?");
    for at in 0..ways {
        let mut node = writer(rng, &habit);
        node.insert("to".into(), "mid".into());
        add(&format!("w{at}"), &node, "Well?");
    }
    let count = rng.below(3);
    for at in 0..=count {
        let id = if at == 0 { "mid".to_owned() } else { format!("mid{at}") };
        let mut node = if at == 0 && rng.chance(50) { Map::new() } else { middle(rng, &habit) };
        let next = if at == count { "use".to_owned() } else { format!("mid{}", at + 1) };
        let waits = ["do", "input_type"].iter().any(|key| node.contains_key(*key));
        if !waits && rng.chance(15) {
            let back = rng.pick(&["w0", "mid", "mid"]);
            node.insert("options".into(), json!([{ "text": "again", "to": back }, { "text": "on", "to": next }]));
        } else {
            node.insert("to".into(), next.into());
        }
        add(&id, &node, "Then.");
    }
    let (node, words) = used(rng, &habit);
    add("use", &node, &words);
    add("done", &Map::new(), "Done.");
    add("else", &Map::new(), if rng.chance(10) { "Else: {{ other }}." } else { "Else." });
    files
}

fn place(rng: &mut Rng) -> &'static str {
    rng.pick::<&str>(&["k", "k", "k", "k.v", "k.v", "k.v.v", "other"])
}

/// A node that writes.
fn writer(rng: &mut Rng, habit: &Habit) -> Map<String, Json> {
    let mut node = Map::new();
    match rng.below(12) {
        0 => {
            let kind = *rng.pick(&["int", "text", "confirm", "float"]);
            node.insert("input_type".into(), kind.into());
            node.insert("save_to".into(), habit.place(rng).into());
        }
        1..=4 => {
            node.insert("input_type".into(), "json".into());
            node.insert("input_schema".into(), habit.schema(rng));
            node.insert("save_to".into(), habit.place(rng).into());
        }
        5..=8 => {
            node.insert("tools".into(), json!([{ "name": "t", "effect": "none", "returns": habit.schema(rng) }]));
            node.insert("do".into(), "t".into());
            node.insert("save_to".into(), habit.place(rng).into());
            if rng.chance(30) {
                node.insert("on_error".into(), (*rng.pick(&["mid", "else", "else"])).into());
            }
            if rng.chance(30) && habit.is_deep(rng) {
                node.insert("set".into(), json!({ *rng.pick(&["k.paid", "k.v", "other"]): value(rng) }));
            }
        }
        9 => drop(node.insert("set".into(), json!({ habit.place(rng): value(rng) }))),
        10 => drop(node.insert("append".into(), json!({ *rng.pick(&["k", "k", "k.v"]): value(rng) }))),
        _ => {}
    }
    node
}

/// A node between: it writes, asks, or does nothing.
fn middle(rng: &mut Rng, habit: &Habit) -> Map<String, Json> {
    let one = |key: &str, value: Json| [(key.to_owned(), value)].into_iter().collect::<Map<String, Json>>();
    let mut node = match rng.below(12) {
        0 | 1 => writer(rng, habit),
        2 if rng.chance(40) => one("append", json!({ *rng.pick(&["k", "k.v", "other"]): value(rng) })),
        3 | 4 if habit.is_deep(rng) => one("set", json!({ *rng.pick(&["k.paid", "k.v.v", "other", "k"]): value(rng) })),
        5 => one("default_context", json!({ "k": value(rng) })),
        6 => one("context_schema", json!({ habit.place.split('.').next().expect("a path has a root"): habit.contract(rng) })),
        _ => Map::new(),
    };
    if rng.chance(45) {
        let asked = (0..1 + rng.below(2)).map(|_| json!({ "condition": condition(rng), "to": rng.pick(&["done", "else", "use"]) }));
        node.insert("transitions".into(), asked.collect());
    }
    node
}

fn condition(rng: &mut Rng) -> &'static str {
    rng.pick::<&str>(&[
        "k is set",
        "k is not set",
        "k.v is set",
        "k.v is not set",
        "k is empty",
        "k is not empty",
        "k.v is empty",
        "other is set",
        "other is empty",
        "k == \"A\"",
        "k == 1",
        "k != null",
        "k in [1, 2]",
        "k.w == \"A\"",
        "k.w is set",
    ])
}

/// The node that uses what was written.
fn used(rng: &mut Rng, habit: &Habit) -> (Map<String, Json>, String) {
    let mut node = Map::new();
    let mut words = "Used.".to_owned();
    match rng.below(12) {
        0..=2 => {
            let key = if rng.chance(70) { habit.place.split('.').next().expect("a path has a root") } else { "other" };
            node.insert("context_schema".into(), json!({ key: habit.contract(rng) }));
        }
        3 => drop(node.insert("assert".into(), json!([condition(rng)]))),
        4 => drop(node.insert("required_context".into(), json!([habit.place(rng)]))),
        5 if habit.is_deep(rng) => drop(node.insert("set".into(), json!({ *rng.pick(&["k.paid", "k.v.v", "k.v"]): 1 }))),
        6 if rng.chance(40) => drop(node.insert("append".into(), json!({ *rng.pick(&["k", "k.v"]): 1 }))),
        7 | 8 => {
            let asked = (0..1 + rng.below(3)).map(|_| json!({ "condition": condition(rng), "to": "done" }));
            node.insert("transitions".into(), asked.collect());
        }
        _ => {
            words = match rng.below(12) {
                0 | 1 => format!("{{{{ {} }}}}", habit.place),
                2 => format!("{{% if {0} is defined %}}{{{{ {0} }}}}{{% endif %}}", habit.place),
                3 => format!("{{% if {0} %}}{{{{ {0} }}}}{{% endif %}}", habit.place),
                4 => "{{ k.v }}".into(),
                5 => "{{ k + 1 }}".into(),
                6 => "{% for item in k %}{{ item }}{% endfor %}".into(),
                7 => "{% if k %}{{ k.v }}{% endif %}".into(),
                8 => "{% if k.v is defined %}{{ k.w }}{% endif %}".into(),
                9 => "{% if k != 1 %}{{ other }}{% endif %}".into(),
                10 => "{% if other is defined %}{{ k }}{% endif %}".into(),
                _ => "{{ k | default('x') }}{{ k.w }}".into(),
            };
        }
    }
    if rng.chance(30) {
        node.insert("to".into(), "done".into());
    }
    (node, words)
}

fn walk(program: &Arc<Program>, rng: &mut Rng, lines: &mut Vec<String>) -> trellis_tests::harness::transcript::Played {
    let mut walk = Walk::new(Arc::clone(program));
    let mut say = |walk: &mut Walk, line: String| {
        lines.push(line.clone());
        walk.take(&line);
    };
    if rng.chance(50) && !program.entry().entry.types.is_empty() {
        say(&mut walk, format!("$ context {{\"other\":{}}}", given(rng)));
    }
    walk.begin();
    for _ in 0..STEPS {
        let line = match walk.next() {
            Some(Next::Ask(request)) => answer(&request, rng),
            Some(Next::Call(_)) if rng.chance(12) => "<! {\"message\":\"broken\",\"code\":7}".into(),
            Some(Next::Call(_) | Next::Parts { .. }) => format!("< {}", given(rng)),
            Some(Next::Pass) => ".".into(),
            Some(Next::End(_)) | None => break,
        };
        say(&mut walk, line);
    }
    walk.finish()
}

fn answer(request: &Request, rng: &mut Rng) -> String {
    if !request.options.is_empty() {
        return format!(">= {}", rng.pick(&request.options).value.to_json());
    }
    match request.input_type {
        RequestType::None(_) => ".".into(),
        RequestType::Declared(InputType::Confirm) => format!("> {}", rng.pick(&["yes", "no"])),
        RequestType::Declared(InputType::Int) => format!("> {}", rng.pick(&["1", "2", "-3", "12"])),
        RequestType::Declared(InputType::Float) => format!("> {}", rng.pick(&["1.5", "7"])),
        RequestType::Declared(InputType::Text | InputType::Choice | InputType::Secret) => {
            format!("> {}", rng.pick(&["A", "B", "1", "text"]))
        }
        RequestType::Declared(InputType::Json) | RequestType::Any(_) => format!(">= {}", given(rng)),
    }
}

fn given(rng: &mut Rng) -> &'static str {
    rng.pick::<&'static str>(&[
        "1",
        "2",
        "-3",
        "\"A\"",
        "\"B\"",
        "\"text\"",
        "\"\"",
        "null",
        "true",
        "false",
        "[]",
        "[\"x\"]",
        "[1]",
        "{}",
        "{\"v\":1}",
        "{\"v\":\"x\"}",
        "{\"v\":\"x\",\"w\":\"B\"}",
        "{\"v\":1,\"w\":\"A\"}",
        "{\"w\":\"B\"}",
        "{\"v\":null}",
        "{\"v\":{\"v\":\"x\"}}",
        "{\"w\":7}",
    ])
}
