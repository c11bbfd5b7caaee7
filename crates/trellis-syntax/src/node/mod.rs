//! A node as written: every key of language 2 and 5 decoded, each value with its place. Nothing is resolved yet.
//!
//! Large and rare parts are boxed: a graph keeps all its nodes in this form.

mod rare;
mod speech;

use std::{sync::Arc, time::Duration};

pub use self::rare::RareList;
pub use self::speech::{LocalText, MessageSyntax, OnInvalidSyntax, OptionSyntax, OptionWrites, SpeechPartSyntax, SpeechSyntax};
use super::condition::Condition;
pub use trellis_base::language::{Effect, EndSyntax, InputType, OnBranchError, Retry};
use trellis_base::{
    id::{NodeId, SignalName},
    path::KeyPath,
    span::{Span, Spanned},
    template::{Shape, Template},
    value::{Key, Value},
};

/// One node as its author wrote it.
#[derive(Clone, Debug, Default)]
pub struct NodeSyntax {
    /// `id:` restating or replacing the path's id, or the key under `nodes:`.
    pub id: Option<Box<Spanned<NodeId>>>,
    /// `was:`, ids that sessions may still hold.
    pub was: RareList<Spanned<NodeId>>,
    /// The node as a whole: its frontmatter, or its mapping; empty at 0 for a file without any.
    pub span: Span,
    /// True if there was any frontmatter or mapping: a Markdown file without one may be a page (language 1.2).
    pub has_matter: bool,
    /// `type:`.
    pub kind: Option<Spanned<NodeKind>>,
    /// The body, or `content`/`text`/`message`; blank counts as none.
    pub content: Option<Spanned<SpeechSyntax>>,
    /// `messages:`.
    pub messages: RareList<MessageSyntax>,
    /// `input_type:`.
    pub input_type: Option<Spanned<InputType>>,
    /// `options:` or `input_options:`; the span is the whole list.
    pub options: Option<Spanned<Box<[OptionSyntax]>>>,
    /// `input_default:`.
    pub input_default: Option<Box<Spanned<Value>>>,
    /// `input_schema:`, a JSON Schema as written.
    pub input_schema: Option<Box<Spanned<Value>>>,
    /// `on_invalid:`.
    pub on_invalid: Option<Box<Spanned<OnInvalidSyntax>>>,
    /// `wait:`; `wait: false` is absent.
    pub wait: Option<Box<Spanned<Wait>>>,
    /// `timeout:`, of listening, or of the node's call.
    pub timeout: Option<Box<Spanned<Duration>>>,
    /// `metadata:`, a mapping.
    pub metadata: Option<Box<Spanned<Shape>>>,
    /// `do:` (or `tool_call:`).
    pub call: Option<Box<CallSyntax>>,
    /// `undo:`.
    pub undo: Option<Box<CallSyntax>>,
    /// `retry:` of the node's call.
    pub retry: Option<Box<Spanned<Retry>>>,
    /// `tools:`.
    pub tools: RareList<ToolRef>,
    /// `save_to:`.
    pub save_to: Option<Spanned<KeyPath>>,
    /// `set:`, in file order.
    pub set: RareList<AssignSyntax>,
    /// `append:`, in file order.
    pub append: RareList<AssignSyntax>,
    /// `required_context:`.
    pub required_context: RareList<Spanned<KeyPath>>,
    /// `default_context:`.
    pub default_context: RareList<AssignSyntax>,
    /// `context_schema:`, key to JSON Schema (short type names are already written out as schemas).
    pub context_schema: RareList<(Spanned<Key>, Spanned<Value>)>,
    /// `assert:`.
    pub asserts: RareList<Spanned<Condition>>,
    /// `to:` or `jump_to:` of the node itself.
    pub to: Option<TargetSyntax>,
    /// `transitions:`, in order.
    pub transitions: Box<[TransitionSyntax]>,
    /// The targets beside conditions that could not be read: their transitions are left out.
    pub unread: RareList<TargetSyntax>,
    /// `on_error:`.
    pub on_error: Option<Box<TargetSyntax>>,
    /// `on_denied:`.
    pub on_denied: Option<Box<TargetSyntax>>,
    /// `on_timeout:`, `on_interrupt:` and `on_signal:` alike, in file order; a signal named twice was already reported.
    pub on_signal: RareList<(Spanned<SignalName>, TargetSyntax)>,
    /// `max_visits:`.
    pub max_visits: Option<Spanned<u32>>,
    /// `on_max_visits:`.
    pub on_max_visits: Option<Box<TargetSyntax>>,
    /// `output:`.
    pub output: Option<Box<Spanned<Shape>>>,
    /// `end:`.
    pub end: Option<Spanned<EndSyntax>>,
    /// `reason:`, why a node with `end: failed` fails.
    pub reason: Option<Spanned<Template>>,
    /// Graph-wide keys in this node; legal in the entry node only (language 1, `misplaced-key` elsewhere).
    pub defaults: Option<Box<DefaultsSyntax>>,
    /// Relative links to `.md` files in a Markdown body: the destination as written (without fragment) and its place.
    pub links: RareList<Spanned<Arc<str>>>,
    /// The place of each top-level key, in file order, under its canonical name: for findings about a key's presence.
    pub keys: Box<[(&'static str, Span)]>,
    /// True if a key beside them has an unknown meaning: then the action of the node is unknown.
    pub is_unclear: bool,
}

impl NodeSyntax {
    /// The options, in order.
    pub fn options(&self) -> impl Iterator<Item = &OptionSyntax> {
        self.options.iter().flat_map(|options| &options.value)
    }

    /// Returns the writes of the options.
    pub fn option_writes(&self) -> impl Iterator<Item = &OptionWrites> {
        self.options().filter_map(|option| option.writes.as_deref())
    }

    /// Returns the parts of the content of the node, in any locale.
    pub fn speech_parts(&self) -> impl Iterator<Item = &SpeechPartSyntax> {
        let localised = self.messages.iter().filter_map(|message| message.content.as_ref());
        self.content.iter().chain(localised).flat_map(|speech| match &speech.value {
            SpeechSyntax::Text(_) => &[][..],
            SpeechSyntax::Parts(parts) => parts,
        })
    }

    /// Every target that the node names, called graphs included.
    pub fn targets(&self) -> impl Iterator<Item = &TargetSyntax> {
        let options = self.options().filter_map(|option| option.target.as_ref());
        let transitions = self.transitions.iter().filter_map(|transition| transition.target.as_ref());
        let recovery = [self.to.as_ref(), self.on_error.as_deref(), self.on_denied.as_deref(), self.on_max_visits.as_deref()];
        let graph_wide = self.defaults.iter();
        let invalid = self.on_invalid.as_ref().and_then(|invalid| invalid.value.to.as_ref());
        let signals = self.on_signal.iter().map(|(_, target)| target);
        let rolled_back = graph_wide.clone().filter_map(|defaults| defaults.on_rolled_back.as_ref());
        let defaults = graph_wide.clone().flat_map(|defaults| &defaults.on_signal_default).map(|(_, target)| target);
        let before_each = graph_wide.filter_map(|defaults| defaults.before_each.as_ref());
        let calls = self.call.iter().chain(&self.undo).chain(before_each).flat_map(|call| call.called());
        options
            .chain(transitions)
            .chain(recovery.into_iter().flatten())
            .chain(rolled_back)
            .chain(invalid)
            .chain(signals)
            .chain(defaults)
            .chain(calls)
    }

    /// Returns the place of a top-level key, if the node has it.
    pub fn key(&self, name: &str) -> Option<Span> {
        self.keys.iter().find(|(key, _)| *key == name).map(|(_, span)| *span)
    }
}

/// `type:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// `question`: makes the node listen.
    Question,
    /// `prompt`: the same.
    Prompt,
    /// `tool`: asserts `do`.
    Tool,
    /// `text`: asserts that there is no `do`.
    Text,
    /// `format`: the same.
    Format,
    /// `start`: the same.
    Start,
}

/// `wait:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `true`: any input continues.
    Input,
    /// A duration: sleep, then continue.
    Sleep(Duration),
}

/// One `key: value` of `set`, `append` or `default_context`.
#[derive(Clone, Debug)]
pub struct AssignSyntax {
    /// The path that is written.
    pub key: Spanned<KeyPath>,
    /// The value.
    pub value: Spanned<Shape>,
}

/// A target as written.
#[derive(Clone, Debug)]
pub struct TargetSyntax {
    /// `to`, `jump_to`, `on_error` …: the key that holds it.
    pub key: Spanned<&'static str>,
    /// The name written.
    pub name: Spanned<Arc<str>>,
}

impl TargetSyntax {
    /// Returns whether it resolves against the root first (`jump_to`, language 1.5).
    pub fn is_jump(&self) -> bool {
        self.key.value == "jump_to"
    }
}

/// One entry of `transitions:`.
#[derive(Clone, Debug)]
pub struct TransitionSyntax {
    /// The whole entry.
    pub span: Span,
    /// `condition:`; without one the transition is unconditional.
    pub condition: Option<Spanned<Condition>>,
    /// The target; a missing one was already reported.
    pub target: Option<TargetSyntax>,
    /// `text:`, a note for readers of the graph.
    pub text: Option<Box<Spanned<Arc<str>>>>,
}

/// Graph-wide keys (language 1, `trellis.yaml`).
#[derive(Clone, Debug, Default)]
pub struct DefaultsSyntax {
    /// `on_error:`; in `trellis.yaml` only.
    pub on_error: Option<TargetSyntax>,
    /// `retry:`; in `trellis.yaml` only.
    pub retry: Option<Spanned<Retry>>,
    /// `on_signal_default:`: by signal, `None` for a bare target that takes any signal.
    pub on_signal_default: Vec<(Option<Spanned<SignalName>>, TargetSyntax)>,
    /// `before_each:`.
    pub before_each: Option<Box<CallSyntax>>,
    /// `on_rolled_back:`.
    pub on_rolled_back: Option<TargetSyntax>,
}

/// A call as written (language 5).
#[derive(Clone, Debug)]
pub struct CallSyntax {
    /// The key that holds it (`do`, `undo`, `before_each`, a branch's name).
    pub key: Span,
    /// The whole value.
    pub span: Span,
    /// The callee.
    pub callee: CalleeSyntax,
    /// `args:`, a mapping.
    pub args: Option<Spanned<Shape>>,
    /// `body:`, the argument that takes this node's body.
    pub body: Option<Spanned<Key>>,
    /// `timeout:`.
    pub timeout: Option<Spanned<Duration>>,
    /// `retry:`.
    pub retry: Option<Spanned<Retry>>,
    /// `approve:`.
    pub approve: Option<Spanned<ApproveSyntax>>,
    /// `effect:`.
    pub effect: Option<Spanned<Effect>>,
    /// `returns:`, a JSON Schema as written.
    pub returns: Option<Spanned<Value>>,
    /// `save_to:` inside the call.
    pub save_to: Option<Spanned<KeyPath>>,
    /// `metadata:`.
    pub metadata: Option<Spanned<Shape>>,
    /// `undo:` of a branch of `parallel` (language 10.6).
    pub undo: Option<Box<CallSyntax>>,
}

impl CallSyntax {
    /// The graphs that the call begins, each by its target.
    pub fn called(&self) -> Vec<&TargetSyntax> {
        match &self.callee {
            CalleeSyntax::Graph(target) => vec![target],
            CalleeSyntax::Parallel(branches, _) => {
                let branches = branches.iter().flat_map(|(_, branch)| std::iter::once(branch).chain(branch.undo.as_deref()));
                branches.flat_map(CallSyntax::called).collect()
            }
            CalleeSyntax::Tool(_) | CalleeSyntax::Each(..) => Vec::new(),
        }
    }
}

/// The callee of a call.
#[derive(Clone, Debug)]
pub enum CalleeSyntax {
    /// `name:`, or a bare name.
    Tool(Spanned<Arc<str>>),
    /// `graph:` (language 5.4).
    Graph(TargetSyntax),
    /// `parallel:` (language 5.5), branches in file order.
    Parallel(Vec<(Spanned<Key>, CallSyntax)>, CompositeSyntax),
    /// `each:` (language 5.5), the path of the list.
    Each(Spanned<KeyPath>, CompositeSyntax),
}

/// The settings that `parallel` and `each` share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompositeSyntax {
    /// `join: any`; `all` without it.
    pub any: bool,
    /// `on_error:`; each form has its own default.
    pub on_error: Option<OnBranchError>,
    /// `limit:`, how many run at once.
    pub limit: Option<u32>,
}

/// `approve:`; `approve: true` and a bare text are short forms.
#[derive(Clone, Debug)]
pub struct ApproveSyntax {
    /// The question.
    pub ask: Option<Spanned<Template>>,
    /// The question by locale.
    pub messages: Vec<LocalText>,
    /// The time that the approval may take, from when it was asked.
    pub expires: Option<Spanned<Duration>>,
}

/// One entry of `tools:`.
#[derive(Clone, Debug)]
pub enum ToolRef {
    /// A definition in place.
    Inline(ToolSyntax),
    /// The name of a bound tool.
    Name(Spanned<Arc<str>>),
    /// A library: anything with `/` or an extension (language 1.7).
    Library(Spanned<Arc<str>>),
}

/// A tool's contract as written.
#[derive(Clone, Debug)]
pub struct ToolSyntax {
    /// The whole definition.
    pub span: Span,
    /// `name:`; nothing was reported yet when it is missing (`nameless-tool`).
    pub name: Option<Spanned<Arc<str>>>,
    /// `description:`.
    pub description: Option<Arc<str>>,
    /// `parameters:`, a JSON Schema as written.
    pub parameters: Option<Spanned<Value>>,
    /// `returns:`, a JSON Schema as written (also `output_schema`).
    pub returns: Option<Spanned<Value>>,
    /// `effect:`.
    pub effect: Option<Spanned<Effect>>,
    /// `timeout:`.
    pub timeout: Option<Spanned<Duration>>,
    /// `retry:`.
    pub retry: Option<Spanned<Retry>>,
}
