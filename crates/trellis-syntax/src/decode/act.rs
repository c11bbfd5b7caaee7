//! The actions of a node: calls, in all their forms (language 5).

use std::time::Duration;

use super::{
    Decoder, Form,
    form::{Inside, SeenKeys},
    node::entry_of,
};
use crate::{
    node::{ApproveSyntax, CallSyntax, CalleeSyntax, CompositeSyntax, Effect, NodeSyntax, OnBranchError, Retry},
    scalar::Plain,
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::Code,
    language::MOST_ABREAST,
    span::{Span, Spanned},
    value::Key,
};

const BESIDE: &str = "it stands on the node, beside `do`";

/// Keys that no call has, but where the form of one has them.
const NOT_IN_CALLS: [(&str, Option<&str>, &str); 9] = [
    ("tool", Some("name"), "write `name`"),
    ("arguments", Some("args"), "write `args`"),
    ("params", Some("args"), "write `args`"),
    ("parameters", Some("args"), "write `args`"),
    ("id", None, "calls get their ids by themselves: remove it"),
    ("to", None, BESIDE),
    ("undo", None, BESIDE),
    ("on_denied", None, BESIDE),
    ("on_timeout", None, BESIDE),
];

pub(crate) static CALL: Form = Form {
    otherwise: Some("arguments stand under `args`"),
    aliases: &[("output_schema", "returns")],
    inside: &[("parallel", Inside::Each(&BRANCH)), ("retry", Inside::One(&RETRY)), ("approve", Inside::One(&APPROVE))],
    elsewhere: &NOT_IN_CALLS,
    ..Form::new("a call", &CALL_KEYS)
};

const CALL_KEYS: [&str; 16] = [
    "name", "graph", "parallel", "each", "args", "body", "join", "on_error", "limit", "effect", "timeout", "retry", "approve", "returns",
    "save_to", "metadata",
];

/// A branch of `parallel`: a call of a tool or a graph, which may have an `undo` of its own (language 10.1, 10.6).
pub(crate) static BRANCH: Form = Form {
    otherwise: CALL.otherwise,
    aliases: CALL.aliases,
    inside: &[("retry", Inside::One(&RETRY)), ("approve", Inside::One(&APPROVE)), ("undo", Inside::One(&CALL))],
    elsewhere: &NOT_IN_CALLS,
    ..Form::new(
        "a branch",
        &["name", "graph", "args", "body", "effect", "timeout", "retry", "approve", "returns", "save_to", "metadata", "undo"],
    )
};

/// The keys of which a call has one.
pub(crate) const CALLEES: [&str; 4] = ["name", "graph", "parallel", "each"];

pub(crate) static RETRY: Form = Form::new("`retry`", &["max", "base", "factor", "cap", "on"]);

pub(crate) static APPROVE: Form = Form {
    elsewhere: &[("text", Some("ask"), "write `ask`"), ("timeout", Some("expires"), "write `expires`")],
    ..Form::new("`approve`", &["ask", "messages", "expires"])
};

pub(super) const EFFECTS: [(&str, Effect); 3] =
    [("none", Effect::None), ("undoable", Effect::Undoable), ("irreversible", Effect::Irreversible)];

/// The parts of a call as they are found.
#[derive(Default)]
struct CallParts {
    callee: Option<CalleeSyntax>,
    composite: CompositeSyntax,
    calls_graph: bool,
}

impl<'t> Decoder<'t, '_> {
    /// Decodes `do`, `undo`, `retry` or `tools`.
    pub(super) fn act(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        match key {
            "do" => node.call = self.call(&entry.key, entry.span, &entry.value).map(Box::new),
            "undo" => node.undo = self.call(key, entry.span, &entry.value).map(Box::new),
            "retry" => node.retry = self.retry(&entry.value).map(Box::new),
            _ => node.tools = self.tools(&entry.value).into(),
        }
    }

    /// A call: its bare name, or a mapping. `held_by` is the key or branch that holds it.
    pub(super) fn call(&mut self, held_by: &str, key: Span, value: &YamlNode<'t>) -> Option<CallSyntax> {
        self.call_of(&CALL, held_by, key, value)
    }

    fn call_of(&mut self, form: &'static Form, held_by: &str, key: Span, value: &YamlNode<'t>) -> Option<CallSyntax> {
        let YamlData::Map(entries) = &value.data else {
            let callee = match value.data {
                YamlData::Scalar(..) => self.name(held_by, value).map(CalleeSyntax::Tool)?,
                _ => {
                    self.wrong_type(held_by, "the name of a tool, or a call", value);
                    return None;
                }
            };
            return Some(bare(key, value.span, callee));
        };
        // The arguments of a graph are the context of its session, where no secret may be (language 3.6).
        let calls_graph = entry_of(value, "graph").is_some();
        let mut parts = CallParts { calls_graph, ..CallParts::default() };
        let mut call = bare(key, value.span, CalleeSyntax::Parallel(Vec::new(), CompositeSyntax::default()));
        let mut metadata = None;
        let seen = self.each(entries, form, |decoder, key, entry| match key {
            "metadata" => metadata = Some(entry),
            _ => decoder.call_key(&mut call, &mut parts, key, entry),
        });
        if let Some(metadata) = metadata {
            let rest = self.confirm(&mut call, entry_of(value, "approve"), metadata);
            call.metadata = rest.and_then(|rest| self.shape_map("metadata", false, &rest));
        }
        self.composite_keys(&seen);
        if seen.lacks(&CALLEES) {
            self.find_with(
                Code::MissingValue,
                self.head(value),
                format!("`{}` names nothing to call", shown(held_by)),
                "add `name:`, `graph:`, `parallel:` or `each:`",
            );
        }
        call.callee = match parts.callee? {
            CalleeSyntax::Parallel(branches, _) => CalleeSyntax::Parallel(branches, parts.composite),
            CalleeSyntax::Each(path, _) => CalleeSyntax::Each(path, parts.composite),
            single => single,
        };
        Some(call)
    }

    fn call_key(&mut self, call: &mut CallSyntax, parts: &mut CallParts, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "name" | "graph" | "parallel" | "each" => {
                let callee = self.callee(key, entry);
                if parts.callee.is_none() {
                    parts.callee = callee;
                }
            }
            "args" => call.args = self.shape_map(key, !parts.calls_graph, value),
            "body" => call.body = self.name(key, value).map(|name| name.map(Key::from)),
            "timeout" => call.timeout = self.duration(key, false, value),
            "retry" => call.retry = self.retry(value),
            "approve" => call.approve = self.approve(value),
            "effect" => call.effect = self.one_of(key, &EFFECTS, value),
            "returns" => call.returns = self.schema(&entry.key, value),
            "save_to" => call.save_to = self.saved(key, value),
            "undo" => call.undo = self.call(key, entry.span, value).map(Box::new),
            "join" => parts.composite.any = self.one_of(key, &[("all", false), ("any", true)], value).is_some_and(|any| any.value),
            "on_error" => {
                let words = [("fail", OnBranchError::Fail), ("collect", OnBranchError::Collect)];
                parts.composite.on_error = self.one_of(key, &words, value).map(|word| word.value);
            }
            _ => {
                let limit = self.integer(key, 1, u64::from(MOST_ABREAST), value);
                parts.composite.limit = limit.and_then(|limit| u32::try_from(limit.value).ok());
            }
        }
    }

    fn callee(&mut self, key: &'static str, entry: &YamlEntry<'t>) -> Option<CalleeSyntax> {
        let (value, none) = (&entry.value, CompositeSyntax::default());
        match key {
            "name" => self.name(key, value).map(CalleeSyntax::Tool),
            "graph" => self.target(key, entry).map(CalleeSyntax::Graph),
            "each" => self.path(key, value).map(|path| CalleeSyntax::Each(path, none)),
            _ => {
                let branches = self.mapping(key, "a mapping from branches to calls", value)?;
                if branches.is_empty() {
                    self.find(Code::MissingValue, value.span, "`parallel` has no branch");
                    return None;
                }
                let branches = branches.iter().filter_map(|branch| {
                    if branch.value.is_null() {
                        self.find(Code::MissingValue, branch.span, format!("the branch `{}` has no call", shown(&branch.key)));
                        return None;
                    }
                    if let YamlData::Map(entries) = &branch.value.data
                        && entries.iter().any(|entry| matches!(&*entry.key, "parallel" | "each"))
                    {
                        let message = format!("the branch `{}` makes several calls itself", shown(&branch.key));
                        let help = "put `parallel` or `each` on a node of its own, and call that by `graph:`";
                        self.find_with(Code::WrongType, branch.span, message, help);
                        return None;
                    }
                    let call = self.call_of(&BRANCH, &branch.key, branch.span, &branch.value)?;
                    Some((Spanned::new(Key::from(&*branch.key), branch.span), call))
                });
                Some(CalleeSyntax::Parallel(branches.collect(), none))
            }
        }
    }

    /// Reports two callees in one call, and keys of composite calls in others.
    fn composite_keys(&mut self, seen: &SeenKeys) {
        let mut callees = seen.keys.iter().filter(|(key, _)| CALLEES.contains(key));
        if let (Some((first, at)), Some((second, span))) = (callees.next(), callees.next()) {
            let found =
                self.finding(Code::DuplicateKey, *span, format!("`{first}` and `{second}` exclude each other: a call has one callee"));
            let path = self.report.path.clone();
            self.report.push(found.label(&path, *at, "first here").help("keep one of them"));
        }
        if !seen.has("name") && !seen.has("graph") {
            let help = match seen.has("each") {
                true => "each item of the list brings its own: `{ name, args }`",
                false => "give it to the branches that take it",
            };
            let is_composite = seen.has("parallel") || seen.has("each");
            for key in ["args", "body"].into_iter().filter(|_| is_composite) {
                if let Some(span) = seen.get(key) {
                    self.find_with(Code::MisplacedKey, span, format!("`{key}` means nothing here: it reaches none of the calls"), help);
                }
            }
            return;
        }
        for key in ["join", "on_error", "limit"] {
            if let Some(span) = seen.get(key) {
                let help = if key == "on_error" { BESIDE } else { "remove it" };
                self.find_with(Code::UnknownKey, span, format!("`{key}` inside a call belongs to `parallel` and `each`"), help);
            }
        }
    }

    fn approve(&mut self, value: &YamlNode<'t>) -> Option<Spanned<ApproveSyntax>> {
        let mut approve = ApproveSyntax { ask: None, messages: Vec::new(), expires: None };
        match &value.data {
            YamlData::Map(entries) => {
                self.each(entries, &APPROVE, |decoder, key, entry| match key {
                    "ask" => approve.ask = decoder.template(key, &entry.value),
                    "messages" => approve.messages = decoder.local_texts(key, &entry.value),
                    _ => approve.expires = decoder.duration(key, false, &entry.value),
                });
            }
            _ if value.plain() == Plain::Bool(true) => {}
            _ if value.plain() == Plain::Bool(false) => return None,
            YamlData::Scalar(..) if value.plain() == Plain::Text => approve.ask = Some(self.template("approve", value)?),
            _ => {
                self.wrong_type_with("approve", "`true`, a question, or a mapping", value, "write `approve: { ask: …, expires: 15m }`");
                return None;
            }
        }
        Some(Spanned::new(approve, value.span))
    }

    /// `retry:` with its defaults filled in (language 7.4).
    pub(super) fn retry(&mut self, value: &YamlNode<'t>) -> Option<Spanned<Retry>> {
        let YamlData::Map(entries) = &value.data else {
            let help = match value.plain() {
                Plain::Int(max) => format!("write `retry: {{ max: {max} }}`"),
                _ => "write `retry: { max: 3 }`".to_owned(),
            };
            self.wrong_type_with("retry", "a mapping", value, help);
            return None;
        };
        let (base, cap) = (Duration::from_millis(200), Duration::from_secs(10));
        let mut retry = Retry { max: 1, base, factor: 2.0, cap, on_error: true, on_timeout: true };
        let seen = self.each(entries, &RETRY, |decoder, key, entry| {
            let value = &entry.value;
            match key {
                "max" => retry.max = decoder.count(key, value).map_or(1, |max| max.value),
                "base" => retry.base = decoder.duration(key, true, value).map_or(base, |base| base.value),
                "factor" => retry.factor = decoder.factor(value).unwrap_or(2.0),
                "cap" => retry.cap = decoder.duration(key, true, value).map_or(cap, |cap| cap.value),
                _ => {
                    let items = decoder.list(key, "a list of `error` and `timeout`", value).unwrap_or_default();
                    let kinds: Vec<bool> = items
                        .iter()
                        .filter_map(|item| decoder.one_of(key, &[("error", true), ("timeout", false)], item))
                        .map(|kind| kind.value)
                        .collect();
                    (retry.on_error, retry.on_timeout) = (kinds.contains(&true), kinds.contains(&false));
                }
            }
        });
        if seen.lacks(&["max"]) {
            self.find_with(
                Code::MissingValue,
                self.head(value),
                "`retry` does not say how often",
                "add `max:`, the number of attempts, the first included",
            );
        }
        Some(Spanned::new(retry, value.span))
    }

    fn factor(&mut self, value: &YamlNode<'t>) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a factor beyond 2^53 is refused anyway")]
        let factor = match value.plain() {
            Plain::Int(factor) => factor as f64,
            Plain::Float(factor) => factor,
            _ => {
                self.wrong_type("factor", "a number", value);
                return None;
            }
        };
        if (1.0..=1000.0).contains(&factor) {
            return Some(factor);
        }
        self.find(Code::WrongType, value.span, "`factor` takes a number from 1 to 1000");
        None
    }
}

fn bare(key: Span, span: Span, callee: CalleeSyntax) -> CallSyntax {
    CallSyntax {
        key,
        span,
        callee,
        args: None,
        body: None,
        timeout: None,
        retry: None,
        approve: None,
        effect: None,
        returns: None,
        save_to: None,
        metadata: None,
        undo: None,
    }
}
