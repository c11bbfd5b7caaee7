//! The tools of `trellis mcp --author`: the output of the command line for graphs below one folder, byte for byte, and trial runs without calls.
//!
//! **Invariant:** no path leads out of the folder; nothing is written, and no tool, command or server is called.

use std::{collections::VecDeque, path::Path, process::Command};

use serde_json::{Map, Value as Json, json};
use trellis_core::{Engine, Mapping, NodeId, Start, Value, diagnostic::did_you_mean};
use trellis_host::{
    Bindings, Policy, Sessions, Stop, Turn, Unbound,
    assembly::deferred_predicates,
    wire::{self, CallResult},
};
use trellis_project::Project;
use trellis_server::mcp::AuthorTool;

/// Greatest number of stops of one trial run.
const MAX_STOPS: usize = 1000;

type Given = Map<String, Json>;

/// The tools over a folder.
pub(crate) fn author_tools(root: &Path) -> Vec<AuthorTool> {
    let path =
        json!({ "type": "string", "description": "A graph or a collection, below the folder that is served; without it, that folder." });
    let takes = |properties: Json, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let at = || root.to_owned();
    let (check, explain, schema, graph, walk) = (at(), at(), at(), at(), at());
    let strict = json!({ "type": "boolean", "description": "Whether everything that is not proved is an error." });
    vec![
        AuthorTool::new(
            "check",
            "Finds every mistake of a graph: the JSON of `trellis check --format json`. A `fix` has edits as byte offsets in a file.",
            takes(json!({ "path": path, "strict": strict }), &[]),
            move |given| {
                let mut args = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
                args.extend((given.get("strict") == Some(&Json::Bool(true))).then(|| "--strict".to_owned()));
                args.push(below(&check, given)?);
                program(&check, &args)
            },
        ),
        AuthorTool::new(
            "explain",
            "Explains a code of a finding, with a wrong and a right example; `language` is the whole language in short, with examples.",
            takes(json!({ "code": { "type": "string", "description": "A code such as `unknown-target`, or `language`." } }), &["code"]),
            move |given| program(&explain, &["explain".to_owned(), "--".to_owned(), text(given, "code")?.unwrap_or_default()]),
        ),
        AuthorTool::new(
            "schema",
            "The JSON Schema of a kind of file.",
            takes(json!({ "kind": { "type": "string", "enum": ["node", "graph", "project", "library", "tools"] } }), &[]),
            move |given| {
                program(&schema, &["schema".to_owned(), "--".to_owned(), text(given, "kind")?.unwrap_or_else(|| "node".to_owned())])
            },
        ),
        AuthorTool::new(
            "graph",
            "Draws a graph: every node and every edge.",
            takes(json!({ "path": path, "format": { "type": "string", "enum": ["json", "mermaid", "dot"] } }), &[]),
            move |given| {
                let format = text(given, "format")?.unwrap_or_else(|| "json".to_owned());
                program(&graph, &["graph".to_owned(), format!("--format={format}"), below(&graph, given)?])
            },
        ),
        AuthorTool::new(
            "walk",
            "Walks a graph without calling anything, and returns JSON Lines: what it says, asks and would call. Answers come from `inputs` in order, \
             results of calls from `results` by tool. It ends where one is missing.",
            takes(
                json!({
                    "path": path,
                    "at": { "type": "string", "description": "The node to begin at." },
                    "context": { "type": "object", "description": "What the session begins with." },
                    "inputs": { "type": "array", "description": "Answers to questions, in order." },
                    "results": {
                        "type": "object", "additionalProperties": { "type": "array" },
                        "description": "By tool, results in order; `{\"error\": …}` and `{\"denied\": true}` are outcomes, too.",
                    },
                    "predicates": { "type": "object", "additionalProperties": { "type": "boolean" } },
                }),
                &[],
            ),
            move |given| walk_through(&walk.join(below(&walk, given)?), given),
        ),
    ]
}

/// Resolves a path below the folder, from there; the folder itself if none is given.
fn below(root: &Path, given: &Given) -> Result<String, String> {
    let Some(named) = text(given, "path")? else { return Ok(".".to_owned()) };
    let whole = root.join(&named).canonicalize().map_err(|error| format!("`{named}`: {error}"))?;
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let inside = whole.strip_prefix(&root).map_err(|_| format!("`{named}` is not below the folder that is served"))?;
    Ok(Path::new(".").join(inside).display().to_string())
}

fn text(given: &Given, key: &str) -> Result<Option<String>, String> {
    match given.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{key}` is a text, not {other}")),
    }
}

/// Runs this program in a folder with these arguments; returns what it prints.
fn program(folder: &Path, args: &[String]) -> Result<String, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let ran = Command::new(me).args(args).current_dir(folder).env("NO_COLOR", "1").output().map_err(|error| error.to_string())?;
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    // A graph with mistakes is an answer.
    if ran.status.code().is_some_and(|code| code <= 1) && !out.is_empty() {
        return Ok(out);
    }
    Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned())
}

/// Script of a walk: inputs, results and predicates.
struct Script {
    inputs: VecDeque<Value>,
    results: Mapping,
    taken: std::collections::BTreeMap<String, usize>,
    predicates: Mapping,
}

fn walk_through(path: &Path, given: &Given) -> Result<String, String> {
    let value = |key: &str| match given.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => Value::from_json(&json.to_string()).map(Some).map_err(|error| format!("`{key}`: {error}")),
    };
    let mapping = |key: &str| match value(key)? {
        None => Ok(Mapping::new()),
        Some(Value::Map(entries)) => Ok(entries),
        Some(other) => Err(format!("`{key}` is an object, not {}", other.kind())),
    };
    let inputs = match value("inputs")? {
        None => VecDeque::new(),
        Some(Value::List(items)) => items.iter().cloned().collect(),
        Some(other) => return Err(format!("`inputs` is a list, not {}", other.kind())),
    };
    let script = Script { inputs, results: mapping("results")?, taken: Default::default(), predicates: mapping("predicates")? };
    let project = Project::open(path).map_err(|error| error.to_string())?;
    let compiled = project.compile();
    let program = compiled.program.ok_or("the graph has mistakes; `check` lists them")?;
    let tools = program.tool_names();
    if let Some((unknown, _)) = script.results.iter().find(|(name, _)| !tools.contains(&***name)) {
        let near = did_you_mean(unknown, tools.iter().map(|tool| &**tool)).map(|near| format!("; {near}")).unwrap_or_default();
        return Err(format!("`results`: the graph calls no `{unknown}`{near}"));
    }
    let engine = Engine::new(std::sync::Arc::clone(&program), deferred_predicates(&program)).map_err(|error| error.to_string())?;
    let policy = Policy::new().approve_all(true).unbound(Unbound::Elsewhere);
    let sessions = Sessions::new(engine, Bindings::none()).map_err(|error| error.to_string())?.policy(policy);
    let start = Start { session: None, context: mapping("context")?, locale: None, at: text(given, "at")?.map(NodeId::new), seed: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(script.walk(&sessions, start))
}

/// A line of JSON Lines.
fn line_of(line: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(line).map_err(|error| error.to_string())
}

impl Script {
    async fn walk(mut self, sessions: &Sessions, start: Start) -> Result<String, String> {
        let mut turn = sessions.start(start).await.map_err(|error| error.to_string())?;
        let mut lines = Vec::new();
        for _ in 0..MAX_STOPS {
            let wire_turn = wire::Turn::from(&turn);
            for line in &wire_turn.happened {
                lines.push(line_of(line)?);
            }
            lines.push(line_of(&wire_turn.stop)?);
            let Some(reply) = self.reply(&turn)? else { break };
            let reply = match &turn.child {
                Some(child) => reply.to(child.clone()),
                None => reply,
            };
            match sessions.send(&turn.session, reply.numbered(turn.asked)).await {
                Ok(next) => turn = next,
                Err(refused) => {
                    lines.push(line_of(&wire::SessionEvent::Error(wire::Refusal::new(refused.line_code(), &refused.to_string())))?);
                    break;
                }
            }
        }
        lines.push(String::new());
        Ok(lines.join("\n"))
    }

    /// Takes the next reply; `None` if the script has none for it, or is over.
    fn reply(&mut self, turn: &Turn) -> Result<Option<wire::Reply>, String> {
        Ok(match &turn.stop {
            Stop::Ask { .. } => self.inputs.pop_front().map(wire::Reply::input),
            Stop::Call { call, .. } => {
                let taken = self.taken.entry(call.name.to_string()).or_default();
                let result = self.results.get(&call.name).and_then(Value::as_list).and_then(|results| results.get(*taken)).cloned();
                *taken += 1;
                let Some(result) = result else { return Ok(None) };
                let id = Value::text(call.id.as_str());
                let is_outcome =
                    result.as_map().is_some_and(|entries| entries.iter().any(|(key, _)| ["error", "denied"].contains(&&**key)));
                let outcome = match result {
                    Value::Map(entries) if is_outcome => {
                        Value::map(entries.iter().map(|(key, value)| (key.clone(), value.clone())).chain([("id".into(), id)]))
                    }
                    result => Value::map([("id", id), ("result", result)]),
                };
                let outcome: CallResult =
                    serde_json::from_str(&outcome.to_json()).map_err(|error| format!("`results.{}`: {error}", call.name))?;
                Some(wire::Reply::tool_result(outcome))
            }
            Stop::Predicate { id, name, .. } => {
                let known = self.predicates.get(name).and_then(Value::as_bool);
                known.map(|known| wire::Reply::predicate(&**id, known))
            }
            _ => None,
        })
    }
}
