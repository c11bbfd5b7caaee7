//! Prompts: how to walk each graph, and how to fix a broken one.

use std::fmt::Write as _;

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value as Json;
use trellis_core::{Mapping, Start, State, Value, engine::Answers};

use super::{
    McpDoor, arguments,
    flows::{Flow, flows, opening},
    schemas,
};
use crate::{act, http, trouble::Trouble};

const WALK: &str = "walk-";
const REPAIR_PREFIX: &str = "mend-";

/// The prompts of all graphs.
pub(super) fn prompts(door: &McpDoor) -> Vec<Prompt> {
    let mut prompts = Vec::new();
    for flow in flows(&door.served) {
        let now = flow.graph.now();
        if let Some(program) = &now.program {
            let inputs = schemas::inputs(program);
            let required = inputs.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
            let properties = inputs.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
            let argument = |(name, schema): (String, Json)| {
                let is_required = required.contains(&Json::from(name.as_str()));
                let argument = PromptArgument::new(name).with_required(is_required);
                match schema["description"].as_str() {
                    Some(about) => argument.with_description(about),
                    None => argument,
                }
            };
            let about = opening(program).1.unwrap_or_else(|| format!("Walk the graph `{}`.", flow.graph.name));
            prompts.push(Prompt::new(format!("{WALK}{}", flow.name), Some(about), Some(properties.into_iter().map(argument).collect())));
        }
        if !now.is_sound {
            let about = format!("Mend the graph `{}`.", flow.graph.name);
            prompts.push(Prompt::new(format!("{REPAIR_PREFIX}{}", flow.name), Some(about), None));
        }
    }
    prompts
}

/// A prompt by its name; none where there is no such prompt.
///
/// # Errors
/// An argument is none that the graph takes.
pub(super) fn prompt(door: &McpDoor, name: &str, given: Option<JsonObject>) -> Result<Option<GetPromptResult>, Trouble> {
    let flows = flows(&door.served);
    let find = |prefix: &str| name.strip_prefix(prefix).and_then(|name| flows.iter().find(|flow| flow.name == name));
    let text = match (find(WALK), find(REPAIR_PREFIX)) {
        (Some(flow), _) if flow.graph.now().program.is_some() => walk(flow, given)?,
        (_, Some(flow)) if !flow.graph.now().is_sound => repair(flow),
        _ => return Ok(None),
    };
    Ok(Some(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])))
}

/// Returns the instructions to walk a graph, and its first text.
fn walk(flow: &Flow, given: Option<JsonObject>) -> Result<String, Trouble> {
    let program = flow.graph.program()?;
    let schema = schemas::inputs(&program);
    // Arguments of prompts are texts; those that are no text by their schema are JSON.
    let mut context = Vec::new();
    for (key, value) in arguments::mapping(given)?.iter() {
        let is_text = schema.get("properties").and_then(|known| known.get(&**key)).is_none_or(|known| known["type"] == "string");
        let read = value.as_str().filter(|_| !is_text).and_then(|text| Value::from_json(text).ok());
        context.push((key.clone(), read.unwrap_or_else(|| value.clone())));
    }
    let context: Mapping = context.into_iter().collect();
    let shown = Value::Map(context.clone()).to_json();
    let first = act::engine_start(&flow.graph, Start { context, ..Start::default() }, Answers::default());
    let first = first.ok().and_then(|begun| serde_json::from_value::<State>(begun["state"].clone()).ok());
    let first = first.and_then(|state| act::engine_render(&flow.graph, state).ok());
    let said = first.as_ref().and_then(|view| view["content"].as_str()).map(str::trim).filter(|said| !said.is_empty());
    let mut text = format!(
        "Walk the graph `{}` with me. Call the tool `{}` with {shown}: it begins a session. What it says is for me: show it to me as it is. Where it asks \
         me something and no form is shown, ask me, and hand my answer to `navigate` with the `session` and the `seq` that the result names. Where it asks \
         for a call, carry it out with your own tools, and hand the result to `navigate` as `tool_result`. Approvals are mine. Go on until it ends, then \
         tell me its output.",
        flow.graph.name, flow.name
    );
    if let Some(said) = said {
        let _ = write!(text, "\n\nThis is what it says first:\n\n{said}");
    }
    Ok(text)
}

/// The findings of a graph, their pages and the files.
fn repair(flow: &Flow) -> String {
    let now = flow.graph.now();
    let mut text = format!("The graph `{}` has mistakes. Mend its files so that `check` finds none.\n\n# Findings\n\n", flow.graph.name);
    let report = http::report(&flow.graph);
    let _ = write!(text, "```json\n{:#}\n```\n\n# What they mean\n\n", report["diagnostics"]);
    let mut codes: Vec<_> = now.findings.iter().map(|found| found.code).collect();
    codes.sort_by_key(|code| code.as_str());
    codes.dedup();
    for code in codes {
        let _ = write!(text, "{}\n\n", code.page().trim());
    }
    let _ = write!(text, "# Files\n\n");
    let concerned = |path: &str| now.findings.iter().any(|found| found.place.as_ref().is_some_and(|place| *place.path == *path));
    for document in now.documents.iter().filter(|document| concerned(&document.path)) {
        let _ = write!(text, "`{}`:\n\n````\n{}\n````\n\n", document.path, document.text.trim_end());
    }
    text
}
