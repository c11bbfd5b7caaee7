//! Finite sets of candidates: bit sets over a shared universe.
//!
//! Constraining a set copies bits, not values. Comparisons with constants use a hash index, so a node with thousands of options costs
//! little. The set only shrinks.
//!
//! **Example.** The options `[a, b, c]` with the failed guard `== "b"`: bits 101 of the same universe.

use std::{
    cell::OnceCell,
    hash::{Hash, Hasher},
    rc::Rc,
};

use rustc_hash::{FxHashMap, FxHasher};

use trellis_base::value::Value;
use trellis_engine::program::{Guard, Truth};

/// Subset of a universe of values.
#[derive(Clone, Debug)]
pub(crate) struct FiniteSet {
    all: Rc<Universe>,
    /// One bit for each value of the universe.
    left: Rc<[u64]>,
    count: usize,
}

/// Shared values of a set and of all its subsets.
#[derive(Debug)]
struct Universe {
    values: Box<[Value]>,
    /// Index of values by a hash that equal ones share.
    places: OnceCell<FxHashMap<u64, Vec<u32>>>,
    /// Hash of the JSON of each value.
    written: OnceCell<Box<[u64]>>,
}

/// Size up to which a linear scan is used.
const LINEAR_SCAN_MAX: usize = 16;

impl FiniteSet {
    pub(crate) fn new(values: impl IntoIterator<Item = Value>) -> Self {
        let values: Box<[Value]> = values.into_iter().collect();
        let count = values.len();
        let bits = |word: usize| if (word + 1) * 64 <= count { u64::MAX } else { (1 << (count % 64)) - 1 };
        let left = (0..count.div_ceil(64)).map(bits).collect();
        Self { all: Rc::new(Universe { values, places: OnceCell::new(), written: OnceCell::new() }), left, count }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns an address that identifies the set while it exists.
    pub(crate) fn place(&self) -> usize {
        self.left.as_ptr().addr()
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let of_word = |(word, bits): (usize, &u64)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word * 64 + bit
                })
            })
        };
        self.left.iter().enumerate().flat_map(of_word)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Value> {
        self.places().map(|at| &self.all.values[at])
    }

    pub(crate) fn contains(&self, value: &Value) -> bool {
        if self.count <= LINEAR_SCAN_MAX {
            self.iter().any(|known| known == value)
        } else {
            !self.alike(std::slice::from_ref(value)).is_empty()
        }
    }

    /// Returns a hash of the remaining values, notation of numbers included.
    pub(crate) fn fingerprint(&self) -> u64 {
        let written = self.all.written.get_or_init(|| {
            let number = |value: &Value| {
                let mut hasher = FxHasher::default();
                value.to_json().hash(&mut hasher);
                hasher.finish()
            };
            self.all.values.iter().map(number).collect()
        });
        let mut hasher = FxHasher::default();
        self.places().for_each(|at| written[at].hash(&mut hasher));
        hasher.finish()
    }

    /// Returns the subset that satisfies a predicate.
    pub(crate) fn filter(&self, mut keeps: impl FnMut(&Value) -> bool) -> Self {
        self.with(self.places().filter(|at| keeps(&self.all.values[*at])).collect(), true)
    }

    /// Returns the subset for which a guard evaluates to `wanted`.
    pub(crate) fn filter_guard(&self, guard: &Guard, wanted: Truth) -> Self {
        match self.compared(guard) {
            Some((alike, yes)) => self.with(alike, (wanted == Truth::Yes) == yes),
            None => self.filter(|value| guard.over(Some(value)) == wanted),
        }
    }

    /// Evaluates a comparison over a large set; `None` for small sets and other guards.
    pub(crate) fn decided(&self, guard: &Guard) -> Option<Truth> {
        let (alike, yes) = self.compared(guard)?;
        Some(match alike.len() {
            0 => Truth::from(!yes),
            some if some == self.count => Truth::from(yes),
            _ => Truth::Either,
        })
    }

    /// Returns the members of a large set that a guard compares with, and the outcome that they have.
    fn compared(&self, guard: &Guard) -> Option<(Vec<usize>, bool)> {
        match guard {
            _ if self.count <= LINEAR_SCAN_MAX => None,
            Guard::Is(_, yes, value) => Some((self.alike(std::slice::from_ref(value)), *yes)),
            Guard::In(_, yes, values) => Some((self.alike(values), *yes)),
            _ => None,
        }
    }

    /// Returns the positions of members that equal one of `values`.
    fn alike(&self, values: &[Value]) -> Vec<usize> {
        let places = self.all.places.get_or_init(|| {
            let mut places: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
            for (at, value) in (0..).zip(&self.all.values) {
                places.entry(number(value)).or_default().push(at);
            }
            places
        });
        let of_value = |value: &Value| {
            let alike = places.get(&number(value)).into_iter().flatten().map(|at| *at as usize);
            alike.filter(|at| self.has(*at) && self.all.values[*at] == *value).collect::<Vec<_>>()
        };
        let mut alike: Vec<usize> = values.iter().flat_map(of_value).collect();
        alike.sort_unstable();
        alike.dedup();
        alike
    }

    fn has(&self, at: usize) -> bool {
        (self.left[at / 64] >> (at % 64)) & 1 == 1
    }

    /// Returns the subset of these positions, or with `these` false of all others.
    fn with(&self, places: Vec<usize>, these: bool) -> Self {
        let mut left = if these { vec![0; self.left.len()] } else { self.left.to_vec() };
        places.iter().for_each(|at| left[at / 64] ^= 1 << (at % 64));
        let count = if these { places.len() } else { self.count - places.len() };
        Self { all: Rc::clone(&self.all), left: left.into(), count }
    }
}

/// Returns a hash that equal values share, for any notation of numbers (language 3.1).
#[expect(clippy::cast_precision_loss, reason = "what is equal exactly is equal as doubles")]
fn number(value: &Value) -> u64 {
    let mut hasher = FxHasher::default();
    match value {
        Value::Text(text) => text.hash(&mut hasher),
        Value::Int(number) => (*number as f64 + 0.0).to_bits().hash(&mut hasher),
        Value::UInt(number) => (*number as f64 + 0.0).to_bits().hash(&mut hasher),
        Value::Float(number) => (*number + 0.0).to_bits().hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trellis_base::path::KeyPath;
    use trellis_engine::program::{Operand, Root};

    #[test]
    fn few_and_many_values_are_narrowed_alike() {
        let operand = || Operand { root: Root::Input, path: KeyPath::parse("input").unwrap() };
        for count in [3, 16, 17, 64, 65, 200] {
            let texts = (0..count).map(|at| Value::text(format!("o{at}")));
            let values: Vec<Value> = texts.chain((0..count).map(Value::Int)).chain([Value::Null, Value::Float(1.5)]).collect();
            let all = FiniteSet::new(values.iter().cloned());
            assert!(all.iter().eq(&values));
            let guards = [
                Guard::Is(operand(), true, Value::text("o2")),
                Guard::Is(operand(), false, Value::Float(1.0)),
                Guard::Is(operand(), true, Value::text("other")),
                Guard::In(operand(), true, [Value::text("o1"), Value::Int(0), Value::Int(0), Value::Null].into()),
                Guard::In(operand(), false, values.clone().into()),
                Guard::Empty(operand(), true),
            ];
            for guard in &guards {
                for wanted in [Truth::Yes, Truth::No] {
                    let left = all.filter_guard(guard, wanted);
                    let expected: Vec<&Value> = values.iter().filter(|value| guard.over(Some(value)) == wanted).collect();
                    assert!(left.iter().eq(expected.iter().copied()), "{count} {guard:?} {wanted:?}");
                    assert_eq!((left.len(), left.is_empty()), (expected.len(), expected.is_empty()));
                    let again = left.filter_guard(&guards[0], Truth::No);
                    let twice = expected.iter().copied().filter(|value| guards[0].over(Some(value)) == Truth::No);
                    assert!(again.iter().eq(twice));
                    assert_eq!(left.fingerprint(), FiniteSet::new(left.iter().cloned()).fingerprint());
                    assert!(left.len() == all.len() || left.fingerprint() != all.fingerprint());
                    if let Some(truth) = left.decided(&guards[0]) {
                        let mut truths = left.iter().map(|value| guards[0].over(Some(value)));
                        let first = truths.next().unwrap();
                        assert_eq!(truth, if truths.all(|other| other == first) { first } else { Truth::Either });
                    }
                }
            }
            assert!(all.contains(&Value::Float(2.0)) && !all.contains(&Value::Float(2.5)) && all.contains(&Value::text("o0")));
        }
    }
}
