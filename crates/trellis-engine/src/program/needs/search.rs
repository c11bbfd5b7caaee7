//! The fixed point: backwards over the spots, 64 paths at a time, with a worklist.

use super::{
    Needs,
    local::{ContextEvent, LocalPoint, LocalReply, Locals},
    route::Onto,
};
use trellis_base::path::KeyPath;

/// The largest number of paths; of more, nothing is claimed: nobody could meet so many needs by hand.
pub(super) const MAX_PATHS: usize = 4096;

/// No lane.
const NONE: u8 = u8::MAX;

pub(super) fn search(locals: &Locals, matters: impl Fn(&KeyPath) -> bool) -> Needs {
    let read = is_read(locals);
    let wanted: Vec<u32> = (0..).zip(&locals.paths).filter(|(at, path)| read[*at as usize] && matters(path)).map(|(at, _)| at).collect();
    let mut needs = Needs::default();
    if wanted.is_empty() {
        return needs;
    }
    let before = predecessors(locals);
    let ends = reaches_an_end(locals, &before);
    let mut lanes = Lanes { lane: vec![NONE; locals.paths.len()], of_root: vec![0; locals.paths.len()], paths: Vec::new(), locals };
    for group in wanted[..wanted.len().min(MAX_PATHS)].chunks(64) {
        lanes.take(group);
        let (certain, possible) = (lanes.certain(&before, &ends), lanes.possible(&before));
        for (lane, path) in group.iter().enumerate() {
            let (path, kind) = (&locals.paths[*path as usize], &locals.kinds[*path as usize]);
            let (is_possible, is_certain) = (possible >> lane & 1 == 1, certain >> lane & 1 == 1);
            match kind {
                Some(kind) if is_certain => needs.kinds.push((path.clone(), kind.clone())),
                Some(_) => {}
                None if &**path.root() == "sys" => needs.sys.extend(is_certain.then(|| path.clone())),
                None => {
                    needs.possible.extend(is_possible.then(|| path.clone()));
                    needs.certain.extend((is_possible && is_certain).then(|| path.clone()));
                }
            }
        }
    }
    needs
}

/// Returns for each path whether it is read.
fn is_read(locals: &Locals) -> Vec<bool> {
    let mut read = vec![false; locals.paths.len()];
    let mut see = |events: &[ContextEvent]| {
        events.iter().for_each(|event| {
            if let ContextEvent::Read(path) | ContextEvent::MayRead(path) = event {
                read[*path as usize] = true
            }
        });
    };
    for spot in &locals.spots {
        see(&spot.enter);
        for reply in spot.replies.iter().chain(&spot.exhausted) {
            see(&reply.update);
            for edge in &reply.edges {
                see(&edge.end);
                see(&edge.read.into_iter().chain(edge.kind).map(ContextEvent::Read).collect::<Vec<_>>());
            }
        }
    }
    read
}

/// From where each spot can be entered.
fn predecessors(locals: &Locals) -> Vec<Vec<u32>> {
    let mut before = vec![Vec::new(); locals.spots.len()];
    for (from, spot) in (0..).zip(&locals.spots) {
        for edge in spot.replies.iter().chain(&spot.exhausted).flat_map(|reply| &reply.edges) {
            if let Onto::Spot(to) = edge.to {
                before[to as usize].push(from);
            }
        }
    }
    before
}

/// From which spots an end can be reached while nothing goes wrong.
fn reaches_an_end(locals: &Locals, before: &[Vec<u32>]) -> Vec<bool> {
    let normal = |spot: &LocalPoint, leads: &dyn Fn(Onto) -> bool| {
        spot.replies.iter().filter(|reply| reply.is_normal).chain(&spot.exhausted).flat_map(|reply| &reply.edges).any(|edge| leads(edge.to))
    };
    let mut ends: Vec<bool> = locals.spots.iter().map(|spot| normal(spot, &|to| to == Onto::End)).collect();
    let mut open: Vec<u32> = (0..).zip(&ends).filter(|(_, ends)| **ends).map(|(at, _)| at).collect();
    while let Some(to) = open.pop() {
        for &from in &before[to as usize] {
            if !ends[from as usize] && normal(&locals.spots[from as usize], &|onto| onto == Onto::Spot(to)) {
                ends[from as usize] = true;
                open.push(from);
            }
        }
    }
    ends
}

/// The paths of one round: each is a bit.
struct Lanes<'l> {
    lane: Vec<u8>,
    /// The bits of the paths that begin with a name.
    of_root: Vec<u64>,
    paths: Vec<u32>,
    locals: &'l Locals,
}

impl Lanes<'_> {
    fn take(&mut self, group: &[u32]) {
        for path in std::mem::replace(&mut self.paths, group.to_vec()) {
            self.lane[path as usize] = NONE;
            self.of_root[self.locals.roots[path as usize] as usize] = 0;
        }
        for (lane, path) in (0..).zip(group) {
            self.lane[*path as usize] = lane;
            self.of_root[self.locals.roots[*path as usize] as usize] |= 1 << lane;
        }
    }

    fn bit(&self, path: u32) -> u64 {
        match self.lane[path as usize] {
            NONE => 0,
            lane => 1 << lane,
        }
    }

    /// Returns the paths that are present once `path` was written: itself, those that lead to it, and, as far as is known, those below.
    fn met_by(&self, path: u32) -> u64 {
        let mut same_root = self.of_root[self.locals.roots[path as usize] as usize];
        let written = self.locals.paths[path as usize].segments();
        let mut met = 0;
        while same_root != 0 {
            let lane = same_root.trailing_zeros() as usize;
            let other = self.locals.paths[self.paths[lane] as usize].segments();
            if written.starts_with(other) || other.starts_with(written) {
                met |= 1 << lane;
            }
            same_root &= same_root - 1;
        }
        met
    }

    /// Returns the needs before events, from the needs after them.
    fn through(&self, events: &[ContextEvent], mut needed: u64, certain: bool) -> u64 {
        for event in events.iter().rev() {
            match *event {
                ContextEvent::Read(path) => needed |= self.bit(path),
                ContextEvent::MayRead(path) if !certain => needed |= self.bit(path),
                ContextEvent::MayRead(_) => {}
                ContextEvent::Write(path) => needed &= !self.met_by(path),
            }
        }
        needed
    }

    fn reply(&self, reply: &LocalReply, needed: &[u64], certain: bool) -> u64 {
        // Behind the last edge, which always holds, there is nothing.
        let nothing = if certain { u64::MAX } else { 0 };
        let mut all = nothing;
        for edge in reply.edges.iter().rev() {
            let onward = match edge.to {
                Onto::Spot(spot) => needed[spot as usize],
                Onto::Nowhere => nothing,
                Onto::End => 0,
            };
            let there = |path: Option<u32>| path.map_or(0, |path| self.met_by(path));
            let taken = self.through(&edge.end, onward, certain) & !there(edge.taken);
            let passed = if all == nothing { nothing } else { all & !there(edge.passed) };
            all = if certain { taken & passed } else { taken | passed };
            all |= edge.read.into_iter().chain(edge.kind).fold(0, |read, path| read | self.bit(path));
        }
        self.through(&reply.update, all, certain)
    }

    fn spot(&self, spot: &LocalPoint, needed: &[u64], certain: bool) -> u64 {
        let replies = spot.replies.iter().filter(|reply| reply.is_normal || !certain).map(|reply| self.reply(reply, needed, certain));
        let after = if certain { replies.reduce(|a, b| a & b).unwrap_or(0) } else { replies.fold(0, |a, b| a | b) };
        let entered = self.through(&spot.enter, after, certain);
        match spot.exhausted.as_ref().map(|reply| self.reply(reply, needed, certain)) {
            Some(instead) if certain => entered & instead,
            Some(instead) => entered | instead,
            None => entered,
        }
    }

    /// Computes the least fixed point: the reads of some path.
    fn possible(&self, before: &[Vec<u32>]) -> u64 {
        let mut needed = vec![0; self.locals.spots.len()];
        self.settle(&mut needed, before, false, |_| true);
        needed[0]
    }

    /// Computes the reads of every path. If no end can be reached, these are the next reads; otherwise also those after a loop that can be left.
    fn certain(&self, before: &[Vec<u32>], ends: &[bool]) -> u64 {
        let mut needed: Vec<u64> = ends.iter().map(|ends| if *ends { u64::MAX } else { 0 }).collect();
        self.settle(&mut needed, before, true, |spot| !ends[spot]);
        self.settle(&mut needed, before, true, |spot| ends[spot]);
        needed[0]
    }

    /// Works out the spots of a part of the graph until none changes any more; far ones first.
    fn settle(&self, needed: &mut [u64], before: &[Vec<u32>], certain: bool, of_part: impl Fn(usize) -> bool) {
        let count = self.locals.spots.len();
        let mut open: Vec<u32> = (0..).zip(0..count).filter(|(_, spot)| of_part(*spot)).map(|(at, _)| at).collect();
        let mut waiting = vec![false; count];
        open.iter().for_each(|spot| waiting[*spot as usize] = true);
        while let Some(spot) = open.pop() {
            waiting[spot as usize] = false;
            let now = self.spot(&self.locals.spots[spot as usize], needed, certain);
            if std::mem::replace(&mut needed[spot as usize], now) != now {
                for &from in &before[spot as usize] {
                    if of_part(from as usize) && !std::mem::replace(&mut waiting[from as usize], true) {
                        open.push(from);
                    }
                }
            }
        }
    }
}
