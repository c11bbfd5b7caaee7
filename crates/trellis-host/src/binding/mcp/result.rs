//! Results of tools as values (language 9.14).

use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, ServerResult};
use serde_json::Value as Json;
use trellis_core::{Mapping, ToolError, Value, engine::ToolErrorKind, schema::Schema, value::to_value};

use super::{super::output, failure::rpc};

/// The value of an answer to `tools/call`.
///
/// # Errors
/// The tool reported a failure (code `tool`); its structured content violates its `outputSchema` (kind `schema`); the server needs a capability that
/// this client lacks (code `mcp-rpc`).
pub(super) fn value(tool: &str, answer: ServerResult, output: Option<&Schema>) -> Result<Value, ToolError> {
    let CallToolResult { content, structured_content, is_error, .. } = match answer {
        ServerResult::CallToolResult(result) => result,
        ServerResult::EmptyResult(_) => CallToolResult::default(),
        ServerResult::InputRequiredResult(_) => return Err(wants("asks for input, which a node of the graph must ask for")),
        ServerResult::CreateTaskResult(_) => return Err(wants("answers with a task, which is not waited for")),
        ServerResult::CustomResult(other) => return loose(tool, &other.0, output),
        other => {
            let message =
                format!("the answer of `{tool}` is no result of a tool: {}", start(&serde_json::to_string(&other).unwrap_or_default()));
            return Err(ToolError::coded("malformed_json", message).finally());
        }
    };
    let structured = structured_content.as_ref().map(|content| taken(tool, content)).transpose()?;
    if is_error == Some(true) {
        let texts: Vec<_> = content.iter().filter_map(|block| block.as_text()).map(|block| block.text.as_str()).collect();
        return Err(failure(tool, &texts.join("\n"), structured));
    }
    if let Some(structured) = structured {
        return held(tool, structured, output);
    }
    match &content[..] {
        [] => Ok(Value::Null),
        [ContentBlock::Text(block)] => output::value(tool, block.text.clone().into_bytes()),
        blocks => {
            let blocks = blocks.iter().map(|block| serde_json::to_value(block).unwrap_or_default());
            blocks.map(|block| self::block(tool, &block)).collect::<Result<Vec<_>, _>>().map(Value::from)
        }
    }
}

/// Reads an answer with a block of an unknown kind.
fn loose(tool: &str, answer: &Json, output: Option<&Schema>) -> Result<Value, ToolError> {
    let Some(content) = answer.get("content").and_then(Json::as_array) else {
        let message = format!("the answer of `{tool}` is no result of a tool: {}", start(&answer.to_string()));
        return Err(ToolError::coded("malformed_json", message).finally());
    };
    let structured = answer.get("structuredContent").map(|content| taken(tool, content)).transpose()?;
    if answer.get("isError").and_then(Json::as_bool) == Some(true) {
        let texts: Vec<_> = content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        return Err(failure(tool, &texts.join("\n"), structured));
    }
    match structured {
        Some(structured) => held(tool, structured, output),
        None => content.iter().map(|block| self::block(tool, block)).collect::<Result<Vec<_>, _>>().map(Value::from),
    }
}

/// A block as graphs see it: `{type, text? data? mimeType? uri?}`.
fn block(tool: &str, block: &Json) -> Result<Value, ToolError> {
    let inner = block.get("resource").unwrap_or(block);
    let mut seen = Mapping::new();
    let first = |keys: &[&str]| keys.iter().find_map(|key| inner.get(*key).or_else(|| block.get(*key)));
    for (key, sources) in [
        ("type", &["type"][..]),
        ("text", &["text", "description", "name"]),
        ("data", &["data", "blob"]),
        ("mimeType", &["mimeType"]),
        ("uri", &["uri"]),
    ] {
        if let Some(value) = first(sources) {
            seen.insert(key.into(), taken(tool, value)?);
        }
    }
    Ok(seen.into())
}

/// A value of a server's, which may be one that the language has no place for.
fn taken(tool: &str, json: &Json) -> Result<Value, ToolError> {
    to_value(json).map_err(|error| breach(format!("the result of `{tool}` cannot be taken: {error}")))
}

fn held(tool: &str, value: Value, output: Option<&Schema>) -> Result<Value, ToolError> {
    let breaches = output.map(|schema| schema.breaches(&value)).unwrap_or_default();
    match breaches.first() {
        None => Ok(value),
        Some(found) => {
            let at = if found.pointer.is_empty() { String::new() } else { format!("{}: ", found.pointer) };
            Err(breach(format!("the result of `{tool}` breaks its `outputSchema`: {at}{}", found.message)))
        }
    }
}

fn breach(message: String) -> ToolError {
    ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) }
}

fn failure(tool: &str, said: &str, data: Option<Value>) -> ToolError {
    let message = if said.trim().is_empty() { format!("`{tool}` failed and does not say why") } else { said.to_owned() };
    ToolError { data, ..ToolError::coded("tool", message) }
}

/// A server that wants more than an answer gets no further: nothing of it was declared.
fn wants(what: &str) -> ToolError {
    let message = format!("the server {what}: this client declared no capability");
    rpc(ErrorData::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, message, None))
}

fn start(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str, output: Option<&str>) -> Result<String, ToolError> {
        let schema = output.map(|text| Schema::new(&Value::from_json(text).unwrap()).unwrap());
        let answer: ServerResult = serde_json::from_str(answer).unwrap();
        value("files/read", answer, schema.as_ref()).map(|value| value.to_json())
    }

    #[test]
    fn structured_content_comes_first_then_one_text_then_the_blocks() {
        // language 9.14
        for (answer, expected) in [
            (r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}"#, r#"{"a":1}"#),
            (r#"{"content":[{"type":"text","text":"{\"a\": 1}"}]}"#, r#"{"a":1}"#),
            (r#"{"content":[{"type":"text","text":"plain\n"}]}"#, r#""plain""#),
            (r#"{"content":[]}"#, "null"),
            (r#"{"content":[{"type":"text","text":""}]}"#, "null"),
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                r#"[{"text":"a","type":"text"},{"text":"b","type":"text"}]"#,
            ),
            (
                r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":1}}]}"#,
                r#"[{"data":"AA==","mimeType":"image/png","type":"image"}]"#,
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"hi","mimeType":"text/plain"}}]}"#,
                r#"[{"mimeType":"text/plain","text":"hi","type":"resource","uri":"file:///a"}]"#,
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#,
                r#"[{"text":"a","type":"resource_link","uri":"file:///a"}]"#,
            ),
            (r#"{"content":[{"type":"hologram","data":"x"}]}"#, r#"[{"data":"x","type":"hologram"}]"#),
        ] {
            assert_eq!(read(answer, None).unwrap(), expected, "{answer}");
        }
    }

    #[test]
    fn failures_say_what_the_tool_said() {
        let error = read(r#"{"content":[{"type":"text","text":"no such file"},{"type":"text","text":"look"}],"structuredContent":{"path":"a"},"isError":true}"#, None).unwrap_err();
        assert_eq!((error.message.as_str(), error.code, error.is_final), ("no such file\nlook", Some(Value::text("tool")), false));
        assert_eq!(error.data.unwrap().to_json(), r#"{"path":"a"}"#);
        assert_eq!(read(r#"{"content":[],"isError":true}"#, None).unwrap_err().message, "`files/read` failed and does not say why");
    }

    #[test]
    fn structured_content_is_held_to_its_schema() {
        let schema = r#"{"type":"object","properties":{"size":{"type":"integer"}}}"#;
        assert!(read(r#"{"content":[],"structuredContent":{"size":1}}"#, Some(schema)).is_ok());
        let error = read(r#"{"content":[],"structuredContent":{"size":"1"}}"#, Some(schema)).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Schema);
        assert_eq!(error.message, "the result of `files/read` breaks its `outputSchema`: /size: must be an integer, is a text");
    }

    #[test]
    fn a_server_that_wants_input_is_refused() {
        // language 9.16
        let error = read(r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","mode":"form","requestedSchema":{"type":"object","properties":{}}}}}}"#, None).unwrap_err();
        assert_eq!((error.code, error.is_final), (Some(Value::text("mcp-rpc")), true));
        assert_eq!(error.data.unwrap().to_json(), r#"{"rpc":-32021}"#);
    }
}
