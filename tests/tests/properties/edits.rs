//! Random edits of random graphs: what a project compiles after an edit is, byte for byte, what it would compile without having known the graph before.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value as Json, json};
use trellis_core::{
    Compiled, Program, Source,
    compile::Compiler,
    diagnostic::FilePath,
    draw::{Format, draw},
    syntax::document::Bytes,
};
use trellis_project::{GraphLoader, LoadError, Memory, Project};
use trellis_tests::harness::{diagnostics, edges};

use super::{random, rng::Rng, share::Share};

const GRAPHS: u64 = 180;
const EDITS: usize = 16;

type Files = BTreeMap<String, String>;

/// A graph that is edited while a project holds it.
#[derive(Clone, Default)]
struct Edited(Arc<Mutex<Files>>);

impl Edited {
    fn memory(&self) -> Memory {
        self.0.lock().expect("nobody panics here").iter().map(|(path, text)| (path.as_str(), text)).collect()
    }
}

impl GraphLoader for Edited {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        self.memory().list_files()
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        self.memory().read_file(path)
    }
}

#[test]
fn an_edited_graph_compiles_as_if_it_were_new() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed + 70_000);
        let original = files(&random::graph(&mut rng));
        let graph = Edited(Arc::new(Mutex::new(original.clone())));
        let mut project = Project::with_loader(graph.clone()).expect("memory is always there");
        let mut compiler = Compiler::default();
        let mut before = project.recompile(&mut compiler);
        let mut history = Vec::new();
        for _ in 0..EDITS {
            let mut now = graph.0.lock().expect("nobody panics here").clone();
            let kind = edit(&mut rng, &mut now, &original);
            history.push(kind);
            *graph.0.lock().expect("nobody panics here") = now.clone();
            project.reload().expect("memory is always there");
            let warm = project.recompile(&mut compiler);
            let cold = Project::with_loader(graph.memory()).expect("memory is always there").compile();
            let (warm_shown, cold_shown) = (shown(&project, &warm), shown(&project, &cold));
            assert!(warm_shown == cold_shown, "seed {seed} after {history:?}\n{}", first_difference(&warm_shown, &cold_shown, &now));
            *counts.entry(kind).or_default() += 1;
            *counts.entry(if warm.program.is_some() { "sound after it" } else { "broken after it" }).or_default() += 1;
            let shared = before.program.as_ref().zip(warm.program.as_ref()).map_or(0, |(one, other)| shared(one, other));
            *counts.entry("nodes taken over").or_default() += shared;
            *counts.entry("warnings after it").or_default() += usize::from(warm.program.is_some() && !warm.diagnostics.is_empty());
            before = warm;
        }
    }
    println!("{counts:?}");
    let kinds = [
        "body",
        "key",
        "add",
        "delete",
        "break",
        "half",
        "mend",
        "project",
        "allow",
        "sound after it",
        "broken after it",
        "nodes taken over",
    ];
    for kind in kinds {
        let hits = counts.get(kind).copied().unwrap_or_default();
        assert!(hits >= share.least(100), "only {hits} times {kind}");
    }
}

/// Everything that comes out.
fn shown(project: &Project, compiled: &Compiled) -> String {
    let Compiled { program, diagnostics, nodes, unchecked, .. } = compiled;
    let drawn = program.as_ref().map_or_else(String::new, |program| {
        let edges = edges::print(program, &diagnostics::texts(project.documents()), &[]);
        format!("{}\n{}\n{edges}", program.fingerprint(), draw(program, Format::Json))
    });
    format!("{nodes} nodes, unchecked {unchecked:?}\n{diagnostics:#?}\n{drawn}")
}

fn first_difference(warm: &str, cold: &str, files: &Files) -> String {
    let at = warm.lines().zip(cold.lines()).position(|(one, other)| one != other).unwrap_or_default();
    let near = |text: &str| text.lines().skip(at.saturating_sub(6)).take(16).collect::<Vec<_>>().join("\n");
    format!("--- edited\n{}\n--- new\n{}\n--- files\n{files:#?}", near(warm), near(cold))
}

/// Returns the number of nodes that the two programs have in common.
fn shared(one: &Program, other: &Program) -> usize {
    one.nodes().iter().zip(other.nodes()).filter(|(one, other)| Arc::ptr_eq(one, other)).count()
}

fn files(sources: &[Source]) -> Files {
    let text = |source: &Source| match &source.bytes {
        Bytes::Read(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Bytes::TooLarge { .. } => String::new(),
    };
    sources.iter().map(|source| (source.path.to_string(), text(source))).collect()
}

/// One edit; its kind.
fn edit(rng: &mut Rng, files: &mut Files, original: &Files) -> &'static str {
    let paths: Vec<String> = files.keys().filter(|path| !path.ends_with("trellis.yaml") && !path.starts_with('_')).cloned().collect();
    let kind = *rng.pick(&[
        "body", "body", "key", "key", "key", "add", "delete", "break", "half", "half", "half", "half", "mend", "mend", "mend", "mend",
        "mend", "mend", "project", "allow",
    ]);
    let changed: Vec<&String> = original.keys().filter(|path| files.get(*path) != original.get(*path)).collect();
    match kind {
        "mend" if rng.chance(40) => *files = original.clone(),
        "mend" if !changed.is_empty() => {
            let path = (*rng.pick(&changed)).clone();
            files.insert(path.clone(), original[&path].clone());
        }
        "mend" => files.retain(|path, _| original.contains_key(path)),
        "add" => {
            let (path, text) = *rng.pick(&[
                ("new.md", "---\nto: stop\nsave_to: k1\ninput_type: text\n---\nNew.\n"),
                ("n1.md", "---\nto: stop\n---\nIn the way.\n"),
                ("readme.md", "# A page\n\n[a link](stop.md)\n"),
                ("m3/n4.md", "---\nto: /stop\n---\nNearer.\n"),
                ("_lib/more.yaml", "tools:\n  - { name: t9, parameters: { type: object } }\n"),
                ("m3/trellis.yaml", "name: of its own\n"),
                ("stop/start.md", "---\n---\nA module beside a node.\n"),
            ]);
            files.insert(path.into(), text.into());
        }
        "project" => {
            let project = files.entry("trellis.yaml".into()).or_default();
            let mut json: Json = serde_json::from_str(project).unwrap_or_else(|_| json!({}));
            let (key, value) = rng
                .pick(&[
                    ("on_error", json!("stop")),
                    ("on_rolled_back", json!("nowhere")),
                    ("severity", json!({ "unreachable-node": "warning", "maybe-undefined": "off" })),
                    ("predicates", json!({ "k1": {} })),
                    ("retry", json!({ "max": 3, "base": "2s" })),
                    ("before_each", json!({ "name": "t0", "save_to": "k3" })),
                    ("context", json!({ "flag": "bool" })),
                    ("on_signal_default", json!({ "s0": "stop" })),
                ])
                .clone();
            if rng.chance(40) {
                json.as_object_mut().map(|project| project.remove(key));
            } else {
                json[key] = value;
            }
            *project = json.to_string();
        }
        _ if paths.is_empty() => {}
        "delete" => drop(files.remove(rng.pick(&paths))),
        "break" => {
            let path = rng.pick(&paths);
            let text = files[path].clone();
            files.insert(path.clone(), if rng.chance(50) { text[..text.len() / 2].to_owned() } else { "---\n{\n---\n".into() });
        }
        "half" => {
            let path = rng.pick(&paths);
            let half = half_typed(rng, &files[path]);
            files.insert(path.clone(), half);
        }
        "allow" => {
            let text = files.entry(rng.pick(&paths).clone()).or_default();
            let code = *rng.pick(&["unreachable-node", "rollback-gap", "never-true", "broken-link"]);
            if let Some(rest) = text.strip_prefix("---\n") {
                *text = format!("---\n# trellis: allow({code})\n{rest}");
            }
        }
        "body" => {
            let path = rng.pick(&paths);
            let more = *rng.pick(&[" More.", " {{ k0 }}", " {{ k1 | default('') }}", "\n[there](stop.md)\n", " {{ unknown }}"]);
            match path.ends_with(".md") {
                true => files.entry(path.clone()).or_default().push_str(more),
                false => with_key(files, path, "content", Some(json!(format!("Said{more}")))),
            }
        }
        _ => {
            let path = rng.pick(&paths).clone();
            let target = *rng.pick(&["/stop", "start", "nowhere", "n1", "m3", "readme", "rollback", "/stop"]);
            let condition = *rng.pick(&["k1 is set", "flag", "fresh", "not p0", "k0 == 1"]);
            let (key, value) = rng
                .pick(&[
                    ("to", json!(target)),
                    ("save_to", json!("fresh")),
                    ("set", json!({ "fresh": true, "k2": 3 })),
                    ("transitions", json!([{ "condition": condition, "to": target }])),
                    ("tools", json!(["_lib/more"])),
                    ("tools", json!([{ "name": "t0", "parameters": { "type": "object" } }])),
                    ("was", json!(["old"])),
                    ("id", json!("stop")),
                    ("max_visits", json!(2)),
                    ("required_context", json!(["k1"])),
                    ("on_error", json!(target)),
                    ("do", json!({ "graph": target })),
                    ("context_schema", json!({ "k1": "int" })),
                    ("on_rolled_back", json!(target)),
                ])
                .clone();
            let value = rng.chance(75).then_some(value);
            with_key(files, &path, key, value);
        }
    }
    kind
}

/// A text as it stands while somebody types in it: letters are gone or new, most of them in its first lines.
fn half_typed(rng: &mut Rng, text: &str) -> String {
    let before = text.find("\n---\n").unwrap_or(text.len()).max(1);
    let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let at = boundary(rng.below(before));
    let gone = boundary(at + rng.below(12));
    let new = *rng.pick(&["", "", "[", "{", "\"", ": ", "\n", "\n  - ", "{{ k", "{{ k0 }}", "\nid: n1\n", "\nto: ", "\n---\n", "'"]);
    format!("{}{new}{}", &text[..at], &text[gone.max(at)..])
}

/// Sets a key of a node, or takes it away; a file that is broken already stays so.
fn with_key(files: &mut Files, path: &str, key: &str, value: Option<Json>) {
    let text = files.entry(path.to_owned()).or_default();
    let (before, node, after) = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((node, body)) => ("---\n", node, format!("\n---\n{body}")),
        None => ("", text.as_str(), String::new()),
    };
    let Ok(Json::Object(mut node)) = serde_json::from_str(node) else { return };
    match value {
        Some(value) => drop(node.insert(key.to_owned(), value)),
        None => drop(node.remove(key)),
    }
    *text = format!("{before}{}{after}", Json::Object(node));
}
