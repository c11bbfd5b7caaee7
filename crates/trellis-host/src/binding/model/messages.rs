//! The conversation that a model is asked with: the arguments of a call become messages (language 9.17).
//!
//! A message is a mapping `{role, content, tool_calls?, tool_call_id?}`, with tools under the names that the graph has for them.

use trellis_core::{Mapping, ToolError, Value};

use super::lost;

/// The roles that a message may have.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// The messages of a call: the system's text, `messages`, then `prompt` as the user's; with neither of them `inputs`, as JSON.
///
/// # Errors
/// Code `inputs`: there is neither, or one of them is no message. The error names it by its place.
pub(super) fn conversation(system: Option<&str>, args: &Mapping) -> Result<Vec<Value>, ToolError> {
    let given = |key: &str| args.get(key).filter(|value| !value.is_null());
    let (messages, mut prompt) = (given("messages"), given("prompt").cloned());
    if messages.is_none() && prompt.is_none() {
        let inputs = given("inputs").map(|inputs| inputs.to_json().into());
        prompt =
            Some(inputs.ok_or_else(|| lost("inputs", "a model is asked with `prompt`, with `messages`, or with both; neither is here"))?);
    }
    let mut conversation: Vec<Value> = system.map(|text| message("system", text.into(), None)).into_iter().collect();
    match messages {
        Some(Value::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                conversation.push(read(item).map_err(|why| lost("inputs", format!("`messages.{index}` {why}")))?);
            }
        }
        Some(other) => return Err(lost("inputs", format!("`messages` is {}, not a list", article(other)))),
        None => {}
    }
    match prompt {
        Some(text @ Value::Text(_)) => conversation.push(message("user", text, None)),
        Some(other) => return Err(lost("inputs", format!("`prompt` is {}, not a text", article(&other)))),
        None => {}
    }
    Ok(conversation)
}

/// A message, or the answer to a tool call.
pub(super) fn message(role: &str, content: Value, answers: Option<Value>) -> Value {
    let mut message: Mapping = [("role", role.into()), ("content", content)].into_iter().collect();
    if let Some(id) = answers {
        message.insert("tool_call_id".into(), id);
    }
    message.into()
}

/// A message as it is written, or the entry that `each` left of a tool call (language 5.5).
fn read(item: &Value) -> Result<Value, String> {
    let Value::Map(entries) = item else { return Err(format!("is {}, not a message", article(item))) };
    let Some(role) = entries.get("role") else { return answered(entries) };
    let role = role.as_str().filter(|role| ROLES.contains(role));
    let Some(role) = role else { return Err(format!("has a `role` that is none of {}", ROLES.map(|role| format!("`{role}`")).join(", "))) };
    let content = entries.get("content").cloned().unwrap_or_default();
    if !matches!(content, Value::Null | Value::Text(_) | Value::List(_)) {
        return Err(format!("has a `content` that is {}, not a text", article(&content)));
    }
    let mut read: Mapping = [("role", Value::from(role)), ("content", content)].into_iter().collect();
    match entries.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(calls @ Value::List(items)) if items.iter().all(|call| call.as_map().is_some()) => {
            read.insert("tool_calls".into(), calls.clone());
        }
        Some(_) => return Err("has `tool_calls` that are no list of mappings".to_owned()),
    }
    match entries.get("tool_call_id") {
        Some(id @ Value::Text(_)) => {
            read.insert("tool_call_id".into(), id.clone());
        }
        _ if role == "tool" => return Err("is the answer to a tool call, and has no `tool_call_id`".to_owned()),
        _ => {}
    }
    Ok(read.into())
}

/// The answer to a tool call: its result, or its error, as JSON.
fn answered(entries: &Mapping) -> Result<Value, String> {
    match (entries.get("id"), entries.get("name")) {
        (Some(id @ Value::Text(_)), Some(Value::Text(_))) => {
            let outcome = entries.get("error").or_else(|| entries.get("result")).cloned().unwrap_or_default();
            Ok(message("tool", outcome.to_json().into(), Some(id.clone())))
        }
        _ => Err("has no `role`, and is not the result of a tool call: that has `id` and `name`".to_owned()),
    }
}

/// The kind of a value, with its article.
fn article(value: &Value) -> String {
    let kind = value.kind();
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    if kind == "null" { kind.to_owned() } else { format!("{article} {kind}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn asked(system: Option<&str>, args: &str) -> Result<Value, String> {
        let Value::Map(args) = Value::from_json(args).unwrap() else { panic!("{args}") };
        let messages = conversation(system, &args).map_err(|error| {
            assert!(error.is_final && error.code == Some("inputs".into()), "{error:?}");
            error.message
        })?;
        Ok(Value::from(messages))
    }

    #[test]
    fn the_prompt_comes_last_and_the_system_first() {
        // language 9.17
        assert_eq!(asked(None, r#"{"prompt":"hi"}"#).unwrap(), json(r#"[{"role":"user","content":"hi"}]"#));
        assert_eq!(
            asked(Some("Be {{ brief }}."), r#"{"messages":[{"role":"assistant","content":null}],"prompt":"{{ x }}"}"#).unwrap(),
            json(
                r#"[{"role":"system","content":"Be {{ brief }}."},{"role":"assistant","content":null},{"role":"user","content":"{{ x }}"}]"#
            )
        );
        assert_eq!(asked(None, r#"{"messages":[]}"#).unwrap(), json("[]"));
        assert_eq!(asked(None, r#"{"inputs":{"a":1}}"#).unwrap(), json(r#"[{"role":"user","content":"{\"a\":1}"}]"#));
        assert!(asked(None, r#"{"prompt":null}"#).unwrap_err().contains("neither is here"));
    }

    #[test]
    fn what_each_left_answers_a_tool_call() {
        // language 9.17
        let entries = r#"{"messages":[{"id":"call_1","name":"a.b","result":[1]},{"id":"call_2","name":"c","error":{"kind":"error","message":"no"}}]}"#;
        assert_eq!(
            asked(None, entries).unwrap(),
            json(concat!(
                r#"[{"role":"tool","content":"[1]","tool_call_id":"call_1"},"#,
                r#"{"role":"tool","content":"{\"kind\":\"error\",\"message\":\"no\"}","tool_call_id":"call_2"}]"#
            ))
        );
    }

    #[test]
    fn what_is_no_message_is_named_by_its_place() {
        for (args, why) in [
            (r#"{"messages":"hi"}"#, "`messages` is a text, not a list"),
            (r#"{"prompt":[]}"#, "`prompt` is a list, not a text"),
            (r#"{"messages":[{"role":"user","content":"a"},3]}"#, "`messages.1` is an integer, not a message"),
            (r#"{"messages":[{"role":"robot","content":"a"}]}"#, "`messages.0` has a `role` that is none of"),
            (r#"{"messages":[{"role":"user","content":{}}]}"#, "`content` that is a mapping"),
            (r#"{"messages":[{"role":"tool","content":"a"}]}"#, "no `tool_call_id`"),
            (r#"{"messages":[{"role":"assistant","content":"","tool_calls":[1]}]}"#, "no list of mappings"),
            (r#"{"messages":[{"content":"a"}]}"#, "has no `role`"),
            (r#"{"messages":[{"name":"a","result":1}]}"#, "that has `id` and `name`"),
        ] {
            let found = asked(None, args).unwrap_err();
            assert!(found.contains(why), "{args}: {found}");
        }
    }
}
