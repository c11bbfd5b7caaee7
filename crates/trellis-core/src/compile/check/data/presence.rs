//! What may be there at each point: a forward fixed point over the ways (language 8.2).
//!
//! For each path three things can be possible at once: that it is absent, that it is present, and that nothing is known. Paths are worked on 64 at a
//! time, so that a point costs three words.
//!
//! **Invariant:** each concrete state of a session at a point is among what is possible there; the guards and writes are those that the engine takes.

use super::{
    env::Env,
    origins::{Given, Origin},
    paths::{PathId, Paths, names},
    script::{self, Op, Site},
    shapes::{self, Part},
};
use crate::{
    program::{Guard, Outcome, Place, PointIndex, Program, Reply, Role, Target, Write},
    template::Shape,
};

/// A read that something may be missing for.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) point: PointIndex,
    pub(super) site: Site,
    pub(super) id: PathId,
    /// Whether it is missing on every way.
    pub(super) never: bool,
    /// What is there, for the nearest name.
    pub(super) there: Vec<String>,
}

/// Works through the words of a program's paths.
pub(super) struct Presence<'a, 'p> {
    pub(super) program: &'p Program,
    pub(super) paths: &'a Paths,
    pub(super) origins: &'a [Origin<'p>],
    /// Entering each point.
    pub(super) entering: &'a [Vec<Op<'p>>],
    pub(super) word: u32,
    envs: Vec<Option<Env>>,
    candidates: Option<Vec<Candidate>>,
    pub(super) unchecked: usize,
}

impl<'a, 'p> Presence<'a, 'p> {
    pub(super) fn new(program: &'p Program, paths: &'a Paths, origins: &'a [Origin<'p>], entering: &'a [Vec<Op<'p>>], word: u32) -> Self {
        let envs = vec![None; program.points.len()];
        Self { program, paths, origins, entering, word, envs, candidates: None, unchecked: 0 }
    }

    /// Runs to the fixed point, and gives the reads that may be missing something.
    pub(super) fn solve(&mut self) -> Vec<Candidate> {
        let mut queue: std::collections::VecDeque<u32> = std::collections::VecDeque::new();
        let mut queued = vec![false; self.envs.len()];
        for origin in self.origins {
            let env = self.begin(origin);
            if self.meet(origin.point, env) && !std::mem::replace(&mut queued[origin.point.0 as usize], true) {
                queue.push_back(origin.point.0);
            }
        }
        while let Some(point) = queue.pop_front() {
            queued[point as usize] = false;
            for (to, env) in self.flow(PointIndex(point)) {
                if self.meet(to, env) && !std::mem::replace(&mut queued[to.0 as usize], true) {
                    queue.push_back(to.0);
                }
            }
        }
        self.candidates = Some(Vec::new());
        for point in 0..self.envs.len() {
            if self.envs[point].is_some() {
                self.flow(PointIndex(u32::try_from(point).unwrap_or(u32::MAX)));
            }
        }
        self.candidates.take().unwrap_or_default()
    }

    /// Whether a path may be absent on entering a point.
    pub(super) fn may_be_absent(&self, point: PointIndex, id: PathId) -> bool {
        self.envs[point.0 as usize].is_some_and(|env| env.absent & id.mask() != 0)
    }

    fn meet(&mut self, point: PointIndex, env: Env) -> bool {
        match &mut self.envs[point.0 as usize] {
            Some(known) => known.join(env),
            unknown => {
                *unknown = Some(env);
                true
            }
        }
    }

    fn id(&self, path: &crate::path::KeyPath) -> Option<(PathId, bool)> {
        let (names, cut) = names(path);
        let id = self.paths.id(&names)?;
        (id.word == self.word).then_some((id, cut))
    }

    fn begin(&self, origin: &Origin<'_>) -> Env {
        let mut env = Env { absent: u64::MAX, ..Env::default() };
        let node = self.program.node(self.program.point(origin.point).node);
        let mut put = |names: &[String], part: Part<'_>| {
            if let Some(id) = self.paths.id(names).filter(|id| id.word == self.word) {
                self.put(&mut env, id, part, false);
            }
        };
        match origin.given {
            Given::Inputs => {
                let inputs = self.program.root().inputs.as_ref().map(|schema| schema.source());
                for (key, part) in inputs.map(shapes::properties).into_iter().flatten() {
                    put(&[key.to_owned()], part);
                }
            }
            Given::Args(Some(Shape::Map(entries))) => {
                for (key, shape) in entries {
                    put(&[key.value.to_string()], Part::of_shape(&shape.value));
                }
            }
            Given::Args(Some(Shape::Literal(crate::value::Value::Map(entries)))) => {
                for (key, value) in entries.iter() {
                    put(&[key.to_string()], Part::Literal(value));
                }
            }
            Given::Args(_) => {}
        }
        let graph = self.program.graph_of(node);
        if node.index == graph.entry || matches!(origin.given, Given::Args(_)) {
            let declared = node.entry.types.iter().map(|(key, schema)| (vec![key.to_string()], Part::Schema(schema.source())));
            for (names, part) in declared {
                put(&names, part);
            }
            for path in &node.entry.required {
                if let Some((id, _)) = self.id(path) {
                    if env.present & id.mask() == 0 {
                        self.put(&mut env, id, Part::Unknown, false);
                    }
                    env.set(self.paths, id);
                }
            }
        }
        env
    }

    /// Puts something at a path; `also` keeps what may have been there.
    fn put(&self, env: &mut Env, id: PathId, part: Part<'_>, also: bool) {
        let before = *env;
        let presence = part.presence();
        env.forget(id.mask() | self.paths.below(id));
        let mut mark = |id: PathId, presence: shapes::Presence| {
            env.absent |= if presence.absent { id.mask() } else { 0 };
            env.present |= if presence.present { id.mask() } else { 0 };
            env.unknown |= if presence.unknown { id.mask() } else { 0 };
        };
        mark(id, presence);
        for (child, names) in self.paths.children(id) {
            mark(child, part.below(&names));
        }
        if also {
            let bits = id.mask() | self.paths.below(id);
            env.absent |= before.absent & bits;
            env.present |= before.present & bits;
            env.unknown |= before.unknown & bits;
        }
        if !presence.absent {
            let above = self.paths.above(id);
            env.forget(above);
            env.present |= above;
        }
    }

    /// Everything that leads on from a point, with what is possible there.
    fn flow(&mut self, point: PointIndex) -> Vec<(PointIndex, Env)> {
        let Some(mut env) = self.envs[point.0 as usize] else { return Vec::new() };
        let program = self.program;
        let incoming = env;
        self.hide_answer(&mut env);
        let entering = self.entering;
        for op in &entering[point.0 as usize] {
            self.happen(point, &mut env, op);
        }
        let mut onward = Vec::new();
        for reply in program.replies(&program.point(point).replies) {
            let mut env = if reply.on == Outcome::Exhausted { incoming } else { env };
            self.hide_answer(&mut env);
            self.answered(point, reply, &mut env);
            for op in script::replying(program, point, reply) {
                self.happen(point, &mut env, &op);
            }
            self.choose(point, reply, env, &mut onward);
        }
        onward
    }

    fn choose(&mut self, point: PointIndex, reply: &'p Reply, mut env: Env, onward: &mut Vec<(PointIndex, Env)>) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        for edge in program.edges_of(reply) {
            let span = super::span_of(program, node, edge);
            if let Some(site) = script::guarded(node, &edge.when, span) {
                self.read(point, &mut env, &site);
            }
            let mut taken = env;
            if self.assume(&mut taken, &edge.when, true) {
                match &edge.to {
                    Target::Point(to) | Target::Proceed(to) => onward.push((*to, taken)),
                    Target::Again => {}
                    Target::Rollback => {
                        self.set_named(&mut taken, &["sys", "rollback"], Part::Unknown);
                        for way in program.unwound_ways(node.graph) {
                            if let Target::Point(to) = way.edge.to {
                                onward.push((to, taken));
                            }
                        }
                    }
                    Target::End(_) => {
                        for op in script::ending(program, point, &edge.to) {
                            self.happen(point, &mut taken, &op);
                        }
                    }
                }
            }
            if !self.assume(&mut env, &edge.when, false) {
                return;
            }
        }
    }

    /// Narrows to what is possible when a guard comes to `truth`; false where nothing is.
    fn assume(&self, env: &mut Env, guard: &Guard, truth: bool) -> bool {
        let (operand, there) = match guard {
            Guard::Always => return truth,
            Guard::Set(operand, wanted) => (operand, *wanted == truth),
            // What is not empty is there; what is may be absent or not.
            Guard::Empty(operand, wanted) if *wanted != truth => (operand, true),
            _ => return true,
        };
        let Some((id, false)) = self.id(&operand.path) else { return true };
        let bit = id.mask();
        if there {
            if (env.present | env.unknown) & bit == 0 {
                return false;
            }
            env.set(self.paths, id);
        } else {
            if (env.absent | env.unknown) & bit == 0 {
                return false;
            }
            env.unset(self.paths, id);
        }
        true
    }

    fn happen(&mut self, point: PointIndex, env: &mut Env, op: &Op<'_>) {
        match op {
            Op::Read(site) => self.read(point, env, site),
            Op::Write(write) => self.write(point, env, write),
            Op::Assert(guard) => {
                self.assume(env, guard, true);
            }
        }
    }

    fn read(&mut self, point: PointIndex, env: &mut Env, site: &Site) {
        let Some((id, cut)) = self.id(&site.path) else { return };
        let bit = id.mask();
        let opaque = site.when.contains(&crate::template::Test::Opaque);
        if let Some(candidates) = &mut self.candidates {
            let is_known = env.unknown & bit == 0;
            if site.deep || cut || !is_known || (opaque && env.absent & bit != 0) {
                self.unchecked += 1;
            }
            if env.absent & bit != 0 && !opaque {
                let never = env.present & bit == 0 && is_known;
                let there = self.paths.named(self.word, env.present | env.unknown).map(str::to_owned).collect();
                candidates.push(Candidate { point, site: site.clone(), id, never, there });
            }
        }
        // Behind it the path is there, or the session is over.
        if site.when.is_empty() {
            env.set(self.paths, id);
        }
    }

    fn write(&mut self, point: PointIndex, env: &mut Env, write: &Write) {
        if let crate::program::From::Shape(shape) = &write.value {
            let node = self.program.node(self.program.point(point).node);
            let document = node.document;
            if !matches!(write.to, Place::Absent(_)) || self.absent_key(env, &write.to) {
                for read in shape.reads() {
                    let crate::template::Read { path, span, when, deep } = read;
                    let site = Site { path, document, span, kind: script::Kind::Template, when, deep };
                    self.read(point, env, &site);
                }
            }
        }
        let source = shapes::source(self.program, point, write);
        match &write.to {
            Place::Input => self.set_named(env, &["input"], source),
            Place::Ans => self.set_named(env, &["sys", "ans"], source),
            Place::Error => self.set_named(env, &["sys", "error"], Part::Error),
            Place::Path(path) => {
                if let Some((id, _)) = self.id(path) {
                    self.put_over(env, id, source);
                }
            }
            Place::Append(path) => {
                if let Some((id, _)) = self.id(path) {
                    self.put(env, id, Part::Scalar, false);
                }
            }
            Place::Absent(key) => {
                if let Some(id) = self.paths.id(&[key.to_string()]).filter(|id| id.word == self.word)
                    && env.absent & id.mask() != 0
                {
                    let was_there = (env.present | env.unknown) & id.mask() != 0;
                    self.put(env, id, source, was_there);
                    env.absent &= !id.mask();
                }
            }
        }
    }

    fn absent_key(&self, env: &Env, to: &Place) -> bool {
        let Place::Absent(key) = to else { return false };
        let id = self.paths.id(&[key.to_string()]).filter(|id| id.word == self.word);
        // Of other words nothing is known here: their own turn comes.
        id.is_none_or(|id| env.absent & id.mask() != 0)
    }

    /// A value that may not come at all leaves what was there.
    fn put_over(&self, env: &mut Env, id: PathId, part: Part<'_>) {
        let maybe = part.presence().absent;
        self.put(env, id, part, maybe);
    }

    fn set_named(&self, env: &mut Env, names: &[&str], part: Part<'_>) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        if let Some(id) = self.paths.id(&names).filter(|id| id.word == self.word) {
            self.put(env, id, part, false);
        }
    }

    /// `input` and `tool_result` are there only while their node resolves (language 4.3).
    fn hide_answer(&self, env: &mut Env) {
        for name in ["input", "tool_result"] {
            if let Some(id) = self.paths.id(&[name.to_owned()]).filter(|id| id.word == self.word) {
                env.unset(self.paths, id);
            }
        }
    }

    fn answered(&self, point: PointIndex, reply: &Reply, env: &mut Env) {
        let node = self.program.node(self.program.point(point).node);
        match (&reply.on, &node.role) {
            (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => {
                self.set_named(env, &["input"], shapes::input(listen));
            }
            (Outcome::Success, _) => {
                let returns = shapes::returned(self.program, point);
                self.set_named(env, &["input"], returns);
                self.set_named(env, &["tool_result"], returns);
            }
            _ => {}
        }
    }
}
