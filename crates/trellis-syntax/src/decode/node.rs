//! One node: which key belongs to which verb (language 2).

use std::borrow::Cow;

use super::{
    Decoder, Form,
    act::{CALL, RETRY},
    decide::TRANSITION,
    form::{Inside, SeenKeys},
    listen::{ON_INVALID, OPTION},
    say::{MESSAGE, SPEECH},
    tools::TOOL,
};
use crate::{
    node::{NodeKind, NodeSyntax},
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic},
    id::NodeId,
    span::{Span, Spanned},
};

const IN_CALL: &str = "it belongs inside `do`";
const OF_PROJECT: &str = "it holds for the whole graph: put it into `trellis.yaml`";

/// The keys of a node.
pub(crate) static NODE: Form = Form {
    aliases: &[("text", "content"), ("message", "content"), ("tool_call", "do"), ("input_options", "options")],
    inside: &[
        ("options", Inside::Each(&OPTION)),
        ("on_invalid", Inside::One(&ON_INVALID)),
        ("content", Inside::Each(&SPEECH)),
        ("messages", Inside::Each(&MESSAGE)),
        ("tools", Inside::Each(&TOOL)),
        ("do", Inside::One(&CALL)),
        ("undo", Inside::One(&CALL)),
        ("retry", Inside::One(&RETRY)),
        ("transitions", Inside::Each(&TRANSITION)),
        ("before_each", Inside::One(&CALL)),
    ],
    elsewhere: &[
        ("next", Some("to"), "write `to`"),
        ("to_node_id", Some("to"), "write `to`"),
        ("from", None, "a transition is written at the node it leaves: remove `from`"),
        ("from_node_id", None, "a transition is written at the node it leaves: remove `from_node_id`"),
        ("condition", None, "it belongs inside an entry of `transitions`"),
        ("if", None, "a condition belongs inside an entry of `transitions`: `{ condition: …, to: … }`"),
        ("when", None, "a condition belongs inside an entry of `transitions`: `{ condition: …, to: … }`"),
        ("call", Some("do"), "write `do`"),
        ("tool", Some("do"), "write `do`; what may be called stands in `tools`"),
        ("action", Some("do"), "write `do`"),
        ("input", Some("input_type"), "write `input_type`"),
        ("question", Some("content"), "write it below the frontmatter; in YAML and JSON it is `content`"),
        ("prompt", Some("content"), "write it below the frontmatter; in YAML and JSON it is `content`"),
        ("default", Some("input_default"), "write `input_default`"),
        ("inputs", None, OF_PROJECT),
        ("context", None, OF_PROJECT),
        ("predicates", None, OF_PROJECT),
        ("bindings", None, OF_PROJECT),
        ("limits", None, OF_PROJECT),
        ("severity", None, OF_PROJECT),
        ("name", None, "a node is named by its file, or by `id`; the name of a tool belongs inside `do`"),
        ("graph", None, IN_CALL),
        ("parallel", None, IN_CALL),
        ("each", None, IN_CALL),
        ("join", None, IN_CALL),
        ("limit", None, IN_CALL),
        ("args", None, IN_CALL),
        ("arguments", None, "it belongs inside `do`, as `args`"),
        ("params", None, "it belongs inside `do`, as `args`"),
        ("parameters", None, "it belongs inside `do`, as `args`"),
        ("with", None, "it belongs inside `do`, as `args`"),
        ("body", None, "the body is what follows the frontmatter; in YAML and JSON it is `content`"),
        ("approve", None, IN_CALL),
        ("effect", None, IN_CALL),
        ("returns", None, IN_CALL),
        ("output_schema", None, "it belongs inside `do`, as `returns`"),
        ("confirm_msg", None, "write `approve: { ask: … }` inside `do`"),
        ("description", None, "write it as a comment, or as `x-description`"),
    ],
    ..Form::new(
        "a node",
        &[
            "id",
            "was",
            "type",
            "max_visits",
            "on_max_visits",
            "default_context",
            "required_context",
            "context_schema",
            "assert",
            "content",
            "input_type",
            "options",
            "input_default",
            "input_schema",
            "on_invalid",
            "wait",
            "metadata",
            "messages",
            "tools",
            "do",
            "undo",
            "retry",
            "save_to",
            "set",
            "append",
            "on_error",
            "on_denied",
            "timeout",
            "on_timeout",
            "on_interrupt",
            "on_signal",
            "transitions",
            "to",
            "jump_to",
            "end",
            "reason",
            "output",
            "on_signal_default",
            "before_each",
            "on_rolled_back",
        ],
    )
};

/// Keys that files of other programs have, and that authors of nodes may write as well.
const SHARED: [&str; 3] = ["name", "description", "type"];

impl<'t> Decoder<'t, '_> {
    /// Reports a file that belongs to another program, such as `package.json`: it has several keys, and none of them is of a node. Returns whether it
    /// is one. A `start` never is.
    pub(crate) fn report_foreign(&mut self, entries: &[YamlEntry<'t>]) -> bool {
        let file = self.report.path.rsplit('/').next().unwrap_or_default();
        let is_start = file.rsplit_once('.').is_some_and(|(stem, _)| stem == "start");
        let is_shared = |key: &str| SHARED.contains(&key);
        let is_foreign = |key: &str| is_shared(key) || (!NODE.knows(key) && self.near(key, NODE.keys.iter().copied()).is_none());
        let named = entries.iter().filter(|entry| is_shared(&entry.key)).count();
        // A single key that holds no mapping may be one of a node in other words.
        let is_large = entries.len() > 1 || entries.iter().any(|entry| matches!(entry.value.data, YamlData::Map(_)));
        let is_other = is_large && !is_start && entries.iter().all(|entry| is_foreign(&entry.key));
        // A node may have a name and a kind by mistake, but hardly nothing else.
        if !is_other || (named == entries.len() && !entries.iter().any(|entry| entry.key == "description")) {
            return false;
        }
        let message = format!("`{}` has no key of a node", shown(file));
        let found = self.finding(Code::UnknownKey, entries[0].span, message);
        self.report.push(found.help("leave a file of another program out: list it in `.gitignore`, or begin its name with `_`"));
        true
    }
}

pub(super) const KINDS: [(&str, NodeKind); 6] = [
    ("question", NodeKind::Question),
    ("prompt", NodeKind::Prompt),
    ("tool", NodeKind::Tool),
    ("text", NodeKind::Text),
    ("format", NodeKind::Format),
    ("start", NodeKind::Start),
];

impl<'t> Decoder<'t, '_> {
    /// Decodes a node from its mapping.
    pub(crate) fn node(&mut self, entries: &[YamlEntry<'t>], span: Span) -> NodeSyntax {
        let mut node = NodeSyntax { span, has_matter: true, ..NodeSyntax::default() };
        let (mut metadata, mut call) = (None, None);
        let seen = self.each(entries, &NODE, |decoder, key, entry| match key {
            "id" => node.id = decoder.id(key, &entry.value).map(Box::new),
            "was" => node.was = decoder.ids(key, &entry.value).into(),
            "type" => node.kind = decoder.kind(entry, entries),
            "metadata" => metadata = Some(entry),
            "content" | "messages" => decoder.say(&mut node, key, entry),
            "input_type" | "options" | "input_default" | "input_schema" | "on_invalid" | "wait" | "timeout" => {
                decoder.listen(&mut node, key, entry)
            }
            "do" | "undo" | "retry" | "tools" => {
                call = call.or((key == "do").then_some(entry));
                decoder.act(&mut node, key, entry);
            }
            "save_to" | "set" | "append" | "required_context" | "default_context" | "context_schema" | "assert" => {
                decoder.remember(&mut node, key, entry)
            }
            "on_signal_default" | "before_each" | "on_rolled_back" => decoder.default(node.defaults.get_or_insert_default(), key, entry),
            _ => decoder.decide(&mut node, key, entry),
        });
        // Only now it is known whether there is a call that `confirm_msg` speaks of.
        if let Some(entry) = metadata {
            self.metadata(&mut node, call, entry);
        }
        self.exclude(&seen);
        (node.keys, node.is_unclear) = (seen.keys.into(), seen.unknown);
        share_paths(&mut node);
        node
    }

    /// `type:`. The one of Go Trellis's sinks has no meaning here.
    fn kind(&mut self, entry: &YamlEntry<'t>, entries: &[YamlEntry<'t>]) -> Option<Spanned<NodeKind>> {
        let before = self.report.diagnostics.len();
        let kind = self.one_of("type", &KINDS, &entry.value);
        if Self::spelled(&entry.value).is_some_and(|text| text == "sink") {
            let gone = self.taken_out(entry, entries);
            let sink = self.report.diagnostics.split_off(before);
            let help = |found: Diagnostic| found.help("remove it: a node without transitions ends the session");
            let fixed =
                sink.into_iter().map(help).map(|found| gone.into_iter().fold(found, |found, gone| found.fix("remove the key", gone, "")));
            self.report.diagnostics.extend(fixed);
        }
        kind
    }

    fn id(&mut self, key: &str, value: &YamlNode<'t>) -> Option<Spanned<NodeId>> {
        self.name(key, value).map(|name| name.map(|name| NodeId::new(&*name)))
    }

    fn ids(&mut self, key: &str, value: &YamlNode<'t>) -> Vec<Spanned<NodeId>> {
        let items = self.list(key, "a list of ids", value).unwrap_or_default();
        items.iter().filter_map(|item| self.id(key, item)).collect()
    }

    /// `metadata`, and Go Trellis's `confirm_msg` in it: the question of an approval (language 2.2).
    fn metadata(&mut self, node: &mut NodeSyntax, call: Option<&YamlEntry<'t>>, entry: &YamlEntry<'t>) {
        if self.mapping("metadata", "a mapping", &entry.value).is_none() {
            return;
        }
        let approve = call.and_then(|call| entry_of(&call.value, "approve"));
        let rest = match &mut node.call {
            Some(call) => self.confirm(call, approve, entry),
            None => Some(Cow::Borrowed(&entry.value)),
        };
        node.metadata = rest.map(|rest| Box::new(self.shape(false, &rest)));
    }

    /// Reports keys that exclude each other.
    fn exclude(&mut self, seen: &SeenKeys) {
        if let (Some(to), Some(jump)) = (seen.get("to"), seen.get("jump_to")) {
            let (first, second) = (to.min(jump), to.max(jump));
            let found = self.finding(Code::DuplicateKey, second, "`to` and `jump_to` exclude each other");
            let path = self.report.path.clone();
            self.report.push(found.label(&path, first, "first here").help("keep one: `jump_to` looks at the root first"));
        }
    }
}

/// The entry of a mapping under a key.
pub(super) fn entry_of<'n, 't>(of: &'n YamlNode<'t>, key: &str) -> Option<&'n YamlEntry<'t>> {
    match &of.data {
        YamlData::Map(entries) => entries.iter().find(|entry| entry.key == key),
        _ => None,
    }
}

/// Shares equal paths: most conditions of a node ask about the same key, which is the one that it saves.
fn share_paths(node: &mut NodeSyntax) {
    let mut known = node.save_to.as_ref().map(|path| path.value.clone());
    for condition in node.transitions.iter_mut().filter_map(|transition| transition.condition.as_mut()) {
        let subject = &mut condition.value.subject;
        match &known {
            Some(known) if known == subject => *subject = known.clone(),
            _ => known = Some(subject.clone()),
        }
    }
}
