//! The values that templates and guards can read: the context, `sys`, and while a node resolves its `input` and `tool_result` (language 4.1–4.3).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::{
    context::Context,
    id::{NodeId, SessionId},
    path::{KeyPath, Segment, walk},
    value::{Mapping, Value},
};

/// Names that no author may write (language 4.1).
pub const RESERVED: [&str; 3] = ["input", "tool_result", "sys"];

/// A cheap, owned view of all that can be read at one moment.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The session's context.
    pub context: Context,
    /// `sys`.
    pub sys: Sys,
    /// `input`: the accepted input or the bare result.
    pub input: Option<Value>,
    /// `tool_result`: the bare result, on acting nodes.
    pub tool_result: Option<Value>,
}

impl Scope {
    /// Creates the scope of a binding's templates: the arguments of a call by their names, and `call` with what it is; nothing of the session
    /// (language 9.2).
    pub fn of_call(args: &Mapping, call: Mapping) -> Self {
        let mut names = args.clone();
        names.insert("call".into(), call.into());
        let named = |name| args.get(name).cloned();
        let sys = Sys { is_absent: !args.contains("sys"), ..named("sys").map(Sys::from).unwrap_or_default() };
        Self { input: named("input"), tool_result: named("tool_result"), sys, context: Context::new(names) }
    }

    /// The value of a top-level name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match name {
            "input" => self.input.as_ref(),
            "tool_result" => self.tool_result.as_ref(),
            "sys" => (!self.sys.is_absent).then(|| self.sys.whole()),
            key => self.context.get(key),
        }
    }

    /// The value at a path.
    pub fn lookup(&self, path: &KeyPath) -> Option<&Value> {
        match &**path.root() {
            "sys" if !self.sys.is_absent => self.sys.lookup(path.rest()),
            root => walk(self.get(root)?, path.rest()),
        }
    }
}

/// `sys` (language 4.2): a mapping that is only built when something reads it as one.
#[derive(Clone, Debug, Default)]
pub struct Sys {
    facts: Option<SysValues>,
    /// True where nothing is called `sys`.
    is_absent: bool,
    whole: OnceLock<Value>,
}

/// The stored part of `sys` (language 4.2); `sys.session`, `sys.node`, `sys.step` and `sys.visits` follow from the state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// `sys.ans`.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub ans: Option<Value>,
    /// `sys.error`.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// `sys.rollback`: `{failed: [{tool, node, message}], irreversible: [{tool, node}]}`.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Value>,
}

/// The parts of `sys`.
#[derive(Clone, Debug)]
pub struct SysValues {
    /// `sys.session`.
    pub session: SessionId,
    /// `sys.node`.
    pub node: NodeId,
    /// `sys.step`.
    pub step: u64,
    /// `sys.visits`.
    pub visits: Option<u32>,
    /// Its stored part.
    pub context: System,
}

impl Sys {
    /// Creates `sys` of its parts.
    pub fn new(facts: SysValues) -> Self {
        Self { facts: Some(facts), is_absent: false, whole: OnceLock::new() }
    }

    /// `sys` as one mapping.
    pub fn whole(&self) -> &Value {
        self.whole.get_or_init(|| self.facts.as_ref().map_or_else(Mapping::new, SysValues::mapping).into())
    }

    fn lookup(&self, rest: &[Segment]) -> Option<&Value> {
        if let (Some(facts), Some((Segment::Key(key), rest))) = (&self.facts, rest.split_first()) {
            match &**key {
                "ans" => return walk(facts.context.ans.as_ref()?, rest),
                "error" => return walk(facts.context.error.as_ref()?, rest),
                _ => {}
            }
        }
        walk(self.whole(), rest)
    }
}

impl From<Value> for Sys {
    /// A `sys` that is already a mapping.
    fn from(whole: Value) -> Self {
        Self { facts: None, is_absent: false, whole: whole.into() }
    }
}

impl SysValues {
    fn mapping(&self) -> Mapping {
        let context = [("ans", &self.context.ans), ("error", &self.context.error), ("rollback", &self.context.rollback)];
        let context = context.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        let own =
            [("session", Value::Text(self.session.shared())), ("node", Value::Text(self.node.shared())), ("step", Value::from(self.step))];
        let visits = self.visits.map(|visits| ("visits", Value::from(visits)));
        own.into_iter().chain(visits).chain(context).collect()
    }
}

impl System {
    /// Returns whether every value is the same to the last bit: equal values may still print otherwise.
    pub fn is_same(&self, other: &Self) -> bool {
        let pairs = [(&self.ans, &other.ans), (&self.error, &other.error), (&self.rollback, &other.rollback)];
        pairs.into_iter().all(|pair| match pair {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sys_reads_the_same_by_path_and_as_a_mapping() {
        let context = System { ans: Some(Value::map([("id", Value::Int(7))])), ..System::default() };
        let facts = SysValues { session: "s".into(), node: "a/b".into(), step: 3, visits: None, context };
        let scope = Scope { sys: Sys::new(facts), ..Scope::default() };
        let at = |path: &str| scope.lookup(&KeyPath::parse(path).unwrap()).map(Value::to_json);
        assert_eq!(at("sys.ans.id").as_deref(), Some("7"));
        assert_eq!(at("sys.error"), None);
        assert_eq!(at("sys.visits"), None);
        assert_eq!(at("sys").as_deref(), Some(r#"{"ans":{"id":7},"node":"a/b","session":"s","step":3}"#));
    }
}
