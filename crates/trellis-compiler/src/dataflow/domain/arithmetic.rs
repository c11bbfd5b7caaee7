//! Abstract arithmetic (language 3.3): `+ - * // %` map integers to integers, `~` maps texts to texts.
//!
//! **Soundness.** Every function is monotone and over-approximates: kinds are computed, values are not, so no loop can create new
//! constants, and the fixpoint terminates. An operand of a kind that the operator rejects makes the result unknown instead of impossible;
//! the alarm is raised at the read.
//!
//! **Example.** integer + integer is an integer, not the sum of two constants.

use super::*;
use trellis_base::template::{KindSet, RECKONED};

impl TypeTable {
    /// Returns the type of all values of these kinds.
    pub(crate) fn of_sorts(&mut self, sorts: KindSet) -> TypeId {
        sorts.each().fold(TypeId::NEVER, |known, sort| {
            let of = match sort {
                KindSet::UNSET => TypeId::ABSENT,
                KindSet::NULL => self.of_value(&Value::Null),
                KindSet::TRUTH => self.intern(Type { values: vec![false.into(), true.into()], ..Type::default() }),
                KindSet::NUMBER => self.of_kinds(&[Kinds::INT, Kinds::FLOAT]),
                KindSet::TEXT => self.text(),
                KindSet::LIST => self.list(TypeId::UNKNOWN),
                _ => self.intern(Type { fields: Some(Fields { named: Vec::new(), others: TypeId::DYNAMIC }), ..Type::default() }),
            };
            self.join(known, of)
        })
    }

    /// Returns the type of a number computed from `parts`; `whole` if the operator maps integers to integers.
    pub(crate) fn number(&mut self, parts: &[TypeId], whole: bool) -> TypeId {
        let (mut any, mut numeric, mut are_numbers, mut are_integers) = (false, true, true, whole);
        for part in parts {
            let part = self.present(*part);
            if part == TypeId::NEVER {
                return part;
            }
            let sorts = self.sorts(part);
            any |= self.is_unknown(part) || !sorts.are(RECKONED);
            are_numbers &= sorts.meet(RECKONED);
            let of = self.get(part);
            numeric &= sorts.are(RECKONED) && of.numeric == of.unknown;
            are_integers &= !of.kinds.has(Kinds::FLOAT) && !of.values.iter().any(|value| Kinds::of(value) == Kinds::FLOAT);
        }
        let kinds = match (are_numbers, are_integers) {
            (false, _) => Kinds::default(),
            (true, true) => Kinds::INT,
            (true, false) => Kinds::INT.with(Kinds::FLOAT),
        };
        self.intern(Type { unknown: any, numeric: any && numeric, kinds, ..Type::default() })
    }

    /// Returns the type of a sum of numbers, texts or lists.
    pub(crate) fn sum(&mut self, left: TypeId, right: TypeId) -> TypeId {
        let (left, right) = (self.present(left), self.present(right));
        let (of_left, of_right) = (self.sorts(left), self.sorts(right));
        if left == TypeId::NEVER || right == TypeId::NEVER {
            return TypeId::NEVER;
        }
        let both = of_left.or(of_right);
        let any =
            self.is_unknown(left) || self.is_unknown(right) || ![RECKONED, KindSet::TEXT, KindSet::LIST].iter().any(|sort| both.are(*sort));
        let (one, other) = (self.get(left), self.get(right));
        let numeric = both.are(RECKONED) && one.numeric == one.unknown && other.numeric == other.unknown;
        let mut known = if any && !numeric { TypeId::UNKNOWN } else { TypeId::NEVER };
        let is = |sort: KindSet| of_left.meet(sort) && of_right.meet(sort);
        if is(RECKONED) || numeric {
            let number = self.number(&[left, right], true);
            known = self.join(known, number);
        }
        if is(KindSet::TEXT) {
            let text = self.text();
            known = self.join(known, text);
        }
        if is(KindSet::LIST) {
            let items = [left, right].into_iter().fold(TypeId::NEVER, |known, side| {
                let items = self.get(side).items.unwrap_or(TypeId::NEVER);
                self.join(known, items)
            });
            let list = self.list(items);
            known = self.join(known, list);
        }
        known
    }

    /// Returns the type of a product of numbers, or of a repeated text.
    pub(crate) fn product(&mut self, left: TypeId, right: TypeId) -> TypeId {
        let known = self.number(&[left, right], true);
        let (of_left, of_right) = (self.sorts(left), self.sorts(right));
        let is_repeated = |text: KindSet, times: KindSet| text.meet(KindSet::TEXT) && times.meet(KindSet::NUMBER);
        if !is_repeated(of_left, of_right) && !is_repeated(of_right, of_left) {
            return known;
        }
        let text = self.text();
        let are_sure =
            (of_left.are(KindSet::TEXT) && of_right.are(KindSet::NUMBER)) || (of_right.are(KindSet::TEXT) && of_left.are(KindSet::NUMBER));
        let is_unknown = self.is_unknown(left) || self.is_unknown(right);
        if are_sure && !is_unknown { text } else { self.join(known, text) }
    }

    /// Returns the type of `first` if it is present, else of `second`; with `falsy` also if the first counts as false.
    pub(crate) fn fallback(&mut self, first: TypeId, second: TypeId, falsy: bool) -> TypeId {
        let is_there = !falsy && !self.may_lack(first);
        let there = self.present(first);
        if is_there { there } else { self.join(there, second) }
    }

    fn is_unknown(&self, id: TypeId) -> bool {
        let of = self.get(id);
        of.unknown || of.dynamic
    }
}
