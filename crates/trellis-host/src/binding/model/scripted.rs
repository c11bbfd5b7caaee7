//! A provider with replies from a file: for newcomers, tests and work offline (language 9.23).

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::Deserialize;
use trellis_core::{
    Code, Context, Dialect, Mapping, ToolError, Value,
    diagnostic::{FilePath, Report},
    schema::Schema,
    scope::Scope,
    span::{SourceMap, Span, Spanned},
    template::{RenderLimits, Shape},
};

use super::{
    completion::{AnswerFormat, RequestedCall},
    lost,
    request::ChatRequest,
};

/// Bytes of a file of replies.
const MAX_REPLIES_FILE: u64 = 1 << 20;

/// Depth of a reply as it is written.
const MAX_DEPTH: u32 = 64;

/// A reply, and the condition under which it is used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    #[serde(default)]
    when: Condition,
    reply: ScriptedReply,
}

/// The condition on a request; everything that is written must hold.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Condition {
    role: Option<String>,
    /// A part of the last message's text.
    contains: Option<String>,
    /// A regular expression that finds something in the last message's text.
    matches: Option<String>,
    /// The presence of offered tools, or the names of some of them.
    tools: Option<Tools>,
    /// One more than the assistant's messages so far.
    turn: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tools {
    Some(bool),
    Named(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedReply {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    json: Option<serde_json::Value>,
    #[serde(default)]
    tool_calls: Option<Vec<ScriptedToolCall>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedToolCall {
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: BTreeMap<String, serde_json::Value>,
}

/// The answer of a script.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptedAnswer {
    pub(super) content: String,
    pub(super) calls: Vec<RequestedCall>,
}

/// The first reply of a file that fits.
///
/// # Errors
/// Code `store`: the file cannot be read; `no-reply`: it is no list of replies, or none fits; `template`: a reply cannot be filled in.
pub(super) fn answer(file: &Path, request: &ChatRequest<'_>, limits: RenderLimits) -> Result<ScriptedAnswer, ToolError> {
    let script = read(file)?;
    let view = View::of(request);
    for (place, Scripted { when, reply }) in script.iter().enumerate() {
        if view.fits(when).map_err(|why| lost("no-reply", format!("`{}`, reply {}: {why}", file.display(), place + 1)))? {
            let filled = view.fill(reply, request.format, limits);
            return filled.map_err(|why| lost("template", format!("`{}`, reply {}: {why}", file.display(), place + 1)));
        }
    }
    let last: String = view.last_text.chars().take(80).collect();
    let message = format!("no reply of `{}` fits: role `{}`, turn {}, last message \"{last}\"", file.display(), request.role, view.turn);
    Err(lost("no-reply", message))
}

/// Returns the reason why a file of replies cannot be used; `None` if it can.
pub(super) fn problem(file: &Path) -> Option<String> {
    let script = match read(file) {
        Ok(script) => script,
        Err(error) => return Some(error.message),
    };
    let of = |(place, Scripted { when, .. }): (usize, &Scripted)| {
        let why = pattern(when.matches.as_deref()?).err()?;
        Some(format!("`{}`, reply {}: {why}", file.display(), place + 1))
    };
    script.iter().enumerate().find_map(of)
}

/// Returns the mistakes of a text that holds replies, each with its code and the byte where its reply begins.
pub(in crate::binding) fn mistakes(text: &str) -> Vec<(Code, usize, String)> {
    let script: Vec<Scripted> = match serde_yaml::from_str(text) {
        Ok(script) => script,
        Err(error) => {
            let is_yaml = serde_yaml::from_str::<serde_yaml::Value>(text).is_ok();
            let code = if is_yaml { Code::WrongType } else { Code::YamlSyntax };
            let at = error.location().map_or(0, |at| at.index());
            return vec![(code, at, format!("this is no list of replies: {error}"))];
        }
    };
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    });
    let begins: Vec<usize> = lines.filter(|(_, line)| line.starts_with("- ")).map(|(at, _)| at).collect();
    let mut found = Vec::new();
    for (place, Scripted { when, reply }) in script.iter().enumerate() {
        let at = begins.get(place).copied().unwrap_or_default();
        if let Some(why) = when.matches.as_deref().and_then(|text| pattern(text).err()) {
            found.push((Code::WrongType, at, why));
        }
        if reply.content.is_none() && reply.json.is_none() && reply.tool_calls.is_none() {
            found.push((Code::MissingValue, at, "this reply says nothing".to_owned()));
        }
        let calls = reply.tool_calls.iter().flatten().flat_map(|call| call.args.values());
        let values = reply.json.iter().chain(calls).filter_map(|json| value(json).ok());
        for written in values.chain(reply.content.as_deref().map(Value::text)) {
            let mut report = Report::new(&FilePath::from(""));
            shape(&written, &mut report);
            found.extend(report.diagnostics.into_iter().map(|mistake| (mistake.code, at, mistake.message)));
        }
    }
    found
}

/// A pattern of JSON Schema, as a schema.
fn pattern(pattern: &str) -> Result<Schema, String> {
    Schema::new(&Value::map([("pattern", Value::from(pattern))])).map_err(|_| format!("`{pattern}` is no regular expression"))
}

fn read(file: &Path) -> Result<Vec<Scripted>, ToolError> {
    let unreadable = |error: &io::Error| ToolError::coded("store", format!("`{}` cannot be read: {error}", file.display()));
    let size = fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > MAX_REPLIES_FILE {
        return Err(lost("no-reply", format!("`{}` is {size} bytes, more than {MAX_REPLIES_FILE}", file.display())));
    }
    let text = fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    serde_yaml::from_str(&text).map_err(|error| lost("no-reply", format!("`{}` is no list of `{{when, reply}}`: {error}", file.display())))
}

/// A request as conditions and templates see it.
struct View<'r> {
    request: &'r ChatRequest<'r>,
    last_text: &'r str,
    turn: usize,
    scope: Scope,
}

impl<'r> View<'r> {
    fn of(request: &'r ChatRequest<'r>) -> Self {
        let messages = &request.messages;
        let last = messages.last().cloned().unwrap_or_default();
        let results: Vec<Value> = messages.iter().filter(|message| message.get("tool_call_id").is_some()).cloned().collect();
        let has_role = |message: &&Value, role: &str| message.get("role").and_then(Value::as_str) == Some(role);
        let names: Mapping =
            [("last", last), ("messages", messages.clone().into()), ("results", results.into()), ("role", request.role.into())]
                .into_iter()
                .collect();
        Self {
            request,
            last_text: messages.last().and_then(|last| last.get("content")?.as_str()).unwrap_or_default(),
            turn: 1 + messages.iter().filter(|message| has_role(message, "assistant")).count(),
            scope: Scope { context: Context::new(names), ..Scope::default() },
        }
    }

    fn fits(&self, when: &Condition) -> Result<bool, String> {
        let offers = |name: &String| self.request.tools.iter().any(|tool| *tool.name == **name);
        let matches = match &when.matches {
            Some(text) => pattern(text)?.fits(&self.last_text.into()),
            None => true,
        };
        let tools = match &when.tools {
            Some(Tools::Some(are_offered)) => *are_offered != self.request.tools.is_empty(),
            Some(Tools::Named(names)) => names.iter().all(offers),
            None => true,
        };
        let role = when.role.as_ref().is_none_or(|role| role == self.request.role);
        let contains = when.contains.as_ref().is_none_or(|part| self.last_text.contains(part.as_str()));
        Ok(matches && tools && role && contains && when.turn.is_none_or(|turn| turn == self.turn))
    }

    fn fill(&self, reply: &ScriptedReply, format: AnswerFormat, limits: RenderLimits) -> Result<ScriptedAnswer, String> {
        let text = |text: &str| -> Result<String, String> {
            match self.value(&text.into(), limits)? {
                Value::Text(text) => Ok(text.to_string()),
                other => Ok(other.to_json()),
            }
        };
        let mut answer = ScriptedAnswer { content: String::new(), calls: Vec::new() };
        if let Some(json) = &reply.json {
            answer.content = self.value(&value(json)?, limits)?.to_json();
        } else if let Some(content) = &reply.content {
            answer.content = text(content)?;
        }
        for call in reply.tool_calls.iter().flatten() {
            let args: serde_json::Map<_, _> = call.args.clone().into_iter().collect();
            let args = self.value(&value(&serde_json::Value::Object(args))?, limits)?;
            let id = call.id.as_deref().map(text).transpose()?.unwrap_or_default();
            answer.calls.push(RequestedCall { id, name: text(&call.name)?, arguments: args.to_json() });
        }
        if answer.calls.is_empty() && reply.content.is_none() && reply.json.is_none() && format == AnswerFormat::Text {
            return Err("it says nothing: give it `content`, `json` or `tool_calls`".to_owned());
        }
        Ok(answer)
    }

    /// A value with its templates filled in.
    fn value(&self, written: &Value, limits: RenderLimits) -> Result<Value, String> {
        if written.depth() > MAX_DEPTH {
            return Err(format!("it is deeper than {MAX_DEPTH} levels"));
        }
        let mut report = Report::new(&FilePath::from(""));
        let shape = shape(written, &mut report);
        if let Some(found) = report.diagnostics.first() {
            return Err(found.message.clone());
        }
        let value = shape.evaluate(&self.scope, limits, &mut Vec::new()).map_err(|error| error.message)?;
        Ok(value.unwrap_or_default())
    }
}

fn value(json: &serde_json::Value) -> Result<Value, String> {
    Value::from_json(&json.to_string()).map_err(|error| error.to_string())
}

/// A value whose texts are templates.
fn shape(value: &Value, report: &mut Report) -> Shape {
    let nowhere = Span::at(0);
    match value {
        Value::Text(text) => Shape::parse(text, &SourceMap::Slice(0), Dialect::Jinja, false, report),
        Value::List(items) => Shape::List(items.iter().map(|item| Spanned::new(shape(item, report), nowhere)).collect()),
        Value::Map(entries) => {
            let entry = |(key, value): (&_, &_)| {
                (Spanned::new(std::clone::Clone::clone(key), nowhere), Spanned::new(shape(value, report), nowhere))
            };
            Shape::Map(entries.iter().map(entry).collect())
        }
        other => Shape::Literal(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::job::Offered;

    const LIMITS: RenderLimits = RenderLimits { output: 10_000, fuel: 100_000 };

    const SCRIPT: &str = r#"
- when: { role: other }
  reply: { content: no }
- when: { turn: 1, tools: [stock.find], contains: lamp }
  reply: { content: "Let me look.", tool_calls: [{ name: stock.find, args: { query: "{{ last.content | upper }}", limit: 3 } }] }
- when: { turn: 2 }
  reply: { content: "Found {{ results[0].content }} for {{ role }}." }
- when: { matches: "^[0-9]+$", tools: false }
  reply: { json: { number: "{{ last.content }}" } }
"#;

    fn asked(script: &str, messages: &str, tools: &[Offered]) -> Result<ScriptedAnswer, ToolError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("_model.yaml");
        fs::write(&file, script).unwrap();
        let messages = Value::from_json(messages).unwrap().as_list().unwrap().iter().cloned().collect();
        let request = ChatRequest {
            role: "helper",
            messages,
            tools,
            format: AnswerFormat::Text,
            schema: None,
            max_tokens: None,
            temperature: None,
            tool: "ask",
        };
        answer(&file, &request, LIMITS)
    }

    #[test]
    fn the_first_reply_that_fits_answers() {
        // language 9.23
        let tools = [Offered { name: "stock.find".into(), description: None, parameters: None }];
        let first = asked(SCRIPT, r#"[{"role":"user","content":"a lamp"}]"#, &tools).unwrap();
        assert_eq!(first.content, "Let me look.");
        assert_eq!((first.calls[0].name.as_str(), first.calls[0].arguments.as_str()), ("stock.find", r#"{"limit":3,"query":"A LAMP"}"#));
        let second =
            r#"[{"role":"user","content":"a lamp"},{"role":"assistant","content":""},{"role":"tool","content":"[2]","tool_call_id":"c"}]"#;
        assert_eq!(asked(SCRIPT, second, &tools).unwrap().content, "Found [2] for helper.");
        assert_eq!(asked(SCRIPT, r#"[{"role":"user","content":"42"}]"#, &[]).unwrap().content, r#"{"number":"42"}"#);
    }

    #[test]
    fn what_fits_nothing_or_cannot_be_read_says_so() {
        // language 9.23
        let hello = r#"[{"role":"user","content":"hello"}]"#;
        for (script, code, why) in [
            (SCRIPT, "no-reply", "role `helper`, turn 1, last message \"hello\""),
            ("- reply: { content: \"{{ gone }}\" }", "template", "`gone` is not set"),
            ("- reply: { content: \"{{ }\" }", "template", "reply 1"),
            ("- reply: {}", "template", "says nothing"),
            ("- when: { matches: \"(\" }\n  reply: { content: x }", "no-reply", "no regular expression"),
            ("- when: { contians: x }\n  reply: { content: x }", "no-reply", "unknown field `contians`"),
            ("reply: 3", "no-reply", "no list of"),
        ] {
            if why == "no regular expression" {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("_model.yaml");
                fs::write(&file, script).unwrap();
                assert!(problem(&file).is_some_and(|problem| problem.contains(why)), "9.8: {script}");
            }
            let error = asked(script, hello, &[]).unwrap_err();
            assert!(error.is_final && error.code == Some(code.into()) && error.message.contains(why), "{script}: {error:?}");
        }
        let tools = ChatRequest {
            role: "r",
            messages: Vec::new(),
            tools: &[],
            format: AnswerFormat::Text,
            schema: None,
            max_tokens: None,
            temperature: None,
            tool: "t",
        };
        let error = answer(Path::new("/nowhere/_model.yaml"), &tools, LIMITS).unwrap_err();
        assert!(!error.is_final && error.code == Some("store".into()), "{error:?}");
    }

    #[test]
    fn braces_of_people_stay_what_they_are() {
        let said = r#"[{"role":"user","content":"{{ messages }} {% x %}"}]"#;
        assert_eq!(
            asked("- reply: { content: \"you said: {{ last.content }}\" }", said, &[]).unwrap().content,
            "you said: {{ messages }} {% x %}"
        );
    }
}
