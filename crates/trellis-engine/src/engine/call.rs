//! Calls: interpolated once on entering, stored, tried again with the same key (language 5, 7.4, 7.8).

use std::{sync::Arc, time::Duration};

use super::{
    Event,
    fail::{Stop, with_article},
    ids, render,
    retry::next_attempt,
    step::{Move, is_gate, limits},
};
use crate::{
    program::{Approve, Call, Callee, Composite, Failure, ITEM, Node, PointIndex, Role, Tool},
    state::{
        ABANDONED, Abandoned, Approval, CallKind, CallRole, ItemApproval, Offered, PartCalls, PartStates, PendingCall, RetryRecord, Status,
    },
};
use trellis_base::{
    id::{IdempotencyKey, SessionId},
    language::OnBranchError,
    path::{KeyPath, walk},
    template::{SecretUse, Shape},
    value::{Key, List, Mapping, Value},
};

impl Move<'_> {
    /// The first attempt of a call as it is now.
    pub(super) fn interpolate(&self, node: &Node, call: &Call, role: CallRole) -> Result<PendingCall, Stop> {
        let key = ids::key(&self.state, &node.id, &role, name(call));
        self.sendable(node, self.interpolate_as(node, call, role, key)?)
    }

    /// Returns the call, unless a value in it exceeds a bound.
    fn sendable(&self, node: &Node, pending: PendingCall) -> Result<PendingCall, Stop> {
        let sent = self.program.limits().send(&pending);
        sent.map_err(|excess| Stop::excess(&node.id, &format!("what `{}` is called with", pending.name), excess))?;
        Ok(pending)
    }

    /// The undo of a call that succeeded under `key`, as effect `number`.
    pub(super) fn interpolate_undo(&self, node: &Node, undo: &Call, key: &IdempotencyKey, number: u32) -> Result<PendingCall, Stop> {
        let key = ids::below(&self.state, key, "undo", name(undo));
        let pending = self.sendable(node, self.interpolate_as(node, undo, CallRole::Undo(number), key)?)?;
        Ok(PendingCall { retry: undo.retry.as_ref().map(RetryRecord::from), ..pending })
    }

    fn interpolate_as(&self, node: &Node, call: &Call, role: CallRole, key: IdempotencyKey) -> Result<PendingCall, Stop> {
        let mut secrets = Vec::new();
        let mut args = self.arguments(node, call.args.as_ref(), &mut secrets)?;
        if let Some(argument) = &call.body {
            let body = render::content(self.program, &self.state, node);
            // A body without a visible part is an empty text.
            let text = body.map(|body| Ok(self.render_speech(&node.id, body)?.unwrap_or_default())).transpose()?;
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
            approve: match &kind {
                // It is asked for every item.
                CallKind::Each { .. } => None,
                _ => call.approve.as_ref().map(|approve| self.approval(node, approve)).transpose()?,
            },
            retry: None,
            metadata: metadata.map(|metadata| self.evaluate(&node.id, metadata)).transpose()?.flatten(),
            kind,
            part: None,
            prepared: PartCalls::default(),
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
                self.count_parts(node, calls.len())?;
                let branch = |(branch, call): &(Key, Call)| {
                    let key = ids::below(&self.state, key, "branch", branch);
                    let pending = self.interpolate_as(node, call, role.clone(), key)?;
                    Ok((branch.clone(), PendingCall { retry: call.retry.as_ref().map(RetryRecord::from), ..pending }))
                };
                let branches = calls.iter().map(branch).collect::<Result<_, Stop>>()?;
                CallKind::Parallel { branches, any: composite.any, collect: collects(composite), limit: composite.limit }
            }
            Callee::Each(path, composite) => {
                let items = self.items(node, path)?;
                self.count_parts(node, items.as_list().map_or(0, List::len))?;
                CallKind::Each {
                    approve: call.approve.as_ref().map(|approve| self.item_approval(node, approve, &items)),
                    offered: call.offered.iter().map(|tool| self.offer(node, tool)).collect(),
                    items,
                    collect: collects(composite),
                    limit: composite.limit,
                }
            }
        })
    }

    fn count_parts(&self, node: &Node, met: usize) -> Result<(), Stop> {
        let limit = self.program.limits().parts;
        let met = met as u64;
        if met > limit { Err(Stop::limit(&node.id, "parts of one call (`limits.parts`)", limit, met)) } else { Ok(()) }
    }

    /// A tool that items may call, with its own policies and those of the graph.
    fn offer(&self, node: &Node, tool: &Tool) -> Offered {
        let retry = tool.retry.as_ref().or(self.program.graph_of(node).retry.as_ref());
        Offered { name: tool.name.clone(), timeout: tool.timeout.map(millis), retry: retry.map(RetryRecord::from) }
    }

    /// Renders the question of each item; it reads the item as `item` (language 10.5).
    fn item_approval(&self, node: &Node, approve: &Approve, items: &Value) -> ItemApproval {
        let local = render::in_locale(self.program, &self.state, node, &approve.messages);
        let ask = local.into_iter().flatten().next().or(approve.ask.as_ref());
        let asks = match ask {
            None => Vec::new(),
            Some(ask) if ask.is_literal() => vec![Some(ask.shared_text())],
            Some(ask) => {
                let of_item = |item: &Value| {
                    let mut scope = self.scope();
                    scope.context.insert(ITEM.into(), item.clone());
                    ask.render(&scope, limits(self.program)).ok()
                };
                items.as_list().into_iter().flat_map(List::iter).map(of_item).collect()
            }
        };
        ItemApproval { asks, expires: approve.expires.map(millis) }
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

    /// Yields a call, with the parts that it has.
    ///
    /// # Errors
    /// The results of parts that are settled at once exceed a bound.
    pub(super) fn call(&mut self, pending: impl Into<Arc<PendingCall>>, status: Status) -> Result<(), Stop> {
        let pending = pending.into();
        let parts = self.first_parts(&pending);
        self.call_with(pending, status, parts);
        self.hold_parts()
    }

    /// Yields a call with these states of its parts.
    pub(super) fn call_with(&mut self, pending: impl Into<Arc<PendingCall>>, status: Status, parts: PartStates) {
        let pending = pending.into();
        self.events.push(Event::Called { id: pending.id.clone(), tool: pending.name.clone() });
        self.state.status = status;
        self.state.pending_tool_call = Some(pending);
        self.state.parts = parts;
        self.has_left_parts = false;
        self.announce_opened(&[]);
    }

    /// Enters the point once more, with one more attempt: the call with a new id, or the same question. PartStates that succeeded are not made again.
    pub(super) fn again(&mut self, point: PointIndex) -> Result<(), Stop> {
        self.state.attempt = self.state.attempt.saturating_add(1);
        let Some((left, parts)) = self.abandon() else { return Ok(()) };
        let node = self.node_of(point);
        let call = if is_gate(self.program, point) { self.program.graph_of(node).before_each.as_deref() } else { call_of(node) };
        let retry = call.and_then(|call| call.retry.as_ref()).map(RetryRecord::from);
        let status = self.state.status;
        let next = next_attempt(&left, retry.as_ref(), self.trying);
        self.call_with(next, status, parts.again());
        Ok(())
    }

    /// Leaves the pending call and its open parts without a result, and remembers them.
    pub(super) fn abandon(&mut self) -> Option<(Arc<PendingCall>, PartStates)> {
        self.leave_parts();
        let (left, parts) = self.state.take_call()?;
        self.remember_left(&left);
        Some((left, parts))
    }

    /// Remembers a call that was left, so that a late result of it is known.
    pub(super) fn remember_left(&mut self, left: &PendingCall) {
        self.remember_left_of(left, None);
    }

    /// Remembers an abandoned call of a child that was left, as [`Self::remember_left`] does for a call of its own.
    pub(super) fn remember_left_of(&mut self, left: &PendingCall, child: Option<&SessionId>) {
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
            part: left.part.as_ref().map(|of| of.part.clone()),
            child: child.cloned(),
            is_settled: false,
        });
    }
}

/// The names of the tools that a call may have made, or that a model is offered.
fn offered(call: &Call) -> Vec<Arc<str>> {
    call.offered.iter().map(|tool| tool.name.clone()).collect()
}

/// Returns the name of a call in views, records and ids.
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
