//! Graphs whose one call is made of calls, with results for single parts: what is accepted without a finding and an unchecked read never fails on
//! data, and every step lands where the checker holds it possible (language 8.2, 10.13).

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trellis_core::{Next, Program, context_types::ContextTypes};
use trellis_tests::harness::{
    Loaded,
    run::guarded,
    transcript::{Played, Walk},
    witness,
};

use super::{rng::Rng, share::Share, walks::fails_on_data};

const GRAPHS: u64 = 1_200;
const WALKS: usize = 6;
const STEPS: usize = 24;

#[test]
fn parts_never_fail_on_data_that_is_proved() {
    let (mut proved, mut ended_well, mut collected) = (0, 0, 0);
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed);
        let files = [
            ("trellis.yaml".to_owned(), "bindings: {t: {effect: undoable}, u: {effect: none}}\n".to_owned()),
            ("graph.yaml".to_owned(), graph(&mut rng).to_string()),
        ];
        let sources: Vec<_> = files.iter().map(|(path, text)| trellis_core::Source::text(path.as_str(), text.as_str())).collect();
        let loaded = guarded(|| Loaded::new(&sources)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}\n{}", files[1].1));
        let (_, flaws) = witness::flaws(&loaded.compiled, &loaded.texts);
        assert!(flaws.is_empty(), "seed {seed}: {}\n{}", flaws.join("\n"), files[1].1);
        let is_needless = |code: &str| ["unreachable-node", "never-true", "unused-variable", "rollback-gap"].contains(&code);
        let is_proved =
            loaded.compiled.unchecked.is_empty() && loaded.compiled.diagnostics.iter().all(|found| is_needless(found.code.as_str()));
        let Some(program) = loaded.compiled.program.as_ref().filter(|_| is_proved) else { continue };
        proved += 1;
        let types = ContextTypes::of(program);
        for _ in 0..WALKS {
            let mut lines = Vec::new();
            let played = guarded(|| walk(program, &mut rng, &mut lines)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}"));
            assert!(played.problems.is_empty(), "seed {seed}: {:?}\n{}\n{}", played.problems, files[1].1, lines.join("\n"));
            for record in &played.records {
                types.admit(&record.after).unwrap_or_else(|problem| panic!("seed {seed}: {problem}\n{}\n{}", files[1].1, lines.join("\n")));
            }
            let Some(ended) = played.records.last().and_then(|last| last.after.ended.as_ref()) else { continue };
            assert!(!fails_on_data(ended), "seed {seed}: {ended:?}\n{}\n{}", files[1].1, lines.join("\n"));
            ended_well += u32::from(ended.code.is_none());
            collected += u32::from(files[1].1.contains("collect") && lines.iter().any(|line| line.contains('!')));
        }
    }
    println!("{proved} graphs are proved, {ended_well} sessions of them ended well, {collected} with collected errors");
    assert!(proved > share.least(60) && ended_well > share.least(300) && collected > share.least(15), "{proved} {ended_well} {collected}");
}

/// Returns the schema of the result of a branch or a tool.
fn schema(rng: &mut Rng) -> Json {
    rng.pick(&[
        json!({ "type": "integer" }),
        json!({ "type": "string" }),
        json!({ "enum": ["A", "B"] }),
        json!({ "type": "object", "required": ["v"], "properties": { "v": { "type": "integer" } } }),
        json!({ "type": "object", "properties": { "v": { "type": "integer" } } }),
    ])
    .clone()
}

fn branch(rng: &mut Rng, name: &str, with_undo: bool) -> Json {
    let mut call = json!({ "name": "t" });
    if rng.chance(80) {
        call["returns"] = schema(rng);
    }
    if rng.chance(70) {
        call["save_to"] = if rng.chance(50) { json!(name) } else { json!(format!("at.{name}")) };
    }
    if rng.chance(25) {
        call["retry"] = json!({ "max": 2, "base": "1ms" });
    }
    if with_undo && rng.chance(50) {
        let read =
            *rng.pick(&["{{ input }}", "{{ input.v }}", "{{ input.v | optional }}", "fixed", "{{ at }}", "{{ a }}", "{{ sys.node }}"]);
        call["undo"] = json!({ "name": "u", "args": { "x": read } });
    }
    call
}

/// A node that calls several, then one that reads what they left.
fn graph(rng: &mut Rng) -> Json {
    let mut call = if rng.chance(70) {
        let with_undo = rng.chance(40);
        let mut branches = serde_json::Map::new();
        for name in ["a", "b", "c"].iter().take(1 + rng.below(3)) {
            branches.insert((*name).to_owned(), branch(rng, name, with_undo));
        }
        json!({ "parallel": branches })
    } else {
        json!({ "each": "calls" })
    };
    let is_each = call.get("each").is_some();
    if rng.chance(45) {
        call["on_error"] = json!(rng.pick(&["fail", "collect"]));
    }
    if !is_each && rng.chance(30) {
        call["join"] = json!("any");
    }
    if rng.chance(30) {
        call["limit"] = json!(1 + rng.below(2));
    }
    if rng.chance(20) {
        call["retry"] = json!({ "max": 2, "base": "1ms" });
    }
    let mut start = json!({ "do": call, "save_to": "r", "to": "read" });
    if is_each {
        let returns = schema(rng);
        start["tools"] =
            json!([{ "name": "t", "returns": returns }, { "name": "u", "parameters": { "type": "object", "required": ["n"] } }]);
        let item = |rng: &mut Rng| {
            rng.pick(&[
                json!({ "name": "t" }),
                json!({ "id": 1, "name": "t", "args": {} }),
                json!({ "name": "u", "args": { "n": 1 } }),
                json!({ "name": "u" }),
                json!({ "name": "w" }),
                json!(7),
            ])
            .clone()
        };
        let items: Vec<_> = (0..rng.below(4)).map(|_| item(rng)).collect();
        start["default_context"] = json!({ "calls": items });
    }
    if rng.chance(60) {
        start["on_error"] = json!(rng.pick(&["lost", "rollback"]));
    }
    let mut reads = vec![
        "{{ a }}",
        "{{ b }}",
        "{{ at.b }}",
        "{{ r.a.v }}",
        "{{ r.a | default('x') }}",
        "{% if a is defined %}{{ a }}{% endif %}",
        "{{ a.v }}",
        "{% if at is defined and at.b is defined %}{{ at.b }}{% endif %}",
        "{{ r | length }}",
    ];
    if is_each {
        reads = vec![
            "{% for e in r %}{{ e.name }}{% endfor %}",
            "{% for e in r %}{{ e.result | default('none') }}{% endfor %}",
            "{% for e in r %}{% if e.error is defined %}{{ e.error.kind }}{% endif %}{% endfor %}",
            "{% for e in r %}{{ e.result }}{% endfor %}",
        ];
    }
    let content = format!("{} {}", rng.pick(&reads), rng.pick(&reads));
    let lost =
        *rng.pick(&["{{ sys.error.kind }}", "{{ sys.error.part | default('whole') }}", "{{ sys.error.message }} {{ sys.error.tool }}"]);
    json!({ "nodes": { "start": start, "read": { "content": content }, "lost": { "content": lost } } })
}

fn walk(program: &Arc<Program>, rng: &mut Rng, lines: &mut Vec<String>) -> Played {
    let mut walk = Walk::new(Arc::clone(program));
    walk.begin();
    for _ in 0..STEPS {
        let number = match walk.next() {
            Some(Next::Parts { open, .. }) if rng.chance(90) => {
                let part = rng.pick(&open).id.clone();
                (1..=walk.calls()).find(|number| walk.id_of(*number).as_ref() == Some(&part))
            }
            Some(Next::Parts { .. } | Next::Call(_)) => None,
            Some(Next::Pass) => {
                walk.take(".");
                continue;
            }
            Some(Next::Ask(_) | Next::End(_)) | None => break,
        };
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let outcome = match rng.below(10) {
            0 => "! {\"message\":\"broken\",\"code\":7}".to_owned(),
            1 => "! {\"message\":\"broken\",\"final\":true}".to_owned(),
            2 => "x no".to_owned(),
            3 => "~".to_owned(),
            _ => format!(" {}", rng.pick(&["1", "\"A\"", "{\"v\":1}", "{}", "{\"a\":1}", "{\"error\":1}", "[]", "null"])),
        };
        let line = format!("<{number}{outcome}");
        lines.push(line.clone());
        walk.take(&line);
    }
    walk.finish()
}
