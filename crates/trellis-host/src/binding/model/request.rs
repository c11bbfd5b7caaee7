//! One question to a model, for any provider.

use trellis_core::{Mapping, Value};

use super::{
    completion::AnswerFormat,
    names::{WireNames, spelled},
    strict::is_strict,
};
use crate::binding::job::Offered;

/// The question for a model, under the names that the graph has.
#[derive(Debug)]
pub(super) struct ChatRequest<'j> {
    pub(super) role: &'j str,
    pub(super) messages: Vec<Value>,
    pub(super) tools: &'j [Offered],
    pub(super) format: AnswerFormat,
    /// The schema that a result as JSON has to fit.
    pub(super) schema: Option<&'j Value>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    /// The name of the tool that is called, which is the schema's name.
    pub(super) tool: &'j str,
}

/// The parameters that request JSON from an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SchemaSupport {
    /// It is not.
    None,
    /// By `json_object`.
    Object,
    /// By `json_schema`, with the schema.
    #[default]
    JsonSchema,
}

/// The name of the bound of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LimitKey {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// The form in which an endpoint wants a request.
#[derive(Debug)]
pub(super) struct WireForm<'p> {
    pub(super) model: &'p str,
    pub(super) schema: SchemaSupport,
    pub(super) limit_key: LimitKey,
    /// Further keys; none that this program sets.
    pub(super) extra: &'p Mapping,
    pub(super) streams: bool,
}

/// The keys of a request that this program sets.
pub(super) const SET: [&str; 11] = [
    "model",
    "messages",
    "tools",
    "response_format",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "stream",
    "stream_options",
    "n",
    "functions",
];

impl ChatRequest<'_> {
    /// The body of `POST {base}/chat/completions`.
    pub(super) fn body(&self, form: &WireForm<'_>, names: &WireNames) -> Value {
        let mut body = Mapping::new();
        let mut set = |key: &str, value: Value| drop(body.insert(key.into(), value));
        set("model", form.model.into());
        set("messages", self.messages.iter().map(|message| on_the_wire(message, names)).collect::<Vec<_>>().into());
        if !self.tools.is_empty() {
            set("tools", self.tools.iter().map(|tool| tool_on_the_wire(tool, names)).collect::<Vec<_>>().into());
        }
        if let Some(format) = self.response_format(form.schema) {
            set("response_format", format);
        }
        if let Some(limit) = self.max_tokens {
            let key = match form.limit_key {
                LimitKey::MaxTokens => "max_tokens",
                LimitKey::MaxCompletionTokens => "max_completion_tokens",
            };
            set(key, limit.into());
        }
        if let Some(temperature) = self.temperature.and_then(Value::float) {
            set("temperature", temperature);
        }
        if form.streams {
            set("stream", true.into());
            set("stream_options", Value::map([("include_usage", true)]));
        }
        form.extra.iter().for_each(|(key, value)| set(key, value.clone()));
        body.into()
    }

    fn response_format(&self, support: SchemaSupport) -> Option<Value> {
        let object = || Value::map([("type", "json_object")]);
        match (self.format, support, self.schema) {
            (AnswerFormat::Text, ..) | (AnswerFormat::Json, SchemaSupport::None, _) => None,
            (AnswerFormat::Json, SchemaSupport::JsonSchema, Some(schema)) => {
                let named = Value::map([
                    ("name", Value::from(&*spelled(self.tool))),
                    ("schema", schema.clone()),
                    ("strict", is_strict(schema).into()),
                ]);
                Some(Value::map([("type", Value::from("json_schema")), ("json_schema", named)]))
            }
            (AnswerFormat::Json, ..) => Some(object()),
        }
    }
}

fn tool_on_the_wire(tool: &Offered, names: &WireNames) -> Value {
    let mut function: Mapping = [("name", Value::from(&*names.wire(&tool.name)))].into_iter().collect();
    if let Some(description) = &tool.description {
        function.insert("description".into(), Value::Text(description.clone()));
    }
    let any = || Value::map([("type", Value::from("object")), ("properties", Mapping::new().into())]);
    function.insert("parameters".into(), tool.parameters.clone().unwrap_or_else(any));
    Value::map([("type", Value::from("function")), ("function", function.into())])
}

/// A message with its tool calls as the wire has them.
fn on_the_wire(message: &Value, names: &WireNames) -> Value {
    let (Value::Map(entries), Some(calls)) = (message, message.get("tool_calls").and_then(Value::as_list)) else { return message.clone() };
    let mut entries = entries.clone();
    let calls: Vec<Value> = calls.iter().map(|call| call_on_the_wire(call, names)).collect();
    if calls.is_empty() {
        entries.remove("tool_calls");
    } else {
        entries.insert("tool_calls".into(), calls.into());
        // Endpoints interpret an empty text beside tool calls as an answer.
        if entries.get("content").and_then(Value::as_str) == Some("") {
            entries.insert("content".into(), Value::Null);
        }
    }
    entries.into()
}

fn call_on_the_wire(call: &Value, names: &WireNames) -> Value {
    // One that has the form of the wire is the author's own.
    let Some(name) = call.get("name").and_then(Value::as_str) else { return call.clone() };
    let arguments = match (call.get("args"), call.get("raw")) {
        (None | Some(Value::Null), Some(Value::Text(raw))) => raw.to_string(),
        (None | Some(Value::Null), _) => "{}".to_owned(),
        (Some(args), _) => args.to_json(),
    };
    let function = Value::map([("name", Value::from(&*names.wire(name))), ("arguments", arguments.into())]);
    let id = call.get("id").cloned().unwrap_or_default();
    Value::map([("id", id), ("type", "function".into()), ("function", function)])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn offered(name: &str, parameters: Option<&str>) -> Offered {
        Offered { name: name.into(), description: Some("Finds.".into()), parameters: parameters.map(json) }
    }

    fn request(messages: &str) -> ChatRequest<'static> {
        let messages = json(messages).as_list().unwrap().iter().cloned().collect();
        ChatRequest {
            role: "helper",
            messages,
            tools: &[],
            format: AnswerFormat::Text,
            schema: None,
            max_tokens: None,
            temperature: None,
            tool: "ask.model",
        }
    }

    fn form(extra: &Mapping) -> WireForm<'_> {
        WireForm { model: "m", schema: SchemaSupport::default(), limit_key: LimitKey::default(), extra, streams: false }
    }

    #[test]
    fn a_request_says_what_is_set_and_nothing_else() {
        // language 9.20
        let (extra, names) = (Mapping::new(), WireNames::default());
        let request = request(r#"[{"role":"user","content":"hi"}]"#);
        assert_eq!(request.body(&form(&extra), &names), json(r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#));
        let extra = json(r#"{"seed":7}"#).as_map().unwrap().clone();
        let request = ChatRequest { max_tokens: Some(9), temperature: Some(0.0), ..request };
        let form = WireForm { limit_key: LimitKey::MaxCompletionTokens, streams: true, ..form(&extra) };
        let mut body = request.body(&form, &names).as_map().unwrap().clone();
        body.remove("messages");
        let expected =
            r#"{"model":"m","max_completion_tokens":9,"temperature":0.0,"stream":true,"stream_options":{"include_usage":true},"seed":7}"#;
        assert_eq!(Value::from(body), json(expected));
    }

    #[test]
    fn tools_and_their_calls_have_the_names_of_the_wire() {
        // language 9.19
        let tools = [offered("stock.find", Some(r#"{"type":"object"}"#)), offered("now", None)];
        let names = WireNames::new(tools.iter().map(|tool| &tool.name));
        let call = r#"{"id":"c1","name":"stock.find","args":{"q":"lamp"}},{"id":"c2","name":"now","args":null,"raw":"{"}"#;
        let asked =
            format!(r#"[{{"role":"assistant","content":"","tool_calls":[{call}]}},{{"role":"assistant","content":"x","tool_calls":[]}}]"#);
        let request = ChatRequest { tools: &tools, ..request(&asked) };
        let body = request.body(&form(&Mapping::new()), &names);
        assert_eq!(
            *body.get("messages").unwrap(),
            json(concat!(
                r#"[{"role":"assistant","content":null,"tool_calls":["#,
                r#"{"id":"c1","type":"function","function":{"name":"stock_find","arguments":"{\"q\":\"lamp\"}"}},"#,
                r#"{"id":"c2","type":"function","function":{"name":"now","arguments":"{"}}]},{"role":"assistant","content":"x"}]"#
            ))
        );
        assert_eq!(
            *body.get("tools").unwrap(),
            json(concat!(
                r#"[{"type":"function","function":{"name":"stock_find","description":"Finds.","parameters":{"type":"object"}}},"#,
                r#"{"type":"function","function":{"name":"now","description":"Finds.","parameters":{"type":"object","properties":{}}}}]"#
            ))
        );
    }

    #[test]
    fn json_is_asked_for_as_the_endpoint_takes_it() {
        // language 9.20
        let schema = json(r#"{"type":"object","additionalProperties":false}"#);
        let asked = |support, schema: Option<&Value>| {
            let request = ChatRequest { format: AnswerFormat::Json, schema, ..request("[]") };
            request.response_format(support)
        };
        assert_eq!(
            asked(SchemaSupport::JsonSchema, Some(&schema)).unwrap(),
            json(concat!(
                r#"{"type":"json_schema","json_schema":{"name":"ask_model","#,
                r#""schema":{"type":"object","additionalProperties":false},"strict":true}}"#
            ))
        );
        let loose = json(r#"{"type":"object"}"#);
        assert_eq!(asked(SchemaSupport::JsonSchema, Some(&loose)).unwrap().at("json_schema.strict"), Some(&false.into()));
        assert_eq!(asked(SchemaSupport::JsonSchema, None).unwrap(), json(r#"{"type":"json_object"}"#));
        assert_eq!(asked(SchemaSupport::Object, Some(&schema)).unwrap(), json(r#"{"type":"json_object"}"#));
        assert_eq!(asked(SchemaSupport::None, Some(&schema)), None);
    }

    #[test]
    fn names_on_the_wire_belong_to_the_tools_that_are_offered() {
        let names = WireNames::new(&[Arc::from("a.b")]);
        assert_eq!(
            call_on_the_wire(&json(r#"{"id":"x","name":"old.tool"}"#), &names).at("function.name").unwrap().as_str(),
            Some("old_tool")
        );
    }
}
