//! Writes: the answer, `save_to`, `set`, `append`, `default_context` (language 2, remember).

use std::sync::Arc;

use super::{
    fail::{Stop, with_article},
    step::Move,
};
use crate::{
    id::NodeId,
    path::{KeyPath, walk},
    program::{Failure, From, Place, Write},
    value::Value,
};

impl Move<'_> {
    /// Makes one write; a failing one changes nothing.
    pub(super) fn write(&mut self, node: &NodeId, write: &Write) -> Result<(), Stop> {
        if let Place::Absent(key) = &write.to
            && self.state.context.contains(key)
        {
            return Ok(());
        }
        let Some(value) = self.source(node, &write.value)? else { return Ok(()) };
        match &write.to {
            Place::Input => self.input = Some(value),
            Place::Ans => self.state.system_context.ans = Some(value),
            Place::Error => self.state.system_context.error = Some(value),
            Place::Absent(key) => {
                self.state.context.insert(key.clone(), value);
                self.wrote.push(key.clone());
            }
            Place::Path(path) => self.assign(node, path, value)?,
            Place::Append(path) => self.append(node, path, value)?,
        }
        Ok(())
    }

    fn source(&self, node: &NodeId, from: &From) -> Result<Option<Value>, Stop> {
        match from {
            From::Input => Ok(self.input.clone()),
            From::Error => Ok(self.error.clone()),
            From::Shape(shape) => self.evaluate(node, shape),
        }
    }

    fn assign(&mut self, node: &NodeId, path: &KeyPath, value: Value) -> Result<(), Stop> {
        let written = self.state.context.write(path, value);
        written.map_err(|error| Stop::failed(Failure::Write, node, format!("`{node}`: {error}")))?;
        self.wrote.push(path.root().clone());
        Ok(())
    }

    fn append(&mut self, node: &NodeId, path: &KeyPath, value: Value) -> Result<(), Stop> {
        let context = &self.state.context;
        let mut list = match context.get(path.root()).and_then(|root| walk(root, path.rest())) {
            None => Vec::new(),
            Some(Value::List(items)) => Vec::clone(items),
            Some(other) => {
                let kind = with_article(other.kind());
                let message = format!("`{node}`: nothing can be appended to `{path}`: it is {kind}, not a list");
                return Err(Stop::failed(Failure::Write, node, message));
            }
        };
        match value {
            Value::List(items) => list.extend(Arc::unwrap_or_clone(items)),
            item => list.push(item),
        }
        self.assign(node, path, list.into())
    }

    /// Whether nothing stands at a context path.
    pub(super) fn missing(&self, path: &KeyPath) -> bool {
        self.state.context.get(path.root()).and_then(|root| walk(root, path.rest())).is_none()
    }
}
