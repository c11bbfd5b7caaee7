//! The result of a call from a model's assembled answer (language 9.18).

use std::collections::BTreeSet;

use trellis_core::{Mapping, ToolError, Value, builtin::read_json};

use super::{lost, messages::message, names::WireNames};

/// The answer of a model, as far as it came, under the names of the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Completion {
    pub(super) content: String,
    /// The reason why it refused, if it gave one.
    pub(super) refusal: String,
    pub(super) calls: Vec<RequestedCall>,
    /// The reason why it ended, in the words of the endpoint; `None` until it ended.
    pub(super) finish: Option<String>,
    pub(super) usage: Usage,
    /// The model that answered.
    pub(super) model: Option<String>,
}

/// A call of a tool that a model asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RequestedCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments as text, which should be JSON.
    pub(super) arguments: String,
}

/// Tokens; 0 where the endpoint does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
}

impl Usage {
    /// The tokens of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { input: self.input.saturating_add(other.input), output: self.output.saturating_add(other.output) }
    }
}

/// The form of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AnswerFormat {
    /// The answer with its tool calls.
    #[default]
    Text,
    /// The value that the answer is, as JSON.
    Json,
}

impl Usage {
    pub(super) fn value(self) -> Value {
        Value::map([("input", Value::from(self.input)), ("output", Value::from(self.output))])
    }
}

impl Completion {
    /// The result of the call.
    ///
    /// # Errors
    /// Code `refused`, `length`; `malformed_json` where JSON is wanted and did not come.
    pub(super) fn result(&self, format: AnswerFormat, names: &WireNames) -> Result<Value, ToolError> {
        let finish = self.finish.as_deref().unwrap_or_default();
        if !self.refusal.is_empty() {
            return Err(lost("refused", format!("the model refused: {}", self.refusal)));
        }
        match finish {
            "content_filter" => return Err(lost("refused", "the model's answer was held back by a filter of the provider")),
            "length" => return Err(lost("length", "the answer ran into `max_tokens`; raise it, or ask for less")),
            _ => {}
        }
        match format {
            AnswerFormat::Json => self.json(),
            AnswerFormat::Text => Ok(self.answer(names)),
        }
    }

    fn json(&self) -> Result<Value, ToolError> {
        if let Some(call) = self.calls.first() {
            return Err(ToolError::coded(
                "malformed_json",
                format!("the model asked for the tool `{}` instead of answering with JSON", call.name),
            ));
        }
        parsed(&self.content)
    }

    fn answer(&self, names: &WireNames) -> Value {
        let ids = unique_ids(&self.calls);
        let calls = self.calls.iter().zip(ids).map(|(call, id)| call.value(id, names));
        answer(&self.content, calls.collect(), self.usage)
    }
}

/// The result of an answer as text. `calls` have unique ids.
pub(super) fn answer(content: &str, calls: Vec<Value>, usage: Usage) -> Value {
    let mut said = message("assistant", content.into(), None);
    if let Value::Map(entries) = &mut said
        && !calls.is_empty()
    {
        entries.insert("tool_calls".into(), calls.clone().into());
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    Value::map([
        ("content", content.into()),
        ("tool_calls", calls.into()),
        ("message", said),
        ("finish", finish.into()),
        ("usage", usage.value()),
    ])
}

/// The value that a text holds as JSON, also in a fence of Markdown with prose around it.
///
/// # Errors
/// Code `malformed_json`.
pub(super) fn parsed(text: &str) -> Result<Value, ToolError> {
    read_json(text).map_err(|error| ToolError::coded("malformed_json", format!("the model's answer is no JSON: {error}")))
}

impl RequestedCall {
    /// The call as a result has it, under the name that the graph has for it.
    fn value(&self, id: String, names: &WireNames) -> Value {
        let mut call: Mapping = [("id", Value::from(id)), ("name", names.own(&self.name).into())].into_iter().collect();
        let arguments = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        match Value::from_json(arguments) {
            Ok(args @ Value::Map(_)) => {
                call.insert("args".into(), args);
            }
            _ => {
                call.insert("args".into(), Value::Null);
                call.insert("raw".into(), self.arguments.as_str().into());
            }
        }
        call.into()
    }
}

impl From<&Value> for RequestedCall {
    /// A call as results have it.
    fn from(call: &Value) -> Self {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = call.get("args").filter(|args| !args.is_null()).map_or_else(|| text("raw"), Value::to_json);
        Self { id: text("id"), name: text("name"), arguments }
    }
}

/// The ids of calls: one that is missing or repeated becomes `call_N`, by place.
fn unique_ids(calls: &[RequestedCall]) -> Vec<String> {
    let mut taken: BTreeSet<String> = calls.iter().map(|call| call.id.clone()).filter(|id| !id.is_empty()).collect();
    let mut met = BTreeSet::new();
    let mut ids = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        if !call.id.is_empty() && met.insert(call.id.as_str()) {
            ids.push(call.id.clone());
            continue;
        }
        let mut id = format!("call_{}", place + 1);
        while !taken.insert(id.clone()) {
            id.push('_');
        }
        ids.push(id);
    }
    ids
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> RequestedCall {
        RequestedCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn text(completion: &Completion) -> Value {
        completion.result(AnswerFormat::Text, &WireNames::new(&[Arc::from("stock.find")])).unwrap()
    }

    #[test]
    fn an_answer_can_be_appended_to_messages() {
        // language 9.18
        let said = text(&Completion { content: "Hi".into(), usage: Usage { input: 3, output: 1 }, ..Completion::default() });
        assert_eq!(
            said,
            json(concat!(
                r#"{"content":"Hi","tool_calls":[],"message":{"role":"assistant","content":"Hi"},"finish":"stop","#,
                r#""usage":{"input":3,"output":1}}"#
            ))
        );
        let asked = text(&Completion { calls: vec![call("c9", "stock_find", r#"{"q":1}"#)], ..Completion::default() });
        let calls = r#"[{"id":"c9","name":"stock.find","args":{"q":1}}]"#;
        assert_eq!(*asked.at("tool_calls").unwrap(), json(calls));
        assert_eq!(*asked.at("message").unwrap(), json(&format!(r#"{{"role":"assistant","content":"","tool_calls":{calls}}}"#)));
        assert_eq!(asked.at("finish").unwrap().as_str(), Some("tool_calls"));
    }

    #[test]
    fn ids_that_are_missing_or_repeated_are_numbered_by_place() {
        // language 9.18
        let ids = |ids: &[&str]| unique_ids(&ids.iter().map(|id| call(id, "t", "{}")).collect::<Vec<_>>());
        assert_eq!(ids(&["a", "a", "", "b"]), ["a", "call_2", "call_3", "b"]);
        assert_eq!(ids(&["", "call_1"]), ["call_1_", "call_1"]);
        assert_eq!(ids(&vec![""; 500]).iter().collect::<BTreeSet<_>>().len(), 500);
    }

    #[test]
    fn arguments_that_are_no_object_stay_as_they_came() {
        // language 9.18
        for (arguments, expected) in [
            (r#"{"a":1}"#, r#"{"args":{"a":1}}"#),
            ("", r#"{"args":{}}"#),
            (r#"{"a":"#, r#"{"args":null,"raw":"{\"a\":"}"#),
            (r#""text""#, r#"{"args":null,"raw":"\"text\""}"#),
            ("[1]", r#"{"args":null,"raw":"[1]"}"#),
        ] {
            let made = call("c", "nuke", arguments).value("c".into(), &WireNames::default());
            assert_eq!(made.get("name").unwrap().as_str(), Some("nuke"));
            let expected = json(expected);
            assert_eq!((made.get("args"), made.get("raw")), (expected.get("args"), expected.get("raw")), "{arguments}");
        }
    }

    #[test]
    fn json_is_the_value_itself() {
        // language 9.18
        let answer = |content: &str| {
            Completion { content: content.into(), ..Completion::default() }.result(AnswerFormat::Json, &WireNames::default())
        };
        assert_eq!(answer(r#" {"a":[1]} "#).unwrap().to_json(), r#"{"a":[1]}"#);
        assert_eq!(answer("```json\n{\"a\":1}\n```").unwrap().to_json(), r#"{"a":1}"#);
        assert_eq!(answer("```\n3```").unwrap().to_json(), "3");
        assert_eq!(answer("Here: ```json\n{}\n``` Done.").unwrap().to_json(), "{}");
        for broken in ["", "I think so.", r#"{"a":"#, "```json\nno\n```", "Here: ```json\n{}\n``` or ```json\n[]\n```"] {
            let error = answer(broken).unwrap_err();
            assert_eq!((error.code, error.is_final), (Some("malformed_json".into()), false), "{broken}");
        }
        let asks = Completion { calls: vec![call("c", "find", "{}")], ..Completion::default() };
        assert!(asks.result(AnswerFormat::Json, &WireNames::default()).unwrap_err().message.contains("the tool `find`"));
    }

    #[test]
    fn a_refusal_and_a_cut_answer_are_final() {
        let ended = |finish: &str, refusal: &str| {
            let completion =
                Completion { finish: Some(finish.into()), refusal: refusal.into(), content: "x".into(), ..Completion::default() };
            let error = completion.result(AnswerFormat::Text, &WireNames::default()).unwrap_err();
            assert!(error.is_final);
            error.code.unwrap().as_str().unwrap().to_owned()
        };
        assert_eq!(
            (ended("length", ""), ended("content_filter", ""), ended("stop", "I can't.")),
            ("length".into(), "refused".into(), "refused".into())
        );
    }
}
