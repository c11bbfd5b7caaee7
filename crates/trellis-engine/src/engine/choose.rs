//! From an outcome to where it leads: write, choose, follow (language 7.3). The edge list decides; nothing is decided here.
//!
//! **Invariant:** following never recurses, and visits a bounded number of points in one step.

use std::sync::Arc;

use super::{
    fail::Stop,
    step::{Move, is_gate},
};
use crate::{
    program::{Edge, Failure, Node, Outcome, PointIndex, Reason, Reply, Role, TakenEdge, Target, Write},
    state::{EndReason, Ended},
};
use trellis_base::language::EndSyntax;

/// Points that one step may pass through: chains of exhausted nodes end somewhere.
const HOPS: u64 = 1_000;

/// A reply that an entering led to, with the point it belongs to.
pub(super) type Onward<'e> = Option<(PointIndex, &'e Reply)>;

impl<'e> Move<'e> {
    /// Takes a reply: writes, chooses, and follows to where the session stops.
    pub(super) fn take(&mut self, point: PointIndex, reply: &'e Reply) -> Result<(), Stop> {
        self.update(point, reply)?;
        self.go_on(point, reply)
    }

    /// The writes of a reply.
    pub(super) fn update(&mut self, point: PointIndex, reply: &Reply) -> Result<(), Stop> {
        let node = self.node_of(point);
        let of_gate = is_gate(self.program, point).then(|| self.program.gate_document(self.program.graph_of(node)));
        let placed = |stop: Stop, write: &Write| {
            let stop = stop.at(Some(write.origin));
            of_gate.into_iter().fold(stop, Stop::of_document)
        };
        reply.update.iter().try_for_each(|write| self.write(&node.id, write).map_err(|stop| placed(stop, write)))
    }

    /// Follows the first edge that holds, after the writes.
    pub(super) fn go_on(&mut self, point: PointIndex, reply: &'e Reply) -> Result<(), Stop> {
        let target = self.choose(point, reply)?;
        self.follow(point, target)
    }

    /// Returns the first edge that holds; the last one always does.
    pub(super) fn choose(&mut self, point: PointIndex, reply: &'e Reply) -> Result<Target, Stop> {
        let node = &self.node_of(point).id;
        let Some((last, others)) = self.program.edges_of(reply).split_last() else {
            return Ok(Target::End(Reason::Failed(Failure::NoMatch)));
        };
        for (index, edge) in reply.edges.clone().zip(others) {
            let placed = |stop: Stop| match edge.origin {
                Some(origin) => stop.at(Some(origin.span)).of_document(origin.document),
                None => stop,
            };
            if self.decide(node, &edge.when).map_err(placed)? {
                self.took.push(TakenEdge { point, edge: index });
                return Ok(self.lead(point, reply, edge));
            }
        }
        self.took.push(TakenEdge { point, edge: reply.edges.end - 1 });
        Ok(self.lead(point, reply, last))
    }

    /// Takes an edge: a session that gets past a node that could have rolled it back is on another way than that of an earlier rollback.
    fn lead(&mut self, point: PointIndex, reply: &Reply, edge: &Edge) -> Target {
        let target = self.led(reply, edge);
        if self.state.rolled_back
            && matches!(reply.on, Outcome::Success | Outcome::Answer | Outcome::Chosen(_) | Outcome::Pass)
            && target != Target::Rollback
            && self.may_roll_back(point)
        {
            self.state.rolled_back = false;
        }
        target
    }

    /// Returns whether an outcome at a point, other than a signal, rolls back.
    fn may_roll_back(&self, point: PointIndex) -> bool {
        let replies = self.program.replies(&self.program.point(point).replies).iter();
        let mut outcomes = replies.filter(|reply| !matches!(reply.on, Outcome::Signal(_) | Outcome::AnySignal));
        outcomes.any(|reply| self.program.edges_of(reply).iter().any(|edge| edge.to == Target::Rollback))
    }

    /// Returns the target of an edge: the end that the rules have, where it is a default of a graph that does not apply to this session (language
    /// 5.4).
    fn led(&self, reply: &Reply, edge: &Edge) -> Target {
        if !self.state.is_inner || !edge.why.is_graph_wide() {
            return edge.to.clone();
        }
        Target::End(match reply.on {
            Outcome::RolledBack => Reason::RolledBack,
            Outcome::Denied => Reason::Denied,
            Outcome::Timeout | Outcome::Signal(_) | Outcome::AnySignal => Reason::Failed(Failure::Timeout),
            _ => Reason::Failed(Failure::ToolError),
        })
    }

    /// Follows a target that was chosen at `point`.
    pub(super) fn follow(&mut self, mut point: PointIndex, mut target: Target) -> Result<(), Stop> {
        for _ in 0..HOPS {
            let onward = match target {
                Target::Point(to) => self.enter(to)?,
                Target::Proceed(to) => self.arrive(to)?,
                Target::Again => return self.again(point),
                Target::Rollback => self.roll_back()?,
                Target::End(reason) => return self.finish(point, &reason),
            };
            let Some((at, reply)) = onward else { return Ok(()) };
            self.update(at, reply)?;
            target = self.choose(at, reply)?;
            point = at;
        }
        Err(Stop::limit(&self.state.current_node_id, "nodes were passed in one step", HOPS, HOPS))
    }

    /// Ends at the node of `point`.
    fn finish(&mut self, point: PointIndex, reason: &Reason) -> Result<(), Stop> {
        let node = self.node_of(point);
        let message = match reason {
            Reason::Failed(failure) => Some(self.account(*failure, node, point)),
            Reason::Denied => Some(self.denial(node)),
            Reason::Finished | Reason::RolledBack => None,
        };
        let of_terminal = node.terminal && matches!(reason, Reason::Finished | Reason::Failed(Failure::End));
        let output = match &node.output {
            Some(shape) if of_terminal => self.evaluate(&node.id, shape)?,
            _ => None,
        };
        let checked = output.iter().try_for_each(|output| self.program.limits().keep(output));
        checked.map_err(|excess| Stop::excess(&node.id, "`output`", excess))?;
        let message = match &node.reason {
            Some(why) if of_terminal && *reason == Reason::Failed(Failure::End) => {
                let why = self.text(&node.id, why)?;
                Some(why.trim()).filter(|why| !why.is_empty()).map(str::to_owned).or(message)
            }
            _ => message,
        };
        let code = if let Reason::Failed(failure) = reason { Some(Arc::from(failure.as_str())) } else { None };
        if of_terminal && matches!(node.role, Role::Pass) {
            self.speak(node)?;
        }
        self.end(Ended {
            reason: self.reason(node, reason),
            code,
            node: node.id.clone(),
            message: message.map(Arc::from),
            place: None,
            output,
            rollback: None,
        });
        Ok(())
    }

    /// Returns the reason of an end: a session that was rolled back has not finished, unless its terminal declares it (language 7.7).
    fn reason(&self, node: &Node, reason: &Reason) -> EndReason {
        match reason {
            Reason::Finished if self.state.rolled_back && node.end != Some(EndSyntax::Finished) => EndReason::RolledBack,
            Reason::Finished => EndReason::Finished,
            Reason::Failed(_) => EndReason::Failed,
            Reason::Denied => EndReason::Denied,
            Reason::RolledBack => EndReason::RolledBack,
        }
    }
}
