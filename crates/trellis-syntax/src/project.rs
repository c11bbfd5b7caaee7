//! `trellis.yaml` and `tools.yaml` as written (language 1).

use std::sync::Arc;

pub use super::config::HostConfig;
use super::node::{DefaultsSyntax, ToolSyntax};
pub use trellis_base::language::DEEPEST;
use trellis_base::{
    diagnostic::{Code, Severity},
    path::KeyPath,
    schema::SchemaWord,
    span::Spanned,
    template::Dialect,
    value::{Key, Value},
};

/// A project file.
#[derive(Clone, Debug, Default)]
pub struct ProjectSyntax {
    /// `name:`.
    pub name: Option<Spanned<Arc<str>>>,
    /// `templates:`.
    pub templates: Option<Spanned<Dialect>>,
    /// `inputs:`, a JSON Schema as written.
    pub inputs: Option<Spanned<Value>>,
    /// `context:`, key to JSON Schema (short type names written out).
    pub context: Vec<(Spanned<Key>, Spanned<Value>)>,
    /// `predicates:`.
    pub predicates: Vec<PredicateSyntax>,
    /// `bindings:`, or the tools of `tools.yaml`.
    pub bindings: Vec<BindingSyntax>,
    /// `servers:`, `models:`, `policy:` and `budget:`.
    pub host: HostConfig,
    /// `limits:`.
    pub limits: LimitsSyntax,
    /// `redact:`.
    pub redact: Vec<Spanned<KeyPath>>,
    /// `locale:`, the context key that holds it.
    pub locale: Option<Spanned<Key>>,
    /// `severity:`, by code; `None` switches a code off.
    pub severity: Vec<(Spanned<Code>, Option<Severity>)>,
    /// The graph-wide defaults.
    pub defaults: DefaultsSyntax,
}

/// A declared predicate (language 6.2).
#[derive(Clone, Debug)]
pub struct PredicateSyntax {
    /// Its name.
    pub name: Spanned<Arc<str>>,
    /// The source of its answers.
    pub answer: PredicateAnswer,
    /// The keys that its schema names.
    pub keys: Vec<SchemaKeySyntax>,
}

/// A key that the schema of a predicate names, at any depth.
#[derive(Clone, Debug)]
pub struct SchemaKeySyntax {
    /// The path of the key in the context.
    pub path: Spanned<KeyPath>,
    /// The words of the schema about its value.
    pub words: Vec<SchemaWord>,
    /// True if it has to be set before the predicate is asked; false if only an alternative names it, or the schema asks whether it is there.
    pub is_needed: bool,
}

/// The source of a predicate's answers.
#[derive(Clone, Debug)]
pub enum PredicateAnswer {
    /// The host; `needs` are keys that must be set when it is asked.
    Host {
        /// `needs:`.
        needs: Vec<Spanned<KeyPath>>,
    },
    /// The core, by a JSON Schema over the context.
    Schema(Spanned<Value>),
    /// A bound tool that answers with a boolean.
    Binding {
        /// Its name.
        tool: Spanned<Arc<str>>,
        /// `needs:`, the keys that it gets; without it those that its `parameters` name.
        needs: Option<Vec<Spanned<KeyPath>>>,
    },
}

/// A bound tool: its contract, and how a host carries it out.
#[derive(Clone, Debug)]
pub struct BindingSyntax {
    /// The contract; the name is always there.
    pub tool: ToolSyntax,
    /// The settings that a host reads (`process`, `http`, `mcp`, `model`, `function`, `env`, `cwd`, …): the keys that are not the contract's.
    pub config: HostConfig,
}

/// `limits:` as written; `None` where the default holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsSyntax {
    /// Bytes of one input.
    pub input: Option<u64>,
    /// Levels of a value that comes in.
    pub depth: Option<u64>,
    /// Bytes of one value.
    pub value: Option<u64>,
    /// Bytes of a context.
    pub context: Option<u64>,
    /// Bytes of one rendered template.
    pub template_output: Option<u64>,
    /// Instructions of one rendered template.
    pub template_fuel: Option<u64>,
    /// Steps through nodes that do not stop, in a row.
    pub pass_through: Option<u64>,
    /// Bytes of one tool output.
    pub tool_output: Option<u64>,
    /// Bytes that one tool writes on standard error.
    pub tool_stderr: Option<u64>,
    /// Calls with `undo` that are remembered at once.
    pub effects: Option<u64>,
    /// `abreast`
    pub abreast: Option<u64>,
    /// `parts`
    pub parts: Option<u64>,
    /// `parts_output`
    pub parts_output: Option<u64>,
    /// `children`
    pub children: Option<u64>,
    /// `nested_children`
    pub nested_children: Option<u64>,
}
