//! Failures that stop a step halfway, and their messages (language 7.3).
//!
//! **Invariant:** a message names its node, and never an input: it may have been a secret.

use super::{Unanswered, speech::Unsaid, step::Move};
use crate::program::{Excess, Failure, Guard, Node, Operand, PointIndex};
use trellis_base::{id::NodeId, path::KeyPath, span::Span, template::TemplateError, value::Value};

/// `message` of a denial that came without a reason.
pub(super) const DENIED: &str = "denied";

/// A reason that stops a step.
#[derive(Debug)]
pub(super) enum Stop {
    /// It ends the session.
    Failed(Box<Failed>),
    /// It did not happen: this deferred predicate must be answered first.
    Unanswered(Box<Unanswered>),
}

/// A failure: a step to the end.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) failure: Failure,
    pub(super) node: NodeId,
    pub(super) message: String,
    /// The place of the text that failed, where it is known.
    pub(super) span: Option<Span>,
    /// The document of that text, if it is not the node's.
    pub(super) document: Option<u32>,
}

impl Stop {
    pub(super) fn failed(failure: Failure, node: &NodeId, message: impl Into<String>) -> Self {
        Self::Failed(Box::new(Failed { failure, node: node.clone(), message: message.into(), span: None, document: None }))
    }

    /// Adds the place of the text that failed.
    pub(super) fn at(mut self, span: Option<Span>) -> Self {
        if let Self::Failed(failed) = &mut self {
            failed.span = failed.span.or(span);
        }
        self
    }

    /// Sets the document of the text that failed: it is not that of the node.
    pub(super) fn of_document(mut self, document: u32) -> Self {
        if let Self::Failed(failed) = &mut self {
            failed.document = Some(document);
        }
        self
    }

    pub(super) fn template(node: &NodeId, error: &TemplateError) -> Self {
        Self::failed(Failure::Template, node, format!("`{node}`: {error}")).at(error.span)
    }

    pub(super) fn limit(node: &NodeId, what: &str, limit: u64, met: u64) -> Self {
        Self::failed(Failure::Limit, node, format!("`{node}`: {met} {what}, the limit is {limit}"))
    }

    /// `what` exceeds a bound.
    pub(super) fn excess(node: &NodeId, what: &str, excess: Excess) -> Self {
        Self::failed(Failure::Limit, node, format!("`{node}`: {what} {excess}"))
    }

    /// A guard that cannot be decided over `value`.
    pub(super) fn undecided(node: &NodeId, guard: &Guard, value: Option<&Value>) -> Self {
        Self::failed(Failure::Condition, node, format!("`{node}`: {}", undecided(guard, value)))
    }

    pub(super) fn unsaid(node: &NodeId, unsaid: &Unsaid) -> Self {
        Self::failed(unsaid.failure, node, format!("`{node}`: {}", unsaid.message)).at(unsaid.span)
    }

    pub(super) fn unneeded(node: &NodeId, predicate: &str, path: &KeyPath) -> Self {
        Self::failed(Failure::Condition, node, format!("`{node}`: {}", unneeded(predicate, path)))
    }
}

/// Returns the reason why a predicate cannot be asked.
pub(super) fn unneeded(predicate: &str, path: &KeyPath) -> String {
    format!("the predicate `{predicate}` needs `{path}`, which is not set")
}

/// Returns the reason why a guard cannot be decided over `value`.
pub(super) fn undecided(guard: &Guard, value: Option<&Value>) -> String {
    match (guard.operand().map(|operand| &operand.path), value) {
        (Some(path), None) => format!("the condition reads `{path}`, which is not set"),
        (Some(path), Some(value)) => format!("the condition takes `{path}` for a boolean, it is {}", with_article(value.kind())),
        (None, _) => "a condition could not be decided".to_owned(),
    }
}

/// `an integer`, `a list`, but `text` and `null`.
pub(super) fn with_article(kind: &str) -> String {
    match kind {
        "text" | "null" => kind.to_owned(),
        "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

impl Move<'_> {
    /// Describes the failure that an edge of `point` leads to.
    pub(super) fn account(&self, failure: Failure, node: &Node, point: PointIndex) -> String {
        let id = &node.id;
        let since = |error: Option<&Value>| error.map(|error| format!(", since {}", cause(error))).unwrap_or_default();
        match failure {
            Failure::Fail => format!("`{id}` leads to `fail`{}", since(self.error.as_ref())),
            Failure::End => {
                let error = self.state.system_context.error.as_ref().filter(|_| self.state.after_error);
                format!("`{id}` ends as failed{}", since(error))
            }
            Failure::NoMatch => self.no_match(id, point),
            Failure::ToolError => format!("`{id}`: {}", self.error.as_ref().map(cause).unwrap_or_default()),
            Failure::Timeout if self.error.is_some() => format!("`{id}`: `{}` took too long", part(self.error.as_ref(), "tool")),
            Failure::Timeout => format!("`{id}`: no input came in time"),
            Failure::MaxVisits => {
                let limit = node.entry.max_visits.unwrap_or_default();
                format!("`{id}` was to be entered once more, `max_visits` is {limit}")
            }
            Failure::InvalidInput => format!("`{id}`: {} invalid inputs", self.state.attempt),
            other => format!("`{id}`: {}", other.as_str()),
        }
    }

    /// Describes a denial that ends the session.
    pub(super) fn denial(&self, node: &Node) -> String {
        format!("`{}`: {}", node.id, self.error.as_ref().map(cause).unwrap_or_default())
    }

    /// Names the paths that the conditions of the node read, since none of them held.
    fn no_match(&self, id: &NodeId, point: PointIndex) -> String {
        let mut read: Vec<&KeyPath> = self.program.out_edges(point).filter_map(|out| out.edge.when.operand()).map(operand_path).collect();
        read.sort();
        read.dedup();
        if read.is_empty() {
            return format!("`{id}`: no transition matches");
        }
        let names: Vec<_> = read.iter().map(|path| format!("`{path}`")).collect();
        format!("`{id}`: no transition matches {}", names.join(", "))
    }
}

/// Returns what became of the call that a value of `sys.error` is about.
fn cause(error: &Value) -> String {
    let part = |key| part(Some(error), key);
    match (&*part("kind"), part("tool"), part("message")) {
        ("denied", tool, reason) if reason == DENIED => format!("`{tool}` was denied"),
        ("denied", tool, reason) => format!("`{tool}` was denied: {reason}"),
        (_, tool, message) => format!("`{tool}` failed: {message}"),
    }
}

/// Returns an entry of a value of `sys.error` as text.
fn part(error: Option<&Value>, key: &str) -> String {
    error.and_then(Value::as_map).and_then(|error| error.get(key)).map(Value::to_string).unwrap_or_default()
}

fn operand_path(operand: &Operand) -> &KeyPath {
    &operand.path
}
