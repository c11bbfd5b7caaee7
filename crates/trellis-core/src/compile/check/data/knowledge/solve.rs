//! Part by part to the fixed point.

use super::*;

impl Knowledge<'_, '_> {
    /// Works out who leads to whom, and in which parts: by the ways, and by what children return to who called them.
    pub(super) fn weave(&mut self) {
        let solved = &mut self.solved;
        let count = u32::try_from(self.program.points.len()).unwrap_or(u32::MAX);
        if solved.children.is_empty() {
            solved.web = Arc::clone(&solved.ways);
        } else {
            let mut pairs: Vec<(u32, u32)> = (0..count).flat_map(|from| solved.ways.forward.of(from).map(move |to| (from, to))).collect();
            // Between the ends of a child and its callers stands one number for it, since both may be many.
            for (between, (node, child)) in (count..).zip(&solved.children) {
                let node = self.program.node(*node);
                let entry = node.gate.unwrap_or(node.body).0;
                pairs.extend(child.callers.iter().flat_map(|caller| [(*caller, entry), (between, *caller)]));
                let ends = (0..count).filter(|end| child.inside[*end as usize] && self.terms.steps.seat(PointIndex(*end)).output.is_some());
                pairs.extend(ends.map(|end| (end, between)));
            }
            solved.web = Arc::new(Web::new(count as usize + solved.children.len(), &pairs));
        }
        let first = self.first();
        self.solved.parts = Arc::new(self.solved.web.parts(first.0));
    }

    /// Works out the parts that have to be, one behind the other, and those behind them of which something else is known now.
    pub(super) fn settle(&mut self, mut open: Vec<bool>) {
        let parts = Arc::clone(&self.solved.parts);
        let mut waiting = vec![false; self.solved.at.len()];
        for part in 0..parts.count() {
            if open[part as usize] {
                self.part(part, &parts, &mut waiting, &mut open);
            }
        }
    }

    fn part(&mut self, part: u32, parts: &Parts, waiting: &mut [bool], open: &mut [bool]) {
        let count = u32::try_from(self.solved.at.len()).unwrap_or(u32::MAX);
        let points = || parts.members(part).iter().copied().filter(|member| *member < count);
        let returned = self.forget_ends(part, parts);
        let before: Vec<_> = points().map(|point| std::mem::take(&mut self.solved.onward[point as usize])).collect();
        let mut left = 0_usize;
        for point in points() {
            self.touched.push(point);
            self.solved.notes[point as usize] = Box::default();
            self.solved.at[point as usize] = self.incoming(point, part, parts);
            waiting[point as usize] = self.solved.at[point as usize].is_some();
            left += usize::from(waiting[point as usize]);
        }
        while left > 0 {
            for point in points() {
                if !std::mem::replace(&mut waiting[point as usize], false) {
                    continue;
                }
                left -= 1;
                let changed = self.look_at(PointIndex(point));
                let onward = std::mem::take(&mut self.solved.onward[point as usize]);
                for (to, facts) in onward.iter().filter(|(to, _)| parts.of(to.0) == Some(part)) {
                    if self.meet(*to, facts) {
                        left += usize::from(!std::mem::replace(&mut waiting[to.0 as usize], true));
                    }
                }
                self.solved.onward[point as usize] = onward;
                for caller in
                    changed.into_iter().filter(|caller| parts.of(*caller) == Some(part) && self.solved.at[*caller as usize].is_some())
                {
                    left += usize::from(!std::mem::replace(&mut waiting[caller as usize], true));
                }
            }
        }
        for (point, before) in points().zip(&before) {
            differences(before, &self.solved.onward[point as usize], &mut |to| {
                if let Some(of) = parts.of(to.0) {
                    open[of as usize] = true;
                }
            });
        }
        for caller in self.callers_since(&returned) {
            if let Some(of) = parts.of(caller) {
                open[of as usize] = true;
            }
        }
    }

    /// What leads to a point from without its part.
    fn incoming(&mut self, point: u32, part: u32, parts: &Parts) -> Option<Facts> {
        let web = Arc::clone(&self.solved.web);
        let mut known = (point == self.first().0).then(|| self.solved.begun.clone());
        let mut last = None;
        for from in web.backward.of(point).filter(|from| (*from as usize) < self.solved.at.len() && parts.of(*from) != Some(part)) {
            // They are sorted, and more than one way may lead from one to the other.
            if last.replace(from) == Some(from) {
                continue;
            }
            let onward = &self.solved.onward[from as usize];
            let Ok(at) = onward.binary_search_by_key(&point, |(to, _)| to.0) else { continue };
            match &mut known {
                Some(known) => drop(known.join(&onward[at].1, &mut self.types)),
                None => known = Some(onward[at].1.clone()),
            }
        }
        known
    }

    fn meet(&mut self, point: PointIndex, facts: &Facts) -> bool {
        match &mut self.solved.at[point.0 as usize] {
            Some(known) => known.join(facts, &mut self.types),
            unknown => {
                *unknown = Some(facts.clone());
                true
            }
        }
    }

    /// Looks at a point with what is known there, and remembers what comes of it. Gives the callers that get something else by that.
    pub(super) fn look_at(&mut self, point: PointIndex) -> Vec<u32> {
        let Some(facts) = self.solved.at[point.0 as usize].clone() else { return Vec::new() };
        let seat = self.terms.steps.seat(point).clone();
        let mut now = self.look(point, &seat, facts);
        self.solved.notes[point.0 as usize] = now.noted();
        self.solved.onward[point.0 as usize] = self.sorted(now.onward);
        now.returned.map_or_else(Vec::new, |output| self.ended(point, output))
    }

    /// What leads on, by where it does: what leads to one point several times is joined.
    pub(super) fn sorted(&mut self, mut onward: Vec<(PointIndex, Facts)>) -> Box<[(PointIndex, Facts)]> {
        onward.sort_by_key(|(to, _)| *to);
        onward.dedup_by(|more, known| {
            let is_same = more.0 == known.0;
            if is_same {
                known.1.join(&more.1, &mut self.types);
            }
            is_same
        });
        onward.into()
    }
}

/// The points to which something else leads now.
pub(super) fn differences(before: &[(PointIndex, Facts)], now: &[(PointIndex, Facts)], see: &mut impl FnMut(PointIndex)) {
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        match (before.peek(), now.peek()) {
            (None, None) => return,
            (Some((old, facts)), Some((new, others))) if old == new => {
                if facts != others {
                    see(*old);
                }
                before.next();
                now.next();
            }
            (Some((old, _)), new) if new.is_none_or(|(new, _)| old < new) => {
                see(*old);
                before.next();
            }
            (_, Some((new, _))) => {
                see(*new);
                now.next();
            }
            (Some(_), None) => unreachable!("what was there and is not came first"),
        }
    }
}
