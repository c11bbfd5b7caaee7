//! N-ary join of environments.
//!
//! **Algorithm.** A point takes in all predecessors that changed at once, page by page. The packed types of a page are joined as bits, with
//! one `or` a key; only keys whose type is a number in the [`TypeTable`] are joined one by one afterwards. A page that all sides share is
//! skipped, and a result that equals an incoming page is stored as that page, so that equal environments share memory and the next
//! comparison is a pointer comparison.
//!
//! **Bound.** In a component with many edges most points reach the join of everything that circulates in it. [`UpperBound`] collects that
//! join. A point whose environment is the bound cannot grow, so its incoming edges need not be joined again.
//!
//! **Soundness.** The result is the least upper bound of its arguments: join is associative, commutative and idempotent, so one n-ary join
//! equals a fold of binary ones. The test at the end of this file compares both on random environments.
//!
//! **Termination.** One pass over the pages. The solver's iteration ends because a join that changes an environment moves it up a lattice
//! of finite height.
//!
//! **Example.** `colour` is `"red"` on one edge and `"blue"` on another: bits 1 and 2 of the palette of `colour` become 3, one of `"red"`,
//! `"blue"`.

use std::{ops::Range, sync::Arc};

use super::{Env, MIN_PAGE_SLOTS, PackedType, Page, Slot, TypeTable};

impl Env {
    /// Joins `others` into this environment. Returns true if it grew. `bound` must be at least their join; pages that have reached it are
    /// not joined again.
    pub(crate) fn join(&mut self, others: &[&Self], bound: &UpperBound, types: &mut TypeTable) -> bool {
        let mut more = false;
        for (at, known) in self.own.iter_mut().enumerate() {
            let joined = others.iter().fold(*known, |joined, other| types.join(joined, other.own[at]));
            more |= std::mem::replace(known, joined) != joined;
        }
        if others.iter().all(|other| Arc::ptr_eq(&self.pages, &other.pages)) {
            return others.iter().fold(more, |more, other| self.join_changes(other, types) || more);
        }
        self.flush();
        let mut others: Vec<IncomingPages<'_>> = others.iter().map(|env| IncomingPages { env, changes: &env.changes }).collect();
        let mut sum = JoinedPage::default();
        more = (0..self.pages.len()).fold(more, |more, at| self.join_page(at, &mut others, bound.page(at), &mut sum, types) || more);
        bound.share(self);
        more
    }

    /// Joins an environment that has the same pages: only the two overlays are compared.
    fn join_changes(&mut self, other: &Self, types: &mut TypeTable) -> bool {
        let mut more = false;
        for (slot, known) in &mut self.changes {
            let joined = types.join_lanes(*slot, *known, other.packed(*slot));
            more |= joined != *known;
            *known = joined;
        }
        for (slot, packed) in &other.changes {
            let known = self.packed(*slot);
            let joined = types.join_lanes(*slot, known, *packed);
            if joined != known {
                more = true;
                self.put(*slot, joined);
            }
        }
        more
    }

    /// Returns true if the pages are at least as great as these overlay entries.
    fn hold_on_pages(&self, changes: &[(Slot, PackedType)]) -> bool {
        changes.iter().all(|(slot, packed)| self.on_page(*slot).holds(*packed))
    }

    /// Joins a type into one key, and writes the result to its page. The overlay must be empty.
    fn widen(&mut self, slot: Slot, packed: PackedType, types: &mut TypeTable) {
        let known = self.on_page(slot);
        let joined = types.join_lanes(slot, known, packed);
        if joined != known {
            self.change(slot, joined);
        }
    }

    /// Joins one page of all `others` into the page `at`. Returns true if it grew. `sum` is a buffer.
    fn join_page(
        &mut self,
        at: usize,
        others: &mut [IncomingPages<'_>],
        bound: Option<&Page>,
        sum: &mut JoinedPage,
        types: &mut TypeTable,
    ) -> bool {
        let own = &self.pages[at];
        let is_bound = |page| bound.is_some_and(|bound| Arc::ptr_eq(bound, page));
        if is_bound(own) {
            return false;
        }
        sum.begin(own);
        let (slots, mut last) = (self.slot(at, 0)..self.slot(at + 1, 0), own);
        for other in &mut *others {
            let page = &other.env.pages[at];
            let changes = other.changes_at(&slots).iter().map(|(slot, packed)| (self.place(*slot).1, *packed));
            if Arc::ptr_eq(page, last) || Arc::ptr_eq(page, own) {
                changes.for_each(|(at, packed)| sum.words[at] = sum.words[at].or(packed));
                continue;
            }
            let is_whole = changes.len() == 0;
            sum.add(page, changes);
            if is_whole {
                last = page;
                if is_bound(page) {
                    break;
                }
            }
        }
        let sum = &mut sum.words;
        if sum.iter().fold(PackedType::NEVER, |all, packed| all.or(*packed)).is_number() {
            for (packed, sum) in sum.iter_mut().enumerate().filter(|(_, sum)| sum.is_number()) {
                let slot = self.slot(at, packed);
                *sum = others.iter().fold(own[packed], |known, other| types.join_lanes(slot, known, other.env.packed(slot)));
            }
        }
        let is_more = !is_same(sum, own);
        let known = bound.into_iter().chain(others.iter().map(|other| &other.env.pages[at])).find(|page| is_same(sum, page));
        match known {
            Some(page) => Arc::make_mut(&mut self.pages)[at] = Arc::clone(page),
            None if is_more => Arc::make_mut(&mut self.pages)[at] = sum[..].into(),
            None => {}
        }
        is_more
    }
}

/// Upper bound of a component: the join of the environments on all edges between its points.
///
/// If many edges form cycles, most points reach the bound and then share its pages; nothing that flows to them can change them any more.
///
/// **Invariant:** the bound has no overlay.
#[derive(Debug, Default)]
pub(crate) struct UpperBound {
    is_tracking: bool,
    env: Option<Env>,
}

impl UpperBound {
    /// Creates an empty bound that collects. [`UpperBound::default`] creates one that ignores its inputs and bounds nothing.
    pub(crate) fn tracking() -> Self {
        Self { is_tracking: true, env: None }
    }

    /// Joins the environment of an edge into the bound. `entering` is the environment of its source, if that already is part of the bound:
    /// then only the keys in which the two differ are joined.
    pub(crate) fn take_in(&mut self, onward: &Env, entering: Option<&Env>, types: &mut TypeTable) {
        if !self.is_tracking {
            return;
        }
        let Some(known) = &mut self.env else {
            let known = self.env.insert(onward.clone());
            return known.flush();
        };
        let Some(entering) = entering.filter(|entering| onward.is_on(entering)) else {
            known.join(&[onward], &Self::default(), types);
            known.flush();
            return;
        };
        for (own, other) in known.own.iter_mut().zip(onward.own) {
            *own = types.join(*own, other);
        }
        if !known.hold_on_pages(&onward.changes) {
            onward.changes.iter().for_each(|(slot, packed)| known.widen(*slot, *packed, types));
        }
        // A key that was changed back to the type on its page may have that type on no other edge.
        entering.changes.iter().for_each(|(slot, _)| known.widen(*slot, onward.packed(*slot), types));
    }

    /// Returns true if the environment equals the bound, by its pages.
    pub(crate) fn is_reached(&self, env: &Env) -> bool {
        self.env.as_ref().is_some_and(|bound| env.own == bound.own && Arc::ptr_eq(&env.pages, &bound.pages) && env.changes.is_empty())
    }

    fn page(&self, at: usize) -> Option<&Page> {
        Some(&self.env.as_ref()?.pages[at])
    }

    /// Lets an environment share the page table of the bound, if it shares each page of it.
    fn share(&self, env: &mut Env) {
        if let Some(bound) = &self.env
            && env.pages.iter().zip(&*bound.pages).all(|(page, bound)| Arc::ptr_eq(page, bound))
        {
            env.pages = Arc::clone(&bound.pages);
        }
    }
}

/// Cursor over an incoming environment, page by page.
struct IncomingPages<'f> {
    env: &'f Env,
    /// Overlay entries of the pages that are still to be joined.
    changes: &'f [(Slot, PackedType)],
}

impl<'f> IncomingPages<'f> {
    /// Returns the overlay entries of a page. Pages must be asked for in ascending order.
    fn changes_at(&mut self, slots: &Range<Slot>) -> &'f [(Slot, PackedType)] {
        let before = self.changes.iter().take_while(|(slot, _)| *slot < slots.start).count();
        let here = self.changes[before..].iter().take_while(|(slot, _)| *slot < slots.end).count();
        let (here, after) = self.changes[before..].split_at(here);
        self.changes = after;
        here
    }
}

/// Buffer in which the bits of a page are joined.
#[derive(Default)]
struct JoinedPage {
    words: Vec<PackedType>,
    /// Words that an overlay replaces on the page that is being added.
    before_changes: Vec<PackedType>,
}

impl JoinedPage {
    /// Starts with a copy of `page`.
    fn begin(&mut self, page: &[PackedType]) {
        self.words.clear();
        self.words.extend_from_slice(page);
    }

    /// Joins a page, with its overlay entries in place of its own.
    fn add(&mut self, page: &[PackedType], changes: impl Iterator<Item = (usize, PackedType)> + Clone) {
        self.before_changes.clear();
        self.before_changes.extend(changes.clone().map(|(at, _)| self.words[at]));
        self.words.iter_mut().zip(page).for_each(|(sum, packed)| *sum = sum.or(*packed));
        self.before_changes.iter().zip(changes).for_each(|(before_changes, (at, packed))| self.words[at] = before_changes.or(packed));
    }
}

/// Returns true if two pages are equal; compares several words at a time, so that the compiler emits vector instructions.
fn is_same(one: &[PackedType], other: &[PackedType]) -> bool {
    let differ =
        |(one, other): (&[PackedType], &[PackedType])| one.iter().zip(other).fold(false, |differ, (one, other)| differ | (one != other));
    !one.chunks(MIN_PAGE_SLOTS).zip(other.chunks(MIN_PAGE_SLOTS)).any(differ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::{domain::TypeId, slot::room};
    use trellis_base::value::Value;

    #[test]
    fn all_at_once_come_to_what_they_come_to_one_after_the_other() {
        let mut types = TypeTable::new();
        // Types packed as bits, and types packed as numbers.
        let mut kinds =
            vec![TypeId::ABSENT, TypeId::TEXT, TypeId::UNKNOWN, types.integer(), types.list(TypeId::TEXT), types.list(TypeId::UNKNOWN)];
        kinds.extend([Value::text("a"), Value::text("b"), Value::Int(1), Value::Null].map(|value| types.of_value(&value)));
        let mut state = 1_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let slots = room(150);
        for _ in 0..300 {
            // Some share pages with an earlier one, others have pages of their own.
            let mut all = vec![Env::absent(slots)];
            let mut bound = UpperBound::tracking();
            while all.len() < 8 {
                let entering = below(all.len());
                let mut env = all[entering].clone();
                for _ in 0..below(80) {
                    let slot = Slot(u32::try_from(below(slots)).expect("slots are few"));
                    env.set(slot, kinds[below(kinds.len())], &mut types);
                }
                bound.take_in(&env, (entering > 0).then(|| &all[entering]), &mut types);
                all.push(env);
            }
            let others: Vec<&Env> = all[1..].iter().collect();
            let (mut one_by_one, mut at_once) = (all[0].clone(), all[0].clone());
            let brought = others.iter().filter(|other| one_by_one.join(&[other], &UpperBound::default(), &mut types)).count();
            assert_eq!(at_once.join(&others, &bound, &mut types), brought > 0);
            assert!(at_once == one_by_one && !at_once.join(&others, &bound, &mut types));
            for slot in (0..).map(Slot).take(slots) {
                let expected = all.iter().fold(TypeId::NEVER, |known, env| {
                    let of = env.get(slot, &mut types);
                    types.join(known, of)
                });
                assert_eq!(at_once.get(slot, &mut types), expected);
            }
            // An environment that has reached the bound does not grow.
            let mut reached = bound.env.clone().expect("something was taken in");
            assert!(bound.is_reached(&reached) && !bound.is_reached(&all[0]));
            assert!(!reached.join(&others, &UpperBound::default(), &mut types));
        }
    }
}
