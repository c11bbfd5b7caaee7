//! Writes: the answer, `save_to`, `set`, `append`, `default_context` (language 2, remember).

use super::{
    fail::{Stop, with_article},
    step::Move,
};
use crate::{
    program::{Bound, Excess, Failure, Write, WriteSource, WriteTarget},
    state::{ContextWrite, PartName},
};
use trellis_base::{
    context::TooLarge,
    id::NodeId,
    path::{KeyPath, walk},
    value::{Key, Value},
};

impl Move<'_> {
    /// Makes one write; a failing one changes nothing.
    pub(super) fn write(&mut self, node: &NodeId, write: &Write) -> Result<(), Stop> {
        if let WriteTarget::Absent(key) = &write.to
            && self.state.context.contains(key)
        {
            return Ok(());
        }
        let Some(value) = self.source(node, &write.value)? else { return Ok(()) };
        match &write.to {
            WriteTarget::Input => self.input = Some(value),
            WriteTarget::Ans => self.state.system_context.ans = Some(value),
            WriteTarget::Error => self.state.system_context.error = Some(value),
            WriteTarget::Absent(key) => {
                self.hold(node, key, value)?;
                self.wrote.push(ContextWrite::Set(key.clone()));
            }
            WriteTarget::Path(path) => self.assign(node, path, value)?,
            WriteTarget::Append(path) => self.append(node, path, value)?,
        }
        Ok(())
    }

    fn source(&self, node: &NodeId, from: &WriteSource) -> Result<Option<Value>, Stop> {
        match from {
            WriteSource::Input => Ok(self.input.clone()),
            WriteSource::Error => Ok(self.error.clone()),
            WriteSource::Shape(shape) => self.evaluate(node, shape),
            WriteSource::Branch(name) => Ok(self.branch(name)),
        }
    }

    /// Returns the result of a branch that succeeded.
    fn branch(&self, name: &Key) -> Option<Value> {
        let has_failed = self.failed_parts.iter().any(|part| matches!(part, PartName::Branch(failed) if failed == name));
        self.tool_result.as_ref()?.as_map()?.get(name).filter(|_| !has_failed).cloned()
    }

    fn assign(&mut self, node: &NodeId, path: &KeyPath, value: Value) -> Result<(), Stop> {
        self.write_at(node, path, value)?;
        self.wrote.push(ContextWrite::Set(path.root().clone()));
        Ok(())
    }

    fn write_at(&mut self, node: &NodeId, path: &KeyPath, value: Value) -> Result<(), Stop> {
        let root = self.state.context.root_with(path, value);
        let root = root.map_err(|error| Stop::failed(Failure::Write, node, format!("`{node}`: {error}")))?;
        self.hold(node, path.root(), root)
    }

    /// Stores a value under a key, within the bounds.
    fn hold(&mut self, node: &NodeId, key: &Key, value: Value) -> Result<(), Stop> {
        let limits = self.program.limits();
        limits.keep(&value).map_err(|excess| Stop::excess(node, &format!("`{key}`"), excess))?;
        let held = self.state.context.insert_within(limits.context, key.clone(), value);
        held.map_err(|TooLarge { met }| {
            let excess = Excess { bound: Bound::Context, met, limit: limits.context };
            Stop::excess(node, &format!("with `{key}` the context"), excess)
        })
    }

    fn append(&mut self, node: &NodeId, path: &KeyPath, value: Value) -> Result<(), Stop> {
        let list = self.state.context.list_with(path, value).map_err(|other| {
            let kind = with_article(other.kind());
            Stop::failed(Failure::Write, node, format!("`{node}`: nothing can be appended to `{path}`: it is {kind}, not a list"))
        })?;
        self.write_at(node, path, list.into())?;
        self.wrote.push(ContextWrite::Append(path.clone()));
        Ok(())
    }

    /// Returns whether a context path has no value.
    pub(super) fn missing(&self, path: &KeyPath) -> bool {
        self.state.context.get(path.root()).and_then(|root| walk(root, path.rest())).is_none()
    }
}
