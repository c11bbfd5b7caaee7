//! Calls: interpolated once on entering, kept, tried again with the same key (language 5, 7.4, 7.8).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    Event,
    fail::{Stop, with_article},
    ids, render,
    retry::next_attempt,
    step::{Move, is_gate, limits},
};
use crate::{
    id::IdempotencyKey,
    language::OnBranchError,
    path::{KeyPath, walk},
    program::{Approve, Call, Callee, Composite, Failure, Node, PointIndex, Role},
    state::{ABANDONED, Abandoned, Approval, CallKind, CallRole, PendingCall, RetryRecord, Status},
    template::{SecretUse, Shape},
    value::{Mapping, Value},
};

impl Move<'_> {
    /// The first attempt of a call as it is now.
    pub(super) fn interpolate(&self, node: &Node, call: &Call, role: CallRole) -> Result<PendingCall, Stop> {
        let key = ids::key(&self.state, &node.id, &role, name(call));
        self.sendable(node, self.interpolate_as(node, call, role, key)?)
    }

    /// The call, unless what it carries is above a bound.
    fn sendable(&self, node: &Node, pending: PendingCall) -> Result<PendingCall, Stop> {
        let sent = self.program.limits().send(&pending);
        sent.map_err(|excess| Stop::excess(&node.id, &format!("what `{}` is called with", pending.name), excess))?;
        Ok(pending)
    }

    /// The undo of a call that succeeded under `key`, as effect `number`.
    pub(super) fn interpolate_undo(&self, node: &Node, undo: &Call, key: &IdempotencyKey, number: u32) -> Result<PendingCall, Stop> {
        let key = ids::below(key, "undo", name(undo));
        let pending = self.sendable(node, self.interpolate_as(node, undo, CallRole::Undo(number), key)?)?;
        Ok(PendingCall { retry: undo.retry.as_ref().map(RetryRecord::from), ..pending })
    }

    fn interpolate_as(&self, node: &Node, call: &Call, role: CallRole, key: IdempotencyKey) -> Result<PendingCall, Stop> {
        let mut secrets = Vec::new();
        let mut args = self.arguments(node, call.args.as_ref(), &mut secrets)?;
        if let Some(argument) = &call.body {
            let body = render::content(self.program, &self.state, node);
            // A body of which no part is said is an empty text.
            let text = body.map(|body| Ok(self.said(&node.id, body)?.unwrap_or_default())).transpose()?;
            args.insert(argument.clone(), text.map_or(Value::Null, Value::Text));
        }
        let metadata = call.metadata.as_ref().or(node.metadata.as_deref());
        let kind = self.kind(node, call, &role, &key)?;
        let is_own = role == CallRole::Do && kind.is_tool();
        let offered = if is_own { offered(call).into_iter().filter(|tool| **tool != *name(call)).collect() } else { Vec::new() };
        Ok(PendingCall {
            id: ids::call(&key, 1),
            name: name(call).into(),
            role,
            node: node.id.clone(),
            args,
            secrets,
            idempotency_key: key,
            attempt: 1,
            delay: 0,
            timeout: call.timeout.map(millis),
            approve: call.approve.as_ref().map(|approve| self.approval(node, approve)).transpose()?,
            retry: None,
            metadata: metadata.map(|metadata| self.evaluate(&node.id, metadata)).transpose()?.flatten(),
            kind,
            offered,
        })
    }

    fn arguments(&self, node: &Node, args: Option<&Shape>, secrets: &mut Vec<SecretUse>) -> Result<Mapping, Stop> {
        let Some(shape) = args else { return Ok(Mapping::new()) };
        match shape.evaluate(&self.scope(), limits(self.program), secrets) {
            Ok(Some(Value::Map(args))) => Ok(args),
            Ok(None) => Ok(Mapping::new()),
            Ok(Some(other)) => {
                let message = format!("`{}`: `args` is {}, not a mapping", node.id, with_article(other.kind()));
                Err(Stop::failed(Failure::Template, &node.id, message))
            }
            Err(error) => Err(Stop::template(&node.id, &error)),
        }
    }

    fn approval(&self, node: &Node, approve: &Approve) -> Result<Approval, Stop> {
        let local = render::in_locale(self.program, &self.state, node, &approve.messages);
        let ask = local.into_iter().flatten().next().or(approve.ask.as_ref());
        let ask = ask.map(|ask| self.text(&node.id, ask)).transpose()?;
        Ok(Approval { ask, expires: approve.expires.map(millis) })
    }

    fn kind(&self, node: &Node, call: &Call, role: &CallRole, key: &IdempotencyKey) -> Result<CallKind, Stop> {
        let collects = |composite: &Composite| composite.on_error == OnBranchError::Collect;
        Ok(match &call.callee {
            Callee::Tool(_) => CallKind::Tool,
            Callee::Graph(target) => CallKind::Graph(self.program.node(*target).id.clone()),
            Callee::Parallel(calls, composite) => {
                let mut branches = BTreeMap::new();
                for (branch, call) in calls {
                    let key = ids::below(key, "branch", branch);
                    branches.insert(branch.clone(), self.interpolate_as(node, call, role.clone(), key)?);
                }
                CallKind::Parallel { branches, any: composite.any, collect: collects(composite), limit: composite.limit }
            }
            Callee::Each(path, composite) => CallKind::Each {
                items: self.items(node, path)?,
                offered: offered(call),
                collect: collects(composite),
                limit: composite.limit,
            },
        })
    }

    fn items(&self, node: &Node, path: &KeyPath) -> Result<Value, Stop> {
        let found = match &**path.root() {
            "input" | "tool_result" | "sys" => self.scope().lookup(path).cloned(),
            root => self.state.context.get(root).and_then(|root| walk(root, path.rest())).cloned(),
        };
        let wrong = match found {
            Some(items @ Value::List(_)) => return Ok(items),
            Some(other) => format!("is {}, not a list", with_article(other.kind())),
            None => "is not set".to_owned(),
        };
        Err(Stop::failed(Failure::Template, &node.id, format!("`{}`: `each` takes `{path}`, which {wrong}", node.id)))
    }

    /// Yields a call.
    pub(super) fn call(&mut self, pending: impl Into<Arc<PendingCall>>, status: Status) {
        let pending = pending.into();
        self.events.push(Event::Called { id: pending.id.clone(), tool: pending.name.clone() });
        self.state.status = status;
        self.state.pending_tool_call = Some(pending);
    }

    /// The same point again, one attempt more: the call with a new id, or the same question.
    pub(super) fn again(&mut self, point: PointIndex) -> Result<(), Stop> {
        self.state.attempt = self.state.attempt.saturating_add(1);
        let Some(left) = self.abandon() else { return Ok(()) };
        let node = self.node_of(point);
        let call = if is_gate(self.program, point) { self.program.graph_of(node).before_each.as_deref() } else { call_of(node) };
        let retry = call.and_then(|call| call.retry.as_ref()).map(RetryRecord::from);
        let status = self.state.status;
        let next = next_attempt(&left, retry.as_ref(), self.trying);
        self.call(next, status);
        Ok(())
    }

    /// Leaves the pending call without a result, and remembers it.
    pub(super) fn abandon(&mut self) -> Option<Arc<PendingCall>> {
        let left = self.state.pending_tool_call.take()?;
        let abandoned = Arc::make_mut(&mut self.state.abandoned);
        if abandoned.len() >= ABANDONED {
            abandoned.drain(..=abandoned.len() - ABANDONED);
        }
        abandoned.push(Abandoned {
            id: left.id.clone(),
            key: left.idempotency_key.clone(),
            role: left.role.clone(),
            node: left.node.clone(),
            tool: left.name.clone(),
            is_settled: false,
        });
        Some(left)
    }
}

/// The names of the tools that a call may have made, or that a model is offered.
fn offered(call: &Call) -> Vec<Arc<str>> {
    call.offered.iter().map(|tool| tool.name.clone()).collect()
}

/// What a call is called in views, records and ids.
pub(super) fn name(call: &Call) -> &str {
    match &call.callee {
        Callee::Tool(tool) => &tool.name,
        Callee::Graph(_) => "graph",
        Callee::Parallel(..) => "parallel",
        Callee::Each(..) => "each",
    }
}

/// The call of an acting node.
pub(super) fn call_of(node: &Node) -> Option<&Call> {
    match &node.role {
        Role::Act(call) => Some(call),
        Role::Pass | Role::Listen(_) => None,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
