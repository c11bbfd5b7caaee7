//! Questions as forms: one flat object whose properties are primitive, and the meaning of its content.

use rmcp::model::PrimitiveSchemaDefinition;
use serde_json::{Map, Value as Json, json};
use trellis_core::{Mapping, SessionId, Value, id::CallId};
use trellis_host::wire::{ApprovalQuestion, InputQuestion, InputType, Reply, Stop, Turn};

use super::{super::arguments, option_texts, refusal, shown};

/// The property of a form with one question.
const ANSWER: &str = "answer";
/// The property of a form about a call.
const DECISION: &str = "decision";

/// A form for a person.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Form {
    pub(in crate::mcp) message: String,
    /// A schema as forms have it: an object, flat.
    pub(in crate::mcp) schema: Json,
    takes: Takes,
}

/// The meaning of the content of a form.
#[derive(Clone, Debug)]
enum Takes {
    /// One answer: the texts that represent other values, and whether an empty answer is accepted.
    Answer(Vec<(String, Value)>, bool),
    /// The whole object is the answer.
    Whole,
    /// Keys, and which of them come as JSON.
    Keys(Vec<(String, bool)>),
    /// The value of a predicate.
    Predicate(String),
    /// The decision to keep or drop a call.
    Keep,
    /// The decision about a held call.
    Decision(CallId),
}

/// The answer of a person.
#[derive(Clone, Debug)]
pub(in crate::mcp) enum Given {
    Reply(Reply),
    /// A decision about exactly this call.
    Decision(CallId, bool),
}

/// Returns what a person reads: the reason why the answer before was refused, what was said, and the question. Texts of the children `siblings` are left
/// out, since they belong to other questions.
pub(in crate::mcp) fn message(turn: &Turn, siblings: &[SessionId], question: &str) -> String {
    let said = said(turn, siblings);
    let texts = refusal(turn).into_iter().chain(said).chain([question]).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

fn said<'t>(turn: &'t Turn, siblings: &'t [SessionId]) -> impl Iterator<Item = &'t str> {
    let said = turn.said.iter().filter(|said| said.child.as_ref().is_none_or(|child| !siblings.contains(child)));
    said.map(|said| said.text.trim()).filter(|text| !text.is_empty())
}

/// Returns the form for a turn's question; `None` if nobody is asked, or no form may ask it. `types` has the schemas of declared keys; `has_lists` is
/// true where forms have fields of several choices.
pub(in crate::mcp) fn form(turn: &Turn, siblings: &[SessionId], has_lists: bool, types: &dyn Fn(&str) -> Option<Json>) -> Option<Form> {
    let with = |question: &str| message(turn, siblings, question);
    let one = |name: &str, schema: Json, is_needed: bool| flat(Map::from_iter([(name.to_owned(), schema)]), is_needed);
    match &turn.stop {
        Stop::RequestInput(question) if question.input_type == InputType::Secret => None,
        Stop::RequestInput(question) => {
            if let Some(schema) = whole(question, has_lists) {
                return Some(Form { message: with("Fill this in."), schema, takes: Takes::Whole });
            }
            let (schema, values) = answer(question);
            let is_optional = question.default.is_some();
            let message = with(if said(turn, siblings).next().is_none() { "An answer is asked for." } else { "" });
            Some(Form { message, schema: one(ANSWER, schema, !is_optional), takes: Takes::Answer(values, is_optional) })
        }
        Stop::Approval(question) => {
            let schema = json!({ "type": "string", "oneOf": [
                { "const": "approve", "title": "Approve" }, { "const": "deny", "title": "Deny" },
            ] });
            Some(Form { message: with(&held(question)), schema: one(DECISION, schema, true), takes: Takes::Decision(question.id.clone()) })
        }
        Stop::Predicate(question) => {
            let message = with(&format!("Does `{}` hold?", question.name));
            Some(Form {
                message,
                schema: one(ANSWER, json!({ "type": "boolean" }), true),
                takes: Takes::Predicate(question.id.to_string()),
            })
        }
        Stop::Needs(question) => {
            let (mut properties, mut keys) = (Map::new(), Vec::new());
            for key in &question.keys {
                let typed = types(key).filter(is_primitive);
                keys.push((key.clone(), typed.is_none()));
                properties.insert(key.clone(), typed.unwrap_or_else(|| json!({ "type": "string", "description": "JSON" })));
            }
            let message = with(&format!("The graph was edited, and `{}` needs values that the session does not have.", question.node));
            Some(Form { message, schema: flat(properties, true), takes: Takes::Keys(keys) })
        }
        Stop::Changed(question) => {
            let now = question.now.as_deref().map(|now| format!("; its node would call `{now}` now")).unwrap_or_default();
            let message =
                with(&format!("The graph was edited while `{}` was under way{now}. Keep the call, or make it again?", question.pending));
            let schema = json!({ "type": "string", "oneOf": [
                { "const": "keep", "title": "Keep" }, { "const": "again", "title": "Make it again" },
            ] });
            Some(Form { message, schema: one(ANSWER, schema, true), takes: Takes::Keep })
        }
        _ => None,
    }
}

/// Returns the question about a held call.
fn held(question: &ApprovalQuestion) -> String {
    let ask = question.ask.as_deref().map(|ask| format!("{ask}\n\n")).unwrap_or_default();
    format!("{ask}May `{}` run with {}?", question.name, shown(&question.args, &question.secrets))
}

/// A schema whose properties a form can all ask for, as it is.
fn whole(question: &InputQuestion, has_lists: bool) -> Option<Json> {
    let schema = question.schema.as_ref().map(arguments::json).filter(|_| question.input_type == InputType::Json)?;
    let properties = schema.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
    let is_askable = |property: &Json| is_primitive(property) || has_lists && is_list_of_choices(property);
    if schema.get("type") != Some(&json!("object")) || !properties.values().all(is_askable) {
        return None;
    }
    let mut form = json!({ "type": "object", "properties": properties });
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    Some(form)
}

/// Returns whether a form can ask for one value of this schema.
fn is_primitive(schema: &Json) -> bool {
    let is_enum = schema.get("enum").and_then(Json::as_array).is_some_and(|values| values.iter().all(Json::is_string));
    let is_one = match schema.get("type").and_then(Json::as_str) {
        Some("string") => schema.get("enum").is_none() || is_enum,
        Some("boolean" | "integer" | "number") => schema.get("enum").is_none(),
        _ => false,
    };
    is_one && is_field(schema)
}

/// Returns whether a form can ask for several choices of this schema.
fn is_list_of_choices(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("array") && is_field(schema)
}

/// Returns whether the protocol has a field of this schema: it has few formats, for example.
fn is_field(schema: &Json) -> bool {
    serde_json::from_value::<PrimitiveSchemaDefinition>(schema.clone()).is_ok()
}

fn flat(properties: Map<String, Json>, is_needed: bool) -> Json {
    let names: Vec<_> = properties.keys().cloned().collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if is_needed {
        schema["required"] = json!(names);
    }
    schema
}

/// Returns the schema of one answer, and the values that its texts represent.
fn answer(question: &InputQuestion) -> (Json, Vec<(String, Value)>) {
    let mut values = Vec::new();
    let mut schema = match question.input_type {
        _ if !question.options.is_empty() => {
            let texts = option_texts(&question.options).into_iter();
            values.extend(texts.zip(question.options.iter().map(|option| option.value.clone())));
            if question.open {
                let listed = question.options.iter().zip(&values).map(|(option, (value, _))| match &*option.text {
                    text if text == value => value.clone(),
                    text => format!("{value} ({text})"),
                });
                json!({ "type": "string", "description": format!("one of {}, or something else", listed.collect::<Vec<_>>().join(", ")) })
            } else {
                let choices = question.options.iter().zip(&values);
                json!({ "type": "string", "oneOf": choices.map(|(option, (value, _))| json!({ "const": value, "title": &*option.text })).collect::<Vec<_>>() })
            }
        }
        InputType::Confirm => json!({ "type": "boolean" }),
        InputType::Int => json!({ "type": "integer" }),
        InputType::Float => json!({ "type": "number" }),
        InputType::Json => json!({ "type": "string", "description": "JSON" }),
        _ => json!({ "type": "string" }),
    };
    let bounds: &[&str] = match question.input_type {
        InputType::Int | InputType::Float => &["minimum", "maximum"],
        InputType::Text | InputType::Any if question.options.is_empty() => &["minLength", "maxLength", "pattern"],
        _ => &[],
    };
    if let Some(given) = question.schema.as_ref().map(arguments::json) {
        for bound in bounds.iter().filter(|bound| given.get(**bound).is_some()) {
            schema[*bound] = given[*bound].clone();
        }
        // The protocol has no patterns, so a person reads it.
        if let Some(pattern) = schema.get("pattern").and_then(Json::as_str) {
            schema["description"] = format!("a text that matches {pattern}").into();
        }
    }
    if let Some(default) = &question.default {
        let text = values.iter().find(|(_, value)| value == default).map(|(text, _)| Json::from(text.as_str()));
        let default = text.unwrap_or_else(|| arguments::json(default));
        let is_fit = match schema["type"].as_str() {
            Some("string") => default.is_string(),
            Some("boolean") => default.is_boolean(),
            _ => default.is_number(),
        };
        if is_fit {
            schema["default"] = default;
        }
    }
    (schema, values)
}

impl Form {
    /// Returns the meaning of the content of an accepted form.
    ///
    /// # Errors
    /// The content does not fit the form.
    pub(in crate::mcp) fn read(&self, content: &Json) -> Result<Given, String> {
        let one = |name: &str| content.get(name).filter(|value| !value.is_null()).ok_or_else(|| format!("`{name}` is missing"));
        let value = |json: &Json| arguments::value(json).map_err(|trouble| trouble.detail.clone());
        Ok(Given::Reply(match &self.takes {
            Takes::Answer(values, is_optional) => match one(ANSWER) {
                Ok(Json::String(text)) => {
                    let known = values.iter().find(|(known, _)| known == text).map(|(_, value)| value.clone());
                    Reply::input(known.unwrap_or_else(|| Value::text(text.as_str())))
                }
                Ok(other) => Reply::input(value(other)?),
                // An empty answer selects the default.
                Err(_) if *is_optional => Reply::input(Value::text("")),
                Err(missing) => return Err(missing),
            },
            Takes::Whole => Reply::input(value(content)?),
            Takes::Keys(keys) => {
                let mut given = Vec::new();
                for (key, is_json) in keys {
                    let answer = one(key)?;
                    let answer = match answer.as_str().filter(|_| *is_json) {
                        Some(text) => Value::from_json(text).map_err(|error| format!("`{key}` is no JSON: {error}"))?,
                        None => value(answer)?,
                    };
                    given.push((key.as_str(), answer));
                }
                Reply::context(Mapping::from_iter(given))
            }
            Takes::Predicate(id) => Reply::predicate(id.as_str(), one(ANSWER)?.as_bool().ok_or("`answer` is true or false")?),
            Takes::Keep => Reply::keep(match one(ANSWER)?.as_str() {
                Some("keep") => true,
                Some("again") => false,
                _ => return Err("`answer` is `keep` or `again`".to_owned()),
            }),
            Takes::Decision(call) => match one(DECISION)?.as_str() {
                Some("approve") => return Ok(Given::Decision(call.clone(), true)),
                Some("deny") => return Ok(Given::Decision(call.clone(), false)),
                _ => return Err("`decision` is `approve` or `deny`".to_owned()),
            },
        }))
    }
}
