//! A provider with replies from a file: for newcomers, tests and work offline (language 9.23).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::Arc,
};

use serde::Deserialize;
use trellis_core::{
    Code, Context, Diagnostic, Dialect, Mapping, ToolError, Value,
    diagnostic::{FilePath, Report, did_you_mean},
    schema::Schema,
    scope::Scope,
    span::{SourceMap, Span, Spanned},
    syntax::project::HostConfig,
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

/// The form of a file of replies.
const REPLIES: &str = "a file of replies is a list of `{ when: { … }, reply: { content, json or tool_calls } }`";

/// Returns the mistakes of a file of replies. `tools` are all tools of the graph, if they are known.
pub(in crate::binding) fn mistakes(path: &FilePath, text: &str, tools: Option<&BTreeSet<Arc<str>>>) -> Vec<Diagnostic> {
    let script: Vec<Scripted> = match serde_yaml::from_str(text) {
        Ok(script) => script,
        Err(error) => return vec![unread(path, text, &error)],
    };
    let places = ReplyPlaces::of(text);
    let mut report = Report::new(path);
    for (at, Scripted { when, reply }) in script.iter().enumerate() {
        let finding = |code, key: &str, message: String| Diagnostic::new(code, path, places.span(&format!("{at}.{key}")), message);
        let mut found = Vec::new();
        if let Some(why) = when.matches.as_deref().and_then(|text| pattern(text).err()) {
            found.push(finding(Code::WrongType, "when.matches", why));
        }
        if let (Some(tools), Some(Tools::Named(names))) = (tools, &when.tools) {
            for (index, name) in names.iter().enumerate().filter(|(_, name)| !tools.contains(name.as_str())) {
                let unknown = finding(
                    Code::UnknownTool,
                    &format!("when.tools.{index}"),
                    format!("there is no tool `{name}`, so this reply is never used"),
                );
                found.push(unknown.help_maybe(did_you_mean(name, tools.iter().map(|tool| &**tool))));
            }
        }
        if reply.content.is_none() && reply.json.is_none() && reply.tool_calls.is_none() {
            found.push(finding(Code::MissingValue, "reply", "this reply says nothing".to_owned()).help(REPLIES));
        }
        report.diagnostics.extend(found);
        places.templates(&format!("{at}.reply"), &mut report);
    }
    report.diagnostics
}

/// Returns the finding of a text that is no list of replies.
fn unread(path: &FilePath, text: &str, error: &serde_yaml::Error) -> Diagnostic {
    let is_yaml = serde_yaml::from_str::<serde_yaml::Value>(text).is_ok();
    let code = if is_yaml { Code::WrongType } else { Code::YamlSyntax };
    let message = error.to_string();
    let why = message.split(" at line ").next().unwrap_or_default();
    let at = error.location().map_or(0, |at| at.index()).min(text.len());
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let (field, known) = match why.split_once("unknown field ").map(|(_, rest)| quoted(rest)) {
        Some(names) => (names.first().cloned(), names.get(1..).unwrap_or_default().to_vec()),
        None => (None, Vec::new()),
    };
    if let Some(field) = field {
        let rest = text.get(at..).and_then(|rest| rest.find(&field)).map(|found| at + found).or_else(|| text.find(&field));
        let span = rest.map_or(Span::at(at), |at| Span::new(at, at + field.len()));
        let help = did_you_mean(&field, known.iter().map(String::as_str)).unwrap_or_else(|| REPLIES.to_owned());
        return Diagnostic::new(code, path, span, format!("a reply has no key `{field}`")).help(help);
    }
    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end);
    let shown = text.get(at..end).unwrap_or_default().trim_end();
    Diagnostic::new(code, path, Span::new(at, at + shown.len()), format!("this is no list of replies: {why}")).help(REPLIES)
}

/// The places of the values in a file of replies, by their paths: `0.reply.content`.
struct ReplyPlaces<'t> {
    text: &'t str,
    /// The list under a key of its own, as settings are read.
    config: HostConfig,
    /// Bytes before the list.
    before: usize,
}

/// The key that the list of replies is read under.
const LIST_KEY: &str = "replies";

impl<'t> ReplyPlaces<'t> {
    fn of(text: &'t str) -> Self {
        let before = [format!("{LIST_KEY}:\n"), format!("{LIST_KEY}: ")];
        let read = before.iter().map(|before| (HostConfig::parse("", &format!("{before}{text}")).0, before.len()));
        let found = read.into_iter().find(|(config, _)| config.spans.contains_key(&format!("{LIST_KEY}.0")));
        let (config, before) = found.unwrap_or_default();
        Self { text, config, before }
    }

    fn span(&self, path: &str) -> Span {
        let span = self.config.span(&format!("{LIST_KEY}.{path}")).unwrap_or(Span::at(0));
        Span::new((span.start as usize).saturating_sub(self.before), (span.end as usize).saturating_sub(self.before))
    }

    /// Reports mistakes in the templates of a reply.
    fn templates(&self, path: &str, report: &mut Report) {
        let keys: Vec<&str> = std::iter::once(LIST_KEY).chain(path.split('.')).collect();
        if let Some(value) = value_at(&self.config, &keys) {
            self.templates_in(value, path, report);
        }
    }

    fn templates_in(&self, value: &Value, path: &str, report: &mut Report) {
        match value {
            Value::Text(text) => {
                let span = self.span(path);
                let written = self.text.get(span.range()).unwrap_or_default();
                let map = match written.find(&**text) {
                    Some(at) => SourceMap::Slice(span.start + u32::try_from(at).unwrap_or_default()),
                    None => SourceMap::Whole(span),
                };
                Shape::parse(text, &map, Dialect::Jinja, false, report);
            }
            Value::List(items) => items.iter().enumerate().for_each(|(at, item)| self.templates_in(item, &format!("{path}.{at}"), report)),
            Value::Map(entries) => entries.iter().for_each(|(key, value)| self.templates_in(value, &format!("{path}.{key}"), report)),
            _ => {}
        }
    }
}

/// Returns the value at the end of keys and indices.
fn value_at<'v>(config: &'v HostConfig, keys: &[&str]) -> Option<&'v Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(config.get(first)?, |value, key| match value {
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
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
