//! Entering a node (language 7.1): visit, defaults, `before_each`, requirements, then its wait.

use super::{
    Event,
    choose::Onward,
    fail::Stop,
    input::breaches,
    render,
    retry::Trying,
    step::{Move, is_gate},
};
use crate::{
    program::{Failure, Node, Outcome, PointIndex, Role},
    state::{CallRole, Status},
};
use trellis_base::language::EndSyntax;

impl<'e> Move<'e> {
    /// Enters a point. A node that admits no more entries is not entered: its own reply is taken instead.
    pub(super) fn enter(&mut self, point: PointIndex) -> Result<Onward<'e>, Stop> {
        let node = self.node_of(point);
        if let Some(limit) = node.entry.max_visits {
            let visits = self.state.visits.get(&node.id).copied().unwrap_or(0);
            if visits >= limit {
                return Ok(self.exhausted(point, node));
            }
            self.state.visits.insert_mut(node.id.clone(), visits + 1);
        }
        self.stand_at(node);
        for write in &node.entry.defaults {
            self.write(&node.id, write)?;
        }
        if is_gate(self.program, point) {
            return self.yield_before_each(node).map(|()| None);
        }
        self.arrive(point)
    }

    fn exhausted(&self, point: PointIndex, node: &Node) -> Onward<'e> {
        let points = [point, node.body, node.gate.unwrap_or(node.body)];
        points.into_iter().find_map(|point| Some((point, self.program.reply(point, &Outcome::Exhausted)?)))
    }

    /// Makes `node` the current one.
    fn stand_at(&mut self, node: &Node) {
        if !std::mem::take(&mut self.fresh) {
            self.events.push(Event::Left(self.state.current_node_id.clone()));
        }
        self.events.push(Event::Entered(node.id.clone()));
        let state = &mut self.state;
        state.current_node_id = node.id.clone();
        state.attempt = 1;
        state.entered = state.step;
        state.after_error = self.error.is_some() && node.terminal && node.end == Some(EndSyntax::Failed);
        state.status = Status::Active;
        state.take_call();
        self.input = None;
        self.tool_result = None;
        self.error = None;
        self.trying = Trying::default();
    }

    fn yield_before_each(&mut self, node: &Node) -> Result<(), Stop> {
        // A node has a gate only if the graph has the call.
        let Some(call) = &self.program.graph_of(node).before_each else { return Ok(()) };
        let pending = self.interpolate(node, call, CallRole::BeforeEach);
        let pending = pending.map_err(|stop| stop.of_document(self.program.gate_document(self.program.graph_of(node))))?;
        self.call(pending, Status::WaitingForTool)
    }

    /// Enters the node itself, after `before_each`: checks its requirements, then begins its wait.
    pub(super) fn arrive(&mut self, point: PointIndex) -> Result<Onward<'e>, Stop> {
        let node = self.node_of(point);
        self.state.attempt = 1;
        self.state.take_call();
        self.input = None;
        self.tool_result = None;
        self.require(node)?;
        if !(node.terminal && matches!(node.role, Role::Pass)) {
            self.speak(node)?;
        }
        match &node.role {
            Role::Pass if node.terminal => return Ok(self.program.reply(point, &Outcome::Pass).map(|reply| (point, reply))),
            Role::Pass => self.state.status = Status::Active,
            Role::Listen(_) => self.state.status = Status::WaitingForInput,
            Role::Act(call) => {
                let pending = self.interpolate(node, call, CallRole::Do)?;
                self.call(pending, Status::WaitingForTool)?;
            }
        }
        Ok(None)
    }

    /// Renders the content and the question of a node once: a text that cannot be rendered fails the step that enters the node (language 7.3), not a
    /// later look at it.
    pub(super) fn speak(&self, node: &Node) -> Result<(), Stop> {
        let shown = !matches!(&node.role, Role::Act(call) if call.body.is_some());
        let failed = |error| Stop::template(&node.id, &error);
        if let Some(content) = render::content(self.program, &self.state, node).filter(|content| shown && !content.is_literal()) {
            self.render_speech(&node.id, content)?;
        }
        if let Role::Listen(listen) = &node.role {
            for choice in &listen.options {
                let shown = render::shown(self.program, &self.state, node, choice);
                if !shown.is_literal() {
                    self.text(&node.id, shown)?;
                }
            }
            render::metadata(self.program, &self.state, node).map_err(failed)?;
        }
        Ok(())
    }

    fn require(&mut self, node: &Node) -> Result<(), Stop> {
        let id = &node.id;
        let missing: Vec<_> = node.entry.required.iter().filter(|path| self.missing(path)).map(|path| format!("`{path}`")).collect();
        if !missing.is_empty() {
            return Err(Stop::failed(Failure::MissingContext, id, format!("`{id}` needs {}, not set", missing.join(", "))));
        }
        let unfit = node.entry.types.iter().filter_map(|(key, schema)| {
            let value = self.state.context.get(key).filter(|value| !self.engine.fits(schema, value))?;
            Some(breaches(schema, value, key))
        });
        let unfit: Vec<_> = unfit.collect();
        if !unfit.is_empty() {
            return Err(Stop::failed(Failure::ContextSchema, id, format!("`{id}`: {}", unfit.join("; "))));
        }
        for (guard, text) in &node.entry.asserts {
            if !self.decide(id, guard)? {
                return Err(Stop::failed(Failure::Assert, id, format!("`{id}`: `{text}` does not hold")));
            }
        }
        Ok(())
    }
}
