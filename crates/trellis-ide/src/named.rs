//! Names as files write them, before their meanings are looked up.

use std::sync::Arc;

use super::{OccurrenceKind, Symbol};
use trellis_base::{span::Span, value::Key};

/// A name as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The node that holds it.
    Node,
    Target {
        name: Arc<str>,
        is_jump: bool,
        is_call: bool,
    },
    Key(Key),
    /// A key of the graph that a call begins.
    Argument {
        key: Key,
        target: Arc<str>,
        is_jump: bool,
    },
    /// A bare name in a condition: a predicate, or else a key.
    Bare(Key),
    Tool(Arc<str>),
    Predicate(Arc<str>),
    Signal(Arc<str>),
    /// The id of a node, as `sys.node` is compared with it.
    Id(Arc<str>),
    /// The value of an option of the node that holds it.
    Option(Arc<str>),
}

impl Name {
    /// Returns true if it may mean a symbol, by its spelling alone.
    pub(super) fn may_name(&self, symbol: &Symbol) -> bool {
        match (self, symbol) {
            (Self::Node, Symbol::Node(_)) => true,
            (Self::Id(name), Symbol::Node(id)) => **name == *id.as_str(),
            (Self::Option(value), Symbol::Option(_, wanted)) => value == wanted,
            (Self::Target { name, .. }, Symbol::Node(id)) => {
                let last = name.rsplit('/').next().unwrap_or(name);
                let folder = id.folder();
                last == id.name() || id.is_start() && last == folder.rsplit('/').next().unwrap_or(folder)
            }
            (Self::Key(key) | Self::Argument { key, .. } | Self::Bare(key), Symbol::Key(_, wanted)) => key == wanted,
            (Self::Bare(name) | Self::Predicate(name), Symbol::Predicate(_, wanted)) => **name == **wanted,
            (Self::Tool(name), Symbol::Tool(wanted)) | (Self::Signal(name), Symbol::Signal(wanted)) => name == wanted,
            _ => false,
        }
    }
}

/// A name with its place.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: Name,
    pub(super) span: Span,
    pub(super) kind: OccurrenceKind,
    pub(super) is_exact: bool,
    /// The index of its node in the file; `u32::MAX` for a name outside of nodes.
    pub(super) ordinal: u32,
}
